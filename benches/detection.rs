//! Benchmark of the regression tests on synthetic scores: false alarms without a drop, and searches
//! until a drop is found. Two common dashboard rules run on the same streams for comparison.
//!
//! The benchmark fails if a bound stated below does not hold. It counts searches and measures no
//! time: the same seed prints the same table on every machine.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use clap::Parser;
use rankgauge_core::detection::FalseAlarms;
use rankgauge_core::detection::simulation::{
    Method, Outcome, Population, Settings, Test, simulate,
};

use cargo::CargoArguments;

#[path = "rounds/cargo.rs"]
mod cargo;

/// False alarms and detection delays of the regression tests.
#[derive(Parser)]
struct Arguments {
    /// Number of streams without a drop; as many streams have one.
    #[arg(long, default_value_t = 600)]
    streams: u32,
    /// Searches per stream.
    #[arg(long, default_value_t = 100_000)]
    events: u32,
    /// Seed of the random generator.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    cargo: CargoArguments,
}

/// Maximum share of streams without a drop on which a test may raise an alarm.
const MAX_FALSE_ALARM_RATE: f64 = 0.01;

/// Scores of 200 queries. The means of the queries have the mean 0.8 and the standard deviation
/// 0.17; the searches of a query have a standard deviation of 0.08, because results of a query
/// vary.
const QUERIES: u32 = 200;
const MEAN: f64 = 0.8;
const BETWEEN: f64 = 0.17;
const WITHIN: f64 = 0.08;

/// Searches per minute.
const PER_MINUTE: u32 = 10;

/// Mean number of consecutive searches of the same query in bursty traffic.
const BURST: f64 = 20.0;

/// Traffic and test of one case.
struct Case {
    name: &'static str,
    per_query: bool,
    /// True if baselines are known instead of learned from 10,000 searches before.
    baselines_known: bool,
    burst: f64,
    epsilon: f64,
    accepted_false_alarms: FalseAlarms,
    /// True if false alarms are bounded. Raw scores in bursts are shown as an example without a
    /// bound.
    bounded: bool,
    /// Exclusive upper bound of the median delay, in searches, for the run to succeed.
    max_median_delay: Option<u32>,
}

/// One false alarm per quarter for a single series.
const ONE_SERIES: FalseAlarms = FalseAlarms {
    per_quarter: 1.0,
    series: 1,
    replicas: 1,
};

fn cases() -> [Case; 6] {
    let default = Case {
        name: "",
        per_query: true,
        baselines_known: false,
        burst: 1.0,
        epsilon: 0.01,
        accepted_false_alarms: FalseAlarms::default(),
        bounded: true,
        max_median_delay: None,
    };
    [
        Case {
            name: "raw scores, independent",
            per_query: false,
            max_median_delay: Some(1000),
            ..default
        },
        Case {
            name: "raw scores, in bursts of a query",
            per_query: false,
            burst: BURST,
            bounded: false,
            ..default
        },
        Case {
            name: "per query, nothing tolerated, baselines known",
            baselines_known: true,
            epsilon: 0.0,
            max_median_delay: Some(600),
            ..default
        },
        Case {
            name: "per query, one series by itself",
            accepted_false_alarms: ONE_SERIES,
            max_median_delay: Some(600),
            ..default
        },
        Case {
            name: "per query",
            max_median_delay: Some(1000),
            ..default
        },
        Case {
            name: "per query, in bursts of a query",
            burst: BURST,
            ..default
        },
    ]
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("detection") {
        return Ok(());
    }
    println!(
        "{} streams of {} searches, {PER_MINUTE} a minute; a drop is 0.05 of a mean of {MEAN}\n",
        arguments.streams, arguments.events
    );
    let mut broken = Vec::new();
    for case in cases() {
        let population =
            Population::queries_of(QUERIES, MEAN, BETWEEN, WITHIN, case.baselines_known);
        let population = population.ok_or_else(|| anyhow::anyhow!("no such scores"))?;
        let threshold = case.accepted_false_alarms.log_threshold();
        println!(
            "{}: tolerated {}, ln A {threshold:.2}",
            case.name, case.epsilon
        );
        println!(
            "  {:32}{:>13}{:>13}{:>14}{:>14}",
            "", "false alarms", "found", "median delay", "90 % within"
        );
        let settings = Settings {
            streams: arguments.streams,
            events: arguments.events,
            seed: arguments.seed,
            per_minute: PER_MINUTE,
            burst: case.burst,
            drop: 0.05,
            learned: 10_000,
        };
        let epsilon = case.epsilon;
        let test = if case.per_query {
            Test::DropPerQuery { epsilon, threshold }
        } else {
            Test::Drop {
                hypothesis: None,
                epsilon,
                threshold,
            }
        };
        for outcome in simulate(&population, &test, &settings) {
            print_row(&outcome);
            if outcome.method == Method::Sequential {
                broken.extend(missed(&case, &outcome));
            }
        }
        println!();
    }
    anyhow::ensure!(broken.is_empty(), "{}", broken.join("; "));
    println!("every bound holds");
    Ok(())
}

/// Returns the bounds of the case that the outcome violates.
fn missed(case: &Case, outcome: &Outcome) -> Vec<String> {
    let mut missed = Vec::new();
    let most = MAX_FALSE_ALARM_RATE * f64::from(outcome.streams);
    if case.bounded && f64::from(outcome.false_alarms) > most {
        missed.push(format!(
            "{}: {} false alarms are more than 1 %",
            case.name, outcome.false_alarms
        ));
    }
    if let Some(max_median_delay) = case.max_median_delay
        && outcome
            .median_delay
            .is_none_or(|delay| delay >= max_median_delay)
    {
        missed.push(format!(
            "{}: the median delay {} is not below {max_median_delay}",
            case.name,
            delay(outcome.median_delay)
        ));
    }
    missed
}

fn print_row(outcome: &Outcome) {
    let name = match outcome.method {
        Method::Sequential => "drop detector",
        Method::FixedThreshold => "avg over 5m below for 5m",
        Method::PeekingZTest => "z-test of the last hour, 5 %",
    };
    println!(
        "  {name:32}{:>13}{:>13}{:>14}{:>14}",
        format_percent(outcome.false_alarms, outcome.streams),
        of(outcome.detected, outcome.no_alarm_before),
        delay(outcome.median_delay),
        delay(outcome.ninetieth_delay)
    );
}

fn format_percent(count: u32, of: u32) -> String {
    format!("{:.1} %", 100.0 * f64::from(count) / f64::from(of.max(1)))
}

/// Formats the streams with a detected drop, of those without an alarm before the drop.
fn of(found: u32, silent: u32) -> String {
    format!("{found} of {silent}")
}

fn delay(searches: Option<u32>) -> String {
    searches.map_or_else(|| "-".to_owned(), |searches| searches.to_string())
}
