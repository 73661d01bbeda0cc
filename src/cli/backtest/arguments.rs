//! Arguments of the test that a backtest runs.

use std::str::FromStr as _;
use std::time::Duration;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::record::Place;
use super::sidecar::SidecarTest;
use crate::cli::failure::Failure;
use crate::config::parse_duration;
use rankgauge_core::detection::{BlockTest, Burst, FalseAlarms, SeriesRules, log_threshold};

/// Test to run, and its alarm threshold.
#[derive(Debug, Args)]
pub(super) struct TestArguments {
    /// Regression test to run.
    #[arg(long, value_enum, default_value_t = Test::Drop)]
    pub(super) test: Test,
    /// Minimum expected mean of scores without a baseline, from 0 to 1.
    #[arg(long, value_name = "M", value_parser = share)]
    pub(super) m: Option<f64>,
    /// Mean length of a burst: the dependent searches of a user or of a session that follow each
    /// other. For searches with `ts` and `query`, and for a simulation.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_duration)]
    pub(super) burst: Duration,
    /// Tolerated mean drop of scores below their baselines, from 0 to 1.
    #[arg(long, value_name = "E", default_value_t = 0.01, value_parser = share)]
    pub(super) epsilon: f64,
    /// Drop test: minimum tolerated drop in the warm-up, the first two days after the first
    /// comparison (nine with --seasonal).
    #[arg(long, value_name = "E", default_value_t = 0.02, value_parser = share)]
    pub(super) warm_up_tolerance: f64,
    /// Drop test: scores differ by the hour of the week, as those of user measures do.
    #[arg(long)]
    pub(super) seasonal: bool,
    /// Drop test: do not look for drops in a part of the queries.
    #[arg(long)]
    pub(super) no_local: bool,
    /// Experiment: the unit that the service assigns to an arm.
    #[arg(long, value_enum, default_value_t = Assignment::User)]
    pub(super) assignment: Assignment,
    /// Experiment and split: declared shares of the arms, in their order.
    #[arg(long, value_name = "SHARES", value_delimiter = ',', default_value = "0.5,0.5", value_parser = share)]
    pub(super) shares: Vec<f64>,
    /// All tests but drop: probability of ever raising an alarm while nothing is wrong.
    #[arg(long, value_name = "P", default_value_t = BlockTest::ALPHA, value_parser = probability)]
    pub(super) alpha: f64,
    /// Drop test: accepted false alarms per quarter, over all series and replicas.
    #[arg(long, value_name = "N", default_value_t = FalseAlarms::default().per_quarter, value_parser = positive)]
    pub(super) false_alarms: f64,
    /// Drop test: number of monitored series.
    #[arg(long, value_name = "N", default_value_t = FalseAlarms::default().series, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) series: u64,
    /// Drop test: number of sidecar replicas.
    #[arg(long, value_name = "N", default_value_t = FalseAlarms::default().replicas, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) replicas: u64,
}

/// Regression test by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Test {
    /// Alarm if the mean since the beginning is below --m.
    Target,
    /// Alarm if the scores fell at any time.
    Drop,
    /// Alarm if a variant is worse than its control.
    Experiment,
    /// Alarm if the units of an experiment are not split as declared.
    Split,
    /// Alarm if users prefer one of two interleaved rankings.
    Interleaving,
}

/// Unit that a service assigns to an arm of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Assignment {
    /// A user stays in an arm.
    User,
    /// A session stays in an arm.
    Session,
}

impl TestArguments {
    pub(super) fn false_alarms(&self) -> FalseAlarms {
        FalseAlarms {
            per_quarter: self.false_alarms,
            series: self.series,
            replicas: self.replicas,
        }
    }

    /// Log evidence at which the test raises an alarm.
    pub(super) fn threshold(&self) -> f64 {
        match self.test {
            Test::Drop => self.false_alarms().log_threshold(),
            Test::Target | Test::Experiment | Test::Split | Test::Interleaving => {
                log_threshold(self.alpha)
            }
        }
    }

    pub(super) fn burst(&self) -> Burst {
        Burst::of_millis(i64::try_from(self.burst.as_millis()).unwrap_or(i64::MAX))
    }

    /// Test of searches with their query and time, as the sidecar runs it.
    pub(super) fn sidecar_test(&self, place: &Place) -> Result<SidecarTest, Failure> {
        let burst = self.burst();
        match (self.test, self.m) {
            (Test::Target, Some(m)) => Ok(SidecarTest::target(m, burst)),
            (Test::Target, None) => Err(place.wrong(
                "a search to test against a target; give the target with --m, for example --m 0.8",
            )),
            _ => Ok(SidecarTest::drop(SeriesRules {
                threshold: self.threshold(),
                tolerance: self.epsilon,
                warm_up_tolerance: self.warm_up_tolerance,
                repeat_window: burst.repeat_window(),
                has_local: !self.no_local,
                is_seasonal: self.seasonal,
                alarmed: None,
            })),
        }
    }

    /// Declared shares of the arms.
    pub(super) fn shares(&self) -> Result<Vec<f64>, Failure> {
        let is_split = self.shares.len() >= 2 && self.shares.iter().all(|share| *share > 0.0);
        let sum: f64 = self.shares.iter().sum();
        if !is_split || (sum - 1.0).abs() > 1e-6 {
            return Err(Failure::Usage(anyhow!(
                "--shares are at least two numbers above 0 whose sum is 1: --shares 0.5,0.5"
            )));
        }
        if self.test == Test::Experiment && self.shares.len() != 2 {
            return Err(Failure::Usage(anyhow!(
                "--test experiment has two arms: give two numbers with --shares"
            )));
        }
        Ok(self.shares.clone())
    }
}

pub(super) fn number(
    text: &str,
    holds: impl Fn(f64) -> bool,
    expected: &str,
) -> Result<f64, String> {
    let number = f64::from_str(text).ok().filter(|number| holds(*number));
    number.ok_or_else(|| format!("{expected} is expected"))
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    number(text, |it| (0.0..=1.0).contains(&it), "a number from 0 to 1")
}

pub(super) fn probability(text: &str) -> Result<f64, String> {
    let holds = |it: f64| it > 0.0 && it < 1.0;
    number(text, holds, "a number between 0 and 1")
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    let holds = |it: f64| (1e-6..=1e6).contains(&it);
    number(text, holds, "a number from 0.000001 to 1000000")
}
