//! `evaluate`: run files judged against a gold set.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::output;
use super::{Failure, Settings};
use crate::config::Config;
use rankgauge_core::event::Limits;
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::Rules;
use rankgauge_offline::compare::CompareError;
use rankgauge_offline::evaluate::{self, Evaluation, Options, RunEvaluation, Target};
use rankgauge_offline::report;
use rankgauge_offline::run::{Order, Run, RunError, RunFile};

#[derive(Debug, Args)]
pub(super) struct Evaluate {
    #[command(flatten)]
    judging: Judging,
    /// Print what every query scored as well.
    #[arg(long, short = 'q')]
    per_query: bool,
    /// Labels that break the means down, with commas between them: query_type,difficulty.
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    by: Vec<String>,
    /// How to write the result.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write trec_eval's three columns under trec_eval's names.
    #[arg(long, conflicts_with = "format")]
    trec: bool,
    /// Write the result to this file instead of printing it.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What runs are judged by, and how: shared by every command that judges files.
#[derive(Debug, Args)]
pub(super) struct Judging {
    #[command(flatten)]
    settings: Settings,
    /// File or folder with judgements; may be repeated. Without it, what the configuration names.
    #[arg(long, value_name = "PATH")]
    gold: Vec<PathBuf>,
    /// Run to judge: a TREC run, search events a line, or JSON {query: {document: score}}; may be
    /// repeated.
    #[arg(long, value_name = "FILE")]
    run: Vec<PathBuf>,
    /// Measures, with blanks or commas between them: "P@5 R@10 nDCG(gain=exp)@10". Without it,
    /// the configured ones.
    #[arg(long, value_name = "MEASURES", value_parser = measures)]
    measures: Vec<Measures>,
    /// Count gold queries that a run does not answer as answered with nothing (trec_eval -c).
    #[arg(long)]
    complete: bool,
    /// Leave out gold queries without a relevant document.
    #[arg(long)]
    has_relevant: bool,
    /// Order in which results are judged. Without it, events as served, other runs by score.
    #[arg(long, value_enum)]
    order: Option<OrderBy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OrderBy {
    /// As listed; events by rank where every result has one.
    Served,
    /// By score as trec_eval does, ties by document id descending.
    Score,
    /// By stated rank.
    Rank,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables for a terminal.
    Text,
    /// Everything, in full precision.
    Json,
    /// A row for each score.
    Csv,
    /// The whole report.
    Markdown,
    /// The whole report with pictures, in one file.
    Html,
}

/// One list of measures, as it is written on the command line.
#[derive(Clone, Debug)]
struct Measures(Vec<Measure>);

fn measures(list: &str) -> Result<Measures, String> {
    let measures = Measure::parse_list(list).map_err(|error| error.to_string())?;
    if let Some(measure) = measures.iter().find(|measure| measure.is_of_people()) {
        return Err(format!(
            "{measure} is what people did, which no run says; leave it out"
        ));
    }
    Ok(Measures(measures))
}

/// Runs that were judged, and what they were judged by.
pub(super) struct Judged<'a> {
    pub(super) evaluation: Evaluation,
    pub(super) gold: &'a GoldSet,
    pub(super) runs: &'a [Run<'a>],
    pub(super) rules: &'a Rules,
}

impl Judging {
    /// How many runs are named.
    pub(super) fn runs(&self) -> usize {
        self.run.len()
    }

    /// Reads everything and judges it.
    pub(super) fn judge(self, by: Vec<String>, pictures: bool) -> Result<Evaluation, Failure> {
        self.judge_with(by, pictures, |judged| judged.evaluation)
    }

    /// Reads everything and judges it, and shows `then` what was judged as well.
    pub(super) fn judge_with<T>(
        self,
        by: Vec<String>,
        pictures: bool,
        then: impl FnOnce(Judged<'_>) -> T,
    ) -> Result<T, Failure> {
        let config = self.settings.load()?;
        let measures = self.measures(&config)?;
        let usage = |error: anyhow::Error| Failure::Usage(error);
        let paths = if self.gold.is_empty() {
            &config.gold.paths
        } else {
            &self.gold
        };
        if self.run.is_empty() {
            return Err(usage(anyhow::anyhow!(
                "there is nothing to judge: name a run with --run"
            )));
        }
        if paths.is_empty() {
            return Err(usage(anyhow::anyhow!(
                "there is nothing to judge by: name a gold set with --gold"
            )));
        }
        let order = self.order.map(|order| match order {
            OrderBy::Served => Order::Served,
            OrderBy::Score => Order::Score,
            OrderBy::Rank => Order::Rank,
        });
        let mut files = Vec::new();
        let (gold, runs) = rayon::join(
            || gold::load(paths, &config.gold.options),
            || read_runs(&mut files, &self.run, order, &config.engine.record_limits),
        );
        let gold = gold.map_err(|error| usage(error.into()))?;
        let mut runs = runs.map_err(|error| usage(error.into()))?;
        for (run, name) in runs.iter_mut().zip(names(&self.run)) {
            run.name = name;
        }
        let options = Options {
            targets: targets(&config, &measures),
            measures,
            rules: config.engine.judging.clone(),
            complete: self.complete,
            has_relevant: self.has_relevant,
            by,
            pictures,
        };
        let evaluation = evaluate::evaluate(&gold, &runs, &options);
        let evaluation = evaluation.map_err(|error| usage(error.into()))?;
        for (path, (run, judged)) in self.run.iter().zip(runs.iter().zip(&evaluation.runs)) {
            if judged.unknown.len() == run.answers.len() {
                return Err(usage(anyhow::anyhow!(strangers(
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
        Ok(then(Judged {
            evaluation,
            gold: &gold,
            runs: &runs,
            rules: &options.rules,
        }))
    }

    /// The measures asked for, each once; else those of the configuration that a run can have.
    fn measures(&self, config: &Config) -> Result<Vec<Measure>, Failure> {
        let usage = |text: String| Failure::Usage(anyhow::anyhow!(text));
        let asked = self.measures.iter().flat_map(|list| &list.0);
        let configured = config.engine.measures.iter();
        let configured = configured.filter(|measure| !measure.is_of_people());
        let chosen: Vec<&Measure> = if self.measures.is_empty() {
            configured.collect()
        } else {
            asked.collect()
        };
        let mut measures: Vec<Measure> = Vec::new();
        for measure in chosen {
            if let Some(name) = measure.component()
                && !config
                    .engine
                    .judging
                    .components
                    .iter()
                    .any(|component| component.name == name)
            {
                return Err(usage(format!(
                    "{measure} is about the component `{name}`, which is not configured; say which \
                     results are its own under `components` in a file for --config"
                )));
            }
            if !measures.contains(measure) {
                measures.push(measure.clone());
            }
        }
        if measures.is_empty() {
            return Err(usage(
                "there is nothing to measure: name measures with --measures".to_owned(),
            ));
        }
        Ok(measures)
    }
}

/// What is wrong with a run none of whose queries the gold set knows.
fn strangers(path: &Path, unknown: &[String], gold: &GoldSet) -> String {
    let theirs = unknown.first().map_or("", String::as_str);
    let ours = gold.queries().first().map_or("", |query| &query.key);
    format!(
        "{}: none of its queries is in the gold set (the run's first is `{theirs}`, the gold set's \
         `{ours}`); check that they belong together",
        path.display()
    )
}

/// The first label of `by` that no counted query has.
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

/// Reads the runs at `paths` into `files`, from which they borrow.
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

/// A name for each run: its file's without folder and extension, or all of it where two are alike.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let stem = |path: &Path| {
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        stem.to_string_lossy().into_owned()
    };
    let stems: Vec<String> = paths.iter().map(|path| stem(path)).collect();
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

/// Runs the command.
pub(super) fn run(arguments: Evaluate) -> Result<(), Failure> {
    let format = match arguments.format {
        _ if arguments.trec => report::Format::Trec,
        Format::Text => report::Format::Text,
        Format::Json => report::Format::Json,
        Format::Csv => report::Format::Csv,
        Format::Markdown => report::Format::Markdown,
        Format::Html => report::Format::Html,
    };
    output::check(arguments.output.as_deref())?;
    let pictures = matches!(format, report::Format::Html | report::Format::Markdown);
    let evaluation = arguments.judging.judge(arguments.by, pictures)?;
    let options = report::Options {
        per_query: arguments.per_query,
    };
    let text = report::write(&evaluation, format, &options);
    output::deliver(&text, arguments.output.as_deref()).map_err(Failure::Running)
}
