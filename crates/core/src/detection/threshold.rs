//! Thresholds of the evidence, derived from the accepted false-alarm rate.

use crate::number::real;

/// Minutes in a quarter of a year (90 days).
const MINUTES_PER_QUARTER: u64 = 90 * 24 * 60;

/// Margin of the drop detector's ceiling above its threshold. It is large enough for every alarm
/// and small enough for the evidence to decrease soon after the end of a drop.
pub(super) const CEILING_MARGIN: f64 = 3.0;

/// Returns ln(1/alpha): under the null hypothesis, the log evidence reaches it with probability
/// `alpha` at most. Infinite for an alpha of 0 or less, so no alarm is raised.
pub fn log_threshold(alpha: f64) -> f64 {
    -alpha.max(0.0).ln()
}

/// Accepted false-alarm rate of the drop detectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FalseAlarms {
    /// False alarms in a quarter, over all series and replicas together; above 0.
    pub per_quarter: f64,
    /// Number of monitored series in each replica; at least 1.
    pub series: u64,
    /// Number of replicas; at least 1.
    pub replicas: u64,
}

impl Default for FalseAlarms {
    /// One false alarm in a quarter, over 50 series in each of 4 replicas.
    fn default() -> Self {
        Self {
            per_quarter: 1.0,
            series: 50,
            replicas: 4,
        }
    }
}

impl FalseAlarms {
    /// A: required mean number of minutes until a false alarm, for each series.
    pub fn minutes(&self) -> f64 {
        let monitored = real(self.series.max(1)) * real(self.replicas.max(1));
        real(MINUTES_PER_QUARTER) * monitored / self.per_quarter.max(f64::MIN_POSITIVE)
    }

    /// ln A: log evidence at which a drop detector raises an alarm. At least 0, the log evidence of
    /// a new detector.
    pub fn log_threshold(&self) -> f64 {
        self.minutes().ln().max(0.0)
    }

    /// Maximum log evidence of a drop detector.
    pub fn ceiling(&self) -> f64 {
        self.log_threshold() + CEILING_MARGIN
    }
}
