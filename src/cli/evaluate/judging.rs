//! Inputs of a judgement from arguments and configuration, and one pass over each run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::feedback::FeedbackFiles;
use crate::cli::failure::Failure;
use crate::cli::gate::{Conditions, Required, operation_targets};
use crate::cli::settings::SettingsArguments;
use crate::cli::{input, output};
use crate::config::Config;
use rankgauge_core::columns::Columns;
use rankgauge_core::gold::{self, GoldSet, Unjudged};
use rankgauge_core::measure::{Compat, Measure, Number};
use rankgauge_core::ranking::JudgeBy;
use rankgauge_core::text::count_of;
use rankgauge_eval::behaviour::Behaviour;
use rankgauge_eval::compare::{AnalysedErrors, AnswerErrors, CompareError, SearchLabel};
use rankgauge_eval::evaluate::{Evaluation, Goal, Options, RunEvaluation, StatedSettings, Target};
use rankgauge_eval::gate::OperationBound;
use rankgauge_eval::operations::Operations;
use rankgauge_eval::pass::{Contents, LastSearches, RequestedOperations, judge, last_searches};
use rankgauge_eval::report;
use rankgauge_eval::run::{Order, ReadOptions, RunReader, STANDARD_INPUT, Searches, name_of};
use rankgauge_eval::sweep::Sweep;

/// Inputs and rules of a judgement, shared by all commands that judge files.
#[derive(Debug, Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent flags of the command line"
)]
pub(in crate::cli) struct JudgingArguments {
    #[command(flatten)]
    settings: SettingsArguments,
    /// File or folder with judgements; may be repeated. Without it, the gold set of the
    /// configuration.
    #[arg(long, value_name = "PATH")]
    gold: Vec<PathBuf>,
    /// Run to judge: a TREC run, search events (one per line), a table (CSV, TSV, MS MARCO, Parquet, Arrow), records
    /// or JSON {query: {document: score}}, also compressed; may be repeated; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    run: Vec<PathBuf>,
    /// Measures, separated by blanks or commas: "P@5 R@10 nDCG(gain=exp)@10". Without it,
    /// the configured ones. Names of trec_eval are read as in trec_eval (all_trec, ndcg_cut.5,10), those of
    /// other tools with the tool (ranx:ndcg_burges@10).
    #[arg(long, value_name = "MEASURES")]
    measures: Vec<String>,
    /// Version of trec_eval whose values are computed where its versions differ.
    #[arg(long, value_name = "TOOL@VERSION", default_value = "trec_eval@9")]
    compat: Compat,
    /// Score gold queries without an answer in the run as empty results (trec_eval -c).
    #[arg(long)]
    complete: bool,
    /// Judge the last search of each query, by its time, in runs of search events such as recorded traffic.
    /// Without it, a query that is searched again is an error.
    #[arg(long)]
    last_search: bool,
    /// Leave out results without a judgement (trec_eval -J).
    #[arg(long, short = 'J')]
    judged_docs_only: bool,
    /// Maximum number of results of a query; later ones are left out (trec_eval -M).
    #[arg(long, short = 'M', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_retrieved: Option<u32>,
    /// Number of documents of the collection, for the measure `utility` (trec_eval -N).
    #[arg(long, short = 'N', value_name = "N")]
    number_docs: Option<u32>,
    /// Leave out gold queries without a relevant document.
    #[arg(long)]
    has_relevant: bool,
    /// Order in which results are judged. Without it: served for events and lists, rank for tables with
    /// ranks and no scores, score for other runs.
    #[arg(long, value_enum)]
    order: Option<OrderBy>,
    /// Columns of runs in tables or records whose names are not found: their contents in order, or by name
    /// or number: "query,document,rank", "query=qid,document=pid,score=3". Contents are query, document, rank,
    /// score and distance (lower is better); `_` is a column that is not read.
    #[arg(long, value_name = "COLUMNS", value_parser = Columns::of_run)]
    columns: Option<Columns>,
    /// Columns of judgements in tables whose names are not found, as with --columns:
    /// "query=qid,document=pid,grade=label". Contents are query, document, grade, text (of the query)
    /// and subtopic.
    #[arg(long, value_name = "COLUMNS", value_parser = Columns::of_gold)]
    gold_columns: Option<Columns>,
    /// Leave out results whose id is that of the query, as BEIR does.
    #[arg(long)]
    ignore_identical_ids: bool,
    /// Compose the ids of queries and documents, in gold set and runs, so that equal letters have equal
    /// characters.
    #[arg(long, value_enum, value_name = "FORM")]
    normalise_ids: Option<IdForm>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum IdForm {
    /// Unicode NFC.
    Nfc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OrderBy {
    /// As listed; events by rank if every result has one.
    Served,
    /// By score as in trec_eval, ties by document id descending.
    Score,
    /// By score, the lowest first, as for distances.
    Ascending,
    /// By the rank in the run.
    Rank,
}

impl From<OrderBy> for Order {
    fn from(order: OrderBy) -> Self {
        match order {
            OrderBy::Served => Self::Served,
            OrderBy::Score => Self::Score,
            OrderBy::Ascending => Self::Ascending,
            OrderBy::Rank => Self::Rank,
        }
    }
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
pub(in crate::cli) struct Request<'a> {
    /// Labels to break the means down by.
    pub(in crate::cli) by: Vec<String>,
    /// True to compute curves and the bounds of scores.
    pub(in crate::cli) curves: bool,
    /// True to collect the documents of each query.
    pub(in crate::cli) documents: bool,
    /// Conditions whose measures are computed as well.
    pub(in crate::cli) conditions: Option<&'a Conditions>,
    /// Files of feedback events.
    pub(in crate::cli) feedback: &'a [PathBuf],
    /// True to sweep the score threshold.
    pub(in crate::cli) sweep: bool,
    /// True to keep the operations of each query; `None` for no operations.
    pub(in crate::cli) operations: Option<bool>,
    /// Labels whose values are collected from search events.
    pub(in crate::cli) labels: &'a [String],
    /// Worst queries to analyse.
    pub(in crate::cli) worst: Worst,
}

/// Worst queries to analyse.
pub(in crate::cli) struct Worst {
    /// Number of queries, 0 for none.
    pub(in crate::cli) queries: usize,
    /// True to analyse the last run only.
    pub(in crate::cli) last_run_only: bool,
    /// Measure that determines them.
    pub(in crate::cli) by: WorstBy,
}

/// Measure that determines the worst queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum WorstBy {
    /// The headline measure.
    Headline,
    /// The first measure.
    First,
}

/// Judged runs, with the gold set.
pub(in crate::cli) struct JudgedRuns {
    pub(in crate::cli) evaluation: Evaluation,
    pub(in crate::cli) gold: Arc<GoldSet>,
    /// Errors of each run, to be analysed.
    pub(in crate::cli) errors: Vec<Option<AnswerErrors>>,
    /// Operations of the runs that state them.
    pub(in crate::cli) operations: Vec<Operations>,
    /// Sweeps of the runs with results.
    pub(in crate::cli) sweeps: Vec<Sweep>,
    /// Values of labels, in the order of the runs.
    pub(in crate::cli) labels: Vec<SearchLabel>,
    /// Conditions of the gate.
    pub(in crate::cli) conditions: rankgauge_eval::gate::Conditions,
    /// Configured targets of the operations.
    pub(super) operation_targets: Vec<OperationBound>,
    /// User behaviour on the runs with feedback.
    pub(super) behaviour: Vec<Behaviour>,
}

impl JudgingArguments {
    /// Number of runs in the arguments.
    pub(in crate::cli) fn runs(&self) -> usize {
        self.run.len()
    }

    /// Reads and judges the runs.
    pub(in crate::cli) fn judge(self, request: Request<'_>) -> Result<JudgedRuns, Failure> {
        let config = self.settings.load()?;
        let required = match request.conditions {
            Some(conditions) => conditions.required(&config)?,
            None => Vec::new(),
        };
        let has_feedback = !request.feedback.is_empty();
        let requested = self.requested()?;
        let measures = self.measures(&config, &requested, &required, has_feedback)?;
        let feedback = FeedbackFiles(request.feedback);
        feedback.check(&self.run)?;
        let user_measures = feedback.measures(&requested, &required, &config)?;
        let conditions = request
            .conditions
            .map_or_else(Default::default, |conditions| {
                conditions.resolve(&required, &measures, &user_measures, &config)
            });
        let paths = if self.gold.is_empty() {
            &config.gold.paths
        } else {
            &self.gold
        };
        if self.run.is_empty() {
            return Err(Failure::Usage(anyhow::anyhow!(
                "no run: name one with --run"
            )));
        }
        if paths.is_empty() {
            return Err(Failure::Usage(anyhow::anyhow!(
                "no gold set: name one with --gold"
            )));
        }
        // A file of a topic of both kinds is a run, and its feedback.
        let feedback_files = (!config.formats.is_shared).then_some(request.feedback);
        let inputs = self.run.iter().chain(paths);
        input::check_distinct(inputs.chain(feedback_files.into_iter().flatten()))?;
        let gold = gold::load(paths, &self.gold_options(&config));
        let gold = Arc::new(gold.map_err(Failure::usage)?);
        if let Some(warning) = gold.level_warning() {
            output::warn(&warning);
        }
        // The command ends soon: freeing a large gold set would only delay it.
        std::mem::forget(Arc::clone(&gold));
        let options = Options {
            headline: headline(&config, &measures),
            targets: targets(&config, &measures),
            tier_measures: tier_measures(&config, &measures),
            goals: goals(&config, &measures),
            measures,
            rules: config.engine.judging.clone(),
            complete: self.complete,
            has_relevant: self.has_relevant,
            judged_only: self.judged_docs_only,
            by: request.by,
            curves: request.curves,
            bounds: request.curves,
            documents: request.documents,
            stated: self.stated(&config),
        };
        let analysed = analysed_errors(&request.worst, &options);
        let reading = self.reading(&config, request.sweep);
        let names = names(&self.run);
        let (mut evaluations, mut errors, mut operations) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sweeps, mut labels) = (Vec::new(), Vec::new());
        for (position, (path, name)) in self.run.iter().zip(&names).enumerate() {
            let is_analysed = !request.worst.last_run_only || position + 1 == self.run.len();
            let contents = Contents {
                errors: analysed.filter(|_| is_analysed),
                operations: request.operations.map(|per_query| RequestedOperations {
                    prices: &config.engine.prices,
                    per_query,
                }),
                sweep: request.sweep,
                labels: request.labels,
            };
            let run = self.open(path, &config, &gold, &reading)?;
            let judged = judge(&gold, name, run, &options, &contents);
            let judged = judged.map_err(Failure::usage)?;
            if let Some(warning) = &judged.warning {
                output::warn(warning);
            }
            evaluations.push(judged.evaluation);
            errors.push(judged.errors);
            operations.extend(judged.operations);
            sweeps.extend(judged.sweep);
            labels.extend(judged.labels);
        }
        let evaluation = Evaluation::of(&gold, &options, evaluations);
        check_labels(&evaluation, &options.by, &gold)?;
        let runs: Vec<(PathBuf, String)> = self.run.iter().cloned().zip(names).collect();
        let behaviour = feedback.behaviour(&config, &gold, &user_measures, &options.by, &runs)?;
        Ok(JudgedRuns {
            evaluation,
            gold,
            errors,
            operations,
            sweeps,
            labels,
            conditions,
            operation_targets: operation_targets(&config).collect(),
            behaviour,
        })
    }

    /// Measures as they are written.
    pub(super) fn names_of_measures(&self) -> &[String] {
        &self.measures
    }

    /// True to count queries that a run does not answer.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Opens a run: with `--last-search`, the last search of each query.
    fn open(
        &self,
        path: &Path,
        config: &Config,
        gold: &GoldSet,
        reading: &ReadOptions,
    ) -> Result<RunReader, Failure> {
        if !self.last_search {
            return super::encoded::open(path, config, reading);
        }
        if path == Path::new(STANDARD_INPUT) {
            return Err(Failure::Usage(anyhow::anyhow!(
                "--last-search needs files; write the standard input to one"
            )));
        }
        let open = |searches| {
            let reading = ReadOptions {
                searches,
                ..reading.clone()
            };
            super::encoded::open(path, config, &reading)
        };
        let run = open(Searches::All)?;
        let last = last_searches(gold, run, &config.engine.judging.eligibility);
        let LastSearches { searches, others } = last.map_err(Failure::usage)?;
        if others > 0 {
            let others = count_of(others, "search is not judged", "searches are not judged");
            output::warn(&format!(
                "{}: {others}: later ones have the same query (--last-search)",
                path.display()
            ));
        }
        open(Searches::Of(Arc::new(searches)))
    }

    /// Opens each run with its name and the options it is read with, which keep the scores. `other` is a further
    /// input.
    pub(super) fn each_run(
        &self,
        other: &Path,
        mut each: impl FnMut(&str, RunReader, &ReadOptions) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let config = self.settings.load()?;
        if self.run.is_empty() {
            return Err(Failure::Usage(anyhow::anyhow!(
                "no run: name one with --run"
            )));
        }
        input::check_distinct(self.run.iter().chain([&other.to_owned()]))?;
        let reading = self.reading(&config, true);
        for (path, name) in self.run.iter().zip(&names(&self.run)) {
            each(
                name,
                super::encoded::open(path, &config, &reading)?,
                &reading,
            )?;
        }
        Ok(())
    }

    /// Options of the readers of runs. `scores` is true to keep the scores of documents.
    fn reading(&self, config: &Config, scores: bool) -> ReadOptions {
        ReadOptions {
            order: self.order.map(Order::from),
            doubles: self.compat == Compat::TrecEval10,
            max_results: self.max_retrieved.and_then(|it| usize::try_from(it).ok()),
            scores,
            eligibility: config.engine.judging.eligibility.clone(),
            columns: self.columns.clone(),
            ignore_identical_ids: self.ignore_identical_ids,
            compose_ids: self.normalise_ids.is_some(),
            formats: Some(Arc::new(config.formats.of_lines())),
            ..ReadOptions::new(config.engine.record_limits)
        }
    }

    /// Settings that change the score of an answered query, as far as they are not the usual ones.
    fn stated(&self, config: &Config) -> StatedSettings {
        let flag = |is_set: bool| is_set.then(|| "true".to_owned());
        let order = self.order.and_then(|it| it.to_possible_value());
        let is_grouped = config.engine.judging.judge_by == JudgeBy::GroupId;
        let level = config.gold.options.relevance_level;
        let is_ten = self.compat == Compat::TrecEval10;
        let settings = [
            ("compat", is_ten.then(|| "trec_eval@10".to_owned())),
            ("ignore_identical_ids", flag(self.ignore_identical_ids)),
            ("judge_by", is_grouped.then(|| "group_id".to_owned())),
            ("judged_docs_only", flag(self.judged_docs_only)),
            ("max_retrieved", self.max_retrieved.map(|it| it.to_string())),
            (
                "normalise_ids",
                self.normalise_ids.map(|_| "nfc".to_owned()),
            ),
            ("number_docs", self.number_docs.map(|it| it.to_string())),
            ("order", order.map(|it| it.get_name().to_owned())),
            ("relevance_level", level.map(|it| it.get().to_string())),
        ];
        let settings = settings.into_iter();
        let stated = settings.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        stated.collect()
    }

    fn gold_options(&self, config: &Config) -> gold::Options {
        gold::Options {
            compose_ids: self.normalise_ids.is_some(),
            columns: self
                .gold_columns
                .clone()
                .or_else(|| config.gold.options.columns.clone()),
            unjudged: Unjudged::None,
            ..config.gold.options.clone()
        }
    }

    /// Measures of the arguments, in their order.
    fn requested(&self) -> Result<Vec<Measure>, Failure> {
        let mut requested = Vec::new();
        for list in &self.measures {
            let measures = Measure::parse_list_as(list, self.compat);
            requested.extend(measures.map_err(|error| {
                Failure::Usage(anyhow::Error::new(error).context("--measures"))
            })?);
        }
        let documents = self.number_docs.and_then(|it| Number::new(f64::from(it)));
        Ok(match documents {
            Some(documents) => {
                let with_collection = |it: Measure| it.with_collection(documents);
                requested.into_iter().map(with_collection).collect()
            }
            None => requested,
        })
    }

    /// Returns the `requested` measures without duplicates, or without any the configured
    /// measures that a run has data for; then the `required` ones. With feedback, user measures are apart:
    /// without a requested measure of rankings, the configured ones are computed beside them.
    fn measures(
        &self,
        config: &Config,
        requested: &[Measure],
        required: &[Required],
        has_feedback: bool,
    ) -> Result<Vec<Measure>, Failure> {
        let usage = |text: String| Failure::Usage(anyhow::anyhow!(text));
        let is_of_run = |it: &&Measure| !(has_feedback && it.is_user_measure());
        let mut chosen: Vec<&Measure> = requested.iter().filter(is_of_run).collect();
        let has_other = chosen.len() < requested.len();
        if chosen.is_empty() && (has_other || self.measures.is_empty()) {
            let configured = config.engine.measures.iter();
            chosen.extend(configured.filter(|measure| !measure.is_user_measure()));
        }
        let required = required.iter().flat_map(Required::measures);
        chosen.extend(required.filter(is_of_run));
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
                "no measure of rankings: name one with --measures, for example nDCG@10".to_owned(),
            ));
        }
        Ok(measures)
    }
}

/// Rejects a measure of a component that is not configured.
pub(in crate::cli) fn check_component(measure: &Measure, config: &Config) -> Result<(), Failure> {
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

fn targets(config: &Config, measures: &[Measure]) -> Vec<Target> {
    let target = |target: &rankgauge_serve::target::Target| {
        let measure = measures.iter().position(|it| *it == target.measure)?;
        Some(Target {
            measure,
            tier: target.tier.clone(),
            value: target.value,
        })
    };
    config.targets.iter().filter_map(target).collect()
}

/// Position of the configured primary measure: the first monitored one of rankings, if it is computed.
/// Without a configured list, all measures with a target are monitored, and none of them is primary.
fn headline(config: &Config, measures: &[Measure]) -> Option<usize> {
    let engine = &config.engine;
    let monitored = engine.detection.measures.iter();
    let monitored = monitored.map(|monitored| &engine.measures[monitored.index]);
    let monitored: Vec<&Measure> = monitored.collect();
    let has_target = |measure: &Measure| config.targets.iter().any(|it| it.measure == *measure);
    let with_target = engine.measures.iter();
    let with_target = with_target.filter(|measure| measure.is_share() && has_target(measure));
    if with_target.eq(monitored.iter().copied()) {
        return None;
    }
    let mut rankings = monitored
        .iter()
        .filter(|measure| !measure.is_user_measure());
    let primary = rankings.next()?;
    measures.iter().position(|it| it == *primary)
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

/// Errors to analyse; `None` unless they are requested.
fn analysed_errors(worst: &Worst, options: &Options) -> Option<AnalysedErrors> {
    let measure = match worst.by {
        WorstBy::First => Some(0),
        WorstBy::Headline => options.headline.or_else(|| {
            let names: Vec<String> = options.measures.iter().map(ToString::to_string).collect();
            report::headline(&names)
        }),
    };
    let measure = measure.filter(|_| worst.queries > 0)?;
    Some(AnalysedErrors {
        measure,
        worst: worst.queries,
    })
}
