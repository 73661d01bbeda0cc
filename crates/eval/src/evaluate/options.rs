//! Options of an evaluation.

use rankgauge_core::measure::{Measure, Relation, Requirement};
use rankgauge_core::ranking::Rules;

use super::evaluation::StatedSettings;

/// Evaluation options.
#[derive(Clone, Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent choices of the user, each named at its place"
)]
pub struct Options {
    /// Measures, without those of user behaviour: a run contains no feedback.
    pub measures: Vec<Measure>,
    /// Measure that represents the others, by position in `measures`; `None` for the usual one.
    pub headline: Option<usize>,
    /// Judging rules.
    pub rules: Rules,
    /// True if gold queries that the run does not answer count with zero results (trec_eval -c).
    pub complete: bool,
    /// True if only gold queries with a relevant document count.
    pub has_relevant: bool,
    /// True to leave out results without a grade, or with a negative one (trec_eval -J).
    pub judged_only: bool,
    /// Labels (of the gold query, else of the search) by which the means are broken down.
    pub by: Vec<String>,
    /// Target means of the measures.
    pub targets: Vec<Target>,
    /// Measures that determine the overall tier of a run, by position in `measures`.
    pub tier_measures: Vec<usize>,
    /// Goals of a run.
    pub goals: Vec<Goal>,
    /// True if the precision-recall curve and nDCG by cutoff are computed.
    pub curves: bool,
    /// True if the bounds of scores over unjudged results are computed.
    pub bounds: bool,
    /// True if the documents of each query are collected.
    pub documents: bool,
    /// Settings that are not the usual ones, for those who compare the scores later.
    pub stated: StatedSettings,
}

/// Target mean of a measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Position in [`Evaluation::measures`](super::Evaluation::measures).
    pub measure: usize,
    /// Name of the tier: `excellent`, `good`.
    pub tier: String,
    /// Lowest mean that reaches the tier; the highest for a measure that is better when lower.
    pub value: f64,
}

/// Goal of a run: bounds that the run has to meet together.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Name of the goal.
    pub name: String,
    /// Bounds of the goal. At least one.
    pub bounds: Vec<Bound>,
}

impl Goal {
    /// Goal with these requirements on `measures`; `None` if a requirement is about another
    /// measure.
    pub fn new(name: String, requirements: &[Requirement], measures: &[Measure]) -> Option<Self> {
        let bounds = requirements.iter().map(|requirement| {
            let measure = measures.iter().position(|it| *it == requirement.measure)?;
            Some(Bound {
                measure,
                relation: requirement.relation,
                value: requirement.bound,
            })
        });
        let bounds = bounds.collect::<Option<Vec<Bound>>>()?;
        Some(Self { name, bounds })
    }
}

/// Bound of the mean of a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Position in [`Evaluation::measures`](super::Evaluation::measures).
    pub measure: usize,
    /// Relation of the mean to the value.
    pub relation: Relation,
    /// Value of the bound.
    pub value: f64,
}
