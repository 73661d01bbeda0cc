//! Tables of the join of one partition.

use std::collections::BTreeMap;

use super::closing::Closing;
use super::conversions::Waiting;
use super::feedback::Feedback;
use super::searches::Searches;
use super::seconds::{Bucket, ClosedSecond, Second};
use super::sessions::Sessions;
use crate::engine::settings::JoinLimits;
use crate::time::Millis;

/// Join of one partition.
#[derive(Debug)]
pub(crate) struct Join {
    pub(super) window: Millis,
    pub(super) limits: JoinLimits,
    pub(super) searches: Searches,
    pub(super) feedback: Feedback,
    pub(super) sessions: Sessions,
    /// Number of feedback records on whole sessions.
    pub(super) opinions: usize,
    /// Searches that wait for conversions; `None` if conversions have no window of their own.
    pub(super) conversions: Option<Box<Waiting>>,
    pub(super) buckets: BTreeMap<Second, Bucket>,
    pub(super) closed: BTreeMap<Second, ClosedSecond>,
    pub(super) closing: Option<Closing>,
    pub(super) frontier: Second,
    /// True if nothing before the frontier is left to close. Only a later frontier changes that.
    pub(super) is_settled: bool,
    /// Approximate bytes of the seconds.
    pub(super) bytes: usize,
}
