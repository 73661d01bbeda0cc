//! Source partitions of the records in an internal topic.
//!
//! A forwarder copies records from the partitions of a source topic to an internal topic. Behind the records
//! of a transaction, it writes a [`SourceReport`] to each partition of the internal topic: a reader then knows
//! how far each source partition has been read, also if none of its records lies in this partition.

use serde::{Deserialize, Serialize};

use crate::engine::id::Id;
use crate::event::{Feedback, LossReason, Search};
use crate::time::EventTime;

/// Maximum number of partitions of a source topic.
pub(super) const MAX_SOURCES: usize = 10_000;

/// Report of a forwarder about the source partitions that it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceReport {
    /// Number of partitions of the source topic, also of those that others read.
    pub(super) partitions: usize,
    /// Partitions that the forwarder reads.
    pub(super) sources: Vec<SourceClock>,
    /// Number of records that were lost before they were copied, by [`LossReason`].
    #[serde(default)]
    pub lost: [u64; LossReason::NAMES.len()],
}

impl SourceReport {
    /// Report about a source topic with at least `partitions` partitions, of which `lost` records were
    /// lost.
    pub fn new(partitions: usize, lost: [u64; LossReason::NAMES.len()]) -> Self {
        Self {
            partitions,
            sources: Vec::new(),
            lost,
        }
    }

    /// Adds a source partition with the newest event time of its records so far. `is_at_end` is true
    /// if it has been read to its end.
    pub fn add(&mut self, partition: i32, newest: Option<EventTime>, is_at_end: bool) {
        // Partitions can be added to a topic.
        let least = usize::try_from(partition).map_or(0, |it| it + 1);
        self.partitions = self.partitions.max(least);
        self.sources.push(SourceClock {
            partition,
            newest,
            is_at_end,
        });
    }

    /// Returns true if the report has neither a partition nor a lost record.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.lost.iter().all(|it| *it == 0)
    }
}

/// Progress of a source partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SourceClock {
    /// Number of the partition, from 0.
    pub(super) partition: i32,
    /// Newest event time of its records so far.
    pub(super) newest: Option<EventTime>,
    /// True if it has been read to its end.
    pub(super) is_at_end: bool,
}

/// Id by which records are distributed over the partitions of an internal topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepartitionKey {
    /// Search: feedback states the search.
    #[default]
    Query,
    /// Session of the user, as far as it is stated: sessions are whole, and feedback states the session.
    Session,
}

impl RepartitionKey {
    /// Returns the internal partition of a search, of `partitions`.
    pub fn partition_of_search(self, search: &Search<'_>, partitions: usize) -> usize {
        let session = match self {
            Self::Query => None,
            // Feedback does not state that its search is synthetic.
            Self::Session => search.session_id.as_deref(),
        };
        Id::of(session.unwrap_or(&search.query_id)).partition(partitions)
    }

    /// Returns the internal partition of a feedback event, of `partitions`; `None` if it states no id.
    pub fn partition_of_feedback(
        self,
        feedback: &Feedback<'_>,
        partitions: usize,
    ) -> Option<usize> {
        let (query, session) = (feedback.query_id.as_deref(), feedback.session_id.as_deref());
        let id = match self {
            Self::Query => query.or(session),
            Self::Session => session.or(query),
        };
        id.map(|id| Id::of(id).partition(partitions))
    }
}
