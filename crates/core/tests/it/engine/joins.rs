//! Joins beyond two topics with the same partitions: one topic of both kinds, and all partitions of both
//! topics. An owner that continues the work of another one counts what a single one would.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use proptest::prelude::*;
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::partition::{CommitPoint, Resume};
use rankgauge_core::engine::position::{FeedbackTopic, Join, Topics};
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::records;

use super::log::{Draft, Record, Shape, in_order, write_feedback};
use super::{START, World, counters, difference, lag, outcome, settings, tick};

const SHARED: Topics = Topics {
    feedback: FeedbackTopic::Shared,
    join: Join::Partition,
};
const ALL: Topics = Topics {
    feedback: FeedbackTopic::Own,
    join: Join::All,
};
const SHARED_ALL: Topics = Topics {
    feedback: FeedbackTopic::Shared,
    join: Join::All,
};

/// Number of partitions of each topic.
pub(super) const PARTITIONS: [i32; 2] = [3, 5];

/// Records of a topic partition, by kind of the topic.
type Log = BTreeMap<(Kind, i32), Vec<String>>;

struct Reader {
    topics: Topics,
    formats: Formats,
    engine: Engine,
}

impl Reader {
    fn new(world: &World) -> Self {
        let topics = world.settings.topics;
        let formats = Formats {
            is_shared: topics.feedback == FeedbackTopic::Shared,
            ..Formats::NATIVE
        };
        Self {
            topics,
            formats,
            engine: world.engine(),
        }
    }

    /// Assigns all partitions, as a worker does. Without a committed point, they are read from the
    /// start.
    fn assign(&mut self, points: &[CommitPoint]) {
        let mut resumes: BTreeMap<i32, Resume> = BTreeMap::new();
        for &kind in self.topics.kinds() {
            for partition in 0..PARTITIONS[kind.index()] {
                let mut points = points.iter();
                let known = points.find(|it| (it.kind, it.partition) == (kind, partition));
                let start = CommitPoint::starting_at(partition, kind, 0);
                let resume = resumes.entry(partition).or_default();
                resume.add(known.unwrap_or(&start));
            }
        }
        for (partition, resume) in resumes {
            self.engine.apply(Input::Assigned { partition, resume });
        }
    }

    fn read(&mut self, kind: Kind, at: Position, payload: &str) {
        let record = (kind, at, payload.as_bytes());
        records::apply(&mut self.engine, &self.formats, [record], |_, _, _| ());
    }

    /// Reads the log again from the committed points, in an order that `choices` determine.
    fn catch_up(&mut self, log: &Log, points: &[CommitPoint], choices: &[u8]) {
        let mut next: BTreeMap<(Kind, i32), i64> = points
            .iter()
            .map(|point| ((point.kind, point.partition), point.rebuild))
            .collect();
        let mut choices = choices.iter().cycle().map(|it| usize::from(*it));
        loop {
            let ready: Vec<(Kind, i32)> = log
                .iter()
                .filter(|(place, records)| {
                    let offset = next.get(*place).copied().unwrap_or(0);
                    let at = Position {
                        partition: place.1,
                        offset,
                    };
                    offset < i64::try_from(records.len()).expect("few")
                        && !self.engine.must_defer(place.0, at)
                })
                .map(|(place, _)| *place)
                .collect();
            let Some(choice) = choices.next().filter(|_| !ready.is_empty()) else {
                break;
            };
            let (kind, partition) = ready[choice % ready.len()];
            let offset = next.entry((kind, partition)).or_default();
            let at = Position {
                partition,
                offset: *offset,
            };
            let payload = &log[&(kind, partition)][usize::try_from(*offset).expect("positive")];
            *offset += 1;
            self.read(kind, at, payload);
        }
    }

    /// Reports the ends of all topic partitions until nothing is pending.
    fn drain(&mut self, mut wall: i64) {
        for _ in 0..60 {
            wall += 5_000;
            for &kind in self.topics.kinds() {
                for partition in 0..PARTITIONS[kind.index()] {
                    lag(&mut self.engine, kind, partition, 0);
                }
            }
            tick(&mut self.engine, wall);
        }
    }
}

/// Partition of a record: that of its own payload, or of the traffic if only equal numbers are joined.
fn partition(topics: Topics, record: &Record) -> i32 {
    match topics.join {
        Join::Partition => record.partition,
        Join::All | Join::Repartition => {
            let mut hasher = DefaultHasher::new();
            record.payload.hash(&mut hasher);
            let count = PARTITIONS[topics.of(record.kind).index()].unsigned_abs();
            i32::try_from(hasher.finish() % u64::from(count)).expect("few")
        }
    }
}

/// Snapshot after all records, read by one engine up to `cut`, and then by another one that adds its
/// counters to those of the first.
fn run(topics: Topics, records: &[Record], cut: Option<(usize, &[u8])>) -> (World, Snapshot) {
    let settings = Settings {
        topics,
        ..settings()
    };
    run_of(settings, records, cut, false)
}

/// The same with a second engine that continues from the saved state of the first one.
pub(super) fn run_saved(
    settings: Settings,
    records: &[Record],
    cut: Option<(usize, &[u8])>,
) -> (World, Snapshot) {
    run_of(settings, records, cut, true)
}

fn run_of(
    settings: Settings,
    records: &[Record],
    cut: Option<(usize, &[u8])>,
    is_saved: bool,
) -> (World, Snapshot) {
    let topics = settings.topics;
    let world = World::new(settings);
    let mut reader = Reader::new(&world);
    reader.assign(&[]);
    let mut log = Log::new();
    let mut before: Option<Snapshot> = None;
    for (number, record) in records.iter().enumerate() {
        if let Some((cut, choices)) = cut
            && cut == number
        {
            while reader.engine.catch_up() {}
            let points = reader.engine.commit_points();
            let mut left = reader.engine.snapshot();
            left.pending = [0; 2];
            left.partitions.clear();
            let state = reader.engine.state();
            reader = Reader::new(&world);
            if is_saved {
                reader.engine.restore(&state);
            } else {
                before = Some(left);
            }
            reader.assign(&points);
            tick(&mut reader.engine, START + record.arrival);
            reader.catch_up(&log, &points, choices);
            assert!(!reader.engine.is_replaying());
        }
        tick(&mut reader.engine, START + record.arrival);
        let place = (topics.of(record.kind), partition(topics, record));
        let records = log.entry(place).or_default();
        let offset = i64::try_from(records.len()).expect("few");
        records.push(record.payload.clone());
        let at = Position {
            partition: place.1,
            offset,
        };
        reader.read(place.0, at, &record.payload);
    }
    let last = records.iter().map(|record| record.arrival).max();
    reader.drain(START + last.unwrap_or(0));
    let mut snapshot = reader.engine.snapshot();
    if let Some(before) = before {
        snapshot.merge(&before);
    }
    (world, snapshot)
}

fn counted(topics: Topics, records: &[Record], cut: Option<(usize, &[u8])>) -> super::Samples {
    let (world, snapshot) = run(topics, records, cut);
    counters(&world.samples(&snapshot))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn next_owner_counts_the_rest_exactly(
        records in in_order(Shape::default()),
        cut in any::<prop::sample::Index>(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
        topics in prop::sample::select(vec![SHARED, ALL, SHARED_ALL]),
    ) {
        let cut = cut.index(records.len().max(1));
        // A session that a handover divides counts as two.
        let whole = |mut samples: super::Samples| {
            samples.retain(|name, _| !name.starts_with("interleaving_"));
            samples
        };
        let found = whole(counted(topics, &records, Some((cut, &choices))));
        let expected = whole(counted(topics, &records, None));
        let different = difference(&found, &expected);
        prop_assert!(different.is_empty(), "{topics:?}: {different:#?}");
    }

    #[test]
    fn partitions_of_a_search_and_its_feedback_make_no_difference(
        records in in_order(Shape { partitions: 1, ..Shape::default() }),
    ) {
        let expected = counted(Topics::default(), &records, None);
        let found = counted(ALL, &records, None);
        let different = difference(&found, &expected);
        prop_assert!(different.is_empty(), "{different:#?}");
    }

    #[test]
    fn events_of_one_topic_count_as_those_of_two(
        records in in_order(Shape { partitions: 3, ..Shape::default() }),
    ) {
        let is_record = |name: &str| name.starts_with("records_total");
        let without = |mut samples: super::Samples| {
            samples.retain(|name, _| !is_record(name));
            samples
        };
        // A record that is no JSON has no kind.
        let mut records = records;
        records.retain(|record| record.payload.len() > 1);
        let expected = without(counted(Topics::default(), &records, None));
        let found = without(counted(SHARED, &records, None));
        let different = difference(&found, &expected);
        prop_assert!(different.is_empty(), "{different:#?}");
    }
}

pub(super) const DRAFT: Draft = Draft {
    query: 0,
    results: [0, 1, 6],
    served: 3,
    variant: 1,
    device: 0,
    latency: 20,
    session: 0,
};

#[test]
fn slowest_partition_of_all_holds_the_windows_back() {
    let mut settings = settings();
    settings.topics = ALL;
    let world = World::new(settings);
    let mut reader = Reader::new(&world);
    reader.assign(&[]);
    tick(&mut reader.engine, START + 90_000);
    let at = |partition, offset| Position { partition, offset };
    reader.read(Kind::Search, at(2, 0), &DRAFT.write("q", 0));
    for partition in 0..3 {
        let offset = i64::from(partition == 2);
        let id = format!("later{partition}");
        reader.read(
            Kind::Search,
            at(partition, offset),
            &DRAFT.write(&id, 90_000),
        );
    }
    for partition in 0..4 {
        let event = write_feedback(&format!("f{partition}"), "absent", 90_000, 0);
        reader.read(Kind::Feedback, at(partition, 0), &event);
    }
    tick(&mut reader.engine, START + 90_000);
    assert_eq!(reader.engine.progress().expect("known").watermark, None);
    // The click lies in the partition that is behind.
    reader.read(
        Kind::Feedback,
        at(4, 0),
        &write_feedback("e", "q", 15_000, 0),
    );
    tick(&mut reader.engine, START + 90_000);
    let snapshot = reader.engine.snapshot();
    assert_eq!(outcome(&snapshot, Kind::Feedback, "joined"), 1);
    let watermarks = snapshot.partitions.iter().map(|it| it.watermark);
    assert!(
        watermarks
            .clone()
            .all(|it| it.is_some_and(|it| it.0 == START + 10_000))
    );
    assert_eq!(snapshot.partitions.len(), 5);
    // Every other topic partition waits for it.
    assert_eq!(reader.engine.topics_to_pause().len(), 7);
}
