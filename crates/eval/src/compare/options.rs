//! Options of a comparison.

use super::labels::Labels;
use crate::evaluate::GoldFacts;
use rankgauge_core::statistics::Settings;

/// Options of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// Settings of the statistical tests.
    pub statistics: Settings,
    /// Significance level: a difference is shown if its Holm-adjusted p is below it.
    pub alpha: f64,
    /// Names of four runs: base, with one component, with the other, with both.
    pub interaction: Option<[String; 4]>,
    /// Labels by whose values the best run is reported.
    pub by: Vec<String>,
    /// Query labels, in which `by` is looked up.
    pub labels: Labels,
    /// Gold set that the runs were judged against, if known.
    pub gold: Option<GoldFacts>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            statistics: Settings::default(),
            alpha: 0.05,
            interaction: None,
            by: Vec::new(),
            labels: Labels::new(),
            gold: None,
        }
    }
}
