//! `rankgauge evaluate`: judgement of run files against a gold set.

mod feedback;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::gate::{Conditions, Required};
use super::output::ReportFormat;
use super::settings::SettingsArguments;
use super::{Failure, gate, input, output};
use crate::config::Config;
use feedback::FeedbackFiles;
use rankgauge_core::engine::money::PriceTable;
use rankgauge_core::event::Limits;
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::Rules;
use rankgauge_core::statistics::Settings;
use rankgauge_offline::behaviour::Behaviour;
use rankgauge_offline::compare::{
    self, AnswerErrors, CompareError, ErrorAnalysis, Pair, RunScores,
};
use rankgauge_offline::evaluate::{
    self, Evaluation, Goal, Options, RunEvaluation, Streamed, Target,
};
use rankgauge_offline::gate::{self as gate_of, Check, UnknownTier};
use rankgauge_offline::operations::{Operations, operations};
use rankgauge_offline::report;
use rankgauge_offline::run::{Order, Run, RunError, RunFile, RunStream, STANDARD_INPUT};
use rankgauge_offline::sweep::{Counted, Sweep, WithoutScore, sweep};

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

/// Inputs and rules of a judgement, shared by all commands that judge files.
#[derive(Debug, Args)]
pub(super) struct JudgingArguments {
    #[command(flatten)]
    settings: SettingsArguments,
    /// File or folder with judgements; may be repeated. Without it, the gold set of the
    /// configuration.
    #[arg(long, value_name = "PATH")]
    gold: Vec<PathBuf>,
    /// Run to judge: a TREC run, search events (one per line), or JSON {query: {document: score}};
    /// may be repeated; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    run: Vec<PathBuf>,
    /// Measures, separated by blanks or commas: "P@5 R@10 nDCG(gain=exp)@10". Without it,
    /// the configured ones.
    #[arg(long, value_name = "MEASURES", value_parser = measures)]
    measures: Vec<Measures>,
    /// Score gold queries without an answer in the run as empty results (trec_eval -c).
    #[arg(long)]
    complete: bool,
    /// Leave out gold queries without a relevant document.
    #[arg(long)]
    has_relevant: bool,
    /// Order in which results are judged. Without it: served for events, score for other runs.
    #[arg(long, value_enum)]
    order: Option<OrderBy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OrderBy {
    /// As listed; events by rank if every result has one.
    Served,
    /// By score as in trec_eval, ties by document id descending.
    Score,
    /// By the rank in the run.
    Rank,
}

/// List of measures of one argument.
#[derive(Clone, Debug)]
struct Measures(Vec<Measure>);

fn measures(list: &str) -> Result<Measures, String> {
    let measures = Measure::parse_list(list).map_err(|error| error.to_string())?;
    Ok(Measures(measures))
}

/// Rejects a measure of user feedback.
fn check_subject(measure: &Measure) -> Result<(), String> {
    if measure.is_user_measure() {
        return Err(format!(
            "{measure} measures user feedback, which a run does not contain; leave it out, or add the \
             feedback of the run with `evaluate --feedback`"
        ));
    }
    Ok(())
}

/// Requested content of a judgement.
#[derive(Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent contents, each named at its place"
)]
pub(super) struct Request<'a> {
    /// Labels to break the means down by.
    pub(super) by: Vec<String>,
    /// True to compute curves.
    pub(super) curves: bool,
    /// True to collect the documents of each query.
    pub(super) documents: bool,
    /// Conditions whose measures are computed as well.
    pub(super) conditions: Option<&'a Conditions>,
    /// Files of feedback events.
    pub(super) feedback: &'a [PathBuf],
    /// True to keep the scores of results.
    pub(super) scores: bool,
    /// True if the answers are needed after the judgement. Without them, TREC runs are judged while
    /// they are read.
    pub(super) needs_answers: bool,
}

/// Judged runs, with the gold set and the rules of the judgement.
pub(super) struct JudgedRuns<'a> {
    pub(super) evaluation: Evaluation,
    pub(super) gold: &'a GoldSet,
    pub(super) runs: &'a [Run<'a>],
    pub(super) rules: &'a Rules,
    /// Labels of the slices.
    pub(super) by: &'a [String],
    /// Prices of model calls.
    pub(super) prices: &'a PriceTable,
    /// Conditions of the gate.
    pub(super) conditions: rankgauge_offline::gate::Conditions,
    /// Gold queries that count.
    counted: Counted,
    /// User behaviour on the runs with feedback.
    behaviour: Vec<Behaviour>,
}

impl JudgingArguments {
    /// Number of runs in the arguments.
    pub(super) fn runs(&self) -> usize {
        self.run.len()
    }

    /// Reads and judges the runs, and passes the result with its inputs to `then`.
    pub(super) fn judge_with<T>(
        self,
        request: Request<'_>,
        then: impl FnOnce(JudgedRuns<'_>) -> T,
    ) -> Result<T, Failure> {
        let config = self.settings.load()?;
        let required = match request.conditions {
            Some(conditions) => conditions.required(&config)?,
            None => Vec::new(),
        };
        let has_feedback = !request.feedback.is_empty();
        let measures = self.measures(&config, &required, has_feedback)?;
        let feedback = FeedbackFiles(request.feedback);
        feedback.check(&self.run)?;
        let conditions = request
            .conditions
            .map_or_else(Default::default, |conditions| {
                conditions.resolve(&required, &measures)
            });
        let usage = |error: anyhow::Error| Failure::Usage(error);
        let paths = if self.gold.is_empty() {
            &config.gold.paths
        } else {
            &self.gold
        };
        if self.run.is_empty() {
            return Err(usage(anyhow::anyhow!("no run: name one with --run")));
        }
        if paths.is_empty() {
            return Err(usage(anyhow::anyhow!("no gold set: name one with --gold")));
        }
        let order = self.order.map(|order| match order {
            OrderBy::Served => Order::Served,
            OrderBy::Score => Order::Score,
            OrderBy::Rank => Order::Rank,
        });
        input::check_distinct(self.run.iter().chain(paths).chain(request.feedback))?;
        let limits = &config.engine.record_limits;
        let mut files = Vec::new();
        let load = || gold::load(paths, &config.gold.options);
        let (gold, runs) = if request.needs_answers {
            let (gold, runs) = rayon::join(load, || {
                read_runs(&mut files, &self.run, order, limits, request.scores)
            });
            (gold, Some(runs))
        } else {
            (load(), None)
        };
        let gold = Arc::new(gold.map_err(|error| usage(error.into()))?);
        let options = Options {
            targets: targets(&config, &measures),
            tier_measures: tier_measures(&config, &measures),
            goals: goals(&config, &measures),
            measures,
            rules: config.engine.judging.clone(),
            complete: self.complete,
            has_relevant: self.has_relevant,
            by: request.by,
            curves: request.curves,
            documents: request.documents,
        };
        let mut irregular = Vec::new();
        let input = RunInput {
            paths: &self.run,
            order,
            limits,
            scores: request.scores,
        };
        let runs = match runs {
            Some(runs) => runs.map_err(|error| usage(error.into()))?,
            None => Vec::new(),
        };
        let (runs, evaluations) = input.judge(&gold, runs, &mut irregular, &options)?;
        let evaluation = Evaluation::of(&gold, &options, evaluations);
        check_labels(&evaluation, &options.by, &gold)?;
        let behaviour = if has_feedback {
            let requested = self.measures.iter().flat_map(|list| list.0.clone());
            let measures = feedback::measures(&requested.collect::<Vec<Measure>>(), &config)?;
            let names = runs.iter().map(|run| run.name.clone());
            let runs: Vec<(PathBuf, String)> = self.run.iter().cloned().zip(names).collect();
            feedback::behaviour(&config, &gold, &measures, &options.by, &runs, &feedback)?
        } else {
            Vec::new()
        };
        Ok(then(JudgedRuns {
            behaviour,
            counted: Counted {
                complete: self.complete,
                has_relevant: self.has_relevant,
            },
            evaluation,
            gold: &gold,
            runs: &runs,
            rules: &options.rules,
            by: &options.by,
            prices: &config.engine.prices,
            conditions,
        }))
    }

    /// Returns the measures of the arguments without duplicates, or without any the configured
    /// measures that a run has data for.
    fn measures(
        &self,
        config: &Config,
        required: &[Required],
        has_feedback: bool,
    ) -> Result<Vec<Measure>, Failure> {
        let usage = |text: String| Failure::Usage(anyhow::anyhow!(text));
        let requested = self.measures.iter().flat_map(|list| &list.0);
        let requested = requested.filter(|it| !(has_feedback && it.is_user_measure()));
        let configured = config.engine.measures.iter();
        let configured = configured.filter(|measure| !measure.is_user_measure());
        let mut chosen: Vec<&Measure> = if self.measures.is_empty() {
            configured.collect()
        } else {
            requested.collect()
        };
        chosen.extend(required.iter().flat_map(Required::measures));
        let wrong = chosen.iter().filter_map(|it| check_subject(it).err());
        let wrong: Vec<String> = wrong.collect();
        if !wrong.is_empty() {
            return Err(usage(wrong.join("; ")));
        }
        let mut measures: Vec<Measure> = Vec::new();
        for measure in chosen {
            check_component(measure, config)?;
            if !measures.contains(measure) {
                measures.push(measure.clone());
            }
        }
        if measures.is_empty() {
            return Err(usage(
                "no measure: name measures with --measures".to_owned(),
            ));
        }
        Ok(measures)
    }
}

/// Rejects a measure of a component that is not configured.
pub(super) fn check_component(measure: &Measure, config: &Config) -> Result<(), Failure> {
    let mut components = config.engine.judging.components.iter();
    match measure.component() {
        Some(name) if !components.any(|component| component.name == name) => {
            Err(Failure::Usage(anyhow::anyhow!(
                "{measure} needs the component `{name}`, which is not configured; define it under \
                 `components` in a file for --config"
            )))
        }
        _ => Ok(()),
    }
}

/// Error message for a run none of whose queries is in the gold set.
fn no_gold_query(path: &Path, unknown: &[String], gold: &GoldSet) -> String {
    let in_run = unknown.first().map_or("", String::as_str);
    let in_gold = gold.queries().first().map_or("", |query| &query.key);
    format!(
        "{}: none of its queries is in the gold set (the run's first is `{in_run}`, the gold set's \
         `{in_gold}`); check that they belong together",
        path.display()
    )
}

/// Returns the first label of `by` that no counted query has.
fn unknown_label<'a>(evaluation: &Evaluation, by: &'a [String]) -> Option<&'a String> {
    if evaluation.runs.iter().all(|run| run.queries.is_empty()) {
        return None;
    }
    by.iter().enumerate().find_map(|(position, name)| {
        let values = |run: &RunEvaluation| run.by.get(position).map_or(0, |it| it.values.len());
        let found = evaluation.runs.iter().any(|run| values(run) > 0);
        (!found).then_some(name)
    })
}

/// Rejects a label that no counted query has.
fn check_labels(evaluation: &Evaluation, by: &[String], gold: &GoldSet) -> Result<(), Failure> {
    let Some(name) = unknown_label(evaluation, by) else {
        return Ok(());
    };
    let queries = gold.queries().iter();
    let known: BTreeSet<&String> = queries.flat_map(|query| query.labels.keys()).collect();
    Err(Failure::Usage(
        CompareError::UnknownLabel {
            name: name.clone(),
            known: known.into_iter().cloned().collect(),
        }
        .into(),
    ))
}

/// Files of runs.
struct RunInput<'a> {
    paths: &'a [PathBuf],
    order: Option<Order>,
    limits: &'a Limits,
    /// True to keep the scores of results.
    scores: bool,
}

impl RunInput<'_> {
    /// Judges the runs: `read` if there are any, else while reading them. Runs that cannot be judged
    /// while they are read borrow from `files`.
    fn judge<'f>(
        &self,
        gold: &GoldSet,
        read: Vec<Run<'f>>,
        files: &'f mut Vec<RunFile>,
        options: &Options,
    ) -> Result<(Vec<Run<'f>>, Vec<RunEvaluation>), Failure> {
        let usage = |error: anyhow::Error| Failure::Usage(error);
        let names = names(self.paths);
        let mut streamed: Vec<Option<Streamed>> = Vec::new();
        let mut read = if read.is_empty() {
            let runs = self.paths.iter().zip(&names);
            streamed.extend(runs.map(|(path, name)| stream(gold, path, name, self.order, options)));
            let rest = self.paths.iter().zip(&streamed);
            let rest = rest.filter(|(_, streamed)| streamed.is_none());
            let rest: Vec<PathBuf> = rest.map(|(path, _)| path.clone()).collect();
            let read = read_runs(files, &rest, self.order, self.limits, self.scores);
            read.map_err(|error| usage(error.into()))?.into_iter()
        } else {
            read.into_iter()
        };
        let mut streamed = streamed.into_iter();
        let (mut runs, mut evaluations) = (Vec::new(), Vec::new());
        for (path, name) in self.paths.iter().zip(&names) {
            let (run, evaluation, answers) = if let Some(streamed) = streamed.next().flatten() {
                let run = Run {
                    name: name.clone(),
                    tag: streamed.evaluation.tag.clone(),
                    answers: Vec::new(),
                    warning: None,
                };
                (run, streamed.evaluation, streamed.answers)
            } else {
                let Some(mut run) = read.next() else { break };
                run.name.clone_from(name);
                if let Some(warning) = &run.warning {
                    output::warn(warning);
                }
                let evaluation = evaluate::evaluate_run(gold, &run, options);
                let evaluation = evaluation.map_err(|error| usage(error.into()))?;
                let answers = run.answers.len();
                (run, evaluation, answers)
            };
            if evaluation.unknown.len() == answers {
                let text = no_gold_query(path, &evaluation.unknown, gold);
                return Err(usage(anyhow::anyhow!(text)));
            }
            runs.push(run);
            evaluations.push(evaluation);
        }
        Ok((runs, evaluations))
    }
}

/// Judges a run while reading it; `None` if it has to be read as a whole.
fn stream(
    gold: &GoldSet,
    path: &Path,
    name: &str,
    order: Option<Order>,
    options: &Options,
) -> Option<Streamed> {
    let run = RunStream::open(path, order)?;
    let warning = run.warning().map(ToOwned::to_owned);
    let streamed = evaluate::evaluate_stream(gold, name, run, options)?;
    if let Some(warning) = warning {
        output::warn(&warning);
    }
    Some(streamed)
}

/// Reads the runs at `paths`. The runs borrow from `files`.
fn read_runs<'f>(
    files: &'f mut Vec<RunFile>,
    paths: &[PathBuf],
    order: Option<Order>,
    limits: &Limits,
    keeps_scores: bool,
) -> Result<Vec<Run<'f>>, RunError> {
    for path in paths {
        let file = RunFile::read(path)?;
        files.push(if keeps_scores {
            file.with_scores()
        } else {
            file
        });
    }
    let runs = files.iter().map(|file| file.parse(order, limits));
    runs.collect()
}

/// Returns the name of a run: its file name without folder and extension.
pub(super) fn name_of(path: &Path) -> String {
    if path == Path::new(STANDARD_INPUT) {
        return "stdin".to_owned();
    }
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    stem.to_string_lossy().into_owned()
}

/// Returns a name for each run: the file name without folder and extension, or the path if two file
/// names are equal.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let stems: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
    let name = |(stem, path): (&String, &PathBuf)| {
        let alike = stems.iter().filter(|other| *other == stem).count();
        if alike > 1 {
            path.display().to_string()
        } else {
            stem.clone()
        }
    };
    stems.iter().zip(paths).map(name).collect()
}

fn targets(config: &Config, measures: &[Measure]) -> Vec<Target> {
    let target = |target: &crate::config::Target| {
        let measure = measures.iter().position(|it| *it == target.measure)?;
        Some(Target {
            measure,
            tier: target.tier.clone(),
            value: target.value,
        })
    };
    config.targets.iter().filter_map(target).collect()
}

/// Positions of the configured tier measures that are computed; none if one is missing, because the
/// tier of a part of them would be another one.
fn tier_measures(config: &Config, measures: &[Measure]) -> Vec<usize> {
    let place = |measure: &Measure| measures.iter().position(|it| it == measure);
    let places: Option<Vec<usize>> = config.tier_measures.iter().map(place).collect();
    places.unwrap_or_default()
}

/// Configured goals whose measures are computed.
fn goals(config: &Config, measures: &[Measure]) -> Vec<Goal> {
    let goals = config.goals.iter();
    goals
        .filter_map(|goal| Goal::new(goal.name.clone(), &goal.requirements, measures))
        .collect()
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
