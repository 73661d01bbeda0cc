//! Query of an incident, with its mean before the drop and its losses since.

use serde::{Deserialize, Serialize};

use super::level::{Level, level, loss_level, possible_losses};
use crate::detection::Losses;

/// Maximum number of queries in a record.
pub(super) const MAX_QUERIES: usize = 64;

/// Query of an incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncidentQuery {
    /// Key of the query.
    pub query: Box<str>,
    /// Mean before the beginning, summed over the scores.
    pub(super) before_sum: f64,
    /// Number of scores before the beginning.
    pub(super) before_scores: u32,
    /// Losses of the last searches.
    pub(super) losses: Losses,
    /// True if lower scores are better.
    pub(super) is_lower_better: bool,
}

impl IncidentQuery {
    /// Mean before the beginning.
    pub fn before(&self) -> f64 {
        self.before_sum / f64::from(self.before_scores.max(1))
    }

    /// Number of searches before the beginning.
    pub fn before_searches(&self) -> u32 {
        self.before_scores
    }

    /// Mean loss of the last searches with its interval. `None` without searches.
    pub fn loss(&self) -> Option<Level> {
        let interval = self.losses.interval_to(self.before_scores)?;
        let possible = possible_losses(Some(self.before()), self.is_lower_better);
        Some(loss_level(interval, self.losses.searches, possible))
    }

    /// Mean of the last searches with its interval. `None` without searches.
    pub fn now(&self) -> Option<Level> {
        Some(level(self.before(), self.loss()?, self.is_lower_better))
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.before_sum += other.before_sum;
        self.before_scores = self.before_scores.saturating_add(other.before_scores);
        self.losses.merge(&other.losses);
    }
}
