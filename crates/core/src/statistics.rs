//! Paired statistics: comparison of two systems over the same queries by significance tests, effect
//! sizes and confidence intervals.
//!
//! The module contains pure functions of numbers and a seed. It does not depend on runs, measures
//! or reports. No result depends on threads or on time. An undefined result is `None`, never NaN.

mod association;
mod bootstrap;
mod effect;
mod holm;
mod list_change;
mod paired;
mod permutation;
mod sample;
mod settings;
mod shrinkage;
mod t_test;
mod tukey;

pub use association::kappa;
pub(crate) use association::spearman;
pub use holm::holm;
pub use list_change::{ListChange, Lists, QueryMean};
pub use paired::Paired;
pub use settings::Settings;
pub use shrinkage::{Sample, Shrunken};
pub use tukey::AllPairs;
