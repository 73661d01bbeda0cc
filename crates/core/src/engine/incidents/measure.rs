//! Measure and slice of an incident, with its scores before the drop and its losses since.

use serde::{Deserialize, Serialize};

use super::level::{Level, level, loss_level, possible_losses};
use crate::detection::{Losses, Recovery, minute_of};
use crate::time::EventTime;

/// Minimum number of searches, and of minutes, of a block of current searches.
pub(super) const BLOCK_SEARCHES: u64 = 30;
const BLOCK_MINUTES: i64 = 2;

/// Measure and slice of an incident. Losses are differences from the reference of the query, positive
/// if the search is worse.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IncidentMeasure {
    /// Name of the measure.
    pub measure: Box<str>,
    /// Name of the slice; `all` for all searches.
    pub slice: Box<str>,
    /// Value of the slice; empty for all searches.
    pub value: Box<str>,
    /// True if lower scores are better.
    pub is_lower_better: bool,
    /// Tolerated loss.
    pub tolerance: f64,
    /// Mean loss at the alarm of the worker that raised it.
    pub loss_at_alarm: f64,
    /// Scores before the beginning.
    pub before: Losses,
    /// Losses from the beginning to the alarm.
    pub at_alarm: Losses,
    /// Losses of the current block of searches and of the one before it.
    pub(super) blocks: [Losses; 2],
    /// First minute of the current block.
    pub(super) block: Option<i64>,
    pub(super) recovery: Recovery,
    /// The blocks before the estimated start of the recovery of the primary measure. `None` while the drop
    /// lasts.
    #[serde(default)]
    pub(super) until_recovery: Option<[Losses; 2]>,
    #[serde(default)]
    pub(super) compared: ComparedQueries,
    /// Event time in milliseconds of the last compared search; 0 before the first one.
    #[serde(default)]
    pub(super) last: i64,
}

impl IncidentMeasure {
    /// Measure, slice and value.
    pub fn name(&self) -> (&str, &str, &str) {
        (&self.measure, &self.slice, &self.value)
    }

    /// Mean of the scores before the beginning. `None` without scores.
    pub fn before(&self) -> Option<Level> {
        let interval = self.before.interval()?;
        Some(Level {
            mean: interval.mean,
            lower: interval.lower.clamp(0.0, 1.0),
            upper: interval.upper.clamp(0.0, 1.0),
            searches: self.before.searches,
        })
    }

    /// Mean loss from the beginning to the alarm.
    pub fn loss_at_alarm(&self) -> Option<Level> {
        self.loss_of(&self.at_alarm)
    }

    /// Mean loss of two blocks. Below 30 searches, those up to the alarm are added.
    pub(super) fn loss_of_blocks(&self, [mut last, previous]: [Losses; 2]) -> Option<Level> {
        last.merge(&previous);
        if last.searches < BLOCK_SEARCHES {
            last.merge(&self.at_alarm);
        }
        self.loss_of(&last)
    }

    fn loss_of(&self, losses: &Losses) -> Option<Level> {
        let before = self.before().map(|it| it.mean);
        let possible = possible_losses(before, self.is_lower_better);
        Some(loss_level(losses.interval()?, losses.searches, possible))
    }

    /// The blocks of the last searches with the drop.
    pub(super) fn blocks_until_recovery(&self) -> [Losses; 2] {
        self.until_recovery.unwrap_or(self.blocks)
    }

    /// Mean before the beginning minus a loss: the scores that the searches would have with the mix of
    /// queries from before.
    pub fn level_of(&self, loss: Level) -> Option<Level> {
        Some(level(self.before()?.mean, loss, self.is_lower_better))
    }

    pub(super) fn without_sums(&self) -> Self {
        Self {
            before: Losses::default(),
            at_alarm: Losses::default(),
            blocks: Default::default(),
            block: None,
            recovery: Recovery::default(),
            until_recovery: None,
            compared: ComparedQueries::None,
            last: 0,
            ..self.clone()
        }
    }

    pub(super) fn add_to_recovery(&mut self, ts: EventTime, loss: f64, expected: f64) {
        let excluded = Recovery::excluded_loss(self.tolerance, self.loss_at_alarm);
        self.recovery.add(ts.0, loss, (expected, excluded));
    }

    pub(super) fn add_to_blocks(&mut self, ts: EventTime, loss: f64) {
        let minute = minute_of(ts.0);
        let started = *self.block.get_or_insert(minute);
        let is_full = self.blocks[0].searches >= BLOCK_SEARCHES;
        if is_full && minute.saturating_sub(started) >= BLOCK_MINUTES {
            self.blocks = [Losses::default(), self.blocks[0]];
            self.block = Some(minute);
        }
        self.blocks[0].add(loss);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.tolerance = self.tolerance.max(other.tolerance);
        self.loss_at_alarm = self.loss_at_alarm.min(other.loss_at_alarm);
        self.before.merge(&other.before);
        self.at_alarm.merge(&other.at_alarm);
        if self.until_recovery.is_some() || other.until_recovery.is_some() {
            let (mine, theirs) = (self.blocks_until_recovery(), other.blocks_until_recovery());
            self.until_recovery = Some(merged(mine, &theirs));
        }
        self.blocks = merged(self.blocks, &other.blocks);
        self.block = self.block.max(other.block);
        self.recovery.merge(&other.recovery);
        self.compared = self.compared.max(other.compared);
        self.last = self.last.max(other.last);
    }
}

/// Queries that were compared in a measure of an incident. Of two shares, the greater one holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum ComparedQueries {
    /// None.
    #[default]
    None,
    /// Only queries that a new gold set judges differently.
    Rejudged,
    /// At least one query that is judged as before.
    Known,
}

/// Blocks of two parts of the traffic.
pub(super) fn merged(mut mine: [Losses; 2], theirs: &[Losses; 2]) -> [Losses; 2] {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        mine.merge(theirs);
    }
    mine
}
