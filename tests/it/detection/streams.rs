//! Event streams of the audit through the whole engine, with the alarms beside the promise: weekends and
//! nights, bots, sticky users and double clicks.

use std::sync::Arc;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rankgauge::config;
use rankgauge_core::decode::Formats;
use rankgauge_core::detection::{SplitTest, log_threshold};
use rankgauge_core::engine::evidence::Test;
use rankgauge_core::engine::read_model::ReadModel;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::{Engine, Input, Position, Registry};
use rankgauge_core::event::Kind;
use rankgauge_core::gold;
use rankgauge_core::records;
use rankgauge_core::time::WallTime;
use serde_json::{Value, json};

/// A Monday, 00:00 UTC.
const START: i64 = 1_763_337_600_000;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Gold set of one query with ten relevant documents.
fn gold_set() -> String {
    let grades: Vec<(String, Value)> = (1..=10).map(|it| (format!("r{it}"), json!(1))).collect();
    let grades: serde_json::Map<String, Value> = grades.into_iter().collect();
    json!({"queries": [{"query_id": "q", "ground_truth": grades}]}).to_string()
}

/// Engine that reads events as the sidecar does.
struct Sidecar {
    settings: Arc<Settings>,
    registry: Arc<Registry>,
    engine: Engine,
    offsets: [i64; 2],
    ticked: i64,
    /// Event time of each alarm of a drop.
    drops: Vec<i64>,
}

impl Sidecar {
    fn new(configuration: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rankgauge.yaml");
        std::fs::write(&path, configuration).expect("a file");
        let config = config::load(&[path], std::iter::empty(), &[]).expect("a configuration");
        let settings = Arc::new(config.engine);
        let registry = Arc::new(Engine::registry(&settings));
        let mut engine = Engine::new(
            Arc::clone(&settings),
            Arc::clone(&registry),
            WallTime(START),
        );
        let gold = gold::parse(
            "gold.json",
            gold_set().as_bytes(),
            &gold::Options::default(),
        );
        engine.apply(Input::Gold(Arc::new(gold.expect("a gold set"))));
        Self {
            settings,
            registry,
            engine,
            offsets: [0; 2],
            ticked: START,
            drops: Vec::new(),
        }
    }

    fn read(&mut self, kind: Kind, ts: i64, event: &Value) {
        if ts - self.ticked >= 5 * MINUTE {
            self.tick(ts);
        }
        let offset = &mut self.offsets[kind.index()];
        let at = Position {
            partition: 0,
            offset: *offset,
        };
        *offset += 1;
        let payload = event.to_string();
        let payload = (kind, at, payload.as_bytes());
        let rejected = records::apply(&mut self.engine, &Formats::NATIVE, [payload], |_, _, _| ());
        assert_eq!(rejected, [], "{event}");
    }

    fn tick(&mut self, ts: i64) {
        self.ticked = ts;
        let wall = WallTime(ts);
        self.engine.apply(Input::Tick { wall, others: None });
        let alarms = self.engine.take_effects().alarms;
        let drops = alarms.iter().filter(|alarm| alarm.test == Test::Drop);
        self.drops.extend(drops.map(|_| ts));
    }

    /// Calls `look` with what is exposed.
    fn look<T>(&mut self, look: impl FnOnce(&ReadModel<'_>) -> T) -> T {
        let snapshot = self.engine.snapshot();
        look(&ReadModel::new(&snapshot, &self.settings, &self.registry))
    }
}

/// Event times of a day and night with more traffic at day, `per_day` of them.
fn times(chance: &mut ChaCha8Rng, days: i64, per_day: u32) -> Vec<i64> {
    let mut times = Vec::new();
    for day in 0..days {
        for _ in 0..per_day {
            // The sum of two is most frequent at noon.
            let part = f64::midpoint(chance.random(), chance.random());
            times.push(START + day * DAY + millis(part * 86_400.0));
        }
    }
    times.sort_unstable();
    times
}

#[allow(clippy::cast_possible_truncation, reason = "seconds of a few weeks")]
fn millis(seconds: f64) -> i64 {
    (seconds * 1_000.0) as i64
}

/// Share of the sessions with a click: less at weekends and at night.
fn click_rate(ts: i64) -> f64 {
    let hour = f64::from(i32::try_from((ts - START) % DAY / HOUR).expect("an hour"));
    let is_weekend = (ts - START) / DAY % 7 >= 5;
    let of_day = 0.05 * ((hour - 13.0) / 24.0 * std::f64::consts::TAU).cos();
    0.6 + of_day - if is_weekend { 0.05 } else { 0.0 }
}

/// Alarms of a user measure over four weeks, in which the click rate falls by `drop` on day 17.
fn weeks(seed: u64, drop: f64) -> Vec<i64> {
    let mut sidecar = Sidecar::new(
        "measures: [CTR]\ndetection: {measures: [CTR], series: 1}\n\
         engine: {feedback_window: 2m}\n",
    );
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    for (number, ts) in times(&mut chance, 28, 1_000).into_iter().enumerate() {
        let id = format!("s{number}");
        let search = json!({"query_id": id, "ts": ts, "session_id": id, "query": "anything",
            "variant": "V", "results": [{"id": "d"}]});
        sidecar.read(Kind::Search, ts, &search);
        let rate = click_rate(ts) - if ts >= START + 17 * DAY { drop } else { 0.0 };
        if chance.random::<f64>() < rate {
            let click = json!({"event_id": format!("c{number}"), "ts": ts + 5_000, "type": "click",
                "query_id": id, "position": 1});
            sidecar.read(Kind::Feedback, ts + 5_000, &click);
        }
    }
    sidecar.tick(START + 28 * DAY);
    sidecar.drops
}

#[test]
fn weekends_and_nights_raise_no_alarm_and_a_drop_does() {
    const STREAMS: u64 = 4;
    let false_alarms = (0..STREAMS).filter(|seed| !weeks(*seed, 0.0).is_empty());
    // Promised: one alarm of the series in 90 days, here 4 x 28 days.
    let false_alarms = false_alarms.count();
    eprintln!("weekends: {false_alarms} of {STREAMS} streams with an alarm; 1.2 promised");
    assert_eq!(false_alarms, 0);
    let alarms = weeks(100, 0.2);
    let drop = START + 17 * DAY;
    let hours = alarms.first().map(|first| (first - drop) / HOUR);
    eprintln!("a drop of 0.2 on day 17, 1,000 sessions a day: {hours:?} hours");
    assert!(hours.is_some_and(|it| (0..24).contains(&it)), "{alarms:?}");
}

/// Unit of an A/A test and its traffic.
#[derive(Clone, Copy)]
enum Units {
    /// Sessions of about three searches are assigned, and a bot sends 1,800 searches in an hour.
    SessionsWithBot,
    /// 1,500 users whose means differ are assigned.
    StickyUsers,
}

/// Result of an A/A test of a day: true if the variant is ever worse, if an interval ever excludes 0,
/// and if the split ever has an alarm; and the number of evaluations with a difference.
fn same_arms(units: Units, seed: u64) -> ([bool; 3], u32) {
    let assignment = match units {
        Units::SessionsWithBot => "session",
        Units::StickyUsers => "user",
    };
    let mut sidecar = Sidecar::new(&format!(
        "measures: [P@10]\ndetection: {{measures: []}}\n\
         experiments: [{{id: e, control: V1, assignment: {assignment}, guardrails: [P@10], \
         arms: [{{variant: V1, share: 0.5}}, {{variant: V2, share: 0.5}}]}}]\n"
    ));
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let users: Vec<(f64, bool)> = (0..1_500)
        .map(|_| (chance.random::<f64>() * 0.4 - 0.2, chance.random::<bool>()))
        .collect();
    // Event time, unit, arm and rate of relevant results.
    let mut searches: Vec<(i64, usize, bool, f64)> = Vec::new();
    for (session, ts) in times(&mut chance, 1, 2_000).into_iter().enumerate() {
        let (unit, arm, difference) = match units {
            Units::SessionsWithBot => {
                let mood = chance.random::<f64>() * 0.2 - 0.1;
                (session, chance.random::<bool>(), mood)
            }
            Units::StickyUsers => {
                // Few users have many sessions.
                let rank = chance.random::<f64>().powi(2) * 1_500.0;
                let user = usize::try_from(millis(rank) / 1_000).expect("a user");
                (user, users[user].1, users[user].0)
            }
        };
        for place in 0..chance.random_range(1..=5_i64) {
            searches.push((ts + place * 25_000, unit, arm, 0.6 + difference));
        }
    }
    if matches!(units, Units::SessionsWithBot) {
        let (start, arm) = (START + 5 * HOUR, chance.random::<bool>());
        searches.extend((0..1_800).map(|it| (start + it * 2_000, 9_999_999, arm, 0.1)));
    }
    searches.sort_by_key(|(ts, ..)| *ts);
    let (mut found, mut evaluations) = ([false; 3], 0);
    for (number, (ts, unit, arm, rate)) in searches.into_iter().enumerate() {
        let results: Vec<Value> = (1..=10)
            .map(|it| {
                let is_relevant = chance.random::<f64>() < rate;
                json!({"id": if is_relevant { format!("r{it}") } else { format!("n{it}") }})
            })
            .collect();
        let search = json!({"query_id": format!("s{number}"), "ts": ts, "query_key": "q",
            "session_id": format!("u{unit}"), "user_id": format!("u{unit}"), "results": results,
            "experiment": {"id": "e", "variant": if arm { "V2" } else { "V1" }}});
        sidecar.read(Kind::Search, ts, &search);
        if number % 500 == 499 {
            let now = sidecar.look(|model| {
                let experiment = &sidecar_experiments(model)[0];
                let arms = model.arms(experiment);
                let variant = arms.iter().find(|arm| !arm.is_control).expect("a variant");
                let difference = model.difference(0, variant, experiment);
                let worse = difference.and_then(|it| it.log_evidence_worse);
                let [lower, upper] = difference.map_or([-1.0, 1.0], |it| it.interval);
                let split = model.split_evidence(experiment).unwrap_or_default();
                evaluations += u32::from(difference.is_some() && split < 0.0);
                [
                    worse.is_some_and(|it| it >= log_threshold(0.001)),
                    lower > 0.0 || upper < 0.0,
                    split >= SplitTest::threshold(),
                ]
            });
            found = std::array::from_fn(|at| found[at] || now[at]);
        }
    }
    (found, evaluations)
}

fn sidecar_experiments<'m>(
    model: &'m ReadModel<'_>,
) -> &'m [rankgauge_core::engine::settings::Experiment] {
    &model.settings().experiments
}

#[test]
fn bots_and_sticky_users_are_no_difference_and_no_wrong_split() {
    const STREAMS: u64 = 4;
    for (name, units) in [
        ("sessions with a bot", Units::SessionsWithBot),
        ("sticky users", Units::StickyUsers),
    ] {
        let mut counts = [0; 3];
        for seed in 0..STREAMS {
            let (found, evaluations) = same_arms(units, seed);
            assert!(evaluations > 5, "{name}: {evaluations}");
            counts = std::array::from_fn(|at| counts[at] + u32::from(found[at]));
        }
        let [worse, interval, split] = counts;
        eprintln!(
            "{name}, A/A, {STREAMS} days: worse {worse}, interval without 0 {interval}, split {split}; \
             0.004 promised of each"
        );
        assert_eq!(counts, [0; 3], "{name}");
    }
}

#[test]
fn double_clicks_are_no_preference() {
    const STREAMS: u64 = 10;
    let (mut alarms, mut sessions) = (0, 0);
    for seed in 0..STREAMS {
        let mut sidecar = Sidecar::new("measures: [CTR]\nengine: {feedback_window: 2m}\n");
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let mut clicks = 0;
        for (number, ts) in times(&mut chance, 1, 400).into_iter().enumerate() {
            let id = format!("s{number}");
            let results: Vec<Value> = (0..6)
                .map(|it| json!({"id": format!("d{it}"), "team": if it % 2 == 0 { "A" } else { "B" }}))
                .collect();
            let search = json!({"query_id": id, "ts": ts, "session_id": id, "query": "anything",
                "experiment": {"id": "draft", "variant": "V1"}, "results": results});
            sidecar.read(Kind::Search, ts, &search);
            for position in 1..=6 {
                if chance.random::<f64>() < 0.25 {
                    // Some users click a result of A again and again.
                    let again = if position % 2 == 1 {
                        chance.random_range(1..=6)
                    } else {
                        1
                    };
                    for place in 0..again {
                        clicks += 1;
                        let click = json!({"event_id": format!("c{clicks}"), "ts": ts + 1_000 + place,
                            "type": "click", "query_id": id, "position": position});
                        sidecar.read(Kind::Feedback, ts + 1_000 + place, &click);
                    }
                }
            }
        }
        sidecar.tick(START + 2 * DAY);
        sidecar.engine.drain();
        let (count, evidence) = sidecar.look(|model| {
            let pair = &model.team_pairs()[0];
            let it = pair.preference;
            (it.wins + it.losses + it.ties, it.log_evidence())
        });
        sessions += count;
        alarms += u32::from(evidence >= SplitTest::threshold());
    }
    eprintln!("double clicks: {alarms} of {STREAMS} streams prefer a team; 0.01 promised");
    assert_eq!((alarms, sessions), (0, 400 * STREAMS));
}
