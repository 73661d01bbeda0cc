//! `rankgauge evaluate`: judgement of run files against a gold set.

mod encoded;
mod feedback;
mod judging;
mod preferences;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::Failure;
use super::gate::Conditions;
use super::output::ReportFormat;
use super::{gate, input, output};
pub(super) use judging::{JudgedRuns, JudgingArguments, Request, Worst, WorstBy, check_component};
use rankgauge_core::text::count_of;
use rankgauge_eval::compare::{self, ErrorAnalysis, Pair, RunScores};
use rankgauge_eval::evaluate::Evaluation;
use rankgauge_eval::gate::{self as gate_of, Check, UnknownTier};
use rankgauge_eval::report::{self, ZScores};

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
    /// With --trec: print each score as its difference from the mean of reference runs, in their standard
    /// deviations, from a file of `query measure mean deviation` (trec_eval -Z).
    #[arg(long, short = 'Z', value_name = "FILE", requires = "trec")]
    zscores: Option<PathBuf>,
    /// Judge the runs by preferences instead of grades: a file of `query group subgroup document level` (prefs of
    /// trec_eval) or `query group document level` (qrels_prefs). --measures are then prefs_simp, prefs_pair and
    /// the others of all_prefs.
    #[arg(long, value_name = "FILE", conflicts_with_all = PREFERENCES_EXCLUDE)]
    preferences: Option<PathBuf>,
    /// Write the result to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Options of grades, which preferences lack.
const PREFERENCES_EXCLUDE: [&str; 11] = [
    "gold",
    "gold_columns",
    "by",
    "feedback",
    "sweep_threshold",
    "case",
    "has_relevant",
    "last_search",
    "judged_docs_only",
    "fail_below",
    "require",
];

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
    let of_users = gate_of::of_behaviour(&judged.behaviour, &conditions.users);
    checks.extend(of_users);
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
    let pairs = compare::against_first(scores, ALPHA);
    pairs.unwrap_or_default()
}

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

/// Reads means and deviations of reference runs.
fn zscores_of(path: &Path) -> Result<ZScores, Failure> {
    let bytes = input::read(path, MAX_ZSCORES_BYTES)?;
    let scores = ZScores::parse(&path.display().to_string(), &bytes);
    scores.map_err(Failure::usage)
}

/// Maximum size of a file of means and deviations.
const MAX_ZSCORES_BYTES: u64 = 256 << 20;

/// Columns of trec_eval, with normalised scores if there are `zscores`.
fn trec(
    evaluation: &Evaluation,
    options: &report::Options<'_>,
    zscores: Option<&ZScores>,
) -> String {
    let Some(zscores) = zscores else {
        return report::write_trec(evaluation, options);
    };
    let (text, missing) = report::write_normalised(evaluation, options, zscores);
    if missing > 0 {
        output::warn(&format!(
            "{} printed as -1000000, as trec_eval does: --zscores has no mean and deviation for {}",
            count_of(missing, "score is", "scores are"),
            if missing == 1 { "it" } else { "them" }
        ));
    }
    text
}

/// Runs the command.
pub(super) fn run(arguments: Evaluate) -> Result<(), Failure> {
    let format = arguments.format;
    if let Some(path) = &arguments.preferences {
        gate::check_format(
            format,
            false,
            "--fail-below or --require, without --preferences",
        )?;
        output::check_writable(arguments.output.as_deref())?;
        if arguments.zscores.is_some() {
            return Err(Failure::Usage(anyhow::anyhow!(
                "--zscores is not supported with --preferences"
            )));
        }
        let output = preferences::Output {
            format,
            is_trec: arguments.trec,
            per_query: arguments.per_query,
            file: arguments.output.as_deref(),
        };
        return preferences::run(path, &arguments.judging, &output);
    }
    let conditions = arguments.conditions;
    gate::check_format(format, conditions.has_any(), "--fail-below or --require")?;
    output::check_writable(arguments.output.as_deref())?;
    let zscores = arguments.zscores.as_deref().map(zscores_of).transpose()?;
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
    let checks = checks(&judged).map_err(Failure::usage)?;
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
        trec(&judged.evaluation, &options, zscores.as_ref())
    } else {
        report::write(&judged.evaluation, format.into(), &options)
    };
    let is_data = arguments.trec || format.is_data();
    output::print_or_write(&text, is_data, arguments.output.as_deref())
        .map_err(Failure::Running)?;
    gate::result(&checks)
}
