//! Amounts of money as integers, whose sums are exact in any order, and the prices of models.
//!
//! This module does not depend on the source of the prices.

use serde::{Deserialize, Serialize};

use crate::time::EventTime;

/// An amount of money in units of 10⁻¹⁵ of its currency.
///
/// The unit is small enough for the product of a price per million tokens with nine decimals and
/// any number of tokens to be exact. The range (10²³ currency units) is wide enough for any sum.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Money(i128);

const UNITS_PER_NANO: i128 = 1_000_000;

impl Money {
    /// Decimal places.
    pub(super) const DECIMALS: usize = 15;

    /// Parses a plain decimal (`0.15`, `2`, `12.000000001`) without rounding: digits, at most one
    /// point, at most nine decimals, below 10¹². `None` for any other text.
    pub fn from_decimal(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 12 || fraction.len() > 9 || text.ends_with('.') {
            return None;
        }
        if !digits(whole) || !digits(fraction) {
            return None;
        }
        let nanos: i128 = format!("{whole}{fraction:0<9}").parse().ok()?;
        Some(Self(nanos * UNITS_PER_NANO))
    }

    /// Converts an amount stated in an event, rounded to nano-units. The conversion preserves a
    /// decimal of at most nine places. `None` unless `amount` is between 0 and 10⁹.
    pub fn from_stated(amount: f64) -> Option<Self> {
        if !(0.0..=1e9).contains(&amount) {
            return None;
        }
        let nanos = crate::engine::fixed::Nano::from_f64(amount);
        Some(Self(i128::from(nanos.get()) * UNITS_PER_NANO))
    }

    /// Returns the cost of `tokens`, where `self` is the price of a million tokens.
    #[must_use]
    pub fn for_tokens(self, tokens: u64) -> Self {
        // A price has at most nine decimals, so the division is exact. It precedes the
        // multiplication because the product could overflow.
        Self(self.0 / 1_000_000 * i128::from(tokens))
    }

    /// Amount in units of 10⁻¹⁵.
    pub fn units(self) -> i128 {
        self.0
    }

    /// Amount in whole nano-units, rounded down. Histograms of costs record this value.
    pub fn nanos(self) -> u64 {
        u64::try_from(self.0 / UNITS_PER_NANO).unwrap_or(u64::MAX)
    }
}

impl std::ops::AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

/// Price of a model from a date on. All amounts are per million tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// Name of the model, as in the events.
    pub model: String,
    /// ISO 4217 code.
    pub currency: String,
    /// First moment at which this price is valid. `None` means no lower limit.
    pub valid_from: Option<EventTime>,
    /// Price of input tokens that were not read from a cache.
    pub input: Money,
    /// Price of output tokens that are not reasoning tokens.
    pub output: Money,
    /// Price of input tokens read from the provider's cache.
    pub cache_read: Money,
    /// Price of reasoning tokens.
    pub reasoning: Money,
}

/// Prices by model and date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriceTable {
    /// Sorted by model, then by date, latest first.
    prices: Vec<Price>,
}

impl PriceTable {
    /// Creates a table from `prices` in any order.
    pub fn new(mut prices: Vec<Price>) -> Self {
        prices.sort_by(|a, b| (&a.model, b.valid_from).cmp(&(&b.model, a.valid_from)));
        Self { prices }
    }

    /// Currencies of the prices, with repetitions.
    pub fn currencies(&self) -> impl Iterator<Item = &str> {
        self.prices.iter().map(|price| price.currency.as_str())
    }

    /// Returns the price of `model` that is valid at `at`, if any.
    pub fn find(&self, model: &str, at: EventTime) -> Option<&Price> {
        let first = self
            .prices
            .partition_point(|price| price.model.as_str() < model);
        self.prices[first..]
            .iter()
            .take_while(|price| price.model == model)
            .find(|price| price.valid_from.is_none_or(|from| from <= at))
    }
}
