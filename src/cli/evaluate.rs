//! `rankgauge evaluate`: judgement of run files against a gold set.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::gate::{Conditions, Required};
use super::output::ReportFormat;
use super::settings::SettingsArguments;
use super::{Failure, gate, input, output};
use crate::config::Config;
use rankgauge_core::engine::money::PriceTable;
use rankgauge_core::event::Limits;
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::Rules;
use rankgauge_offline::compare::{self, AnswerErrors, CompareError, ErrorAnalysis, RunScores};
use rankgauge_offline::evaluate::{self, Evaluation, Goal, Options, RunEvaluation, Target};
use rankgauge_offline::operations::{Operations, operations};
use rankgauge_offline::report;
use rankgauge_offline::run::{Order, Run, RunError, RunFile, STANDARD_INPUT};

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
    let wrong: Vec<String> = measures
        .iter()
        .filter_map(|it| check_subject(it).err())
        .collect();
    if wrong.is_empty() {
        Ok(Measures(measures))
    } else {
        Err(wrong.join("; "))
    }
}

/// Rejects a measure of user feedback.
fn check_subject(measure: &Measure) -> Result<(), String> {
    if measure.is_user_measure() {
        return Err(format!(
            "{measure} measures user feedback, which a run does not contain; leave it out"
        ));
    }
    Ok(())
}

/// Requested content of a judgement.
#[derive(Default)]
pub(super) struct Request<'a> {
    /// Labels to break the means down by.
    pub(super) by: Vec<String>,
    /// True to compute curves.
    pub(super) curves: bool,
    /// True to collect the documents of each query.
    pub(super) documents: bool,
    /// Conditions whose measures are computed as well.
    pub(super) conditions: Option<&'a Conditions>,
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
        let measures = self.measures(&config, &required)?;
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
        input::check_distinct(self.run.iter().chain(paths))?;
        let mut files = Vec::new();
        let (gold, runs) = rayon::join(
            || gold::load(paths, &config.gold.options),
            || read_runs(&mut files, &self.run, order, &config.engine.record_limits),
        );
        let gold = gold.map_err(|error| usage(error.into()))?;
        let mut runs = runs.map_err(|error| usage(error.into()))?;
        for (run, name) in runs.iter_mut().zip(names(&self.run)) {
            run.name = name;
            if let Some(warning) = &run.warning {
                output::warn(warning);
            }
        }
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
        let evaluation = evaluate::evaluate(&gold, &runs, &options);
        let evaluation = evaluation.map_err(|error| usage(error.into()))?;
        for (path, (run, judged)) in self.run.iter().zip(runs.iter().zip(&evaluation.runs)) {
            if judged.unknown.len() == run.answers.len() {
                return Err(usage(anyhow::anyhow!(no_gold_query(
                    path,
                    &judged.unknown,
                    &gold
                ))));
            }
        }
        if let Some(name) = unknown_label(&evaluation, &options.by) {
            let queries = gold.queries().iter();
            let known: BTreeSet<&String> = queries.flat_map(|query| query.labels.keys()).collect();
            return Err(usage(
                CompareError::UnknownLabel {
                    name: name.clone(),
                    known: known.into_iter().cloned().collect(),
                }
                .into(),
            ));
        }
        Ok(then(JudgedRuns {
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
    fn measures(&self, config: &Config, required: &[Required]) -> Result<Vec<Measure>, Failure> {
        let usage = |text: String| Failure::Usage(anyhow::anyhow!(text));
        let requested = self.measures.iter().flat_map(|list| &list.0);
        let configured = config.engine.measures.iter();
        let configured = configured.filter(|measure| !measure.is_user_measure());
        let mut chosen: Vec<&Measure> = if self.measures.is_empty() {
            configured.collect()
        } else {
            requested.collect()
        };
        chosen.extend(required.iter().flat_map(Required::measures));
        let mut measures: Vec<Measure> = Vec::new();
        for measure in chosen {
            check_subject(measure).map_err(usage)?;
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

/// Reads the runs at `paths`. The runs borrow from `files`.
fn read_runs<'f>(
    files: &'f mut Vec<RunFile>,
    paths: &[PathBuf],
    order: Option<Order>,
    limits: &Limits,
) -> Result<Vec<Run<'f>>, RunError> {
    for path in paths {
        files.push(RunFile::read(path)?);
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

/// Runs the command.
pub(super) fn run(arguments: Evaluate) -> Result<(), Failure> {
    let format = arguments.format;
    let conditions = arguments.conditions;
    gate::check_format(format, conditions.has_any(), "--fail-below or --require")?;
    output::check_writable(arguments.output.as_deref())?;
    let is_data = matches!(format, ReportFormat::Json | ReportFormat::Csv);
    let request = Request {
        by: arguments.by,
        curves: !arguments.trec,
        documents: arguments.per_query && is_data,
        conditions: Some(&conditions),
    };
    let is_report =
        !arguments.trec && !matches!(format, ReportFormat::Junit | ReportFormat::Github);
    let worst = if is_report { arguments.worst } else { 0 };
    let (evaluation, checks, errors, operations) =
        arguments.judging.judge_with(request, |judged| {
            let checks =
                rankgauge_offline::gate::of_evaluation(&judged.evaluation, &judged.conditions);
            let errors = errors(&judged, worst);
            let runs = judged.runs.iter();
            let operations: Vec<Operations> = runs
                .filter_map(|run| operations(judged.gold, run, judged.by, judged.prices))
                .collect();
            (judged.evaluation, checks, errors, operations)
        })?;
    let checks = checks.map_err(|error| Failure::Usage(error.into()))?;
    let options = report::Options {
        per_query: arguments.per_query,
        checks: &checks,
        errors: &errors,
        operations: &operations,
    };
    let text = if arguments.trec {
        report::write_trec(&evaluation, &options)
    } else {
        report::write(&evaluation, format.into(), &options)
    };
    output::print_or_write(&text, arguments.output.as_deref()).map_err(Failure::Running)?;
    gate::result(&checks)
}
