//! Tables of promised against observed results beyond those of `promise`: audits, local drops,
//! seasons, common noise, experiments, splits, interleaving, unjudged results, replicas, and the rules
//! that are common in practice.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Serialize, Serializer};

use super::assigned::Assigned;
use super::audit::{Audit, Drop, DropIn};
use super::chance::Chance;
use super::practice::{self, Rule};
use super::promise::{
    FREQUENT_MINUTES, FalseAlarmCount, Setup, delay, drop_alarms, median, median_at_least,
};
use super::sessions::{Sessions, interleaved};
use super::table_models::{AUDITS, EXPERIMENTS, LOCAL, NOISE, PRACTICE, SESSIONS, UNJUDGED};
use super::traffic::Search;
use super::unjudged::{BoundedSearch, Unjudged};
use rankgauge_core::detection::{
    DropClass, DropTest, Preference, SeriesRules, SplitTest, VariantTest, log_threshold,
};
use rankgauge_core::number::{real, real_length};

/// Table by its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// Drop test on the traffic of a service with bots, campaigns and new queries.
    Audit,
    /// Drops in some of the queries.
    Local,
    /// User measures with weekends, days and nights.
    User,
    /// Noise that all searches share.
    Noise,
    /// Experiments without a difference.
    Experiment,
    /// Experiments with a difference.
    Power,
    /// Splits as declared.
    Split,
    /// Interleaved rankings.
    Interleave,
    /// Results that become unjudged, or worse.
    Unjudged,
    /// Replicas that vanish.
    Replicas,
    /// Rules that are common in practice, on the same streams.
    Practice,
}

impl Subject {
    /// All tables.
    pub const ALL: [Self; 11] = [
        Self::Audit,
        Self::Local,
        Self::User,
        Self::Noise,
        Self::Experiment,
        Self::Power,
        Self::Split,
        Self::Interleave,
        Self::Unjudged,
        Self::Replicas,
        Self::Practice,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::Audit => "Drop test on a service with users, sessions, days and weekends",
            Self::Local => "Drops in all or some of the queries, after the warm-up",
            Self::User => "User measures: 28 days, weekends and nights that differ by 0.05",
            Self::Noise => "Noise that all searches of an hour share",
            Self::Experiment => "Experiments without a difference",
            Self::Power => "Experiments with a difference",
            Self::Split => "Splits as declared",
            Self::Interleave => "Interleaving: a share of the clicks prefers one ranking",
            Self::Unjudged => "Class of a drop of P@10",
            Self::Replicas => "Four replicas, of which some are not visible",
            Self::Practice => "Rules that are common in practice, on the same streams",
        }
    }

    /// Unit of the delays.
    fn unit(self) -> &'static str {
        match self {
            Self::User => "hours",
            Self::Power => "searches",
            Self::Interleave => "sessions",
            _ => "minutes",
        }
    }

    /// Description of the levels of the false alarms.
    fn levels(self, setup: &Setup) -> Vec<String> {
        let [quarter, _] = FREQUENT_MINUTES;
        let days = |minutes: f64| format!("one in {:.0} days", minutes / MINUTES_PER_DAY);
        match self {
            Self::Audit | Self::User | Self::Noise => vec![days(setup.minutes), days(quarter)],
            Self::Experiment => vec![
                format!("worse at {}", setup.alpha),
                format!("interval without 0 at {}", setup.alpha),
                format!("worse at {FREQUENT_ALPHA}"),
            ],
            Self::Split | Self::Interleave => vec![SplitTest::ALPHA.to_string()],
            Self::Replicas => vec![FREQUENT_ALPHA.to_string()],
            Self::Practice => vec![days(setup.minutes)],
            Self::Local | Self::Power | Self::Unjudged => Vec::new(),
        }
    }
}

const MINUTES_PER_DAY: f64 = 1_440.0;

/// Further level of the tests that promise a probability.
const FREQUENT_ALPHA: f64 = 0.05;

/// Evaluations of an experiment, in searches, and of interleaved rankings, in sessions.
const EVALUATED_EVERY: usize = 100;
const SESSIONS_EVALUATED: usize = 10;

/// Sessions of a stream of interleaved rankings.
const INTERLEAVED_SESSIONS: u32 = 3_000;

/// Streams of replicas for each stream asked for, their replicas and their evaluations.
const REPLICA_STREAMS: u32 = 8;
const REPLICAS: usize = 4;
const EVALUATIONS: u32 = 2_000;

/// Maximum ratio of an observed median delay to the listed one.
pub(super) const MAX_DELAY_RATIO: f64 = 1.15;

/// Effects of a size: how many of the streams found it, and when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// Size of the effect.
    pub size: f64,
    /// Median delay. `None` if fewer than half of the streams raised an alarm.
    pub median: Option<f64>,
    /// Lower bound of the median with 95 % confidence.
    pub at_least: Option<f64>,
    /// Number of streams that raised an alarm after the beginning of the effect.
    pub found: u32,
    /// Number of streams without an alarm before.
    pub of: u32,
    /// Listed median. `None` if none is listed; infinite, `"never"` in JSON, if it is listed as not
    /// found.
    #[serde(serialize_with = "listed")]
    pub listed: Option<f64>,
}

#[allow(clippy::ref_option, reason = "serde passes fields by reference")]
fn listed<S: Serializer>(listed: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match listed {
        Some(listed) if listed.is_infinite() => serializer.serialize_str("never"),
        listed => listed.serialize(serializer),
    }
}

impl Found {
    /// Summary of delays, of which one is infinite without an alarm.
    fn of(size: f64, delays: &[f64], listed: Option<f64>) -> Self {
        Self {
            size,
            median: median(delays.to_vec()),
            at_least: median_at_least(delays.to_vec()),
            found: count(delays.iter().filter(|delay| delay.is_finite())),
            of: count(delays.iter()),
            listed,
        }
    }

    /// Returns true if the median is shown to be larger than that listed.
    fn is_late(&self) -> bool {
        self.listed.is_some_and(|listed| {
            let is_known = listed.is_finite() && self.of > 0;
            is_known && self.at_least.is_none_or(|it| it > MAX_DELAY_RATIO * listed)
        })
    }
}

/// Row of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// Traffic model.
    pub traffic: String,
    /// Rule or treatment. `None` for the test of the sidecar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<&'static str>,
    /// True if the promise applies to the row.
    pub has_promise: bool,
    /// Number of streams without an effect.
    pub streams: u32,
    /// False alarms in them, by level.
    pub false_alarms: Vec<FalseAlarmCount>,
    /// False alarms of a stream in 7 days. `None` except for rules that are common in practice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub false_alarms_a_week: Option<f64>,
    /// Effects by size.
    pub found: Vec<Found>,
    /// Number of streams by the class of their drop.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<&'static str, u32>,
}

impl Row {
    /// Row of a model on `streams` streams, to which the promise applies.
    fn of(traffic: &str, streams: u32) -> Self {
        Self {
            traffic: traffic.to_owned(),
            has_promise: true,
            streams,
            ..Self::default()
        }
    }
}

/// Table of results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Subject.
    pub subject: Subject,
    /// Title.
    pub title: &'static str,
    /// Unit of the delays.
    pub unit: &'static str,
    /// Promises, by level.
    pub levels: Vec<String>,
    /// Rows.
    pub rows: Vec<Row>,
    /// False alarms of all rows with a promise together, by level.
    pub together: Vec<FalseAlarmCount>,
    /// Promises that are not shown to hold.
    pub violations: Vec<String>,
}

/// Simulates the models of a subject whose name contains `model`. `done` receives each row. `None` if
/// there is no such model.
pub fn table(
    subject: Subject,
    model: &str,
    setup: &Setup,
    mut done: impl FnMut(&Row),
) -> Option<Table> {
    let mut rows = Vec::new();
    let mut add = |row: Row| {
        done(&row);
        rows.push(row);
    };
    let is_meant = |name: &str| name.contains(model);
    match subject {
        Subject::Audit => {
            named(&AUDITS, model).for_each(|it| add(audit(it, false, setup)));
        }
        Subject::Noise => {
            named(&NOISE, model).for_each(|it| add(audit(it, true, setup)));
        }
        Subject::Local => {
            named(&LOCAL, model).for_each(|it| add(local(it, setup)));
        }
        Subject::User => {
            named(&SESSIONS, model).for_each(|it| add(user(it, setup)));
        }
        Subject::Experiment | Subject::Power | Subject::Split => {
            for it in EXPERIMENTS.iter().filter(|it| is_meant(it.name)) {
                match subject {
                    Subject::Experiment => add(experiment(it, setup)),
                    Subject::Split if it.is_split => add(split(it, setup)),
                    Subject::Power if it.listed.is_some() => add(power(it, setup)),
                    _ => {}
                }
            }
        }
        Subject::Interleave if is_meant(INTERLEAVED) => {
            for is_by_session in [true, false] {
                add(interleave(is_by_session, setup));
            }
        }
        Subject::Unjudged => {
            named(&UNJUDGED, model).for_each(|it| add(unjudged(it, setup)));
        }
        Subject::Replicas if is_meant(VISIBLE) => {
            for is_fixed in [true, false] {
                add(replicas(is_fixed, setup));
            }
        }
        Subject::Practice => {
            let models = named(&PRACTICE, model);
            models.for_each(|it| rules_of_practice(it, setup).into_iter().for_each(&mut add));
        }
        Subject::Interleave | Subject::Replicas => {}
    }
    (!rows.is_empty()).then(|| Table {
        subject,
        title: subject.title(),
        unit: subject.unit(),
        levels: subject.levels(setup),
        together: together(subject, &rows),
        violations: violations(subject, &rows),
        rows,
    })
}

/// Models whose name contains `part`.
fn named<'m, T>(models: &'m [Listed<T>], part: &str) -> impl Iterator<Item = &'m Listed<T>> {
    models.iter().filter(move |it| it.name.contains(part))
}

/// Names of the tables with one model.
const INTERLEAVED: &str = "3,000 sessions, repeated clicks";
const VISIBLE: &str = "one replica visible at a time";

fn together(subject: Subject, rows: &[Row]) -> Vec<FalseAlarmCount> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.has_promise).collect();
    let levels = rows.first().map_or(0, |row| row.false_alarms.len());
    let streams = rows.iter().map(|row| row.streams).sum();
    let sums = (0..levels).map(|level| {
        let of = || rows.iter().filter_map(|row| row.false_alarms.get(level));
        let observed = of().map(|it| it.observed).sum();
        let promised: f64 = of().map(|it| it.promised).sum();
        if is_rate(subject) {
            FalseAlarmCount::of_rate(observed, promised)
        } else {
            FalseAlarmCount::of_probability(observed, streams, promised / f64::from(streams))
        }
    });
    sums.collect()
}

/// Returns true if the test promises a rate, false if it promises a probability.
fn is_rate(subject: Subject) -> bool {
    matches!(
        subject,
        Subject::Audit | Subject::Local | Subject::User | Subject::Noise | Subject::Practice
    )
}

/// False alarms above the promise, and delays above those listed. The number of streams is too small
/// to show a promise of few alarms with confidence: only a number of alarms that contradicts it counts.
fn violations(subject: Subject, rows: &[Row]) -> Vec<String> {
    let mut broken = Vec::new();
    for (level, count) in together(subject, rows).iter().enumerate() {
        if count.contradicts() {
            broken.push(format!(
                "all models, level {}: {} false alarms, {:.2} promised",
                level + 1,
                count.observed,
                count.promised
            ));
        }
    }
    for row in rows.iter().filter(|row| row.has_promise) {
        for found in row.found.iter().filter(|found| found.is_late()) {
            let text = |it: Option<f64>| it.map_or("never".to_owned(), |it| format!("{it:.1}"));
            broken.push(format!(
                "{}: {}: median {} {}, at least {} with 95 % confidence, {} listed",
                row.traffic,
                found.size,
                text(found.median),
                subject.unit(),
                text(found.at_least),
                text(found.listed)
            ));
        }
    }
    broken
}

/// Model with its number of streams for 240 asked for, and its listed delays by size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed<T> {
    pub(super) name: &'static str,
    pub(super) traffic: T,
    pub(super) streams: f64,
    pub(super) has_promise: bool,
    /// Size and listed delay of effects.
    pub(super) delays: &'static [(f64, f64)],
}

/// Drop of a model of [`Subject::Local`].
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalDrop {
    pub(super) traffic: Audit,
    pub(super) of: DropIn,
    pub(super) at: f64,
}

/// Model of an experiment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experiment {
    pub(super) name: &'static str,
    pub(super) traffic: Assigned,
    /// True for the models of the table of splits.
    pub(super) is_split: bool,
    /// Listed searches until the variant is worse by 0.01, 0.02 and 0.05.
    pub(super) listed: Option<[f64; 3]>,
}

/// Streams that are asked for in the tables: the share of a model is relative to it.
const ASKED: f64 = 240.0;

/// Number of streams of a model with `usual` streams for 240 asked for.
fn streams(setup: &Setup, usual: f64) -> u32 {
    let wanted = f64::from(setup.streams) * usual / ASKED;
    let mut streams = 2_u32;
    while f64::from(streams) < wanted {
        streams += 1;
    }
    streams
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

/// Runs `each` on the numbers of streams, in parallel.
fn of_streams<T: Send>(streams: u32, each: impl Fn(u64) -> T + Send + Sync) -> Vec<T> {
    (0..u64::from(streams)).into_par_iter().map(each).collect()
}

/// Distance between the numbers of healthy streams and of those with an effect.
const WITH_EFFECT: u64 = 1 << 32;

/// False alarms of the drop test on healthy streams.
fn healthy(
    streams: u32,
    setup: &Setup,
    is_seasonal: bool,
    stream: impl Fn(u64) -> Vec<Search> + Send + Sync,
) -> Vec<FalseAlarmCount> {
    let alarms = of_streams(streams, |number| {
        let searches = stream(number);
        let alarms = drop_alarms(&searches, setup, is_seasonal);
        let all = practice::hours_of(&searches) * 60.0;
        alarms.map(|alarm| (alarm.is_some(), delay(&searches, 0, alarm).min(all)))
    });
    let levels = [setup.minutes, FREQUENT_MINUTES[0]].into_iter().enumerate();
    let counts = levels.map(|(level, minutes)| {
        let observed = count(alarms.iter().filter(|it| it[level].0));
        let watched: f64 = alarms.iter().map(|it| it[level].1).sum();
        FalseAlarmCount::of_rate(observed, watched / minutes)
    });
    counts.collect()
}

/// Delays of the drop test on streams with an effect, in minutes; `None` with an alarm before it.
fn delays(
    streams: u32,
    setup: &Setup,
    is_seasonal: bool,
    stream: impl Fn(u64) -> (Vec<Search>, usize) + Send + Sync,
) -> Vec<f64> {
    let delays = of_streams(streams, |number| {
        let (searches, from) = stream(WITH_EFFECT + number);
        let alarm = drop_alarms(&searches, setup, is_seasonal)[0];
        let is_after = alarm.is_none_or(|alarm| alarm >= from);
        is_after.then(|| delay(&searches, from, alarm))
    });
    delays.into_iter().flatten().collect()
}

fn audit(model: &Listed<Audit>, has_delays: bool, setup: &Setup) -> Row {
    let number = streams(setup, model.streams);
    let traffic = &model.traffic;
    let drop = |size| Drop {
        size,
        of: DropIn::All,
        at: 0.6,
    };
    let of_size = |(size, listed): &(f64, f64)| {
        let with_drop = if has_delays {
            number.div_ceil(5).max(4)
        } else {
            0
        };
        let minutes = delays(with_drop, setup, false, |number| {
            traffic.stream(setup.seed, number, Some(drop(*size)))
        });
        Found::of(*size, &minutes, Some(*listed))
    };
    Row {
        has_promise: model.has_promise,
        false_alarms: healthy(number, setup, false, |number| {
            traffic.stream(setup.seed, number, None).0
        }),
        found: model.delays.iter().map(of_size).collect(),
        ..Row::of(model.name, number)
    }
}

fn local(model: &Listed<LocalDrop>, setup: &Setup) -> Row {
    let number = streams(setup, model.streams);
    let LocalDrop { traffic, of, at } = model.traffic;
    let of_size = |(size, listed): &(f64, f64)| {
        let minutes = delays(number, setup, false, |number| {
            let drop = Drop {
                size: *size,
                of,
                at,
            };
            traffic.stream(setup.seed, number, Some(drop))
        });
        Found::of(*size, &minutes, Some(*listed))
    };
    Row {
        found: model.delays.iter().map(of_size).collect(),
        ..Row::of(model.name, number)
    }
}

/// Model of sessions with its listed hours to find drops on day 3 and on day 17.
pub(super) type SessionModel = Listed<(Sessions, f64)>;

fn user(model: &SessionModel, setup: &Setup) -> Row {
    let number = streams(setup, model.streams);
    let (traffic, at) = model.traffic;
    let of_size = |(size, listed): &(f64, f64)| {
        let minutes = delays(number.div_ceil(6).max(4), setup, true, |number| {
            traffic.stream(setup.seed, number, Some((*size, at)))
        });
        let hours: Vec<f64> = minutes.iter().map(|it| it / 60.0).collect();
        Found::of(*size, &hours, Some(*listed))
    };
    // The healthy streams of both rows are the same.
    let is_first = at < 0.5;
    let false_alarms = if is_first {
        healthy(number, setup, true, |number| {
            traffic.stream(setup.seed, number, None).0
        })
    } else {
        Vec::new()
    };
    Row {
        has_promise: model.has_promise,
        false_alarms,
        found: model.delays.iter().map(of_size).collect(),
        ..Row::of(model.name, if is_first { number } else { 0 })
    }
}

/// Evaluations of an experiment: the searches until the variant is worse at alpha and at 0.05, and
/// until the interval excludes 0.
fn evaluated(traffic: &Assigned, setup: &Setup, number: u64, effect: f64) -> [Option<usize>; 3] {
    let thresholds = [setup.alpha, FREQUENT_ALPHA].map(log_threshold);
    let mut test = VariantTest::default();
    let mut first = [None; 3];
    let searches = traffic.stream(setup.seed, number, effect);
    for (place, search) in searches.iter().enumerate() {
        let unit = id_of(number, search.unit);
        test.add(search.hour, &unit, search.arm, search.score);
        if !(place + 1).is_multiple_of(EVALUATED_EVERY) {
            continue;
        }
        let Some(difference) = test.difference() else {
            continue;
        };
        let worse = difference.log_evidence_worse(false);
        let reached = [
            worse >= thresholds[0],
            difference.log_evidence() >= thresholds[0],
            worse >= thresholds[1],
        ];
        for (first, is_reached) in first.iter_mut().zip(reached) {
            if is_reached {
                first.get_or_insert(place);
            }
        }
    }
    first
}

fn id_of(stream: u64, unit: u64) -> String {
    format!("{stream}-{unit}")
}

/// Usual number of streams of the tables of experiments.
const EXPERIMENT_STREAMS: f64 = 320.0;
const POWER_STREAMS: f64 = 24.0;
const SPLIT_STREAMS: f64 = 60.0;

fn experiment(model: &Experiment, setup: &Setup) -> Row {
    let number = streams(setup, EXPERIMENT_STREAMS);
    let results = of_streams(number, |number| {
        evaluated(&model.traffic, setup, number, 0.0)
    });
    let levels = [setup.alpha, setup.alpha, FREQUENT_ALPHA].into_iter();
    let counts = levels.enumerate().map(|(level, alpha)| {
        let observed = count(results.iter().filter(|it| it[level].is_some()));
        FalseAlarmCount::of_probability(observed, number, alpha)
    });
    Row {
        false_alarms: counts.collect(),
        ..Row::of(model.name, number)
    }
}

/// Differences of the table of power.
const EFFECTS: [f64; 3] = [0.01, 0.02, 0.05];

fn power(model: &Experiment, setup: &Setup) -> Row {
    let number = streams(setup, POWER_STREAMS);
    let listed = model.listed.unwrap_or([f64::INFINITY; 3]);
    let found = EFFECTS.into_iter().zip(listed).map(|(effect, listed)| {
        let searches = of_streams(number, |number| {
            let first = evaluated(&model.traffic, setup, WITH_EFFECT + number, effect)[0];
            first.map_or(f64::INFINITY, real_length)
        });
        Found::of(effect, &searches, Some(listed))
    });
    Row {
        found: found.collect(),
        ..Row::of(model.name, number)
    }
}

fn split(model: &Experiment, setup: &Setup) -> Row {
    let number = streams(setup, SPLIT_STREAMS);
    let traffic = &model.traffic;
    let alarms = of_streams(number, |number| {
        let mut test = SplitTest::new(vec![1.0 - traffic.share, traffic.share]);
        let mut has_alarm = false;
        for search in traffic.stream(setup.seed, number, 0.0) {
            if test.add(&id_of(number, search.unit), search.arm) {
                has_alarm |= test.log_evidence() >= SplitTest::threshold();
            }
        }
        has_alarm
    });
    let observed = count(alarms.iter().filter(|it| **it));
    let false_alarms = FalseAlarmCount::of_probability(observed, number, SplitTest::ALPHA);
    Row {
        false_alarms: vec![false_alarms],
        ..Row::of(model.name, number)
    }
}

/// Shares of the preferred ranking, with the listed sessions until the preference is found.
const PREFERENCES: [(f64, f64); 3] = [(0.52, 2_434.0), (0.55, 454.0), (0.6, 179.0)];

/// Usual number of streams of the table of interleaving.
const INTERLEAVED_STREAMS: f64 = 150.0;

fn interleave(is_by_session: bool, setup: &Setup) -> Row {
    let number = streams(setup, INTERLEAVED_STREAMS);
    let first = |number: u64, preference: f64| {
        let (sessions, searches) =
            interleaved(setup.seed, number, INTERLEAVED_SESSIONS, preference);
        let units = if is_by_session { sessions } else { searches };
        let mut sums = Preference::default();
        for (place, credit) in units.into_iter().enumerate() {
            sums.add(credit);
            if (place + 1).is_multiple_of(SESSIONS_EVALUATED)
                && sums.log_evidence() >= SplitTest::threshold()
            {
                return real_length(place);
            }
        }
        f64::INFINITY
    };
    let healthy = of_streams(number, |number| first(number, 0.5));
    let observed = count(healthy.iter().filter(|it| it.is_finite()));
    let false_alarms = FalseAlarmCount::of_probability(observed, number, SplitTest::ALPHA);
    let found = PREFERENCES.into_iter().map(|(preference, listed)| {
        let sessions = of_streams(number, |number| first(WITH_EFFECT + number, preference));
        Found::of(preference, &sessions, is_by_session.then_some(listed))
    });
    Row {
        method: (!is_by_session).then_some("click events of searches"),
        has_promise: is_by_session,
        false_alarms: vec![false_alarms],
        found: found.collect(),
        ..Row::of(INTERLEAVED, number)
    }
}

/// Class of the drop of a stream, and the minutes until its alarm.
fn class_of(searches: &[BoundedSearch], from: usize, setup: &Setup) -> (&'static str, Option<f64>) {
    let rules = setup.rules(false);
    let high_rules = SeriesRules {
        has_local: false,
        ..rules
    };
    let first = |of: usize, rules: SeriesRules| {
        let mut test = DropTest::new(rules);
        searches.iter().position(|search| {
            test.add(search.ts, Some(search.query), search.scores[of])
                && test.reaches(rules.threshold)
        })
    };
    let Some(alarm) = first(0, rules) else {
        return ("none", Some(f64::INFINITY));
    };
    let class = DropClass::of(first(1, high_rules).is_some(), first(2, rules).is_some());
    let class = match class {
        DropClass::Worse => "worse",
        DropClass::MoreUnjudged => "more unjudged results",
        DropClass::Undecided => "undecided",
    };
    let minutes = real(searches[alarm].ts.abs_diff(searches[from].ts)) / 60_000.0;
    (class, (alarm >= from).then_some(minutes))
}

fn unjudged(model: &Listed<Unjudged>, setup: &Setup) -> Row {
    let number = streams(setup, model.streams);
    let results = of_streams(number, |number| {
        let (searches, from) = model.traffic.stream(setup.seed, number);
        class_of(&searches, from, setup)
    });
    let mut classes = BTreeMap::new();
    for (class, _) in &results {
        *classes.entry(*class).or_default() += 1;
    }
    let minutes: Vec<f64> = results.iter().filter_map(|(_, minutes)| *minutes).collect();
    let found = model
        .delays
        .iter()
        .map(|(size, listed)| Found::of(*size, &minutes, Some(*listed)));
    Row {
        found: found.collect(),
        classes,
        ..Row::of(model.name, number)
    }
}

fn replicas(is_fixed: bool, setup: &Setup) -> Row {
    let number = setup.streams.saturating_mul(REPLICA_STREAMS);
    let threshold = log_threshold(FREQUENT_ALPHA);
    let alarms = of_streams(number, |number| {
        let mut chance = Chance::new(setup.seed, number);
        let mut walks = [0.0; REPLICAS];
        (1..=EVALUATIONS).any(|evaluation| {
            let time = f64::from(evaluation);
            let evidence: Vec<f64> = walks
                .iter_mut()
                .map(|walk| {
                    *walk += chance.normal();
                    0.5 * (*walk * *walk / (time + 1.0) - (1.0 + time).ln())
                })
                .collect();
            let visible = usize::try_from(evaluation / 50).unwrap_or_default() % REPLICAS;
            // An e-value that is not visible counts 0 in the mean.
            let parts = if is_fixed { REPLICAS } else { 1 };
            evidence[visible] - real_length(parts).ln() >= threshold
        })
    });
    let observed = count(alarms.iter().filter(|it| **it));
    let false_alarms = FalseAlarmCount::of_probability(observed, number, FREQUENT_ALPHA);
    Row {
        method: (!is_fixed).then_some("mean of the visible replicas"),
        has_promise: is_fixed,
        false_alarms: vec![false_alarms],
        ..Row::of(VISIBLE, number)
    }
}

/// Alarms of every rule on a stream: their number before the drop, and the minutes from the drop to the
/// first one after it.
fn watched_by_all(
    rules: &SeriesRules,
    (searches, from): (&[Search], usize),
) -> [(u32, f64); Rule::ALL.len()] {
    Rule::ALL.map(|rule| {
        let (before, alarm) = practice::alarms(rule, rules, searches, from);
        (before, delay(searches, from, alarm))
    })
}

/// A row for each rule.
fn rules_of_practice(model: &Listed<Audit>, setup: &Setup) -> Vec<Row> {
    let number = streams(setup, model.streams);
    let rules = setup.rules(false);
    let stream = |number, drop| model.traffic.stream(setup.seed, number, drop);
    let healthy = of_streams(number, |number| {
        let (searches, _) = stream(number, None);
        let alarms = watched_by_all(&rules, (&searches, usize::MAX));
        (alarms, practice::hours_of(&searches))
    });
    let hours: f64 = healthy.iter().map(|(_, hours)| hours).sum();
    let sizes = model.delays.iter().map(|(size, _)| {
        let alarms = of_streams(number, |number| {
            let drop = Drop {
                size: *size,
                of: DropIn::All,
                at: 0.6,
            };
            let (searches, from) = stream(WITH_EFFECT + number, Some(drop));
            watched_by_all(&rules, (&searches, from))
        });
        (*size, alarms)
    });
    let sizes: Vec<(f64, Vec<_>)> = sizes.collect();
    let row = |(place, rule): (usize, Rule)| {
        let of_rule = || healthy.iter().map(|(alarms, _)| alarms[place].0);
        let alarms: f64 = of_rule().map(f64::from).sum();
        let found = sizes.iter().map(|(size, alarms)| {
            let minutes: Vec<f64> = alarms.iter().map(|it| it[place].1).collect();
            Found::of(*size, &minutes, None)
        });
        Row {
            method: Some(rule.name()),
            has_promise: rule == Rule::Drop,
            false_alarms: vec![FalseAlarmCount::of_rate(
                count(of_rule().filter(|alarms| *alarms > 0)),
                hours * 60.0 / setup.minutes,
            )],
            false_alarms_a_week: Some(practice::a_week(alarms, hours)),
            found: found.collect(),
            ..Row::of(model.name, number)
        }
    };
    Rule::ALL.into_iter().enumerate().map(row).collect()
}
