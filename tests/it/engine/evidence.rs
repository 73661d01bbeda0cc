//! Regression evidence: the baseline is learned and then fixed, a drop is detected and reported
//! once, and nothing else is reported.

use std::sync::Arc;

use rankgauge_core::detection::{DropDetector, Hypothesis, TargetTest, against_baseline};
use rankgauge_core::engine::evidence::{Alarm, Test};
use rankgauge_core::engine::settings::{Detection, MonitoredMeasure, Settings};
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::Kind;
use rankgauge_core::gold;

use super::recovery::{restored, write};
use super::{FEEDBACK_WINDOW, START, Samples, World, assign, drain, read, settings, tick};

/// Number of searches from which the baseline is learned.
const LEARNED: u64 = 40;
const TOLERANCE: f64 = 0.01;
/// P@1 is the first of the measures, SessionSuccess the last.
const P_AT_1: usize = 0;
const TARGET: f64 = 0.5;

fn watching(target: Option<f64>, people: Option<usize>) -> Settings {
    let watched = |index, target, is_user_measure| MonitoredMeasure {
        index,
        target,
        is_lower_better: false,
        is_user_measure,
    };
    let people = people.map(|index| watched(index, None, true));
    Settings {
        detection: Detection {
            measures: [watched(P_AT_1, target, false)]
                .into_iter()
                .chain(people)
                .collect(),
            slices: vec![0],
            tolerance: TOLERANCE,
            baseline_searches: LEARNED,
            alpha: 0.001,
            target_threshold: 6.9,
            drop_threshold: 10.0,
            ceiling: 13.0,
            split_threshold: 6.9,
        },
        ..settings()
    }
}

/// Engine that reads searches of one variant, ten per second.
struct Reader {
    world: World,
    engine: Engine,
    read: i64,
}

impl Reader {
    fn new(settings: Settings) -> Self {
        let world = World::new(settings);
        let mut engine = world.engine();
        assign(&mut engine, 0);
        Self {
            world,
            engine,
            read: 0,
        }
    }

    /// Reads a search for gold query 0 or 1, alternately, with a relevant document first or not.
    fn search(&mut self, is_good: bool) {
        let query = self.read % 2;
        let relevant = ["d0", "d3"][usize::try_from(query).expect("0 or 1")];
        let first = if is_good { relevant } else { "d6" };
        let ts = START + self.read * 100;
        let payload = format!(
            r#"{{"query_id": "q{0}", "ts": {ts}, "query_key": "g{query}", "variant": "V1",
                "session_id": "s{0}", "results": [{{"id": "{first}"}}]}}"#,
            self.read
        );
        read(&mut self.engine, Kind::Search, 0, self.read, &payload);
        self.read += 1;
        if self.read % 10 == 0 {
            tick(&mut self.engine, ts);
        }
    }

    fn searches(&mut self, pattern: impl IntoIterator<Item = bool>) {
        pattern.into_iter().for_each(|is_good| self.search(is_good));
    }

    fn samples(&self) -> Samples {
        self.world.samples(&self.engine.snapshot())
    }

    /// Value of a family for the slice `all`.
    fn evidence(&self, family: &str) -> Option<f64> {
        self.first(family, r#"slice="all""#)
    }

    /// Baseline mean.
    fn usual(&self) -> Option<f64> {
        self.first("baseline_score", "")
    }

    fn first(&self, family: &str, labelled: &str) -> Option<f64> {
        let samples = self.samples();
        let is_meant = |name: &&String| name.starts_with(family) && name.contains(labelled);
        let name = samples.keys().find(is_meant)?;
        Some(samples[name].parse().expect("a number"))
    }
}

fn of_drop(alarms: &[Alarm]) -> Vec<&Alarm> {
    let of_drop = alarms.iter().filter(|it| it.test == Test::Drop);
    of_drop.collect()
}

/// Nine of ten searches are good, so that the baseline is not certain.
fn usual(number: usize) -> impl Iterator<Item = bool> {
    (0..number).map(|number| number % 10 != 3)
}

#[test]
fn nothing_is_compared_while_the_baseline_is_learned() {
    let mut reader = Reader::new(watching(None, None));
    reader.searches(usual(39));
    assert_eq!(reader.evidence("drop_log_evidence"), None);
    assert_eq!(reader.usual(), None);
    reader.searches(usual(2));
    assert!(reader.evidence("drop_log_evidence").is_some());
    // Baseline: 35 good of the first 39 searches, and one of the next two. The other is compared.
    assert_eq!(reader.usual(), Some(0.9));
}

#[test]
fn exposed_evidence_equals_that_of_the_standalone_tests() {
    let mut reader = Reader::new(watching(Some(TARGET), None));
    reader.searches(usual(40));
    let tail: Vec<bool> = [true, false, true, true, false, false, true].into();
    reader.searches(tail.iter().copied());
    let hypothesis = Hypothesis::dropped_at_most(TOLERANCE).expect("a tolerance");
    let asked = Hypothesis::at_least(TARGET).expect("a target");
    let (mut drop, mut target) = (DropDetector::default(), TargetTest::default());
    let mut learned = [[0.0; 2]; 2];
    for (number, is_good) in usual(40).enumerate() {
        let score = if is_good { 1.0 } else { 0.0 };
        learned[number % 2][0] += score;
        learned[number % 2][1] += 1.0;
        target.add(score, asked);
    }
    for (number, is_good) in tail.iter().enumerate() {
        let score = if *is_good { 1.0 } else { 0.0 };
        let [sum, count] = learned[number % 2];
        drop.add(against_baseline(score, sum / count), hypothesis);
        target.add(score, asked);
    }
    let close = |found: Option<f64>, expected: f64| {
        let found = found.expect("it is exposed");
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    };
    close(reader.evidence("drop_log_evidence"), drop.log_evidence());
    close(
        reader.evidence("target_log_evidence"),
        target.log_evidence(),
    );
}

#[test]
fn a_drop_is_reported_once_with_the_regressed_queries() {
    let mut reader = Reader::new(watching(None, None));
    reader.searches(usual(400));
    assert_eq!(reader.engine.take_alarms(), []);
    reader.searches((0..200).map(|number| number % 2 == 0));
    let alarms = reader.engine.take_alarms();
    // The slice `all` and its slices by query type: two queries, two types.
    let whole = &of_drop(&alarms)[0];
    assert!(whole.log_evidence >= whole.threshold, "{whole:?}");
    assert!((whole.expected - 0.9).abs() < 1e-9, "{whole:?}");
    assert!(whole.recent < 0.9, "{whole:?}");
    let regressed: Vec<&str> = whole
        .worst_regressions
        .iter()
        .map(|it| &*it.query)
        .collect();
    // Every second search is bad, and every second search is for g1.
    assert_eq!(regressed, ["g1"]);
    reader.searches((0..200).map(|number| number % 2 == 0));
    assert_eq!(reader.engine.take_alarms(), []);
    assert_eq!(reader.evidence("regression"), Some(1.0));
}

#[test]
fn a_missed_target_is_reported() {
    let mut reader = Reader::new(watching(Some(0.95), None));
    reader.searches((0..300).map(|number| number % 3 == 0));
    let alarms = reader.engine.take_alarms();
    let missed = alarms.iter().find(|it| it.test == Test::Target);
    let missed = missed.expect("2 of 3 fail");
    assert!((missed.expected - 0.95).abs() < 1e-12, "{missed:?}");
}

#[test]
fn a_baseline_reset_discards_the_learned_baseline() {
    let mut reader = Reader::new(watching(None, None));
    reader.searches(usual(100));
    reader.engine.apply(Input::ResetBaselines);
    assert_eq!(reader.evidence("drop_log_evidence"), None);
    reader.searches((0..200).map(|_| false));
    assert_eq!(of_drop(&reader.engine.take_alarms()), Vec::<&Alarm>::new());
    assert_eq!(reader.usual(), Some(0.0));
}

#[test]
fn scores_of_another_gold_set_are_not_compared() {
    let mut reader = Reader::new(watching(None, None));
    reader.searches(usual(100));
    let same = Arc::clone(&reader.world.gold);
    reader.engine.apply(Input::Gold(same));
    assert!(reader.evidence("drop_log_evidence").is_some());
    let other = r#"{"queries": [
        {"query_id": "g0", "query_text": "다른", "ground_truth": {"d6": 1}},
        {"query_id": "g1", "query_text": "말", "ground_truth": {"d6": 1}}
    ]}"#;
    let other = gold::parse("gold.json", other.as_bytes(), &gold::Options::default());
    reader
        .engine
        .apply(Input::Gold(Arc::new(other.expect("a gold set"))));
    assert_eq!(reader.evidence("drop_log_evidence"), None);
    reader.searches(usual(100));
    assert_eq!(reader.usual(), Some(0.1));
}

#[test]
fn a_session_is_one_observation_of_user_behaviour() {
    let people = settings()
        .measures
        .iter()
        .position(|it| it.to_string() == "CTR");
    let mut reader = Reader::new(watching(None, people));
    // Ten searches per session.
    for number in 0..400_i64 {
        let ts = START + number * 100;
        let payload = format!(
            r#"{{"query_id": "q{number}", "ts": {ts}, "query": "무엇", "session_id": "s{}",
                "results": [{{"id": "d1"}}]}}"#,
            number / 10
        );
        read(&mut reader.engine, Kind::Search, 0, number, &payload);
    }
    drain(
        &mut [&mut reader.engine],
        1,
        START + 40_000 + FEEDBACK_WINDOW,
    );
    let samples = reader.samples();
    let searches: Vec<_> = samples
        .iter()
        .filter(|(name, _)| name.starts_with("baseline_searches") && name.contains("CTR"))
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(searches, ["40"]);
}

#[test]
fn evidence_survives_a_restart() {
    let mut reader = Reader::new(watching(Some(TARGET), None));
    reader.searches(usual(100));
    let world = World::new(watching(Some(TARGET), None));
    let (engine, _) = restored(&world, &write(&reader.engine));
    let of_evidence = |mut samples: Samples| {
        samples.retain(|name, _| {
            ["evidence", "baseline", "bound", "regression"]
                .iter()
                .any(|part| name.contains(part))
        });
        samples
    };
    let expected = of_evidence(reader.samples());
    assert!(expected.len() > 10, "{expected:#?}");
    assert_eq!(of_evidence(world.samples(&engine.snapshot())), expected);
}
