//! Watermarks of topic partitions, with reports about source partitions.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{ClockSettings, PartitionClock};
use crate::engine::sources::{SourceClock, SourceReport};
use crate::event::Kind;
use crate::time::{EventTime, Millis, WallTime};

const IDLE_TIMEOUT: i64 = 10_000;

const CLOCK: ClockSettings = ClockSettings {
    out_of_orderness: Millis(5_000),
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
