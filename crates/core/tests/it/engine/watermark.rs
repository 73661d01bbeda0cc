//! Watermarks: progress of event time in a partition.

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::engine::sources::{SourceClock, SourceReport};
use rankgauge_core::engine::watermark::{ClockSettings, PartitionClock};
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, Millis, WallTime};

use super::log::{Draft, write_feedback};
use super::{
    IDLE_TIMEOUT, MAX_FUTURE_SKEW, OUT_OF_ORDERNESS, START, World, assign, lag, read, settings,
    tick,
};

const CLOCK: ClockSettings = ClockSettings {
    out_of_orderness: Millis(OUT_OF_ORDERNESS),
    idle_timeout: Millis(IDLE_TIMEOUT),
};

/// Clock and its wall time, in seconds.
struct Clock {
    clock: PartitionClock,
    wall: i64,
}

impl Clock {
    fn new() -> Self {
        let mut clock = PartitionClock::default();
        clock.add(None);
        clock.add(None);
        Self { clock, wall: 0 }
    }

    fn observe(&mut self, kind: Kind, seconds: i64) {
        self.clock.observe(kind.index(), EventTime(seconds * 1_000));
    }

    /// Reports in each of `seconds` seconds that no records are left in `kinds`.
    fn silent(&mut self, kinds: &[Kind], seconds: i64) {
        for _ in 0..seconds {
            self.wall += 1;
            for kind in kinds {
                self.clock.lag(kind.index(), 0, WallTime(self.wall * 1_000));
            }
        }
    }

    fn watermark(&mut self) -> Option<i64> {
        let watermark = self.clock.watermark(CLOCK, WallTime(self.wall * 1_000));
        watermark.map(|watermark| watermark.0 / 1_000)
    }
}

#[test]
fn the_watermark_of_a_partition_follows_its_slower_topic() {
    let mut clock = Clock::new();
    clock.observe(Kind::Search, 100);
    assert_eq!(clock.watermark(), None, "the feedback topic has not spoken");
    clock.observe(Kind::Feedback, 50);
    assert_eq!(clock.watermark(), Some(45));
    clock.observe(Kind::Feedback, 200);
    assert_eq!(clock.watermark(), Some(95));
}

#[test]
fn an_idle_topic_stops_holding_back_the_watermark() {
    let mut clock = Clock::new();
    clock.observe(Kind::Search, 100);
    clock.observe(Kind::Feedback, 50);
    clock.silent(&[Kind::Feedback], 10);
    assert_eq!(clock.watermark(), Some(45), "silent for nine seconds");
    clock.silent(&[Kind::Feedback], 1);
    assert_eq!(clock.watermark(), Some(95), "silent for ten");
}

#[test]
fn a_topic_without_records_can_be_idle() {
    let mut clock = Clock::new();
    clock.observe(Kind::Search, 100);
    clock.silent(&[Kind::Feedback], 11);
    assert_eq!(clock.watermark(), Some(95));
}

#[test]
fn a_silent_topic_holds_back_the_watermark_unless_reported_as_read_to_its_end() {
    let mut clock = Clock::new();
    clock.observe(Kind::Search, 100);
    clock.observe(Kind::Feedback, 50);
    clock.wall += 3_600;
    assert_eq!(clock.watermark(), Some(45));
    clock
        .clock
        .lag(Kind::Feedback.index(), 7, WallTime(clock.wall * 1_000));
    clock.wall += 3_600;
    assert_eq!(clock.watermark(), Some(45), "seven records are left");
}

#[test]
fn a_stale_lag_report_does_not_advance_the_watermark() {
    let mut clock = Clock::new();
    clock.observe(Kind::Search, 100);
    clock.observe(Kind::Feedback, 50);
    clock.silent(&[Kind::Feedback], 2);
    clock.wall += 60;
    assert_eq!(clock.watermark(), Some(45), "the broker is away");
}

#[test]
fn the_watermark_follows_wall_time_when_both_topics_are_idle() {
    let mut clock = Clock::new();
    clock.observe(Kind::Search, 100);
    clock.observe(Kind::Feedback, 50);
    clock.silent(&Kind::ALL, 11);
    assert_eq!(clock.watermark(), Some(95));
    clock.silent(&Kind::ALL, 20);
    assert_eq!(clock.watermark(), Some(115));
    clock.observe(Kind::Search, 101);
    assert_eq!(clock.watermark(), Some(115), "never back");
}

proptest! {
    #[test]
    fn the_watermark_never_decreases(
        steps in vec((0..4_u8, any::<bool>(), 0..1_000_i64, -20..60_i64), 1..80),
    ) {
        let mut clock = Clock::new();
        let (mut last, mut newest) = (None, None);
        for (what, search, time, wall) in steps {
            let kind = Kind::ALL[usize::from(search)];
            match what {
                0 | 1 => {
                    clock.observe(kind, time);
                    newest = newest.max(Some(time));
                }
                2 => clock.clock.lag(kind.index(), 0, WallTime(clock.wall * 1_000)),
                _ => clock.clock.lag(kind.index(), 5, WallTime(clock.wall * 1_000)),
            }
            // The wall clock can also be set back.
            clock.wall += wall;
            let watermark = clock.watermark();
            prop_assert!(watermark >= last, "{watermark:?} after {last:?}");
            prop_assert!(watermark.is_none() || newest.is_some());
            last = watermark;
        }
    }
}

const DRAFT: Draft = Draft {
    query: 0,
    results: [0, 1, 2],
    served: 3,
    variant: 0,
    device: 0,
    latency: 5,
    session: 0,
};

#[test]
fn an_event_from_the_future_is_invalid_and_does_not_advance_the_watermark() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    let watermark = |engine: &rankgauge_core::engine::Engine| {
        let partitions = engine.snapshot().partitions;
        partitions[0].watermark.map(|watermark| watermark.0 - START)
    };
    read(&mut engine, Kind::Search, 0, 0, &DRAFT.write("a", 0));
    read(
        &mut engine,
        Kind::Feedback,
        0,
        0,
        &write_feedback("e", "a", 0, 0),
    );
    assert_eq!(watermark(&engine), Some(-OUT_OF_ORDERNESS));
    // One event is one millisecond too far in the future. The other is just within the limit.
    let (too_far, allowed) = (MAX_FUTURE_SKEW + 1, MAX_FUTURE_SKEW);
    read(&mut engine, Kind::Search, 0, 1, &DRAFT.write("b", too_far));
    read(
        &mut engine,
        Kind::Feedback,
        0,
        1,
        &write_feedback("f", "a", too_far, 0),
    );
    assert_eq!(watermark(&engine), Some(-OUT_OF_ORDERNESS));
    for kind in Kind::ALL {
        assert_eq!(super::outcome(&engine.snapshot(), kind, "invalid"), 1);
    }
    read(&mut engine, Kind::Search, 0, 2, &DRAFT.write("c", allowed));
    read(
        &mut engine,
        Kind::Feedback,
        0,
        2,
        &write_feedback("g", "c", allowed, 0),
    );
    assert_eq!(watermark(&engine), Some(allowed - OUT_OF_ORDERNESS));
}

#[test]
fn a_held_watermark_is_released_by_a_tick_once_the_topic_is_idle() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    read(&mut engine, Kind::Search, 0, 0, &DRAFT.write("a", 0));
    tick(&mut engine, START);
    let watermark = engine.progress().and_then(|progress| progress.watermark);
    assert_eq!(watermark, None);
    for seconds in 1..=12 {
        lag(&mut engine, Kind::Feedback, 0, 0);
        tick(&mut engine, START + seconds * 1_000);
    }
    let progress = engine.progress().expect("time has come somewhere");
    assert_eq!(
        progress.watermark,
        Some(EventTime(START - OUT_OF_ORDERNESS))
    );
    assert_eq!(progress.newest, EventTime(START));
}

/// Report about source partitions, as (partition, newest second, is at its end).
fn report(partitions: usize, sources: &[(i32, Option<i64>, bool)]) -> SourceReport {
    let sources = sources
        .iter()
        .map(|&(partition, newest, is_at_end)| SourceClock {
            partition,
            newest: newest.map(|seconds| EventTime(seconds * 1_000)),
            is_at_end,
        });
    SourceReport {
        partitions,
        sources: sources.collect(),
        lost: [0; 3],
    }
}

#[test]
fn the_watermark_of_an_internal_topic_follows_the_slowest_source_partition_of_all() {
    let mut clock = Clock::new();
    clock.clock = PartitionClock::of_sources(&Kind::ALL);
    for _ in Kind::ALL {
        clock.clock.add(None);
    }
    let apply = |clock: &mut Clock, kind, report: &SourceReport| {
        let wall = WallTime(clock.wall * 1_000);
        clock.clock.report(kind, report, wall);
    };
    // The records themselves say nothing: another source partition can be far behind.
    clock.observe(Kind::Search, 500);
    clock.observe(Kind::Feedback, 500);
    assert_eq!(clock.watermark(), None);
    apply(
        &mut clock,
        Kind::Search,
        &report(2, &[(0, Some(100), false)]),
    );
    apply(
        &mut clock,
        Kind::Feedback,
        &report(1, &[(0, Some(300), false)]),
    );
    assert_eq!(clock.watermark(), None, "a forwarder reads partition 1");
    apply(
        &mut clock,
        Kind::Search,
        &report(2, &[(1, Some(50), false)]),
    );
    assert_eq!(clock.watermark(), Some(45));
    apply(
        &mut clock,
        Kind::Search,
        &report(2, &[(1, Some(400), false)]),
    );
    assert_eq!(clock.watermark(), Some(95));
    // A late report of a forwarder that was frozen.
    apply(
        &mut clock,
        Kind::Search,
        &report(2, &[(1, Some(40), false)]),
    );
    apply(
        &mut clock,
        Kind::Search,
        &report(2, &[(0, Some(200), false)]),
    );
    assert_eq!(clock.watermark(), Some(195));
    // A new partition.
    apply(
        &mut clock,
        Kind::Search,
        &report(3, &[(0, Some(600), false), (1, Some(600), false)]),
    );
    assert_eq!(clock.watermark(), Some(195));
    apply(
        &mut clock,
        Kind::Search,
        &report(3, &[(2, Some(250), false), (9, None, false)]),
    );
    assert_eq!(clock.watermark(), Some(245));
}

#[test]
fn a_source_partition_that_its_forwarder_has_read_to_the_end_becomes_idle() {
    let mut clock = Clock::new();
    clock.clock = PartitionClock::of_sources(&[Kind::Search]);
    clock.clock.add(None);
    let idle = report(2, &[(0, Some(100), false), (1, None, true)]);
    for _ in 0..=IDLE_TIMEOUT / 1_000 {
        clock.wall += 1;
        clock
            .clock
            .report(Kind::Search, &idle, WallTime(clock.wall * 1_000));
    }
    assert_eq!(clock.watermark(), Some(95));
    // Without its forwarder, it is not known to be idle.
    clock.wall += 20;
    clock.observe(Kind::Search, 200);
    assert_eq!(clock.watermark(), Some(95), "it never decreases");
    let other = report(2, &[(0, Some(300), false)]);
    clock
        .clock
        .report(Kind::Search, &other, WallTime(clock.wall * 1_000));
    assert_eq!(clock.watermark(), Some(95));
}
