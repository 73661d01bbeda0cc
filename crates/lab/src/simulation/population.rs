//! Population of a simulation: queries, each with its possible scores.

use statrs::distribution::{Beta, ContinuousCDF as _};

use rankgauge_core::number::real_length;

/// Number of scores that approximate a distribution: its quantiles at the centres of equal parts.
const QUANTILES: u32 = 1000;

/// Query with its distribution of scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    scores: Vec<f64>,
    baseline: Option<f64>,
}

impl Query {
    /// Creates a query with equally probable `scores` and an optional known baseline. Numbers
    /// outside \[0, 1\] are clamped. `None` without scores and with NaN.
    pub fn new(scores: Vec<f64>, baseline: Option<f64>) -> Option<Self> {
        if scores.is_empty() || scores.iter().chain(&baseline).any(|number| number.is_nan()) {
            return None;
        }
        Some(Self {
            scores: scores.into_iter().map(|it| it.clamp(0.0, 1.0)).collect(),
            baseline: baseline.map(|it| it.clamp(0.0, 1.0)),
        })
    }

    pub(super) fn scores(&self) -> &[f64] {
        &self.scores
    }

    pub(super) fn baseline(&self) -> Option<f64> {
        self.baseline
    }

    fn mean(&self) -> f64 {
        self.scores.iter().sum::<f64>() / real_length(self.scores.len())
    }
}

/// Set of equally frequent queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    queries: Vec<Query>,
    mean: f64,
}

impl Population {
    /// Creates a population. `None` without queries, and if all scores are 0, because such scores
    /// cannot drop.
    pub fn new(queries: Vec<Query>) -> Option<Self> {
        let sum: f64 = queries.iter().map(Query::mean).sum();
        let mean = sum / real_length(queries.len());
        (mean > 0.0).then_some(Self { queries, mean })
    }

    /// Creates a population of one query with beta-distributed scores. `None` if no beta
    /// distribution has this mean and standard deviation: the deviation must be below
    /// √(mean (1 - mean)).
    pub fn beta(mean: f64, deviation: f64) -> Option<Self> {
        Self::new(vec![Query::new(
            quantiles(mean, deviation, QUANTILES)?,
            None,
        )?])
    }

    pub(super) fn queries(&self) -> &[Query] {
        &self.queries
    }

    /// Mean score of a search.
    pub fn mean(&self) -> f64 {
        self.mean
    }
}

fn quantiles(mean: f64, deviation: f64, count: u32) -> Option<Vec<f64>> {
    let both = mean * (1.0 - mean) / (deviation * deviation) - 1.0;
    let beta = Beta::new(mean * both, (1.0 - mean) * both).ok()?;
    let middles = (0..count).map(|part| (f64::from(part) + 0.5) / f64::from(count));
    Some(middles.map(|level| beta.inverse_cdf(level)).collect())
}
