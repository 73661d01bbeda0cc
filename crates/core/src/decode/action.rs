//! Action of a feedback event: its type, its values, and the check that all required fields are
//! present.
//!
//! The module does not know the wire formats: a decoder passes in the fields that it read.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use super::json::{bad, missing};
use crate::event::{Action, Amount, Reason, Rejection, Text};

/// Maximum of a latency or a dwell time (30 days), in milliseconds.
pub(super) const MAX_DURATION_MS: f64 = 30.0 * 86_400_000.0;

/// `type` of a feedback event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActionName {
    /// Results that came into view.
    Impression,
    /// Opened result.
    Click,
    /// Time spent on a result.
    Dwell,
    /// Conversion: the user reached the goal.
    Conversion,
    /// Thumbs up or down.
    Thumbs,
    /// Rating on a scale.
    Rating,
    /// Grade given to a document in production.
    Judgment,
    /// Query repeated in other words.
    Reformulation,
    /// Comment in free text.
    Comment,
    /// Any other action.
    #[default]
    Custom,
}

impl ActionName {
    /// All actions, in the order of [`Action::NAMES`].
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

    /// Returns the action whose `type` is `name`.
    pub fn named(name: &str) -> Option<Self> {
        let mut named = Action::NAMES.into_iter().zip(Self::ALL);
        named.find(|(known, _)| *known == name).map(|(_, it)| it)
    }
}

// Implemented by hand, like that of `FeedbackValue`: the implementation that serde derives for an enum
// reports a number as invalid JSON, and accepts an object.
impl<'de> Deserialize<'de> for ActionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Text::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| D::Error::unknown_variant(&name, &Action::NAMES))
    }
}

/// `value` of a thumbs event (a boolean or ±1), a rating or a judgment.
#[derive(Clone, Copy, Debug)]
pub(super) enum FeedbackValue {
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(f64),
}

impl<'de> Deserialize<'de> for FeedbackValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FeedbackValueVisitor;

        impl Visitor<'_> for FeedbackValueVisitor {
            type Value = FeedbackValue;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number or a boolean")
            }

            fn visit_bool<E>(self, value: bool) -> Result<FeedbackValue, E> {
                Ok(FeedbackValue::Bool(value))
            }

            fn visit_f64<E>(self, number: f64) -> Result<FeedbackValue, E> {
                Ok(FeedbackValue::Number(number))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<FeedbackValue, E> {
                self.visit_f64(whole_number(number).ok_or_else(|| E::custom("out of range"))?)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<FeedbackValue, E> {
                let number = i64::try_from(number).ok().and_then(whole_number);
                self.visit_f64(number.ok_or_else(|| E::custom("out of range"))?)
            }
        }

        deserializer.deserialize_any(FeedbackValueVisitor)
    }
}

/// Converts an integer to a floating-point number; `None` beyond 32 bits, which no scale exceeds.
fn whole_number(number: i64) -> Option<f64> {
    i32::try_from(number).ok().map(f64::from)
}

/// Fields of a feedback event that determine its action.
pub(super) struct ActionFields {
    /// Type of the action.
    pub(super) action: ActionName,
    /// True if the event names a result.
    pub(super) has_object: bool,
    /// True if the event states the position of the result.
    pub(super) has_position: bool,
    /// True if the event names the action, as a custom action must.
    pub(super) has_name: bool,
    /// Value of a thumbs, rating or judgment event.
    pub(super) value: Option<FeedbackValue>,
    /// Lowest value of the scale.
    pub(super) min: Option<f64>,
    /// Highest value of the scale.
    pub(super) max: Option<f64>,
    /// Dwell time in milliseconds.
    pub(super) dwell_ms: Option<f64>,
    /// Value of a conversion.
    pub(super) amount: Option<Amount>,
}

impl ActionFields {
    /// Returns the action with its values.
    ///
    /// # Errors
    /// A [`Rejection`] that names the missing or out-of-range field, as native events call it.
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
                Some(dwell_ms) if (0.0..=MAX_DURATION_MS).contains(&dwell_ms) => {
                    Action::Dwell { dwell_ms }
                }
                Some(_) => return Err(bad("dwell_ms", "between 0 and 30 days is expected")),
            },
            ActionName::Conversion => Action::Conversion {
                amount: self.amount,
            },
            ActionName::Thumbs => match self.value {
                None => return Err(missing("value")),
                Some(FeedbackValue::Bool(up)) => Action::Thumbs { up },
                Some(FeedbackValue::Number(value))
                    if value.abs().to_bits() == 1.0_f64.to_bits() =>
                {
                    Action::Thumbs {
                        up: value.is_sign_positive(),
                    }
                }
                Some(FeedbackValue::Number(_)) => {
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
            Some(FeedbackValue::Number(number)) => Ok(number),
            Some(FeedbackValue::Bool(_)) => Err(Rejection::new(
                Reason::WrongType,
                "value: a number is expected",
            )),
            None => Err(missing("value")),
        }
    }
}
