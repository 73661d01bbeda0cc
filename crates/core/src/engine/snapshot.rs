//! Snapshot of the exposed values of a worker. It contains nothing else.
//!
//! Snapshots are additive: merging the snapshots of two workers gives the snapshot of one worker
//! that processed the records of both.

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

/// Outcome of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchOutcome {
    /// Judged against its gold query.
    Judged,
    /// Its query is not in the gold set.
    Unjudged,
    /// A search with this id is pending, or was closed recently.
    Duplicate,
    /// Its feedback window had passed when it arrived.
    Late,
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
}

/// Record counts by outcome. With the pending records they add up to the records received.
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

    /// Returns the outcomes of a kind by exposed name.
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

/// Progress of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Partition number, the same in both topics.
    pub partition: i32,
    /// Watermark: event time up to which its records have arrived.
    pub watermark: Option<EventTime>,
    /// Number of records still to be read, by kind; `None` until the broker has reported it.
    pub lag: [Option<u64>; 2],
}

/// Snapshot of one worker, or of several together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Wall time of the last tick of the worker.
    pub wall: Option<WallTime>,
    /// Record counts by outcome.
    pub events: EventCounts,
    /// Number of searches that wait for feedback, and of feedback events that wait for their
    /// search.
    pub pending: [u64; 2],
    /// Number of searches that were finalised before their feedback window had passed.
    pub finalised_early: u64,
    /// Number of skipped offsets, by kind.
    pub gaps: [u64; 2],
    /// Number of searches whose session was over its search limit.
    pub crowded: u64,
    /// Score totals.
    pub scores: ScoreTotals,
    /// Latency totals.
    pub latency: LatencyTotals,
    /// Totals of tokens, calls and costs.
    pub costs: CostTotals,
    /// Counters without further statistics.
    pub counts: Counts,
    /// Time to the first click by series of [`Family::FirstClick`].
    pub first_clicks: Vec<Buckets>,
    /// Pairs of ranking scores and satisfaction over a rolling day.
    pub correlation: Pairs,
    /// Baselines and regression evidence.
    pub evidence: EvidenceTotals,
    /// Number of samples that went to `__other__` because their family was full, by [`Family`].
    pub dropped: [u64; Family::ALL.len()],
    /// Assigned partitions.
    pub partitions: Vec<PartitionStatus>,
    /// Event-time progress.
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
