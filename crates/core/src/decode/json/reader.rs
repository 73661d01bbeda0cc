//! Fast reader of plain, valid JSON: one line without escapes.
//!
//! It never explains: where a text is wrong or unusual, it gives up, and `serde_json` decides. What it
//! accepts, it reads as `serde_json` does; properties and the fuzz target of native records compare
//! both.

use std::ops::Range;

use wide::u8x16;

/// Depth of unknown arrays and objects from which on the reader gives up. No event is that deep.
const MAX_DEPTH: u32 = 32;

/// Significands below this number are exact in floating point.
const EXACT: u64 = 1 << 53;

/// Powers of ten that are exact in floating point.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Result of a text that the reader does not read.
#[derive(Debug)]
pub(in crate::decode) struct GiveUp;

/// Number of the text.
pub(in crate::decode) enum Number {
    /// Whole number from 0.
    Unsigned(u64),
    /// Whole number below 0.
    Negative(i64),
    /// Other number.
    Float(f64),
}

/// Reader of a text, whose strings end at the next quote.
pub(in crate::decode) struct Reader<'a> {
    text: &'a str,
    /// Position of the next byte.
    at: usize,
}

/// Array or object of which some members were read.
pub(in crate::decode) struct Members {
    /// Bracket after the last member.
    end: u8,
    is_first: bool,
}

impl<'a> Reader<'a> {
    /// Starts to read a text.
    ///
    /// # Errors
    /// The text has escapes, line ends or other control characters.
    pub(in crate::decode) fn new(text: &'a str) -> Result<Self, GiveUp> {
        // A form feed is white space of ASCII, but not of JSON.
        let text = text.trim_end_matches([' ', '\t', '\n', '\r']);
        is_plain(text).then_some(Self { text, at: 0 }).ok_or(GiveUp)
    }

    /// Checks that nothing follows what was read.
    pub(in crate::decode) fn end(mut self) -> Result<(), GiveUp> {
        self.token().map_or(Ok(()), |_| Err(GiveUp))
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips white space, of which a plain text has only spaces. Returns the next byte.
    #[inline]
    pub(in crate::decode) fn token(&mut self) -> Option<u8> {
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

    /// Reads a string.
    #[inline]
    pub(in crate::decode) fn string(&mut self) -> Result<&'a str, GiveUp> {
        let place = self.quoted()?;
        self.text.get(place).ok_or(GiveUp)
    }

    /// Reads a string. Returns its place.
    #[inline]
    fn quoted(&mut self) -> Result<Range<usize>, GiveUp> {
        self.expect(b'"')?;
        let start = self.at;
        let near = self.near_quote(start);
        let end = near.or_else(|| self.far_quote(start)).ok_or(GiveUp)?;
        self.at = end + 1;
        Ok(start..end)
    }

    /// Reads true or false.
    pub(in crate::decode) fn boolean(&mut self) -> Result<bool, GiveUp> {
        if self.token() == Some(b't') {
            return self.literal("true").map(|()| true);
        }
        self.literal("false").map(|()| false)
    }

    /// Reads null if it is next. Returns true if it was.
    #[inline]
    pub(in crate::decode) fn null(&mut self) -> Result<bool, GiveUp> {
        if self.token() != Some(b'n') {
            return Ok(false);
        }
        self.literal("null").map(|()| true)
    }

    /// Reads a number as floating-point number.
    #[inline]
    pub(in crate::decode) fn float(&mut self) -> Result<f64, GiveUp> {
        #[allow(
            clippy::cast_precision_loss,
            reason = "the nearest number, as serde_json reads it"
        )]
        Ok(match self.number()? {
            Number::Unsigned(number) => number as f64,
            Number::Negative(number) => number as f64,
            Number::Float(number) => number,
        })
    }

    /// Reads a whole number from 0.
    #[inline]
    pub(in crate::decode) fn unsigned<T: TryFrom<u64>>(&mut self) -> Result<T, GiveUp> {
        match self.number()? {
            Number::Unsigned(number) => T::try_from(number).map_err(|_| GiveUp),
            Number::Negative(_) | Number::Float(_) => Err(GiveUp),
        }
    }

    /// Reads a number.
    pub(in crate::decode) fn number(&mut self) -> Result<Number, GiveUp> {
        let is_negative = self.token() == Some(b'-');
        let start = self.at;
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

    /// Reads a number of up to 15 characters that is not negative and has no exponent. Does not compute
    /// its value. Returns `None`, and reads nothing, for any other text.
    #[inline]
    pub(in crate::decode) fn usual_decimal(&mut self) -> Option<&'a str> {
        let (_, rest) = self.text.split_at_checked(self.at)?;
        let (decimal, _) = rest.split_at_checked(usual_decimal(rest.as_bytes())?)?;
        self.at += decimal.len();
        Some(decimal)
    }

    /// Reads an object that has only a string of up to 64 bytes and a usual decimal, without white space:
    /// `open`, the string, `between`, the decimal, and a brace. Returns `None`, and reads nothing, for any
    /// other text.
    ///
    /// The position is stored once, at the end: each step would wait for the one before to be stored.
    #[allow(clippy::inline_always, reason = "see `next_is`")]
    #[inline(always)]
    pub(in crate::decode) fn string_and_decimal(
        &mut self,
        open: &str,
        between: &str,
    ) -> Option<(&'a str, &'a str)> {
        let (_, rest) = self.text.split_at_checked(self.at)?;
        let rest = rest.strip_prefix(open)?;
        let bytes = rest.as_bytes();
        let second = || Some(32 + near_quote(bytes.get(32..)?)?);
        let (string, rest) = rest.split_at_checked(near_quote(bytes).or_else(second)?)?;
        let rest = rest.strip_prefix(between)?;
        let (decimal, rest) = rest.split_at_checked(usual_decimal(rest.as_bytes())?)?;
        let rest = rest.strip_prefix('}')?;
        self.at = self.text.len() - rest.len();
        Some((string, decimal))
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

    /// Enters an object, whose members follow.
    #[inline]
    pub(in crate::decode) fn object(&mut self) -> Result<Members, GiveUp> {
        self.expect(b'{')?;
        Ok(Members {
            end: b'}',
            is_first: true,
        })
    }

    /// Moves to the value of the first member of an object if the text continues with `name`: a name in
    /// quotes and a colon.
    #[allow(clippy::inline_always, reason = "see `next_is`")]
    #[inline(always)]
    pub(in crate::decode) fn first_is(&mut self, members: &mut Members, name: &str) -> bool {
        let is_first = self.next_is(name);
        members.is_first = !is_first;
        is_first
    }

    /// Moves behind `expected` if the text continues with it. The processor predicts the result, and
    /// need not wait for the end of a name.
    #[allow(
        clippy::inline_always,
        reason = "a text of known length is compared without a call"
    )]
    #[inline(always)]
    pub(in crate::decode) fn next_is(&mut self, expected: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let is_next = rest.starts_with(expected.as_bytes());
        if is_next {
            self.at += expected.len();
        }
        is_next
    }

    /// Moves to the next member, or past the end. Returns false at the end.
    #[inline]
    fn advance(&mut self, members: &mut Members) -> Result<bool, GiveUp> {
        let is_first = std::mem::replace(&mut members.is_first, false);
        match self.token() {
            Some(byte) if byte == members.end => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !is_first => {
                self.at += 1;
                Ok(true)
            }
            Some(_) if is_first => Ok(true),
            _ => Err(GiveUp),
        }
    }

    /// Moves to the value of the next member of an object. Returns its name; `None` at the end.
    #[inline]
    pub(in crate::decode) fn name(
        &mut self,
        members: &mut Members,
    ) -> Result<Option<&'a str>, GiveUp> {
        let Some(name) = self.member(members)? else {
            return Ok(None);
        };
        self.text.get(name).map(Some).ok_or(GiveUp)
    }

    /// Moves to the value of the next member of an object. Returns the place of its name; `None` at the
    /// end.
    #[inline]
    fn member(&mut self, members: &mut Members) -> Result<Option<Range<usize>>, GiveUp> {
        if let Some(name) = self.usual_member(members.is_first) {
            members.is_first = false;
            return Ok(Some(name));
        }
        if self.byte() == Some(b'}') {
            self.at += 1;
            return Ok(None);
        }
        self.unusual_member(members)
    }

    /// Reads `,"name":` without white space, or `"name":` if it is the first. Returns `None` for any
    /// other text.
    #[inline]
    fn usual_member(&mut self, is_first: bool) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        let [first, second, ..] = bytes.get(self.at..)? else {
            return None;
        };
        let length = match (first, second) {
            (b'"', _) if is_first => 1,
            (b',', b'"') if !is_first => 2,
            _ => return None,
        };
        let start = self.at + length;
        let end = self.near_quote(start)?;
        if bytes.get(end + 1) != Some(&b':') {
            return None;
        }
        self.at = end + 2;
        Some(start..end)
    }

    #[cold]
    fn unusual_member(&mut self, members: &mut Members) -> Result<Option<Range<usize>>, GiveUp> {
        if !self.advance(members)? {
            return Ok(None);
        }
        let name = self.quoted()?;
        self.expect(b':')?;
        Ok(Some(name))
    }

    /// Returns the position of the first quote from `start` on, if it is among the next bytes.
    #[inline]
    fn near_quote(&self, start: usize) -> Option<usize> {
        let rest = self.text.as_bytes().get(start..)?;
        Some(start + near_quote(rest)?)
    }

    /// Returns the position of the first quote from `start` on, which is not [near](Self::near_quote).
    #[inline(never)]
    fn far_quote(&self, start: usize) -> Option<usize> {
        let found = (1..4).find_map(|part| self.near_quote(start + 32 * part));
        found.or_else(|| {
            let rest = self.text.as_bytes().get(start..)?;
            Some(start + memchr::memchr(b'"', rest)?)
        })
    }

    /// Reads an array whose elements `read` reads.
    #[inline]
    pub(in crate::decode) fn elements(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<(), GiveUp>,
    ) -> Result<(), GiveUp> {
        self.expect(b'[')?;
        let mut members = Members {
            end: b']',
            is_first: true,
        };
        while self.advance(&mut members)? {
            read(self)?;
        }
        Ok(())
    }

    /// Reads a value and drops it.
    pub(in crate::decode) fn skip(&mut self) -> Result<(), GiveUp> {
        self.skip_within(MAX_DEPTH)
    }

    /// Reads a value of at most `depth` arrays and objects within each other, and drops it.
    fn skip_within(&mut self, depth: u32) -> Result<(), GiveUp> {
        match self.token().ok_or(GiveUp)? {
            b'"' => self.string().map(drop),
            b'-' | b'0'..=b'9' => self.number().map(drop),
            b't' | b'f' => self.boolean().map(drop),
            b'n' => self.literal("null"),
            b'{' => {
                let depth = depth.checked_sub(1).ok_or(GiveUp)?;
                let mut members = self.object()?;
                while self.name(&mut members)?.is_some() {
                    self.skip_within(depth)?;
                }
                Ok(())
            }
            b'[' => {
                let depth = depth.checked_sub(1).ok_or(GiveUp)?;
                self.elements(|reader| reader.skip_within(depth))
            }
            _ => Err(GiveUp),
        }
    }
}

/// Returns the position of the first quote, if it is among the first 32 bytes of a longer text.
#[inline]
fn near_quote(text: &[u8]) -> Option<usize> {
    let next: &[u8; 32] = text.first_chunk()?;
    let (parts, _) = next.as_chunks();
    let quotes = quotes_of(parts[0]) | quotes_of(parts[1]) << 16;
    (quotes != 0).then_some(quotes.trailing_zeros() as usize)
}

/// Returns the length of a [usual decimal](Reader::usual_decimal) at the start of a text.
#[inline]
fn usual_decimal(text: &[u8]) -> Option<usize> {
    let digits = digits_of(*text.first_chunk()?);
    let whole = digits.trailing_ones() as usize;
    if whole == 0 || (whole > 1 && text.first() == Some(&b'0')) {
        return None;
    }
    let mut length = whole;
    if text.get(whole) == Some(&b'.') {
        let fraction = (digits >> (whole + 1)).trailing_ones() as usize;
        length += 1 + fraction;
        if fraction == 0 {
            return None;
        }
    }
    if length > 15 || matches!(text.get(length)?, b'e' | b'E') {
        return None;
    }
    Some(length)
}

/// Returns the quotes, one bit each.
#[inline]
fn quotes_of(bytes: [u8; 16]) -> u32 {
    u8x16::new(bytes).simd_eq(u8x16::splat(b'"')).to_bitmask()
}

/// Returns the digits, one bit each.
#[inline]
fn digits_of(bytes: [u8; 16]) -> u32 {
    let values = u8x16::new(bytes) - u8x16::splat(b'0');
    values.simd_le(u8x16::splat(9)).to_bitmask()
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
