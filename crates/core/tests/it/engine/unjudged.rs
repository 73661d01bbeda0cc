//! Cause of a drop: worse results, or more unjudged ones.

use std::sync::Arc;

use rankgauge_core::detection::DropClass;
use rankgauge_core::engine::evidence::{Alarm, Test};
use rankgauge_core::engine::settings::{Rolling, Settings};
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::measure::Measure;

use super::evidence::{Reader, STEP, watching};
use super::recovery::{restored, write};
use super::{START, World, read_search, tick};

const QUERIES: i64 = 20;

/// Watches P@10 alone.
fn watching_precision() -> Settings {
    let mut settings = watching(None, None);
    settings.measures = Measure::parse_list("P@10").expect("a measure");
    settings.slices = Vec::new();
    settings.detection.slices = Vec::new();
    settings.detection.local = false;
    settings
}

/// Gold set of queries with relevant documents r1 to r10 and others n1 to n10.
fn gold_set() -> Arc<GoldSet> {
    let grades: Vec<String> = (1..=10)
        .map(|it| format!(r#""r{it}": 1, "n{it}": 0"#))
        .collect();
    let queries: Vec<String> = (0..QUERIES)
        .map(|it| {
            format!(
                r#"{{"query_id": "g{it}", "ground_truth": {{{}}}}}"#,
                grades.join(",")
            )
        })
        .collect();
    let set = format!(r#"{{"queries": [{}]}}"#, queries.join(","));
    let set = gold::parse("gold.json", set.as_bytes(), &gold::Options::default());
    Arc::new(set.expect("a gold set"))
}

/// Served results of a search: relevant, not relevant and unjudged ones.
type Served = [usize; 3];

fn served(number: i64, relevant: usize, unjudged: usize) -> Served {
    // One search of four is a little better, so that scores vary.
    let relevant = relevant + usize::from(number % 4 == 0);
    [relevant, 10 - relevant - unjudged, unjudged]
}

fn search(reader: &mut Reader, [relevant, others, unjudged]: Served) {
    let number = reader.read;
    let ts = START + number * STEP;
    let ids = (1..=relevant).map(|it| format!("r{it}"));
    let ids = ids.chain((1..=others).map(|it| format!("n{it}")));
    let ids = ids.chain((1..=unjudged).map(|it| format!("u{it}")));
    let results: Vec<String> = ids.map(|id| format!(r#"{{"id": "{id}"}}"#)).collect();
    let payload = format!(
        r#"{{"query_id": "q{number}", "ts": {ts}, "query_key": "g{}", "variant": "V1",
            "results": [{}]}}"#,
        number % QUERIES,
        results.join(",")
    );
    read_search(&mut reader.engine, 0, number, &payload);
    reader.read += 1;
    tick(&mut reader.engine, ts);
}

fn reader(settings: Settings) -> Reader {
    let mut reader = Reader::new(settings);
    reader.engine.apply(Input::Gold(gold_set()));
    reader
}

fn searches(reader: &mut Reader, count: i64, relevant: usize, unjudged: usize) {
    for _ in 0..count {
        let of = served(reader.read, relevant, unjudged);
        search(reader, of);
    }
}

fn drops(reader: &mut Reader) -> Vec<Alarm> {
    let alarms = reader.engine.take_effects().alarms.into_iter();
    alarms.filter(|it| it.test == Test::Drop).collect()
}

/// Class that is exposed, with the evidence of the upper bound and of the judged share.
fn exposed(reader: &Reader) -> (Option<String>, [Option<f64>; 2]) {
    exposed_by(&reader.world, &reader.engine)
}

/// Class of the incident, and the evidence of both bounds.
fn exposed_by(world: &World, engine: &Engine) -> (Option<String>, [Option<f64>; 2]) {
    let snapshot = engine.snapshot();
    let mut incidents = snapshot.totals.evidence.incidents();
    let class = incidents.next().map(|it| it.class.name().to_owned());
    let samples = world.samples(&snapshot);
    let of = |family: &str| {
        let mut names = samples.keys();
        names
            .find(|name| name.starts_with(&format!("{family}{{")))
            .cloned()
    };
    let number = |family: &str| of(family).map(|name| samples[&name].parse().expect("a number"));
    let evidence = ["drop_upper_bound_log_evidence", "drop_judged_log_evidence"];
    (class, evidence.map(number))
}

#[test]
fn lost_relevant_results_are_worse() {
    let mut reader = reader(watching_precision());
    searches(&mut reader, 600, 7, 1);
    assert_eq!(drops(&mut reader), []);
    searches(&mut reader, 300, 3, 1);
    assert_eq!(drops(&mut reader).len(), 1);
    assert_eq!(exposed(&reader).0.as_deref(), Some("worse"));
}

#[test]
fn further_unjudged_results_are_no_proof_of_worse_results() {
    let mut reader = reader(watching_precision());
    searches(&mut reader, 600, 7, 1);
    // Four relevant results are replaced by unjudged ones.
    searches(&mut reader, 300, 3, 5);
    let alarms = drops(&mut reader);
    assert_eq!(alarms.len(), 1);
    assert_ne!(alarms[0].class, Some(DropClass::Worse));
    let (class, [high, judged]) = exposed(&reader);
    assert_eq!(class.as_deref(), Some("more_unjudged"));
    // The threshold is 10.
    assert!(high < Some(8.0), "{high:?}");
    assert!(judged > Some(10.0), "{judged:?}");
}

#[test]
fn without_unjudged_results_nothing_is_tested_beside_the_score() {
    let mut reader = reader(watching_precision());
    searches(&mut reader, 400, 7, 0);
    assert_eq!(exposed(&reader), (None, [None, None]));
    searches(&mut reader, 300, 3, 0);
    let alarms = drops(&mut reader);
    assert_eq!(alarms.len(), 1);
    assert_eq!(alarms[0].class, Some(DropClass::Worse));
    assert_eq!(exposed(&reader).1, [None, None]);
}

#[test]
fn the_cause_is_tested_while_a_drop_is_suspected() {
    let mut settings = watching_precision();
    // The bounds are tested even if no range is exposed.
    settings.rolling = Rolling::None;
    // Half of a lower threshold is reached at two searches a minute without a drop.
    settings.detection.drop_threshold = 17.0;
    let mut reader = reader(settings.clone());
    searches(&mut reader, 600, 7, 1);
    assert_eq!(exposed(&reader), (None, [None, None]));
    searches(&mut reader, 200, 3, 1);
    let (class, evidence) = exposed(&reader);
    assert_eq!(class.as_deref(), Some("worse"));
    assert!(evidence.iter().all(Option::is_some), "{evidence:?}");
    // A restart changes nothing.
    let world = World {
        gold: gold_set(),
        ..World::new(settings)
    };
    let (restarted, _) = restored(&world, &write(&reader.engine));
    assert_eq!(exposed_by(&world, &restarted), exposed(&reader));
}
