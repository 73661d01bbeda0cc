//! Promised against observed: false alarms and delays of the target test and of the drop test on
//! models of dependent traffic.

use rayon::prelude::*;
use serde::Serialize;
use statrs::distribution::{Beta, ContinuousCDF as _, Gamma};

use super::chance::Chance;
use super::models::Model;
use super::tables::MAX_DELAY_RATIO;
use super::traffic::{Search, Traffic};
use rankgauge_core::detection::{BlockTest, Burst, DropTest, SeriesRules, log_threshold};
use rankgauge_core::number::real_length;

/// Drops of the mean for the delays.
pub const DROPS: [f64; 4] = [0.02, 0.05, 0.1, 0.2];

/// Further levels of the target test: probabilities of ever raising a false alarm. These alarms are
/// frequent enough to be counted with few streams.
pub const FREQUENT_ALPHAS: [f64; 2] = [0.01, 0.05];

/// Further levels of the drop test, for the same reason: minutes to a false alarm of one series, 90
/// days and one day.
pub const FREQUENT_MINUTES: [f64; 2] = [129_600.0, 1_440.0];

/// Number of levels of each test: that of the settings, and two at which alarms are more frequent.
const LEVELS: usize = 3;

/// Tenths of a stream before the scores drop.
const TENTHS_BEFORE_DROP: usize = 6;

/// Streams with a drop, as a part of the healthy streams: one in four.
const DROPPED_PART: u32 = 4;

/// Confidence of the bounds of observed rates.
const CONFIDENCE: f64 = 0.95;

/// Milliseconds per minute.
const MINUTE: f64 = 60_000.0;

/// Settings of the tests and of the simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// Healthy streams of a model, before its share.
    pub streams: u32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Mean length of a burst, as configured.
    pub burst: Burst,
    /// Promise of the target test: probability of ever raising a false alarm.
    pub alpha: f64,
    /// Promise of the drop test: mean minutes to a false alarm of one series.
    pub minutes: f64,
    /// Tolerated drop, from 0 to 1.
    pub epsilon: f64,
    /// Minimum tolerated drop in the warm-up.
    pub warm_up_tolerance: f64,
}

/// Promises at each level.
struct Levels {
    alphas: [f64; LEVELS],
    minutes: [f64; LEVELS],
}

impl Setup {
    fn levels(&self) -> Levels {
        let [more, most] = FREQUENT_ALPHAS;
        let [quarter, day] = FREQUENT_MINUTES;
        Levels {
            alphas: [self.alpha, more, most],
            minutes: [self.minutes, quarter, day],
        }
    }

    /// Rules of the drop test.
    pub(super) fn rules(&self, is_seasonal: bool) -> SeriesRules {
        SeriesRules {
            threshold: self.minutes.ln().max(0.0),
            tolerance: self.epsilon,
            warm_up_tolerance: self.warm_up_tolerance,
            repeat_window: self.burst.repeat_window(),
            has_local: true,
            is_seasonal,
            alarmed: None,
        }
    }
}

/// False alarms on healthy streams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FalseAlarmCount {
    /// Number of healthy streams with an alarm.
    pub observed: u32,
    /// Promised number of alarms, over all streams.
    pub promised: f64,
    /// Number that the expected number of alarms does not exceed, with 95 % confidence.
    pub at_most: f64,
}

impl FalseAlarmCount {
    /// Returns true if the alarms are at most twice the promise, with 95 % confidence.
    pub fn holds(&self) -> bool {
        self.at_most <= 2.0 * self.promised
    }

    /// Returns true if the promise is refuted: at this rate, as many alarms have a probability below
    /// 5 %.
    pub(super) fn contradicts(&self) -> bool {
        let at_least = Gamma::new(f64::from(self.observed.max(1)), 1.0);
        let at_least = at_least.map_or(0.0, |gamma| gamma.inverse_cdf(1.0 - CONFIDENCE));
        self.observed > 0 && at_least > self.promised
    }

    /// Alarms of a test that promises a probability for each stream (Clopper-Pearson).
    pub(super) fn of_probability(observed: u32, streams: u32, alpha: f64) -> Self {
        let (observed_real, streams_real) = (f64::from(observed), f64::from(streams));
        let at_most = if observed >= streams {
            1.0
        } else {
            Beta::new(observed_real + 1.0, streams_real - observed_real)
                .map_or(1.0, |beta| beta.inverse_cdf(CONFIDENCE))
        };
        Self {
            observed,
            promised: alpha * streams_real,
            at_most: at_most * streams_real,
        }
    }

    /// Alarms of a test that promises a rate (Poisson).
    pub(super) fn of_rate(observed: u32, promised: f64) -> Self {
        let at_most = Gamma::new(f64::from(observed) + 1.0, 1.0)
            .map_or(f64::INFINITY, |gamma| gamma.inverse_cdf(CONFIDENCE));
        Self {
            observed,
            promised,
            at_most,
        }
    }
}

/// Results of one of the tests on a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TestResult {
    /// False alarms at the level of the settings and at two levels with more frequent alarms.
    pub false_alarms: [FalseAlarmCount; LEVELS],
    /// Minutes from the drop to the alarm, by size of the drop.
    pub delays: [Delay; DROPS.len()],
}

/// Minutes from a drop to the alarm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Delay {
    /// Median over the streams. `None` if fewer than half of them raised an alarm.
    pub median: Option<f64>,
    /// Lower bound of the median with 95 % confidence. `None` if it is infinite.
    pub at_least: Option<f64>,
}

/// Results on a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelResult {
    /// Name of the model.
    pub model: &'static str,
    /// Number of healthy streams.
    pub streams: u32,
    /// Mean number of searches in a stream.
    pub searches: f64,
    /// Length of a stream in hours.
    pub hours: f64,
    /// Target test.
    pub target: TestResult,
    /// Drop test.
    pub drop: TestResult,
    /// Delays of the drop test without a tolerance of the warm-up.
    pub after_warm_up: [Delay; DROPS.len()],
}

/// Results on all models, and over all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Results by model.
    pub models: Vec<ModelResult>,
    /// Number of healthy streams.
    pub streams: u32,
    /// Number of searches in them.
    pub searches: f64,
    /// False alarms of the target test, at each level.
    pub target: [FalseAlarmCount; LEVELS],
    /// False alarms of the drop test, at each level.
    pub drop: [FalseAlarmCount; LEVELS],
}

/// Maximum ratio of an observed median delay to the listed one: of the target test, and of the drop
/// test.
const MAX_DELAY_RATIOS: [f64; 2] = [1.3, MAX_DELAY_RATIO];

/// Series of delays: the target test, the drop test in its warm-up, and after it.
const TESTS: usize = 3;

/// Returns a sentence for each promise that is not shown to hold: false alarms of at most twice the
/// promise with 95 % confidence, and median delays of at most 1.3 (target test) and 1.15 times (drop
/// test) those listed. A delay is
/// reported if the lower bound of its median exceeds that.
///
/// One model is judged at the level with the most frequent alarms, because alarms at the others are
/// too rare. All models together are judged at all levels, except for the configured level of the
/// drop test: its time to a false alarm is longer than the streams of a simulation.
pub fn violations(models: &[Model], report: &Report) -> Vec<String> {
    let mut broken = Vec::new();
    let mut judge = |name: &str, test: &str, count: &FalseAlarmCount| {
        if !count.holds() {
            broken.push(format!(
                "{name}: {test} test, {} false alarms, at most {:.2} expected with 95 % confidence, \
                 {:.2} promised",
                count.observed, count.at_most, count.promised
            ));
        }
    };
    for result in &report.models {
        for (test, counts) in [("target", &result.target), ("drop", &result.drop)] {
            if let Some(most_frequent) = counts.false_alarms.last() {
                judge(result.model, test, most_frequent);
            }
        }
    }
    for (test, counts) in [("target", &report.target[..]), ("drop", &report.drop[1..])] {
        for count in counts {
            judge("all models", test, count);
        }
    }
    for (model, result) in models.iter().zip(&report.models) {
        let Some(listed) = &model.listed else {
            continue;
        };
        let [target_ratio, drop_ratio] = MAX_DELAY_RATIOS;
        let after = &result.after_warm_up;
        let tests = [
            (
                "target test",
                listed.target,
                &result.target.delays,
                target_ratio,
            ),
            ("drop test", listed.drop, &result.drop.delays, drop_ratio),
            (
                "drop test after its warm-up",
                listed.after_warm_up,
                after,
                drop_ratio,
            ),
        ];
        for (test, listed, observed, ratio) in tests {
            for (place, drop) in DROPS.iter().enumerate() {
                let Some(listed) = listed[place].filter(|it| it.is_finite()) else {
                    continue;
                };
                let at_least = observed[place].at_least;
                if at_least.is_none_or(|it| it > ratio * listed) {
                    let text = |delay: Option<f64>| {
                        delay.map_or("never".to_owned(), |it| format!("{it:.1}"))
                    };
                    broken.push(format!(
                        "{}: {test}, drop of {drop}: median delay {} minutes, at least {} with \
                         95 % confidence, {listed} listed",
                        model.name,
                        text(observed[place].median),
                        text(at_least)
                    ));
                }
            }
        }
    }
    broken
}

/// Place of the first alarm at each level.
type FirstAlarms = [Option<usize>; LEVELS];

struct StreamResult {
    searches: usize,
    target: FirstAlarms,
    drop: FirstAlarms,
    /// Minutes to the first alarm of the drop test at each level, or to the end of the stream.
    minutes: [f64; LEVELS],
    /// Minutes from the drop to the alarm of each test, for a stream that has drops. Infinite
    /// without an alarm; `None` with an alarm before the drop.
    delays: Option<[[Option<f64>; DROPS.len()]; TESTS]>,
}

/// Simulates both tests on each model. `done` receives the result of each model.
pub fn hold_against_promise(
    models: &[Model],
    setup: &Setup,
    mut done: impl FnMut(&ModelResult),
) -> Report {
    let mut report = Report {
        models: Vec::new(),
        streams: 0,
        searches: 0.0,
        target: [FalseAlarmCount::of_rate(0, 0.0); LEVELS],
        drop: [FalseAlarmCount::of_rate(0, 0.0); LEVELS],
    };
    for (number, model) in (0_u64..).zip(models) {
        let result = model_result(model, setup, number);
        done(&result);
        report.streams += result.streams;
        report.searches += result.searches * f64::from(result.streams);
        report.models.push(result);
    }
    let sum = |of: &dyn Fn(&ModelResult) -> u32| report.models.iter().map(of).sum::<u32>();
    let levels = setup.levels();
    report.target = std::array::from_fn(|level| {
        let observed = sum(&|it| it.target.false_alarms[level].observed);
        FalseAlarmCount::of_probability(observed, report.streams, levels.alphas[level])
    });
    report.drop = std::array::from_fn(|level| {
        let observed = sum(&|it| it.drop.false_alarms[level].observed);
        let promised = report.models.iter();
        let promised = promised.map(|it| it.drop.false_alarms[level].promised);
        FalseAlarmCount::of_rate(observed, promised.sum())
    });
    report
}

fn model_result(model: &Model, setup: &Setup, number: u64) -> ModelResult {
    let mut streams = 2_u32;
    while f64::from(streams) < f64::from(setup.streams) * model.share {
        streams += 1;
    }
    let dropped = streams.div_ceil(DROPPED_PART);
    let results: Vec<StreamResult> = (0..streams)
        .into_par_iter()
        .map(|stream| {
            let place = number * u64::from(u32::MAX) + u64::from(stream);
            run_stream(&model.traffic, setup, place, stream < dropped)
        })
        .collect();
    let count = |alarms: &dyn Fn(&StreamResult) -> Option<usize>| {
        let alarmed = results.iter().filter(|result| alarms(result).is_some());
        u32::try_from(alarmed.count()).unwrap_or(u32::MAX)
    };
    let delays = |test: usize| -> [Delay; DROPS.len()] {
        std::array::from_fn(|drop| {
            let delays = results.iter().filter_map(|result| result.delays);
            let delays: Vec<f64> = delays.filter_map(|delays| delays[test][drop]).collect();
            Delay {
                median: median(delays.clone()),
                at_least: median_at_least(delays),
            }
        })
    };
    // A stream is watched until its first alarm.
    let minutes = |level: usize| -> f64 { results.iter().map(|it| it.minutes[level]).sum() };
    let searches: f64 = results
        .iter()
        .map(|result| real_length(result.searches))
        .sum();
    let levels = setup.levels();
    ModelResult {
        model: model.name,
        streams,
        searches: searches / f64::from(streams),
        hours: model.traffic.hours,
        target: TestResult {
            false_alarms: std::array::from_fn(|level| {
                let observed = count(&|result| result.target[level]);
                FalseAlarmCount::of_probability(observed, streams, levels.alphas[level])
            }),
            delays: delays(0),
        },
        drop: TestResult {
            false_alarms: std::array::from_fn(|level| {
                let observed = count(&|result| result.drop[level]);
                FalseAlarmCount::of_rate(observed, minutes(level) / levels.minutes[level])
            }),
            delays: delays(1),
        },
        after_warm_up: delays(2),
    }
}

fn run_stream(traffic: &Traffic, setup: &Setup, number: u64, has_drops: bool) -> StreamResult {
    let stream = traffic.stream(setup.seed, number);
    let delays = has_drops.then(|| {
        let mut chance = Chance::new(setup.seed.wrapping_add(1), number);
        let mut delays = [[None; DROPS.len()]; TESTS];
        for (place, drop) in DROPS.into_iter().enumerate() {
            let all = stream.dropped(0, drop, traffic.noise, &mut chance);
            let alarm = target_alarms(&all, stream.target, setup)[0];
            delays[0][place] = Some(delay(&all, 0, alarm));
            let half = stream.part(TENTHS_BEFORE_DROP);
            let late = stream.dropped(half, drop, traffic.noise, &mut chance);
            let after_warm_up = Setup {
                warm_up_tolerance: setup.epsilon,
                ..*setup
            };
            for (test, setup) in [(1, setup), (2, &after_warm_up)] {
                let alarm = drop_alarms(&late, setup, traffic.is_user_measure)[0];
                if alarm.is_none_or(|alarm| alarm >= half) {
                    delays[test][place] = Some(delay(&late, half, alarm));
                }
            }
        }
        delays
    });
    let drop = drop_alarms(&stream.searches, setup, traffic.is_user_measure);
    StreamResult {
        searches: stream.searches.len(),
        target: target_alarms(&stream.searches, stream.target, setup),
        drop,
        minutes: drop.map(|alarm| delay(&stream.searches, 0, alarm).min(traffic.hours * 60.0)),
        delays,
    }
}

/// Minutes between two searches; infinite without an alarm.
pub(super) fn delay(searches: &[Search], from: usize, alarm: Option<usize>) -> f64 {
    let ts = |place: usize| searches.get(place).map(|search| search.ts);
    match (ts(from), alarm.and_then(ts)) {
        (Some(from), Some(alarm)) => to_minutes(alarm - from),
        _ => f64::INFINITY,
    }
}

fn target_alarms(searches: &[Search], target: f64, setup: &Setup) -> FirstAlarms {
    let thresholds = setup.levels().alphas.map(log_threshold);
    let block = setup.burst.block();
    let mut test = BlockTest::new(target);
    let mut first = [None; LEVELS];
    for (place, search) in searches.iter().enumerate() {
        if test.add(search.ts, search.score, block) {
            let log_evidence = test.log_evidence(target);
            note(&mut first, place, log_evidence, thresholds);
        }
    }
    first
}

pub(super) fn drop_alarms(searches: &[Search], setup: &Setup, is_seasonal: bool) -> FirstAlarms {
    let thresholds = setup.levels().minutes.map(f64::ln);
    let lowest = thresholds.into_iter().fold(f64::INFINITY, f64::min);
    let mut test = DropTest::new(setup.rules(is_seasonal));
    let mut first = [None; LEVELS];
    for (place, search) in searches.iter().enumerate() {
        let is_compared = test.add(search.ts, search.query, search.score);
        if is_compared && test.reaches(lowest) {
            note(&mut first, place, test.log_evidence(), thresholds);
        }
    }
    first
}

/// Notes the first alarm at each threshold.
fn note(first: &mut FirstAlarms, place: usize, log_evidence: f64, thresholds: [f64; LEVELS]) {
    for (first, threshold) in first.iter_mut().zip(thresholds) {
        if first.is_none() && log_evidence >= threshold {
            *first = Some(place);
        }
    }
}

/// Median of delays; `None` if it is infinite, and without delays.
pub(super) fn median(mut delays: Vec<f64>) -> Option<f64> {
    delays.sort_by(f64::total_cmp);
    let upper = *delays.get(delays.len() / 2)?;
    let lower = *delays.get(delays.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(lower, upper)).filter(|median| median.is_finite())
}

/// Lower bound of the median with 95 % confidence: an order statistic. `None` if it is infinite, and
/// without delays.
pub(super) fn median_at_least(mut delays: Vec<f64>) -> Option<f64> {
    delays.sort_by(f64::total_cmp);
    // The number of delays below the median is binomial: n/2 with the standard deviation √n/2.
    let below =
        real_length(delays.len()) / 2.0 - QUANTILE_95 * real_length(delays.len()).sqrt() / 2.0;
    let mut place = 0;
    while real_length(place + 1) <= below {
        place += 1;
    }
    let at_least = *delays.get(place)?;
    Some(at_least).filter(|delay| delay.is_finite())
}

/// 95 % quantile of the standard normal distribution.
const QUANTILE_95: f64 = 1.644_853_626_951_472_7;

#[allow(
    clippy::cast_precision_loss,
    reason = "a stream has fewer than 2^53 milliseconds"
)]
fn to_minutes(millis: i64) -> f64 {
    millis as f64 / MINUTE
}
