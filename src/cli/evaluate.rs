//! `rankgauge evaluate`: judgement of run files against a gold set.

mod encoded;
mod feedback;
mod judging;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::gate::Conditions;
use super::output::ReportFormat;
use super::{gate, output};
pub(super) use judging::{JudgedRuns, JudgingArguments, Request, Worst, WorstBy, check_component};
use rankgauge_core::statistics::Settings;
use rankgauge_eval::compare::{self, ErrorAnalysis, Pair, RunScores};
use rankgauge_eval::evaluate::Evaluation;
use rankgauge_eval::gate::{self as gate_of, Check, UnknownTier};
use rankgauge_eval::report;

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
fn errors(judged: &mut JudgedRuns) -> Vec<ErrorAnalysis> {
    let evaluation = &judged.evaluation;
    let labels = compare::labels(&judged.gold, &[], &[]);
    let errors = judged.errors.drain(..).zip(&evaluation.runs);
    let errors = errors.filter_map(|(errors, run)| {
        let scores = RunScores::of(run, &evaluation.measures);
        errors?.analysis(&judged.gold, &scores, &labels)
    });
    errors.collect()
}

/// Checks of the runs against the conditions of the gate.
fn checks(judged: &JudgedRuns) -> Result<Vec<Check>, UnknownTier> {
    let conditions = &judged.conditions;
    let mut checks = gate_of::of_evaluation(&judged.evaluation, conditions)?;
    let runs = judged.evaluation.runs.iter().map(|run| run.name.as_str());
    let bounds = &conditions.operations;
    let of_operations = gate_of::of_operations(runs.clone(), &judged.operations, bounds);
    checks.extend(of_operations);
    if conditions.tier.is_some() {
        let untested = gate_of::of_untested(runs, &checks);
        checks.extend(untested);
    }
    Ok(checks)
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
        sweep: arguments.sweep_threshold,
        operations: Some(is_report && (arguments.per_query || !arguments.case.is_empty())),
        labels: &[],
        worst: Worst {
            queries: if is_report { arguments.worst } else { 0 },
            last_run_only: false,
            by: WorstBy::Headline,
        },
    };
    let mut judged = arguments.judging.judge(request)?;
    let errors = errors(&mut judged);
    check_cases(&judged.evaluation, &arguments.case)?;
    let checks = checks(&judged).map_err(|error| Failure::Usage(error.into()))?;
    let changes = if is_report {
        changes(&judged.evaluation)
    } else {
        Vec::new()
    };
    let options = report::Options {
        per_query: arguments.per_query,
        checks: &checks,
        errors: &errors,
        operations: &judged.operations,
        operation_targets: &judged.operation_targets,
        behaviour: &judged.behaviour,
        sweeps: &judged.sweeps,
        changes: &changes,
        cases: &arguments.case,
    };
    let text = if arguments.trec {
        report::write_trec(&judged.evaluation, &options)
    } else {
        report::write(&judged.evaluation, format.into(), &options)
    };
    let is_data = arguments.trec || format.is_data();
    output::print_or_write(&text, is_data, arguments.output.as_deref())
        .map_err(Failure::Running)?;
    gate::result(&checks)
}
