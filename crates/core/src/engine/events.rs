//! Counts of events and records by outcome.

use serde::{Deserialize, Serialize};

use crate::engine::table;
use crate::event::{Kind, Reason, RecordOutcome};

/// Outcome of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchOutcome {
    /// Judged against its gold query.
    Judged,
    /// Its query is not in the gold set.
    Unjudged,
    /// A search with this id was served within a feedback window of it.
    Duplicate,
    /// Its feedback window had passed when it arrived.
    Late,
    /// It must not be judged.
    NotEligible,
    /// It was pending when its record became unreadable.
    Lost,
}

/// Outcome of a feedback event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackOutcome {
    /// Joined with its search.
    Joined,
    /// Its search never arrived.
    Orphaned,
    /// The event was received before.
    Duplicate,
    /// Its window had passed when it arrived.
    Late,
    /// It was pending when its record became unreadable.
    Lost,
}

/// Counts by outcome. With the pending events, those of events add up to the events received. Those
/// of records add up to the records received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCounts {
    search: [u64; 6],
    feedback: [u64; 5],
    invalid: [[u64; Reason::ALL.len()]; 2],
    records: [[u64; RecordOutcome::NAMES.len()]; 2],
}

impl EventCounts {
    /// Counts a search.
    pub fn search(&mut self, outcome: SearchOutcome) {
        self.search[outcome as usize] += 1;
    }

    /// Counts `number` feedback events.
    pub fn feedback(&mut self, outcome: FeedbackOutcome, number: u64) {
        self.feedback[outcome as usize] += number;
    }

    /// Counts `number` pending events whose records became unreadable.
    pub fn lost(&mut self, kind: Kind, number: u64) {
        match kind {
            Kind::Search => self.search[SearchOutcome::Lost as usize] += number,
            Kind::Feedback => self.feedback(FeedbackOutcome::Lost, number),
        }
    }

    /// Counts a record.
    pub fn record(&mut self, kind: Kind, outcome: RecordOutcome) {
        self.records[kind.index()][outcome as usize] += 1;
    }

    /// Returns the outcomes of the records of a kind by exposed name.
    pub fn records(&self, kind: Kind) -> [(&'static str, u64); RecordOutcome::NAMES.len()] {
        let counts = self.records[kind.index()];
        std::array::from_fn(|index| (RecordOutcome::NAMES[index], counts[index]))
    }

    /// Counts an event that cannot be used.
    pub fn invalid(&mut self, kind: Kind, reason: Reason) {
        self.invalid[kind.index()][reason.index()] += 1;
    }

    /// Invalid events by reason, in the order of [`Reason::ALL`].
    pub fn invalid_by_reason(&self, kind: Kind) -> &[u64; Reason::ALL.len()] {
        &self.invalid[kind.index()]
    }

    /// Number of searches that are judged if their query is in the gold set.
    pub(super) fn eligible_searches(&self) -> u64 {
        let outcomes = [SearchOutcome::Judged, SearchOutcome::Unjudged];
        outcomes.map(|it| self.search[it as usize]).iter().sum()
    }

    /// Returns the outcomes of a kind by exposed name.
    pub fn outcomes(&self, kind: Kind) -> Vec<(&'static str, u64)> {
        let (names, counts): (&[_], &[_]) = match kind {
            Kind::Search => (
                &[
                    "judged",
                    "unjudged",
                    "duplicate",
                    "late",
                    "not_eligible",
                    "lost",
                ],
                &self.search,
            ),
            Kind::Feedback => (
                &["joined", "orphaned", "duplicate", "late", "lost"],
                &self.feedback,
            ),
        };
        let invalid = self.invalid[kind.index()].iter().sum();
        let counts = names.iter().copied().zip(counts.iter().copied());
        counts.chain([("invalid", invalid)]).collect()
    }

    pub(super) fn merge(&mut self, other: &Self) {
        table::add_array(&mut self.search, &other.search);
        table::add_array(&mut self.feedback, &other.feedback);
        for (mine, theirs) in self.invalid.iter_mut().zip(&other.invalid) {
            table::add_array(mine, theirs);
        }
        for (mine, theirs) in self.records.iter_mut().zip(&other.records) {
            table::add_array(mine, theirs);
        }
    }
}
