//! Reader of the Protocol Buffers wire format. It borrows from the record and never recurses.
//!
//! The module knows no message. Every length is checked against the rest of its message.

/// Maximum depth of nested groups in an unknown field, as in `prost`.
const MAX_GROUPS: usize = 100;

/// Bytes that are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    /// The message ends within a field.
    #[error("truncated")]
    Truncated,
    /// A number has more than 64 bits.
    #[error("a number with more than 64 bits")]
    Overflow,
    /// The number or the type of a field is not valid.
    #[error("an invalid field key")]
    Key,
    /// A known field has another type.
    #[error("field {0} has another type")]
    Type(u32),
    /// Groups do not match, or are nested too deeply.
    #[error("a group without its end")]
    Group,
}

/// Value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field<'a> {
    /// Variable-length integer.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Four bytes.
    Fixed32(u32),
    /// Bytes, text or message.
    Bytes(&'a [u8]),
    /// Group, which is skipped.
    Skipped,
}

impl<'a> Field<'a> {
    /// Returns the bytes.
    ///
    /// # Errors
    /// The field has another type.
    pub(super) fn bytes(self, number: u32) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Varint(_) | Self::Fixed64(_) | Self::Fixed32(_) | Self::Skipped => {
                Err(Malformed::Type(number))
            }
        }
    }

    /// Returns the integer.
    ///
    /// # Errors
    /// The field has another type.
    pub(super) fn varint(self, number: u32) -> Result<u64, Malformed> {
        match self {
            Self::Varint(value) => Ok(value),
            Self::Bytes(_) | Self::Fixed64(_) | Self::Fixed32(_) | Self::Skipped => {
                Err(Malformed::Type(number))
            }
        }
    }

    /// Returns the eight bytes as an integer.
    ///
    /// # Errors
    /// The field has another type.
    pub(super) fn fixed64(self, number: u32) -> Result<u64, Malformed> {
        match self {
            Self::Fixed64(value) => Ok(value),
            Self::Bytes(_) | Self::Varint(_) | Self::Fixed32(_) | Self::Skipped => {
                Err(Malformed::Type(number))
            }
        }
    }
}

/// Bytes of the fields of `message` with the number `number`. A caller stops at the first error.
#[inline]
pub(super) fn parts(message: &[u8], number: u32) -> impl Iterator<Item = Result<&[u8], Malformed>> {
    let mut fields = Fields::of(message);
    std::iter::from_fn(move || {
        loop {
            match fields.next() {
                Ok(Some((found, field))) if found == number => return Some(field.bytes(number)),
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(malformed) => return Some(Err(malformed)),
            }
        }
    })
}

/// Reader of the fields of one message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Fields of `message`.
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Bytes that were not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Reads the next field with its number; `None` at the end of the message.
    ///
    /// # Errors
    /// The bytes are not a field.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(u32, Field<'a>)>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, wire_type) = self.key()?;
        let field = match wire_type {
            0 => Field::Varint(self.varint()?),
            1 => Field::Fixed64(u64::from_le_bytes(*self.take_array()?)),
            2 => Field::Bytes(self.length_delimited()?),
            3 => {
                self.skip_group(number)?;
                Field::Skipped
            }
            5 => Field::Fixed32(u32::from_le_bytes(*self.take_array()?)),
            _ => return Err(Malformed::Key),
        };
        Ok(Some((number, field)))
    }

    #[inline]
    fn key(&mut self) -> Result<(u32, u8), Malformed> {
        let key = u32::try_from(self.varint()?).map_err(|_| Malformed::Key)?;
        let number = key >> 3;
        if number == 0 {
            return Err(Malformed::Key);
        }
        Ok((number, u8::try_from(key & 7).unwrap_or_default()))
    }

    /// Reads a variable-length integer.
    ///
    /// # Errors
    /// The bytes are not one.
    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        if let [first, rest @ ..] = self.rest
            && *first < 0x80
        {
            self.rest = rest;
            return Ok(u64::from(*first));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for (index, byte) in self.rest.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if index == 9 && *byte > 1 {
                return Err(Malformed::Overflow);
            }
            value |= bits << (7 * index);
            if *byte < 0x80 {
                self.rest = self.rest.get(index + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(Malformed::Truncated)
    }

    #[inline]
    fn length_delimited(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.varint()?).map_err(|_| Malformed::Truncated)?;
        self.take(length)
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes the next bytes as an array.
    ///
    /// # Errors
    /// There are fewer.
    pub(super) fn take_array<const N: usize>(&mut self) -> Result<&'a [u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Skips the rest of the group with this number.
    fn skip_group(&mut self, number: u32) -> Result<(), Malformed> {
        let mut open = vec![number];
        while let Some(innermost) = open.last() {
            let (number, wire_type) = self.key()?;
            match wire_type {
                0 => {
                    self.varint()?;
                }
                1 => {
                    self.take(8)?;
                }
                2 => {
                    self.length_delimited()?;
                }
                3 if open.len() < MAX_GROUPS => open.push(number),
                4 if number == *innermost => {
                    open.pop();
                }
                5 => {
                    self.take(4)?;
                }
                3 | 4 => return Err(Malformed::Group),
                _ => return Err(Malformed::Key),
            }
        }
        Ok(())
    }
}
