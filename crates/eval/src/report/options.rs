//! Optional content of a report.

use crate::behaviour::Behaviour;
use crate::compare::{ErrorAnalysis, Pair};
use crate::gate::{Check, OperationBound};
use crate::operations::Operations;
use crate::sweep::Sweep;

/// Optional content of a report, in addition to the means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options<'a> {
    /// True to add the scores of every query. Markdown and HTML list only the
    /// [`MAX_WORST_QUERIES`](super::MAX_WORST_QUERIES) of each run.
    pub per_query: bool,
    /// Checks of the gate; empty without a gate.
    pub checks: &'a [Check],
    /// Errors of the runs, of each run at most once.
    pub errors: &'a [ErrorAnalysis],
    /// Operations of the runs that state them.
    pub operations: &'a [Operations],
    /// Configured targets of the operations.
    pub operation_targets: &'a [OperationBound],
    /// User behaviour on the runs with feedback.
    pub behaviour: &'a [Behaviour],
    /// Sweeps of the score threshold, if requested.
    pub sweeps: &'a [Sweep],
    /// Every run against the first; empty for one run.
    pub changes: &'a [Pair],
    /// Keys of the queries to show as cases.
    pub cases: &'a [String],
}
