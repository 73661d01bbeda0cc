//! Anytime-valid tests for regressions: checking them continuously does not raise the false-alarm
//! rate.
//!
//! Dashboards and alerts evaluate a test every minute. A test designed for one evaluation raises
//! false alarms when it is evaluated a thousand times. The tests in this module are e-processes or
//! are built from e-processes. Under the null hypothesis, the mean of an e-process is at most 1 at
//! every time (for the drop detector, at most the number of ticks). A threshold therefore bounds
//! the false alarms over all evaluations together.
//!
//! The module contains pure values and functions of numbers. Stateful values are small,
//! serialisable and mergeable. The module does not depend on events, engines, files or clocks: the
//! caller supplies scores and minute ticks. No input causes a panic or NaN evidence.

mod baseline;
mod bets;
mod bias;
mod blocks;
mod bounds;
mod buckets;
mod burst;
mod change;
mod comparison;
mod drop_series;
mod drop_test;
mod local;
mod losses;
mod mixture;
mod preference;
mod query_sums;
mod recovery;
mod score_test;
mod season;
mod split;
#[cfg(test)]
mod tests;
mod threshold;
mod tolerance;
mod unit;
mod unjudged;

pub use baseline::Baselines;
pub(crate) use baseline::{Compared, Comparison, QueryBaseline, serialize_sorted};
pub(crate) use bets::{averaged, summed};
pub(crate) use bias::{BiasDirection, BiasDrift, BiasKind, BiasRules, BiasShift, CorrectedMean};
pub use blocks::BlockTest;
pub(crate) use blocks::BlockTests;
pub use buckets::VariantTest;
pub(crate) use buckets::{ArmDifference, BucketArm, HourlyLimit};
pub use burst::Burst;
pub(crate) use burst::minute_of;
pub(crate) use change::{Beginning, Change, DropExtent};
pub(crate) use comparison::Baseline;
pub use drop_series::{DropClass, Part, SeriesRules};
pub(crate) use drop_series::{DropSeries, LearnedSeries, LearnedVariation};
pub use drop_test::DropTest;
pub(crate) use losses::{Losses, MeanInterval};
pub(crate) use mixture::NormalMixture;
pub use preference::Preference;
pub use query_sums::QuerySums;
pub(crate) use recovery::Recovery;
pub use score_test::ScoreTest;
pub(crate) use season::Season;
pub use split::SplitTest;
pub use threshold::{FalseAlarms, log_threshold};
pub(crate) use unit::{Unit, UnitBitmap};
pub(crate) use unjudged::{Unjudged, UnjudgedTests};
