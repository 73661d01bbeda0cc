//! The JSON Schemas that users validate against, compared with the documentation, the decoder and
//! the synthetic traffic.

mod strictness;

use std::sync::Arc;

use jsonschema::Validator;
use rankgauge_core::decode::native;
use rankgauge_core::decode::ubi::Dialect;
use rankgauge_core::event::{Kind, Limits};
use rankgauge_core::gold::Options;
use rankgauge_core::time::EventTime;
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::traffic::{Traffic, TrafficSettings};
use serde_json::{Value, json};

const LIMITS: Limits = Limits {
    record_bytes: 1 << 20,
    results_per_search: 10_000,
};

fn schema(name: &str) -> Validator {
    let file = crate::repository(&format!("schemas/{name}.schema.json"));
    let text = std::fs::read_to_string(&file).expect("the schema can be read");
    let schema = serde_json::from_str(&text).expect("the schema is JSON");
    jsonschema::meta::validate(&schema).expect("the schema is a valid JSON Schema");
    jsonschema::validator_for(&schema).expect("the schema compiles")
}

/// Validation errors of `instance`, empty if it is valid.
fn problems(schema: &Validator, instance: &Value) -> String {
    let errors = schema.iter_errors(instance);
    let lines = errors.map(|error| format!("{}: {error}", error.instance_path()));
    lines.collect::<Vec<_>>().join("\n")
}

/// Examples in the documentation: schema name and text of each block labelled by a comment.
fn examples() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(crate::repository("docs/events.md"))
        .expect("docs/events.md can be read");
    let blocks = text.split("<!-- schema: ").skip(1);
    blocks
        .map(|block| {
            let (name, rest) = block
                .split_once(" -->\n```json\n")
                .expect("a json block follows the label");
            let (example, _) = rest.split_once("\n```").expect("the block ends");
            (name.to_owned(), example.to_owned())
        })
        .collect()
}

/// Decodes an event of `kind`, or loads a gold set, and returns the error if it is rejected.
fn accepted(kind: &str, instance: &[u8]) -> Result<(), String> {
    match kind {
        "search" => native::search(instance, &LIMITS)
            .map(|_| ())
            .map_err(|error| error.to_string()),
        "feedback" => native::feedback(instance, &LIMITS)
            .map(|_| ())
            .map_err(|error| error.to_string()),
        _ => {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let file = folder.path().join("gold.json");
            std::fs::write(&file, instance).expect("the gold set can be written");
            let loaded = rankgauge_core::gold::load(&[file], &Options::default());
            loaded.map(|_| ()).map_err(|error| error.to_string())
        }
    }
}

#[test]
fn every_documented_example_is_valid_and_accepted() {
    let examples = examples();
    for kind in ["search", "feedback", "gold"] {
        let schema = schema(kind);
        let of_kind: Vec<_> = examples.iter().filter(|(name, _)| name == kind).collect();
        assert!(
            !of_kind.is_empty(),
            "docs/events.md has no example of {kind}"
        );
        for (_, example) in of_kind {
            let instance = serde_json::from_str(example).expect("the example is JSON");
            assert_eq!(problems(&schema, &instance), "", "{example}");
            assert_eq!(accepted(kind, example.as_bytes()), Ok(()), "{example}");
        }
    }
}

#[test]
fn every_documented_ubi_example_is_accepted() {
    let examples = examples();
    let of = |kind: &str| -> Vec<String> {
        let of_kind = examples.iter().filter(|(name, _)| name == kind);
        of_kind.map(|(_, example)| example.clone()).collect()
    };
    let [searches, feedback] = [of("ubi search"), of("ubi feedback")];
    assert!(!searches.is_empty() && !feedback.is_empty());
    for example in searches {
        let found = Dialect::search(example.as_bytes(), &LIMITS);
        assert!(found.is_ok(), "{found:?}");
    }
    for example in feedback {
        let found = Dialect::default().feedback(example.as_bytes(), &LIMITS);
        assert!(found.is_ok(), "{found:?}");
    }
}

#[test]
fn every_json_block_of_the_event_documentation_is_labelled() {
    let text = std::fs::read_to_string(crate::repository("docs/events.md"))
        .expect("docs/events.md can be read");
    assert_eq!(text.matches("```json").count(), examples().len());
}

#[test]
fn the_documentation_shows_every_field_of_searches_and_results() {
    let text = std::fs::read_to_string(crate::repository("schemas/search.schema.json"))
        .expect("the schema can be read");
    let schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
    let shown: String = examples().into_iter().map(|(_, example)| example).collect();
    let documentation = std::fs::read_to_string(crate::repository("docs/events.md"))
        .expect("docs/events.md can be read");
    for properties in [
        "/properties",
        "/$defs/result/properties",
        "/$defs/usage/properties",
    ] {
        let fields = schema
            .pointer(properties)
            .and_then(Value::as_object)
            .expect("the schema has it");
        for field in fields.keys() {
            let is_shown = shown.contains(&format!("\"{field}\":"))
                || documentation.contains(&format!("`{field}`"));
            assert!(is_shown, "docs/events.md does not mention {field}");
        }
    }
}

#[test]
fn searches_rejected_by_the_schema_are_rejected_by_the_decoder() {
    let schema = schema("search");
    let good = json!({"query_id": "q", "ts": 1, "query": "용도지역", "results": [{"id": 7}]});
    assert_eq!(problems(&schema, &good), "");
    let refused = [
        (
            "without results",
            json!({"query_id": "q", "ts": 1, "query": "a"}),
        ),
        (
            "without ts",
            json!({"query_id": "q", "query": "a", "results": []}),
        ),
        (
            "without a query",
            json!({"query_id": "q", "ts": 1, "results": []}),
        ),
        (
            "with a null query only",
            json!({"query_id": "q", "ts": 1, "query": null, "results": []}),
        ),
        (
            "with an empty id",
            json!({"query_id": "", "ts": 1, "query": "a", "results": []}),
        ),
        (
            "with a long id",
            json!({"query_id": "q".repeat(257), "ts": 1, "query": "a", "results": []}),
        ),
        (
            "with a local time",
            json!({"query_id": "q", "ts": "2025-11-17T09:00:00", "query": "a", "results": []}),
        ),
        (
            "before 1970",
            json!({"query_id": "q", "ts": -1, "query": "a", "results": []}),
        ),
        (
            "with a result without id",
            json!({"query_id": "q", "ts": 1, "query": "a", "results": [{}]}),
        ),
        (
            "with a fractional id",
            json!({"query_id": 1.5, "ts": 1, "query": "a", "results": []}),
        ),
        (
            "with rank 0",
            json!({"query_id": "q", "ts": 1, "query": "a", "results": [{"id": "d", "rank": 0}]}),
        ),
        (
            "with negative latency",
            json!({"query_id": "q", "ts": 1, "query": "a", "results": [], "latency_ms": -1}),
        ),
        (
            "with latency as text",
            json!({"query_id": "q", "ts": 1, "query": "a", "results": [], "latency_ms": "5"}),
        ),
        (
            "with a stage without name",
            json!({"query_id": "q", "ts": 1, "query": "a", "results": [], "stages": [{}]}),
        ),
        (
            "with negative tokens",
            json!({"query_id": "q", "ts": 1, "query": "a", "results": [], "usage": [{"input_tokens": -1}]}),
        ),
        (
            "with a negative cost",
            json!({"query_id": "q", "ts": 1, "query": "a", "results": [], "cost": {"amount": -1}}),
        ),
        (
            "with a currency in words",
            json!({"query_id": "q", "ts": 1, "query": "a", "results": [], "cost": {"amount": 1, "currency": "won"}}),
        ),
        (
            "with an edge without end",
            json!({"query_id": "q", "ts": 1, "query": "a", "results": [{"id": "d", "path": [{"from": "a"}]}]}),
        ),
    ];
    for (case, event) in refused {
        assert!(
            !schema.is_valid(&event),
            "the schema accepts a search {case}"
        );
        assert!(
            accepted("search", event.to_string().as_bytes()).is_err(),
            "the decoder accepts a search {case}"
        );
    }
}

#[test]
fn feedback_rejected_by_the_schema_is_rejected_by_the_decoder() {
    let schema = schema("feedback");
    let good = json!({"event_id": "e", "ts": 1, "type": "click", "query_id": "q", "position": 1});
    assert_eq!(problems(&schema, &good), "");
    let refused = [
        (
            "without event_id",
            json!({"ts": 1, "type": "impression", "query_id": "q"}),
        ),
        (
            "without search and session",
            json!({"event_id": "e", "ts": 1, "type": "impression"}),
        ),
        (
            "of an unknown type",
            json!({"event_id": "e", "ts": 1, "type": "tap", "query_id": "q"}),
        ),
        (
            "of a click on nothing",
            json!({"event_id": "e", "ts": 1, "type": "click", "query_id": "q"}),
        ),
        (
            "of a click at position 0",
            json!({"event_id": "e", "ts": 1, "type": "click", "query_id": "q", "position": 0}),
        ),
        (
            "of a dwell without duration",
            json!({"event_id": "e", "ts": 1, "type": "dwell", "query_id": "q"}),
        ),
        (
            "of a negative dwell",
            json!({"event_id": "e", "ts": 1, "type": "dwell", "query_id": "q", "dwell_ms": -1}),
        ),
        (
            "of a thumb of 2",
            json!({"event_id": "e", "ts": 1, "type": "thumbs", "query_id": "q", "value": 2}),
        ),
        (
            "of a rating without value",
            json!({"event_id": "e", "ts": 1, "type": "rating", "query_id": "q"}),
        ),
        (
            "of a rating as text",
            json!({"event_id": "e", "ts": 1, "type": "rating", "query_id": "q", "value": "4"}),
        ),
        (
            "of a judgment of nothing",
            json!({"event_id": "e", "ts": 1, "type": "judgment", "query_id": "q", "value": 1}),
        ),
        (
            "of a custom event without name",
            json!({"event_id": "e", "ts": 1, "type": "custom", "query_id": "q"}),
        ),
    ];
    for (case, event) in refused {
        assert!(
            !schema.is_valid(&event),
            "the schema accepts feedback {case}"
        );
        assert!(
            accepted("feedback", event.to_string().as_bytes()).is_err(),
            "the decoder accepts feedback {case}"
        );
    }
}

#[test]
fn gold_sets_rejected_by_the_schema_are_rejected_by_the_loader() {
    let schema = schema("gold");
    let query = json!({"query_id": "Q1", "query_text": "17조", "ground_truth": {"d": 1, "e": {"relevance": 2}}});
    assert_eq!(problems(&schema, &json!({"queries": [query]})), "");
    let refused = [
        json!([]),
        json!({"version": "1"}),
        json!({"queries": []}),
        json!({"queries": [{"query_text": "17조", "ground_truth": {"d": 1}}]}),
        json!({"queries": [{"query_id": "Q1", "query_text": "17조"}]}),
        json!({"queries": [{"query_id": "Q1", "query_text": "17조", "ground_truth": {"d": "high"}}]}),
        json!({"queries": [{"query_id": "Q1", "query_text": "17조", "ground_truth": {"d": {"grade": 1}}}]}),
        json!({"queries": [{"query_id": "Q1", "query_text": "17조", "ground_truth": {"d": 1001}}]}),
    ];
    for gold in refused {
        assert!(!schema.is_valid(&gold), "the schema accepts {gold}");
        assert!(
            accepted("gold", gold.to_string().as_bytes()).is_err(),
            "the loader accepts {gold}"
        );
    }
}

#[test]
fn synthetic_events_and_their_gold_set_are_valid() {
    let corpus = Arc::new(Corpus::generate(7, 200));
    let gold = serde_json::from_str(&corpus.gold_json()).expect("the gold set is JSON");
    assert_eq!(problems(&schema("gold"), &gold), "");

    let (search, feedback) = (schema("search"), schema("feedback"));
    let start = EventTime(1_763_337_600_000);
    let traffic = Traffic::new(
        corpus,
        TrafficSettings {
            seed: 7,
            start,
            ..TrafficSettings::default()
        },
    );
    for record in traffic.take(2_000) {
        let schema = match record.kind {
            Kind::Search => &search,
            Kind::Feedback => &feedback,
        };
        let event = serde_json::from_slice(&record.payload).expect("the payload is JSON");
        assert_eq!(problems(schema, &event), "", "{event}");
    }
}
