//! Tolerance of the drop test, learned from the variation of hours beyond sampling.
//!
//! A common cause (an index refresh, a time of day) shifts the scores of a whole hour. The test
//! must not report shifts that are normal. The mean differences of blocks of about an hour vary by
//! sampling and by common causes. The part beyond sampling, τ, sets the tolerance.

use serde::{Deserialize, Serialize};

use crate::number::real;

/// Minutes per hour.
pub(super) const HOUR: i64 = 60;

/// Minimum number of comparisons in a block.
const MIN_COMPARISONS_PER_BLOCK: u32 = 30;

/// Minimum number of blocks in a day that counts.
const MIN_BLOCKS_PER_DAY: u32 = 12;

/// Weight of the days before the last one.
const DECAY: f64 = 0.9;

/// Tolerance in units of τ.
const DEVIATIONS: f64 = 5.0;

/// Sums of the comparisons of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Block {
    hour: i64,
    count: u32,
    sum: f64,
    squares: f64,
}

/// Sums of the blocks of a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Day {
    blocks: u32,
    sum: f64,
    squares: f64,
    sampling: f64,
}

/// Learned variation of the hours of one series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LearnedTolerance {
    block: Block,
    day: Option<i64>,
    open: Day,
    /// Decayed number of days, their variance between blocks, their sampling variance, and their
    /// number of blocks.
    days: f64,
    between: f64,
    sampling: f64,
    blocks: f64,
    /// τ: standard deviation of the means of hours beyond sampling.
    deviation: f64,
}

impl LearnedTolerance {
    /// Returns true if the open block may end before a minute of the newest day.
    pub(super) fn is_due(&self, minute: i64) -> bool {
        let end = self.block.hour.saturating_add(1).saturating_mul(HOUR);
        self.block.count >= MIN_COMPARISONS_PER_BLOCK && minute >= end
    }

    /// Closes the block and the day that ended before `hour` and `day`. A block counts only if
    /// `is_quiet` returns true: the series has no alarm.
    pub(super) fn advance(&mut self, hour: i64, day: i64, is_quiet: impl FnOnce() -> bool) {
        let newest = *self.day.get_or_insert(day);
        let is_full = self.block.count >= MIN_COMPARISONS_PER_BLOCK;
        if self.block.count > 0 && hour > self.block.hour && (is_full || day > newest) {
            if is_full && is_quiet() {
                self.open.add(&self.block);
            }
            self.block = Block::default();
        }
        if self.block.count == 0 {
            self.block.hour = hour;
        }
        if day > newest {
            if self.open.blocks >= MIN_BLOCKS_PER_DAY {
                self.close_day();
            }
            self.open = Day::default();
            self.day = Some(day);
        }
    }

    fn close_day(&mut self) {
        let Day {
            blocks,
            sum,
            squares,
            sampling,
        } = self.open;
        let blocks = f64::from(blocks);
        self.days = DECAY * self.days + 1.0;
        self.between = DECAY * self.between + (squares - sum * sum / blocks) / (blocks - 1.0);
        self.sampling = DECAY * self.sampling + sampling / blocks;
        self.blocks = DECAY * self.blocks + blocks;
        let expected = self.sampling / self.days * (1.0 + 2.0 * (2.0 / self.blocks).sqrt());
        self.deviation = (self.between / self.days - expected).max(0.0).sqrt();
    }

    /// Adds a difference from the baseline to the open block.
    pub(super) fn add(&mut self, difference: f64) {
        self.block.count = self.block.count.saturating_add(1);
        self.block.sum += difference;
        self.block.squares += difference * difference;
    }

    /// Returns what was learned, without the open block and the open day.
    pub(super) fn learned(&self) -> Self {
        Self {
            block: Block::default(),
            day: None,
            open: Day::default(),
            ..*self
        }
    }

    /// Returns true if hours of scores from 0 to 1 can have this variation.
    pub(super) fn is_possible(&self) -> bool {
        let most_days = (1.0 - DECAY).recip() + 1.0;
        let days = 0.0..=most_days;
        *self == self.learned()
            && days.contains(&self.days)
            && days.contains(&self.between)
            && days.contains(&self.sampling)
            && (0.0..=24.0 * most_days).contains(&self.blocks)
            && (0.0..=1.0).contains(&self.deviation)
    }

    /// Tolerated drop: 5τ.
    pub(super) fn tolerance(&self) -> f64 {
        DEVIATIONS * self.deviation
    }
}

impl Day {
    fn add(&mut self, block: &Block) {
        let count = real(u64::from(block.count));
        let mean = block.sum / count;
        let variance = (block.squares / count - mean * mean).max(0.0);
        self.blocks += 1;
        self.sum += mean;
        self.squares += mean * mean;
        self.sampling += variance / (count - 1.0);
    }
}
