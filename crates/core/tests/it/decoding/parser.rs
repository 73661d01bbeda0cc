//! The fast reader of records reads what `serde_json` reads.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::subsequence;
use rankgauge_core::decode::native::{feedback, search};
use rankgauge_core::event::{Kind, Reason, Search};
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::traffic::{Traffic, TrafficSettings};

use super::LIMITS;

/// Search with `value` as an attribute, and in a field without a meaning.
fn search_with(value: &str) -> String {
    format!(
        r#"{{"query_id":"q","ts":1763337600000,"query":"x","results":[{{"id":"a"}},{{"id":7}}],
            "attrs":{{"it":{value}}},"unknown":[{value},{{"in":{value}}}]}}"#
    )
}

/// Search with `value` as the score of a result.
fn search_with_score(value: &str) -> String {
    format!(
        r#"{{"query_id":"q","ts":1763337600000,"query":"x","results":[{{"id":"a","score":{value}}},{{"score": {value} ,"id":"b"}}]}}"#
    )
}

/// Compares the decoder with `serde_json`.
fn assert_equal(record: &str) {
    let expected = serde_json::from_str::<Search<'_>>(record);
    match (search(record.as_bytes(), &LIMITS), expected) {
        (Ok(search), Ok(expected)) => {
            assert_eq!(format!("{search:?}"), format!("{expected:?}"), "{record}");
        }
        (Err(_), Err(_)) => {}
        (Ok(_), Err(problem)) => panic!("serde_json rejects {record}: {problem}"),
        // What is valid for `serde_json` can be out of the range of a field.
        (Err(rejection), Ok(_)) => assert!(
            matches!(rejection.reason, Reason::BadValue | Reason::MissingField),
            "{rejection}: {record}"
        ),
    }
}

#[test]
fn traffic_is_read_as_serde_json_reads_it() {
    let corpus = Arc::new(Corpus::generate(1, 50));
    let traffic = Traffic::new(corpus, TrafficSettings::default()).take(2_000);
    let searches = traffic.filter(|record| record.kind == Kind::Search);
    let mut count = 0;
    for record in searches {
        assert_equal(std::str::from_utf8(&record.payload).unwrap());
        count += 1;
    }
    assert!(count > 500, "{count} searches");
}

#[test]
fn white_space_around_a_record_is_that_of_json() {
    let record = r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[{"id":"a"}]}"#;
    for blank in [" ", "\t", "\n", "\r\n"] {
        assert!(search(format!("{record}{blank}").as_bytes(), &LIMITS).is_ok());
    }
    for blank in [
        " ", "\t", "\n", "\r", "\u{b}", "\u{c}", "\u{a0}", "\u{feff}",
    ] {
        assert_equal(&format!("{record}{blank}"));
        assert_equal(&format!("{blank}{record}"));
        assert_equal(&format!("{record}\n{blank}\n"));
    }
}

/// [`FULL_SEARCH`](super::FULL_SEARCH) on one line and without escapes, as the fast reader expects it.
fn plain_search() -> String {
    let lines = super::FULL_SEARCH.lines().map(str::trim);
    lines.collect::<Vec<_>>().join(" ").replace("\\\"", "'")
}

/// [`plain_search`] without white space.
fn compact_search() -> String {
    plain_search().replace(": ", ":").replace(", ", ",")
}

/// Members of a JSON object, each without white space.
fn members_of(object: &str) -> Vec<String> {
    let object: serde_json::Map<_, _> = serde_json::from_str(object).unwrap();
    let members = object.into_iter();
    let member = |(name, value)| format!("\"{name}\":{value}");
    members.map(member).collect()
}

/// Some of these members, in any order.
fn some_of(members: Vec<String>) -> impl Strategy<Value = Vec<String>> {
    let count = members.len();
    subsequence(members, 0..=count).prop_shuffle()
}

/// Object of these members, and of one of them again.
fn object_of(mut members: Vec<String>, repeated: Option<prop::sample::Index>) -> String {
    let repeated = repeated.filter(|_| !members.is_empty());
    let repeated = repeated.map(|index| members[index.index(members.len())].clone());
    members.extend(repeated);
    format!("{{{}}}", members.join(","))
}

const HIT: &str = r#"{"id":"법_제17조","rank":1,"score":0.93,"group_id":null,"stages":["exact"],
    "team":"A","text":"도시","hops":2,"depth":3,"path":[{"to":15,"from":"a"}],"attrs":{"year":2024},
    "more":[]}"#;

const FEEDBACK: &str = r#"{"event_id":"e","ts":1763337600000,"type":"rating","query_id":"q",
    "session_id":7,"object_id":"d","position":1,"value":4,"min":1,"max":5,"dwell_ms":20.5,"name":"n",
    "comment":"c","client_id":"c","user_id":"u","trace_id":"t","application":"a","labels":{"a":"b"},
    "attrs":{},"more":{}}"#;

#[test]
fn every_field_is_read_as_serde_json_reads_it() {
    let spaced = plain_search();
    assert!(!spaced.contains('\\'));
    assert_equal(&spaced);
    assert_equal(&compact_search());
    assert_equal(&spaced.replace(": ", " : ").replace(", ", " , "));
    // Each string, number and literal in turn is null.
    for (start, _) in spaced.match_indices(": ") {
        let (before, value) = spaced.split_at(start + 2);
        let length = value.find([',', '}', ']']).unwrap();
        assert_equal(&format!("{before}null{}", &value[length..]));
    }
}

#[test]
fn unusual_values_are_read_as_serde_json_reads_them() {
    for value in [
        "0",
        "-0",
        "-0.0",
        "00",
        "01",
        "1.",
        ".5",
        "-",
        "+1",
        "1e5",
        "1E+5",
        "1e-400",
        "1e400",
        "9e",
        "1.5e3",
        "0.30000000000000004",
        "0.1000000000000000055511151231257827",
        "0.83726151",
        "12.",
        "0.8e1",
        "0.12345678901234",
        "0.123456789012345",
        "1.2.3",
        "9007199254740993",
        "9007199254740993.5",
        "123456789012345678",
        "1234567890123456789",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "1.0000000000000000000000001",
        r#""""#,
        r#""\"""#,
        r#""\\""#,
        r#""\u00e9\ud83d\ude00""#,
        r#""\ud800""#,
        r#""\x""#,
        r#""\""#,
        "\"\t\"",
        "\"\u{7f}\"",
        r#""한국어 \n 검색""#,
        "tru",
        "true",
        "nul",
        "null",
        "nulll",
        "[]",
        "[,]",
        "[1,]",
        "[1 2]",
        "{}",
        "{,}",
        r#"{"a":1,}"#,
        r#"{"a" 1}"#,
        r#"{"a"}"#,
        r"{1:2}",
        r#"{"\u0061":{"b":[]}}"#,
        "",
    ] {
        assert_equal(&search_with(value));
        assert_equal(&search_with_score(value));
    }
    for depth in [1, 30, 31, 32, 33, 120, 130] {
        assert_equal(&search_with(&("[".repeat(depth) + &"]".repeat(depth))));
    }
}

#[test]
fn strings_of_every_length_are_read_as_serde_json_reads_them() {
    for length in 0..300 {
        let text = "x".repeat(length);
        assert_equal(&search_with(&format!("\"{text}\"")));
        // The last bytes of a record are read in another way.
        let end = r#"{"query":"x","ts":1763337600000,"results":[],"query_id":"#;
        assert_equal(&format!("{end}\"{text}\"}}"));
        assert_equal(&format!("{end}\"{text}"));
        // A result with an id and a score is read at once.
        let result = format!(r#"{{"id":"{text}","score":0.5}}"#);
        let start = r#"{"query_id":"q","ts":1763337600000,"query":"x","results":["#;
        assert_equal(&format!("{start}{result},{result}]}}"));
        assert_equal(&format!(
            "{start}{result}],\"attrs\":{{\"it\":\"{text}\"}}}}"
        ));
        assert_equal(&format!("{start}{result}"));
    }
}

#[test]
fn repeated_missing_and_misplaced_fields_are_rejected_as_by_serde_json() {
    for record in [
        r#"{"query_id":"q","query_id":"q","ts":1763337600000,"query":"x","results":[]}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":null,"query":"x","results":[]}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x"}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[{}]}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[["a"]]}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[{"id":"a","id":"b"}]}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[]} "#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[]} x"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[]"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[],"page":1.0}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[],"page":-1}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[],"page":4294967296}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":12,"results":[]}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"\n","query_key":12"x","results":[]}"#,
        r#"{"query_id":-3,"ts":"2025-11-17T00:00:00Z","query":"x","results":[{"id":18446744073709551615}]}"#,
        "",
        " ",
        "\"",
        "\\\"",
        "{",
    ] {
        assert_equal(record);
    }
}

proptest! {
    #[test]
    fn numbers_are_read_as_serde_json_reads_them(
        number in "-?[0-9]{1,22}(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?",
    ) {
        assert_equal(&search_with(&number));
    }

    #[test]
    fn strings_are_read_as_serde_json_reads_them(text in any::<String>(), raw in "[\\PC\\\\\"]{0,24}") {
        assert_equal(&search_with(&serde_json::to_string(&text).unwrap()));
        assert_equal(&search_with(&format!("\"{raw}\"")));
    }

    #[test]
    fn changed_records_are_read_as_serde_json_reads_them(
        at in any::<prop::sample::Index>(),
        byte in "[ -~]",
        length in 0_usize..3,
        is_compact in any::<bool>(),
    ) {
        let mut record = if is_compact { compact_search() } else { plain_search() };
        let starts: Vec<_> = record.char_indices().map(|(start, _)| start).collect();
        let start = starts[at.index(starts.len())];
        let end = record.ceil_char_boundary((start + length).min(record.len()));
        record.replace_range(start..end, &byte);
        assert_equal(&record);
    }

    #[test]
    fn members_in_any_order_are_read_as_serde_json_reads_them(
        hits in prop::collection::vec((some_of(members_of(HIT)), any::<Option<prop::sample::Index>>()), 0..3),
        members in some_of(members_of(&compact_search())),
        repeated in any::<Option<prop::sample::Index>>(),
    ) {
        let hits: Vec<_> = hits.into_iter().map(|(members, again)| object_of(members, again)).collect();
        let results = format!("\"results\":[{}]", hits.join(","));
        let mut members = members;
        for member in &mut members {
            if member.starts_with("\"results\"") {
                member.clone_from(&results);
            }
        }
        assert_equal(&object_of(members, repeated));
    }

    #[test]
    fn members_of_feedback_are_read_in_any_order_as_serde_json_reads_them(
        members in some_of(members_of(FEEDBACK)),
        repeated in any::<Option<prop::sample::Index>>(),
    ) {
        let record = object_of(members, repeated);
        // The fast reader gives up on an escape.
        let start = record.strip_suffix('}').unwrap();
        let slow = format!("{start},\"escape\":\"\\n\"}}").replace("{,", "{");
        let read = |record: &str| match feedback(record.as_bytes(), &LIMITS) {
            Ok(event) => format!("{event:?}"),
            Err(rejection) => format!("{:?}", rejection.reason),
        };
        assert_eq!(read(&record), read(&slow), "{record}");
    }
}
