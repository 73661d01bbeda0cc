//! Invalid records mixed with valid records.

use std::collections::BTreeMap;

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use rankgauge_lab::traffic::Record;
use rankgauge_serve::clock::wall_now;

use super::stream::Stream;
use super::{
    Counters, assert_same, count, counters, finished, replayed, scrape_when_received, settings,
    start,
};
use crate::harness::kafka::broker;
use crate::harness::sidecar::Exposition;

/// Number of invalid records. The number of valid records is similar.
const BAD: usize = 10_000;
/// Number of searches that yield, with their feedback, a similar number of records.
const SEARCHES: usize = 5_000;
/// One in this number of invalid records is one or two megabytes long.
const HUGE_EVERY: usize = 50;
/// Maximum growth of memory from the first half of the records to the second. librdkafka keeps up
/// to 32 MiB of fetched records, and the allocator keeps the memory for the largest of them.
const GROWTH: f64 = 64.0 * 1024.0 * 1024.0;

#[test]
fn invalid_records_are_counted_by_reason_and_affect_neither_valid_ones_nor_memory() {
    let mut stream = Stream::on_new_topics(broker(), 4, 50.0, Millis(120_000));
    let settings = settings(broker(), &stream);
    let sidecar = start(&settings);
    let mut expected: BTreeMap<(Kind, &str), u64> = BTreeMap::new();
    let mut sent = [0; 2];
    let mut memory = Vec::new();
    let mut exposition = Exposition::default();
    for half in 0..2 {
        let good = stream.take(SEARCHES / 2);
        let bad = Kind::ALL.map(|kind| bad_records(kind, &good, half));
        for (kind, records) in Kind::ALL.into_iter().zip(&bad) {
            for (reason, _) in records {
                *expected.entry((kind, reason)).or_default() += 1;
                sent[kind.index()] += 1;
            }
        }
        // First half of the valid records, the invalid records, the second half: the kinds are
        // mixed.
        let (before, after) = good.split_at(good.len() / 2);
        stream.send(broker(), before);
        for kind in Kind::ALL {
            let records = bad[kind.index()]
                .iter()
                .zip((0..4).cycle())
                .map(|((_, payload), partition)| ("", payload, Some(partition)));
            broker().produce(stream.topic(kind), records);
        }
        stream.send(broker(), after);
        let [searches, feedback] = stream.produced();
        exposition = scrape_when_received(&sidecar, [searches + sent[0], feedback + sent[1]]);
        memory.extend(exposition.value("process_resident_memory_bytes", &[]));
    }

    let invalid = exposition
        .matching("rankgauge_invalid_events_total", &[])
        .filter(|sample| sample.value > 0.0);
    let found: BTreeMap<(Kind, &str), u64> = invalid
        .map(|sample| {
            let kind = Kind::ALL
                .into_iter()
                .find(|kind| kind.name() == sample.labels["kind"]);
            let reason = sample.labels["reason"].as_str();
            let number = sample.text.parse().expect("a whole number");
            ((kind.expect("one of the kinds"), reason), number)
        })
        .collect();
    assert_same(&found, &expected);
    for kind in Kind::ALL {
        let labels = [("kind", kind.name()), ("outcome", "invalid")];
        let invalid = count(&exposition, "rankgauge_events_total", &labels);
        assert_eq!(invalid, sent[kind.index()]);
        assert!(finished(&exposition, kind) >= invalid);
    }

    let good: u64 = stream.produced().iter().sum();
    assert_eq!(sent.iter().sum::<u64>(), 10_000);
    assert!(good >= 10_000, "only {good} good records");

    // The valid records are counted as they would be without the invalid ones.
    let of_good = |mut counters: Counters| {
        counters
            .retain(|series, _| !series.contains("invalid") && !series.contains("records_total"));
        counters
    };
    assert_same(
        &of_good(counters(&exposition)),
        &of_good(replayed(&settings, &stream, &exposition)),
    );

    assert!(
        memory[1] - memory[0] < GROWTH,
        "memory grew from {} to {} bytes",
        memory[0],
        memory[1]
    );
    assert_eq!(sidecar.get("/healthz"), (200, "ok\n".to_owned()));
    assert!(!sidecar.log().contains("panicked"), "a worker died");
}

/// Invalid record: the expected reason of its rejection, and its payload.
type Bad = (&'static str, Vec<u8>);

/// A quarter of all invalid records, for the topic of `kind` in one half of the test. They cycle
/// through all ways in which a record can be invalid. Some of them are modified copies of a record
/// in `good`.
fn bad_records(kind: Kind, good: &[Record], half: usize) -> Vec<Bad> {
    let at = wall_now().0;
    let mut good = good.iter();
    let good = good
        .find(|record| record.kind == kind)
        .expect("the stream has records of both kinds");
    let mut ways = broken_bytes(good);
    ways.extend(match kind {
        Kind::Search => bad_searches(at),
        Kind::Feedback => bad_feedback(at),
    });
    (0..BAD / 4)
        .map(|number| {
            if number.is_multiple_of(HUGE_EVERY) {
                huge(kind, half + number / HUGE_EVERY)
            } else {
                ways[number % ways.len()].clone()
            }
        })
        .collect()
}

/// Records of one megabyte or more.
fn huge(kind: Kind, number: usize) -> Bad {
    let long = "법".repeat(300_000);
    let id = match kind {
        Kind::Search => "query_id",
        Kind::Feedback => "event_id",
    };
    match number % 3 {
        // Within the size limit, but not a valid id.
        0 => {
            let rest = r#""query_id":"q","ts":1,"query":"x","results":[],"type":"comment""#
                .replace(&format!("\"{id}\":\"q\","), "");
            (
                "bad_value",
                format!("{{\"{id}\":\"{long}\",{rest}}}").into(),
            )
        }
        1 => (
            "too_large",
            format!("{{\"query\":\"{long}{long}\"}}").into(),
        ),
        _ => ("not_json", format!("{{\"query\":\"{long}").into()),
    }
}

/// Payloads that are invalid at the level of bytes, for any kind of event.
fn broken_bytes(good: &Record) -> Vec<Bad> {
    let text = String::from_utf8_lossy(&good.payload);
    let half = &text[..text.floor_char_boundary(text.len() / 2)];
    let mut not_utf8 = good.payload.clone();
    not_utf8[10] = 0xff;
    vec![
        ("empty", Vec::new()),
        ("not_json", half.into()),
        ("not_json", format!("{text}}}").into()),
        ("not_json", format!("\u{feff}{text}").into()),
        ("not_json", b"   \n\t ".to_vec()),
        ("not_json", b"hello".to_vec()),
        ("not_json", vec![0; 100]),
        ("wrong_type", "[".repeat(100_000).into()),
        (
            "not_json",
            format!("{{\"unknown\":{}", "{\"a\":".repeat(50_000)).into(),
        ),
        ("not_utf8", not_utf8),
        ("wrong_type", b"null".to_vec()),
        ("wrong_type", b"42".to_vec()),
        ("wrong_type", b"\"a search\"".to_vec()),
        ("wrong_type", b"[1,2,3]".to_vec()),
        ("missing_field", b"{}".to_vec()),
    ]
}

/// Search event with `extra` fields before the usual fields, and with time `at`.
fn search(extra: &str, at: i64) -> Vec<u8> {
    format!("{{{extra}\"query_id\":\"bad\",\"ts\":{at},\"query\":\"용도지역\",\"results\":[]}}")
        .into()
}

fn bad_searches(at: i64) -> Vec<Bad> {
    let with = |extra: &str| search(extra, at);
    let far = at + 86_400_000;
    let hits = vec!["{\"id\":1}"; 10_001].join(",");
    vec![
        ("not_json", with("\"latency_ms\":NaN,")),
        ("not_json", with("\"latency_ms\":-Infinity,")),
        ("not_json", with("\"latency_ms\":1e999,")),
        ("bad_value", with("\"latency_ms\":-0.1,")),
        ("bad_value", with("\"latency_ms\":1e300,")),
        ("wrong_type", with("\"latency_ms\":\"fast\",")),
        ("wrong_type", with("\"stages\":{},")),
        ("bad_value", with("\"usage\":[{\"input_tokens\":-1}],")),
        ("bad_value", with("\"usage\":[{\"input_tokens\":9007199254740993}],")),
        ("wrong_type", with("\"usage\":[{\"input_tokens\":1.5}],")),
        ("bad_value", with("\"cost\":{\"amount\":-1},")),
        ("bad_value", with("\"cost\":{\"amount\":1,\"currency\":\"won\"},")),
        ("bad_value", with("\"query_id\":\"twice\",")),
        ("bad_value", search("", -1)),
        ("future_time", search("", far)),
        // Nanoseconds since 1970, in the year 2262.
        ("bad_value", search("", i64::MAX)),
        ("bad_value", b"{\"query_id\":\"q\",\"ts\":18446744073709551615,\"query\":\"x\",\"results\":[]}".to_vec()),
        ("bad_value", b"{\"query_id\":\"q\",\"ts\":\"2025-11-17T09:00:00\",\"query\":\"x\",\"results\":[]}".to_vec()),
        ("bad_value", b"{\"query_id\":\"q\",\"ts\":\"yesterday\",\"query\":\"x\",\"results\":[]}".to_vec()),
        ("wrong_type", b"{\"query_id\":\"q\",\"ts\":1.5,\"query\":\"x\",\"results\":[]}".to_vec()),
        ("bad_value", b"{\"query_id\":\"\",\"ts\":1,\"query\":\"x\",\"results\":[]}".to_vec()),
        ("wrong_type", b"{\"query_id\":[],\"ts\":1,\"query\":\"x\",\"results\":[]}".to_vec()),
        ("wrong_type", b"{\"query_id\":\"q\",\"ts\":1,\"query\":\"x\",\"results\":\"none\"}".to_vec()),
        ("wrong_type", b"{\"query_id\":\"q\",\"ts\":1,\"query\":\"x\",\"results\":null}".to_vec()),
        ("missing_field", b"{\"query_id\":\"q\",\"ts\":1,\"query\":\"x\"}".to_vec()),
        ("missing_field", b"{\"query_id\":\"q\",\"ts\":1,\"results\":[]}".to_vec()),
        ("missing_field", b"{\"query_id\":\"q\",\"query\":\"x\",\"results\":[]}".to_vec()),
        ("missing_field", b"{\"query_id\":\"q\",\"ts\":1,\"query\":\"x\",\"results\":[{\"rank\":1}]}".to_vec()),
        ("bad_value", b"{\"query_id\":\"q\",\"ts\":1,\"query\":\"x\",\"results\":[{\"id\":\"d\",\"rank\":0}]}".to_vec()),
        ("bad_value", b"{\"query_id\":\"q\",\"ts\":1,\"query\":\"x\",\"results\":[{\"id\":\"d\",\"rank\":-1}]}".to_vec()),
        ("too_many_results", format!("{{\"query_id\":\"q\",\"ts\":1,\"query\":\"x\",\"results\":[{hits}]}}").into()),
    ]
}

/// Feedback event of a type, with additional fields.
fn said(kind: &str, rest: &str, at: i64) -> Vec<u8> {
    format!("{{\"event_id\":\"bad\",\"ts\":{at},\"query_id\":\"bad\",\"type\":\"{kind}\"{rest}}}")
        .into()
}

fn bad_feedback(at: i64) -> Vec<Bad> {
    vec![
        ("bad_value", said("poke", "", at)),
        ("missing_field", said("click", "", at)),
        ("bad_value", said("click", ",\"position\":0", at)),
        ("bad_value", said("click", ",\"position\":-3", at)),
        ("wrong_type", said("click", ",\"position\":\"first\"", at)),
        ("missing_field", said("dwell", "", at)),
        ("bad_value", said("dwell", ",\"dwell_ms\":-1", at)),
        ("not_json", said("dwell", ",\"dwell_ms\":NaN", at)),
        ("missing_field", said("thumbs", "", at)),
        ("bad_value", said("thumbs", ",\"value\":7", at)),
        ("bad_value", said("rating", ",\"value\":6", at)),
        (
            "bad_value",
            said("rating", ",\"value\":1,\"min\":5,\"max\":1", at),
        ),
        ("not_json", said("rating", ",\"value\":-Infinity", at)),
        ("missing_field", said("judgment", ",\"value\":2", at)),
        ("missing_field", said("custom", "", at)),
        ("bad_value", said("comment", "", -1)),
        ("future_time", said("comment", "", at + 86_400_000)),
        (
            "missing_field",
            b"{\"event_id\":\"e\",\"ts\":1,\"type\":\"comment\"}".to_vec(),
        ),
        (
            "missing_field",
            b"{\"ts\":1,\"query_id\":\"q\",\"type\":\"comment\"}".to_vec(),
        ),
        (
            "missing_field",
            b"{\"event_id\":\"e\",\"query_id\":\"q\",\"type\":\"comment\"}".to_vec(),
        ),
    ]
}
