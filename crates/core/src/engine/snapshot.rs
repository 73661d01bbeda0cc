//! What a worker shows of its state: everything that is exposed, and nothing else.
//!
//! Snapshots are additive. Merging those of two workers gives what one worker would have shown
//! that had done the work of both.

use serde::{Deserialize, Serialize};

use crate::engine::correlation::Pairs;
use crate::engine::cost::CostTotals;
use crate::engine::counts::Counts;
use crate::engine::evidence::EvidenceTotals;
use crate::engine::latency::{self, Buckets, LatencyTotals};
use crate::engine::registry::Family;
use crate::engine::scores::ScoreTotals;
use crate::engine::window::{Pane as _, Progress};
use crate::event::{Kind, Reason};
use crate::time::{EventTime, WallTime};

/// What became of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchOutcome {
    /// Judged against its gold query.
    Judged,
    /// The gold set does not know its query.
    Unjudged,
    /// A search of this id is pending.
    Duplicate,
    /// It arrived after its feedback window had passed.
    Late,
}

/// What became of a feedback event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackOutcome {
    /// Joined with its search.
    Joined,
    /// Its search never came.
    Orphaned,
    /// It was received before.
    Duplicate,
    /// It arrived after its window had passed.
    Late,
}

/// Records by what became of them. With those that are pending they add up to what was received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCounts {
    search: [u64; 4],
    feedback: [u64; 4],
    invalid: [[u64; Reason::ALL.len()]; 2],
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

    /// Counts a record that cannot be used.
    pub fn invalid(&mut self, kind: Kind, reason: Reason) {
        self.invalid[kind.index()][reason.index()] += 1;
    }

    /// Invalid records by reason, in the order of [`Reason::ALL`].
    pub fn invalid_by_reason(&self, kind: Kind) -> &[u64; Reason::ALL.len()] {
        &self.invalid[kind.index()]
    }

    /// Every outcome of a kind by the name it is exposed under.
    pub fn outcomes(&self, kind: Kind) -> [(&'static str, u64); 5] {
        let (names, counts) = match kind {
            Kind::Search => (["judged", "unjudged", "duplicate", "late"], &self.search),
            Kind::Feedback => (["joined", "orphaned", "duplicate", "late"], &self.feedback),
        };
        let invalid = self.invalid[kind.index()].iter().sum();
        [
            (names[0], counts[0]),
            (names[1], counts[1]),
            (names[2], counts[2]),
            (names[3], counts[3]),
            ("invalid", invalid),
        ]
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let add = |mine: &mut [u64], theirs: &[u64]| {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        };
        add(&mut self.search, &other.search);
        add(&mut self.feedback, &other.feedback);
        for (mine, theirs) in self.invalid.iter_mut().zip(&other.invalid) {
            add(mine, theirs);
        }
    }
}

/// How far a partition is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionStatus {
    /// The partition, of both topics.
    pub partition: i32,
    /// Up to where its events have arrived.
    pub watermark: Option<EventTime>,
    /// Records still to be read, by kind; `None` until the broker has said so.
    pub lag: [Option<u64>; 2],
}

/// Everything that is exposed of one worker, or of several together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The wall time of the worker's last tick.
    pub wall: Option<WallTime>,
    /// Records by what became of them.
    pub events: EventCounts,
    /// Searches that wait for feedback, and feedback that waits for its search.
    pub pending: [u64; 2],
    /// Searches that were finalised before their window had passed.
    pub finalised_early: u64,
    /// Offsets that were skipped, by kind.
    pub gaps: [u64; 2],
    /// Searches whose session had too many to be anybody's.
    pub crowded: u64,
    /// Scores.
    pub scores: ScoreTotals,
    /// Latencies.
    pub latency: LatencyTotals,
    /// Tokens, calls and money.
    pub costs: CostTotals,
    /// What is only counted.
    pub counts: Counts,
    /// Time to the first click by series of [`Family::FirstClick`].
    pub first_clicks: Vec<Buckets>,
    /// Measures of the ranking beside satisfaction, over a rolling day.
    pub correlation: Pairs,
    /// What is usual, and how sure it is that searches are not as usual, or not as they should be.
    pub evidence: EvidenceTotals,
    /// Samples that went to `__other__` because their family was full, by [`Family`].
    pub dropped: [u64; Family::ALL.len()],
    /// The partitions owned.
    pub partitions: Vec<PartitionStatus>,
    /// How far event time has come.
    pub progress: Option<Progress>,
}

impl Snapshot {
    /// Adds another worker's snapshot.
    pub fn merge(&mut self, other: &Self) {
        self.wall = self.wall.into_iter().chain(other.wall).min();
        self.events.merge(&other.events);
        for (mine, theirs) in self.pending.iter_mut().zip(&other.pending) {
            *mine += theirs;
        }
        self.finalised_early += other.finalised_early;
        self.crowded += other.crowded;
        for (mine, theirs) in self.gaps.iter_mut().zip(&other.gaps) {
            *mine += theirs;
        }
        self.scores.merge(&other.scores);
        self.latency.merge(&other.latency);
        self.costs.merge(&other.costs);
        self.counts.merge(&other.counts);
        latency::merge_buckets(&mut self.first_clicks, &other.first_clicks);
        self.correlation.merge(&other.correlation);
        self.evidence.merge(&other.evidence);
        for (mine, theirs) in self.dropped.iter_mut().zip(&other.dropped) {
            *mine += theirs;
        }
        self.partitions.extend(other.partitions.iter().cloned());
        self.partitions.sort_by_key(|status| status.partition);
        self.progress = match (self.progress, other.progress) {
            (Some(mine), Some(theirs)) => Some(mine.combine(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }
}
