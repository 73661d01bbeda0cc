//! Persistence of engine state: a checkpoint of one engine is restored by another one, with another
//! registry and other settings, which continues from the offset at which the log was left.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rankgauge_core::engine::partition::{CommitPoint, Resume};
use rankgauge_core::engine::state::State;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::Kind;
use rankgauge_core::measure::Measure;

use super::conservation::{Walk, steps};
use super::log::{Draft, Record, Shape, in_order, write_feedback};
use super::{
    FEEDBACK_WINDOW, START, Samples, World, assign, counters, difference, drain, read, read_search,
    settings, tick, window,
};

/// State of an engine and its positions, as a checkpoint holds them.
pub(crate) fn write(engine: &Engine) -> Vec<u8> {
    postcard::to_stdvec(&(engine.commit_points(), engine.state())).expect("a state can be written")
}

pub(crate) fn read_back(bytes: &[u8]) -> (Vec<CommitPoint>, State) {
    postcard::from_bytes(bytes).expect("what was written")
}

/// Engine of another process, restored from `bytes`.
pub(crate) fn restored(world: &World, bytes: &[u8]) -> (Engine, Vec<CommitPoint>) {
    let (points, state) = read_back(bytes);
    let mut engine = world.engine();
    engine.restore(&state);
    (engine, points)
}

/// Samples that do not depend on the partitions assigned to an engine.
fn of_records(mut samples: Samples) -> Samples {
    samples.retain(|name, _| {
        !["events_pending", "watermark_delay", "consumer_lag"]
            .iter()
            .any(|family| name.starts_with(family))
    });
    samples
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_checkpoint_restores_the_same_samples_in_another_process(steps in steps()) {
        let before = World::new(settings());
        let mut walk = Walk::new(&before);
        for step in &steps {
            walk.take(step);
        }
        let after = World::new(settings());
        let (engine, _) = restored(&after, &write(&walk.engine));
        let found = of_records(after.samples(&engine.snapshot()));
        let expected = of_records(before.samples(&walk.engine.snapshot()));
        let differences = difference(&found, &expected);
        prop_assert!(differences.is_empty(), "{differences:#?}");
        // A checkpoint written again is identical to the last byte: nothing was lost on the way.
        let (again, _) = restored(&World::new(settings()), &write(&engine));
        let differences = difference(&of_records(after.samples(&again.snapshot())), &found);
        prop_assert!(differences.is_empty(), "{differences:#?}");
    }

    #[test]
    fn a_crash_at_any_record_does_not_change_the_final_samples(
        records in in_order(Shape::default()),
        crashes in prop::collection::btree_map(0..120_usize, 0..30_usize, 0..4),
        again in prop::collection::vec(0..40_usize, 0..3),
    ) {
        let mut survivor = Reader::new();
        let mut victim = Reader::new();
        let mut saved = None;
        let mut wall = START;
        for (number, record) in records.iter().enumerate() {
            if crashes.contains_key(&number) {
                saved = Some((number, write(&victim.engine)));
            }
            // Counts since the checkpoint are lost with the process, but the log has their records.
            let crashed = saved.take_if(|(at, _)| number >= *at + crashes.get(at).copied().unwrap_or(0));
            if let Some((_, bytes)) = crashed {
                victim.go_on_from(&bytes, wall, &again);
            }
            if START + record.arrival > wall + 1_000 {
                wall = START + record.arrival;
                tick(&mut survivor.engine, wall);
                tick(&mut victim.engine, wall);
            }
            survivor.arrive(record);
            victim.arrive(record);
        }
        let partitions = Shape::default().partitions;
        let end = wall + FEEDBACK_WINDOW;
        drain(&mut [&mut survivor.engine], partitions, end);
        drain(&mut [&mut victim.engine], partitions, end);
        let found = victim.world.samples(&victim.engine.snapshot());
        let expected = survivor.world.samples(&survivor.engine.snapshot());
        let differences = difference(&found, &expected);
        prop_assert!(differences.is_empty(), "{differences:#?}");
    }
}

/// Reader of a log whose engine can be replaced by one restored only from disk.
struct Reader {
    world: World,
    engine: Engine,
    log: BTreeMap<(i32, Kind), Vec<String>>,
}

impl Reader {
    fn new() -> Self {
        let world = World::new(settings());
        let mut engine = world.engine();
        for partition in 0..Shape::default().partitions {
            assign(&mut engine, partition);
        }
        Self {
            world,
            engine,
            log: BTreeMap::new(),
        }
    }

    fn read(&mut self, kind: Kind, partition: i32, payload: &str) {
        let topic = self.log.entry((partition, kind)).or_default();
        let offset = i64::try_from(topic.len()).expect("a short log");
        topic.push(payload.to_owned());
        read(&mut self.engine, kind, partition, offset, payload);
    }

    fn arrive(&mut self, record: &Record) {
        self.read(record.kind, record.partition, &record.payload);
    }

    /// Starts a new process that restores `bytes` and reads the log up to its present end. The new
    /// process crashes as well, right after a checkpoint, when it has read as many records as the
    /// first element of `again`. The process after it does the same with the next element.
    fn go_on_from(&mut self, bytes: &[u8], wall: i64, again: &[usize]) {
        let mut left = again.first().copied();
        self.world = World::new(settings());
        let (engine, points) = restored(&self.world, bytes);
        self.engine = engine;
        tick(&mut self.engine, wall);
        let mut starts = BTreeMap::new();
        for partition in 0..Shape::default().partitions {
            let mut resume = Resume {
                counted: [Some(0); 2],
                ..Resume::default()
            };
            for point in points.iter().filter(|point| point.partition == partition) {
                resume.add(point);
            }
            starts.insert(partition, resume.rebuild);
            self.engine.apply(Input::Assigned { partition, resume });
        }
        // Records counted before are reread in both topics before any new record, as in a worker.
        let counted = |points: &[CommitPoint], partition: i32, kind: Kind| {
            let point = |point: &&CommitPoint| (point.partition, point.kind) == (partition, kind);
            points.iter().find(point).map_or(0, |point| point.counted)
        };
        for is_new in [false, true] {
            for (partition, start) in &starts {
                let partition = *partition;
                for kind in Kind::ALL {
                    let start = start[kind.index()].unwrap_or(0);
                    let counted = counted(&points, partition, kind);
                    let topic = self.log.get(&(partition, kind)).cloned();
                    for (offset, payload) in (0..).zip(topic.unwrap_or_default()) {
                        if offset < start || (offset >= counted) != is_new {
                            continue;
                        }
                        read(&mut self.engine, kind, partition, offset, &payload);
                        left = left.map(|left| left.saturating_sub(1));
                        if left == Some(0) {
                            let bytes = write(&self.engine);
                            return self.go_on_from(&bytes, wall, &again[1..]);
                        }
                    }
                }
            }
        }
    }
}

const DRAFT: Draft = Draft {
    query: 0,
    results: [0, 1, 6],
    served: 3,
    variant: 1,
    device: 1,
    latency: 20,
    session: 0,
};

#[test]
fn changed_settings_keep_samples_whose_names_are_unchanged() {
    let mut reader = Reader::new();
    for second in 0..30 {
        let id = format!("q{second}");
        reader.read(Kind::Search, 0, &DRAFT.write(&id, second * 1_000));
        let click = write_feedback(&format!("c{second}"), &id, second * 1_000, 0);
        reader.read(Kind::Feedback, 0, &click);
    }
    tick(&mut reader.engine, START + 30_000);
    let before = reader.world.samples(&reader.engine.snapshot());

    let mut changed = settings();
    changed.measures = Measure::parse_list("RR AP nDCG@5 P@1").expect("known measures");
    changed.slices = vec!["domain".into(), "device".into(), "query_type".into()];
    changed.windows = vec![window("1m", 60), window("2m", 120)];
    changed.latency_buckets = vec![0.2];
    let world = World::new(changed);
    let (mut engine, _) = restored(&world, &write(&reader.engine));
    let after = world.samples(&engine.snapshot());

    let names = |samples: &Samples, wanted: &str| -> Samples {
        let mut samples = samples.clone();
        samples.retain(|name, _| name.contains(wanted));
        samples
    };
    for measure in [r#"measure="RR""#, r#"measure="nDCG@5""#, r#"measure="P@1""#] {
        let (found, expected) = (
            names(&counters(&after), measure),
            names(&counters(&before), measure),
        );
        assert!(expected.len() >= 6, "{expected:#?}");
        assert_eq!(found, expected);
    }
    // New series start empty, and removed series are absent.
    assert!(names(&after, r#"measure="AP""#).is_empty(), "{after:#?}");
    assert!(names(&after, r#"measure="R@5""#).is_empty(), "{after:#?}");
    assert!(
        names(&after, "search_latency_seconds_").is_empty(),
        "{after:#?}"
    );
    assert_eq!(
        names(&after, "events_total"),
        names(&before, "events_total")
    );
    // The two-minute window is the same; the others are different windows.
    let rolling = |samples: &Samples| names(&names(samples, r#"window="2m""#), r#"measure="RR""#);
    assert!(!rolling(&before).is_empty(), "{before:#?}");
    assert_eq!(rolling(&after), rolling(&before));
    assert!(names(&after, r#"window="1m""#).is_empty(), "{after:#?}");

    // The engine continues from the restored counts.
    assign(&mut engine, 1);
    read_search(&mut engine, 1, 0, &DRAFT.write("more", 30_000));
    let more = world.samples(&engine.snapshot());
    let count = |samples: &Samples| -> u64 {
        let all = r#"score_count_total{measure="RR",slice="all",value="",variant="V1"}"#;
        samples[all].parse().expect("a count")
    };
    assert_eq!(count(&more), count(&before) + 1);
}
