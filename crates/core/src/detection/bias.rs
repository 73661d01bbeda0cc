//! Drift of the bias of an evaluator: anytime-valid evidence that its difference from people changed.
//!
//! The difference d of a search, from -1 to 1, is compared with the mean of the earlier differences of
//! its kind (a property of the answers of a variant), and then joins that mean. Two drop tests bet: one on
//! (1 + d)/2, that the evaluator became lower, and one on (1 − d)/2, that it became higher. The evidence is
//! the mean of both e-values.
//!
//! A system that changes moves people and evaluator alike, and leaves the difference. So the differences
//! before and after a moment also decide whether an evaluator explains a change of its values ([`BiasShift`]).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::bets::{log_sum, within};
use super::burst::minute_of;
use super::change::{Change, DropExtent};
use super::comparison::Baseline;
use super::drop_series::{DropSeries, SeriesRules};
use super::losses::{Losses, MeanInterval};
use super::query_sums::QuerySums;

/// Number of differences from which the mean of a kind is fixed.
const BASELINE_PAIRS: u32 = 1_000;

/// Minutes of a block of differences, and the maximum number of kept blocks of a kind.
const BLOCK: i64 = 5;
const MAX_BLOCKS: usize = 64;

/// Weight of the differences before the kept blocks, at most.
const MAX_OLDER: u64 = 10_000;

/// Share of the threshold below which an alarm ends.
const HYSTERESIS: f64 = 0.5;

/// Settings of the drift test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BiasRules {
    /// ln A: log evidence of an alarm.
    pub threshold: f64,
    /// Tolerated change, as of half the bias.
    pub tolerance: f64,
    /// Minimum tolerated change in the warm-up.
    pub warm_up_tolerance: f64,
}

impl BiasRules {
    fn series(self) -> SeriesRules {
        SeriesRules {
            threshold: self.threshold,
            tolerance: self.tolerance,
            warm_up_tolerance: self.warm_up_tolerance,
            repeat_window: 0,
            has_local: false,
            is_seasonal: false,
            alarmed: None,
        }
    }
}

/// Direction in which an evaluator changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BiasDirection {
    /// Its values are lower than before.
    Lower,
    /// Its values are higher than before.
    Higher,
}

impl BiasDirection {
    const ALL: [Self; 2] = [Self::Lower, Self::Higher];

    /// Name: `lower`, `higher`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
        }
    }

    fn sign(self) -> f64 {
        match self {
            Self::Lower => -1.0,
            Self::Higher => 1.0,
        }
    }
}

/// Differences of one kind: a property of the answers of a variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BiasKind {
    /// Sums of (1 + d)/2.
    baseline: QuerySums,
    /// All values of the evaluator, also where no person judged.
    values: Losses,
    older: Losses,
    /// Differences by first minute of their block.
    blocks: VecDeque<(i64, Losses)>,
}

/// Mean value of an evaluator, corrected by its difference from people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrectedMean {
    /// Mean of all values.
    pub mean: f64,
    /// Corrected mean with its interval of 95 %.
    pub corrected: MeanInterval,
    /// Number of searches with a value.
    pub searches: u64,
    /// Number of those that people judged as well.
    pub pairs: u64,
}

/// Change of the bias since a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BiasShift {
    /// Mean difference before the moment.
    pub before: f64,
    /// Mean difference since then.
    pub since: f64,
    /// Change with its interval of 95 %.
    pub change: MeanInterval,
    /// Number of searches since then.
    pub searches: u64,
}

impl BiasKind {
    fn add(&mut self, minute: i64, difference: f64) {
        if self.baseline.scores() < BASELINE_PAIRS {
            self.baseline.merge(&QuerySums::of(scaled(difference), 1));
        }
        let first = minute.div_euclid(BLOCK).saturating_mul(BLOCK);
        self.block(first).add(difference);
        self.limit();
    }

    /// Adds the value of the evaluator in a search, from 0 to 1. NaN is ignored.
    pub fn add_value(&mut self, value: f64) {
        if let Some(value) = within(value) {
            self.values.add(value);
        }
    }

    /// Mean of all values minus the mean difference from people (prediction-powered inference, Angelopoulos
    /// et al. 2023). It is unbiased if people judge a random share of the searches. `None` without
    /// differences.
    pub fn corrected(&self) -> Option<CorrectedMean> {
        let mut differences = self.older;
        for (_, losses) in &self.blocks {
            differences.merge(losses);
        }
        let (values, bias) = (self.values.interval()?, differences.interval()?);
        let radius = (values.upper - values.mean).hypot(bias.upper - bias.mean);
        let mean = values.mean - bias.mean;
        let bounded = |value: f64| value.clamp(0.0, 1.0);
        Some(CorrectedMean {
            mean: values.mean,
            corrected: MeanInterval {
                mean: bounded(mean),
                lower: bounded(mean - radius),
                upper: bounded(mean + radius),
            },
            searches: self.values.searches,
            pairs: differences.searches,
        })
    }

    /// Block of a minute. A search before the newest block counts there if its own is not kept.
    fn block(&mut self, first: i64) -> &mut Losses {
        let place = self.blocks.partition_point(|(it, _)| *it < first);
        if self.blocks.get(place).is_none_or(|(it, _)| *it != first) {
            self.blocks.insert(place, (first, Losses::default()));
        }
        &mut self.blocks[place].1
    }

    fn limit(&mut self) {
        while self.blocks.len() > MAX_BLOCKS {
            let Some((_, oldest)) = self.blocks.pop_front() else {
                break;
            };
            self.older.merge(&oldest);
            if self.older.searches > MAX_OLDER {
                self.older.halve();
            }
        }
    }

    /// Change of the bias since a moment in milliseconds. `None` without differences before or since.
    pub fn shift_since(&self, at: i64) -> Option<BiasShift> {
        let minute = minute_of(at);
        let (mut before, mut since) = (self.older, Losses::default());
        for (first, losses) in &self.blocks {
            // The block of the moment has differences from before and after it.
            if first.saturating_add(BLOCK) <= minute {
                before.merge(losses);
            } else if *first >= minute {
                since.merge(losses);
            }
        }
        let (earlier, later) = (before.interval()?, since.interval()?);
        let radius = (earlier.upper - earlier.mean).hypot(later.upper - later.mean);
        let mean = later.mean - earlier.mean;
        Some(BiasShift {
            before: earlier.mean,
            since: later.mean,
            change: MeanInterval {
                mean,
                lower: mean - radius,
                upper: mean + radius,
            },
            searches: since.searches,
        })
    }

    /// Adds the differences of another part of the traffic.
    pub fn merge(&mut self, other: &Self) {
        self.baseline.merge(&other.baseline);
        self.values.merge(&other.values);
        self.older.merge(&other.older);
        for (first, losses) in &other.blocks {
            self.block(*first).merge(losses);
        }
        self.limit();
    }

    /// Forgets the mean with which differences are compared, and keeps the differences.
    pub fn reset(&mut self) {
        self.baseline = QuerySums::default();
    }

    /// Approximate bytes held.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.blocks.capacity() * size_of::<(i64, Losses)>()
    }
}

/// (1 + d)/2.
fn scaled(difference: f64) -> f64 {
    f64::midpoint(1.0, difference)
}

/// Alarm about the drift of a bias.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BiasAlarm {
    /// Direction of the change.
    pub direction: BiasDirection,
    /// Event time of the alarm in milliseconds.
    pub at: i64,
    /// Estimated beginning of the change, in milliseconds of event time.
    pub since: i64,
}

/// Drift test of an evaluator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BiasDrift {
    /// By direction.
    series: [DropSeries; 2],
    changes: [Change; 2],
    is_alarmed: bool,
    /// Last alarm.
    alarm: Option<BiasAlarm>,
}

impl BiasDrift {
    /// Adds the difference of a search, from -1 to 1, at an event time in milliseconds. NaN is ignored.
    pub fn add(&mut self, ts: i64, kind: &mut BiasKind, difference: f64, rules: &BiasRules) {
        let Some(score) = within(scaled(difference)) else {
            return;
        };
        let difference = 2.0 * score - 1.0;
        let minute = minute_of(ts);
        let of_series = rules.series();
        if let Some(mean) = kind.baseline.mean() {
            let scores = kind.baseline.scores();
            for direction in BiasDirection::ALL {
                let turned = |score: f64| match direction {
                    BiasDirection::Lower => score,
                    BiasDirection::Higher => 1.0 - score,
                };
                let baseline = Baseline {
                    mean: turned(mean),
                    scores,
                };
                let series = &mut self.series[direction as usize];
                series.advance(minute, &of_series);
                if let Some(loss) = series.compare(turned(score), Some(baseline), &of_series) {
                    let change = &mut self.changes[direction as usize];
                    change.add(ts, (loss, loss), rules.tolerance);
                }
            }
            self.judge(ts, rules.threshold);
        }
        kind.add(minute, difference);
    }

    /// Raises or ends the alarm.
    fn judge(&mut self, ts: i64, threshold: f64) {
        let evidence = self.log_evidence().unwrap_or_default();
        if evidence >= threshold && threshold > 0.0 {
            if !self.is_alarmed {
                let direction = self.direction();
                let beginning = self.changes[direction as usize].beginning();
                self.alarm = Some(BiasAlarm {
                    direction,
                    at: ts,
                    since: beginning.map_or(ts, |it| it.at),
                });
            }
            self.is_alarmed = true;
        } else if evidence < HYSTERESIS * threshold {
            self.is_alarmed = false;
        }
    }

    /// Log evidence (ln) that the bias changed. `None` before the first comparison.
    pub fn log_evidence(&self) -> Option<f64> {
        let [lower, higher] = &self.series;
        let logs = [lower.log_evidence(), higher.log_evidence()];
        lower
            .has_comparisons()
            .then(|| log_sum(&logs) - std::f64::consts::LN_2)
    }

    /// Direction with the larger evidence.
    pub fn direction(&self) -> BiasDirection {
        let [lower, higher] = &self.series;
        if higher.log_evidence() > lower.log_evidence() {
            BiasDirection::Higher
        } else {
            BiasDirection::Lower
        }
    }

    /// Returns true while the evidence is sufficient: from its threshold on, until it fell to half of it.
    pub fn has_alarm(&self, threshold: f64) -> bool {
        let evidence = self.log_evidence().unwrap_or_default();
        threshold > 0.0 && (evidence >= threshold || self.is_alarmed)
    }

    /// Last alarm.
    pub fn alarm(&self) -> Option<BiasAlarm> {
        self.alarm
    }

    /// Change of the bias in the direction with the larger evidence: negative if the evaluator became
    /// lower. The bounds hold with probability 1 - alpha for `threshold` = ln(1/alpha). `None` while there
    /// is no change.
    pub fn extent(&self, threshold: f64) -> Option<DropExtent> {
        let direction = self.direction();
        let extent = self.changes[direction as usize].extent(threshold)?;
        // A loss of (1 + d)/2 is half of that of d.
        let of = |loss: f64| 2.0 * direction.sign() * loss;
        let (one, other) = (of(extent.lower), of(extent.upper));
        Some(DropExtent {
            estimate: of(extent.estimate),
            lower: one.min(other),
            upper: one.max(other),
            ..extent
        })
    }

    /// Merges the test of another part of the traffic, for exposition: the e-values are summed.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.series.iter_mut().zip(&other.series) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.changes.iter_mut().zip(&other.changes) {
            mine.merge(theirs);
        }
        self.is_alarmed |= other.is_alarmed;
        let alarms = self.alarm.into_iter().chain(other.alarm);
        self.alarm = alarms.max_by_key(|it| it.at);
    }

    /// Approximate bytes held.
    pub fn bytes(&self) -> usize {
        let series: usize = self.series.iter().map(DropSeries::bytes).sum();
        let changes: usize = self.changes.iter().map(Change::bytes).sum();
        size_of::<Self>() + series + changes
    }
}
