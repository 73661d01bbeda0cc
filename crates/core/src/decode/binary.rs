//! Error and bounds that the readers of Avro and Protocol Buffers have in common.
//!
//! Both drive the visitors of a mapping, as `serde_json` does for JSON.

use std::borrow::Cow;
use std::fmt;

use super::wire::Malformed;

/// Maximum depth of nested values.
pub(super) const MAX_DEPTH: u32 = 64;

/// Number of values that a record can have beyond its number of bytes: values without bytes.
const MAX_EMPTY_VALUES: usize = 100_000;

/// Bytes that do not fit their schema, or a stop of the visitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken(pub(super) Cow<'static, str>);

impl Broken {
    /// Error with a constant text.
    pub(super) const fn new(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

impl serde::de::Error for Broken {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self(text.to_string().into())
    }
}

impl From<Malformed> for Broken {
    fn from(malformed: Malformed) -> Self {
        Self(malformed.to_string().into())
    }
}

/// Work that is left for a record: values with and without bytes. An array can have 2^60 values without
/// bytes.
#[derive(Debug)]
pub(super) struct Work(usize);

impl Work {
    /// Work for a record of this number of bytes.
    pub(super) fn of(bytes: usize) -> Self {
        Self(bytes.saturating_add(MAX_EMPTY_VALUES))
    }

    /// Takes the work of a value.
    ///
    /// # Errors
    /// No work is left.
    #[inline]
    pub(super) fn take(&mut self) -> Result<(), Broken> {
        match self.0.checked_sub(1) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => Err(Broken::new("too many values without bytes")),
        }
    }
}

/// Text of bytes.
///
/// # Errors
/// They are not UTF-8.
#[inline]
pub(super) fn text(bytes: &[u8]) -> Result<&str, Broken> {
    simdutf8::basic::from_utf8(bytes).map_err(|_| Broken::new("a text that is not UTF-8"))
}
