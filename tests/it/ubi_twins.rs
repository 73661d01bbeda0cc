//! One log, as native events and as UBI, gives the same events and the same metrics.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rankgauge::config;
use rankgauge::ingest::replay::replay;
use rankgauge_core::decode::ubi::{Dialect, Meaning};
use rankgauge_core::decode::{Format, Formats, native};
use rankgauge_core::engine::settings::{Rolling, Settings};
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::{Acceptance, Kind, Limits};
use rankgauge_core::gold;
use rankgauge_core::time::WallTime;
use rankgauge_serve::collect::{Names, collect};
use rankgauge_serve::json::Json;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

const LIMITS: Limits = Limits {
    record_bytes: 1 << 20,
    results_per_search: 100,
};

/// Cases of `tests/data/cases` that UBI can express: no stages, no cost, and no two different
/// events with one id.
const CASES: [&str; 6] = [
    "duplicate-and-late",
    "judged-by-rank",
    "repeated-ids",
    "slices-and-variants",
    "what-people-did",
    "zero-results-and-unjudged",
];

/// Notation of a twin.
#[derive(Clone, Copy, Debug)]
struct Hand {
    ordinal_base: u32,
    ids: &'static str,
}

const HANDS: [Hand; 4] = [
    Hand {
        ordinal_base: 0,
        ids: "query_response_hit_ids",
    },
    Hand {
        ordinal_base: 1,
        ids: "query_response_hit_ids",
    },
    Hand {
        ordinal_base: 0,
        ids: "query_response_objects_ids",
    },
    Hand {
        ordinal_base: 1,
        ids: "query_response_objects_ids",
    },
];

impl Hand {
    fn formats(self) -> Formats {
        let types = Meaning::names().map(|(name, meaning)| (name.to_owned(), meaning));
        let mut dialect = Dialect {
            ordinal_base: self.ordinal_base,
            ..Dialect::default()
        };
        dialect.actions.extend(types);
        Formats {
            search: Format::Ubi,
            feedback: Format::Ubi,
            ubi: dialect,
            ..Formats::NATIVE
        }
    }

    /// Native search as a record of `ubi_queries`; other lines stay unchanged.
    fn search(self, line: &str) -> String {
        let Ok(Value::Object(native)) = serde_json::from_str::<Value>(line) else {
            return line.to_owned();
        };
        let mut attributes = native
            .get("labels")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        for field in ["query_key", "variant", "experiment", "latency_ms"] {
            attributes.extend(
                native
                    .get(field)
                    .map(|value| (field.to_owned(), value.clone())),
            );
        }
        let mut query = Map::new();
        for (native_name, name) in [
            ("query_id", "query_id"),
            ("ts", "timestamp"),
            ("query", "user_query"),
            ("session_id", "client_id"),
        ] {
            query.extend(
                native
                    .get(native_name)
                    .map(|value| (name.to_owned(), value.clone())),
            );
        }
        query.insert("query_attributes".to_owned(), Value::Object(attributes));
        let results = native.get("results").and_then(Value::as_array);
        query.extend(results.map(|results| {
            let mut results: Vec<&Value> = results.iter().collect();
            if results.iter().all(|hit| hit["rank"].is_u64()) {
                results.sort_by_key(|hit| hit["rank"].as_u64());
            }
            let ids = results.iter().map(|hit| hit["id"].clone()).collect();
            (self.ids.to_owned(), Value::Array(ids))
        }));
        Value::Object(query).to_string()
    }

    /// Native feedback event as a record of `ubi_events`.
    fn feedback(self, line: &str) -> String {
        let native: Value = serde_json::from_str(line).expect("an event");
        let action = match (native["type"].as_str(), &native["value"]) {
            (Some("thumbs"), Value::Bool(up)) => {
                if *up {
                    "thumbs_up"
                } else {
                    "thumbs_down"
                }
            }
            (Some("conversion"), _) => "purchase",
            (Some(action), _) => action,
            (None, _) => panic!("{line} has no type"),
        };
        let ordinal = native["position"].as_u64();
        let ordinal = ordinal.map(|position| position - 1 + u64::from(self.ordinal_base));
        let dwell_time = native["dwell_ms"]
            .as_f64()
            .map(|dwell_ms| dwell_ms / 1_000.0);
        json!({
            "action_name": action,
            "query_id": native["query_id"],
            "client_id": native["session_id"],
            "timestamp": native["ts"],
            "message_type": "INFO",
            "event_attributes": {
                "object": {"object_id": native["object_id"], "object_id_field": "id"},
                "position": {"ordinal": ordinal},
                "dwell_time": dwell_time,
                "value": native["value"],
                "min": native["min"],
                "max": native["max"],
            },
        })
        .to_string()
    }
}

/// All exposed samples after replaying the logs.
fn exposed(case: &Path, formats: &Formats, searches: PathBuf, feedback: PathBuf) -> Vec<String> {
    let config = config::load(&[case.join("config.yaml")], std::iter::empty(), &[]);
    let config = config.expect("a valid configuration");
    let settings = Arc::new(Settings {
        rolling: Rolling::All,
        ..config.engine
    });
    let registry = Arc::new(Engine::registry(&settings));
    let wall = WallTime(1_763_424_000_000);
    let mut engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), wall);
    let gold = gold::load(&[case.join("gold.json")], &config.gold.options).expect("a gold set");
    engine.apply(Input::Gold(Arc::new(gold)));
    replay(&mut engine, formats, &[searches], &[feedback]).expect("readable files");
    let names = Names {
        settings,
        registry,
        topics: config.kafka.names(),
    };
    let mut sink = Json::default();
    collect(&engine.snapshot(), &names, wall, &mut sink);
    // Replaying ends by reading the clock, which determines these metrics.
    let of_wall_time = [
        "rankgauge_snapshot_",
        "rankgauge_watermark_lag",
        "rankgauge_event_delay",
    ];
    let samples = sink.into_samples().into_iter();
    samples
        .filter(|sample| {
            !of_wall_time
                .iter()
                .any(|name| sample.name.starts_with(name))
        })
        .map(|sample| format!("{sample:?}"))
        .collect()
}

fn rewritten(log: &Path, folder: &TempDir, hand: impl Fn(&str) -> String) -> PathBuf {
    let text = fs::read_to_string(log).expect("a log");
    let lines: Vec<String> = text.lines().map(hand).collect();
    let path = folder.path().join(log.file_name().expect("a file"));
    fs::write(&path, lines.join("\n")).expect("a twin");
    path
}

#[test]
fn equal_logs_give_equal_metrics() {
    let cases = crate::repository("tests/data/cases");
    for name in CASES {
        let case = cases.join(name);
        let searches = case.join("search.jsonl");
        let feedback = case.join("feedback.jsonl");
        let native = exposed(&case, &Formats::NATIVE, searches.clone(), feedback.clone());
        assert!(native.len() > 10, "{name}");
        for hand in HANDS {
            let folder = TempDir::new().expect("a folder");
            let searches = rewritten(&searches, &folder, |line| hand.search(line));
            let feedback = rewritten(&feedback, &folder, |line| hand.feedback(line));
            let found = exposed(&case, &hand.formats(), searches, feedback);
            for (found, native) in found.iter().zip(&native) {
                assert_eq!(found, native, "{name}, {hand:?}");
            }
            assert_eq!(found.len(), native.len(), "{name}, {hand:?}");
        }
    }
}

#[test]
fn the_format_is_configured_per_topic() {
    let search = r#"{"query_id": "q", "ts": 1, "query": "", "results": []}"#;
    let click = r#"{"event_id": "e", "query_id": "q", "ts": 1, "type": "click", "position": 1}"#;
    let hand = HANDS[0];
    let [of_search, of_click] = [hand.search(search), hand.feedback(click)];
    for (format_of_searches, format_of_feedback) in
        [(Format::Native, Format::Ubi), (Format::Ubi, Format::Native)]
    {
        let formats = Formats {
            search: format_of_searches,
            feedback: format_of_feedback,
            ..hand.formats()
        };
        let acceptance = Acceptance {
            limits: LIMITS,
            has_gold_texts: false,
        };
        let is_valid = |kind, text: &str| {
            let decoded = formats.events(kind, text.as_bytes(), &acceptance, &mut |_| ());
            decoded.is_ok()
        };
        let [is_search, is_feedback] =
            [Kind::Search, Kind::Feedback].map(|kind| move |text: &str| is_valid(kind, text));
        assert_eq!(is_search(search), format_of_searches == Format::Native);
        assert_eq!(is_search(&of_search), format_of_searches == Format::Ubi);
        assert_eq!(is_feedback(click), format_of_feedback == Format::Native);
        assert_eq!(is_feedback(&of_click), format_of_feedback == Format::Ubi);
    }
}

/// Native feedback event of any type.
fn any_feedback() -> impl Strategy<Value = Value> {
    let action = prop::sample::select(vec![
        json!({"type": "click"}),
        json!({"type": "impression"}),
        json!({"type": "conversion"}),
        json!({"type": "dwell", "dwell_ms": 31_250}),
        json!({"type": "thumbs", "value": true}),
        json!({"type": "thumbs", "value": -1}),
        json!({"type": "rating", "value": 4}),
        json!({"type": "rating", "value": 0.5, "min": 0, "max": 1}),
        json!({"type": "judgment", "value": 2}),
        json!({"type": "reformulation"}),
        json!({"type": "comment"}),
        json!({"type": "custom", "name": "copied"}),
    ]);
    let object = option::of(prop::sample::select(vec!["법_36", "a::chunk 0", "7"]));
    let position = option::of(1_u32..1_000);
    let session = option::of("[a-z]{1,3}");
    (
        action,
        10_000_000_000..100_000_000_000_000_i64,
        object,
        position,
        session,
    )
        .prop_map(|(mut event, ts, object, position, session)| {
            event["event_id"] = json!("e");
            event["query_id"] = json!("q");
            event["ts"] = json!(ts);
            event["object_id"] = json!(object);
            event["position"] = json!(position);
            event["session_id"] = json!(session);
            event
        })
}

proptest! {
    #[test]
    fn an_event_decodes_to_the_same_feedback_as_its_native_twin(native_event in any_feedback(), hand in prop::sample::select(HANDS.to_vec())) {
        let text = native_event.to_string();
        let twin = hand.feedback(&text);
        let formats = hand.formats();
        let twin = formats.ubi.feedback(twin.as_bytes(), &LIMITS);
        match (native::feedback(text.as_bytes(), &LIMITS), twin) {
            (Ok(native), Ok(twin)) => {
                prop_assert_eq!(native.ts, twin.ts);
                prop_assert_eq!(native.query_id, twin.query_id);
                prop_assert_eq!(native.session_id, twin.session_id);
                prop_assert_eq!(native.object_id, twin.object_id);
                prop_assert_eq!(native.position, twin.position);
                prop_assert_eq!(native.action, twin.action);
            }
            (Err(native), Err(twin)) => prop_assert_eq!(native.reason, twin.reason),
            (native, twin) => prop_assert!(false, "{native:?} and {twin:?}"),
        }
    }

    #[test]
    fn a_search_decodes_to_the_same_search_as_its_native_twin(
        ids in vec("[a-z가-힣: ]{1,4}", 0..6),
        ts in 10_000_000_000..100_000_000_000_000_i64,
        key in option::of("[A-Z][0-9]"),
        variant in option::of("V[1-5]"),
        latency in option::of(0.0..1e6_f64),
        hand in prop::sample::select(HANDS.to_vec()),
    ) {
        let results: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        let mut native_event = json!({
            "query_id": "q", "ts": ts, "query": "건폐율", "results": results,
            "labels": {"device": "mobile", "year": 2024},
        });
        for (name, value) in [("query_key", json!(key)), ("variant", json!(variant)), ("latency_ms", json!(latency))] {
            if !value.is_null() {
                native_event[name] = value;
            }
        }
        let text = native_event.to_string();
        let native = native::search(text.as_bytes(), &LIMITS).expect("a native search");
        let twin = hand.search(&text);
        let twin = Dialect::search(twin.as_bytes(), &LIMITS).expect("its twin");
        prop_assert_eq!(native.ts, twin.ts);
        prop_assert_eq!(&native.query_id, &twin.query_id);
        prop_assert_eq!(&native.query, &twin.query);
        prop_assert_eq!(&native.query_key, &twin.query_key);
        prop_assert_eq!(native.variant(), twin.variant());
        prop_assert_eq!(native.latency_ms, twin.latency_ms);
        let of = |search: &rankgauge_core::event::Search<'_>| -> Vec<String> {
            search.results.iter().map(|hit| hit.id.to_string()).collect()
        };
        prop_assert_eq!(of(&native), of(&twin));
        for label in ["device", "year"] {
            let of = |search: &rankgauge_core::event::Search<'_>| {
                search.labels.as_ref().and_then(|labels| labels.label(label).map(String::from))
            };
            prop_assert_eq!(of(&native), of(&twin));
        }
    }
}
