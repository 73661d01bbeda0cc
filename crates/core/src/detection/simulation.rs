//! What a test would do on traffic like one's own: how often it gives a false alarm while all is well,
//! and after how many searches it finds a drop. Two rules that many dashboards have stand beside it.
//!
//! Chance comes from a seed: the same settings give the same numbers, on any number of threads.

mod population;
mod watcher;

pub use population::{Population, Query};

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::Serialize;

use super::Hypothesis;
use watcher::{FixedThreshold, Peeking, Sequential, Watcher};

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Streams of which each is watched by itself; as many again get a drop.
    pub streams: u32,
    /// Searches of a healthy stream, and after a drop the most that are waited for.
    pub events: u32,
    /// Searches a minute, at least 1.
    pub per_minute: u32,
    /// Searches before, from which a stream learns its mean and its queries' baselines.
    pub learned: u32,
    /// How often the same query comes in a row, on average; at least 1.
    pub burst: f64,
    /// How far the mean falls.
    pub drop: f64,
    /// The source of all chance.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            streams: 600,
            events: 100_000,
            per_minute: 60,
            learned: 10_000,
            burst: 1.0,
            drop: 0.05,
            seed: 1,
        }
    }
}

/// The test that is tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Test {
    /// Scores as they stand against a target.
    Target {
        /// That the target is met.
        hypothesis: Hypothesis,
        /// The log evidence at which it alarms.
        threshold: f64,
    },
    /// Scores as they stand against a mean.
    Drop {
        /// That the mean is at least this; without it, the mean that the stream learned less
        /// `epsilon`.
        hypothesis: Option<Hypothesis>,
        /// A drop that is tolerated.
        epsilon: f64,
        /// The log evidence at which it alarms.
        threshold: f64,
    },
    /// Scores beside their query's baseline: the one that is known, else what the stream learned.
    DropPerQuery {
        /// A drop that is tolerated.
        epsilon: f64,
        /// The log evidence at which it alarms.
        threshold: f64,
    },
}

/// Who watches a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The test that is tried.
    Sequential,
    /// `avg_over_time(…[5m]) < reference` with `for: 5m`.
    FixedThreshold,
    /// A z-test of the last hour, one-sided at 5 %, looked at every minute.
    PeekingZTest,
}

impl Method {
    const ALL: [Self; 3] = [Self::Sequential, Self::FixedThreshold, Self::PeekingZTest];
}

/// What a method did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Which.
    pub method: Method,
    /// Healthy streams.
    pub streams: u32,
    /// Of those, the ones on which it alarmed.
    pub false_alarms: u32,
    /// Streams on which it was silent until they dropped.
    pub silent_before: u32,
    /// Of those, the ones whose drop it found.
    pub found: u32,
    /// Searches from the drop to the alarm, in the middle of `silent_before`; `None` where that many
    /// did not alarm.
    pub median_delay: Option<u32>,
    /// Searches within which nine of ten alarmed; `None` where that many did not.
    pub ninetieth_delay: Option<u32>,
}

/// Part of the searches of a healthy stream that a stream has before it drops.
const BEFORE_THE_DROP: u32 = 10;

/// Tries a test on streams of scores that are drawn from `population`.
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
            let before = stream.healthy(settings.events / BEFORE_THE_DROP);
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
            silent_before: count(delays.iter()),
            found: count(delays.iter().filter(|delay| **delay != NEVER)),
            median_delay: within(&delays, 5),
            ninetieth_delay: within(&delays, 9),
        }
    })
}

/// For each method, the number of the search at which it alarmed.
type Alarms = [Option<u32>; 3];

/// A delay that did not end.
const NEVER: u32 = u32::MAX;

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

/// Within how many searches so many tenths of the sorted delays ended.
fn within(delays: &[u32], tenths: usize) -> Option<u32> {
    let place = (delays.len() * tenths).div_ceil(10).checked_sub(1)?;
    delays.get(place).copied().filter(|delay| *delay != NEVER)
}

/// One stream of scores and who watches it.
struct Stream<'a> {
    population: &'a Population,
    settings: &'a Settings,
    chance: ChaCha8Rng,
    /// The query that is asked again, and how often.
    query: usize,
    repeats: u32,
    /// Whether differences from the baselines are watched, and each query's baseline where it is known.
    baselines: Option<Vec<Option<f64>>>,
    watchers: [Box<dyn Watcher>; 3],
    /// Searches since the last minute ended.
    of_minute: u32,
}

impl<'a> Stream<'a> {
    /// A stream that has learned.
    fn new(population: &'a Population, test: &Test, settings: &'a Settings, number: u64) -> Self {
        let mut chance = ChaCha8Rng::seed_from_u64(settings.seed);
        chance.set_stream(number);
        let mut stream = Self {
            population,
            settings,
            chance,
            query: 0,
            repeats: 0,
            baselines: None,
            watchers: watchers(test, 0.0),
            of_minute: 0,
        };
        let learned = stream.learn();
        let reference = match test {
            Test::Target { hypothesis, .. } => hypothesis.mean(),
            Test::Drop { hypothesis, .. } => hypothesis.map_or(learned.mean, Hypothesis::mean),
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
        let learned = sums
            .iter()
            .map(|(sum, count)| (*count >= ENOUGH_FOR_A_BASELINE).then(|| sum / f64::from(*count)));
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

    /// One of `among`, which is not 0.
    fn choose(&mut self, among: usize) -> usize {
        let among = u64::try_from(among).unwrap_or(u64::MAX);
        // Favours some by less than among / 2^32.
        let drawn = (u64::from(self.chance.next_u32()) * among) >> u32::BITS;
        usize::try_from(drawn).unwrap_or_default()
    }

    /// The next search: its query and its score.
    fn draw(&mut self) -> (usize, f64) {
        if self.repeats == 0 {
            self.query = self.choose(self.population.queries().len());
            self.repeats = self.length_of_burst();
        }
        self.repeats -= 1;
        let place = self.choose(self.population.queries()[self.query].scores().len());
        (
            self.query,
            self.population.queries()[self.query].scores()[place],
        )
    }

    /// Geometric, with the mean that was asked for.
    fn length_of_burst(&mut self) -> u32 {
        let goes_on = 1.0 - 1.0 / self.settings.burst.max(1.0);
        let mut length = 1;
        while goes_on > 0.0 && f64::from(self.chance.next_u32()) < goes_on * 4_294_967_296.0 {
            length += 1;
        }
        length
    }

    fn healthy(&mut self, events: u32) -> Alarms {
        self.watch(events, 1.0)
    }

    /// After a drop every score is that much smaller that the mean falls by `drop`.
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
                Some(known) => known[query].map(|usual| super::against_baseline(score, usual)),
            };
            self.of_minute += 1;
            let minute = self.of_minute >= self.settings.per_minute;
            for (watcher, alarm) in self.watchers.iter_mut().zip(&mut alarms) {
                // Who has alarmed needs no more.
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

/// What a stream knows of itself before it is watched.
struct Learned {
    mean: f64,
    baselines: Vec<Option<f64>>,
}

/// Searches of a query from which its baseline is learned.
const ENOUGH_FOR_A_BASELINE: u32 = 10;

fn watchers(test: &Test, reference: f64) -> [Box<dyn Watcher>; 3] {
    let sequential = match *test {
        Test::Target {
            hypothesis,
            threshold,
        } => Sequential::target(hypothesis, threshold),
        Test::Drop {
            hypothesis,
            epsilon,
            threshold,
        } => {
            let learned = Hypothesis::at_least((reference - epsilon).clamp(0.0, 1.0));
            Sequential::drop(hypothesis.or(learned), threshold)
        }
        Test::DropPerQuery { epsilon, threshold } => {
            Sequential::drop(Hypothesis::fell_at_most(epsilon), threshold)
        }
    };
    [
        Box::new(sequential),
        Box::new(FixedThreshold::below(reference)),
        Box::new(Peeking::below(reference)),
    ]
}
