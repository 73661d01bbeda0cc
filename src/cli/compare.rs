//! `rankgauge compare`: comparison of runs, or of files with per-query scores.

mod stored;

use std::path::PathBuf;
use std::str::FromStr as _;

use anyhow::anyhow;
use clap::Args;

use super::evaluate::{JudgingArguments, Request, Worst, WorstBy};
use super::failure::Failure;
use super::gate::FailOn;
use super::output::ReportFormat;
use super::{gate, input, output};
use rankgauge_core::statistics::Settings;
use rankgauge_eval::compare::{
    self, CompareError, Comparison, Options, RunScores, StoredEvaluation,
};
use rankgauge_eval::gate as offline_gate;
use rankgauge_eval::report::compare as report;

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub(super) struct Compare {
    #[command(flatten)]
    judging: JudgingArguments,
    /// Lines of `measure query score` as `trec_eval -q` prints them, or a stored evaluation (JSON),
    /// instead of --gold and --run; may be repeated, in ablation order.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["gold", "run", "measures", "complete", "has_relevant", "order"]
    )]
    scores: Vec<PathBuf>,
    /// Stored evaluation to compare with, as `evaluate --per-query --format json` writes it. Its run
    /// is the first.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Name of the run in the stored evaluation, if it has several.
    #[arg(long, value_name = "NAME", requires = "baseline")]
    baseline_run: Option<String>,
    /// Fail (exit code 3) on this verdict about any run against the first.
    #[arg(long, value_enum, value_name = "VERDICT")]
    fail_on: Option<FailOn>,
    /// Names of four runs: base, with component A, with component B, with both.
    #[arg(long, value_name = "BASE,A,B,BOTH", value_parser = four_names)]
    interaction: Option<FourNames>,
    /// Labels by which to report the best run: query_type,difficulty.
    #[arg(
        long,
        value_name = "LABELS",
        value_delimiter = ',',
        conflicts_with = "scores"
    )]
    by: Vec<String>,
    /// Number of worst queries of the last run, by the first measure, to analyse; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 5, conflicts_with = "scores")]
    worst: usize,
    /// Report the rank-biased overlap of the results of each run with the first, with this probability of
    /// continuing to the next rank: 0.9.
    #[arg(long, value_name = "P", value_parser = probability, conflicts_with_all = ["scores", "baseline"])]
    rbo: Option<f64>,
    /// Significance level: a difference is shown if its Holm-corrected p-value is below it.
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = probability)]
    alpha: f64,
    /// Seed of the random generator; the same seed gives the same numbers.
    #[arg(long, default_value_t = Settings::default().seed)]
    seed: u64,
    /// Number of resamples of the permutation test and the bootstrap, 100 to 1000000 [default:
    /// 100000 and 10000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    resamples: Option<u32>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Names of the runs of an interaction.
type FourNames = [String; 4];

fn four_names(text: &str) -> Result<FourNames, String> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    let given = names.len();
    names.try_into().map_err(|_| {
        format!("four runs are expected, base,a,b,both, separated by commas; {given} are named")
    })
}

fn probability(text: &str) -> Result<f64, String> {
    let number = f64::from_str(text).ok();
    number
        .filter(|number| *number > 0.0 && *number < 1.0)
        .ok_or_else(|| "a number between 0 and 1 is expected, 0.05".to_owned())
}

/// Runs the command.
pub(super) fn run(arguments: Compare) -> Result<(), Failure> {
    let format = arguments.format;
    let fail_on = arguments.fail_on;
    gate::check_format(format, fail_on.is_some(), "--fail-on")?;
    let stored = usize::from(arguments.baseline.is_some());
    let given = arguments.judging.runs() + arguments.scores.len() + stored;
    if given < 2 {
        return Err(Failure::Usage(anyhow!(
            "two or more runs are needed, {given} given: --gold GOLD --run A --run B, or --scores A \
             --scores B, or --baseline A with one of them"
        )));
    }
    input::check_distinct(arguments.scores.iter().chain(&arguments.baseline))?;
    output::check_writable(arguments.output.as_deref())?;
    let output = arguments.output.clone();
    let baseline = match &arguments.baseline {
        Some(path) => Some(stored::baseline(path, arguments.baseline_run.as_deref())?),
        None => None,
    };
    let comparison = if arguments.scores.is_empty() {
        judged(arguments, baseline)?
    } else {
        scored(&arguments, baseline)?
    };
    // A report in a file or in another format is not read at once: print its warnings as well.
    if output.is_some() || format != ReportFormat::Text {
        comparison.warnings.iter().for_each(|it| output::warn(it));
    }
    let checks = fail_on.map(|fail_on| offline_gate::of_comparison(&comparison, fail_on.into()));
    let checks = checks.unwrap_or_default();
    let text = report::write(&comparison, &checks, format.into());
    output::print_or_write(&text, format.is_data(), output.as_deref()).map_err(Failure::Running)?;
    gate::result(&checks)
}

fn options(arguments: &Compare) -> Options {
    let defaults = Settings::default();
    Options {
        statistics: Settings {
            seed: arguments.seed,
            permutations: arguments.resamples.unwrap_or(defaults.permutations),
            bootstraps: arguments.resamples.unwrap_or(defaults.bootstraps),
        },
        alpha: arguments.alpha,
        interaction: arguments.interaction.clone(),
        by: arguments.by.clone(),
        ..Options::default()
    }
}

fn usage(wrong: CompareError) -> Failure {
    Failure::Usage(wrong.into())
}

/// Judges runs and compares them.
fn judged(arguments: Compare, baseline: Option<StoredEvaluation>) -> Result<Comparison, Failure> {
    let mut options = options(&arguments);
    let mut judged = arguments.judging.judge(Request {
        by: Vec::new(),
        curves: false,
        documents: arguments.rbo.is_some(),
        conditions: None,
        feedback: &[],
        sweep: false,
        operations: None,
        labels: &options.by,
        worst: Worst {
            queries: arguments.worst,
            last_run_only: true,
            by: WorstBy::First,
        },
    })?;
    let measures = &judged.evaluation.measures;
    options.labels = compare::labels(&judged.gold, &options.by, &judged.labels);
    let mut scores: Vec<RunScores> = Vec::new();
    if let Some(baseline) = baseline {
        stored::check_gold(&baseline.gold, &judged.evaluation.gold)?;
        let judging = &judged.evaluation.judging;
        stored::check_judging(baseline.judging.as_ref(), Some(judging))?;
        scores.extend(baseline.runs);
    }
    let runs = judged.evaluation.runs.iter();
    scores.extend(runs.map(|run| RunScores::of(run, measures)));
    let last = scores.last().cloned();
    options.gold = Some(judged.evaluation.gold.clone());
    let mut comparison = compare::compare(scores, &options).map_err(usage)?;
    if let Some(p) = arguments.rbo {
        let runs = &judged.evaluation.runs;
        comparison.overlaps = compare::overlaps(runs, &comparison.runs, p);
    }
    if let (Some(mut last), Some(errors)) = (last, judged.errors.pop().flatten()) {
        // The comparison has made the names unique.
        last.name = comparison.runs.last().cloned().unwrap_or(last.name);
        comparison.errors = errors.analysis(&judged.gold, &last, &options.labels);
    }
    Ok(comparison)
}

/// Compares files of scores.
fn scored(arguments: &Compare, baseline: Option<StoredEvaluation>) -> Result<Comparison, Failure> {
    let mut options = options(arguments);
    let mut runs: Vec<RunScores> = Vec::new();
    let mut judging = None;
    if let Some(baseline) = baseline {
        options.gold = Some(baseline.gold);
        judging = baseline.judging;
        runs.extend(baseline.runs);
    }
    for path in &arguments.scores {
        let file = stored::scores(path)?;
        if let Some(gold) = file.gold {
            if let Some(known) = &options.gold {
                stored::check_gold(known, &gold)?;
            }
            options.gold = Some(gold);
        }
        stored::check_judging(judging.as_ref(), file.judging.as_ref())?;
        judging = file.judging.or(judging);
        runs.extend(file.runs);
    }
    compare::compare(runs, &options).map_err(usage)
}
