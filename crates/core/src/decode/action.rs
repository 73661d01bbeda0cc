//! What a feedback event says happened, and whether it says all that this needs.
//!
//! It does not know how an event is written: a wire format hands over what it read.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use super::Rejection;
use super::json::{bad, missing};
use crate::event::Reason;
use crate::event::{Action, Text};

/// Longer than anything can have taken or been looked at (30 days), in milliseconds.
pub(super) const LONGEST_MS: f64 = 30.0 * 86_400_000.0;

/// The `type` of a feedback event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionName {
    /// Results came into view.
    Impression,
    /// A result was opened.
    Click,
    /// A result was looked at.
    Dwell,
    /// The goal was reached.
    Conversion,
    /// A thumb up or down.
    Thumbs,
    /// A rating on a scale.
    Rating,
    /// A grade given to a document in production.
    Judgment,
    /// The query was asked again in other words.
    Reformulation,
    /// A remark.
    Comment,
    /// Anything else.
    Custom,
}

impl ActionName {
    /// All of them, in the order of [`Action::NAMES`].
    pub const ALL: [Self; Action::NAMES.len()] = [
        Self::Impression,
        Self::Click,
        Self::Dwell,
        Self::Conversion,
        Self::Thumbs,
        Self::Rating,
        Self::Judgment,
        Self::Reformulation,
        Self::Comment,
        Self::Custom,
    ];

    /// The one that events call `name`.
    pub fn named(name: &str) -> Option<Self> {
        let mut named = Action::NAMES.into_iter().zip(Self::ALL);
        named.find(|(known, _)| *known == name).map(|(_, it)| it)
    }
}

// Written by hand, as is that of `Opinion`: what serde derives for an enum says of a number that
// it is no JSON, and takes an object.
impl<'de> Deserialize<'de> for ActionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Text::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| D::Error::unknown_variant(&name, &Action::NAMES))
    }
}

/// The `value` of a thumb (a truth value or ±1) or of a rating.
#[derive(Clone, Copy, Debug)]
pub(super) enum Opinion {
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(f64),
}

impl<'de> Deserialize<'de> for Opinion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OpinionVisitor;

        impl Visitor<'_> for OpinionVisitor {
            type Value = Opinion;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number or a truth value")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Opinion, E> {
                Ok(Opinion::Bool(value))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Opinion, E> {
                Ok(Opinion::Number(number))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Opinion, E> {
                self.visit_f64(whole_number(number).ok_or_else(|| E::custom("out of range"))?)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Opinion, E> {
                let number = i64::try_from(number).ok().and_then(whole_number);
                self.visit_f64(number.ok_or_else(|| E::custom("out of range"))?)
            }
        }

        deserializer.deserialize_any(OpinionVisitor)
    }
}

/// An integer as a floating-point number; `None` beyond 32 bits, which no scale reaches.
fn whole_number(number: i64) -> Option<f64> {
    i32::try_from(number).ok().map(f64::from)
}

/// What an event says of its action.
pub(super) struct Said {
    /// What happened.
    pub(super) action: ActionName,
    /// Whether it names a result.
    pub(super) has_object: bool,
    /// Whether it says where the result stood.
    pub(super) has_position: bool,
    /// Whether it has a name of its own.
    pub(super) has_name: bool,
    /// What a thumb, rating or judgment came to.
    pub(super) value: Option<Opinion>,
    /// Lowest value of the scale.
    pub(super) min: Option<f64>,
    /// Highest value of the scale.
    pub(super) max: Option<f64>,
    /// How long a result was looked at, in milliseconds.
    pub(super) dwell_ms: Option<f64>,
}

impl Said {
    /// What happened, with what is particular to it.
    ///
    /// # Errors
    /// A [`Rejection`] that names the field, as native events call it, that is missing or out of
    /// range.
    pub(super) fn action(&self) -> Result<Action, Rejection> {
        Ok(match self.action {
            ActionName::Impression => Action::Impression,
            ActionName::Click if !self.has_object && !self.has_position => {
                return Err(Rejection::new(
                    Reason::MissingField,
                    "a click needs `object_id` or `position`",
                ));
            }
            ActionName::Click => Action::Click,
            ActionName::Dwell => match self.dwell_ms {
                None => return Err(missing("dwell_ms")),
                Some(dwell_ms) if (0.0..=LONGEST_MS).contains(&dwell_ms) => {
                    Action::Dwell { dwell_ms }
                }
                Some(_) => return Err(bad("dwell_ms", "between 0 and 30 days is expected")),
            },
            ActionName::Conversion => Action::Conversion,
            ActionName::Thumbs => match self.value {
                None => return Err(missing("value")),
                Some(Opinion::Bool(up)) => Action::Thumbs { up },
                Some(Opinion::Number(value)) if value.abs().to_bits() == 1.0_f64.to_bits() => {
                    Action::Thumbs {
                        up: value.is_sign_positive(),
                    }
                }
                Some(Opinion::Number(_)) => {
                    return Err(bad("value", "a thumb is true, false, 1 or -1"));
                }
            },
            ActionName::Rating => {
                let value = self.number()?;
                let (min, max) = (self.min.unwrap_or(1.0), self.max.unwrap_or(5.0));
                if !(min < max && (min..=max).contains(&value)) {
                    return Err(bad(
                        "value",
                        "a rating lies between `min` (default 1) and `max` (default 5)",
                    ));
                }
                Action::Rating { value, min, max }
            }
            ActionName::Judgment if !self.has_object => return Err(missing("object_id")),
            ActionName::Judgment => Action::Judgment {
                grade: self.number()?,
            },
            ActionName::Reformulation => Action::Reformulation,
            ActionName::Comment => Action::Comment,
            ActionName::Custom if !self.has_name => return Err(missing("name")),
            ActionName::Custom => Action::Custom,
        })
    }

    fn number(&self) -> Result<f64, Rejection> {
        match self.value {
            Some(Opinion::Number(number)) => Ok(number),
            Some(Opinion::Bool(_)) => Err(Rejection::new(
                Reason::WrongType,
                "value: a number is expected",
            )),
            None => Err(missing("value")),
        }
    }
}
