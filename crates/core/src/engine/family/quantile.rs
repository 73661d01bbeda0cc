//! Quantiles of latencies and costs in a window.

use serde::{Serialize, Serializer};

/// Quantile of the values in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantile {
    /// Median.
    P50,
    /// 90 % of the values are at most this one.
    P90,
    /// 95 % of the values are at most this one.
    P95,
    /// 99 % of the values are at most this one.
    P99,
    /// Largest value.
    Maximum,
}

impl Quantile {
    /// Exposed rolling quantiles.
    pub const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P95, Self::P99, Self::Maximum];

    /// Share of the values, from 0 to 1.
    pub fn share(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P90 => 0.9,
            Self::P95 => 0.95,
            Self::P99 => 0.99,
            Self::Maximum => 1.0,
        }
    }

    /// Value of the label `quantile`: the share as text.
    pub fn name(self) -> &'static str {
        match self {
            Self::P50 => "0.5",
            Self::P90 => "0.9",
            Self::P95 => "0.95",
            Self::P99 => "0.99",
            Self::Maximum => "1",
        }
    }
}

impl Serialize for Quantile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
