//! Sequential test of a mean against a target, on dependent traffic.
//!
//! The searches of a block of event time are one observation: D = Σ(x - m). Searches within a block
//! may depend on each other in any way, because only D is used. The evidence is the Bayes factor of
//! a t-test with a normal prior on the effect (Lai 1976; Wang and Ramdas, arXiv 2310.03722),
//! one-sided, with the covariance of neighbouring blocks added to the variance. It is valid for
//! blocks that are near normal and for dependence that is shorter than a block.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::bets::{log_sum, within};
use super::bounds::bisect;
use crate::number::real;

/// Variance of the prior of the effect, which is in standard deviations of a block.
const PRIOR_VARIANCE: f64 = 10.0;

/// Standard deviation of a score in the pseudo-block that is added to the variance.
const PSEUDO_DEVIATION: f64 = 0.05;

/// Maximum number of parts that [`BlockTests`] retains.
const MAX_PARTS: usize = 64;

/// Side of the mean on which a hypothesis is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Null hypothesis: the mean is at least m.
    Below,
    /// Null hypothesis: the mean is at most m.
    Above,
}

/// Searches of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Block {
    searches: u64,
    /// Sum of x - pivot.
    sum: f64,
}

/// Sums over closed blocks. n is the number of searches of a block and S its sum of x - pivot; n'
/// and S' are those of the block before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    /// Number of blocks k.
    blocks: u64,
    n: u64,
    s: f64,
    nn: f64,
    ns: f64,
    ss: f64,
    /// Σ n n'
    nn_lag: f64,
    /// Σ (S n' + n S')
    ns_lag: f64,
    /// Σ S S'
    ss_lag: f64,
}

/// Test of one stream of searches. Its state has a fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockTest {
    /// Reference of the sums. Sums of differences from the target lose no digits.
    pivot: f64,
    closed: Sums,
    last: Block,
    open: Block,
    /// End of the open block in milliseconds; `None` before the first search.
    end: Option<i64>,
}

impl BlockTest {
    /// Probability of ever raising an alarm although the target is met, by default.
    pub const ALPHA: f64 = 0.001;

    /// Minimum number of searches in a block. A block with fewer continues to the next multiple of the
    /// block length.
    pub const MIN_SEARCHES: u64 = 30;

    /// Creates a test. Any mean can be tested; the evidence is most exact at the mean `pivot`.
    pub fn new(pivot: f64) -> Self {
        Self {
            pivot: within(pivot).unwrap_or(0.5),
            closed: Sums::default(),
            last: Block::default(),
            open: Block::default(),
            end: None,
        }
    }

    /// Adds a score with its event time in milliseconds since 1970. `block` is the length of a
    /// block in milliseconds. Returns true if this search closed a block. A late search counts in
    /// the open block. A score outside \[0, 1\] is clamped; NaN is ignored.
    pub fn add(&mut self, ts: i64, score: f64, block: i64) -> bool {
        let Some(score) = within(score) else {
            return false;
        };
        let block = block.max(1);
        let next = || ts.div_euclid(block).saturating_add(1).saturating_mul(block);
        let end = *self.end.get_or_insert_with(next);
        let mut has_closed = false;
        if ts >= end {
            has_closed = self.open.searches >= BlockTest::MIN_SEARCHES;
            if has_closed {
                self.close();
            }
            self.end = Some(next());
        }
        self.open.searches += 1;
        self.open.sum += score - self.pivot;
        has_closed
    }

    fn close(&mut self) {
        let block = std::mem::take(&mut self.open);
        let (n, s) = (real(block.searches), block.sum);
        let (n_before, s_before) = (real(self.last.searches), self.last.sum);
        let sums = &mut self.closed;
        sums.blocks += 1;
        sums.n += block.searches;
        sums.s += s;
        sums.nn += n * n;
        sums.ns += n * s;
        sums.ss += s * s;
        sums.nn_lag += n * n_before;
        sums.ns_lag += s * n_before + n * s_before;
        sums.ss_lag += s * s_before;
        self.last = block;
    }

    /// Number of searches in closed blocks.
    pub fn searches(&self) -> u64 {
        self.closed.n
    }

    /// Number of closed blocks.
    pub fn blocks(&self) -> u64 {
        self.closed.blocks
    }

    /// Log evidence that the mean over all searches of closed blocks is below `m`. 0 without a
    /// closed block.
    pub fn log_evidence(&self, m: f64) -> f64 {
        self.evidence(m, Side::Below)
    }

    fn evidence(&self, m: f64, side: Side) -> f64 {
        let sums = &self.closed;
        if sums.blocks == 0 || m.is_nan() {
            return 0.0;
        }
        let k = real(sums.blocks);
        let shift = m - self.pivot;
        let sum = sums.s - shift * real(sums.n);
        let squares = sums.ss - 2.0 * shift * sums.ns + shift * shift * sums.nn;
        let lagged = sums.ss_lag - shift * sums.ns_lag + shift * shift * sums.nn_lag;
        let between = sum * sum / k;
        let spread = (squares - between).max(0.0)
            + 2.0 * (lagged - between).max(0.0)
            + PSEUDO_DEVIATION * PSEUDO_DEVIATION * sums.nn / k;
        let is_worse = match side {
            Side::Below => sum < 0.0,
            Side::Above => sum > 0.0,
        };
        let effect = if is_worse {
            between / (between + spread)
        } else {
            0.0
        };
        let information = k * PRIOR_VARIANCE;
        2.0_f64.ln()
            - 0.5 * (1.0 + information).ln()
            - 0.5 * k * (1.0 - effect * information / (1.0 + information)).ln()
    }

    /// Lower and upper confidence bound of the mean at a threshold of the log evidence: ln(1/alpha) for
    /// bounds that each hold with probability 1 - alpha. 0 and 1 without a closed block.
    pub fn bounds(&self, threshold: f64) -> [f64; 2] {
        if self.closed.blocks == 0 {
            return [0.0, 1.0];
        }
        let mean = (self.pivot + self.closed.s / real(self.closed.n)).clamp(0.0, 1.0);
        [
            bisect(mean, 0.0, |m| self.evidence(m, Side::Above) >= threshold),
            bisect(mean, 1.0, |m| self.evidence(m, Side::Below) >= threshold),
        ]
    }

    /// Order without ties except between equal states: most searches first.
    fn order(&self, other: &Self) -> Ordering {
        let key = |it: &Self| {
            let Sums {
                blocks,
                n,
                s,
                nn,
                ns,
                ss,
                nn_lag,
                ns_lag,
                ss_lag,
            } = it.closed;
            let floats = [
                s,
                nn,
                ns,
                ss,
                nn_lag,
                ns_lag,
                ss_lag,
                it.pivot,
                it.open.sum,
                it.last.sum,
            ];
            let counts = (n, blocks, it.open.searches, it.last.searches, it.end);
            (counts, floats.map(f64::to_bits))
        };
        key(other).cmp(&key(self))
    }
}

/// Tests of disjoint parts of the searches of a series: one part for each worker.
///
/// The parts see the same bursts, so they are not independent. The evidence is the mean of their
/// e-values, which is valid under any dependence. Merging is the union of the parts: it is
/// associative and independent of order. Beyond 64 parts, those with the fewest searches are
/// dropped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BlockTests(Vec<BlockTest>);

impl BlockTests {
    /// Adds a score to the first part, as [`BlockTest::add`]. Creates the part at `pivot` if there
    /// is none.
    pub(crate) fn add(&mut self, ts: i64, score: f64, block: i64, pivot: f64) -> bool {
        if self.0.is_empty() {
            self.0.push(BlockTest::new(pivot));
        }
        let own = self.0.first_mut();
        own.is_some_and(|own| own.add(ts, score, block))
    }

    /// Adds the parts of another value. The part with the most searches becomes the first.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
        self.0.sort_by(BlockTest::order);
        self.0.truncate(MAX_PARTS);
    }

    pub(crate) fn parts(&self) -> usize {
        self.0.len()
    }

    /// Log of the sum of the e-values of the parts against the hypothesis that the mean is at least
    /// `m`. Of R workers, one alone raises an alarm at ln(R/alpha).
    pub(crate) fn log_sum(&self, m: f64) -> f64 {
        let logs: Vec<f64> = self.0.iter().map(|part| part.log_evidence(m)).collect();
        log_sum(&logs)
    }

    /// Log of the mean of the e-values of `workers` workers. A worker without searches has the
    /// e-value 1.
    pub(crate) fn log_mean(&self, m: f64, workers: u64) -> f64 {
        let parts = real(u64::try_from(self.parts()).unwrap_or(u64::MAX));
        let workers = real(workers).max(parts).max(1.0);
        let idle = (workers - parts).ln();
        log_sum(&[self.log_sum(m), idle]) - workers.ln() + 0.0
    }

    /// Number of searches behind the bounds: those of closed blocks.
    pub(crate) fn searches(&self) -> u64 {
        let parts = self.0.iter().filter(|part| part.blocks() > 0);
        parts.map(BlockTest::searches).sum()
    }

    /// Lower and upper confidence bound of the mean of all parts, weighted by their searches. For bounds
    /// that hold with probability 1 - alpha over R workers, `threshold` is ln(R/alpha) (union bound).
    /// `None` without a closed block.
    pub(crate) fn bounds(&self, threshold: f64) -> Option<[f64; 2]> {
        let mut searches = 0;
        let (mut lower, mut upper) = (0.0, 0.0);
        for part in self.0.iter().filter(|part| part.blocks() > 0) {
            let [lower_of_part, upper_of_part] = part.bounds(threshold);
            searches += part.searches();
            lower += lower_of_part * real(part.searches());
            upper += upper_of_part * real(part.searches());
        }
        let all = real(searches);
        (searches > 0).then(|| [lower / all, upper / all])
    }
}
