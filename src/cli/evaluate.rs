//! `rankgauge evaluate`: judgement of run files against a gold set.

mod feedback;
mod judging;
mod runs;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::gate::Conditions;
use super::output::ReportFormat;
use super::{gate, output};
pub(super) use judging::{JudgingArguments, Request, check_component};
use rankgauge_core::statistics::Settings;
use rankgauge_eval::behaviour::Behaviour;
use rankgauge_eval::compare::{self, ErrorAnalysis, Pair, RunScores};
use rankgauge_eval::evaluate::Evaluation;
use rankgauge_eval::gate::{self as gate_of, Check, OperationBound, UnknownTier};
use rankgauge_eval::operations::{Operations, operations};
use rankgauge_eval::report;
use rankgauge_eval::sweep::{Sweep, WithoutScore, sweep};

use judging::JudgedRuns;
pub(super) use runs::name_of;

#[derive(Debug, Args)]
pub(super) struct Evaluate {
    #[command(flatten)]
    judging: JudgingArguments,
    #[command(flatten)]
    conditions: Conditions,
    /// Print the scores of each query as well.
    #[arg(long, short = 'q')]
    per_query: bool,
    /// Labels to break the means down by, separated by commas: query_type,difficulty.
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    by: Vec<String>,
    /// File of feedback events for the runs of search events: one for all runs, or one for each;
    /// adds the means of the user measures. May be repeated.
    #[arg(long, value_name = "FILE")]
    feedback: Vec<PathBuf>,
    /// Find the score threshold with the best F1 of each run.
    #[arg(long)]
    sweep_threshold: bool,
    /// Number of worst queries of each run, by the headline measure, to analyse; 0 for no error
    /// analysis.
    #[arg(long, value_name = "N", default_value_t = 5)]
    worst: usize,
    /// Key of a gold query to show as a case: its scores by run, and the rank of each relevant
    /// document in each run; may be repeated.
    #[arg(long, value_name = "KEY")]
    case: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Write the three columns of trec_eval, with its measure names.
    #[arg(long, conflicts_with = "format")]
    trec: bool,
    /// Write the result to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Analyses the errors of each run.
fn errors(judged: &JudgedRuns<'_>, worst: usize) -> Result<Vec<ErrorAnalysis>, Failure> {
    let measures = &judged.evaluation.measures;
    let Some(measure) = report::headline(measures).filter(|_| worst > 0) else {
        return Ok(Vec::new());
    };
    let measure = &measures[measure];
    let labels = compare::labels(judged.gold, &[], &[]);
    let runs = judged.evaluation.runs.iter().enumerate();
    let errors = runs.map(|(position, evaluation)| {
        let scores = RunScores::of(evaluation, measures);
        judged.errors(position, &scores, measure, worst, &labels)
    });
    errors.filter_map(Result::transpose).collect()
}

/// Compares every run with the first. Empty for one run, and for runs without a query in common.
fn changes(evaluation: &Evaluation) -> Vec<Pair> {
    if evaluation.runs.len() < 2 {
        return Vec::new();
    }
    let runs = evaluation.runs.iter();
    let scores: Vec<RunScores> = runs
        .map(|run| RunScores::of(run, &evaluation.measures))
        .collect();
    let pairs = compare::against_first(scores, TESTS, ALPHA);
    pairs.unwrap_or_default()
}

/// Statistics of the report: only its t-tests and their intervals are shown, so that the randomised
/// methods need few samples.
const TESTS: Settings = Settings {
    seed: 1,
    permutations: 1,
    bootstraps: 1,
};

/// Significance level of the report.
const ALPHA: f64 = 0.05;

/// Requested contents of a report.
struct Contents {
    /// True for a report, false for the columns of trec_eval and for checks.
    is_report: bool,
    /// Number of worst queries.
    worst: usize,
    /// True to sweep the score threshold.
    sweeps: bool,
    /// True for the operations of each query.
    per_query: bool,
}

/// Everything that a report shows.
struct Results {
    evaluation: Evaluation,
    checks: Result<Vec<Check>, UnknownTier>,
    errors: Result<Vec<ErrorAnalysis>, Failure>,
    operations: Vec<Operations>,
    operation_targets: Vec<OperationBound>,
    behaviour: Vec<Behaviour>,
    sweeps: Result<Vec<Sweep>, WithoutScore>,
    changes: Vec<Pair>,
}

impl Results {
    fn of(judged: JudgedRuns<'_>, contents: &Contents) -> Self {
        let runs = judged.runs.iter();
        let operations: Vec<Operations> = runs
            .filter_map(|run| {
                let (by, prices) = (judged.by, judged.prices);
                operations(judged.gold, run, by, prices, contents.per_query)
            })
            .collect();
        let mut checks = gate_of::of_evaluation(&judged.evaluation, &judged.conditions);
        if let Ok(checks) = &mut checks {
            let runs = judged.evaluation.runs.iter().map(|run| run.name.as_str());
            let bounds = &judged.conditions.operations;
            checks.extend(gate_of::of_operations(runs.clone(), &operations, bounds));
            if judged.conditions.tier.is_some() {
                let untested = gate_of::of_untested(runs, checks);
                checks.extend(untested);
            }
        }
        let swept = judged.runs.iter().filter(|_| contents.sweeps);
        let swept = swept
            .filter_map(|run| sweep(judged.gold, run, judged.rules, judged.counted).transpose());
        Self {
            checks,
            errors: errors(&judged, contents.worst),
            sweeps: swept.collect(),
            changes: if contents.is_report {
                changes(&judged.evaluation)
            } else {
                Vec::new()
            },
            operations,
            operation_targets: judged.operation_targets,
            behaviour: judged.behaviour,
            evaluation: judged.evaluation,
        }
    }
}

/// Rejects a case that no run counts.
fn check_cases(evaluation: &Evaluation, cases: &[String]) -> Result<(), Failure> {
    let queries = evaluation.runs.iter().flat_map(|run| &run.queries);
    let known: BTreeSet<&str> = queries.map(|query| query.key.as_str()).collect();
    let unknown = cases.iter().find(|case| !known.contains(case.as_str()));
    let Some(unknown) = unknown else {
        return Ok(());
    };
    let example = known.first().copied().unwrap_or_default();
    Err(Failure::Usage(anyhow::anyhow!(
        "--case: no run answers a gold query with the key `{unknown}`; keys are written as in the gold \
         set, for example `{example}`"
    )))
}

/// Runs the command.
pub(super) fn run(arguments: Evaluate) -> Result<(), Failure> {
    let format = arguments.format;
    let conditions = arguments.conditions;
    gate::check_format(format, conditions.has_any(), "--fail-below or --require")?;
    output::check_writable(arguments.output.as_deref())?;
    let is_data = matches!(format, ReportFormat::Json | ReportFormat::Csv);
    let is_report =
        !arguments.trec && !matches!(format, ReportFormat::Junit | ReportFormat::Github);
    let request = Request {
        by: arguments.by,
        curves: !arguments.trec,
        documents: arguments.per_query && is_data || !arguments.case.is_empty(),
        conditions: Some(&conditions),
        feedback: &arguments.feedback,
        scores: arguments.sweep_threshold,
        needs_answers: arguments.sweep_threshold,
    };
    let contents = Contents {
        is_report,
        worst: if is_report { arguments.worst } else { 0 },
        sweeps: arguments.sweep_threshold,
        per_query: is_report && (arguments.per_query || !arguments.case.is_empty()),
    };
    let results = arguments
        .judging
        .judge_with(request, |judged| Results::of(judged, &contents))?;
    let errors = results.errors?;
    let usage = |error: anyhow::Error| Failure::Usage(error);
    check_cases(&results.evaluation, &arguments.case)?;
    let checks = results.checks.map_err(|error| usage(error.into()))?;
    let sweeps = results.sweeps.map_err(|error| usage(error.into()))?;
    let options = report::Options {
        per_query: arguments.per_query,
        checks: &checks,
        errors: &errors,
        operations: &results.operations,
        operation_targets: &results.operation_targets,
        behaviour: &results.behaviour,
        sweeps: &sweeps,
        changes: &results.changes,
        cases: &arguments.case,
    };
    let text = if arguments.trec {
        report::write_trec(&results.evaluation, &options)
    } else {
        report::write(&results.evaluation, format.into(), &options)
    };
    output::print_or_write(&text, arguments.output.as_deref()).map_err(Failure::Running)?;
    gate::result(&checks)
}
