//! Conversions that follow a search after its feedback window has passed.

use proptest::prelude::*;
use rankgauge_core::engine::Input;
use rankgauge_core::engine::position::{FeedbackTopic, Join, Topics};
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::event::Kind;
use rankgauge_core::measure::Measure;
use serde_json::json;

use super::joins::{DRAFT, PARTITIONS, run_saved};
use super::log::{Shape, in_order};
use super::{
    START, World, accounted, assign, counters, difference, lag, millis, outcome, read,
    read_feedback, read_search, settings, tick,
};

/// Time for conversions, in milliseconds.
const WINDOW: i64 = 100_000;

fn waiting() -> Settings {
    let mut settings = settings();
    settings.conversion_window = Some(millis(WINDOW));
    let measures = "Converted ConversionValue(currency=USD) ConversionValue(currency=KRW)";
    settings
        .measures
        .retain(|measure| measure.to_string() != "Converted");
    settings
        .measures
        .extend(Measure::parse_list(measures).expect("known measures"));
    settings
}

fn conversion(event: &str, time: i64, amount: f64, currency: &str) -> String {
    json!({"event_id": event, "ts": START + time, "query_id": "q", "type": "conversion",
           "amount": amount, "currency": currency})
    .to_string()
}

#[test]
fn conversions_of_the_next_hours_are_counted_once_in_any_order() {
    // A search with conversions, and one without.
    let search = |offset, id: &str| (Kind::Search, offset, DRAFT.write(id, 0));
    let at = |offset, event: &str, time, amount, currency: &str| {
        (
            Kind::Feedback,
            offset,
            conversion(event, time, amount, currency),
        )
    };
    let early = [
        search(0, "q"),
        search(1, "other"),
        at(0, "a", 10_000, 10.5, "USD"),
        at(1, "b", 80_000, 5_000.0, "KRW"),
        at(2, "b", 80_000, 5_000.0, "KRW"),
        at(3, "c", 99_000, 2.0, "USD"),
        at(4, "d", 101_000, 7.0, "USD"),
    ];
    for order in [[0, 1, 2, 3, 4, 5, 6], [2, 3, 4, 5, 6, 0, 1]] {
        let world = World::new(waiting());
        let mut engine = world.engine();
        assign(&mut engine, 0);
        tick(&mut engine, START + 101_000);
        for (kind, offset, payload) in order.map(|index| early[index].clone()) {
            read(&mut engine, kind, 0, offset, &payload);
        }
        let later = DRAFT.write("later", 60_000);
        read_search(&mut engine, 0, 2, &later);
        tick(&mut engine, START + 101_000);
        let far = DRAFT.write("far", 100_000);
        read_search(&mut engine, 0, 3, &far);
        tick(&mut engine, START + 101_000);
        while engine.catch_up() {}
        // The first searches wait for conversions: their records are not needed.
        let points = engine.commit_points();
        let of_searches = points.iter().find(|point| point.kind == Kind::Search);
        assert!(of_searches.expect("a point").rebuild >= 2);
        assert!(engine.conversion_bytes() > 0);
        let mut wall = START + 101_000;
        for _ in 0..60 {
            wall += 5_000;
            for kind in Kind::ALL {
                lag(&mut engine, kind, 0, 0);
            }
            tick(&mut engine, wall);
        }
        let snapshot = engine.snapshot();
        assert_eq!(snapshot.pending, [0, 0], "{order:?}");
        assert_eq!(outcome(&snapshot, Kind::Feedback, "joined"), 3, "{order:?}");
        assert_eq!(outcome(&snapshot, Kind::Feedback, "duplicate"), 1);
        assert_eq!(outcome(&snapshot, Kind::Feedback, "orphaned"), 1);
        let samples = world.samples(&snapshot);
        let score = |family: &str, measure: &str| -> f64 {
            let of_all = |name: &&String| {
                let is_family = name.starts_with(&format!("score_{family}_total{{"));
                is_family
                    && name.contains(&format!("measure=\"{measure}\""))
                    && name.contains("slice=\"all\"")
            };
            let found = samples.iter().filter(|(name, _)| of_all(name));
            found
                .map(|(_, value)| value.parse::<f64>().expect("a number"))
                .sum()
        };
        for (measure, expected) in [
            ("Converted", 1.0),
            ("ConversionValue(currency=USD)", 12.5),
            ("ConversionValue(currency=KRW)", 5_000.0),
        ] {
            let found = [score("sum", measure), score("count", measure)];
            let is_equal = (found[0] - expected).abs() < 1e-9 && (found[1] - 4.0).abs() < 1e-9;
            assert!(is_equal, "{measure} {order:?}: {found:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_restart_continues_exactly(
        records in in_order(Shape { feedback: (-3_000, 130_000), ..Shape::default() }),
        cut in any::<prop::sample::Index>(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
        topics in prop::sample::select(vec![
            Topics::default(),
            Topics { feedback: FeedbackTopic::Own, join: Join::All },
            Topics { feedback: FeedbackTopic::Shared, join: Join::All },
        ]),
    ) {
        let counted = |cut| {
            let (world, snapshot) = run_saved(Settings { topics, ..waiting() }, &records, cut);
            let received = |kind: Kind| {
                let of_kind = records.iter().filter(|it| it.kind == kind && it.payload.len() > 1);
                u64::try_from(of_kind.count()).expect("few")
            };
            if topics.feedback == FeedbackTopic::Own {
                assert!(accounted(&snapshot, Kind::Feedback) == received(Kind::Feedback));
            }
            counters(&world.samples(&snapshot))
        };
        let cut = cut.index(records.len().max(1));
        let found = counted(Some((cut, &choices[..])));
        let expected = counted(None);
        let different = difference(&found, &expected);
        prop_assert!(different.is_empty(), "{topics:?}: {different:#?}");
    }
}

#[test]
fn searches_of_a_partition_that_is_gone_are_not_counted() {
    let world = World::new(waiting());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    assign(&mut engine, 1);
    tick(&mut engine, START);
    let mut offset = 0;
    let mut pass = |engine: &mut rankgauge_core::engine::Engine, partitions: &[i32], time: i64| {
        offset += 1;
        tick(engine, START + time);
        for partition in partitions {
            let id = format!("q{partition}-{time}");
            read_search(engine, *partition, offset, &DRAFT.write(&id, time));
            let event = conversion(&id, time, 1.0, "USD").replace("\"q\"", "\"absent\"");
            read_feedback(engine, *partition, offset, &event);
        }
        while engine.catch_up() {}
    };
    pass(&mut engine, &[0, 1], 0);
    pass(&mut engine, &[0, 1], 60_000);
    engine.apply(Input::Revoked { partition: 0 });
    // In a new process, they wait as in the one before.
    let state = engine.state();
    let mut next = world.engine();
    next.restore(&state);
    assign(&mut next, 1);
    for time in [120_000, 180_000, 240_000, 300_000, 360_000] {
        pass(&mut next, &[1], time);
    }
    let samples = world.samples(&next.snapshot());
    let lost = samples
        .get("conversions_not_counted_total{}")
        .map(String::as_str);
    assert_eq!(lost, Some("1"), "{PARTITIONS:?}");
}
