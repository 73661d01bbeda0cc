//! Retirement of variants without searches for longer than the longest window.
//!
//! Every deployment adds a variant, and the limits on series and label values must not be used up by
//! those that are gone. The numbers of a retired variant are given out again, which takes three
//! steps, because several workers count under them and published snapshots show them: the registry
//! removes the names; each worker clears its rows at its next tick; and after a quarantine, when no
//! snapshot from before is in use, the numbers are free.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::engine::family::Table;
use crate::engine::series::{Label, Series};
use crate::time::{EventTime, Millis, WallTime};

/// Time for which the numbers of a retired variant are not given out again.
const QUARANTINE: Millis = Millis(600_000);

/// Resolution of the activity of a variant. A coarse one keeps the memory that all workers share
/// unchanged most of the time.
const RESOLUTION: i64 = 60_000;

/// A variant that is retired, with its series.
#[derive(Clone, Debug)]
pub(super) struct Retired {
    pub(super) variant: Label,
    pub(super) series: Vec<(Table, Series)>,
}

/// Worker that uses the numbers of a registry: the number of retirements that it has applied.
pub(super) type Member = Arc<AtomicU64>;

/// Activity of variants, and retirements in progress.
#[derive(Debug)]
pub(super) struct Retirements {
    /// Event time of the last search of each variant, by number; 0 if none is known.
    last: Box<[AtomicI64]>,
    /// Number of retirements so far.
    count: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    members: Vec<Weak<AtomicU64>>,
    /// Retirements whose numbers are not free, oldest first, by their count.
    pending: Vec<(u64, Retired)>,
    /// Time since which every member has applied the first pending retirement.
    since: Option<WallTime>,
}

impl Retirements {
    /// Creates the state for labels with numbers below `labels`.
    pub(super) fn new(labels: usize) -> Self {
        Self {
            last: (0..labels).map(|_| AtomicI64::new(0)).collect(),
            count: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// Adds a worker.
    pub(super) fn enter(&self) -> Member {
        let member = Arc::new(AtomicU64::new(self.count()));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.members.push(Arc::downgrade(&member));
        member
    }

    /// Number of retirements so far.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Notes a search of a variant.
    pub(super) fn note(&self, variant: Label, at: EventTime) {
        if let Some(last) = self.last.get(variant.index())
            && at.0 > last.load(Ordering::Relaxed).saturating_add(RESOLUTION)
        {
            last.fetch_max(at.0, Ordering::Relaxed);
        }
    }

    /// Returns the variants without a search since `before`. Variants of which no search is known,
    /// for example from a checkpoint, are idle from `now` on.
    pub(super) fn idle(&self, before: EventTime, now: EventTime) -> Vec<Label> {
        let is_idle = |(number, last): (usize, &AtomicI64)| {
            let seen = last.load(Ordering::Relaxed);
            if seen == 0 {
                last.store(now.0.max(1), Ordering::Relaxed);
                return None;
            }
            let label = Label::from_position(number.checked_sub(2)?);
            // Only one worker gets the label, and no other before it has been idle again.
            let is_taken = || {
                let taken = last.compare_exchange(seen, 0, Ordering::Relaxed, Ordering::Relaxed);
                taken.is_ok()
            };
            (seen < before.0 && is_taken()).then_some(label)
        };
        self.last.iter().enumerate().filter_map(is_idle).collect()
    }

    /// Adds a retirement.
    pub(super) fn add(&self, retired: Retired) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let count = self.count() + 1;
        state.pending.push((count, retired));
        self.count.store(count, Ordering::Release);
    }

    /// Returns the retirements that a worker has not applied, and marks them as applied.
    pub(super) fn apply(&self, member: &Member) -> Vec<Retired> {
        let applied = member.load(Ordering::Relaxed);
        if applied == self.count() {
            return Vec::new();
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let new = state.pending.iter().filter(|(count, _)| *count > applied);
        let new = new.map(|(_, retired)| retired.clone()).collect();
        member.store(self.count(), Ordering::Release);
        new
    }

    /// Takes the retirements whose quarantine is over.
    pub(super) fn released(&self, now: WallTime) -> Vec<Retired> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State {
            members,
            pending,
            since,
        } = &mut *state;
        if pending.is_empty() {
            return Vec::new();
        }
        members.retain(|member| member.strong_count() > 0);
        let applied = members.iter().filter_map(Weak::upgrade);
        let applied = applied.map(|member| member.load(Ordering::Acquire));
        let applied = applied.min().unwrap_or(u64::MAX);
        if pending.iter().any(|(count, _)| *count > applied) {
            *since = None;
            return Vec::new();
        }
        let start = *since.get_or_insert(now);
        if now.since(start) < QUARANTINE {
            return Vec::new();
        }
        *since = None;
        pending.drain(..).map(|(_, retired)| retired).collect()
    }
}
