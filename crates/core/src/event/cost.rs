//! Cost of a call or of a judgment.

use serde::Deserialize;

use super::text::Text;

/// Amount of money.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Cost<'a> {
    /// Amount in units of the currency, not negative.
    pub amount: f64,
    /// ISO 4217 code; US dollars if not stated.
    #[serde(borrow, default)]
    pub currency: Option<Text<'a>>,
}

impl Cost<'_> {
    /// Code of the currency.
    pub fn currency(&self) -> &str {
        self.currency.as_deref().unwrap_or("USD")
    }
}
