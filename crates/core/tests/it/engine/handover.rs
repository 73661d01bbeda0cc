//! Handover of a partition: one engine resumes from the state that another engine left, as a worker
//! does. Together they count the same as a single engine.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proptest::prelude::*;
use rankgauge_core::engine::family;
use rankgauge_core::engine::partition::Resume;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::{Kind, LossReason};

use super::joins::DRAFT;
use super::log::{Record, Shape, in_order, write_feedback};
use super::{
    FEEDBACK_WINDOW, MAX_FUTURE_SKEW, START, Samples, World, accounted, assign, counters,
    difference, drain, outcome, read, read_search, settings, tick,
};

/// Two engines and the log that they read.
struct Fleet {
    engines: [Engine; 2],
    /// Engine that owns a partition; the first engine if there is no entry.
    owner: BTreeMap<i32, usize>,
    /// Records with their offsets, by partition and kind.
    log: BTreeMap<(i32, Kind), Vec<(i64, String)>>,
    next: BTreeMap<(i32, Kind), i64>,
    /// Topics that their owner has not read to the end, and the offsets at which it continues.
    behind: BTreeMap<(i32, Kind), i64>,
}

impl Fleet {
    fn new(world: &World, partitions: i32) -> Self {
        let mut engines = [world.engine(), world.engine()];
        for partition in 0..partitions {
            assign(&mut engines[0], partition);
        }
        Self {
            engines,
            owner: BTreeMap::new(),
            log: BTreeMap::new(),
            next: BTreeMap::new(),
            behind: BTreeMap::new(),
        }
    }

    fn owner(&mut self, partition: i32) -> &mut Engine {
        &mut self.engines[self.owner.get(&partition).copied().unwrap_or(0)]
    }

    /// Writes a record to the log. The owner of the partition reads it unless the owner is behind.
    fn arrive(&mut self, kind: Kind, partition: i32, payload: &str) -> i64 {
        let next = self.next.entry((partition, kind)).or_default();
        let offset = *next;
        *next += 1;
        let topic = self.log.entry((partition, kind)).or_default();
        topic.push((offset, payload.to_owned()));
        if !self.behind.contains_key(&(partition, kind)) {
            read(self.owner(partition), kind, partition, offset, payload);
        }
        offset
    }

    /// Skips offsets that have no record: the end of a transaction, or compacted records.
    fn skip(&mut self, kind: Kind, partition: i32) {
        *self.next.entry((partition, kind)).or_default() += 1;
    }

    /// Assigns the partition to the other engine. That engine reads from the first search and
    /// feedback that are still needed, one topic after the other, up to the end.
    fn hand_over(&mut self, partition: i32, first: Kind) {
        let rebuild = self.assign_to_other(partition);
        self.reread(partition, first, rebuild);
        self.reread(partition, Kind::ALL[1 - first.index()], rebuild);
    }

    /// Assigns the partition to the other engine. Returns the offsets to read from, by kind.
    fn assign_to_other(&mut self, partition: i32) -> [i64; 2] {
        let from = self.owner.get(&partition).copied().unwrap_or(0);
        let mut resume = Resume::default();
        let mut rebuild = [0; 2];
        for point in self.engines[from].commit_points() {
            if point.partition == partition {
                resume.add(&point);
                rebuild[point.kind.index()] = point.rebuild;
            }
        }
        self.engines[from].apply(Input::Revoked { partition });
        let to = 1 - from;
        self.engines[to].apply(Input::Assigned { partition, resume });
        self.owner.insert(partition, to);
        rebuild
    }

    /// Same as [`hand_over`](Self::hand_over), but the second topic is not read until the new owner
    /// catches up, because the two topics come from different brokers.
    fn hand_over_halfway(&mut self, partition: i32, first: Kind) {
        self.catch_up(partition);
        let rebuild = self.assign_to_other(partition);
        self.reread(partition, first, rebuild);
        let second = Kind::ALL[1 - first.index()];
        self.behind
            .insert((partition, second), rebuild[second.index()]);
    }

    /// Makes the owner of the partition read both topics to their ends.
    fn catch_up(&mut self, partition: i32) {
        for kind in Kind::ALL {
            if let Some(from) = self.behind.remove(&(partition, kind)) {
                self.reread(partition, kind, [from; 2]);
            }
        }
    }

    fn reread(&mut self, partition: i32, kind: Kind, rebuild: [i64; 2]) {
        let topic = self.log.get(&(partition, kind)).cloned();
        for (offset, payload) in topic.unwrap_or_default() {
            if offset >= rebuild[kind.index()] {
                read(self.owner(partition), kind, partition, offset, &payload);
            }
        }
    }

    fn tick(&mut self, wall: i64) {
        for engine in &mut self.engines {
            tick(engine, wall);
        }
    }

    fn drain(&mut self, partitions: i32, wall: i64) {
        let [first, second] = &mut self.engines;
        drain(&mut [first, second], partitions, wall);
    }

    fn merged(&self) -> Snapshot {
        let mut merged = self.engines[0].snapshot();
        merged.merge(&self.engines[1].snapshot());
        merged
    }
}

/// One search per second, and for each search one click after one second and one after fifteen.
fn steady(fleet: &mut Fleet, seconds: i64) {
    for second in 0..seconds {
        let id = format!("steady{second}");
        fleet.arrive(Kind::Search, 0, &DRAFT.write(&id, second * 1_000));
        for delay in [1, 15] {
            if let Some(earlier) = (second >= delay).then_some(second - delay) {
                let (event, id) = (format!("c{second}-{delay}"), format!("steady{earlier}"));
                let click = write_feedback(&event, &id, second * 1_000, 0);
                fleet.arrive(Kind::Feedback, 0, &click);
            }
        }
    }
}

#[track_caller]
fn assert_conserved(fleet: &Fleet, received: [u64; 2]) {
    let merged = fleet.merged();
    for kind in Kind::ALL {
        assert_eq!(
            accounted(&merged, kind),
            received[kind.index()],
            "{kind:?}: {:?} and {} pending",
            merged.totals.events.outcomes(kind),
            merged.pending[kind.index()]
        );
    }
}

#[test]
fn feedback_joined_before_a_handover_does_not_become_pending_again() {
    let world = World::new(settings());
    let mut fleet = Fleet::new(&world, 1);
    steady(&mut fleet, 60);
    fleet.hand_over(0, Kind::Search);
    assert_conserved(&fleet, [60, 59 + 45]);
    fleet.drain(1, START + 60_000);
    let merged = fleet.merged();
    assert_eq!(outcome(&merged, Kind::Feedback, "joined"), 59 + 45);
    assert_eq!(outcome(&merged, Kind::Feedback, "orphaned"), 0);
}

#[test]
fn a_click_with_a_clock_behind_its_search_survives_a_handover() {
    // The browser's clock is two seconds behind the server's. At the handover, the second of the
    // click is closed and the second of its search is not.
    let world = World::new(settings());
    let mut clicked = Vec::new();
    for hand_over in [false, true] {
        let mut fleet = Fleet::new(&world, 1);
        fleet.arrive(Kind::Search, 0, &DRAFT.write("q", 10_000));
        fleet.arrive(Kind::Feedback, 0, &write_feedback("e", "q", 8_000, 0));
        // The watermark reaches 29 s, the frontier 9 s.
        for kind_and_event in [
            (Kind::Search, DRAFT.write("later", 34_000)),
            (Kind::Feedback, write_feedback("f", "absent", 34_000, 0)),
        ] {
            fleet.arrive(kind_and_event.0, 0, &kind_and_event.1);
        }
        if hand_over {
            fleet.hand_over(0, Kind::Search);
        }
        fleet.drain(1, START + 34_000);
        let samples = world.samples(&fleet.merged());
        let sum = r#"score_sum_total{measure="CTR",slice="all",value="",variant="V1"}"#;
        clicked.push(samples.get(sum).cloned());
    }
    assert_eq!(clicked[1], clicked[0]);
}

#[test]
fn a_duplicate_of_a_finalised_search_is_not_judged_by_the_next_owner() {
    // The same id occurs again eight seconds later: a duplicate. Ten seconds later its first
    // occurrence is finalised, and the partition moves.
    let world = World::new(settings());
    let mut fleet = Fleet::new(&world, 1);
    fleet.arrive(Kind::Search, 0, &DRAFT.write("q", 0));
    fleet.arrive(Kind::Search, 0, &DRAFT.write("other", 5_000));
    fleet.arrive(Kind::Search, 0, &DRAFT.write("q", 8_000));
    fleet.arrive(Kind::Search, 0, &DRAFT.write("later", 26_000));
    fleet.arrive(Kind::Feedback, 0, &write_feedback("e", "later", 26_000, 0));
    assert_conserved(&fleet, [4, 1]);
    fleet.hand_over(0, Kind::Search);
    assert_conserved(&fleet, [4, 1]);
    fleet.drain(1, START + 26_000);
    assert_eq!(outcome(&fleet.merged(), Kind::Search, "duplicate"), 1);
    assert_conserved(&fleet, [4, 1]);
}

#[test]
fn an_event_rejected_as_future_stays_rejected_after_the_wall_clock_catches_up() {
    let world = World::new(settings());
    let mut fleet = Fleet::new(&world, 1);
    fleet.arrive(Kind::Search, 0, &DRAFT.write("now", 0));
    let future = DRAFT.write("future", MAX_FUTURE_SKEW + 5_000);
    fleet.arrive(Kind::Search, 0, &future);
    assert_eq!(outcome(&fleet.merged(), Kind::Search, "invalid"), 1);
    fleet.tick(START + 10_000);
    fleet.hand_over(0, Kind::Search);
    assert_conserved(&fleet, [2, 0]);
}

/// Offsets without records by topic.
fn gaps(fleet: &Fleet) -> [i128; 2] {
    let merged = fleet.merged();
    let gaps = merged.totals.counters.of(&family::OFFSETS_WITHOUT_RECORDS);
    [0, 1].map(|topic| gaps.get(topic).copied().unwrap_or(0))
}

#[test]
fn a_gap_in_the_log_is_counted_once_across_owners() {
    let world = World::new(settings());
    let mut fleet = Fleet::new(&world, 1);
    fleet.arrive(Kind::Search, 0, &DRAFT.write("a", 0));
    fleet.skip(Kind::Search, 0);
    fleet.arrive(Kind::Search, 0, &DRAFT.write("b", 1_000));
    assert_eq!(gaps(&fleet), [1, 0]);
    fleet.hand_over(0, Kind::Feedback);
    assert_eq!(gaps(&fleet), [1, 0]);
}

#[test]
fn lost_records_are_counted_once_with_their_reason() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    read_search(&mut engine, 0, 4, &DRAFT.write("a", 0));
    let lose = |engine: &mut Engine, before, reason| {
        engine.apply(Input::Lost {
            kind: Kind::Search,
            partition: 0,
            before,
            reason,
        });
    };
    lose(&mut engine, 12, LossReason::Unreadable);
    lose(&mut engine, 12, LossReason::Unreadable);
    lose(&mut engine, 3, LossReason::Deleted);
    assert_eq!(engine.next_offset(Kind::Search, 0), Some(12));
    read_search(&mut engine, 0, 12, &DRAFT.write("b", 0));
    lose(&mut engine, 15, LossReason::Deleted);
    let snapshot = engine.snapshot();
    let counted = snapshot.totals.counters.of(&family::OFFSET_GAP_RECORDS);
    assert_eq!(counted.iter().sum::<i128>(), 7 + 2);
    let without = snapshot
        .totals
        .counters
        .of(&family::OFFSETS_WITHOUT_RECORDS);
    // Those before the first record.
    assert_eq!(without.iter().sum::<i128>(), 4);
}

#[test]
fn partition_that_two_workers_publish_is_merged_into_one() {
    let world = World::new(settings());
    let [mut old, mut new] = [world.engine(), world.engine()];
    assign(&mut old, 3);
    assign(&mut new, 3);
    assign(&mut new, 1);
    for (engine, records) in [(&mut old, 9), (&mut new, 4)] {
        engine.apply(Input::Lag {
            kind: Kind::Search,
            partition: 3,
            records,
        });
    }
    let mut merged = old.snapshot();
    merged.merge(&new.snapshot());
    let partitions: Vec<i32> = merged.partitions.iter().map(|it| it.partition).collect();
    assert_eq!(partitions, [1, 3]);
    assert_eq!(merged.partitions[1].lag, [Some(4), None]);
}

#[test]
fn a_search_waits_for_feedback_that_must_be_reread() {
    // The search topic is behind, so a click two seconds after its search is pending. The next
    // owner reads the search topic to its end before it reaches the feedback that it has to reread.
    let world = World::new(settings());
    let mut fleet = Fleet::new(&world, 1);
    fleet.arrive(Kind::Search, 0, &DRAFT.write("first", 0));
    fleet.arrive(
        Kind::Feedback,
        0,
        &write_feedback("e", "clicked", 12_000, 0),
    );
    fleet.arrive(Kind::Feedback, 0, &write_feedback("f", "last", 60_000, 0));
    let rebuild = fleet.assign_to_other(0);
    fleet.reread(0, Kind::Search, rebuild);
    fleet.arrive(Kind::Search, 0, &DRAFT.write("clicked", 10_000));
    fleet.arrive(Kind::Search, 0, &DRAFT.write("last", 60_000));
    fleet.reread(0, Kind::Feedback, rebuild);
    assert_conserved(&fleet, [3, 2]);
    fleet.drain(1, START + 60_000);
    assert_eq!(outcome(&fleet.merged(), Kind::Feedback, "joined"), 2);
    let samples = world.samples(&fleet.merged());
    let sum = r#"score_sum_total{measure="CTR",slice="all",value="",variant="V1"}"#;
    assert_eq!(samples.get(sum).map(String::as_str), Some("2"));
}

#[test]
fn a_new_search_is_deferred_during_rereading_so_a_second_handover_loses_no_join() {
    // A click was counted before its search arrived. If an owner that has not reread the click yet
    // counted the search, the next owner would take both for counted and joined.
    let world = World::new(settings());
    let mut fleet = Fleet::new(&world, 1);
    fleet.arrive(Kind::Feedback, 0, &write_feedback("click", "a", 500, 0));
    fleet.assign_to_other(0);
    let next = Position {
        partition: 0,
        offset: 0,
    };
    assert!(fleet.owner(0).must_defer(Kind::Search, next));
    assert!(!fleet.owner(0).must_defer(Kind::Feedback, next));
    assert_eq!(
        fleet.owner(0).topics_to_pause(),
        BTreeSet::from([(0, Kind::Search)])
    );

    // The next owner has to reread it, too.
    fleet.hand_over(0, Kind::Search);
    assert!(!fleet.owner(0).must_defer(Kind::Search, next));
    assert!(fleet.owner(0).topics_to_pause().is_empty());
    fleet.arrive(Kind::Search, 0, &DRAFT.write("a", 0));
    assert_eq!(outcome(&fleet.merged(), Kind::Feedback, "joined"), 1);
}

#[test]
fn time_advances_when_the_record_to_reread_was_compacted_away() {
    // The only record to be reread was compacted away: no record is ever read before the offset
    // from which on records count. The broker's report that nothing is left ends the wait.
    let world = World::new(settings());
    let mut fleet = Fleet::new(&world, 1);
    fleet.arrive(Kind::Search, 0, &DRAFT.write("q", 0));
    fleet.arrive(Kind::Feedback, 0, &write_feedback("e", "q", 0, 0));
    let rebuild = fleet.assign_to_other(0);
    fleet.reread(0, Kind::Search, rebuild);
    fleet.drain(1, START);
    let merged = fleet.merged();
    assert_eq!(merged.pending, [0, 0]);
    assert_eq!(outcome(&merged, Kind::Search, "judged"), 1);
}

#[test]
fn records_late_before_a_handover_are_counted_late_once() {
    let world = World::new(settings());
    let mut fleet = Fleet::new(&world, 1);
    for second in 0..60 {
        fleet.arrive(
            Kind::Search,
            0,
            &DRAFT.write(&format!("q{second}"), second * 1_000),
        );
        let orphan = write_feedback(&format!("e{second}"), "absent", second * 1_000, 2);
        fleet.arrive(Kind::Feedback, 0, &orphan);
    }
    fleet.arrive(Kind::Search, 0, &DRAFT.write("late", 3_000));
    fleet.arrive(Kind::Feedback, 0, &write_feedback("late", "q3", 3_000, 0));
    assert_conserved(&fleet, [61, 61]);
    for first in [Kind::Feedback, Kind::Search] {
        fleet.hand_over(0, first);
        assert_conserved(&fleet, [61, 61]);
    }
    let merged = fleet.merged();
    for kind in Kind::ALL {
        assert_eq!(outcome(&merged, kind, "late"), 1, "{kind:?}");
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    any::<bool>().prop_map(|search| Kind::ALL[usize::from(search)])
}

/// Move of a partition before a record is read.
#[derive(Clone, Copy, Debug)]
struct Move {
    partition: i32,
    /// Topic that is read first.
    first: Kind,
    /// Number of further records after which the other topic is read.
    delay: usize,
}

fn moved(delay: Range<usize>) -> impl Strategy<Value = Move> {
    (0..3_i32, kind(), delay).prop_map(|(partition, first, delay)| Move {
        partition,
        first,
        delay,
    })
}

fn compare_with_one_engine(
    shape: Shape,
    records: &[Record],
    moves: &BTreeMap<usize, Move>,
) -> Result<(), TestCaseError> {
    let world = World::new(settings());
    let mut fleet = Fleet::new(&world, shape.partitions);
    let single = World::new(settings());
    let mut alone = single.engine();
    for partition in 0..shape.partitions {
        assign(&mut alone, partition);
    }
    let mut wall = START;
    for (number, record) in records.iter().enumerate() {
        for (at, it) in moves {
            if *at == number {
                fleet.hand_over_halfway(it.partition, it.first);
            }
            if at + it.delay == number {
                fleet.catch_up(it.partition);
            }
        }
        if fleet.behind.is_empty() {
            let (merged, alone) = (fleet.merged(), alone.snapshot());
            for kind in Kind::ALL {
                let (found, expected) = (accounted(&merged, kind), accounted(&alone, kind));
                prop_assert_eq!(found, expected, "{:?}", kind);
            }
        }
        if START + record.arrival > wall + 1_000 {
            wall = START + record.arrival;
            fleet.tick(wall);
            tick(&mut alone, wall);
        }
        let offset = fleet.arrive(record.kind, record.partition, &record.payload);
        read(
            &mut alone,
            record.kind,
            record.partition,
            offset,
            &record.payload,
        );
    }
    for partition in 0..shape.partitions {
        fleet.catch_up(partition);
    }
    fleet.drain(shape.partitions, wall + FEEDBACK_WINDOW);
    drain(&mut [&mut alone], shape.partitions, wall + FEEDBACK_WINDOW);
    let found = fleet.merged();
    prop_assert_eq!(found.pending, [0, 0]);
    // A session that a handover divides counts as two.
    let records = |samples: &Samples| -> Samples {
        let mut counters = counters(samples);
        counters.retain(|name, _| !name.starts_with("interleaving_"));
        counters
    };
    let found = records(&world.samples(&found));
    let expected = records(&single.samples(&alone.snapshot()));
    let differences = difference(&found, &expected);
    prop_assert!(differences.is_empty(), "{differences:#?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn handovers_change_no_counter(
        records in in_order(Shape::default()),
        moves in prop::collection::btree_map(0..120_usize, moved(0..1), 0..5),
    ) {
        compare_with_one_engine(Shape::default(), &records, &moves)?;
    }

    #[test]
    fn topics_read_at_different_paces_after_a_handover_change_no_counter(
        records in in_order(Shape::default()),
        moves in prop::collection::btree_map(0..120_usize, moved(0..60), 0..5),
    ) {
        compare_with_one_engine(Shape::default(), &records, &moves)?;
    }
}
