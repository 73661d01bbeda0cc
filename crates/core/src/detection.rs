//! Telling a regression from noise: tests that hold however often somebody looks at them.
//!
//! A dashboard is looked at every minute, and a test made for one look gives false alarms when it is
//! looked at a thousand times. Everything here is an e-process or built of some: under the hypothesis
//! its mean is at most 1 (or, for the drop detector, at most the number of ticks) at every moment, so a
//! threshold bounds the false alarms over all looks together.
//!
//! Pure values and functions of numbers; what has a state is small, can be serialised and merged. Nothing
//! here knows events, engines, files or clocks: what a score is and when a minute has passed, others say.
//! No number given makes it panic or become NaN.

mod bets;
mod bounds;
mod drop;
mod experiment;
pub mod simulation;
mod split;
mod target;
mod threshold;

pub use bets::{BETS, Hypothesis, against_baseline};
pub use bounds::{Bounds, Histogram};
pub use drop::{DropDetector, summed};
pub use experiment::{Arm, Difference, MINIMUM_PER_ARM, difference};
pub use split::{CONCENTRATION, split_log_evidence};
pub use target::TargetTest;
pub use threshold::{
    ABOVE_THRESHOLD, ALPHA, FalseAlarms, MINUTES_OF_A_QUARTER, SPLIT_ALPHA, log_threshold,
};

/// A count as a number to calculate with.
#[allow(
    clippy::cast_precision_loss,
    reason = "exact up to 2^53, and beyond it no evidence shows the difference"
)]
fn real(count: u64) -> f64 {
    count as f64
}
