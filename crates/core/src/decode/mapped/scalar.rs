//! Value that a pointer found in a record, and its conversions to the types of event fields.

use std::borrow::Cow;

use crate::event::{Id, Text, Value};
use crate::time::EventTime;

/// Name of an object without members.
pub(super) const EMPTY_OBJECT: &str = "an empty object";

/// Value at a pointer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Scalar<'a> {
    /// No value, or null.
    #[default]
    Absent,
    Text(Cow<'a, str>),
    /// Whole number below 0.
    Int(i64),
    /// Whole number.
    Uint(u64),
    /// Other number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// Time, from an encoding that states the unit of times.
    Time(EventTime),
    /// Number that Protocol Buffers leave out: 0, or none where 0 is not valid.
    Unset,
    /// List of scalars.
    List(Vec<Self>),
    /// Value that no field can have.
    Other(&'static str),
}

impl<'a> Scalar<'a> {
    /// Name of the type, for rejections.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Text(_) => "text",
            Self::Int(_) | Self::Uint(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Bool(_) => "a boolean",
            Self::Time(_) => "a time",
            Self::Unset => "0",
            Self::List(_) => "a list",
            Self::Other(kind) => kind,
        }
    }

    /// Text; numbers and booleans in their shortest form.
    pub(super) fn text(&self) -> Option<Cow<'a, str>> {
        Some(match self {
            Self::Text(text) => text.clone(),
            Self::Int(number) => Cow::Owned(number.to_string()),
            Self::Uint(number) => Cow::Owned(number.to_string()),
            Self::Float(number) => Cow::Owned(number.to_string()),
            Self::Bool(true) => Cow::Borrowed("true"),
            Self::Bool(false) => Cow::Borrowed("false"),
            Self::Unset => Cow::Borrowed("0"),
            Self::Absent | Self::Time(_) | Self::List(_) | Self::Other(_) => return None,
        })
    }

    /// Id: text or a whole number.
    pub(super) fn id(&self) -> Option<Id<'a>> {
        match self {
            Self::Text(_) | Self::Int(_) | Self::Uint(_) => self.text().map(Id),
            _ => None,
        }
    }

    /// Number, also one in quotes.
    pub(super) fn number(&self) -> Option<f64> {
        #[allow(
            clippy::cast_precision_loss,
            reason = "the nearest number, as serde_json reads it"
        )]
        let number = match self {
            Self::Int(number) => *number as f64,
            Self::Uint(number) => *number as f64,
            Self::Float(number) => *number,
            Self::Unset => 0.0,
            Self::Text(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    /// Whole number, also one in quotes or with a fraction of zero.
    pub(super) fn whole(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Uint(number) => i64::try_from(*number).ok(),
            Self::Unset => Some(0),
            // 3.0 is formatted as 3; a fraction does not parse as an integer.
            Self::Float(number) => number.to_string().parse().ok(),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Boolean, also one in quotes.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            Self::Text(text) if &**text == "true" => Some(true),
            Self::Text(text) if &**text == "false" => Some(false),
            _ => None,
        }
    }

    /// Value of a label or an attribute.
    pub(super) fn value(&self) -> Option<Value<'a>> {
        Some(match self {
            Self::Text(text) => Value::Text(Text(text.clone())),
            Self::Int(_) | Self::Uint(_) | Self::Unset => Value::Text(Text(self.text()?)),
            Self::Float(number) => Value::Number(*number),
            Self::Bool(truth) => Value::Bool(*truth),
            Self::Absent => return None,
            Self::Time(_) | Self::List(_) | Self::Other(_) => Value::Other,
        })
    }

    /// Returns true for any value but false, and an empty text, list or object.
    pub(super) fn is_set(&self) -> bool {
        match self {
            Self::Absent | Self::Unset | Self::Bool(false) => false,
            Self::Text(text) => !text.is_empty(),
            Self::List(values) => !values.is_empty(),
            Self::Other(kind) => *kind != EMPTY_OBJECT,
            Self::Bool(true) | Self::Int(_) | Self::Uint(_) | Self::Float(_) | Self::Time(_) => {
                true
            }
        }
    }

    /// Returns true if the value is `text`, as a configuration writes it.
    pub(super) fn is(&self, text: &str) -> bool {
        match self {
            Self::Text(found) => found == text,
            other => other.text().is_some_and(|found| found == text),
        }
    }
}
