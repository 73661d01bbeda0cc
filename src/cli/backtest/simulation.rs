//! `backtest --simulate`: false alarms and detection delays of a test on simulated streams.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;

use super::super::layout::Page;
use super::super::output::{Format, OutputFormat};
use super::super::{Failure, start_threads};
use super::record::{PlacedRecord, Record, Records};
use super::{Test, TestArguments};
use rankgauge_core::detection::simulation::{
    self as simulator, Method, Outcome, Population, Query, Settings,
};
use rankgauge_offline::text_layout::{Column, TextTable};

/// Traffic of a simulation.
#[derive(Debug, Args)]
pub(super) struct SimulationArguments {
    /// Draw scores from the lines of this file, in the format of standard input; with baselines,
    /// the differences from them are tested.
    #[arg(long, value_name = "FILE", requires = "simulate", conflicts_with_all = ["mean", "deviation"])]
    scores: Option<PathBuf>,
    /// Mean of the beta distribution of the scores.
    #[arg(long, value_name = "M", requires = "simulate", default_value_t = 0.8, value_parser = super::share)]
    mean: f64,
    /// Standard deviation of the beta distribution.
    #[arg(long, value_name = "S", requires = "simulate", default_value_t = 0.2, value_parser = super::share)]
    deviation: f64,
    /// Number of streams without a drop; as many streams have one.
    #[arg(long, value_name = "N", requires = "simulate", default_value_t = Settings::default().streams, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    streams: u32,
    /// Scores per stream.
    #[arg(long, value_name = "N", requires = "simulate", default_value_t = Settings::default().events, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    events: u32,
    /// Scores per minute.
    #[arg(long, value_name = "N", requires = "simulate", default_value_t = Settings::default().per_minute, value_parser = clap::value_parser!(u32).range(1..))]
    per_minute: u32,
    /// Size of the drop of the mean: 0.05 from 0.8 to 0.75.
    #[arg(long, value_name = "D", requires = "simulate", default_value_t = Settings::default().drop, value_parser = super::share)]
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
    let (population, per_query) = match &simulation.scores {
        Some(path) => recorded(path)?,
        None => (beta(simulation)?, false),
    };
    let test = test_of(test_arguments, per_query)?;
    let settings = Settings {
        streams: simulation.streams,
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
    Population::beta(simulation.mean, simulation.deviation).ok_or_else(|| {
        Failure::Usage(anyhow!(
            "no scores from 0 to 1 have the mean {} and the standard deviation {}; the deviation must be \
             above 0 and below {:.3}",
            simulation.mean,
            simulation.deviation,
            (simulation.mean * (1.0 - simulation.mean)).sqrt()
        ))
    })
}

/// Returns the scores of a file, with equal probability for each line, and true if they have
/// baselines.
fn recorded(path: &Path) -> Result<(Population, bool), Failure> {
    let name = path.display().to_string();
    let usage = |what: &str| Failure::Usage(anyhow!("{name}: {what}"));
    let file = File::open(path).map_err(|problem| usage(&format!("cannot be read: {problem}")))?;
    let mut queries = Vec::new();
    let mut with_baseline = None;
    for record in Records::new(&name, BufReader::new(file)) {
        let PlacedRecord { record, place, .. } = record?;
        let Record::Score { score, baseline } = record else {
            continue;
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
        (Test::Target, false) => match test_arguments.mean() {
            Some(hypothesis) => Ok(simulator::Test::Target {
                hypothesis,
                threshold,
            }),
            None => Err(Failure::Usage(anyhow!(
                "--simulate --test target needs the target, --m 0.8"
            ))),
        },
        (Test::Drop, true) => Ok(simulator::Test::DropPerQuery { epsilon, threshold }),
        (Test::Drop, false) => Ok(simulator::Test::Drop {
            hypothesis: test_arguments.mean(),
            epsilon,
            threshold,
        }),
    }
}

fn text(report: &Report) -> String {
    let mut page = Page::default();
    let settings = &report.settings;
    page.line(format_args!(
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
            (Method::Sequential, Test::Drop) => format!("drop, ln E >= {:.3}", report.threshold),
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
    page.line(format_args!(
        "False alarms: streams without a drop that raised an alarm. Found and delays: of the\n\
         streams without an alarm before the drop; delays in scores."
    ));
    page.into_text()
}

fn format_percent(count: u32, of: u32) -> String {
    format!("{:.1} %", 100.0 * f64::from(count) / f64::from(of.max(1)))
}

fn delay(scores: Option<u32>) -> String {
    scores.map_or_else(|| "-".to_owned(), |scores| scores.to_string())
}
