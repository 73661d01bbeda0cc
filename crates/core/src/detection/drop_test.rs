//! Drop test of the searches of one series, with the scores of its queries.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::drop_series::{DropSeries, Part, QueryScores, SeriesRules};

/// Drop test of one series: searches against the earlier searches of their query. `Q` identifies a
/// query.
#[derive(Clone, Debug)]
pub struct DropTest<Q> {
    rules: SeriesRules,
    series: DropSeries,
    queries: FxHashMap<Q, QueryScores>,
}

impl<Q: Eq + Hash> DropTest<Q> {
    /// Creates a test without searches.
    pub fn new(rules: SeriesRules) -> Self {
        Self {
            rules,
            series: DropSeries::default(),
            queries: FxHashMap::default(),
        }
    }

    /// Adds a search or a session at an event time in milliseconds. `query` is `None` without a gold
    /// query, for a test with a season. A late search counts in the newest minute. Returns true if the
    /// search was compared. NaN is ignored.
    pub fn add(&mut self, ts: i64, query: Option<Q>, score: f64) -> bool {
        let scores = query.map(|query| self.queries.entry(query).or_default());
        self.series.add(ts, scores, score, &self.rules)
    }

    /// Log evidence of a drop at the last comparison. 0 before the first one.
    pub fn log_evidence(&self) -> f64 {
        self.series.log_evidence()
    }

    /// Returns true if the log evidence is at least `threshold`.
    pub fn reaches(&self, threshold: f64) -> bool {
        // The upper bound costs no exponential.
        self.series.highest_log() >= threshold && self.log_evidence() >= threshold
    }

    /// Part of the queries that has the larger share of the evidence.
    pub fn part(&self) -> Part {
        self.series.part()
    }
}
