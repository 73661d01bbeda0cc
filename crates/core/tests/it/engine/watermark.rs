//! Watermarks: progress of event time in a partition.

use rankgauge_core::event::Kind;
use rankgauge_core::time::EventTime;

use super::log::{Draft, write_feedback};
use super::{
    MAX_FUTURE_SKEW, OUT_OF_ORDERNESS, START, World, assign, lag, read_feedback, read_search,
    settings, tick,
};

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
    read_search(&mut engine, 0, 0, &DRAFT.write("a", 0));
    read_feedback(&mut engine, 0, 0, &write_feedback("e", "a", 0, 0));
    assert_eq!(watermark(&engine), Some(-OUT_OF_ORDERNESS));
    // One event is one millisecond too far in the future. The other is just within the limit.
    let (too_far, allowed) = (MAX_FUTURE_SKEW + 1, MAX_FUTURE_SKEW);
    read_search(&mut engine, 0, 1, &DRAFT.write("b", too_far));
    read_feedback(&mut engine, 0, 1, &write_feedback("f", "a", too_far, 0));
    assert_eq!(watermark(&engine), Some(-OUT_OF_ORDERNESS));
    for kind in Kind::ALL {
        assert_eq!(super::outcome(&engine.snapshot(), kind, "invalid"), 1);
    }
    read_search(&mut engine, 0, 2, &DRAFT.write("c", allowed));
    read_feedback(&mut engine, 0, 2, &write_feedback("g", "c", allowed, 0));
    assert_eq!(watermark(&engine), Some(allowed - OUT_OF_ORDERNESS));
}

#[test]
fn a_held_watermark_is_released_by_a_tick_once_the_topic_is_idle() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    read_search(&mut engine, 0, 0, &DRAFT.write("a", 0));
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
