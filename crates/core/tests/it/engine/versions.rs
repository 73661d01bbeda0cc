//! Deployments that searches show: a version of the variant that was not seen before.

use rankgauge_core::engine::Engine;
use rankgauge_core::engine::settings::Settings;

use super::recovery::{restored, write};
use super::{START, World, assign, read_search, settings, tick};

const MINUTE: i64 = 60_000;

/// Engine that takes the version from the label `build`, else from `release`.
struct Reader {
    world: World,
    engine: Engine,
    read: i64,
    /// Version before the last deployment.
    before: Box<str>,
}

impl Reader {
    fn new() -> Self {
        let world = World::new(Settings {
            version_labels: ["build", "release"].map(str::to_owned).to_vec(),
            ..settings()
        });
        let mut engine = world.engine();
        assign(&mut engine, 0);
        Self {
            world,
            engine,
            read: 0,
            before: Box::default(),
        }
    }

    /// Reads a search at a minute. Returns the deployments that it shows.
    fn search(&mut self, minute: i64, variant: &str, labels: &str) -> Vec<(String, String, i64)> {
        let (number, ts) = (self.read, START + minute * MINUTE);
        let payload = format!(
            r#"{{"query_id": "q{number}", "ts": {ts}, "query_key": "g1", "variant": "{variant}",
                "labels": {labels}, "results": [{{"id": "d0"}}]}}"#
        );
        tick(&mut self.engine, ts);
        read_search(&mut self.engine, 0, number, &payload);
        self.read += 1;
        let seen = self.engine.take_effects().deployments.into_iter();
        let seen = seen.map(|it| {
            let version = it.deployed.version.expect("a version");
            assert_ne!(it.before, version);
            self.before = it.before;
            let minute = (it.deployed.at.0 - START) / MINUTE;
            (it.variant.into(), version.into(), minute)
        });
        seen.collect()
    }
}

fn shown(variant: &str, version: &str, minute: i64) -> Vec<(String, String, i64)> {
    vec![(variant.to_owned(), version.to_owned(), minute)]
}

#[test]
fn a_new_version_is_a_deployment_once() {
    let mut reader = Reader::new();
    let [first, second] = [r#"{"build": "1"}"#, r#"{"build": "2"}"#];
    assert_eq!(reader.search(0, "V1", first), [], "the first version");
    assert_eq!(reader.search(0, "V2", second), [], "of another variant");
    assert_eq!(reader.search(1, "V1", second), shown("V1", "2", 1));
    assert_eq!(&*reader.before, "1");
    // Instances of both versions serve during a rollout.
    for minute in 1..9 {
        assert_eq!(reader.search(minute, "V1", first), []);
        assert_eq!(reader.search(minute, "V1", second), []);
    }
    // A rollback: the first version returns after a pause.
    for minute in 9..30 {
        assert_eq!(reader.search(minute, "V1", second), []);
    }
    assert_eq!(reader.search(30, "V1", first), shown("V1", "1", 30));
    assert_eq!(reader.search(31, "V1", first), []);
}

#[test]
fn a_version_that_serves_all_searches_again_is_a_roll_back() {
    let mut reader = Reader::new();
    let [first, second] = [r#"{"build": "1"}"#, r#"{"build": "2"}"#];
    assert_eq!(reader.search(0, "V1", first), []);
    assert_eq!(reader.search(1, "V1", second), shown("V1", "2", 1));
    let after: Vec<_> = (0..40)
        .flat_map(|number| reader.search(2 + number / 10, "V1", first))
        .collect();
    assert_eq!(
        after,
        shown("V1", "1", 3),
        "two minutes without the second version"
    );
    // Rare searches of a canary are no roll-back of it.
    let mut reader = Reader::new();
    assert_eq!(reader.search(0, "V1", first), []);
    assert_eq!(reader.search(1, "V1", second), shown("V1", "2", 1));
    for minute in 2..9 {
        assert_eq!(reader.search(minute, "V1", first), []);
    }
}

#[test]
fn the_first_label_that_a_search_states_counts_and_other_searches_show_nothing() {
    let mut reader = Reader::new();
    assert_eq!(reader.search(0, "V1", r#"{"release": 7}"#), []);
    assert_eq!(reader.search(1, "V1", r#"{"other": "x"}"#), []);
    assert_eq!(reader.search(1, "V1", r#"{"build": ""}"#), []);
    let long = format!(r#"{{"build": "{}"}}"#, "x".repeat(257));
    assert_eq!(reader.search(1, "V1", &long), []);
    let both = r#"{"release": 7, "build": "b"}"#;
    assert_eq!(reader.search(2, "V1", both), shown("V1", "b", 2));
}

#[test]
fn many_versions_take_bounded_room() {
    let mut reader = Reader::new();
    for version in 0..100 {
        let labels = format!(r#"{{"build": "{version}"}}"#);
        let expected = if version == 0 {
            vec![]
        } else {
            shown("V1", &version.to_string(), 0)
        };
        assert_eq!(reader.search(0, "V1", &labels), expected);
    }
}

#[test]
fn versions_outlive_a_restart() {
    let mut reader = Reader::new();
    assert_eq!(reader.search(0, "V1", r#"{"build": "1"}"#), []);
    reader.engine = restored(&reader.world, &write(&reader.engine)).0;
    assign(&mut reader.engine, 0);
    reader.read = 100;
    assert_eq!(
        reader.search(1, "V1", r#"{"build": "2"}"#),
        shown("V1", "2", 1)
    );
}
