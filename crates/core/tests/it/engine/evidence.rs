//! Regression evidence: searches are compared with the earlier searches of their query, a drop is
//! detected and reported once, and nothing else is reported.

use std::sync::Arc;

use rankgauge_core::detection::{BlockTest, Burst, DropTest, Part, SeriesRules, log_threshold};
use rankgauge_core::engine::evidence::{Alarm, Test};
use rankgauge_core::engine::partition::Resume;
use rankgauge_core::engine::settings::{Detection, MonitoredMeasure, Settings};
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::time::{EventTime, WallTime};

use super::recovery::{read_back, restored, write};
use super::{
    FEEDBACK_WINDOW, START, Samples, World, assign, drain, read_feedback, read_search, settings,
    tick,
};

const TOLERANCE: f64 = 0.01;
/// P@1 is the first of the measures, SessionSuccess the last.
const P_AT_1: usize = 0;
const TARGET: f64 = 0.5;
const ALPHA: f64 = 0.001;

/// Time between two searches. Each of the two queries is served once a minute.
pub(super) const STEP: i64 = 30_000;

pub(super) fn watching(target: Option<f64>, people: Option<usize>) -> Settings {
    let watched = |index, target, is_user_measure| MonitoredMeasure {
        index,
        target,
        is_lower_better: false,
        is_user_measure,
        is_seasonal: is_user_measure,
    };
    let people = people.map(|index| watched(index, None, true));
    Settings {
        detection: Detection {
            measures: [watched(P_AT_1, target, false)]
                .into_iter()
                .chain(people)
                .collect(),
            slices: vec![0],
            means: Vec::new(),
            tolerance: TOLERANCE,
            warm_up_tolerance: TOLERANCE,
            local: true,
            burst: Burst::default(),
            alpha: ALPHA,
            target_threshold: log_threshold(ALPHA),
            workers: 1,
            replicas: 1,
            drop_threshold: 10.0,
            split_threshold: 6.9,
        },
        ..settings()
    }
}

fn deployed(variant: &str) -> Input<'_> {
    Input::Deployed {
        variant,
        version: None,
        at: EventTime(START),
        reset: Some(WallTime(START)),
    }
}

/// Engine that reads searches of one variant, two per minute.
pub(super) struct Reader {
    pub(super) world: World,
    pub(super) engine: Engine,
    pub(super) read: i64,
}

impl Reader {
    pub(super) fn new(settings: Settings) -> Self {
        Self::of(&World::new(settings))
    }

    /// One worker, which has read nothing.
    pub(super) fn of(world: &World) -> Self {
        let mut engine = world.engine();
        assign(&mut engine, 0);
        Self {
            world: world.clone(),
            engine,
            read: 0,
        }
    }

    /// Reads a search for gold query 0 or 1, alternately, with a relevant document first or not.
    fn search(&mut self, is_good: bool) {
        self.search_at(START + self.read * STEP, is_good);
    }

    fn search_at(&mut self, ts: i64, is_good: bool) {
        let query = self.read % 2;
        let relevant = ["d0", "d3"][usize::try_from(query).expect("0 or 1")];
        let first = if is_good { relevant } else { "d6" };
        let payload = format!(
            r#"{{"query_id": "q{0}", "ts": {ts}, "query_key": "g{query}", "variant": "V1",
                "session_id": "s{0}", "results": [{{"id": "{first}"}}]}}"#,
            self.read
        );
        read_search(&mut self.engine, 0, self.read, &payload);
        self.read += 1;
        tick(&mut self.engine, ts);
    }

    pub(super) fn searches(&mut self, pattern: impl IntoIterator<Item = bool>) {
        pattern.into_iter().for_each(|is_good| self.search(is_good));
    }

    pub(super) fn samples(&self) -> Samples {
        self.world.samples(&self.engine.snapshot())
    }

    /// Value of a family for the slice `all`.
    fn evidence(&self, family: &str) -> Option<f64> {
        self.first(family, r#"slice="all""#)
    }

    /// Baseline mean.
    pub(super) fn baseline(&self) -> Option<f64> {
        self.first("baseline_score", "")
    }

    pub(super) fn first(&self, family: &str, labelled: &str) -> Option<f64> {
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
pub(super) fn healthy(number: usize) -> impl Iterator<Item = bool> {
    (0..number).map(|number| number % 10 != 3)
}

#[track_caller]
fn assert_close(found: Option<f64>, expected: f64) {
    let found = found.expect("it is exposed");
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

/// Evidence of both tests for a pattern of searches, from the standalone tests.
fn standalone(pattern: &[bool], offset: i64) -> (f64, f64) {
    let rules = SeriesRules {
        threshold: 10.0,
        tolerance: TOLERANCE,
        warm_up_tolerance: TOLERANCE,
        repeat_window: Burst::default().repeat_window(),
        has_local: true,
        is_seasonal: false,
        alarmed: None,
    };
    let (mut drop, mut target) = (DropTest::new(rules), BlockTest::new(TARGET));
    for (number, is_good) in (offset..).zip(pattern) {
        let ts = START + number * STEP;
        let score = if *is_good { 1.0 } else { 0.0 };
        drop.add(ts, Some(number % 2), score);
        target.add(ts, score, Burst::default().block());
    }
    (drop.log_evidence(), target.log_evidence(TARGET))
}

#[test]
fn a_query_is_compared_from_its_second_search_on() {
    let mut reader = Reader::new(watching(None, None));
    reader.searches([true, true]);
    assert_eq!(reader.evidence("drop_log_evidence"), None);
    assert_eq!(reader.baseline(), Some(1.0));
    assert_eq!(reader.first("baseline_queries", ""), Some(2.0));
    reader.search(false);
    assert!(
        reader
            .evidence("drop_log_evidence")
            .is_some_and(|it| it > 0.0)
    );
    // Compared first and learned second.
    assert_close(reader.baseline(), 2.0 / 3.0);
    assert_eq!(reader.first("baseline_searches", ""), Some(3.0));
}

#[test]
fn exposed_evidence_equals_that_of_the_standalone_tests() {
    let mut reader = Reader::new(watching(Some(TARGET), None));
    let mut pattern: Vec<bool> = healthy(150).collect();
    pattern.extend([true, false, true, true, false, false, true]);
    reader.searches(pattern.iter().copied());
    let (drop, target) = standalone(&pattern, 0);
    assert_close(reader.evidence("drop_log_evidence"), drop);
    assert_close(reader.evidence("target_log_evidence"), target);
    assert!(target < 0.0, "five blocks are closed: {target}");
}

#[test]
fn a_burst_of_a_query_is_one_observation() {
    let mut reader = Reader::new(watching(None, None));
    reader.searches(healthy(40));
    let at = START + 40 * STEP;
    reader.search_at(at, false);
    reader.search_at(at, false);
    let before = reader.evidence("drop_log_evidence");
    for place in 1..50 {
        reader.search_at(at + place * 100, false);
    }
    assert_eq!(reader.evidence("drop_log_evidence"), before);
}

#[test]
fn evidence_does_not_depend_on_ticks() {
    let mut reader = Reader::new(watching(Some(TARGET), None));
    let pattern: Vec<bool> = healthy(100).collect();
    reader.searches(pattern.iter().copied());
    let (drop, _) = standalone(&pattern, 0);
    tick(&mut reader.engine, START + 200 * STEP);
    assert_close(reader.evidence("drop_log_evidence"), drop);
}

#[test]
fn a_drop_is_reported_once_with_the_regressed_queries() {
    let mut reader = Reader::new(watching(None, None));
    reader.searches(healthy(400));
    assert_eq!(reader.engine.take_effects().alarms, []);
    reader.searches((0..200).map(|number| number % 2 == 0));
    let alarms = reader.engine.take_effects().alarms;
    // The slice `all` and its slices by query type: two queries, two types.
    let whole = &of_drop(&alarms)[0];
    assert!(whole.log_evidence >= whole.threshold, "{whole:?}");
    assert!(whole.expected > whole.recent + 0.05, "{whole:?}");
    let regressed: Vec<&str> = whole
        .worst_regressions
        .iter()
        .map(|it| &*it.query)
        .collect();
    // Every second search is bad, and every second search is for g1.
    assert_eq!(regressed, ["g1"]);
    reader.searches((0..200).map(|number| number % 2 == 0));
    assert_eq!(reader.engine.take_effects().alarms, []);
    assert_eq!(reader.only().ended, None);
}

/// Engines of two workers that read the searches of `patterns`, one after the other in time, and
/// the samples of both together.
fn two_workers(patterns: [&[bool]; 2], replicas: u64) -> (Vec<Reader>, Samples) {
    let mut settings = watching(Some(TARGET), None);
    settings.detection.workers = 2;
    settings.detection.replicas = replicas;
    let world = World::new(settings);
    let readers: Vec<Reader> = patterns
        .iter()
        .map(|pattern| {
            let mut reader = Reader::of(&world);
            reader.searches(pattern.iter().copied());
            reader
        })
        .collect();
    let merge = |order: [usize; 2]| {
        let mut all = readers[order[0]].engine.snapshot();
        all.merge(&readers[order[1]].engine.snapshot());
        world.samples(&all)
    };
    let samples = merge([0, 1]);
    let of_evidence = |mut samples: Samples| {
        samples.retain(|name, _| name.contains("evidence") || name.contains("bound"));
        samples
    };
    assert_eq!(of_evidence(merge([1, 0])), of_evidence(samples.clone()));
    (readers, samples)
}

fn value(samples: &Samples, family: &str, labelled: &[&str]) -> f64 {
    let is_meant = |name: &&String| {
        name.starts_with(family) && labelled.iter().all(|label| name.contains(label))
    };
    let name = samples.keys().find(is_meant).expect("the sample");
    samples[name].parse().expect("a number")
}

/// Log of the sum of two e-values.
fn log_sum(one: f64, other: f64) -> f64 {
    (one.exp() + other.exp()).ln()
}

const WHOLE: &str = r#"slice="all""#;

#[test]
fn evidence_of_workers_is_averaged_for_targets_and_summed_for_drops() {
    let good: Vec<bool> = healthy(150).collect();
    let bad: Vec<bool> = (0..150).map(|number| number % 3 == 0).collect();
    let (_, samples) = two_workers([&good, &bad], 1);
    let (good, bad) = (standalone(&good, 0), standalone(&bad, 0));
    let drop = value(&samples, "drop_log_evidence", &[WHOLE]);
    assert_close(Some(drop), log_sum(good.0, bad.0));
    let target = value(&samples, "target_log_evidence", &[WHOLE]);
    assert_close(Some(target), log_sum(good.1, bad.1) - 2.0_f64.ln());
    // A product of e-values would be an alarm for a burst that two workers share.
    assert!(target < good.1.max(bad.1));
}

#[test]
fn one_worker_alone_alarms_at_the_threshold_of_all() {
    // Of 2 workers in each of 3 replicas.
    let bad: Vec<bool> = (0..400).map(|number| number % 3 == 0).collect();
    let (mut readers, samples) = two_workers([&bad, &bad], 3);
    let alarms = readers[0].engine.take_effects().alarms;
    let missed = alarms.iter().find(|it| it.test == Test::Target);
    let missed = missed.expect("1 of 3 is good, half are required");
    assert_close(Some(missed.threshold), (6.0_f64 / ALPHA).ln());
    assert!(missed.log_evidence >= missed.threshold);
    // The mean of both is sufficient for an alarm of one of three replicas.
    let both = value(&samples, "target_log_evidence", &[WHOLE]);
    assert!(both >= (3.0 / ALPHA).ln(), "{both}");
    let exposed = value(&samples, "evidence_threshold", &[r#"test="target""#]);
    assert_close(Some(exposed), (1.0 / ALPHA).ln());
}

#[test]
fn bounds_of_workers_hold_together() {
    let good: Vec<bool> = healthy(200).collect();
    let bad: Vec<bool> = (0..400).map(|number| number % 3 == 0).collect();
    let (_, samples) = two_workers([&good, &bad], 2);
    // Of each of four workers at alpha / 4, then the mean weighted by the searches of closed
    // blocks.
    let threshold = (4.0 / ALPHA).ln();
    let bounds = [&good, &bad].map(|pattern| {
        let mut test = BlockTest::new(TARGET);
        for (number, is_good) in (0..).zip(pattern) {
            let score = if *is_good { 1.0 } else { 0.0 };
            test.add(START + number * STEP, score, Burst::default().block());
        }
        let count = f64::from(u32::try_from(test.searches()).expect("few"));
        (count, test.bounds(threshold))
    });
    let [
        (m, [first_lower, first_upper]),
        (n, [second_lower, second_upper]),
    ] = bounds;
    let lower = value(&samples, "score_bound", &[WHOLE, r#"bound="lower""#]);
    assert_close(Some(lower), (m * first_lower + n * second_lower) / (m + n));
    let searches = value(&samples, "score_bound_searches", &[WHOLE]);
    assert_close(Some(searches), m + n);
    let upper = value(&samples, "score_bound", &[WHOLE, r#"bound="upper""#]);
    assert_close(Some(upper), (m * first_upper + n * second_upper) / (m + n));
    assert!(
        0.0 < lower && lower < upper && upper < 1.0,
        "{lower} {upper}"
    );
}

#[test]
fn a_missed_target_is_reported() {
    let mut reader = Reader::new(watching(Some(0.95), None));
    reader.searches((0..300).map(|number| number % 3 == 0));
    let alarms = reader.engine.take_effects().alarms;
    let missed = alarms.iter().find(|it| it.test == Test::Target);
    let missed = missed.expect("2 of 3 fail");
    assert!((missed.expected - 0.95).abs() < 1e-12, "{missed:?}");
}

#[test]
fn a_target_is_tested_again_from_a_deployment_that_keeps_the_baselines() {
    let mut reader = Reader::new(watching(Some(0.95), None));
    reader.searches((0..300).map(|number| number % 3 == 0));
    let missed = |reader: &mut Reader| {
        let alarms = reader.engine.take_effects().alarms;
        alarms.iter().any(|it| it.test == Test::Target)
    };
    assert!(missed(&mut reader));
    let baseline = reader.baseline();
    reader.engine.apply(Input::Deployed {
        variant: "V1",
        version: Some("2"),
        at: EventTime(START + 1),
        reset: None,
    });
    assert_eq!(reader.baseline(), baseline);
    assert_eq!(reader.evidence("target_log_evidence"), Some(0.0));
    reader.searches((0..300).map(|number| number % 3 == 0));
    assert!(missed(&mut reader), "it is reported again");
}

#[test]
fn a_baseline_reset_discards_the_learned_baseline() {
    let mut reader = Reader::new(watching(None, None));
    reader.searches(healthy(100));
    reader.engine.apply(Input::ResetBaselines {
        reported: WallTime(START),
    });
    assert_eq!(reader.evidence("drop_log_evidence"), None);
    reader.searches((0..200).map(|_| false));
    assert_eq!(
        of_drop(&reader.engine.take_effects().alarms),
        Vec::<&Alarm>::new()
    );
    assert_eq!(reader.baseline(), Some(0.0));
}

#[test]
fn scores_of_another_gold_set_are_not_compared() {
    let mut reader = Reader::new(watching(None, None));
    reader.searches(healthy(100));
    let same = Arc::clone(&reader.world.gold);
    reader.engine.apply(Input::Gold(same));
    assert!(reader.evidence("drop_log_evidence").is_some());
    reader.engine.apply(Input::Gold(other_gold_set()));
    assert_eq!(reader.evidence("drop_log_evidence"), None);
    reader.searches(healthy(100));
    assert_close(reader.baseline(), 0.1);
}

/// Gold set in which only the document d6 is relevant.
#[test]
fn a_deployment_resets_the_variant_alone() {
    let mut reader = Reader::new(watching(Some(TARGET), None));
    reader.searches(healthy(60));
    reader.engine.apply(deployed("V2"));
    assert!(reader.baseline().is_some());
    reader.engine.apply(deployed("V1"));
    assert_eq!(reader.baseline(), None);
    assert_eq!(reader.evidence("target_log_evidence"), None);
    // What the deployment was expected to change is no drop.
    reader.searches((0..200).map(|_| false));
    let alarms = reader.engine.take_effects().alarms;
    assert!(of_drop(&alarms).is_empty(), "{alarms:?}");
}

#[test]
fn a_drop_states_its_size_its_start_and_its_searches() {
    let mut reader = Reader::new(watching(None, None));
    reader.searches(healthy(40));
    assert_eq!(reader.evidence("incident_loss"), None, "no drop");
    reader.searches(healthy(360));
    let start = START + reader.read * STEP;
    let mut alarms = Vec::new();
    while of_drop(&alarms).is_empty() {
        // Half of the searches that were good are bad.
        reader.search(reader.read % 4 < 2);
        alarms = reader.engine.take_effects().alarms;
        assert!(reader.read < 1_000, "the drop is found");
    }
    let drop = of_drop(&alarms)[0].drop.expect("a drop has a size");
    assert!(
        drop.lower < drop.estimate && drop.estimate < drop.upper,
        "{drop:?}"
    );
    assert!((0.2..0.7).contains(&drop.estimate), "{drop:?}");
    let late = drop.since - start.div_euclid(60_000);
    assert!((-10..10).contains(&late), "started {late} minutes late");
    let searches = i64::try_from(drop.searches).expect("few");
    assert!(searches <= (reader.read - 400) + 20, "{drop:?}");
    let snapshot = reader.engine.snapshot();
    let mut incidents = snapshot.totals.evidence.incidents();
    let incident = incidents.next().expect("an incident");
    let loss = incident.loss_now(&incident.measures[0]);
    let samples = reader.samples();
    let is_whole = |name: &str| {
        let labels = [r#"slice="all""#, r#"bound="estimate""#];
        name.starts_with("incident_loss") && labels.iter().all(|it| name.contains(it))
    };
    let exposed = samples.iter().find(|(name, _)| is_whole(name));
    let exposed = exposed.map(|(_, value)| value.parse().expect("a number"));
    assert_close(exposed, loss.expect("a loss").mean);
    assert!(
        reader
            .evidence("incident_start_timestamp_seconds")
            .is_some()
    );
    let info = samples
        .iter()
        .filter(|(name, _)| name.starts_with("incident_info"));
    let of_it = [
        format!(r#"incident="{}""#, incident.name()),
        format!(r#"severity="{}""#, incident.severity().name()),
    ];
    let of_it = info.filter(|(name, _)| of_it.iter().all(|label| name.contains(label)));
    assert_eq!(of_it.count(), incident.measures.len());
}

/// Reads a search for one of `queries` gold queries every three seconds, in rounds. The first three
/// queries fail from the round `drop` on; every query fails in one round of ten.
fn rounds(reader: &mut Reader, queries: i64, rounds: std::ops::Range<i64>, drop: i64) {
    for round in rounds {
        for query in 0..queries {
            let number = round * queries + query;
            let ts = START + number * 3_000;
            let is_good = (query * 7 + round) % 10 != 0 && (query >= 3 || round < drop);
            let first = if is_good { "d0" } else { "d1" };
            let payload = format!(
                r#"{{"query_id": "q{number}", "ts": {ts}, "query_key": "g{query}", "variant": "V1",
                    "results": [{{"id": "{first}"}}]}}"#
            );
            read_search(&mut reader.engine, 0, number, &payload);
            tick(&mut reader.engine, ts);
        }
    }
}

fn gold_set_of(queries: i64) -> Arc<GoldSet> {
    let queries = (0..queries).map(|query| {
        format!(r#"{{"query_id": "g{query}", "query_text": "질문 {query}", "ground_truth": {{"d0": 1}}}}"#)
    });
    let queries: Vec<String> = queries.collect();
    let set = format!(r#"{{"queries": [{}]}}"#, queries.join(","));
    let set = gold::parse("gold.json", set.as_bytes(), &gold::Options::default());
    Arc::new(set.expect("a gold set"))
}

#[test]
fn a_drop_of_three_queries_of_a_hundred_names_them() {
    let mut reader = Reader::new(watching(None, None));
    reader.engine.apply(Input::Gold(gold_set_of(100)));
    rounds(&mut reader, 100, 0..40, 40);
    assert_eq!(reader.engine.take_effects().alarms, []);
    let mut alarms = Vec::new();
    let mut round = 40;
    while of_drop(&alarms).is_empty() {
        rounds(&mut reader, 100, round..round + 1, 40);
        alarms = reader.engine.take_effects().alarms;
        round += 1;
        assert!(round < 80, "the drop is found");
    }
    let alarm = of_drop(&alarms)[0];
    assert_eq!(alarm.part, Some(Part::Some), "{alarm:?}");
    let named = alarm.worst_regressions.iter().map(|it| &*it.query);
    let named: Vec<&str> = named.take(3).collect();
    assert!(
        ["g0", "g1", "g2"].iter().all(|it| named.contains(it)),
        "{named:?}"
    );
}

#[test]
fn without_the_local_part_a_drop_is_one_of_all_queries() {
    let mut settings = watching(None, None);
    settings.detection.local = false;
    let mut reader = Reader::new(settings);
    reader.engine.apply(Input::Gold(gold_set_of(100)));
    rounds(&mut reader, 100, 0..80, 40);
    let alarms = reader.engine.take_effects().alarms;
    assert!(
        of_drop(&alarms).iter().all(|it| it.part == Some(Part::All)),
        "{alarms:?}"
    );
}

#[test]
fn the_variation_of_hours_outlives_resets_and_applies_to_new_variants() {
    let mut reader = Reader::new(watching(None, None));
    reader.searches(healthy(100));
    let end = |reader: &Reader, variant: &str| {
        let labels = format!(r#"variant="{variant}""#);
        let samples = reader.samples();
        let is_meant = |name: &&String| {
            name.starts_with("drop_warm_up_end") && name.contains(&labels) && name.contains(WHOLE)
        };
        samples
            .keys()
            .find(is_meant)
            .map(|name| samples[name].clone())
    };
    let first = end(&reader, "V1").expect("searches were compared");
    reader.engine.apply(Input::ResetBaselines {
        reported: WallTime(START),
    });
    assert_eq!(end(&reader, "V1"), None);
    let world = World::new(watching(None, None));
    let (engine, _) = restored(&world, &write(&reader.engine));
    (reader.world, reader.engine) = (world, engine);
    assign(&mut reader.engine, 0);
    reader.searches(healthy(100));
    assert_eq!(end(&reader, "V1").as_ref(), Some(&first));
    for (number, variant) in [(0, "V2"), (1, "V2"), (2, "V2"), (3, "V2")] {
        let ts = START + (reader.read + 10 * number) * STEP;
        let payload = format!(
            r#"{{"query_id": "new{number}", "ts": {ts}, "query_key": "g0", "variant": "{variant}",
                "results": [{{"id": "d0"}}]}}"#
        );
        tick(&mut reader.engine, ts);
        read_search(&mut reader.engine, 0, reader.read, &payload);
        reader.read += 1;
    }
    assert_eq!(end(&reader, "V2"), Some(first));
}

fn other_gold_set() -> Arc<GoldSet> {
    let other = r#"{"queries": [
        {"query_id": "g0", "query_text": "다른", "ground_truth": {"d6": 1}},
        {"query_id": "g1", "query_text": "말", "ground_truth": {"d6": 1}}
    ]}"#;
    let other = gold::parse("gold.json", other.as_bytes(), &gold::Options::default());
    Arc::new(other.expect("a gold set"))
}

#[test]
fn checkpoints_of_two_gold_sets_are_not_mixed() {
    let mut old = Reader::new(watching(Some(TARGET), None));
    old.searches(healthy(100));
    let mut new = Reader::new(watching(Some(TARGET), None));
    new.engine.apply(Input::Gold(other_gold_set()));
    new.searches(healthy(60));
    let new_alone = new.samples();

    let files = [write(&old.engine), write(&new.engine)];
    for (order, has_gold_set) in [
        ([0, 1], true),
        ([1, 0], true),
        ([0, 1], false),
        ([1, 0], false),
    ] {
        let world = World::new(watching(Some(TARGET), None));
        let settings = Arc::clone(&world.settings);
        let mut engine = Engine::new(settings, Arc::clone(&world.registry), WallTime(START));
        if has_gold_set {
            engine.apply(Input::Gold(other_gold_set()));
        }
        for place in order {
            engine.restore(&read_back(&files[place]).1);
        }
        engine.apply(Input::Gold(other_gold_set()));
        let samples = world.samples(&engine.snapshot());
        for family in [
            "baseline_score",
            "baseline_searches",
            "target_log_evidence",
            "drop_log_evidence",
        ] {
            let labels: &[&str] = if family.starts_with("baseline") {
                &[]
            } else {
                &[WHOLE]
            };
            let found = value(&samples, family, labels);
            assert_close(Some(found), value(&new_alone, family, labels));
        }
    }
}

#[test]
fn workers_that_judge_by_another_gold_set_are_not_merged() {
    let world = World::new(watching(None, None));
    let mut all = Snapshot::default();
    for number in 0..3 {
        let mut reader = Reader::of(&world);
        if number == 1 {
            reader.engine.apply(Input::Gold(other_gold_set()));
        }
        reader.searches((0..40).map(|_| true));
        all.merge(&reader.engine.snapshot());
    }
    // Two of the three use the first gold set, by which every search is good.
    let samples = world.samples(&all);
    assert_close(Some(value(&samples, "baseline_score", &[])), 1.0);
    assert_close(Some(value(&samples, "baseline_searches", &[])), 80.0);
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
        read_search(&mut reader.engine, 0, number, &payload);
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
fn a_session_is_observed_at_its_first_search_with_a_value() {
    let mut settings = watching(None, None);
    settings.detection.measures.clear();
    for name in ["Reformulated", "ZeroResult", "ThumbsUp"] {
        let is_named = |it: &rankgauge_core::measure::Measure| it.to_string().starts_with(name);
        settings.detection.measures.push(MonitoredMeasure {
            index: settings.measures.iter().position(is_named).expect(name),
            target: None,
            is_lower_better: name != "ThumbsUp",
            is_user_measure: true,
            is_seasonal: true,
        });
    }
    let mut reader = Reader::new(settings);
    // Each user finds nothing, tries again within 5 seconds, and praises the second results.
    for number in 0..20_i64 {
        let ts = START + number * STEP;
        for (place, text, results) in [(0, "무엇", ""), (1, "용도지역", r#"{"id": "d1"}"#)] {
            let payload = format!(
                r#"{{"query_id": "q{number}-{place}", "ts": {}, "query": "{text}",
                    "session_id": "s{number}", "results": [{results}]}}"#,
                ts + place * 2_000
            );
            let offset = number * 2 + place;
            read_search(&mut reader.engine, 0, offset, &payload);
        }
        let payload = format!(
            r#"{{"event_id": "f{number}", "query_id": "q{number}-1", "ts": {}, "type": "thumbs", "value": true}}"#,
            ts + 3_000
        );
        read_feedback(&mut reader.engine, 0, number, &payload);
        tick(&mut reader.engine, ts);
    }
    let end = START + 20 * STEP + FEEDBACK_WINDOW;
    drain(&mut [&mut reader.engine], 1, end);
    let samples = reader.samples();
    for name in ["Reformulated", "ZeroResult", "ThumbsUp"] {
        let of = |family| value(&samples, family, &[name]);
        assert_close(Some(of("baseline_searches")), 20.0);
        assert_close(Some(of("baseline_score")), 1.0);
    }
}

/// Reader that watches `ZeroResult`, with room for four searches in a session.
fn watching_zero_results() -> Reader {
    let mut settings = settings();
    let is_named = |it: &rankgauge_core::measure::Measure| it.to_string() == "ZeroResult";
    let index = settings.measures.iter().position(is_named);
    settings = watching(None, index);
    settings.join_limits.searches_per_session = 4;
    Reader::new(settings)
}

/// Search without a gold query, `seconds` after the start.
fn search_of_session(session: &str, seconds: i64) -> String {
    let ts = START + seconds * 1_000;
    format!(
        r#"{{"query_id": "q{seconds}", "ts": {ts}, "query": "무엇", "session_id": "{session}",
            "results": [{{"id": "d1"}}]}}"#
    )
}

/// Number of observed sessions.
fn observed_sessions(samples: &Samples) -> f64 {
    value(samples, "baseline_searches", &["ZeroResult"])
}

#[test]
fn searches_beyond_the_limit_of_a_session_are_not_observed() {
    let mut reader = watching_zero_results();
    for number in 0..10 {
        let payload = search_of_session("bot", number);
        read_search(&mut reader.engine, 0, number, &payload);
    }
    drain(&mut [&mut reader.engine], 1, START + 10_000);
    assert_close(Some(observed_sessions(&reader.samples())), 1.0);
    let exceeded = reader.first("session_limit_exceeded_total", "");
    assert_eq!(exceeded, Some(6.0));
}

#[test]
fn a_session_that_is_open_at_a_restart_is_observed_once() {
    let mut reader = watching_zero_results();
    // The second search of the session is pending when the first one is final.
    let searches = [("s", 0), ("s", 15), ("other", 30)];
    let searches = searches.map(|(session, seconds)| search_of_session(session, seconds));
    let click = format!(
        r#"{{"event_id": "c", "query_id": "q30", "ts": {}, "type": "click", "object_id": "d1"}}"#,
        START + 30_000
    );
    for (offset, payload) in (0..).zip(&searches) {
        read_search(&mut reader.engine, 0, offset, payload);
    }
    read_feedback(&mut reader.engine, 0, 0, &click);
    tick(&mut reader.engine, START + 30_000);
    assert_close(Some(observed_sessions(&reader.samples())), 1.0);
    let (mut engine, points) = restored(&reader.world, &write(&reader.engine));
    let mut resume = Resume {
        counted: [Some(0); 2],
        ..Resume::default()
    };
    for point in &points {
        resume.add(point);
    }
    let [first, first_feedback] = resume.rebuild.map(Option::unwrap_or_default);
    let partition = 0;
    engine.apply(Input::Assigned { partition, resume });
    for (offset, payload) in (0..).zip(&searches).filter(|(offset, _)| *offset >= first) {
        read_search(&mut engine, partition, offset, payload);
    }
    if first_feedback == 0 {
        read_feedback(&mut engine, partition, 0, &click);
    }
    drain(&mut [&mut engine], 1, START + 30_000);
    let samples = reader.world.samples(&engine.snapshot());
    assert_close(Some(observed_sessions(&samples)), 2.0);
}

#[test]
fn sessions_with_a_gold_query_are_compared_with_that_query() {
    let settings = settings();
    let is_ctr = |it: &rankgauge_core::measure::Measure| it.to_string() == "CTR";
    let mut reader = Reader::new(watching(None, settings.measures.iter().position(is_ctr)));
    // One session a search, two queries.
    reader.searches(healthy(60));
    let end = START + 60 * STEP + FEEDBACK_WINDOW;
    drain(&mut [&mut reader.engine], 1, end);
    let samples = reader.samples();
    assert_close(Some(value(&samples, "baseline_queries", &["CTR"])), 2.0);
    assert_close(Some(value(&samples, "baseline_searches", &["CTR"])), 60.0);
    assert!(value(&samples, "drop_log_evidence", &["CTR", WHOLE]).is_finite());
}

#[test]
fn evidence_survives_a_restart() {
    let mut reader = Reader::new(watching(Some(TARGET), None));
    reader.searches(healthy(100));
    let world = World::new(watching(Some(TARGET), None));
    let (engine, _) = restored(&world, &write(&reader.engine));
    let of_evidence = |mut samples: Samples| {
        samples.retain(|name, _| {
            ["evidence", "baseline", "bound", "incident"]
                .iter()
                .any(|part| name.contains(part))
        });
        samples
    };
    let expected = of_evidence(reader.samples());
    assert!(expected.len() > 10, "{expected:#?}");
    assert_eq!(of_evidence(world.samples(&engine.snapshot())), expected);
}
