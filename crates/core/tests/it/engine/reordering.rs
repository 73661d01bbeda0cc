//! The order of arrival does not matter as long as no record of a topic arrives more than
//! `out_of_orderness` behind a newer one, regardless of the distance between the two topics of a
//! partition.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::event::Kind;

use super::log::{Draft, Record, Shape, in_order, write_feedback};
use super::{
    FEEDBACK_WINDOW, OUT_OF_ORDERNESS, START, Samples, World, assign, difference, read,
    read_feedback, read_search, settings, tick,
};

/// Samples that are exposed after `records` are read in their order.
fn outcome_of(records: &[Record]) -> Samples {
    let world = World::new(settings());
    let mut engine = world.engine();
    tick(&mut engine, START + 600_000);
    for partition in 0..3 {
        assign(&mut engine, partition);
    }
    let mut next: BTreeMap<(i32, Kind), i64> = BTreeMap::new();
    for record in records {
        let offset = next.entry((record.partition, record.kind)).or_default();
        read(
            &mut engine,
            record.kind,
            record.partition,
            *offset,
            &record.payload,
        );
        *offset += 1;
    }
    tick(&mut engine, START + 601_000);
    world.samples(&engine.snapshot())
}

/// The same records with other delays, and with one topic of a partition behind the other.
fn reordered(records: &[Record], jitter: &[i64], skew: [i64; 6]) -> Vec<Record> {
    let mut records: Vec<(i64, Record)> = records
        .iter()
        .cloned()
        .zip(jitter.iter().cycle())
        .map(|(record, jitter)| {
            let topic = usize::try_from(record.partition).expect("three") * 2 + record.kind.index();
            (record.time + jitter + skew[topic], record)
        })
        .collect();
    records.sort_by_key(|(arrival, _)| *arrival);
    records.into_iter().map(|(_, record)| record).collect()
}

fn assert_same(records: &[Record], jitter: &[i64], skew: [i64; 6]) -> Result<(), TestCaseError> {
    let expected = outcome_of(records);
    let found = outcome_of(&reordered(records, jitter, skew));
    let differences = difference(&found, &expected);
    prop_assert!(differences.is_empty(), "{differences:#?}");
    Ok(())
}

/// Reactions up to twice the feedback window away from their search, on either side.
const FAR: Shape = Shape {
    partitions: 3,
    searches: 25,
    span: 90_000,
    feedback: (-2 * FEEDBACK_WINDOW, 2 * FEEDBACK_WINDOW),
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn order_within_the_allowed_disorder_does_not_matter(
        records in in_order(Shape::default()),
        jitter in vec(0..OUT_OF_ORDERNESS, 97),
        skew in prop::array::uniform6(0..40_000_i64),
    ) {
        assert_same(&records, &jitter, skew)?;
    }

    #[test]
    fn arrival_order_does_not_decide_if_distant_feedback_belongs_to_a_search(
        records in in_order(FAR),
        jitter in vec(0..OUT_OF_ORDERNESS, 97),
        skew in prop::array::uniform6(0..40_000_i64),
    ) {
        assert_same(&records, &jitter, skew)?;
    }
}

const DRAFT: Draft = Draft {
    query: 0,
    results: [0, 1, 2],
    served: 3,
    variant: 0,
    device: 0,
    latency: 1,
    session: 0,
};

/// Search with an id that is used again, and feedback on that id, at these times.
fn reused(searches: &[i64], feedback: &[(i64, u8)]) -> Vec<Record> {
    let searches = searches
        .iter()
        .map(|time| (Kind::Search, *time, DRAFT.write("q", *time)));
    let feedback = feedback.iter().enumerate().map(|(number, (time, action))| {
        let event = write_feedback(&format!("e{number}"), "q", *time, *action);
        (Kind::Feedback, *time, event)
    });
    let records = searches
        .chain(feedback)
        .map(|(kind, time, payload)| Record {
            kind,
            partition: 0,
            time,
            arrival: time,
            payload,
        });
    let mut records: Vec<Record> = records.collect();
    records.sort_by_key(|record| record.time);
    records
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn reused_id_has_outcomes_that_follow_from_event_times_alone(
        gaps in vec(1..3 * FEEDBACK_WINDOW, 1..5),
        feedback in vec((0..4 * FEEDBACK_WINDOW, 0..220_u8), 0..6),
        skew in prop::array::uniform6(0..40_000_i64),
    ) {
        let times = gaps.iter().scan(0, |time, gap| {
            *time += gap;
            Some(*time)
        });
        let times: Vec<i64> = times.collect();
        assert_same(&reused(&times, &feedback), &[0], skew)?;
    }
}

/// Outcomes of searches with one id at these times. No other event advances time.
fn outcomes(times: &[i64]) -> Vec<(&'static str, u64)> {
    let world = World::new(settings());
    let mut engine = world.engine();
    tick(&mut engine, START + 600_000);
    assign(&mut engine, 0);
    for (offset, record) in (0..).zip(reused(times, &[])) {
        read_search(&mut engine, 0, offset, &record.payload);
    }
    engine.drain();
    let mut outcomes = engine.snapshot().totals.events.outcomes(Kind::Search);
    outcomes.retain(|(_, count)| *count > 0);
    outcomes
}

#[test]
fn id_reused_after_its_window_is_a_new_search_even_if_the_first_one_is_pending() {
    assert_eq!(outcomes(&[0, FEEDBACK_WINDOW + 1]), [("judged", 2)]);
    let within = outcomes(&[0, FEEDBACK_WINDOW]);
    assert_eq!(within, [("judged", 1), ("duplicate", 1)]);
}

#[test]
fn a_click_hours_after_its_search_is_not_joined_when_the_feedback_topic_was_silent() {
    let world = World::new(settings());
    let mut engine = world.engine();
    let hours = 10 * 3_600_000;
    tick(&mut engine, START + hours);
    assign(&mut engine, 0);
    read_search(&mut engine, 0, 0, &DRAFT.write("q", 0));
    read_feedback(&mut engine, 0, 0, &write_feedback("e", "q", hours, 0));
    let joined = super::outcome(&engine.snapshot(), Kind::Feedback, "joined");
    assert_eq!(joined, 0);
}
