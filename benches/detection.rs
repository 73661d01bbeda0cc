//! Benchmark of the regression tests: promised against observed, on models of dependent traffic. It
//! is `rankgauge backtest --simulate` as a check.
//!
//! The benchmark fails if a promise is not shown to hold. It measures no time: the same seed gives
//! the same numbers on every machine.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use clap::Parser;
use rankgauge_core::detection::{BlockTest, Burst, FalseAlarms};
use rankgauge_lab::simulation::{Model, SEARCHES, Setup, USERS, hold_against_promise, violations};

use cargo::CargoArguments;

#[path = "rounds/cargo.rs"]
mod cargo;

/// False alarms and detection delays of the regression tests.
#[derive(Parser)]
struct Arguments {
    /// Number of streams of a model without a drop; a quarter as many have one.
    #[arg(long, default_value_t = 240)]
    streams: u32,
    /// Seed of the random generator.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    cargo: CargoArguments,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("detection") {
        return Ok(());
    }
    let accepted = FalseAlarms::default();
    let setup = Setup {
        streams: arguments.streams,
        seed: arguments.seed,
        burst: Burst::default(),
        alpha: BlockTest::ALPHA,
        minutes: accepted.minutes(),
        epsilon: 0.01,
        warm_up_tolerance: 0.02,
    };
    let mut broken = Vec::new();
    for models in [&SEARCHES[..], &USERS[..]] {
        let models: Vec<Model> = models.to_vec();
        let report = hold_against_promise(&models, &setup, |result| {
            println!("{}", result.model);
            for (name, test) in [("target", &result.target), ("drop", &result.drop)] {
                let observed = test.false_alarms.map(|count| count.observed);
                let promised = test.false_alarms.map(|count| count.promised);
                println!(
                    "  {name:8} false alarms {observed:?} of {promised:.1?} promised, delays {:.1?}",
                    test.delays
                        .map(|delay| delay.median.unwrap_or(f64::INFINITY))
                );
            }
        });
        broken.extend(violations(&models, &report));
    }
    anyhow::ensure!(broken.is_empty(), "{}", broken.join("; "));
    println!("every promise holds");
    Ok(())
}
