//! Values of attributes, decoded when a mapping needs them.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::super::wire::{Fields, Malformed, parts};
use super::json;

/// Maximum depth of nested values.
pub(super) const MAX_DEPTH: usize = 16;

/// Maximum number of values in one attribute, those of all its arrays and objects together: about
/// 10 MB, while an array of a body of 16 MiB can have millions of values of 2 bytes.
pub(super) const MAX_VALUES: usize = 100_000;

/// Text that stands for hidden content.
const REDACTED: &str = "__REDACTED__";

/// Value that is not decoded.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'a> {
    /// Message `AnyValue`.
    Proto(&'a [u8]),
    /// JSON form of `AnyValue`.
    Json(&'a str),
}

/// Decoded value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Any<'a> {
    /// No value.
    #[default]
    Empty,
    Text(Cow<'a, str>),
    /// Boolean.
    Bool(bool),
    /// Integer.
    Int(i64),
    /// Number.
    Double(f64),
    /// Array.
    List(Vec<Any<'a>>),
    /// Object.
    Map(Vec<(Cow<'a, str>, Any<'a>)>),
    /// Bytes. No mapping uses their content.
    Bytes,
}

/// Value that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    /// Not an `AnyValue`.
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// Text that is not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// More than [`MAX_DEPTH`] levels.
    #[error("more than {MAX_DEPTH} levels of nesting")]
    TooDeep,
    /// More than [`MAX_VALUES`] values.
    #[error("more than {MAX_VALUES} values in one attribute")]
    TooMany,
    /// Text that should be JSON.
    #[error("not JSON, or truncated JSON")]
    NotJson,
    /// Not the JSON form of an `AnyValue`.
    #[error("{0}")]
    Json(String),
}

impl<'a> Raw<'a> {
    /// Decodes the value.
    ///
    /// # Errors
    /// It is malformed, too deep or too large.
    pub(super) fn decode(self) -> Result<Any<'a>, Unreadable> {
        let left = Cell::new(MAX_VALUES);
        match self {
            Self::Proto(message) => any(message, Room::new(&left)),
            Self::Json(text) => json::any(text, Room::new(&left)),
        }
    }
}

/// Values that an attribute can still have at a depth.
#[derive(Clone, Copy)]
pub(super) struct Room<'c> {
    depth: usize,
    left: &'c Cell<usize>,
}

impl<'c> Room<'c> {
    fn new(left: &'c Cell<usize>) -> Self {
        Self { depth: 0, left }
    }

    /// Room for the values of an array or an object.
    pub(super) fn inside(self) -> Self {
        let depth = self.depth + 1;
        Self { depth, ..self }
    }

    /// Takes the room of one value.
    ///
    /// # Errors
    /// It is too deep, or the attribute has too many values.
    pub(super) fn take(self) -> Result<(), Unreadable> {
        if self.depth > MAX_DEPTH {
            return Err(Unreadable::TooDeep);
        }
        let left = self.left.get().checked_sub(1).ok_or(Unreadable::TooMany)?;
        self.left.set(left);
        Ok(())
    }
}

fn any<'a>(message: &'a [u8], room: Room<'_>) -> Result<Any<'a>, Unreadable> {
    room.take()?;
    let mut fields = Fields::of(message);
    let mut value = Any::Empty;
    while let Some((number, field)) = fields.next()? {
        value = match number {
            1 => Any::Text(Cow::Borrowed(utf8(field.bytes(number)?)?)),
            2 => Any::Bool(field.varint(number)? != 0),
            3 => Any::Int(field.varint(number)?.cast_signed()),
            4 => Any::Double(f64::from_bits(field.fixed64(number)?)),
            5 => Any::List(list(field.bytes(number)?, room.inside())?),
            6 => Any::Map(map(field.bytes(number)?, room.inside())?),
            7 => {
                field.bytes(number)?;
                Any::Bytes
            }
            _ => value,
        };
    }
    Ok(value)
}

fn list<'a>(message: &'a [u8], room: Room<'_>) -> Result<Vec<Any<'a>>, Unreadable> {
    parts(message, 1).map(|value| any(value?, room)).collect()
}

fn map<'a>(message: &'a [u8], room: Room<'_>) -> Result<Vec<(Cow<'a, str>, Any<'a>)>, Unreadable> {
    let mut entries = Vec::new();
    for entry in parts(message, 1) {
        let (key, value) = key_value(entry?)?;
        entries.push((Cow::Borrowed(utf8(key)?), any(value, room)?));
    }
    Ok(entries)
}

/// Splits a `KeyValue` into its key and its value.
///
/// # Errors
/// It is malformed.
#[inline]
pub(super) fn key_value(message: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let mut fields = Fields::of(message);
    let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => key = field.bytes(number)?,
            2 => value = field.bytes(number)?,
            _ => {}
        }
    }
    Ok((key, value))
}

/// Checks that `bytes` are text.
///
/// # Errors
/// They are not UTF-8.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Unreadable> {
    simdutf8::basic::from_utf8(bytes).map_err(|_| Unreadable::NotUtf8)
}

impl<'a> Any<'a> {
    /// Text that is neither empty nor hidden.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) if !text.is_empty() && text != REDACTED => Some(text),
            _ => None,
        }
    }

    /// Scalar as text; `None` for empty and hidden text.
    pub(super) fn scalar(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Int(number) => Some(Cow::Owned(number.to_string())),
            Self::Double(number) => Some(Cow::Owned(number.to_string())),
            Self::Bool(flag) => Some(Cow::Borrowed(if flag { "true" } else { "false" })),
            other => other.text(),
        }
    }

    /// Id: text or an integer.
    pub(super) fn id(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Int(number) => Some(Cow::Owned(number.to_string())),
            other => other.text(),
        }
    }

    /// Finite number.
    pub(super) fn number(&self) -> Option<f64> {
        let number = match self {
            #[allow(
                clippy::cast_precision_loss,
                reason = "a score or an amount; larger integers lose digits that do not matter"
            )]
            Self::Int(number) => *number as f64,
            Self::Double(number) => *number,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    /// Number of tokens.
    pub(super) fn count(&self) -> Option<u64> {
        match self {
            Self::Int(number) => u64::try_from(*number).ok(),
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be within the range"
            )]
            Self::Double(number) if (0.0..=1e15).contains(number) => Some(*number as u64),
            _ => None,
        }
    }

    /// Value of a member of an object.
    pub(super) fn take(&mut self, name: &str) -> Option<Self> {
        let Self::Map(members) = self else {
            return None;
        };
        let (_, value) = members.iter_mut().find(|(key, _)| key == name)?;
        Some(std::mem::take(value))
    }

    /// Copy that borrows nothing.
    fn into_owned(self) -> Any<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Empty => Any::Empty,
            Self::Text(text) => Any::Text(owned(text)),
            Self::Bool(flag) => Any::Bool(flag),
            Self::Int(number) => Any::Int(number),
            Self::Double(number) => Any::Double(number),
            Self::List(values) => Any::List(values.into_iter().map(Self::into_owned).collect()),
            Self::Map(members) => {
                let members = members.into_iter();
                Any::Map(
                    members
                        .map(|(key, value)| (owned(key), value.into_owned()))
                        .collect(),
                )
            }
            Self::Bytes => Any::Bytes,
        }
    }

    /// Parses a JSON document that is the text of an attribute.
    ///
    /// # Errors
    /// It is not JSON, too deep or too large.
    pub(super) fn of_json(text: Cow<'a, str>) -> Result<Self, Unreadable> {
        match text {
            Cow::Borrowed(text) => of_json(text),
            Cow::Owned(text) => of_json(&text).map(Any::into_owned),
        }
    }
}

fn of_json(text: &str) -> Result<Any<'_>, Unreadable> {
    let left = Cell::new(MAX_VALUES);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = JsonValue(Room::new(&left)).deserialize(&mut deserializer);
    match value.and_then(|value| deserializer.end().map(|()| value)) {
        Err(_) if left.get() == 0 => Err(Unreadable::TooMany),
        value => value.map_err(|_| Unreadable::NotJson),
    }
}

/// Reader of a JSON value.
#[derive(Clone, Copy)]
struct JsonValue<'c>(Room<'c>);

impl<'de> DeserializeSeed<'de> for JsonValue<'_> {
    type Value = Any<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Any<'de>, D::Error> {
        self.0.take().map_err(D::Error::custom)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonValue<'_> {
    type Value = Any<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Any::Empty)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Any::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Any::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        let text = || Any::Text(Cow::Owned(number.to_string()));
        Ok(i64::try_from(number).map_or_else(|_| text(), Any::Int))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Any::Double(number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Any::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Any::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        let inside = Self(self.0.inside());
        while let Some(value) = seq.next_element_seed(inside)? {
            values.push(value);
        }
        Ok(Any::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        let inside = Self(self.0.inside());
        while let Some(crate::event::Text(key)) = map.next_key()? {
            members.push((key, map.next_value_seed(inside)?));
        }
        Ok(Any::Map(members))
    }
}
