//! Rolling windows: rings of event-time panes, and the sum over those that a window covers.
//!
//! A window ends at the watermark, in whole panes. Records ahead of the watermark wait in panes of
//! their own; when they run a whole window ahead (a partition that lags far behind holds the
//! watermark back) the window follows them. Which panes a window holds depends only on how far
//! time has come, never on the order in which records arrived.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::time::{EventTime, Millis};

/// Something that can be summed up over panes.
pub trait Pane: Default + Clone {
    /// Adds what `other` holds.
    fn merge(&mut self, other: &Self);
}

/// How far event time has come: what decides where windows end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The lowest watermark of the partitions that have one.
    pub watermark: Option<EventTime>,
    /// The newest event time seen.
    pub newest: EventTime,
}

impl Progress {
    /// This progress, `span` later.
    #[must_use]
    pub fn plus(self, span: Millis) -> Self {
        Self {
            watermark: self.watermark.map(|watermark| watermark.plus(span)),
            newest: self.newest.plus(span),
        }
    }

    /// The progress of two workers together.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        Self {
            watermark: self.watermark.into_iter().chain(other.watermark).min(),
            newest: self.newest.max(other.newest),
        }
    }
}

/// A sum that was not saved has to be made anew.
fn always() -> bool {
    true
}

/// A ring of panes of one length.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Window<P> {
    pane_length: i64,
    panes_covered: i64,
    /// Number of the last pane covered; `None` until time is known.
    end: Option<i64>,
    /// Consecutive panes, the front one numbered `first`. Shared with copies of the window until they
    /// are written to: a copy for a checkpoint costs next to nothing, since most panes are past.
    panes: VecDeque<Arc<P>>,
    first: i64,
    /// Sum of the panes covered, unless stale.
    #[serde(skip)]
    total: P,
    /// Whether the end has moved since: while a backlog is read it moves with almost every record,
    /// and summing up each time would cost more than all else.
    #[serde(skip, default = "always")]
    stale: bool,
}

impl<P: Pane> Window<P> {
    /// A window of `length` in at most `panes` panes (fewer when a pane would be shorter than a
    /// second).
    pub fn new(length: Millis, panes: i64) -> Self {
        let length = length.0.max(1_000);
        let pane_length = (length / panes).max(1_000);
        Self {
            pane_length,
            panes_covered: length.div_euclid(pane_length).max(1),
            end: None,
            panes: VecDeque::new(),
            first: 0,
            total: P::default(),
            stale: false,
        }
    }

    /// What the window covers, in milliseconds.
    pub fn length(&self) -> Millis {
        Millis(self.pane_length * self.panes_covered)
    }

    /// How many panes it holds.
    pub fn panes(&self) -> usize {
        self.panes.len()
    }

    /// The sum over the panes covered.
    pub fn total(&self) -> P {
        if self.stale {
            self.sum()
        } else {
            self.total.clone()
        }
    }

    /// Adds a record of time `at` by letting `add` write it into its pane, and into the total when
    /// the window covers it. A record older than the window is left out.
    pub fn record(&mut self, at: EventTime, mut add: impl FnMut(&mut P)) {
        let number = at.0.div_euclid(self.pane_length);
        // The window never trails the newest record by more than its own length.
        self.advance_to(number - self.panes_covered);
        let Some(end) = self.end else { return };
        if number <= end - self.panes_covered {
            return;
        }
        if self.panes.is_empty() {
            self.first = number;
        }
        while number < self.first {
            self.panes.push_front(Arc::default());
            self.first -= 1;
        }
        let Ok(index) = usize::try_from(number - self.first) else {
            return;
        };
        while self.panes.len() <= index {
            self.panes.push_back(Arc::default());
        }
        add(Arc::make_mut(&mut self.panes[index]));
        if number <= end && !self.stale {
            add(&mut self.total);
        }
    }

    /// Adds what a window of an earlier process held, each of its panes as `renumbered` makes it.
    /// Panes of another length cannot be told apart again: they are left out.
    pub fn restore<S>(&mut self, saved: &Window<S>, renumbered: impl Fn(&S) -> P) {
        if (saved.pane_length, saved.panes_covered) != (self.pane_length, self.panes_covered) {
            return;
        }
        if let Some(end) = saved.end {
            self.advance_to(end);
        }
        for (number, pane) in (saved.first..).zip(&saved.panes) {
            let at = EventTime(number.saturating_mul(self.pane_length));
            let pane = renumbered(pane);
            self.record(at, |mine| mine.merge(&pane));
        }
    }

    /// Moves the end to where `progress` puts it. Windows never move back.
    pub fn follow(&mut self, progress: Progress) {
        let pane = |at: EventTime| at.0.div_euclid(self.pane_length);
        let behind = pane(progress.newest) - self.panes_covered;
        let end = progress.watermark.map_or(behind, pane).max(behind);
        self.advance_to(end);
        if self.stale {
            self.total = self.sum();
            self.stale = false;
        }
    }

    fn advance_to(&mut self, end: i64) {
        if self.end.is_some_and(|current| end <= current) {
            return;
        }
        self.end = Some(end);
        while !self.panes.is_empty() && self.first <= end - self.panes_covered {
            self.panes.pop_front();
            self.first += 1;
        }
        self.stale = true;
    }

    /// Sums up what is covered. Summed anew rather than taken away from: panes are few, and not
    /// every pane (an HDR histogram) can be subtracted.
    fn sum(&self) -> P {
        let covered = self.end.map_or(0, |end| end - self.first + 1);
        let covered = usize::try_from(covered).unwrap_or(0);
        let mut sum = P::default();
        for pane in self.panes.iter().take(covered) {
            sum.merge(pane);
        }
        sum
    }
}
