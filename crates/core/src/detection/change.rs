//! Start and size of a drop, estimated after a test has raised an alarm.
//!
//! The cumulative sum of the losses (Page 1954) was last 0 before the drop. Of the searches since then,
//! the segment with the largest evidence of a loss begins at the estimated start: it maximises S²/N, the
//! log-likelihood ratio of a loss in N searches with the sum S. The interval of the start contains the
//! segments whose ratio is at most 3 lower. The size is the mean loss since the sum was 0, with the
//! bounds of an asymptotic confidence sequence (Waudby-Smith et al. 2024).

use serde::{Deserialize, Serialize};

use super::burst::minute_of;
use crate::number::real;

/// Loss per search that the cumulative sum subtracts, in units of the tolerated drop. It is half of
/// the smallest drop whose start is estimated well.
const REFERENCE: f64 = 2.0;

/// Maximum of the cumulative sum, so that it decreases soon after a drop ends.
const MAX_CUMULATIVE: f64 = 20.0;

/// Number of searches at which the bounds are closest.
const BEST_AT: f64 = 2_000.0;

/// Maximum number of spans of the trace. Beyond it, neighbours are joined in pairs.
const MAX_SPANS: usize = 64;

/// Log-likelihood ratio by which a start in the interval is less likely than the estimated one.
const INTERVAL: f64 = 3.0;

/// Compared searches since the estimated start of a drop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// First event time in milliseconds. `None` while the scores are not below the baseline.
    since: Option<i64>,
    /// Event time of the last search before the trace: the drop began after it.
    before: Option<i64>,
    searches: u64,
    sum: f64,
    squares: f64,
    cumulative: f64,
    /// The searches in the order of their arrival, in spans.
    trace: Vec<Span>,
}

/// Successive searches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Span {
    /// Event time of the first search.
    first: i64,
    searches: u64,
    sum: f64,
    squares: f64,
}

/// Size of a drop with its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DropExtent {
    /// Mean loss of a search against its baseline.
    pub estimate: f64,
    /// Lower bound of the loss.
    pub lower: f64,
    /// Upper bound of the loss.
    pub upper: f64,
    /// Estimated start: minutes of event time since 1970.
    pub since: i64,
    /// Number of compared searches since then.
    pub searches: u64,
}

/// Estimated start of a drop, in milliseconds of event time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beginning {
    /// Estimate.
    pub at: i64,
    /// Earliest start that is likely.
    pub lower: i64,
    /// Latest start that is likely.
    pub upper: i64,
}

impl Change {
    /// Adds a search: its baseline minus its score, where higher scores are better, and the same with the
    /// baseline before the drop. `ts` is its event time in milliseconds, `tolerance` the tolerated drop.
    /// The sum follows the baseline, which adapts: against the few scores before a presumed drop, it
    /// would never be 0 again if those were high by chance. The size follows the baseline before it.
    pub(crate) fn add(&mut self, ts: i64, (loss, from_before): (f64, f64), tolerance: f64) {
        if loss.is_nan() || from_before.is_nan() {
            return;
        }
        self.cumulative = (self.cumulative + loss - REFERENCE * tolerance).min(MAX_CUMULATIVE);
        if self.cumulative <= 0.0 {
            self.clear();
            self.before = Some(ts);
            return;
        }
        self.since.get_or_insert(ts);
        self.searches += 1;
        self.sum += from_before;
        self.squares += from_before * from_before;
        self.trace(ts, from_before);
    }

    fn clear(&mut self) {
        self.trace.clear();
        *self = Self {
            trace: std::mem::take(&mut self.trace),
            ..Self::default()
        };
    }

    fn trace(&mut self, ts: i64, loss: f64) {
        // All spans hold as many searches as the first one, but the last one.
        let length = self.trace.first().map_or(1, |it| it.searches);
        if let Some(last) = self.trace.last_mut()
            && last.searches < length
        {
            last.searches += 1;
            last.sum += loss;
            last.squares += loss * loss;
            return;
        }
        if self.trace.len() >= MAX_SPANS {
            let pairs = self.trace.chunks(2).map(|pair| Span {
                first: pair[0].first,
                searches: pair.iter().map(|it| it.searches).sum(),
                sum: pair.iter().map(|it| it.sum).sum(),
                squares: pair.iter().map(|it| it.squares).sum(),
            });
            self.trace = pairs.collect();
        }
        self.trace.push(Span {
            first: ts,
            searches: 1,
            sum: loss,
            squares: loss * loss,
        });
    }

    /// First minute of event time since which the cumulative sum is above 0. `None` while it is 0.
    pub(crate) fn minute(&self) -> Option<i64> {
        self.since.map(minute_of)
    }

    /// Estimated start with its interval. `None` while there is no drop.
    pub(crate) fn beginning(&self) -> Option<Beginning> {
        let n = real(self.searches);
        let mean = self.sum / n;
        let variance = (self.squares / n - mean * mean).max(n.recip() / 4.0);
        let (mut searches, mut sum) = (0, 0.0);
        let mut ratios = Vec::with_capacity(self.trace.len());
        for span in self.trace.iter().rev() {
            searches += span.searches;
            sum += span.sum;
            let gain = f64::max(sum, 0.0);
            ratios.push((gain * gain / (2.0 * variance * real(searches)), span.first));
        }
        let best = ratios.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
        // A drop that a span shows first began after the span before it.
        let spans = self.trace.iter().rev().skip(1);
        let earlier = spans.map(|it| Some(it.first)).chain([self.before]);
        let (mut lower, mut upper) = (best.1, best.1);
        for ((ratio, first), earlier) in ratios.into_iter().zip(earlier) {
            if best.0 - ratio <= INTERVAL {
                lower = lower.min(earlier.unwrap_or(first)).min(first);
                upper = upper.max(first);
            }
        }
        Some(Beginning {
            at: best.1,
            lower,
            upper,
        })
    }

    /// Number of searches, sum of their losses and sum of the squares since a start.
    pub(crate) fn sums(&self, start: Beginning) -> (u64, f64, f64) {
        let mut sums = (0, 0.0, 0.0);
        for span in self.trace.iter().rev() {
            sums = (
                sums.0 + span.searches,
                sums.1 + span.sum,
                sums.2 + span.squares,
            );
            if span.first == start.at {
                break;
            }
        }
        sums
    }

    /// Bytes held beside the value itself.
    pub(crate) fn bytes(&self) -> usize {
        self.trace.capacity() * size_of::<Span>()
    }

    /// Estimate of the drop. The bounds hold with probability 1 - alpha for `threshold` = ln(1/alpha).
    /// `None` while there is no drop.
    pub(crate) fn extent(&self, threshold: f64) -> Option<DropExtent> {
        let since = self.minute()?;
        let n = real(self.searches);
        let estimate = self.sum / n;
        let variance = (self.squares / n - estimate * estimate).max(n.recip());
        let rho = (2.0 * threshold + (2.0 * threshold + 1.0).ln()) / BEST_AT;
        let a = n * rho + 1.0;
        let radius = (variance * a / (n * n * rho) * (a.ln() + 2.0 * threshold)).sqrt();
        Some(DropExtent {
            estimate,
            lower: (estimate - radius).max(-1.0),
            upper: (estimate + radius).min(1.0),
            since,
            searches: self.searches,
        })
    }

    /// Adds the searches of another part of the traffic. The trace is that of the part with more of
    /// them.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.searches > self.searches {
            self.trace.clone_from(&other.trace);
            self.before = other.before;
        }
        self.since = match (self.since, other.since) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.searches += other.searches;
        self.sum += other.sum;
        self.squares += other.squares;
        self.cumulative = self.cumulative.max(other.cumulative);
    }
}
