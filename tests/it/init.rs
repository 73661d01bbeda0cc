//! `rankgauge init`: its files are accepted by `check`, and fit a sample.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::command::{assert_exit, assert_reports, printed, rankgauge, stderr, stdout};

/// Checks the files in `files`, from the folder and from below it.
fn check(folder: &Path, files: &str) -> String {
    let from_outside = format!("check --config {files}/rankgauge.yaml");
    assert_exit(&rankgauge(folder, &from_outside), 0);
    printed(&rankgauge(
        &folder.join(files),
        "check --config rankgauge.yaml",
    ))
}

#[test]
fn the_starter_files_are_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = rankgauge(folder.path(), &["init", "quality"]);
    assert_exit(&output, 0);
    assert!(stdout(&output).contains("rankgauge check --config quality/rankgauge.yaml"));
    let summary = check(folder.path(), "quality");
    assert!(summary.contains("3 queries"), "{summary}");
    assert!(
        summary.contains("the starter set judges nothing"),
        "{summary}"
    );
    let gold = "quality/gold.json";
    let validate = rankgauge(folder.path(), &["gold", "validate", gold]);
    assert_exit(&validate, 1);
    let settings =
        fs::read_to_string(folder.path().join("quality/rankgauge.yaml")).expect("a file");
    assert!(
        settings.contains("  paths: [\"gold.json\"]\n"),
        "{settings}"
    );
    // A drop of the ranking opens an incident without an edit.
    assert!(summary.contains("detection   1: nDCG@10"), "{summary}");
    let gold = fs::read_to_string(folder.path().join("quality/gold.json")).expect("a file");
    let gold: Value = serde_json::from_str(&gold).expect("JSON");
    let queries = gold["queries"].as_array().expect("a list");
    assert_eq!(queries.len(), 3);
    for query in queries {
        let text = query["query_text"].as_str().expect("a text");
        assert!(text.is_ascii(), "{text}");
        for label in ["query_type", "difficulty"] {
            assert!(query[label].is_string(), "{query}");
        }
    }
    // Nobody judged anything yet.
    assert!(
        queries
            .iter()
            .all(|query| query["ground_truth"] == json!({}))
    );
    assert!(
        settings.lines().filter(|line| line.contains('#')).count() > 15,
        "{settings}"
    );
}

#[test]
fn existing_files_are_not_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("gold.json"), "mine").expect("a file");
    let output = rankgauge(folder.path(), &["init"]);
    assert_reports(&output, 2, "gold.json exists");
    assert!(!folder.path().join("rankgauge.yaml").exists());
    assert_eq!(
        fs::read_to_string(folder.path().join("gold.json")).expect("a file"),
        "mine"
    );
}

#[test]
fn a_sample_determines_slices_measures_limits_and_queries() {
    let folder = tempfile::tempdir().expect("a folder");
    let searches: Vec<String> = (0..60)
        .map(|number| {
            let results: Vec<Value> = (0..4)
                .map(|rank| json!({"id": format!("d{rank}::c"), "group_id": format!("d{rank}")}))
                .collect();
            let at = usize::try_from(number).expect("a small number");
            let queries = ["용도지역", "용도지역 ", "건폐율", "a: \"b\" #c", "rare"];
            let devices = ["mobile", "desktop"];
            let event = json!({
                "query_id": format!("s{number}"), "ts": 1_763_337_600_000_u64 + number,
                "query": queries[at % 5],
                "results": results, "session_id": "s", "variant": format!("V{}", number % 2),
                "labels": {"device": devices[at % 2],
                    "user": format!("u{number}"), "constant": "x", "1bad": number % 2},
            });
            format!("{event}\n")
        })
        .collect();
    fs::write(
        folder.path().join("searches.jsonl"),
        searches.concat() + "not JSON\n",
    )
    .expect("a file");
    let said = printed(&rankgauge(folder.path(), "init --from searches.jsonl out"));
    assert!(
        said.contains("Proposed from 60 searches: at most 4 results"),
        "{said}"
    );
    assert!(
        said.contains("1 records are not events; the first is record 61"),
        "{said}"
    );
    let summary = check(folder.path(), "out");
    assert!(summary.contains("3 queries"), "{summary}");
    let settings = fs::read_to_string(folder.path().join("out/rankgauge.yaml")).expect("a file");
    for line in [
        "slices: [device]",
        "  judge_by: group_id",
        "  measures: [nDCG@3]",
        "  results_per_search: 100",
        "  search_format: native",
    ] {
        assert!(settings.lines().any(|it| it == line), "{line}: {settings}");
    }
    assert!(
        settings.contains("nDCG@3") && settings.contains("SessionSuccess"),
        "{settings}"
    );
    let gold = fs::read_to_string(folder.path().join("out/gold.json")).expect("a file");
    let gold: Value = serde_json::from_str(&gold).expect("JSON");
    assert_eq!(gold["queries"][0]["query_text"], "a: \"b\" #c");
    for query in gold["queries"].as_array().expect("a list") {
        let members: Vec<&String> = query.as_object().expect("an object").keys().collect();
        assert_eq!(
            members,
            ["ground_truth", "query_id", "query_text"],
            "nothing about a real query is invented"
        );
    }
}

#[test]
fn a_sample_with_one_query_is_not_filled_up_with_examples() {
    let folder = tempfile::tempdir().expect("a folder");
    let event = json!({"query_id": "s1", "ts": 1_763_337_600_000_u64, "query": "blue roses", "results": [{"id": "d1"}]});
    fs::write(folder.path().join("searches.jsonl"), event.to_string()).expect("a file");
    let output = rankgauge(folder.path(), "init --from searches.jsonl out");
    assert_exit(&output, 0);
    let gold = fs::read_to_string(folder.path().join("out/gold.json")).expect("a file");
    let gold: Value = serde_json::from_str(&gold).expect("JSON");
    assert_eq!(
        gold["queries"],
        json!([{"query_id": "Q001", "query_text": "blue roses", "ground_truth": {}}])
    );
    check(folder.path(), "out");
}

#[test]
fn a_sample_of_user_behavior_insights_is_recognised() {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/connect/ubi_queries.jsonl");
    let examples = examples.display().to_string();
    let output = rankgauge(folder.path(), &format!("init --from {examples} out"));
    assert_exit(&output, 0);
    let summary = check(folder.path(), "out");
    assert!(summary.contains("searches ubi"), "{summary}");
}

#[test]
fn a_sample_without_searches_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("x.jsonl"), "{\"ts\": 1}\n").expect("a file");
    let output = rankgauge(folder.path(), &["init", "--from", "x.jsonl"]);
    assert_reports(&output, 2, "x.jsonl: no search event among 1 records");
    let output = rankgauge(folder.path(), &["init", "--from", "none.jsonl"]);
    assert_exit(&output, 2);
}

/// Searches of a sample of unknown records.
const SEARCHES: u64 = 60;

/// Records of search `number` and of a click on its result `clicked`, counted from 0.
type Shape = fn(number: u64, clicked: usize) -> Vec<(&'static str, Value)>;

fn moment(number: u64) -> u64 {
    1_763_337_600_000 + number * 60_000
}

/// Time of search `number`, RFC 3339.
fn text_of_moment(number: u64) -> String {
    format!("2025-11-17T{:02}:{:02}:00.250Z", number / 60, number % 60)
}

fn query(number: u64) -> &'static str {
    ["blue roses", "용도지역 변경", "rain coat", "건폐율"]
        [usize::try_from(number % 4).expect("small")]
}

fn document(number: u64, place: usize) -> String {
    format!("p{}", (number * 7 + place as u64) % 101)
}

fn documents(number: u64) -> Vec<String> {
    (0..8).map(|place| document(number, place)).collect()
}

fn results(number: u64, of: fn(String, usize) -> Value) -> Vec<Value> {
    (0..8)
        .map(|place| of(document(number, place), place))
        .collect()
}

fn segment(number: u64, clicked: usize) -> Vec<(&'static str, Value)> {
    let (at, session) = (text_of_moment(number), format!("s{}", number / 3));
    vec![
        (
            "both",
            json!({"type": "track", "event": "Products Searched", "messageId": format!("m{number}"),
                "anonymousId": session, "timestamp": at, "receivedAt": at,
                "properties": {"query": query(number), "results": documents(number)}}),
        ),
        (
            "both",
            json!({"type": "track", "event": "Product Clicked", "messageId": format!("c{number}"),
                "anonymousId": session, "timestamp": at, "properties": {"name": "Monopoly",
                "product_id": document(number, clicked), "position": clicked + 1, "price": 18.99,
                "query_id": format!("m{number}")}}),
        ),
        (
            "both",
            json!({"type": "identify", "messageId": format!("i{number}"), "timestamp": at,
                "traits": {"plan": "pro"}}),
        ),
    ]
}

fn cloud_events(number: u64, clicked: usize) -> Vec<(&'static str, Value)> {
    let (at, session) = (text_of_moment(number), format!("s{}", number / 3));
    vec![
        (
            "both",
            json!({"specversion": "1.0", "type": "com.shop.search.v2", "source": "/search",
                "subject": session, "id": format!("A-{number}"), "time": at,
                "data": {"q": query(number), "skus": documents(number)}}),
        ),
        (
            "both",
            json!({"specversion": "1.0", "type": "com.shop.click.v1", "source": "/shop",
                "subject": session, "id": format!("c-{number}"), "time": at,
                "data": {"search_id": format!("A-{number}"), "sku": document(number, clicked)}}),
        ),
    ]
}

fn debezium(number: u64, clicked: usize) -> Vec<(&'static str, Value)> {
    let at = moment(number);
    let row = |after: Value, table: &str| {
        json!({"schema": {"type": "struct"}, "payload": {"before": null, "after": after, "op": "c",
            "source": {"connector": "postgresql", "table": table, "ts_ms": at + 5}, "ts_ms": at + 9}})
    };
    let search = json!({"id": format!("s{number}"), "at": at * 1000, "q": query(number),
        "session_id": format!("n{}", number / 3), "ids": documents(number)});
    let click = json!({"id": format!("f{number}"), "at": at * 1000 + 7, "action": "click",
        "search_id": format!("s{number}"), "product_id": document(number, clicked),
        "position": clicked});
    vec![
        ("searches", row(search, "searches")),
        ("clicks", row(click, "clicks")),
    ]
}

fn connect(number: u64, clicked: usize) -> Vec<(&'static str, Value)> {
    let schema = json!({"type": "struct", "fields": [{"type": "string", "field": "search_id"}]});
    let of = |id: String, place: usize| json!({"sku": id, "score": 9 - place});
    vec![
        (
            "searches",
            json!({"schema": schema, "payload": {"search_id": format!("s{number}"),
                "created_at": moment(number), "term": query(number), "results": results(number, of)}}),
        ),
        (
            "clicks",
            json!({"schema": schema, "payload": {"event_id": format!("e{number}"),
                "search_id": format!("s{number}"), "created_at": moment(number) + 30,
                "event_type": "click", "sku": document(number, clicked), "position": clicked + 1}}),
        ),
    ]
}

fn ga4(number: u64, clicked: usize) -> Vec<(&'static str, Value)> {
    let id = format!("g{number}");
    let of =
        |id: String, place: usize| json!({"item_id": id, "item_name": "a name", "index": place});
    vec![(
        "both",
        json!({"client_id": format!("c{}", number / 3), "timestamp_micros": moment(number) * 1000,
        "events": [
            {"name": "view_item_list", "params": {"query_id": id, "search_term": query(number),
                "items": results(number, of)}},
            {"name": "select_item", "params": {"query_id": id,
                "items": [{"item_id": document(number, clicked), "index": clicked}]}},
        ]}),
    )]
}

fn shop(number: u64, clicked: usize) -> Vec<(&'static str, Value)> {
    let micros = moment(number) * 1000;
    let session = json!({"id": format!("s{}", number / 3)});
    let of = |id: String, place: usize| {
        json!({"doc": {"id": id, "kind": if place.is_multiple_of(2) { "law" } else { "case" }},
            "score": 95 - place})
    };
    vec![
        (
            "both",
            json!({"meta": {"type": "search.executed", "event_id": format!("e{number}"), "ts": micros,
                "session": session},
                "request": {"text": query(number), "page": 1,
                    "ab": {"arm": if number.is_multiple_of(2) { "A" } else { "B" }}},
                "response": {"took_ms": 7 + number, "hits": results(number, of)}}),
        ),
        (
            "both",
            json!({"meta": {"type": "product.opened", "event_id": format!("x{number}"),
                "ts": micros + 9, "session": session}, "search_event_id": format!("e{number}"),
                "doc": {"id": document(number, clicked)}, "index": clicked}),
        ),
        (
            "both",
            json!({"meta": {"type": "heartbeat", "event_id": format!("h{number}"), "ts": micros}}),
        ),
    ]
}

/// Writes the records of a shape to files by their name, and returns these.
fn write_shape(folder: &Path, shape: Shape) -> Vec<String> {
    let mut files: std::collections::BTreeMap<&str, String> = std::collections::BTreeMap::new();
    for number in 0..SEARCHES {
        let clicked = usize::try_from(number * 5 % 8).expect("small");
        for (file, record) in shape(number, clicked) {
            let text = files.entry(file).or_default();
            text.extend([record.to_string(), "\n".to_owned()]);
        }
    }
    let write = files.into_iter().map(|(name, text)| {
        let name = format!("{name}.jsonl");
        fs::write(folder.join(&name), text).expect("a file");
        name
    });
    write.collect()
}

/// A proposed mapping needs no edit: it decodes every search with its click, at the clicked place.
#[test]
fn a_mapping_is_proposed_for_records_of_an_unknown_shape() {
    let shapes: [(&str, Shape); 6] = [
        ("segment", segment),
        ("cloud events", cloud_events),
        ("debezium", debezium),
        ("connect", connect),
        ("ga4", ga4),
        ("shop", shop),
    ];
    for (name, shape) in shapes {
        let folder = tempfile::tempdir().expect("a folder");
        let files = write_shape(folder.path(), shape);
        let mut arguments = vec!["init", "out"];
        for file in &files {
            arguments.extend(["--from", file]);
        }
        let output = rankgauge(folder.path(), &arguments);
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        let said = stdout(&output);
        let counts = format!("(100 %): {SEARCHES} searches and {SEARCHES} feedback events");
        assert!(said.contains(&counts), "{name}: {said}");
        assert!(!said.contains("Not found"), "{name}: {said}");
        check(folder.path(), "out");

        let settings = "out/rankgauge.yaml";
        let mut arguments = vec!["tail", "--config", settings, "--format", "json"];
        arguments.extend(["--search", files.last().expect("a file")]);
        // A file of both kinds is one topic.
        if let [feedback, _] = &*files {
            arguments.extend(["--feedback", feedback]);
        }
        let output = rankgauge(folder.path(), &arguments);
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        let lines = stdout(&output);
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let of = |outcome: &str, kind: &str| -> Vec<&Value> {
            let lines = lines.iter();
            let lines = lines.filter(|line| line["outcome"] == outcome && line["kind"] == kind);
            lines.collect()
        };
        let searches = of("unjudged", "search");
        assert_eq!(searches.len() as u64, SEARCHES, "{name}");
        assert_eq!(searches[5]["results"], 8, "{name}");
        assert_eq!(searches[5]["query"], query(5), "{name}");
        let clicks = of("joined", "feedback");
        assert_eq!(clicks.len() as u64, SEARCHES, "{name}");
        for (number, click) in (0..).zip(clicks) {
            let clicked = usize::try_from(number * 5 % 8).expect("small");
            assert_eq!(click["type"], "click", "{name}");
            assert_eq!(click["object_id"], document(number, clicked), "{name}");
            if name != "cloud events" {
                assert_eq!(click["position"], clicked + 1, "{name}: {click}");
            }
        }
    }
}

/// Writes searches and clicks to a folder, and a proposal for them to `out`. Returns its summary.
fn proposed(folder: &Path, searches: &str, clicks: &str) -> String {
    fs::write(folder.join("searches.jsonl"), searches).expect("a file");
    fs::write(folder.join("clicks.jsonl"), clicks).expect("a file");
    let arguments = "init out --from searches.jsonl --from clicks.jsonl";
    printed(&rankgauge(folder, arguments))
}

#[test]
fn clicks_after_thousands_of_searches_are_mapped() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut searches, mut clicks) = (String::new(), String::new());
    for number in 0..2_500 {
        for (file, record) in connect(number, 3) {
            let lines = if file == "searches" {
                &mut searches
            } else {
                &mut clicks
            };
            lines.extend([record.to_string(), "\n".to_owned()]);
        }
    }
    let said = proposed(folder.path(), &searches, &clicks);
    let counts = "(100 %): 2500 searches and 2500 feedback events";
    assert!(said.contains(counts), "{said}");
}

#[test]
fn the_session_of_thousands_of_searches_is_not_their_id() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = |number: u64| format!("visit-{}", number / 3);
    let searches: Vec<Value> = (0..15_300)
        .map(|number| with(plain_search(number), "session_id", session(number)))
        .collect();
    let clicks: Vec<Value> = (0..15_300)
        .step_by(2)
        .map(|number| with(plain_click(number), "session_id", session(number)))
        .collect();
    let files = [("searches.jsonl", &searches[..]), ("clicks.jsonl", &clicks)];
    let (_, settings) = proposed_for(folder.path(), &files);
    assert!(settings.contains("query_id: /search_id"), "{settings}");
    assert!(settings.contains("session_id: /session_id"), "{settings}");
}

#[test]
fn filters_and_the_order_of_results_are_mapped() {
    let folder = tempfile::tempdir().expect("a folder");
    let search = |number: u64, usual: &str| {
        let filters = if number.is_multiple_of(4) {
            json!(["color:red"])
        } else {
            json!([])
        };
        let order = if number.is_multiple_of(5) {
            "price_asc"
        } else {
            usual
        };
        let search = with(plain_search(number), "filters", filters);
        with(search, "sortBy", order)
    };
    let searches: Vec<Value> = (0..SEARCHES).map(|it| search(it, "relevance")).collect();
    let (_, settings) = proposed_for(folder.path(), &[("searches.jsonl", &searches)]);
    assert!(settings.contains("filters: /filters"), "{settings}");
    assert!(settings.contains("sort: /sortBy"), "{settings}");

    let folder = tempfile::tempdir().expect("a folder");
    let searches: Vec<Value> = (0..SEARCHES).map(|it| search(it, "score")).collect();
    let (said, settings) = proposed_for(folder.path(), &[("searches.jsonl", &searches)]);
    assert!(!settings.contains("sort: /sortBy"), "{settings}");
    let note =
        "/sortBy looks like the order of the results (price_asc, score), and is not mapped to sort";
    assert!(said.contains(note), "{said}");
}

#[test]
fn searches_of_several_names_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut records = Vec::new();
    for number in 0..SEARCHES {
        records.push(with(plain_search(number), "event", "search"));
        let typed = with(plain_search(number), "search_id", format!("t{number}"));
        records.push(with(typed, "event", "search_suggest"));
        records.push(with(plain_click(number), "event", "click"));
    }
    let (said, _) = proposed_for(folder.path(), &[("both.jsonl", &records)]);
    let note = "Searches are events of 2 names (search, search_suggest). Remove from `when`";
    assert!(said.contains(note), "{said}");
}

#[test]
fn actions_are_found_in_clicks_that_are_far_fewer_than_searches() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut searches, mut clicks) = (String::new(), String::new());
    for number in 0..200 {
        let place = usize::try_from(number * 5 % 8).expect("small");
        let at = 1_763_337_600_000 + number * 1_000;
        let search = json!({"request_id": format!("r{number}"), "created_at": at, "q": query(number),
            "result": {"ids": documents(number)}});
        searches.extend([search.to_string(), "\n".to_owned()]);
        if number % 4 == 0 {
            let action = if number % 3 == 0 {
                "product_purchased"
            } else {
                "product_clicked"
            };
            let click = json!({"request_id": format!("r{number}"), "created_at": at + 9, "action": action,
                "item": {"id": document(number, place)}, "rank": place});
            clicks.extend([click.to_string(), "\n".to_owned()]);
        }
    }
    let said = proposed(folder.path(), &searches, &clicks);
    assert!(
        said.contains("200 searches and 50 feedback events"),
        "{said}"
    );
    assert!(!said.contains("no name of an action"), "{said}");
    let written = fs::read_to_string(folder.path().join("out/rankgauge.yaml")).expect("a file");
    for action in ["product_clicked: click", "product_purchased: conversion"] {
        assert!(written.contains(action), "{action} is not in {written}");
    }
}

#[test]
fn a_mapping_is_proposed_for_the_newest_records_of_topics() {
    let broker = crate::harness::kafka::broker();
    let (searches, clicks) = broker.unique_topics("init", 2);
    let now = rankgauge_serve::clock::wall_now().as_event_time().0;
    let (mut of_searches, mut of_clicks) = (Vec::new(), Vec::new());
    for number in 0..SEARCHES {
        let place = usize::try_from(number * 5 % 8).expect("small");
        let session = format!("s{}", number / 3);
        let at = now - 600_000 + i64::try_from(number).expect("small") * 1_000;
        let search = json!({"request_id": format!("r{number}"), "created_at": at, "q": query(number),
            "result": {"ids": documents(number)}});
        let click = json!({"request_id": format!("r{number}"), "created_at": at + 9, "verb": "x",
            "event": "result_clicked", "item": {"id": document(number, place)}, "rank": place});
        of_searches.push((session.clone(), search.to_string(), None));
        of_clicks.push((session, click.to_string(), None));
    }
    broker.produce(&searches, of_searches);
    broker.produce(&clicks, of_clicks);
    let folder = tempfile::tempdir().expect("a folder");
    let brokers = format!("kafka.brokers={}", broker.bootstrap());
    let arguments =
        format!("init --from-topic {searches} --from-topic {clicks} --set {brokers} out");
    let said = printed(&rankgauge(folder.path(), &arguments));
    let counts = format!("(100 %): {SEARCHES} searches and {SEARCHES} feedback events");
    assert!(said.contains(&counts), "{said}");
    check(folder.path(), "out");
    let settings = fs::read_to_string(folder.path().join("out/rankgauge.yaml")).expect("a file");
    for expected in [
        &*format!("  brokers: \"{}\"", broker.bootstrap()),
        &*format!("  search_topic: \"{searches}\""),
        &*format!("  feedback_topic: \"{clicks}\""),
        "query_id: /request_id",
        "session_id: key",
        "object_id: /item/id",
        "position_base: 0",
    ] {
        assert!(settings.contains(expected), "{expected}: {settings}");
    }
}

#[test]
fn a_mapping_of_clicks_alone_says_that_searches_are_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = |number: u64| {
        let click = json!({"eventType": "click", "eventName": "Product Clicked", "index": "products",
            "userToken": format!("u{}", number / 2), "timestamp": moment(number),
            "queryID": format!("43b15df305339e827f0ac0bdc5ebc{number:03}"),
            "objectIDs": [document(number, 2)], "positions": [3]});
        format!("{}\n", json!({"events": [click]}))
    };
    let records: String = (0..SEARCHES).map(record).collect();
    fs::write(folder.path().join("insights.jsonl"), records).expect("a file");
    let said = printed(&rankgauge(folder.path(), "init out --from insights.jsonl"));
    for expected in [
        "(100 %): 0 searches and 60 feedback events",
        "Not found: the sample shows no searches that can be mapped",
        "type: /eventType",
        "object_id: /objectIDs/0",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    check(folder.path(), "out");
}

/// Search `number` of a service, of which a heartbeat follows every tenth.
fn executed(number: u64) -> String {
    let micros = moment(number) * 1000;
    let hits: Vec<Value> = results(number, |id, _| json!({"doc": {"id": id}, "score": 2.5}));
    let search = json!({"meta": {"type": "search.executed", "event_id": format!("e{number}"), "ts": micros},
        "request": {"text": query(number)}, "response": {"took_ms": 12, "hits": hits}});
    let heartbeat = json!({"meta": {"type": "heartbeat", "ts": micros}});
    if number.is_multiple_of(10) {
        format!("{search}\n{heartbeat}\n")
    } else {
        format!("{search}\n")
    }
}

/// Click on search `number` by another service, at a time as this text, with a name if it has one.
fn opened(number: u64, name: Option<&str>, at: &str) -> String {
    let mut click = json!({"uid": "u0", "search": format!("e{number}"), "doc": document(number, 2), "pos": 2, "at": at});
    if let Some(name) = name {
        click["type"] = name.into();
    }
    format!("{click}\n")
}

#[test]
fn the_names_of_the_clicks_are_found_beside_other_names_of_the_searches() {
    let alternating = |number: u64| {
        Some(if number.is_multiple_of(2) {
            "hit_opened"
        } else {
            "bought"
        })
    };
    let names: [fn(u64) -> Option<&'static str>; 3] =
        [|_| Some("hit_opened"), |_| Some("click"), alternating];
    for name_of in names {
        let folder = tempfile::tempdir().expect("a folder");
        let searches: String = (0..SEARCHES).map(executed).collect();
        let clicks: String = (0..SEARCHES)
            .map(|number| opened(number, name_of(number), &text_of_moment(number)))
            .collect();
        let said = proposed(folder.path(), &searches, &clicks);
        let counts =
            "decodes 120 of 120 records (100 %): 60 searches and 60 feedback events; 6 records";
        assert!(said.contains(counts), "{said}");
        assert!(!said.contains("Not found"), "{said}");
        assert!(said.contains("/meta/type: [search.executed]"), "{said}");
        let tail = [
            "tail",
            "--config",
            "out/rankgauge.yaml",
            "--search",
            "searches.jsonl",
        ];
        let tailed = rankgauge(
            folder.path(),
            &[&tail[..], &["--feedback", "clicks.jsonl"]].concat(),
        );
        let lines = stdout(&tailed);
        let count = |start: &str| lines.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!(
            (count("search   ignored"), count("feedback joined")),
            (6, 60),
            "{lines}"
        );
    }
}

#[test]
fn a_few_damaged_times_do_not_hide_the_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let searches: String = (0..SEARCHES).map(executed).collect();
    let click = |number: u64| {
        let at = text_of_moment(number);
        let at = if number == 7 { &at[..10] } else { &at };
        opened(number, Some("click"), at)
    };
    let clicks: String = (0..SEARCHES).map(click).collect();
    let said = proposed(folder.path(), &searches, &clicks);
    assert!(said.contains("ts: /at"), "{said}");
    let counts = "decodes 119 of 120 records (99 %): 60 searches and 59 feedback events";
    assert!(said.contains(counts), "{said}");
}

#[test]
fn a_file_without_any_event_counts_in_the_share() {
    let folder = tempfile::tempdir().expect("a folder");
    let searches: String = (0..SEARCHES).map(executed).collect();
    let clicks: String = (0..SEARCHES)
        .map(|number| opened(number, None, &text_of_moment(number)))
        .collect();
    let said = proposed(folder.path(), &searches, &clicks);
    assert!(said.contains("decodes 60 of 120 records (50 %)"), "{said}");
    let left_out = "None of the 60 records of clicks.jsonl is an event";
    assert!(said.contains(left_out), "{said}");
}

#[test]
fn native_feedback_is_no_problem_of_a_sample() {
    let folder = tempfile::tempdir().expect("a folder");
    let search = json!({"query_id": "s1", "ts": moment(0), "query": "x", "latency_ms": 1, "results": [{"id": "d"}]});
    let click = json!({"event_id": "f1", "ts": moment(0), "query_id": "s1", "type": "click", "object_id": "d"});
    let said = proposed(
        folder.path(),
        &format!("{search}\n"),
        &format!("{click}\n{{\"event_id\": \"f2\", \"type\": \"click\"}}\n"),
    );
    let problem = "1 records are not events; the first is record 3: missing_field:";
    assert!(said.contains(problem), "{said}");
    assert!(!said.contains("missing field `results`"), "{said}");
}

#[test]
fn a_sample_without_records_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("empty.json"), "").expect("a file");
    let output = rankgauge(folder.path(), "init out --from empty.json");
    assert_reports(
        &output,
        2,
        "empty.json: no record; name a file or a topic with search events",
    );
}

/// Runs `init` on files of records. Returns its output, and the configuration.
fn proposed_for(folder: &Path, files: &[(&str, &[Value])]) -> (String, String) {
    let mut arguments = vec!["init", "out"];
    for (name, records) in files {
        let lines: Vec<String> = records.iter().map(ToString::to_string).collect();
        let lines = lines.join("\n");
        fs::write(folder.join(name), lines).expect("a file");
        arguments.extend(["--from", name]);
    }
    let output = rankgauge(folder, &arguments);
    assert_exit(&output, 0);
    check(folder, "out");
    let settings = fs::read_to_string(folder.join("out/rankgauge.yaml")).expect("a file");
    (stdout(&output), settings)
}

/// Number of records in a file by kind and outcome under the proposed configuration.
fn outcomes(folder: &Path, file: &str) -> std::collections::BTreeMap<String, usize> {
    let tail = ["tail", "--config", "out/rankgauge.yaml", "--format", "json"];
    let output = rankgauge(folder, &[&tail[..], &["--search", file]].concat());
    assert_exit(&output, 0);
    let mut outcomes = std::collections::BTreeMap::new();
    for line in stdout(&output).lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let word = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        *outcomes
            .entry(format!("{} {}", word("kind"), word("outcome")))
            .or_default() += 1;
    }
    outcomes
}

/// Search `number` as a plain record.
fn plain_search(number: u64) -> Value {
    json!({"search_id": format!("s{number}"), "ts": moment(number), "query": query(number),
        "results": documents(number)})
}

/// Click on search `number` as a plain record.
fn plain_click(number: u64) -> Value {
    json!({"search_id": format!("s{number}"), "ts": moment(number) + 9, "action": "click",
        "product_id": document(number, 2)})
}

fn with(mut record: Value, key: &str, value: impl Into<Value>) -> Value {
    record[key] = value.into();
    record
}

fn without(mut record: Value, key: &str) -> Value {
    record.as_object_mut().expect("an object").remove(key);
    record
}

#[test]
fn searches_are_found_by_their_results_under_any_name() {
    for name in [
        "srch.done",
        "listing",
        "find",
        "lookup",
        "ranking",
        "plp.rendered",
        "serp.view",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let search = |number| {
            let meta =
                json!({"kind": name, "id": format!("m{number}"), "created_at": moment(number)});
            let of = |id: String, _| json!({"docId": id, "score": 1.0});
            json!({"meta": meta, "ctx": {"uid": format!("u{}", number % 7)}, "req": {"text": query(number)},
                "resp": {"docs": results(number, of)}})
        };
        let click = |number| {
            let meta = json!({"kind": "srch.click", "id": format!("c{number}"), "created_at": moment(number)});
            json!({"meta": meta, "ctx": {"uid": format!("u{}", number % 7)},
                "req": {"ref": format!("m{number}")}, "hit": {"docId": document(number, 2)}})
        };
        let searches = (0..SEARCHES).map(search);
        let records: Vec<Value> = searches.chain((0..30).map(click)).collect();
        let (said, _) = proposed_for(folder.path(), &[("both.jsonl", &records)]);
        let counts =
            "decodes 90 of 90 records (100 %): 60 searches and 30 feedback events; 0 records";
        assert!(said.contains(counts), "{name}: {said}");
        assert!(
            said.contains("object_id: /hit/docId"),
            "{name}: a result names the document: {said}"
        );
        let outcomes = outcomes(folder.path(), "both.jsonl");
        assert_eq!(outcomes["search unjudged"], 60, "{name}: {outcomes:?}");
        assert_eq!(outcomes["feedback joined"], 30, "{name}: {outcomes:?}");
    }
}

#[test]
fn other_events_with_a_list_are_no_searches_beside_those_that_are_named_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut records = Vec::new();
    for number in 0..SEARCHES {
        records.push(with(plain_search(number), "type", "search"));
        records.push(with(plain_click(number), "type", "click"));
        records.push(
            json!({"type": "wishlist_saved", "ts": moment(number), "items": documents(number)}),
        );
    }
    let (said, settings) = proposed_for(folder.path(), &[("both.jsonl", &records)]);
    let counts =
        "decodes 120 of 120 records (100 %): 60 searches and 60 feedback events; 60 records";
    assert!(said.contains(counts), "{said}");
    assert!(settings.contains("/type: [search]"), "{settings}");
}

#[test]
fn searches_alone_whose_name_means_an_impression_are_searches() {
    let folder = tempfile::tempdir().expect("a folder");
    let named = |number| with(plain_search(number), "kind", "serp.view");
    let records: Vec<Value> = (0..SEARCHES).map(named).collect();
    let (said, _) = proposed_for(folder.path(), &[("searches.jsonl", &records)]);
    assert!(
        said.contains("(100 %): 60 searches and 0 feedback"),
        "{said}"
    );
}

#[test]
fn a_file_of_both_kinds_becomes_one_topic_as_replay_reads_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut records = Vec::new();
    for number in 0..SEARCHES {
        let click = without(plain_click(number), "action");
        records.push(with(plain_search(number), "evt", "SearchPerformed"));
        records.push(with(click, "evt", "ItemTapped"));
        records.push(json!({"evt": "Heartbeat", "ts": moment(number)}));
    }
    let (said, settings) = proposed_for(folder.path(), &[("both.jsonl", &records)]);
    let counts =
        "decodes 120 of 120 records (100 %): 60 searches and 60 feedback events; 60 records";
    assert!(said.contains(counts), "{said}");
    assert!(settings.contains("/evt: [SearchPerformed]"), "{settings}");
    assert!(settings.contains("/evt: [ItemTapped]"), "{settings}");
    for topic in ["search_topic", "feedback_topic"] {
        let line = format!("  {topic}: \"search.log\"");
        assert!(settings.contains(&line), "{settings}");
    }
    let outcomes = outcomes(folder.path(), "both.jsonl");
    assert_eq!(outcomes["search unjudged"], 60, "{outcomes:?}");
    assert_eq!(outcomes["feedback joined"], 60, "{outcomes:?}");
    assert!(
        !outcomes.keys().any(|it| it.ends_with("invalid")),
        "{outcomes:?}"
    );
}

#[test]
fn events_without_names_in_one_file_are_told_apart_by_what_they_lack() {
    let folder = tempfile::tempdir().expect("a folder");
    let click = |number| without(plain_click(number), "action");
    let records: Vec<Value> = (0..SEARCHES)
        .flat_map(|number| [plain_search(number), click(number)])
        .collect();
    let (said, settings) = proposed_for(folder.path(), &[("both.jsonl", &records)]);
    let counts = "decodes 120 of 120 records (100 %): 60 searches and 60 feedback events";
    assert!(said.contains(counts), "{said}");
    assert!(settings.contains("/product_id:\n"), "{settings}");
    let outcomes = outcomes(folder.path(), "both.jsonl");
    assert_eq!(outcomes["feedback joined"], 60, "{outcomes:?}");
}

#[test]
fn a_native_file_of_both_kinds_becomes_one_topic() {
    let folder = tempfile::tempdir().expect("a folder");
    let search = json!({"query_id": "s1", "ts": moment(0), "query": "x", "results": [{"id": "d"}]});
    let click = json!({"event_id": "f1", "ts": moment(0), "query_id": "s1", "type": "click", "object_id": "d"});
    let (_, settings) = proposed_for(folder.path(), &[("both.jsonl", &[search, click])]);
    let topic = "  feedback_topic: \"search.log\"";
    assert!(settings.contains(topic), "{settings}");
}

#[test]
fn times_are_found_by_their_size_under_any_name() {
    for key in [
        "epoch",
        "when",
        "t",
        "created",
        "logged_at",
        "stamp",
        "time_s",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let seconds = |record, number| with(without(record, "ts"), key, moment(number) / 1000);
        let text = |record, number| with(without(record, "ts"), key, text_of_moment(number));
        let searches: Vec<Value> = (0..SEARCHES)
            .map(|number| seconds(plain_search(number), number))
            .collect();
        let clicks: Vec<Value> = (0..SEARCHES)
            .map(|number| text(plain_click(number), number))
            .collect();
        let files: [(&str, &[Value]); 2] = [("searches", &searches), ("clicks", &clicks)];
        let (said, settings) = proposed_for(folder.path(), &files);
        let counts = "(100 %): 60 searches and 60 feedback events";
        assert!(said.contains(counts), "{key}: {said}");
        let source = format!("ts: /{key}\n");
        assert_eq!(settings.matches(&source).count(), 2, "{settings}");
        for unit in ["time: seconds", "time: rfc3339"] {
            assert!(settings.contains(unit), "{settings}");
        }
    }
}

#[test]
fn a_sample_without_texts_has_a_marked_line_for_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = |record: Value| format!("{record}\n");
    let searches: String = (0..SEARCHES)
        .map(|number| {
            line(with(
                without(plain_search(number), "query"),
                "took",
                number + 2,
            ))
        })
        .collect();
    let clicks: String = (0..SEARCHES).map(plain_click).map(line).collect();
    fs::write(folder.path().join("searches.jsonl"), searches).expect("a file");
    fs::write(folder.path().join("clicks.jsonl"), clicks).expect("a file");
    let from = ["--from", "searches.jsonl", "--from", "clicks.jsonl"];
    let output = rankgauge(folder.path(), &[&["init", "out"], &from[..]].concat());
    assert_reports(
        &output,
        0,
        "no text of a query was found in the searches: replace \"=MISSING\" in out/rankgauge.yaml",
    );
    check(folder.path(), "out");
    let settings = fs::read_to_string(folder.path().join("out/rankgauge.yaml")).expect("a file");
    let marked = "          # MISSING: no text of a query was found in the searches.";
    let (_, rest) = settings.split_once(marked).expect("a comment");
    let source = rest
        .lines()
        .skip(1)
        .find(|line| !line.trim().starts_with('#') && line.contains(':'));
    assert_eq!(
        source,
        Some("          query_key: \"=MISSING\""),
        "{settings}"
    );
    assert!(settings.contains("latency_ms: /took"), "{settings}");
    let counted = outcomes(folder.path(), "searches.jsonl");
    assert_eq!(counted["search unjudged"], 60, "{counted:?}");
}

#[test]
fn a_key_of_the_gold_query_replaces_its_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let search = |number| {
        let record = without(plain_search(number), "query");
        with(record, "query_key", format!("Q{}", number % 3))
    };
    let searches: Vec<Value> = (0..SEARCHES).map(search).collect();
    let clicks: Vec<Value> = (0..SEARCHES).map(plain_click).collect();
    let files = [("searches.jsonl", &*searches), ("clicks.jsonl", &*clicks)];
    let (said, settings) = proposed_for(folder.path(), &files);
    assert!(!said.contains("Not found"), "{said}");
    assert!(settings.contains("query_key: /query_key"), "{settings}");
    assert!(!settings.contains("MISSING"), "{settings}");
}

/// A part that the searches lack has a marked line, which `check` names. `completed` replaces its source.
#[track_caller]
fn assert_marked(
    record: fn(u64) -> Value,
    (key, path): (&str, &str),
    comment: &str,
    completed: (&str, &str),
) {
    let folder = tempfile::tempdir().expect("a folder");
    let records: Vec<String> = (0..SEARCHES)
        .map(|number| record(number).to_string())
        .collect();
    let records = records.join("\n");
    fs::write(folder.path().join("x.jsonl"), records).expect("a file");
    let output = rankgauge(folder.path(), "init out --from x.jsonl");
    assert_exit(&output, 0);
    let warning = stderr(&output);
    let replace = format!("{comment}: replace \"=MISSING\" in out/rankgauge.yaml");
    assert!(warning.contains(&replace), "{warning}");
    let said = stdout(&output);
    let counts = "With its marked lines completed, the proposed mapping decodes 60 of 60 records";
    assert!(said.contains(counts), "{said}");

    let file = folder.path().join("out/rankgauge.yaml");
    let settings = fs::read_to_string(&file).expect("a file");
    let marked = format!("# MISSING: {comment}. Replace the next line:");
    let (_, rest) = settings.split_once(&marked).expect("a comment");
    let mut lines = rest.lines().map(str::trim);
    let source = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let missing = format!("{key}: \"=MISSING\"");
    assert_eq!(source, Some(missing.as_str()), "{settings}");
    let named = || {
        let checked = rankgauge(folder.path(), &["check", "--config", "out/rankgauge.yaml"]);
        assert_exit(&checked, 0);
        stderr(&checked)
    };
    let warning = named();
    let at = settings.lines().position(|line| line.trim() == missing);
    let line = at.expect("a line") + 1;
    let place =
        format!("out/rankgauge.yaml:{line}: formats.own.mapping.search.{path}: \"=MISSING\"");
    assert!(warning.contains(&place), "{warning}");

    let (from, to) = completed;
    fs::write(&file, settings.replace(&missing, to)).expect("a file");
    assert!(!named().contains("MISSING"), "{from}");
    let renamed = fs::read_to_string(folder.path().join("x.jsonl")).expect("a file");
    assert!(renamed.contains(from), "{renamed}");
    assert_eq!(outcomes(folder.path(), "x.jsonl")["search unjudged"], 60);
}

#[test]
fn a_sample_without_times_has_a_marked_line_for_them() {
    // A time in a list is none that a proposal uses.
    let search = |number| {
        let record = without(plain_search(number), "ts");
        with(record, "seen", json!([text_of_moment(number)]))
    };
    assert_marked(
        search,
        ("ts", "fields.ts"),
        "no time was found",
        ("\"seen\"", "ts: /seen/0"),
    );
}

#[test]
fn a_sample_without_ids_of_searches_has_a_marked_line_for_them() {
    let search = |number| {
        let record = without(plain_search(number), "search_id");
        with(record, "impression", format!("x{number}"))
    };
    assert_marked(
        search,
        ("query_id", "fields.query_id"),
        "no id of a search was found",
        ("\"impression\"", "query_id: /impression"),
    );
}

#[test]
fn a_sample_without_ids_of_results_has_a_marked_line_for_them() {
    let search = |number| {
        let of = |name: String, _| json!({"name": name, "score": 1.0});
        with(plain_search(number), "results", results(number, of))
    };
    assert_marked(
        search,
        ("id", "hits.id"),
        "no id of a result was found",
        ("\"name\"", "id: /name"),
    );
}

#[test]
fn clicks_without_the_id_of_their_search_have_a_marked_line_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let click = |number| format!("{}\n", without(plain_click(number), "search_id"));
    let clicks: String = (0..SEARCHES).map(click).collect();
    fs::write(folder.path().join("clicks.jsonl"), clicks).expect("a file");
    let output = rankgauge(folder.path(), "init out --from clicks.jsonl");
    assert_exit(&output, 0);
    check(folder.path(), "out");
    let settings = fs::read_to_string(folder.path().join("out/rankgauge.yaml")).expect("a file");
    assert!(settings.contains("query_id: \"=MISSING\""), "{settings}");
}

#[test]
fn a_latency_in_seconds_is_left_out() {
    for (key, latency, is_mapped) in [
        ("latency", json!(0.012), false),
        ("took", json!(1.5), false),
        ("took", json!(12), true),
        ("took_ms", json!(0.4), true),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let search = |number| with(plain_search(number), key, latency.clone());
        let records: Vec<Value> = (0..SEARCHES).map(search).collect();
        let (said, settings) = proposed_for(folder.path(), &[("searches.jsonl", &records)]);
        let mapped = format!("latency_ms: /{key}");
        assert_eq!(settings.contains(&mapped), is_mapped, "{settings}");
        let note = format!("/{key} is not mapped to latency_ms: its values look like seconds");
        assert_eq!(said.contains(&note), !is_mapped, "{said}");
    }
}

#[test]
fn pages_that_count_from_zero_are_mapped_as_such() {
    let folder = tempfile::tempdir().expect("a folder");
    let search = |number| with(plain_search(number), "page", number % 2);
    let records: Vec<Value> = (0..SEARCHES).map(search).collect();
    let (said, settings) = proposed_for(folder.path(), &[("searches.jsonl", &records)]);
    assert!(said.contains("(100 %): 60 searches"), "{said}");
    assert!(settings.contains("page_base: 0"), "{settings}");
}

#[test]
fn the_place_of_the_first_result_is_mapped_as_an_offset() {
    for (values, is_mapped) in [([0, 10, 20], true), ([24; 3], false), ([0, 7, 9], false)] {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |number: u64| values[usize::try_from(number % 3).expect("small")];
        let search = |number| with(plain_search(number), "start", place(number));
        let records: Vec<Value> = (0..SEARCHES).map(search).collect();
        let (said, settings) = proposed_for(folder.path(), &[("searches.jsonl", &records)]);
        let mapped = settings.contains("offset: /start\n");
        assert_eq!(mapped, is_mapped, "{values:?}: {settings}");
        let note = "/start is mapped to offset";
        assert_eq!(said.contains(note), is_mapped, "{values:?}: {said}");
    }
}
