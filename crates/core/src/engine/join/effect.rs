//! Effects of the join, which the engine counts.

use std::sync::Arc;

use super::conversions::Conversions;
use super::searches::Parts;
use super::summary::FeedbackSummary;
use crate::engine::id::Id;
use crate::engine::segment::Segment;
use crate::engine::series::Label;
use crate::time::EventTime;

/// Limit that a record exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// [`JoinLimits::feedback_per_search`](crate::engine::settings::JoinLimits::feedback_per_search).
    FeedbackPerSearch,
    /// [`JoinLimits::interactions_per_session`](crate::engine::settings::JoinLimits::interactions_per_session).
    InteractionsPerSession,
    /// [`JoinLimits::searches_per_session`](crate::engine::settings::JoinLimits::searches_per_session).
    SearchesPerSession,
}

/// Consequence of a record or of the passing of time, to be counted.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "effects live in a buffer that is reused; a box for each search would be an allocation"
)]
pub(crate) enum Effect {
    /// Feedback is joined with a search.
    Joined {
        /// Position of the action in [`Action::NAMES`](crate::event::Action::NAMES).
        action: u8,
        /// System version that served the search.
        variant: Label,
        /// Number of events.
        number: u64,
    },
    /// The search of feedback was closed before the feedback arrived.
    Late(u64),
    /// A feedback event was received before.
    Duplicate,
    /// The search of feedback never arrived.
    Orphaned(u64),
    /// The feedback window of a search has passed.
    Finished(Finished),
    /// The feedback window of the last search of a session has passed. It follows the searches of that
    /// second.
    SessionEnded(Id),
    /// The second of feedback on a whole session is closed.
    Session(SessionFeedback),
    /// The time of a search for conversions has passed.
    Conversions(Conversions),
    /// A record is not kept.
    Exceeded(Exceeded),
}

/// Search whose feedback window has passed, with its feedback.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The search.
    pub parts: Parts,
    /// Its feedback.
    pub summary: FeedbackSummary,
    pub session: Option<Id>,
}

/// Feedback on a session as a whole.
#[derive(Debug)]
pub(crate) struct SessionFeedback {
    /// Position of the action in [`Action::NAMES`](crate::event::Action::NAMES).
    pub action: u8,
    /// Its content.
    pub summary: FeedbackSummary,
    /// Event time of the feedback.
    pub ts: EventTime,
    /// Segment of the last search of the session before the feedback.
    pub segment: Arc<Segment>,
}
