//! Scores of results, whose values are computed when they are needed.

use std::fmt;

use serde::{Deserialize, Deserializer};

/// Score given by a search system. Few programs need its value.
#[derive(Clone, Copy)]
pub struct Score<'a>(Number<'a>);

/// Number whose value may not be computed yet.
#[derive(Clone, Copy)]
enum Number<'a> {
    /// Decimal of up to 15 characters. Every way of reading one has the same result.
    Text(&'a str),
    Value(f64),
}

impl<'a> Score<'a> {
    /// Score whose value is not computed yet: a decimal of up to 15 characters.
    pub(crate) fn of_short_decimal(text: &'a str) -> Self {
        Self(Number::Text(text))
    }

    /// Returns the value.
    pub fn get(&self) -> f64 {
        match self.0 {
            Number::Text(text) => text.parse().unwrap_or_default(),
            Number::Value(value) => value,
        }
    }
}

impl From<f64> for Score<'_> {
    fn from(value: f64) -> Self {
        Self(Number::Value(value))
    }
}

impl fmt::Debug for Score<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(formatter)
    }
}

impl<'a, 'de: 'a> Deserialize<'de> for Score<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::from)
    }
}
