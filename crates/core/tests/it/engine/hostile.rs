//! Traffic of buggy and hostile clients: its cost is linear in the number of records, its memory stays
//! within the budget, and every record is counted exactly.
//!
//! A linear cost is not asserted as a time. Where the cost of a record once grew with the number of
//! records that share its ids, the tests send so many that the product would take hours.

use proptest::prelude::*;
use rankgauge_core::engine::family;
use rankgauge_core::engine::partition::Resume;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::Kind;
use rankgauge_core::measure::Measure;
use serde_json::{Value, json};

use super::log::write_feedback;
use super::{
    MAX_FUTURE_SKEW, START, Samples, World, accounted, assign, drain, outcome, read, read_search,
    settings, tick,
};

/// Reads records of one partition in a row, and counts them.
struct Reader {
    engine: Engine,
    next: [i64; 2],
}

impl Reader {
    fn new(world: &World) -> Self {
        let mut engine = world.engine();
        assign(&mut engine, 0);
        Self {
            engine,
            next: [0; 2],
        }
    }

    fn read(&mut self, kind: Kind, payload: &str) {
        let offset = &mut self.next[kind.index()];
        read(&mut self.engine, kind, 0, *offset, payload);
        *offset += 1;
    }

    fn search(&mut self, event: &Value) {
        self.read(Kind::Search, &event.to_string());
    }

    fn feedback(&mut self, event: &Value) {
        self.read(Kind::Feedback, &event.to_string());
    }

    /// Reads further searches and feedback until all time before `time` is closed.
    fn pass(&mut self, time: i64) {
        let ts = START + time;
        tick(&mut self.engine, ts);
        self.search(
            &json!({"query_id": format!("pass {time}"), "ts": ts, "query": "?", "results": []}),
        );
        self.read(Kind::Feedback, &write_feedback("pass", "absent", time, 2));
        while self.engine.catch_up() {}
    }

    #[track_caller]
    fn assert_conserved(&self) {
        let snapshot = self.engine.snapshot();
        for kind in Kind::ALL {
            let received = u64::try_from(self.next[kind.index()]).expect("not negative");
            assert_eq!(accounted(&snapshot, kind), received, "{kind:?}");
        }
    }

    #[track_caller]
    fn assert_within_budget(&self, settings: &Settings) {
        let memory = self.engine.snapshot().memory;
        let limit = u64::try_from(settings.memory).expect("small");
        assert!(memory.joins <= limit, "{memory:?}");
    }
}

fn search(id: &str, time: i64) -> Value {
    json!({"query_id": id, "ts": START + time, "query_key": "g0", "variant": "V1",
           "results": [{"id": "d0"}, {"id": "d1"}, {"id": "d9"}]})
}

fn click(event: &str, query_id: &str, time: i64) -> Value {
    json!({"event_id": event, "query_id": query_id, "ts": START + time, "type": "click",
           "position": 1})
}

#[test]
fn clicks_with_one_unknown_id_are_all_orphaned() {
    let world = World::new(settings());
    let mut reader = Reader::new(&world);
    reader.search(&search("known", 0));
    for number in 0..150_000 {
        reader.feedback(&click(&format!("e{number}"), "undefined", number / 1_000));
    }
    reader.assert_conserved();
    reader.assert_within_budget(&world.settings);
    reader.pass(200_000);
    let snapshot = reader.engine.snapshot();
    assert_eq!(outcome(&snapshot, Kind::Feedback, "orphaned"), 150_000);
    let exceeded = snapshot
        .totals
        .counters
        .sum(&family::FEEDBACK_LIMIT_EXCEEDED);
    assert_eq!(exceeded, 150_000 - 1_000);
    reader.assert_conserved();
}

#[test]
fn clicks_beyond_the_limit_are_joined_whether_their_search_comes_before_or_after() {
    let mut outcomes = Vec::new();
    for comes_first in [true, false] {
        let world = World::new(settings());
        let mut reader = Reader::new(&world);
        if comes_first {
            reader.search(&search("busy", 0));
        }
        for number in 0..3_000 {
            reader.feedback(&click(&format!("e{number}"), "busy", number));
            // A duplicate of a kept event stays a duplicate.
            reader.feedback(&click(
                &format!("e{}", number % 1_000),
                "busy",
                number % 1_000,
            ));
        }
        if !comes_first {
            reader.search(&search("busy", 0));
        }
        reader.assert_conserved();
        reader.pass(200_000);
        reader.assert_conserved();
        let snapshot = reader.engine.snapshot();
        let of = |name| outcome(&snapshot, Kind::Feedback, name);
        assert_eq!((of("joined"), of("duplicate")), (3_000, 3_000));
        let samples = world.samples(&snapshot);
        outcomes.push(
            samples[r#"score_sum_total{measure="CTR",slice="all",value="",variant="V1"}"#].clone(),
        );
    }
    assert_eq!(outcomes, ["1", "1"]);
}

#[test]
fn a_session_that_everyone_shares_costs_no_more_than_many_sessions() {
    let world = World::new(settings());
    let mut reader = Reader::new(&world);
    for number in 0..20_000_i64 {
        let id = format!("q{number}");
        let mut event = search(&id, number / 4);
        event["session_id"] = json!("undefined");
        reader.search(&event);
        for copy in 0..2 {
            reader.feedback(&click(&format!("c{copy}"), &id, number / 4 + copy));
        }
        let rating = json!({"event_id": format!("r{number}"), "session_id": "undefined",
                            "ts": START + number / 4, "type": "thumbs", "value": true});
        reader.feedback(&rating);
    }
    reader.assert_within_budget(&world.settings);
    reader.pass(200_000);
    reader.assert_conserved();
    let snapshot = reader.engine.snapshot();
    assert_eq!(outcome(&snapshot, Kind::Search, "judged"), 20_000);
    assert_eq!(outcome(&snapshot, Kind::Feedback, "joined"), 60_000);
    let exceeded = snapshot
        .totals
        .counters
        .sum(&family::SESSION_LIMIT_EXCEEDED);
    assert_eq!(exceeded, 19_000);
}

#[test]
fn clicks_on_a_long_list_do_not_depend_on_its_length() {
    let mut settings = settings();
    settings.record_limits.results_per_search = 10_000;
    let world = World::new(settings);
    let mut reader = Reader::new(&world);
    let results: Vec<Value> = (0..10_000)
        .map(|number| json!({"id": format!("r{number}")}))
        .collect();
    let mut long = search("long", 0);
    long["results"] = json!(results);
    reader.search(&long);
    for number in 0..50_000 {
        let mut event = click(&format!("e{number}"), "long", number / 100);
        event["object_id"] = json!("r9999");
        reader.feedback(&event);
    }
    reader.pass(200_000);
    reader.assert_conserved();
    assert_eq!(
        outcome(&reader.engine.snapshot(), Kind::Feedback, "joined"),
        50_000
    );
}

#[test]
fn an_id_of_a_session_has_at_most_256_bytes() {
    let world = World::new(settings());
    let mut reader = Reader::new(&world);
    for (number, length) in [256, 257, 900_000].into_iter().enumerate() {
        let mut event = search(&format!("q{number}"), 0);
        event["session_id"] = json!("s".repeat(length));
        reader.search(&event);
        let rating = json!({"event_id": format!("e{number}"), "session_id": "s".repeat(length),
                            "ts": START, "type": "thumbs", "value": true});
        reader.feedback(&rating);
    }
    let snapshot = reader.engine.snapshot();
    for kind in Kind::ALL {
        assert_eq!(outcome(&snapshot, kind, "invalid"), 2, "{kind:?}");
    }
}

#[test]
fn long_lists_and_many_sessions_stay_within_the_budget() {
    let mut settings = settings();
    settings.memory = 4 << 20;
    settings.record_limits.results_per_search = 10_000;
    let world = World::new(settings);
    let mut reader = Reader::new(&world);
    let results: Vec<Value> = (0..10_000)
        .map(|number| json!({"id": format!("r{number}")}))
        .collect();
    for number in 0..150 {
        let mut event = search(&format!("q{number}"), number * 100);
        event["session_id"] = json!(format!("{number:0>250}"));
        event["results"] = json!(results);
        reader.search(&event);
        reader.assert_within_budget(&world.settings);
    }
    let snapshot = reader.engine.snapshot();
    assert!(snapshot.totals.counters.sum(&family::FINALISED_EARLY) > 0);
    reader.assert_conserved();
}

#[test]
fn late_repeats_of_one_id_take_no_memory() {
    let world = World::new(settings());
    let mut reader = Reader::new(&world);
    reader.pass(100_000);
    reader.search(&search("late", 60_000));
    let before = reader.engine.snapshot().memory.joins;
    for _ in 0..50_000 {
        reader.search(&search("late", 60_000));
    }
    let after = reader.engine.snapshot().memory.joins;
    assert_eq!(after, before);
    assert_eq!(
        outcome(&reader.engine.snapshot(), Kind::Search, "late"),
        50_001
    );
}

#[test]
fn a_late_search_is_kept_without_its_results() {
    let mut settings = settings();
    settings.record_limits.results_per_search = 10_000;
    let world = World::new(settings);
    let mut reader = Reader::new(&world);
    reader.pass(100_000);
    let mut bytes_of = |id: &str, results: usize| {
        let mut event = search(id, 60_000);
        let ids = 0..results;
        event["results"] = ids.map(|it| json!({"id": format!("r{it}")})).collect();
        let before = reader.engine.snapshot().memory.joins;
        reader.search(&event);
        reader.engine.snapshot().memory.joins - before
    };
    // The first late search of a second also needs the list of its second.
    bytes_of("first", 3);
    assert_eq!(bytes_of("long", 10_000), bytes_of("short", 3));
}

#[test]
fn records_rejected_as_future_are_counted_once_across_a_restart() {
    // Every other record comes from a client whose clock is ahead by more than is allowed. Time
    // passes, so that after the restart many of these times are no longer in the future.
    let world = World::new(settings());
    let mut reader = Reader::new(&world);
    let payload = |number: i64| {
        let ahead = if number % 2 == 0 {
            0
        } else {
            MAX_FUTURE_SKEW + 40_000
        };
        search(&format!("q{number}"), number * 10 + ahead).to_string()
    };
    for number in 0..2_000 {
        tick(&mut reader.engine, START + number * 10);
        reader.read(Kind::Search, &payload(number));
    }
    let before = reader.engine.snapshot();
    assert_eq!(outcome(&before, Kind::Search, "invalid"), 1_000);

    let mut resume = Resume::default();
    let mut rebuild = 0;
    for point in reader.engine.commit_points() {
        resume.add(&point);
        if point.kind == Kind::Search {
            rebuild = point.rebuild;
        }
    }
    reader.engine.apply(Input::Revoked { partition: 0 });
    tick(&mut reader.engine, START + 120_000);
    reader.engine.apply(Input::Assigned {
        partition: 0,
        resume,
    });
    for number in rebuild..2_000 {
        read_search(&mut reader.engine, 0, number, &payload(number));
    }
    reader.assert_conserved();
    drain(&mut [&mut reader.engine], 1, START + 120_000);
    let after = reader.engine.snapshot();
    assert_eq!(outcome(&after, Kind::Search, "invalid"), 1_000);
    assert_eq!(outcome(&after, Kind::Search, "judged"), 1_000);
    reader.assert_conserved();
}

#[test]
fn histograms_of_large_amounts_are_small() {
    let mut settings = settings();
    settings.series_per_family = 1_000_000;
    settings.values_per_label = 2_000;
    let world = World::new(settings);
    let mut reader = Reader::new(&world);
    for number in 0..1_140 {
        let mut event = search(&format!("q{number}"), 0);
        event["variant"] = json!(format!("V{number}"));
        event["cost"] = json!({"amount": 1_000_000_000 - number, "currency": "KRW"});
        event["latency_ms"] = json!(2_591_999_999.0);
        reader.search(&event);
    }
    tick(&mut reader.engine, START);
    let memory = reader.engine.snapshot().memory;
    assert!(memory.totals < 64 << 20, "{memory:?}");
}

#[test]
fn a_depth_beyond_any_graph_is_invalid_and_no_counter_becomes_negative() {
    let mut settings = settings();
    settings
        .measures
        .extend(Measure::parse_list("MaxDepth MeanDepth").expect("known"));
    let world = World::new(settings);
    let mut reader = Reader::new(&world);
    for (number, depth) in [4_294_967_295_u32, 1_001, 1_000]
        .into_iter()
        .cycle()
        .take(300)
        .enumerate()
    {
        let mut event = search(&format!("q{number}"), 0);
        event["results"][0]["depth"] = json!(depth);
        event["results"][1]["hops"] = json!(depth);
        reader.search(&event);
    }
    let snapshot = reader.engine.snapshot();
    assert_eq!(outcome(&snapshot, Kind::Search, "invalid"), 200);
    let samples = world.samples(&snapshot);
    let negative: Vec<_> = samples
        .iter()
        .filter(|(_, value)| value.starts_with('-'))
        .collect();
    assert!(negative.is_empty(), "{negative:?}");
    assert_eq!(
        samples[r#"score_sum_total{measure="MaxDepth",slice="all",value="",variant="V1"}"#],
        "100000"
    );
}

#[test]
fn every_variant_has_a_series_of_the_whole_before_slices_fill_the_table() {
    let mut settings = settings();
    // Room for about 120 series of 19 measures in 2 windows.
    settings.series_per_family = 120 * 38;
    let world = World::new(settings);
    let mut reader = Reader::new(&world);
    for number in 0..120 {
        let mut event = search(&format!("q{number}"), 0);
        event["query_key"] = json!("g2");
        event["variant"] = json!(format!("V{}", number / 10));
        event["labels"] = json!({"query_type": format!("type {}", number % 10)});
        reader.search(&event);
    }
    let samples = world.samples(&reader.engine.snapshot());
    for variant in 0..12 {
        let name = format!(r#"searches_total{{slice="all",value="",variant="V{variant}"}}"#);
        assert_eq!(samples.get(&name).map(String::as_str), Some("10"), "{name}");
    }
    let slices: i64 = samples
        .iter()
        .filter(|(name, _)| name.starts_with(r#"searches_total{slice="query_type""#))
        .map(|(_, value)| value.parse::<i64>().expect("a count"))
        .sum();
    assert_eq!(
        slices, 120,
        "every search is in the slice, or in its overflow"
    );
}

/// Searches and clicks of a well-behaved client in a second.
fn good(reader: &mut Reader, second: i64) {
    let id = format!("good {second}");
    let mut event = search(&id, second * 1_000);
    event["session_id"] = json!(format!("good session {}", second / 3));
    event["latency_ms"] = json!(20 + second % 80);
    event["cost"] = json!({"amount": 0.001, "currency": "USD"});
    reader.search(&event);
    reader.feedback(&click(&format!("good {second}"), &id, second * 1_000 + 400));
}

/// One record of each of the eight kinds of hostile traffic.
fn hostile(reader: &mut Reader, second: i64) {
    let time = second * 1_000;
    let bad = |id: &str| {
        let mut event = search(&format!("{id} {second}"), time);
        event["variant"] = json!("bad");
        event
    };
    for copy in 0..20 {
        reader.feedback(&click(&format!("u{second}-{copy}"), "undefined", time));
    }
    let mut shared = bad("shared session");
    shared["session_id"] = json!("undefined");
    reader.search(&shared);
    let mut long_session = bad("long session");
    long_session["session_id"] = json!("x".repeat(10_000));
    reader.search(&long_session);
    let mut late = search("late", -1_000_000);
    late["variant"] = json!("bad");
    reader.search(&late);
    let mut long = bad("long list");
    long["results"] = (0..200)
        .map(|number| json!({"id": format!("r{number}")}))
        .collect();
    reader.search(&long);
    reader.search(&{
        let mut event = bad("future");
        event["ts"] = json!(START + time + 10 * MAX_FUTURE_SKEW);
        event
    });
    let mut dear = bad("dear");
    dear["cost"] = json!({"amount": 1e9, "currency": "KRW"});
    dear["latency_ms"] = json!(2e9);
    reader.search(&dear);
    let mut deep = bad("deep");
    deep["results"][0]["depth"] = json!(4_294_967_295_u32);
    reader.search(&deep);
    let mut seconds = bad("seconds");
    seconds["ts"] = json!((START + time) / 1_000);
    seconds["variant"] = json!(format!("bad {second}"));
    reader.search(&seconds);
}

/// Values of the good variant, and those that the bad traffic must not change otherwise.
fn of_good(samples: &Samples) -> Samples {
    let is_good = |name: &&String| name.contains(r#"variant="V1""#);
    let good = samples.keys().filter(is_good);
    good.map(|name| (name.clone(), samples[name].clone()))
        .collect()
}

#[test]
fn hostile_traffic_for_an_hour_leaves_the_numbers_of_good_traffic_unchanged() {
    let mut found = Vec::new();
    for is_mixed in [false, true] {
        let mut settings = settings();
        settings.memory = 24 << 20;
        let world = World::new(settings);
        let mut reader = Reader::new(&world);
        for second in 0..3_600 {
            tick(&mut reader.engine, START + second * 1_000);
            good(&mut reader, second);
            if is_mixed {
                hostile(&mut reader, second);
                if second % 60 == 0 {
                    reader.assert_within_budget(&world.settings);
                }
            }
        }
        reader.assert_conserved();
        drain(&mut [&mut reader.engine], 1, START + 3_600_000);
        let snapshot = reader.engine.snapshot();
        reader.assert_conserved();
        assert_eq!(snapshot.totals.counters.sum(&family::FINALISED_EARLY), 0);
        found.push(of_good(&world.samples(&snapshot)));
    }
    let [alone, mixed] = &found[..] else {
        panic!("two runs");
    };
    assert!(alone.len() > 100, "{}", alone.len());
    let differences = super::difference(mixed, alone);
    assert!(differences.is_empty(), "{differences:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// However little is closed at a time, the same is closed in the end.
    #[test]
    fn closing_in_steps_gives_the_same_numbers(seconds in 1..200_i64, per_second in 1..40_i64) {
        let world = World::new(settings());
        let mut reader = Reader::new(&world);
        for number in 0..seconds * per_second {
            let id = format!("q{number}");
            reader.search(&search(&id, number / per_second));
            reader.feedback(&click("e", &id, number / per_second));
        }
        // A day passes at once: far more is closed than one record may close.
        reader.search(&search("later", 86_400_000 - 1));
        let later = START + 86_400_000;
        tick(&mut reader.engine, later);
        reader.search(&search("latest", 86_400_000));
        reader.feedback(&click("later", "latest", 86_400_000));
        reader.assert_conserved();
        while reader.engine.catch_up() {
            reader.assert_conserved();
        }
        prop_assert!(!reader.engine.is_within_second());
        let snapshot = reader.engine.snapshot();
        let judged = u64::try_from(seconds * per_second).expect("not negative");
        prop_assert_eq!(outcome(&snapshot, Kind::Search, "judged"), judged);
        prop_assert_eq!(outcome(&snapshot, Kind::Feedback, "joined"), judged + 1);
    }
}
