//! `rankgauge evaluate`: judgement of run files against a gold set.

mod feedback;
mod judging;
mod runs;

use std::path::PathBuf;

use clap::Args;

use super::gate::Conditions;
use super::output::ReportFormat;
use super::{Failure, gate, output};
pub(super) use judging::{JudgingArguments, Request, check_component};
use rankgauge_core::statistics::Settings;
use rankgauge_offline::behaviour::Behaviour;
use rankgauge_offline::compare::{self, AnswerErrors, ErrorAnalysis, Pair, RunScores};
use rankgauge_offline::evaluate::Evaluation;
use rankgauge_offline::gate::{self as gate_of, Check, UnknownTier};
use rankgauge_offline::operations::{Operations, operations};
use rankgauge_offline::report;
use rankgauge_offline::sweep::{Sweep, WithoutScore, sweep};

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
fn errors(judged: &JudgedRuns<'_>, worst: usize) -> Vec<ErrorAnalysis> {
    let measures = &judged.evaluation.measures;
    let Some(measure) = report::headline(measures).filter(|_| worst > 0) else {
        return Vec::new();
    };
    let measure = &measures[measure];
    let labels = compare::labels(judged.gold, &[], &[]);
    let cutoff = ErrorAnalysis::cutoff_of(measure);
    let runs = judged.evaluation.runs.iter().zip(judged.runs);
    let errors = runs.filter_map(|(evaluation, run)| {
        let scores = RunScores::of(evaluation, measures);
        let mut answers = AnswerErrors::new(judged.gold, run, judged.rules, cutoff);
        ErrorAnalysis::of(&scores, measure, cutoff, worst, &labels, |query| {
            answers.of(query)
        })
    });
    errors.collect()
}

/// Compares every run with the first. Empty for one run, and for runs without a query in common.
fn changes(evaluation: &Evaluation) -> Vec<Pair> {
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

/// Everything that a report shows.
struct Results {
    evaluation: Evaluation,
    checks: Result<Vec<Check>, UnknownTier>,
    errors: Vec<ErrorAnalysis>,
    operations: Vec<Operations>,
    behaviour: Vec<Behaviour>,
    sweeps: Result<Vec<Sweep>, WithoutScore>,
    changes: Vec<Pair>,
}

impl Results {
    fn of(judged: JudgedRuns<'_>, worst: usize, is_report: bool, sweeps: bool) -> Self {
        let runs = judged.runs.iter();
        let operations: Vec<Operations> = runs
            .filter_map(|run| operations(judged.gold, run, judged.by, judged.prices))
            .collect();
        let mut checks = gate_of::of_evaluation(&judged.evaluation, &judged.conditions);
        if let Ok(checks) = &mut checks {
            let runs = judged.evaluation.runs.iter().map(|run| run.name.as_str());
            let bounds = &judged.conditions.operations;
            checks.extend(gate_of::of_operations(runs, &operations, bounds));
        }
        let swept = judged.runs.iter().filter(|_| sweeps);
        let swept = swept
            .filter_map(|run| sweep(judged.gold, run, judged.rules, judged.counted).transpose());
        Self {
            checks,
            errors: errors(&judged, if is_report { worst } else { 0 }),
            sweeps: swept.collect(),
            changes: if is_report {
                changes(&judged.evaluation)
            } else {
                Vec::new()
            },
            operations,
            behaviour: judged.behaviour,
            evaluation: judged.evaluation,
        }
    }
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
        documents: arguments.per_query && is_data,
        conditions: Some(&conditions),
        feedback: &arguments.feedback,
        scores: arguments.sweep_threshold,
        needs_answers: arguments.sweep_threshold || (is_report && arguments.worst > 0),
    };
    let (worst, sweeps) = (arguments.worst, arguments.sweep_threshold);
    let results = arguments.judging.judge_with(request, |judged| {
        Results::of(judged, worst, is_report, sweeps)
    })?;
    let usage = |error: anyhow::Error| Failure::Usage(error);
    let checks = results.checks.map_err(|error| usage(error.into()))?;
    let sweeps = results.sweeps.map_err(|error| usage(error.into()))?;
    let options = report::Options {
        per_query: arguments.per_query,
        checks: &checks,
        errors: &results.errors,
        operations: &results.operations,
        behaviour: &results.behaviour,
        sweeps: &sweeps,
        changes: &results.changes,
    };
    let text = if arguments.trec {
        report::write_trec(&results.evaluation, &options)
    } else {
        report::write(&results.evaluation, format.into(), &options)
    };
    output::print_or_write(&text, arguments.output.as_deref()).map_err(Failure::Running)?;
    gate::result(&checks)
}
