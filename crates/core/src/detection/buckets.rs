//! Anytime-valid comparison of a variant with its control, over buckets of units.
//!
//! Searches of one user or session depend on each other, and a bot sends thousands of them. Units
//! are hashed into 1,024 buckets an arm, and the buckets are the observations. A bucket counts a
//! limited number of searches an hour. The evidence is the e-value of a normal mixture (Robbins
//! 1970, "Statistical methods related to the law of the iterated logarithm"), asymptotic in the
//! number of buckets.

use std::f64::consts::LN_2;

use serde::{Deserialize, Serialize};

use super::unit::{BUCKETS, Unit};

/// Minimum number of buckets in use in each arm.
const MIN_BUCKETS: u32 = 100;

/// Minimum limit of a bucket, in searches an hour.
const MIN_LIMIT: u64 = 20;

/// Limit of a bucket in units of the mean of the previous hour.
const LIMIT_FACTOR: u64 = 4;

/// Variance of the prior of a difference.
const PRIOR_VARIANCE: f64 = 0.02 * 0.02;

/// Weight of a score in units of a sum: 10¹². Sums of integers are exact, so merging is independent of
/// order, and decimals are not rounded.
const UNITS: f64 = 1e12;

/// Sums of one bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Bucket {
    /// Sum of the scores, in [`UNITS`].
    sum: i64,
    count: u32,
}

impl Bucket {
    fn count(self) -> f64 {
        f64::from(self.count)
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "the quotient has the precision of floating point"
    )]
    fn sum(self) -> f64 {
        self.sum as f64 / UNITS
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "`as` saturates, and a score far beyond its range is none"
)]
fn to_units(score: f64) -> i64 {
    (score * UNITS).round() as i64
}

/// Scores of an arm, by bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BucketArm {
    buckets: Vec<Bucket>,
}

impl Default for BucketArm {
    fn default() -> Self {
        let number = usize::try_from(BUCKETS).unwrap_or_default();
        Self {
            buckets: vec![Bucket::default(); number],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct ArmMean {
    /// Mean of the counted searches.
    mean: f64,
    /// Variance of the mean.
    variance: f64,
}

impl BucketArm {
    /// Adds the score of a search. A score that is not finite is ignored.
    pub(crate) fn add(&mut self, unit: Unit, score: f64) {
        if let Some(bucket) = self.buckets.get_mut(unit.bucket())
            && score.is_finite()
        {
            bucket.sum = bucket.sum.saturating_add(to_units(score));
            bucket.count = bucket.count.saturating_add(1);
        }
    }

    /// Adds the searches of another part of the traffic.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            mine.sum = mine.sum.saturating_add(theirs.sum);
            mine.count = mine.count.saturating_add(theirs.count);
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>()
    }

    /// Mean of the arm and its variance. `None` with fewer than 100 buckets in use.
    fn mean(&self) -> Option<ArmMean> {
        let used = || self.buckets.iter().filter(|bucket| bucket.count > 0);
        let (mut sum, mut count, mut squares, mut number) = (0.0, 0.0, 0.0, 0_u32);
        for bucket in used() {
            number += 1;
            sum += bucket.sum();
            count += bucket.count();
            squares += bucket.count() * bucket.count();
        }
        if number < MIN_BUCKETS {
            return None;
        }
        let mean = sum / count;
        let residual = |bucket: &Bucket| bucket.sum() - mean * bucket.count();
        let residuals: f64 = used().map(|bucket| residual(bucket).powi(2)).sum();
        let number = f64::from(number);
        let variance = number / (number - 1.0) * residuals + 0.25 * squares / number;
        Some(ArmMean {
            mean,
            variance: variance / (count * count),
        })
    }
}

/// Difference between a variant and its control, over buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmDifference {
    /// Mean of the variant minus mean of the control.
    pub difference: f64,
    /// Variance of the difference.
    pub variance: f64,
}

impl ArmDifference {
    /// Difference of two arms. `None` if one of them has fewer than 100 buckets in use.
    pub(crate) fn of(variant: &BucketArm, control: &BucketArm) -> Option<Self> {
        let (variant, control) = (variant.mean()?, control.mean()?);
        Some(Self {
            difference: variant.mean - control.mean,
            variance: control.variance + variant.variance,
        })
    }

    fn base(&self) -> f64 {
        0.5 * (self.variance / (self.variance + PRIOR_VARIANCE)).ln()
    }

    fn gain(&self) -> f64 {
        0.5 * self.difference * self.difference / self.variance * PRIOR_VARIANCE
            / (self.variance + PRIOR_VARIANCE)
    }

    /// Log evidence (ln) that the arms are not equal.
    pub fn log_evidence(&self) -> f64 {
        self.base() + self.gain()
    }

    /// Log evidence (ln) that the variant is worse.
    pub fn log_evidence_worse(&self, is_lower_better: bool) -> f64 {
        let is_worse = if is_lower_better {
            self.difference > 0.0
        } else {
            self.difference < 0.0
        };
        LN_2 + self.base() + if is_worse { self.gain() } else { 0.0 }
    }

    /// Interval that contains the difference at every time, with probability 1 - `alpha`.
    pub fn interval(&self, alpha: f64) -> [f64; 2] {
        let half_width = half_width(self.variance, alpha);
        [self.difference - half_width, self.difference + half_width]
    }

    /// Approximate factor of the number of searches with which the interval would exclude 0, if the
    /// difference stays the same. `None` if the interval excludes 0, and beyond 10⁶.
    pub fn factor_to_decide(&self, alpha: f64) -> Option<f64> {
        let size = self.difference.abs();
        let is_decided = |factor: f64| half_width(self.variance / factor, alpha) < size;
        if is_decided(1.0) || !is_decided(MAX_FACTOR) {
            return None;
        }
        let (mut low, mut high) = (1.0, MAX_FACTOR);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if is_decided(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }
}

/// Maximum of the factor of [`ArmDifference::factor_to_decide`].
const MAX_FACTOR: f64 = 1e6;

/// Half width of the interval of a difference.
fn half_width(variance: f64, alpha: f64) -> f64 {
    let prior = PRIOR_VARIANCE;
    let evidence = ((variance + prior) / variance).ln() + 2.0 * (1.0 / alpha).ln();
    (variance * (variance + prior) / prior * evidence).sqrt()
}

/// Limit of the searches that a bucket counts in an hour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HourlyLimit {
    /// Searches in the hour, by arm and bucket.
    counts: Vec<Vec<u32>>,
    hour: Option<i64>,
    /// Searches of all arms in the hour, counted or not.
    searches: u64,
    limit: u64,
}

impl HourlyLimit {
    /// Limit for an experiment with a number of arms.
    pub(crate) fn new(arms: usize) -> Self {
        let number = usize::try_from(BUCKETS).unwrap_or_default();
        Self {
            counts: vec![vec![0; number]; arms],
            hour: None,
            searches: 0,
            limit: MIN_LIMIT,
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.counts
            .iter()
            .map(|it| it.len() * size_of::<u32>())
            .sum()
    }

    /// Adds a search of an arm in an hour of event time. Returns true if it counts. A late search
    /// belongs to the newest hour.
    pub(crate) fn is_counted(&mut self, hour: i64, arm: usize, unit: Unit) -> bool {
        match self.hour {
            None => self.hour = Some(hour),
            Some(newest) if hour > newest => {
                let arms = u64::try_from(self.counts.len()).unwrap_or(1);
                let mean = LIMIT_FACTOR.saturating_mul(self.searches) / (BUCKETS * arms.max(1));
                self.limit = mean.max(MIN_LIMIT);
                self.hour = Some(hour);
                self.searches = 0;
                for counts in &mut self.counts {
                    counts.fill(0);
                }
            }
            Some(_) => {}
        }
        self.searches += 1;
        let counts = self.counts.get_mut(arm);
        let Some(count) = counts.and_then(|counts| counts.get_mut(unit.bucket())) else {
            return false;
        };
        let is_counted = u64::from(*count) < self.limit;
        if is_counted {
            *count += 1;
        }
        is_counted
    }
}

/// Test of a variant against its control: arm 1 against arm 0.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantTest {
    arms: [BucketArm; 2],
    limit: HourlyLimit,
}

impl Default for VariantTest {
    fn default() -> Self {
        Self {
            arms: [BucketArm::default(), BucketArm::default()],
            limit: HourlyLimit::new(2),
        }
    }
}

impl VariantTest {
    /// Adds the score of a search of the unit with an id, in an hour of event time. Returns true if it
    /// counts: the bucket of the unit is below its limit of the hour.
    pub fn add(&mut self, hour: i64, unit: &str, arm: usize, score: f64) -> bool {
        let unit = Unit::of(unit);
        let is_counted = self.limit.is_counted(hour, arm, unit);
        if let Some(arm) = self.arms.get_mut(arm)
            && is_counted
        {
            arm.add(unit, score);
        }
        is_counted
    }

    /// Difference of the arms: the mean of the variant minus that of the control, with its variance. `None` if
    /// one of them has fewer than 100 buckets in use.
    pub fn difference(&self) -> Option<ArmDifference> {
        let [control, variant] = &self.arms;
        ArmDifference::of(variant, control)
    }
}
