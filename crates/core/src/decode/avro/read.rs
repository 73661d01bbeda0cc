//! Reader of Avro values, as a deserializer that the walk along a mapping drives.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::schema::{Schema, Type};
use crate::decode::binary::{Broken, MAX_DEPTH, Work, text};
use crate::decode::wire::Fields;

/// Reads a value along `seed`.
///
/// # Errors
/// The bytes are no value of the schema, or the seed stops the read.
pub(in crate::decode) fn read<'a, S: DeserializeSeed<'a, Value = ()>>(
    schema: &'a Schema,
    bytes: &'a [u8],
    seed: S,
) -> Result<(), Broken> {
    let mut reader = Reader {
        bytes: Fields::of(bytes),
        work: Work::of(bytes.len()),
        types: &schema.types,
    };
    let value = Datum {
        reader: &mut reader,
        of: schema.root,
        depth: 0,
    };
    let done = seed.deserialize(value).and_then(|()| {
        let left = reader.bytes.rest().len();
        if left == 0 {
            return Ok(());
        }
        let text = format!("{left} bytes follow the value; it has another schema");
        Err(Broken(text.into()))
    });
    done.map_err(|Broken(text)| {
        if text.is_empty() {
            return Broken(text);
        }
        let at = bytes.len() - reader.bytes.rest().len();
        Broken(format!("{text}, at byte {at}").into())
    })
}

/// Checks that the bytes are a value of the schema.
///
/// # Errors
/// They are not.
pub(in crate::decode) fn check(schema: &Schema, bytes: &[u8]) -> Result<(), Broken> {
    struct Skipped;

    impl<'de> DeserializeSeed<'de> for Skipped {
        type Value = ();

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            deserializer.deserialize_ignored_any(IgnoredAny).map(|_| ())
        }
    }

    read(schema, bytes, Skipped)
}

/// Number of bytes of the value at the beginning of `bytes`.
///
/// # Errors
/// The bytes do not begin with a value of the schema.
pub(in crate::decode) fn length(schema: &Schema, bytes: &[u8]) -> Result<usize, Broken> {
    let mut reader = Reader {
        bytes: Fields::of(bytes),
        work: Work::of(bytes.len()),
        types: &schema.types,
    };
    reader.skip(schema.root, 0)?;
    Ok(bytes.len() - reader.bytes.rest().len())
}

struct Reader<'a> {
    bytes: Fields<'a>,
    work: Work,
    types: &'a [Type],
}

impl<'a> Reader<'a> {
    #[inline]
    fn long(&mut self) -> Result<i64, Broken> {
        let number = self.bytes.varint()?;
        Ok((number >> 1).cast_signed() ^ (number & 1).cast_signed().wrapping_neg())
    }

    fn length(&mut self) -> Result<usize, Broken> {
        usize::try_from(self.long()?).map_err(|_| Broken::new("a length below 0"))
    }

    fn blob(&mut self) -> Result<&'a [u8], Broken> {
        let length = self.length()?;
        Ok(self.bytes.take(length)?)
    }

    fn truth(&mut self) -> Result<bool, Broken> {
        match self.bytes.take(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Broken::new("a boolean that is neither 0 nor 1")),
        }
    }

    fn of(&self, place: usize) -> Result<&'a Type, Broken> {
        self.types
            .get(place)
            .ok_or(Broken::new("a type that the schema does not have"))
    }

    fn branch(&mut self, branches: &[usize]) -> Result<usize, Broken> {
        let branch = usize::try_from(self.long()?).ok();
        let branch = branch.and_then(|branch| branches.get(branch));
        branch
            .copied()
            .ok_or(Broken::new("a branch that the union does not have"))
    }

    /// Number of elements of the next block, with its size if it states one; 0 at the end.
    fn block(&mut self) -> Result<(u64, Option<usize>), Broken> {
        let count = self.long()?;
        if count < 0 {
            let size = self.length()?;
            return Ok((count.unsigned_abs(), Some(size)));
        }
        Ok((count.unsigned_abs(), None))
    }

    /// Skips a value.
    fn skip(&mut self, place: usize, depth: u32) -> Result<(), Broken> {
        self.work.take()?;
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        match self.of(place)? {
            Type::Null => {}
            Type::Bool => {
                self.bytes.take(1)?;
            }
            Type::Int | Type::Long | Type::Time { .. } | Type::Enum(_) => {
                self.bytes.varint()?;
            }
            Type::Float => {
                self.bytes.take(4)?;
            }
            Type::Double => {
                self.bytes.take(8)?;
            }
            Type::Uuid => {
                self.bytes.take(16)?;
            }
            Type::Bytes | Type::Text | Type::Decimal { fixed: None, .. } => {
                self.blob()?;
            }
            Type::Fixed(size)
            | Type::Decimal {
                fixed: Some(size), ..
            } => {
                self.bytes.take(*size)?;
            }
            Type::Record(fields) => {
                for (_, of) in fields {
                    self.skip(*of, depth + 1)?;
                }
            }
            Type::Union(branches) => {
                let branch = self.branch(branches)?;
                self.skip(branch, depth + 1)?;
            }
            Type::Array(of) => self.skip_blocks(*of, false, depth)?,
            Type::Map(of) => self.skip_blocks(*of, true, depth)?,
        }
        Ok(())
    }

    fn skip_blocks(&mut self, of: usize, has_keys: bool, depth: u32) -> Result<(), Broken> {
        loop {
            let (count, size) = self.block()?;
            if count == 0 {
                return Ok(());
            }
            if let Some(size) = size {
                self.bytes.take(size)?;
                continue;
            }
            for _ in 0..count {
                if has_keys {
                    self.blob()?;
                }
                self.skip(of, depth + 1)?;
            }
        }
    }
}

const TOO_DEEP: Broken = Broken::new("values are nested too deeply");

/// Value that is read next.
struct Datum<'r, 'a> {
    reader: &'r mut Reader<'a>,
    of: usize,
    depth: u32,
}

impl<'a> Deserializer<'a> for Datum<'_, 'a> {
    type Error = Broken;

    #[inline]
    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Broken> {
        let Self { reader, of, depth } = self;
        reader.work.take()?;
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        match reader.of(of)? {
            Type::Null => visitor.visit_unit(),
            Type::Bool => visitor.visit_bool(reader.truth()?),
            Type::Int => match i32::try_from(reader.long()?) {
                Ok(number) => visitor.visit_i64(number.into()),
                Err(_) => Err(Broken::new("an int of more than 32 bits")),
            },
            Type::Long => visitor.visit_i64(reader.long()?),
            Type::Time { ticks } => visitor.visit_i128(reader.long()?.div_euclid(*ticks).into()),
            Type::Float => {
                visitor.visit_f64(f32::from_le_bytes(*reader.bytes.take_array()?).into())
            }
            Type::Double => visitor.visit_f64(f64::from_le_bytes(*reader.bytes.take_array()?)),
            Type::Bytes => visitor.visit_bytes(reader.blob()?),
            Type::Text => visitor.visit_borrowed_str(text(reader.blob()?)?),
            Type::Fixed(size) => visitor.visit_bytes(reader.bytes.take(*size)?),
            Type::Uuid => {
                visitor.visit_str(&uuid(u128::from_be_bytes(*reader.bytes.take_array()?)))
            }
            Type::Decimal { fixed, scale } => {
                let bytes = match fixed {
                    Some(size) => reader.bytes.take(*size)?,
                    None => reader.blob()?,
                };
                visitor.visit_f64(decimal(bytes, *scale))
            }
            Type::Enum(symbols) => {
                let symbol = usize::try_from(reader.long()?).ok();
                let symbol = symbol.and_then(|symbol| symbols.get(symbol));
                let symbol = symbol.ok_or(Broken::new("a symbol that the enum does not have"))?;
                visitor.visit_borrowed_str(symbol)
            }
            Type::Record(fields) => visitor.visit_map(Members {
                reader,
                fields: fields.iter(),
                next: 0,
                depth: depth + 1,
            }),
            Type::Array(of) => {
                let mut elements = Elements::new(reader, *of, depth + 1);
                let value = visitor.visit_seq(&mut elements)?;
                elements.skip()?;
                Ok(value)
            }
            Type::Map(of) => {
                let mut entries = Elements::new(reader, *of, depth + 1);
                visitor.visit_map(&mut entries)
            }
            Type::Union(branches) => {
                let of = reader.branch(branches)?;
                let depth = depth + 1;
                Datum { reader, of, depth }.deserialize_any(visitor)
            }
        }
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Broken> {
        self.reader.skip(self.of, self.depth)?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}

/// Id as text.
fn uuid(id: u128) -> String {
    let hex = format!("{id:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
    parts
        .map(|part| hex.get(part).unwrap_or_default().to_owned())
        .join("-")
}

/// Number of big-endian bytes in two's complement, in units of a power of ten.
fn decimal(bytes: &[u8], scale: i32) -> f64 {
    let is_negative = bytes.first().is_some_and(|first| *first >= 0x80);
    let mut number = if is_negative { -1.0 } else { 0.0 };
    for byte in bytes {
        number = number * 256.0 + f64::from(*byte);
    }
    // A division by an exact power gives the nearest number.
    number / 10_f64.powi(scale)
}

/// Members of a record.
struct Members<'r, 'a> {
    reader: &'r mut Reader<'a>,
    fields: std::slice::Iter<'a, (Box<str>, usize)>,
    next: usize,
    depth: u32,
}

impl<'a> MapAccess<'a> for Members<'_, 'a> {
    type Error = Broken;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Broken> {
        let Some((name, of)) = self.fields.next() else {
            return Ok(None);
        };
        self.next = *of;
        seed.deserialize(StrDeserializer::new(name)).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Broken> {
        seed.deserialize(Datum {
            reader: &mut *self.reader,
            of: self.next,
            depth: self.depth,
        })
    }
}

/// Elements of an array, or entries of a map.
struct Elements<'r, 'a> {
    reader: &'r mut Reader<'a>,
    of: usize,
    /// Elements that are left of the block.
    left: u64,
    is_done: bool,
    depth: u32,
}

impl<'r, 'a> Elements<'r, 'a> {
    fn new(reader: &'r mut Reader<'a>, of: usize, depth: u32) -> Self {
        Self {
            reader,
            of,
            left: 0,
            is_done: false,
            depth,
        }
    }

    /// Returns false at the end.
    fn advance(&mut self) -> Result<bool, Broken> {
        if self.left == 0 && !self.is_done {
            self.left = self.reader.block()?.0;
            self.is_done = self.left == 0;
        }
        if self.is_done {
            return Ok(false);
        }
        self.left -= 1;
        Ok(true)
    }

    fn datum(&mut self) -> Datum<'_, 'a> {
        Datum {
            reader: &mut *self.reader,
            of: self.of,
            depth: self.depth,
        }
    }

    /// Skips the elements that the visitor did not read.
    fn skip(&mut self) -> Result<(), Broken> {
        while self.advance()? {
            self.reader.skip(self.of, self.depth)?;
        }
        Ok(())
    }
}

impl<'a> SeqAccess<'a> for &mut Elements<'_, 'a> {
    type Error = Broken;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Broken> {
        if !self.advance()? {
            return Ok(None);
        }
        seed.deserialize(self.datum()).map(Some)
    }
}

impl<'a> MapAccess<'a> for &mut Elements<'_, 'a> {
    type Error = Broken;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Broken> {
        if !self.advance()? {
            return Ok(None);
        }
        let key = text(self.reader.blob()?)?;
        seed.deserialize(StrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Broken> {
        seed.deserialize(self.datum())
    }
}
