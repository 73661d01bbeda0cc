//! Fast parser of plain, valid JSON: one line without escapes.
//!
//! It never explains: where a text is wrong or unusual, it gives up, and `serde_json` decides. What it
//! accepts, it reads as `serde_json` does; a property and the fuzz target of native records compare
//! both.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

/// Depth of arrays and objects from which on the parser gives up. No event is that deep.
const MAX_DEPTH: u32 = 32;

/// Significands below this number are exact in floating point.
const EXACT: u64 = 1 << 53;

/// Powers of ten that are exact in floating point.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Parses a whole text. Returns `None` if it is wrong or unusual.
pub(super) fn parse<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    let text = text.trim_ascii_end();
    if !is_plain(text) {
        return None;
    }
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
    };
    let value = T::deserialize(&mut parser).ok()?;
    parser.token().is_none().then_some(value)
}

/// Result of a text that the parser does not read.
#[derive(Debug)]
struct GiveUp;

impl fmt::Display for GiveUp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("wrong or unusual JSON")
    }
}

impl std::error::Error for GiveUp {}

impl Error for GiveUp {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

struct Parser<'de> {
    /// Text whose strings end at the next quote.
    text: &'de str,
    /// Position of the next byte.
    at: usize,
    /// Open arrays and objects.
    depth: u32,
}

/// Number of the text.
enum Number {
    Unsigned(u64),
    Negative(i64),
    Float(f64),
}

impl<'de> Parser<'de> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips white space, of which a plain text has only spaces. Returns the next byte.
    #[inline]
    fn token(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ') => self.at += 1,
                other => return other,
            }
        }
    }

    /// Reads `expected`, after white space.
    #[inline]
    fn expect(&mut self, expected: u8) -> Result<(), GiveUp> {
        if self.token() != Some(expected) {
            return Err(GiveUp);
        }
        self.at += 1;
        Ok(())
    }

    fn literal(&mut self, literal: &str) -> Result<(), GiveUp> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(literal.as_bytes()) {
            return Err(GiveUp);
        }
        self.at += literal.len();
        Ok(())
    }

    /// Reads a string, after white space.
    fn string(&mut self) -> Result<&'de str, GiveUp> {
        self.expect(b'"')?;
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let end = start + first_quote(rest).ok_or(GiveUp)?;
        self.at = end + 1;
        self.text.get(start..end).ok_or(GiveUp)
    }

    /// Adds the digits at the current position to `sum`. Returns their number.
    #[inline]
    fn digits(&mut self, sum: &mut u64) -> usize {
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.byte() {
            // Too many digits are noticed by their number.
            *sum = sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        self.at - start
    }

    /// Reads the number at the current position.
    fn number(&mut self) -> Result<Number, GiveUp> {
        let start = self.at;
        let is_negative = self.byte() == Some(b'-');
        if is_negative {
            self.at += 1;
        }
        let starts_with_zero = self.byte() == Some(b'0');
        let mut sum = 0;
        let whole = self.digits(&mut sum);
        // A number of 18 digits fits into every type.
        if whole == 0 || whole > 18 || (starts_with_zero && whole > 1) {
            return Err(GiveUp);
        }
        let mut fraction = 0;
        match self.byte() {
            Some(b'.') => {
                self.at += 1;
                fraction = self.digits(&mut sum);
                if fraction == 0 {
                    return Err(GiveUp);
                }
            }
            Some(b'e' | b'E') => {}
            _ if !is_negative => return Ok(Number::Unsigned(sum)),
            // The negative zero is a floating-point number.
            _ if sum == 0 => return Err(GiveUp),
            _ => {
                let number = i64::try_from(sum).map_err(|_| GiveUp)?;
                return Ok(Number::Negative(-number));
            }
        }
        let is_exact = whole + fraction <= 18 && sum < EXACT;
        match POWERS.get(fraction) {
            Some(power) if is_exact && !matches!(self.byte(), Some(b'e' | b'E')) => {
                #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
                let number = sum as f64 / power;
                Ok(Number::Float(if is_negative { -number } else { number }))
            }
            _ => self.long_number(start),
        }
    }

    /// Reads a number with many digits or an exponent, from its `start`.
    #[cold]
    fn long_number(&mut self, start: usize) -> Result<Number, GiveUp> {
        while let Some(b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') = self.byte() {
            self.at += 1;
        }
        let token = self.text.get(start..self.at).ok_or(GiveUp)?;
        let number = serde_json::from_str(token).map_err(|_| GiveUp)?;
        Ok(Number::Float(number))
    }

    /// Reads the members of the array or object at the current position, up to its bracket `end`.
    #[inline]
    fn nested<R>(
        &mut self,
        end: u8,
        read: impl FnOnce(Members<'_, 'de>) -> Result<R, GiveUp>,
    ) -> Result<R, GiveUp> {
        if self.depth == MAX_DEPTH {
            return Err(GiveUp);
        }
        self.at += 1;
        self.depth += 1;
        let value = read(Members {
            parser: self,
            end,
            is_first: true,
        })?;
        self.depth -= 1;
        self.expect(end)?;
        Ok(value)
    }

    #[inline]
    fn array<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, GiveUp> {
        self.nested(b']', |members| visitor.visit_seq(members))
    }

    #[inline]
    fn object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, GiveUp> {
        self.nested(b'}', |members| visitor.visit_map(members))
    }
}

/// Returns true if the text has no escapes, line ends or other control characters.
#[allow(
    clippy::needless_bitwise_bool,
    reason = "without an early end, the compiler compares many bytes at once"
)]
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes().iter();
    bytes.fold(true, |is_plain, byte| {
        is_plain & (*byte != b'\\') & (*byte >= 0x20)
    })
}

/// Returns the position of the first quote.
#[inline]
fn first_quote(bytes: &[u8]) -> Option<usize> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word) ^ (EACH * u64::from(b'"'));
        // Subtraction borrows from the highest bit of a zero. The lowest mark is right.
        let zeros = word.wrapping_sub(EACH) & !word & (EACH * 0x80);
        if zeros != 0 {
            return Some(index * 8 + zeros.trailing_zeros() as usize / 8);
        }
    }
    let in_rest = rest.iter().position(|byte| *byte == b'"')?;
    Some(words.len() * 8 + in_rest)
}

impl<'de> Deserializer<'de> for &mut Parser<'de> {
    type Error = GiveUp;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GiveUp> {
        match self.token().ok_or(GiveUp)? {
            b'"' => self.deserialize_str(visitor),
            b'{' => self.object(visitor),
            b'[' => self.array(visitor),
            b'-' | b'0'..=b'9' => match self.number()? {
                Number::Unsigned(number) => visitor.visit_u64(number),
                Number::Negative(number) => visitor.visit_i64(number),
                Number::Float(number) => visitor.visit_f64(number),
            },
            b't' => {
                self.literal("true")?;
                visitor.visit_bool(true)
            }
            b'f' => {
                self.literal("false")?;
                visitor.visit_bool(false)
            }
            b'n' => {
                self.literal("null")?;
                visitor.visit_unit()
            }
            _ => Err(GiveUp),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GiveUp> {
        visitor.visit_borrowed_str(self.string()?)
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GiveUp> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GiveUp> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GiveUp> {
        if self.token() != Some(b'n') {
            return visitor.visit_some(self);
        }
        self.literal("null")?;
        visitor.visit_none()
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, GiveUp> {
        visitor.visit_newtype_struct(self)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GiveUp> {
        match self.token() {
            Some(b'{') => self.object(visitor),
            _ => Err(GiveUp),
        }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, GiveUp> {
        self.deserialize_map(visitor)
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GiveUp> {
        match self.token() {
            Some(b'[') => self.array(visitor),
            _ => Err(GiveUp),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        tuple tuple_struct enum ignored_any
    }
}

/// Members of an array or an object.
struct Members<'p, 'de> {
    parser: &'p mut Parser<'de>,
    /// Bracket after the last member.
    end: u8,
    is_first: bool,
}

impl Members<'_, '_> {
    /// Moves to the next member. Returns false at the end.
    #[inline]
    fn advance(&mut self) -> Result<bool, GiveUp> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        match self.parser.token() {
            Some(byte) if byte == self.end => return Ok(false),
            Some(b',') if !is_first => self.parser.at += 1,
            Some(_) if is_first => {}
            _ => return Err(GiveUp),
        }
        Ok(true)
    }
}

impl<'de> SeqAccess<'de> for Members<'_, 'de> {
    type Error = GiveUp;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, GiveUp> {
        if !self.advance()? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.parser).map(Some)
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = GiveUp;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, GiveUp> {
        if !self.advance()? {
            return Ok(None);
        }
        // Only a string is a name.
        if self.parser.token() != Some(b'"') {
            return Err(GiveUp);
        }
        seed.deserialize(&mut *self.parser).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, GiveUp> {
        self.parser.expect(b':')?;
        seed.deserialize(&mut *self.parser)
    }
}
