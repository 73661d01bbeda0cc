//! Presets: the request that each one sends, and its reading of an answer in the format that the
//! documentation of the engine states (`tests/data/probe`).

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::server::{Received, Reply, Server};
use super::{events, probe};
use crate::harness::command::stderr;

/// Preset with the fields of a hit under `fields`, the path of a request, and the total that the
/// preset reads.
struct Case {
    preset: &'static str,
    path: &'static str,
    more: &'static str,
    fields: &'static str,
    total: Option<u64>,
}

const CASES: [Case; 8] = [
    case("opensearch", "/laws/_search", "", "/_source", Some(27)),
    case("elasticsearch", "/laws/_search", "", "/_source", Some(27)),
    case("solr", "/solr/laws/select?qf=text", "", "", Some(27)),
    case("vespa", "/search/", "", "/fields", Some(27)),
    case(
        "typesense",
        "/collections/laws/documents/search?query_by=text",
        "",
        "/document",
        Some(27),
    ),
    case("meilisearch", "/indexes/laws/search", "", "", Some(27)),
    case(
        "qdrant",
        "/collections/laws/points/query",
        r#", body: '{"query": {"text": "{{query}}", "model": "m"}, "limit": {{size}}}'"#,
        "/payload",
        None,
    ),
    case("json", "/search", "", "", None),
];

const fn case(
    preset: &'static str,
    path: &'static str,
    more: &'static str,
    fields: &'static str,
    total: Option<u64>,
) -> Case {
    Case {
        preset,
        path,
        more,
        fields,
        total,
    }
}

/// Probes a server that always gives `answer`. Returns the first request and the events.
fn run(case: &Case, answer: String, code: i32) -> (Received, Vec<Value>) {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(move |_, _| Reply::json(answer.clone()));
    let configuration = format!(
        "probe:\n  rate: 1000\n  concurrency: 1\n  targets:\n    - {{variant: V5, preset: {}, url: 'http://{}{}'{}, group: {fields}/law_id, attributes: {{law_type: {fields}/law_type}}}}\n",
        case.preset,
        server.address,
        case.path,
        case.more,
        fields = case.fields,
    );
    let output = probe(folder.path(), &configuration, &[]);
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}: {}",
        case.preset,
        stderr(&output)
    );
    let first = server.received().remove(0);
    (first, events(folder.path(), "run.jsonl"))
}

fn recorded(case: &Case) -> String {
    let path = format!("tests/data/probe/{}.json", case.preset);
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("an answer")
}

#[test]
fn each_preset_reads_the_documented_answer() {
    for case in &CASES {
        let (_, events) = run(case, recorded(case), 0);
        let hits = json!([
            {"id": "국토계획법::제36조", "rank": 1, "score": 6.2, "group_id": "국토계획법", "attrs": {"law_type": "act"}},
            {"id": "건축법::제55조", "rank": 2, "score": 1.75, "group_id": "건축법", "attrs": {"law_type": "act"}},
        ]);
        assert_eq!(events.len(), 3);
        for event in events {
            assert_eq!(event["results"], hits, "{}", case.preset);
            let total = event.get("total_hits").and_then(Value::as_u64);
            assert_eq!(total, case.total, "{}", case.preset);
        }
    }
}

#[test]
fn each_preset_sends_the_documented_request() {
    let q = "%EC%9A%A9%EB%8F%84%EC%A7%80%EC%97%AD%20%22%EB%B3%80%EA%B2%BD%22%20%26%20%231";
    let text = "용도지역 \"변경\" & #1";
    let multi_match = json!({"query": {"multi_match": {"query": text}}, "size": 10});
    let bodies = [
        ("opensearch", multi_match.clone()),
        ("elasticsearch", multi_match),
        (
            "vespa",
            json!({"yql": "select * from sources * where userQuery()", "query": text, "hits": 10}),
        ),
        (
            "meilisearch",
            json!({"q": text, "limit": 10, "showRankingScore": true}),
        ),
        (
            "qdrant",
            json!({"query": {"text": text, "model": "m"}, "limit": 10}),
        ),
        ("json", json!({"query": text, "size": 10})),
    ];
    for case in &CASES {
        let (request, _) = run(case, recorded(case), 0);
        let expected = bodies.iter().find(|(preset, _)| *preset == case.preset);
        if let Some((_, expected)) = expected {
            assert_eq!(request.line, format!("POST {}", case.path));
            assert_eq!(request.header("content-type"), Some("application/json"));
            let body: Value = serde_json::from_str(&request.body).expect("JSON");
            assert_eq!(body, *expected, "{}", case.preset);
        } else {
            let parameters = match case.preset {
                "solr" => format!("&defType=edismax&q={q}&rows=10&fl=*,score&wt=json"),
                _ => format!("&q={q}&per_page=10"),
            };
            assert_eq!(request.line, format!("GET {}{parameters}", case.path));
            assert_eq!(request.body, "");
        }
    }
}

#[test]
fn a_partial_answer_keeps_its_results_and_is_a_failure() {
    let marks = [
        ("opensearch", "\"timed_out\": false", "\"timed_out\": true"),
        ("elasticsearch", "\"failed\": 0", "\"failed\": 1"),
        (
            "solr",
            "\"QTime\": 2",
            "\"QTime\": 2, \"partialResults\": true",
        ),
        (
            "vespa",
            "\"full\": true",
            "\"full\": false, \"degraded\": {\"timeout\": true}",
        ),
        (
            "vespa",
            "\"id\": \"toplevel\"",
            "\"id\": \"toplevel\", \"errors\": [{\"code\": 12}]",
        ),
        (
            "typesense",
            "\"search_cutoff\": false",
            "\"search_cutoff\": true",
        ),
    ];
    for (preset, from, to) in marks {
        let case = CASES
            .iter()
            .find(|case| case.preset == preset)
            .expect("a preset");
        let complete = recorded(case);
        let partial = complete.replace(from, to);
        assert_ne!(complete, partial);
        let (_, events) = run(case, partial, 1);
        for event in events {
            assert_eq!(event["error_type"], "answer_partial", "{preset}");
            assert_eq!(event["results"].as_array().map(Vec::len), Some(2));
        }
    }
}

#[test]
fn vespa_leaves_the_list_out_when_nothing_matches() {
    let case = CASES
        .iter()
        .find(|case| case.preset == "vespa")
        .expect("a preset");
    let empty = r#"{"root": {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": 0}}}"#;
    let (_, events) = run(case, empty.to_owned(), 0);
    for event in events {
        assert_eq!(event["results"], json!([]));
        assert_eq!(event["total_hits"], 0);
    }
}
