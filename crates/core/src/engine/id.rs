//! Ids as hashes (XXH3). The engine keeps no text of an id.
//!
//! The hashes have no random key, because the state of an engine follows from its inputs alone. At
//! 128 bits an accidental collision is negligible. A deliberate one gives its author nothing that
//! sending the same id twice would not.

use serde::{Deserialize, Serialize};
use twox_hash::{XxHash3_64, XxHash3_128};

use crate::event::{Feedback, Search};

/// Hash of the id of a search or of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id([u64; 2]);

impl Id {
    /// Returns the hash of `text`.
    pub fn of(text: &str) -> Self {
        let bytes = XxHash3_128::oneshot(text.as_bytes()).to_le_bytes();
        let (low, high) = bytes.split_at(8);
        Self([low, high].map(|half| half.try_into().map_or(0, u64::from_le_bytes)))
    }

    /// Returns the partition of the id among `partitions`. Like the hash, it is the same in every release.
    pub fn partition(self, partitions: usize) -> usize {
        let partitions = u64::try_from(partitions).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.0[1] % partitions).unwrap_or_default()
    }

    /// Position of the id in hash tables.
    pub(super) fn slot(self) -> u64 {
        self.0[0]
    }
}

/// Ids by which the join finds a search. They are hashed once, and used to prepare and to apply it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchIds {
    /// Id of the search.
    pub search: Id,
    /// Session of the user.
    pub session: Option<Id>,
}

impl SearchIds {
    /// Returns the ids of a search.
    pub fn of(search: &Search<'_>) -> Self {
        Self {
            search: Id::of(&search.query_id),
            session: search.user_session().map(Id::of),
        }
    }
}

/// Search or session that a feedback event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A search.
    Search(Id),
    /// A session as a whole.
    Session(Id),
}

impl Target {
    /// Returns the target of a feedback event: the search if it states one.
    pub fn of(feedback: &Feedback<'_>) -> Option<Self> {
        match (&feedback.query_id, &feedback.session_id) {
            (Some(search), _) => Some(Self::Search(Id::of(search))),
            (None, Some(session)) => Some(Self::Session(Id::of(session))),
            (None, None) => None,
        }
    }
}

/// Returns the hash of an id that is compared only with the few ids of one search: events and queries.
pub(super) fn short(text: &str) -> u64 {
    XxHash3_64::oneshot(text.as_bytes())
}
