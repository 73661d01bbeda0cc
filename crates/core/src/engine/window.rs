//! Rolling windows: rings of event-time panes, and the sum over the panes that a window covers.
//!
//! A window ends at the watermark, in whole panes. Records ahead of the watermark are held in
//! separate panes. If they are a whole window ahead, because the watermark is held back by a
//! partition that lags far behind, the window advances with them. The panes of a window depend only
//! on the event-time progress, never on the order in which records arrive.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::settings::Settings;
use crate::time::{EventTime, Millis};

/// Value that can be summed over panes.
pub trait Pane: Default + Clone {
    /// Adds the content of `other`.
    fn merge(&mut self, other: &Self);
}

/// Event-time progress. It determines the end of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Lowest watermark of the partitions that have one.
    pub watermark: Option<EventTime>,
    /// Newest event time of a search, or of feedback as long as there is no search.
    pub newest: EventTime,
}

impl Progress {
    /// Returns this progress advanced by `span`.
    #[must_use]
    pub fn plus(self, span: Millis) -> Self {
        Self {
            watermark: self.watermark.map(|watermark| watermark.plus(span)),
            newest: self.newest.plus(span),
        }
    }

    /// Returns the combined progress of two workers.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        Self {
            watermark: self.watermark.into_iter().chain(other.watermark).min(),
            newest: self.newest.max(other.newest),
        }
    }
}

/// Default of `stale` on deserialisation: the total is not saved and must be recomputed.
fn always() -> bool {
    true
}

/// Ring of panes of equal length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window<P> {
    pane_length: i64,
    panes_covered: i64,
    /// Number of the last pane covered; `None` until the event time is known.
    end: Option<i64>,
    /// Consecutive panes; the front one has the number `first`. Copies of the window share them
    /// until they are written to. A copy for a checkpoint is cheap, because most panes are in the
    /// past.
    panes: VecDeque<Arc<P>>,
    first: i64,
    /// Sum of the panes covered, unless stale.
    #[serde(skip)]
    total: P,
    /// True if the end has advanced since the last summation. While a backlog is read, the end
    /// advances with almost every record, and a summation each time would dominate the cost.
    #[serde(skip, default = "always")]
    stale: bool,
}

impl<P: Pane> Window<P> {
    /// Creates a window of `length` with at most `panes` panes. It has fewer if a pane would be
    /// shorter than a second.
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

    /// Returns the length of the window, in milliseconds.
    pub fn length(&self) -> Millis {
        Millis(self.pane_length * self.panes_covered)
    }

    /// Returns the length of a pane, in milliseconds.
    pub(super) fn pane_length(&self) -> i64 {
        self.pane_length
    }

    fn has_shape_of(&self, other: &Self) -> bool {
        (self.pane_length, self.panes_covered) == (other.pane_length, other.panes_covered)
    }

    /// Returns the number of panes held.
    pub fn panes(&self) -> usize {
        self.panes.len()
    }

    /// Approximate bytes held, where `of_pane` returns those of a pane.
    pub(super) fn bytes(&self, of_pane: impl Fn(&P) -> usize) -> usize {
        let panes = self.panes.iter().map(|pane| of_pane(pane));
        panes.sum::<usize>() + of_pane(&self.total)
    }

    /// Sum over the panes covered, as of the last advance or [`summed`](Self::summed).
    pub fn sum(&self) -> &P {
        &self.total
    }

    /// Adds a record at time `at`: calls `add` on its pane, and on the total if the window covers
    /// the pane. Ignores a record older than the window.
    pub fn record(&mut self, at: EventTime, mut add: impl FnMut(&mut P)) {
        let number = at.0.div_euclid(self.pane_length);
        // The window trails the newest record by at most its own length.
        self.advance_end(number - self.panes_covered);
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

    /// Returns a copy for exposition: the sum, without panes. It does not advance.
    #[must_use]
    pub fn summed(&self) -> Self {
        Self {
            end: None,
            panes: VecDeque::new(),
            first: 0,
            total: if self.stale {
                self.compute_sum()
            } else {
                self.total.clone()
            },
            stale: false,
            ..*self
        }
    }

    /// Adds another window of the same shape: pane by pane, or the sum of a
    /// [`summed`](Self::summed) one.
    pub fn merge(&mut self, other: &Self) {
        if let Some(end) = other.end {
            self.advance_end(end);
            for (number, pane) in (other.first..).zip(&other.panes) {
                let at = EventTime(number.saturating_mul(self.pane_length));
                self.record(at, |mine| mine.merge(pane));
            }
        } else {
            self.total.merge(&other.total);
        }
    }

    /// Returns the window with each pane converted by `convert`.
    pub(super) fn map(&self, convert: impl Fn(&P) -> P) -> Self {
        let panes = self.panes.iter().map(|pane| Arc::new(convert(pane)));
        Self {
            panes: panes.collect(),
            total: P::default(),
            stale: true,
            ..*self
        }
    }

    /// Advances the end to `progress`. Windows never move back.
    pub fn advance_to(&mut self, progress: Progress) {
        let pane = |at: EventTime| at.0.div_euclid(self.pane_length);
        let behind = pane(progress.newest) - self.panes_covered;
        let end = progress.watermark.map_or(behind, pane).max(behind);
        self.advance_end(end);
        if self.stale {
            self.total = self.compute_sum();
            self.stale = false;
        }
    }

    fn advance_end(&mut self, end: i64) {
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

    /// Sums the panes covered. The sum is recomputed rather than reduced, because panes are few and
    /// some (HDR histograms) do not support subtraction.
    fn compute_sum(&self) -> P {
        let covered = self.end.map_or(0, |end| end - self.first + 1);
        let covered = usize::try_from(covered).unwrap_or(0);
        let mut sum = P::default();
        for pane in self.panes.iter().take(covered) {
            sum.merge(pane);
        }
        sum
    }
}

/// Windows of one kind of values, one for each configured length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "P: Default + Deserialize<'de>"))]
pub struct Windows<P>(Vec<Window<P>>);

impl<P> Default for Windows<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P: Pane> Windows<P> {
    /// Creates the windows of `settings`, each with at most `panes` panes.
    pub(super) fn new(settings: &Settings, panes: i64) -> Self {
        let windows = settings.windows.iter();
        Self(
            windows
                .map(|window| Window::new(window.length.into(), panes))
                .collect(),
        )
    }

    /// The windows, in the order of the settings.
    pub fn iter(&self) -> impl Iterator<Item = &Window<P>> {
        self.0.iter()
    }

    /// Adds a record at time `at` to every window.
    pub(super) fn record(&mut self, at: EventTime, mut add: impl FnMut(&mut P)) {
        for window in &mut self.0 {
            window.record(at, &mut add);
        }
    }

    /// Adds a record at time `at` to the window at a position.
    pub(super) fn record_in(&mut self, position: usize, at: EventTime, add: impl FnMut(&mut P)) {
        if let Some(window) = self.0.get_mut(position) {
            window.record(at, add);
        }
    }

    /// Approximate bytes held, where `of_pane` returns those of a pane.
    pub(super) fn bytes(&self, of_pane: impl Fn(&P) -> usize) -> usize {
        let windows = self.0.iter();
        windows.map(|window| window.bytes(&of_pane)).sum()
    }

    /// Lengths of the panes, in milliseconds, by window.
    pub(super) fn pane_lengths(&self) -> impl Iterator<Item = i64> {
        self.0.iter().map(|window| window.pane_length)
    }

    /// Greatest length that divides those of the panes of all windows.
    pub(super) fn common_pane(&self) -> i64 {
        let lengths = self.pane_lengths();
        lengths.reduce(greatest_common_divisor).unwrap_or(1_000)
    }

    /// Advances the ends to `progress`.
    pub(super) fn advance_to(&mut self, progress: Progress) {
        for window in &mut self.0 {
            window.advance_to(progress);
        }
    }

    /// Returns a copy for exposition: the sums, without panes.
    pub(super) fn summed(&self) -> Self {
        Self(self.0.iter().map(Window::summed).collect())
    }

    /// Adds other windows of the same settings.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.merge(theirs);
        }
    }

    /// Returns the windows of `now`, filled with the saved panes, each converted by `convert`. A
    /// saved window of another shape is dropped, because its panes cannot be redistributed.
    pub(super) fn remap(&self, now: Self, convert: impl Fn(&P) -> P) -> Self {
        let windows = now.0.into_iter().map(|empty| {
            let mut saved = self.0.iter();
            let same = saved.find(|saved| saved.has_shape_of(&empty));
            same.map_or(empty, |saved| saved.map(&convert))
        });
        Self(windows.collect())
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}
