//! Metrics of a probe that repeats its rounds.

use std::time::Duration;

use prometheus::IntCounterVec;

use crate::latencies::Latencies;

/// Searches of a round for one variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbedSearches {
    /// Number of complete answers.
    pub answered: usize,
    /// Number of failed searches.
    pub failed: usize,
    /// Number of queries that were not sent.
    pub skipped: usize,
}

/// Metrics of a probe.
#[derive(Clone, Debug)]
pub struct ProbeMetrics {
    pub(crate) searches: IntCounterVec,
    pub(crate) request_duration: Latencies,
}

impl ProbeMetrics {
    /// Counts a round. A round without searches exposes the variant: `increase` misses the first event of a
    /// counter that appears with it.
    pub fn round(&self, variant: &str, searches: ProbedSearches) {
        let ProbedSearches {
            answered,
            failed,
            skipped,
        } = searches;
        let outcomes = [
            ("answered", answered),
            ("failed", failed),
            ("skipped", skipped),
        ];
        for (outcome, count) in outcomes {
            let counter = self.searches.with_label_values(&[variant, outcome]);
            counter.inc_by(u64::try_from(count).unwrap_or(u64::MAX));
        }
        self.request_duration.expose(variant);
    }

    /// Records the duration of a request with a complete answer.
    pub fn answered(&self, variant: &str, duration: Duration) {
        self.request_duration.record(variant, duration);
    }
}
