//! `backtest --simulate`: false alarms and detection delays on simulated streams: of the tests of
//! the sidecar on models of dependent traffic, or of a test on independent scores of a given
//! distribution.

use rankgauge_core::number::percent;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::arguments::{Test, TestArguments};
use super::promise;
use super::record::{PlacedRecord, Record, Records};
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::output::{Format, OutputFormat};
use crate::cli::threads::start_threads;
use crate::ingest::replay::open_lines;
use rankgauge_eval::text_layout::{Column, TextTable};
use rankgauge_lab::simulation::{
    self as simulator, Method, Outcome, Population, Query, Settings, Subject,
};

/// Mean and standard deviation of independent scores.
const DEFAULT_MEAN: f64 = 0.8;
const DEFAULT_DEVIATION: f64 = 0.2;

/// Traffic of a simulation.
#[derive(Debug, Args)]
pub(super) struct SimulationArguments {
    /// Simulate only these tables. Default: those of --test; for the drop test, all.
    #[arg(long = "table", value_enum, value_name = "TABLE", requires = "simulate", conflicts_with_all = ["scores", "mean", "deviation"])]
    tables: Vec<SimulatedTable>,
    /// Simulate only the traffic models whose name contains this text.
    #[arg(long, value_name = "TEXT", requires = "simulate", default_value = "", hide_default_value = true, conflicts_with_all = ["scores", "mean", "deviation"])]
    model: String,
    /// Simulate independent scores drawn from the lines of this file, in the format of standard
    /// input, instead of the traffic models; with baselines, the differences from them are tested.
    #[arg(long, value_name = "FILE", requires = "simulate", conflicts_with_all = ["mean", "deviation"])]
    scores: Option<PathBuf>,
    /// Simulate independent scores with a beta distribution of this mean (0.8) instead of the
    /// traffic models.
    #[arg(long, value_name = "M", requires = "simulate", value_parser = super::arguments::share)]
    mean: Option<f64>,
    /// Standard deviation of the beta distribution (0.2).
    #[arg(long, value_name = "S", requires = "simulate", value_parser = super::arguments::share)]
    deviation: Option<f64>,
    /// Number of streams without a drop: of a traffic model (240, of which tables use a share: long
    /// streams are fewer), or of independent scores (600; and as many with a drop).
    #[arg(long, value_name = "N", requires = "simulate", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    streams: Option<u32>,
    /// Independent scores: scores per stream.
    #[arg(long, value_name = "N", requires = "simulate", default_value_t = Settings::default().events, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    events: u32,
    /// Independent scores: scores per minute.
    #[arg(long, value_name = "N", requires = "simulate", default_value_t = Settings::default().per_minute, value_parser = clap::value_parser!(u32).range(1..))]
    per_minute: u32,
    /// Independent scores: size of the drop of the mean, 0.05 from 0.8 to 0.75.
    #[arg(long, value_name = "D", requires = "simulate", default_value_t = Settings::default().drop, value_parser = super::arguments::share)]
    drop: f64,
    /// Seed of the random generator; the same seed gives the same numbers.
    #[arg(long, requires = "simulate", default_value_t = Settings::default().seed)]
    seed: u64,
}

/// JSON report.
#[derive(Serialize)]
struct Report {
    test: Test,
    threshold: f64,
    mean: f64,
    #[serde(flatten)]
    settings: Settings,
    methods: [Outcome; 3],
}

/// Runs the simulation.
pub(super) fn run(
    simulation: &SimulationArguments,
    test_arguments: &TestArguments,
    format: Format,
) -> Result<(), Failure> {
    let of_scores = simulation.scores.is_some() || simulation.mean.is_some();
    if of_scores || simulation.deviation.is_some() {
        return independent_scores(simulation, test_arguments, format);
    }
    let streams = simulation.streams.unwrap_or(promise::DEFAULT_STREAMS);
    let tables = match (&simulation.tables[..], test_arguments.test) {
        ([], Test::Drop) => SimulatedTable::value_variants(),
        ([], Test::Target) => &[SimulatedTable::Drop],
        ([], Test::Experiment) => &[SimulatedTable::Experiment, SimulatedTable::Power],
        ([], Test::Split) => &[SimulatedTable::Split],
        ([], Test::Interleaving) => &[SimulatedTable::Interleave],
        (tables, _) => tables,
    };
    let (model, seed) = (&simulation.model, simulation.seed);
    promise::run(tables, (model, streams, seed), test_arguments, format)
}

/// Table of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SimulatedTable {
    /// Target and drop tests on dependent traffic.
    Drop,
    /// Drop test on a service with users, bots, campaigns and new queries.
    Audit,
    /// Drops in some of the queries.
    Local,
    /// User measures with weekends, days and nights.
    User,
    /// Noise that all searches of an hour share.
    Noise,
    /// Experiments without a difference.
    Experiment,
    /// Experiments with a difference.
    Power,
    /// Splits as declared.
    Split,
    /// Interleaved rankings.
    Interleave,
    /// Classes of drops with unjudged results.
    Unjudged,
    /// Replicas of which some are not visible.
    Replicas,
    /// Alarm rules that are common in practice, on the same streams.
    Practice,
}

impl SimulatedTable {
    /// Subject of a table other than `drop`.
    pub(super) fn subject(self) -> Option<Subject> {
        Some(match self {
            Self::Drop => return None,
            Self::Audit => Subject::Audit,
            Self::Local => Subject::Local,
            Self::User => Subject::User,
            Self::Noise => Subject::Noise,
            Self::Experiment => Subject::Experiment,
            Self::Power => Subject::Power,
            Self::Split => Subject::Split,
            Self::Interleave => Subject::Interleave,
            Self::Unjudged => Subject::Unjudged,
            Self::Replicas => Subject::Replicas,
            Self::Practice => Subject::Practice,
        })
    }
}

fn independent_scores(
    simulation: &SimulationArguments,
    test_arguments: &TestArguments,
    format: Format,
) -> Result<(), Failure> {
    let (population, per_query) = match &simulation.scores {
        Some(path) => recorded(path)?,
        None => (beta(simulation)?, false),
    };
    let test = test_of(test_arguments, per_query)?;
    let settings = Settings {
        streams: simulation.streams.unwrap_or(Settings::default().streams),
        events: simulation.events,
        per_minute: simulation.per_minute,
        drop: simulation.drop,
        seed: simulation.seed,
        ..Settings::default()
    };
    start_threads();
    let report = Report {
        test: test_arguments.test,
        threshold: test_arguments.threshold(),
        mean: population.mean(),
        methods: simulator::simulate(&population, &test, &settings),
        settings,
    };
    OutputFormat { format }.print(|| text(&report), &report)
}

fn beta(simulation: &SimulationArguments) -> Result<Population, Failure> {
    let mean = simulation.mean.unwrap_or(DEFAULT_MEAN);
    let deviation = simulation.deviation.unwrap_or(DEFAULT_DEVIATION);
    Population::beta(mean, deviation).ok_or_else(|| {
        Failure::Usage(anyhow!(
            "no scores from 0 to 1 have the mean {mean} and the standard deviation {deviation}; the \
             deviation must be above 0 and below {:.3}",
            (mean * (1.0 - mean)).sqrt()
        ))
    })
}

/// Returns the scores of a file, with equal probability for each line, and true if they have
/// baselines.
fn recorded(path: &Path) -> Result<(Population, bool), Failure> {
    let name = path.display().to_string();
    let usage = |what: &str| Failure::Usage(anyhow!("{name}: {what}"));
    let lines = open_lines(path);
    let lines = lines.map_err(|problem| usage(&format!("cannot be read: {problem}")))?;
    let mut queries = Vec::new();
    let mut with_baseline = None;
    for record in Records::new(&name, lines) {
        let PlacedRecord { record, place, .. } = record?;
        let (score, baseline) = match record {
            Record::Score { score, baseline } => (score, baseline),
            Record::Search(search) => (search.score, None),
            Record::Tick => continue,
        };
        if *with_baseline.get_or_insert(baseline.is_some()) != baseline.is_some() {
            return Err(
                place.wrong("some scores have a baseline and some have none; give one kind")
            );
        }
        queries.extend(Query::new(vec![score], baseline));
    }
    if queries.is_empty() {
        return Err(usage("no score; give lines of {\"score\": 0.8}"));
    }
    let population = Population::new(queries);
    let population = population.ok_or_else(|| usage("every score is 0; nothing can fall"))?;
    Ok((population, with_baseline == Some(true)))
}

fn test_of(test_arguments: &TestArguments, per_query: bool) -> Result<simulator::Test, Failure> {
    let threshold = test_arguments.threshold();
    let epsilon = test_arguments.epsilon;
    match (test_arguments.test, per_query) {
        (Test::Target, true) => Err(Failure::Usage(anyhow!(
            "--simulate --test target takes scores without baselines: a target applies to \
             scores, not to differences"
        ))),
        (Test::Target, false) => match test_arguments.m {
            Some(mean) => Ok(simulator::Test::Target { mean, threshold }),
            None => Err(Failure::Usage(anyhow!(
                "--simulate --test target needs the target, --m 0.8"
            ))),
        },
        (Test::Experiment | Test::Split | Test::Interleaving, _) => Err(Failure::Usage(anyhow!(
            "--simulate --mean, --deviation and --scores are for --test drop or target"
        ))),
        (Test::Drop, true) => Ok(simulator::Test::DropPerQuery { epsilon, threshold }),
        (Test::Drop, false) => Ok(simulator::Test::Drop {
            mean: test_arguments.m,
            epsilon,
            threshold,
        }),
    }
}

fn text(report: &Report) -> String {
    let mut page = Page::default();
    let settings = &report.settings;
    page.lines(format_args!(
        "{} streams of {} scores with the mean {:.3}, {} a minute; and {} that fall by {}",
        settings.streams,
        settings.events,
        report.mean,
        settings.per_minute,
        settings.streams,
        settings.drop
    ));
    page.gap();
    let mut methods = TextTable::new([
        Column::left(0, 30),
        Column::right(1, 12),
        Column::right(1, 15),
        Column::right(1, 13),
        Column::right(1, 13),
    ]);
    methods.row(["", "false alarms", "found", "median delay", "90 % within"]);
    for outcome in &report.methods {
        let name = match (outcome.method, report.test) {
            (Method::Sequential, Test::Target) => {
                format!("target, ln E >= {:.3}", report.threshold)
            }
            (Method::Sequential, _) => format!("drop, ln E >= {:.3}", report.threshold),
            (Method::FixedThreshold, _) => "avg over 5m below for 5m".to_owned(),
            (Method::PeekingZTest, _) => "z-test of the last hour, 5 %".to_owned(),
        };
        methods.row([
            name,
            format_percent(outcome.false_alarms, outcome.streams),
            format!("{} of {}", outcome.detected, outcome.no_alarm_before),
            delay(outcome.median_delay),
            delay(outcome.ninetieth_delay),
        ]);
    }
    page.table(&methods);
    page.gap();
    page.lines(format_args!(
        "False alarms: streams without a drop that raised an alarm. Found and delays: of the\n\
         streams without an alarm before the drop; delays in scores."
    ));
    page.into_text()
}

fn format_percent(count: u32, of: u32) -> String {
    percent(f64::from(count) / f64::from(of.max(1)), 1)
}

fn delay(scores: Option<u32>) -> String {
    scores.map_or_else(|| "-".to_owned(), |scores| scores.to_string())
}
