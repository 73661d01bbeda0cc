//! From the false alarms that a person accepts to the evidence at which to alarm.

use super::real;

/// Minutes of a quarter of a year: 90 days.
pub const MINUTES_OF_A_QUARTER: u64 = 90 * 24 * 60;

/// The probability of ever alarming although a target is met.
pub const ALPHA: f64 = 0.001;

/// The probability of ever alarming although an experiment's traffic is split as declared.
pub const SPLIT_ALPHA: f64 = 0.001;

/// How far above its threshold the drop detector's evidence is kept: enough for every alarm, and little
/// enough to go back soon after a drop has ended.
pub const ABOVE_THRESHOLD: f64 = 3.0;

/// ln(1/alpha): the log evidence that is reached with probability `alpha` at most. Infinite for an
/// alpha of 0 or less, which nothing reaches.
pub fn log_threshold(alpha: f64) -> f64 {
    -alpha.max(0.0).ln()
}

/// The false alarms of drop detectors that are accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FalseAlarms {
    /// False alarms a quarter, over all series and replicas together; above 0.
    pub per_quarter: f64,
    /// Series that are watched, in each replica; at least 1.
    pub series: u64,
    /// Replicas; at least 1.
    pub replicas: u64,
}

impl Default for FalseAlarms {
    /// One a quarter, over 50 series of 4 replicas.
    fn default() -> Self {
        Self {
            per_quarter: 1.0,
            series: 50,
            replicas: 4,
        }
    }
}

impl FalseAlarms {
    /// A: the mean number of minutes to a false alarm that is asked of each series.
    pub fn minutes(&self) -> f64 {
        let watched = real(self.series.max(1)) * real(self.replicas.max(1));
        real(MINUTES_OF_A_QUARTER) * watched / self.per_quarter.max(f64::MIN_POSITIVE)
    }

    /// ln A, at which a drop detector alarms; never below 0, where it stands at its start.
    pub fn log_threshold(&self) -> f64 {
        self.minutes().ln().max(0.0)
    }

    /// The highest that a drop detector's evidence is let grow to.
    pub fn ceiling(&self) -> f64 {
        self.log_threshold() + ABOVE_THRESHOLD
    }
}
