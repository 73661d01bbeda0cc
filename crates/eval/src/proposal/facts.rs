//! Numbers of events by outcome.

use serde::Serialize;

/// Searches by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SearchFacts {
    /// Number of valid searches.
    pub read: u64,
    /// Number of searches of queries in the gold set.
    pub known: u64,
    /// Number of searches of queries that are not in the gold set.
    pub unknown: u64,
    /// Number of searches whose id was read before.
    pub duplicate: u64,
    /// Number of searches that exceeded the memory limit.
    pub over_limit: u64,
    /// Number of (query, document) pairs that were not counted because of the memory limit.
    pub documents_over_limit: u64,
}

/// Feedback events by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FeedbackFacts {
    /// Number of valid feedback events.
    pub read: u64,
    /// Number of actions on a result and of grades given to a document.
    pub used: u64,
    /// Number of events that do not apply: not about a single result, or of a kind that does not
    /// rate it.
    pub not_applicable: u64,
    /// Number of events about a document or a position that their search did not serve.
    pub not_served: u64,
    /// Number of events whose search was not read.
    pub orphaned: u64,
    /// Number of events whose id was read before.
    pub duplicate: u64,
    /// Number of events that exceeded the memory limit.
    pub over_limit: u64,
}
