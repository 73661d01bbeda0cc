//! Simulations of the tests: false alarms without a drop, and delays until a drop is detected.
//!
//! [`hold_against_promise`] runs the tests of the sidecar on models of dependent traffic. [`table`]
//! has the other tables: audits, experiments, interleaving, and rules that are common in practice.
//! [`simulate`] runs the bets on independent scores of a given distribution, and two common
//! dashboard rules for comparison.
//!
//! Random numbers come from a seed: equal settings give equal results with any number of threads.

/// Traffic that differs from another in some fields.
macro_rules! with {
    ($base:expr, $($field:ident = $value:expr),+ $(,)?) => {{
        let mut traffic = $base;
        $(traffic.$field = $value;)+
        traffic
    }};
}

mod assigned;
mod audit;
mod chance;
mod models;
mod population;
mod practice;
mod promise;
mod sessions;
mod table_models;
mod tables;
mod traffic;
mod unjudged;
mod watcher;

pub use models::{LIMITS, Listed, Model, SEARCHES, USERS};
pub use population::{Population, Query};
pub use promise::{
    DROPS, Delay, FREQUENT_ALPHAS, FREQUENT_MINUTES, FalseAlarmCount, ModelResult, Report, Setup,
    TestResult, hold_against_promise, violations,
};
pub use tables::{Found, Row, Subject, Table, table};
pub use traffic::{Noise, Traffic};

use rayon::prelude::*;
use serde::Serialize;

use chance::Chance;
use rankgauge_core::detection::ScoreTest;
use watcher::{FixedThreshold, Monitor, PeekingZTest, Sequential};

/// Settings of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Size of the drop of the mean.
    pub drop: f64,
    /// Number of healthy streams. The simulation also runs the same number of streams with a drop.
    pub streams: u32,
    /// Searches in a healthy stream, and maximum number of searches after a drop.
    pub events: u32,
    /// Searches per minute; at least 1.
    pub per_minute: u32,
    /// Searches from which a stream learns its mean and the baselines of its queries, before the
    /// test starts.
    #[serde(skip)]
    pub learned: u32,
    /// Seed of the random numbers.
    #[serde(skip)]
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            drop: 0.05,
            streams: 600,
            events: 100_000,
            per_minute: 60,
            learned: 10_000,
            seed: 1,
        }
    }
}

/// Test to simulate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Test {
    /// Raw scores against a target.
    Target {
        /// Target of the mean.
        mean: f64,
        /// Log evidence at which the test raises an alarm.
        threshold: f64,
    },
    /// Raw scores against a mean.
    Drop {
        /// Least mean without an alarm. `None`: the learned mean of the stream, minus `epsilon`.
        mean: Option<f64>,
        /// Tolerated drop.
        epsilon: f64,
        /// Log evidence at which the test raises an alarm.
        threshold: f64,
    },
    /// Scores against the baseline of their query: the known baseline, else the learned one.
    DropPerQuery {
        /// Tolerated drop.
        epsilon: f64,
        /// Log evidence at which the test raises an alarm.
        threshold: f64,
    },
}

/// Method that monitors a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Simulated sequential test.
    Sequential,
    /// `avg_over_time(…[5m]) < reference` with `for: 5m`.
    FixedThreshold,
    /// One-sided z-test of the last hour at 5 %, evaluated every minute.
    PeekingZTest,
}

impl Method {
    const ALL: [Self; 3] = [Self::Sequential, Self::FixedThreshold, Self::PeekingZTest];
}

/// Results of a method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Method.
    pub method: Method,
    /// Number of healthy streams.
    pub streams: u32,
    /// Number of healthy streams with a (false) alarm.
    pub false_alarms: u32,
    /// Number of streams without an alarm before the drop.
    pub no_alarm_before: u32,
    /// Number of streams in `no_alarm_before` with a detected drop.
    pub detected: u32,
    /// Median number of searches from the drop to the alarm, over `no_alarm_before`. `None` if fewer
    /// than half of the streams raised an alarm.
    pub median_delay: Option<u32>,
    /// 90th percentile of the same number. `None` if fewer than nine of ten streams raised an
    /// alarm.
    pub ninetieth_delay: Option<u32>,
}

/// Divisor of the number of searches: a stream has this part of `events` before its drop.
const SEARCHES_BEFORE_DROP_DIVISOR: u32 = 10;

/// Simulates a test on streams of scores drawn from `population`.
pub fn simulate(population: &Population, test: &Test, settings: &Settings) -> [Outcome; 3] {
    let streams = u64::from(settings.streams);
    let healthy: Vec<Alarms> = (0..streams)
        .into_par_iter()
        .map(|number| Stream::new(population, test, settings, number).healthy(settings.events))
        .collect();
    let dropped: Vec<(Alarms, Alarms)> = (0..streams)
        .into_par_iter()
        .map(|number| {
            let mut stream = Stream::new(population, test, settings, streams + number);
            let before = stream.healthy(settings.events / SEARCHES_BEFORE_DROP_DIVISOR);
            (before, stream.dropped(settings.events, settings.drop))
        })
        .collect();
    let mut position = 0..;
    Method::ALL.map(|method| {
        let at = position.next().unwrap_or_default();
        let alarmed = healthy.iter().filter(|alarms| alarms[at].is_some());
        let silent = dropped.iter().filter(|(before, _)| before[at].is_none());
        let mut delays: Vec<u32> = silent
            .map(|(_, after)| after[at].unwrap_or(NEVER))
            .collect();
        delays.sort_unstable();
        Outcome {
            method,
            streams: settings.streams,
            false_alarms: count(alarmed),
            no_alarm_before: count(delays.iter()),
            detected: count(delays.iter().filter(|delay| **delay != NEVER)),
            median_delay: within(&delays, 5),
            ninetieth_delay: within(&delays, 9),
        }
    })
}

/// Number of the search at which each method raised an alarm.
type Alarms = [Option<u32>; 3];

/// Delay of a stream without an alarm.
const NEVER: u32 = u32::MAX;

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

/// Returns the delay that `tenths` tenths of the sorted delays do not exceed, or `None` if it is
/// not finite.
fn within(delays: &[u32], tenths: usize) -> Option<u32> {
    let place = (delays.len() * tenths).div_ceil(10).checked_sub(1)?;
    delays.get(place).copied().filter(|delay| *delay != NEVER)
}

/// Stream of scores and the methods that monitor it.
struct Stream<'a> {
    population: &'a Population,
    settings: &'a Settings,
    chance: Chance,
    /// Baseline of each query, where known. `None` if the test uses raw scores.
    baselines: Option<Vec<Option<f64>>>,
    watchers: [Box<dyn Monitor>; 3],
    /// Searches since the end of the last minute.
    of_minute: u32,
}

impl<'a> Stream<'a> {
    /// Creates a stream that has learned its mean and baselines.
    fn new(population: &'a Population, test: &Test, settings: &'a Settings, number: u64) -> Self {
        let chance = Chance::new(settings.seed, number);
        let mut stream = Self {
            population,
            settings,
            chance,
            baselines: None,
            watchers: watchers(test, 0.0),
            of_minute: 0,
        };
        let learned = stream.learn();
        let reference = match test {
            Test::Target { mean, .. } => *mean,
            Test::Drop { mean, .. } => mean.unwrap_or(learned.mean),
            Test::DropPerQuery { .. } => 0.5,
        };
        stream.watchers = watchers(test, reference);
        stream.baselines = matches!(test, Test::DropPerQuery { .. }).then_some(learned.baselines);
        stream
    }

    fn learn(&mut self) -> Learned {
        let mut sums = vec![(0.0, 0_u32); self.population.queries().len()];
        for _ in 0..self.settings.learned {
            let (query, score) = self.draw();
            sums[query].0 += score;
            sums[query].1 += 1;
        }
        let (sum, count) = sums.iter().fold((0.0, 0), |all, of_query| {
            (all.0 + of_query.0, all.1 + of_query.1)
        });
        let learned = sums.iter().map(|(sum, count)| {
            (*count >= MIN_SEARCHES_PER_BASELINE).then(|| sum / f64::from(*count))
        });
        let known = self.population.queries().iter().map(Query::baseline);
        Learned {
            mean: if count == 0 {
                self.population.mean()
            } else {
                sum / f64::from(count)
            },
            baselines: known
                .zip(learned)
                .map(|(known, learned)| known.or(learned))
                .collect(),
        }
    }

    /// Draws the next search: its query and its score.
    fn draw(&mut self) -> (usize, f64) {
        let query = self.chance.below(self.population.queries().len());
        let place = self
            .chance
            .below(self.population.queries()[query].scores().len());
        (query, self.population.queries()[query].scores()[place])
    }

    fn healthy(&mut self, events: u32) -> Alarms {
        self.watch(events, 1.0)
    }

    /// Runs the stream after a drop: every score is scaled down such that the mean falls by `drop`.
    fn dropped(&mut self, events: u32, drop: f64) -> Alarms {
        let left = 1.0 - drop / self.population.mean();
        self.watch(events, left.clamp(0.0, 1.0))
    }

    fn watch(&mut self, events: u32, left: f64) -> Alarms {
        let mut alarms: Alarms = [None; 3];
        for number in 1..=events {
            let (query, score) = self.draw();
            let score = score * left;
            let value = match &self.baselines {
                None => Some(score),
                Some(known) => known[query].map(|it| ScoreTest::against_baseline(score, it)),
            };
            self.of_minute += 1;
            let minute = self.of_minute >= self.settings.per_minute;
            for (watcher, alarm) in self.watchers.iter_mut().zip(&mut alarms) {
                // A method is not evaluated after its first alarm.
                if alarm.is_none() && watcher.see(value, minute) {
                    *alarm = Some(number);
                }
            }
            if minute {
                self.of_minute = 0;
            }
            if alarms.iter().all(Option::is_some) {
                break;
            }
        }
        alarms
    }
}

/// Mean and baselines that a stream learns before the test starts.
struct Learned {
    mean: f64,
    baselines: Vec<Option<f64>>,
}

/// Minimum number of searches from which the baseline of a query is learned.
const MIN_SEARCHES_PER_BASELINE: u32 = 10;

fn watchers(test: &Test, reference: f64) -> [Box<dyn Monitor>; 3] {
    let drop = || ScoreTest::drop(f64::INFINITY);
    let (test, mean, threshold) = match *test {
        Test::Target { mean, threshold } => (ScoreTest::target(), mean, threshold),
        Test::Drop {
            mean,
            epsilon,
            threshold,
        } => {
            let mean = mean.unwrap_or((reference - epsilon).clamp(0.0, 1.0));
            (drop(), mean, threshold)
        }
        Test::DropPerQuery { epsilon, threshold } => {
            (drop(), ScoreTest::mean_after_drop(epsilon), threshold)
        }
    };
    let sequential = Sequential {
        test,
        mean,
        threshold,
    };
    [
        Box::new(sequential),
        Box::new(FixedThreshold::below(reference)),
        Box::new(PeekingZTest::below(reference)),
    ]
}
