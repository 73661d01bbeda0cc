//! Mappings in `examples/mappings`, with records as the tools document them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rankgauge::config;
use rankgauge_core::decode::{Encoded, Envelope, EventRef, Formats};
use rankgauge_core::event::{Acceptance, Action, Kind};
use rankgauge_core::time::EventTime;
use rankgauge_serve::clock::wall_now;
use serde_json::{Value, json};

use crate::harness::command::{Arguments as _, json, printed, rankgauge};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;
use crate::repository;

/// Time limit of a sidecar to read its topics.
const LIMIT: Duration = Duration::from_mins(1);

fn formats(name: &str) -> Formats {
    let file: PathBuf = repository(&format!("examples/mappings/{name}.yaml"));
    let config = config::load(&[file], std::iter::empty(), &[]);
    config.expect("a valid mapping").formats
}

/// Event in one line: ids, time, text or action, results or object and position.
fn events<'a>(formats: &Formats, kind: Kind, record: impl Into<Encoded<'a>>) -> Vec<String> {
    let acceptance = Acceptance {
        limits: config::Config::default().engine.record_limits,
        has_gold_texts: false,
    };
    let mut events = Vec::new();
    let decoded = formats.events(kind, record, &acceptance, &mut |event| {
        events.push(match event.expect("a valid event") {
            EventRef::Search(search) => {
                let results = search.results.iter().map(|hit| hit.id.to_string());
                format!(
                    "{} {} {} [{}] in {}",
                    &*search.query_id,
                    search.ts.0,
                    search.query.as_deref().unwrap_or_default(),
                    results.collect::<Vec<_>>().join(","),
                    search.session_id.as_deref().unwrap_or_default(),
                )
            }
            EventRef::Feedback(event) => format!(
                "{} {} {} {}@{} in {}",
                event.query_id.as_deref().unwrap_or_default(),
                event.ts.0,
                Action::NAMES[event.action.index()],
                event.object_id.as_deref().unwrap_or_default(),
                event.position.unwrap_or_default(),
                event.session_id.as_deref().unwrap_or_default(),
            ),
        });
    });
    decoded.expect("a record that is decoded");
    events
}

fn assert_events(name: &str, kind: Kind, record: &str, expected: &[&str]) {
    assert_eq!(
        events(&formats(name), kind, record.as_bytes()),
        expected,
        "{name}"
    );
}

#[test]
fn segment_track_calls_are_events() {
    let searched = r#"{"anonymousId": "23adfd82", "context": {"ip": "108.0.78.21"},
        "event": "Products Searched", "messageId": "ajs-1", "type": "track",
        "properties": {"query": "blue roses", "results": ["507f", "505b"]},
        "receivedAt": "2015-02-23T22:28:55.387Z", "timestamp": "2015-02-23T22:28:55.111Z",
        "userId": "AiUGstSDIg", "originalTimestamp": "2015-02-23T22:28:55.111Z", "version": "1.1"}"#;
    let expected = ["ajs-1 1424730535111 blue roses [507f,505b] in 23adfd82"];
    assert_events("segment", Kind::Search, searched, &expected);
    let clicked = r#"{"anonymousId": "23adfd82", "event": "Product Clicked", "messageId": "ajs-2",
        "type": "track", "timestamp": "2015-02-23T22:28:58.000Z", "properties": {
        "product_id": "507f", "sku": "G-32", "category": "Games", "name": "Monopoly", "price": 18.99,
        "position": 1, "query_id": "ajs-1"}}"#;
    let expected = ["ajs-1 1424730538000 click 507f@1 in 23adfd82"];
    assert_events("segment", Kind::Feedback, clicked, &expected);
    let ordered = r#"{"anonymousId": "23adfd82", "event": "Order Completed", "messageId": "ajs-3",
        "type": "track", "timestamp": "2015-02-23T22:30:00.000Z", "properties": {"query_id": "ajs-1",
        "order_id": "50314b8e", "total": 27.5, "products": [{"product_id": "507f", "price": 19}]}}"#;
    let expected = ["ajs-1 1424730600000 conversion 507f@0 in 23adfd82"];
    assert_events("segment", Kind::Feedback, ordered, &expected);
    let identify = r#"{"type": "identify", "userId": "AiUGstSDIg", "traits": {"plan": "pro"}}"#;
    assert_events("segment", Kind::Feedback, identify, &[]);
    assert_events("segment", Kind::Search, clicked, &[]);
}

#[test]
fn structured_cloud_events_are_events() {
    let search = r#"{"specversion": "1.0", "type": "com.shop.search.v2", "source": "/search",
        "subject": "session-9", "id": "A234-1234-1234", "time": "2018-04-05T17:31:00Z",
        "datacontenttype": "application/json", "data": {"q": "zoning", "skus": ["a", "b"]}}"#;
    let expected = ["A234-1234-1234 1522949460000 zoning [a,b] in session-9"];
    assert_events("cloudevents", Kind::Search, search, &expected);
    let click = r#"{"specversion": "1.0", "type": "com.shop.click.v1", "source": "/shop",
        "subject": "session-9", "id": "c1", "time": "2018-04-05T17:31:05Z",
        "data": {"search_id": "A234-1234-1234", "sku": "b"}}"#;
    let expected = ["A234-1234-1234 1522949465000 click b@0 in session-9"];
    assert_events("cloudevents", Kind::Feedback, click, &expected);
}

#[derive(Debug)]
struct Headers(&'static [(&'static str, &'static str)]);

impl Envelope for Headers {
    fn key(&self) -> Option<&[u8]> {
        Some(b"session-9")
    }

    fn timestamp(&self) -> Option<EventTime> {
        None
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_bytes())
    }

    fn for_each_header(&self, visit: &mut dyn FnMut(&str, &[u8])) {
        for (name, value) in self.0 {
            visit(name, value.as_bytes());
        }
    }
}

#[test]
fn binary_cloud_events_are_events() {
    let headers = Headers(&[
        ("ce_specversion", "1.0"),
        ("ce_type", "com.shop.search.v2"),
        ("ce_source", "/search"),
        ("ce_id", "A234-1234-1234"),
        ("ce_time", "2018-04-05T17:31:00Z"),
        ("content-type", "application/json"),
    ]);
    let record = Encoded {
        payload: br#"{"q": "zoning", "skus": ["a", "b"]}"#,
        envelope: Some(&headers),
    };
    let found = events(&formats("cloudevents-binary"), Kind::Search, record);
    assert_eq!(
        found,
        ["A234-1234-1234 1522949460000 zoning [a,b] in session-9"]
    );
    let found = events(&formats("cloudevents-binary"), Kind::Feedback, record);
    assert_eq!(found, [""; 0]);
}

#[test]
fn rows_of_debezium_are_events() {
    let row = |op: &str| {
        r#"{"schema": {"type": "struct", "optional": false, "fields": []}, "payload": {
        "before": null, "after": {"id": 1004, "at": 1465491411815123, "q": "zoning",
        "session_id": "s9", "ids": ["a", "b"]}, "source": {"version": "3.0.0.Final",
        "connector": "postgresql", "name": "shop", "ts_ms": 1465491411815, "db": "shop",
        "schema": "public", "table": "searches", "txId": 555, "lsn": 24023128}, "op": "OP",
        "ts_ms": 1465491411819}}"#
            .replace("OP", op)
    };
    let expected = ["1004 1465491411815 zoning [a,b] in s9"];
    assert_events("debezium", Kind::Search, &row("c"), &expected);
    assert_events("debezium", Kind::Search, &row("d"), &[]);
    let click = r#"{"payload": {"before": null, "after": {"id": 7, "at": 1465491412000000,
        "action": "click", "search_id": 1004, "product_id": 5, "position": 0}, "op": "c"}}"#;
    let expected = ["1004 1465491412000 click 5@1 in "];
    assert_events("debezium", Kind::Feedback, click, &expected);
}

#[test]
fn records_of_connect_are_events() {
    let search = r#"{"schema": {"type": "struct", "fields": [{"type": "string", "optional": false,
        "field": "search_id"}], "optional": false, "name": "search"}, "payload": {"search_id": "s1",
        "created_at": 1501834166000, "term": "zoning", "session_id": "s9",
        "results": [{"sku": "a", "score": 1.5}, {"sku": "b", "score": 1}]}}"#;
    let expected = ["s1 1501834166000 zoning [a,b] in s9"];
    assert_events("connect", Kind::Search, search, &expected);
    let click = r#"{"schema": null, "payload": {"event_id": "e1", "created_at": 1501834167000,
        "event_type": "click", "search_id": "s1", "sku": "b", "position": 2}}"#;
    let expected = ["s1 1501834167000 click b@2 in "];
    assert_events("connect", Kind::Feedback, click, &expected);
}

#[test]
fn requests_of_algolia_insights_are_events() {
    let request = r#"{"events": [
        {"eventType": "click", "eventName": "Product Clicked", "index": "products",
         "userToken": "user-123456", "timestamp": 1641290601962, "objectIDs": ["9780545139700"],
         "queryID": "43b15df305339e827f0ac0bdc5ebcaa7", "positions": [7]},
        {"eventType": "conversion", "eventName": "Product Purchased", "index": "products",
         "userToken": "user-123456", "timestamp": 1641290602000, "objectIDs": ["9780439785969"],
         "queryID": "43b15df305339e827f0ac0bdc5ebcaa7"}]}"#;
    let expected = [
        "43b15df305339e827f0ac0bdc5ebcaa7 1641290601962 click 9780545139700@7 in user-123456",
        "43b15df305339e827f0ac0bdc5ebcaa7 1641290602000 conversion 9780439785969@0 in user-123456",
    ];
    assert_events("algolia-insights", Kind::Feedback, request, &expected);
}

#[test]
fn requests_of_the_measurement_protocol_are_events() {
    let request = r#"{"client_id": "x.1", "timestamp_micros": "1641290601962000", "events": [
        {"name": "view_item_list", "params": {"query_id": "s1", "search_term": "zoning",
         "session_id": 1641, "items": [{"item_id": "SKU_1", "index": 0, "item_category": "a"},
         {"item_id": "SKU_2", "index": 1}]}},
        {"name": "page_view", "params": {}},
        {"name": "select_item", "params": {"query_id": "s1", "session_id": 1641,
         "items": [{"item_id": "SKU_2", "index": 1}]}}]}"#;
    let expected = ["s1 1641290601962 zoning [SKU_1,SKU_2] in 1641"];
    assert_events("ga4", Kind::Search, request, &expected);
    let expected = ["s1 1641290601962 click SKU_2@2 in 1641"];
    assert_events("ga4", Kind::Feedback, request, &expected);
}

#[test]
fn the_mapping_of_ubi_reads_what_the_format_reads() {
    let query = r#"{"application": "Chorus", "query_id": "7d0c", "client_id": "c-1",
        "user_query": "laptop", "timestamp": "2024-12-10T08:52:04.123Z",
        "query_attributes": {}, "query_response_hit_ids": ["1", "2"]}"#;
    let event = r#"{"application": "Chorus", "action_name": "item_click", "query_id": "7d0c",
        "event_id": "e1", "client_id": "c-1", "timestamp": "2024-12-10T08:52:14.100Z",
        "message_type": "CLICK_THROUGH", "event_attributes": {"object": {"object_id": "2",
        "object_id_field": "product_id"}, "position": {"ordinal": 2}}}"#;
    let ubi = config::load(
        &[],
        std::iter::empty(),
        &[
            ("kafka.search_format".to_owned(), "ubi".to_owned()),
            ("kafka.feedback_format".to_owned(), "ubi".to_owned()),
        ],
    );
    let ubi = ubi.expect("valid").formats;
    for (kind, record) in [(Kind::Search, query), (Kind::Feedback, event)] {
        let expected = events(&ubi, kind, record.as_bytes());
        assert_eq!(events(&formats("ubi"), kind, record.as_bytes()), expected);
        assert_eq!(expected.len(), 1);
    }
}

#[test]
fn the_log_of_a_shop_is_mapped() {
    let search = r#"{"meta": {"type": "search.executed", "event_id": "s1", "ts": 1763337600120000,
        "session": {"id": "u1"}}, "request": {"text": "zoning", "page": 1},
        "response": {"took_ms": 12, "hits": [{"doc": {"id": "a", "kind": "x"}, "score": 2.5}]}}"#;
    let expected = ["s1 1763337600120 zoning [a] in u1"];
    assert_events("shop", Kind::Search, search, &expected);
}

/// Records of both kinds with their keys.
pub(crate) type Records = [Vec<(String, Vec<u8>)>; 2];

/// Counters of a sidecar that reads records.
pub(crate) fn counted(formats: &str, records: &Records, ignored: f64) -> Vec<f64> {
    let broker = broker();
    let (search, feedback) = broker.unique_topics("mapped", 2);
    let topics = [search, feedback];
    produce(&topics, [&records[0], &records[1]]);
    read(formats, &topics, records, ignored, "", None)
}

/// The same with 6 and 12 partitions, whose keys do not matter, and a process that is killed.
pub(crate) fn counted_apart(
    formats: &str,
    records: &Records,
    ignored: f64,
    join: &str,
) -> Vec<f64> {
    let topics = ["apart-search", "apart-feedback"].map(unique_name);
    for (topic, partitions) in topics.iter().zip([6, 12]) {
        broker().create_topic(topic, partitions);
    }
    let halves = records.each_ref().map(|it| it.split_at(it.len() / 2));
    produce(&topics, halves.map(|(first, _)| first));
    let rest = || produce(&topics, halves.map(|(_, second)| second));
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let more = format!(
        "checkpoint: {{folder: {}}}\ncommit_interval: 200ms\n",
        folder.path().display()
    );
    let rest = Some((join, &rest as &dyn Fn()));
    read(formats, &topics, records, ignored, &more, rest)
}

/// Produces records of both kinds.
fn produce(topics: &[String; 2], records: [&[(String, Vec<u8>)]; 2]) {
    for (topic, records) in topics.iter().zip(records) {
        let records = records.iter();
        broker().produce(
            topic,
            records.map(|(key, value)| (key.clone(), value.clone(), None)),
        );
    }
}

/// Counters of a sidecar that reads the topics. With `rest`, it has this join; it is killed after the first
/// records, and another one continues with what `rest` produces.
fn read(
    formats: &str,
    topics: &[String; 2],
    records: &Records,
    ignored: f64,
    more: &str,
    rest: Option<(&str, &dyn Fn())>,
) -> Vec<f64> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let join = rest.map_or("partition", |(join, _)| join);
    let group = unique_name("group");
    let start = || started(folder.path(), formats, topics, more, (&group, join));
    let mut sidecar = start();
    if let Some((_, rest)) = rest {
        wait_until(LIMIT, "records are read", || {
            let read = sidecar.metrics().sum("rankgauge_records_total", &[]);
            (read > 0.5).then_some(())
        });
        // `kill -9`
        drop(sidecar);
        rest();
        sidecar = start();
    }
    let total = records.iter().map(Vec::len).sum::<usize>();
    let total = f64::from(u32::try_from(total).expect("few"));
    let metrics = wait_until(LIMIT, "all records are read", || {
        let metrics = sidecar.metrics();
        let read = metrics.sum("rankgauge_records_total", &[]);
        ((read - total).abs() < 0.5).then_some(metrics)
    });
    let of = |name: &str, labels: &[(&str, &str)]| metrics.sum(name, labels);
    let found = of("rankgauge_records_total", &[("outcome", "ignored")]);
    assert!((found - ignored).abs() < 0.5, "{found} records are ignored");
    vec![
        of("rankgauge_events_total", &[("outcome", "invalid")]),
        of("rankgauge_score_sum_total", &[("measure", "nDCG@10")]),
        of("rankgauge_score_sum_total", &[("measure", "P@1")]),
        of("rankgauge_records_total", &[("outcome", "used")]),
        of("rankgauge_events_total", &[("outcome", "joined")]),
    ]
}

/// The first `number` requests for labels of a sidecar that reads records, by their ids.
pub(crate) fn label_requests(formats: &str, records: &Records, number: usize) -> Vec<Value> {
    let (search, feedback) = broker().unique_topics("labelled", 2);
    let topics = [search, feedback];
    let requests = unique_name("label-requests");
    broker().create_topic(&requests, 1);
    produce(&topics, [&records[0], &records[1]]);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let more = format!("labelling: {{topic: {requests}, per_day: 4000000, measures: [P@1]}}\n");
    let group = (&*unique_name("group"), "partition");
    let _sidecar = started(folder.path(), formats, &topics, &more, group);
    let mut found = wait_until(LIMIT, "labels are requested", || {
        let records = broker().consume(&requests);
        (records.len() >= number).then_some(records)
    });
    found.truncate(number);
    let found = found.iter().map(|it| serde_json::from_slice(&it.payload));
    let mut found: Vec<Value> = found.map(|it| it.expect("JSON")).collect();
    found.sort_by_key(|it| it["request_id"].as_str().map(str::to_owned));
    found
}

/// Sidecar that reads the topics, with a gold set in the folder.
fn started(
    folder: &Path,
    formats: &str,
    [search, feedback]: &[String; 2],
    more: &str,
    (group, join): (&str, &str),
) -> Sidecar {
    let gold = folder.join("gold.json");
    let set = json!({"version": "1", "queries": [
        {"query_id": "Q1", "query_text": "zoning", "ground_truth": {"a": 2, "b": 1}}]});
    std::fs::write(&gold, set.to_string()).expect("the folder can be written");
    let kafka = json!({
        "brokers": broker().bootstrap(), "group_id": group, "start": "earliest",
        "search_topic": search, "feedback_topic": feedback,
        "join": join,
        // A sidecar after one that was killed does not wait for the end of its session.
        "properties__group_instance_id": "replica",
    });
    let configuration = format!(
        "{formats}\nmeasures: [nDCG@10, P@1]\ngold: {{paths: [{}]}}\npublish_interval: 200ms\n{more}",
        gold.display()
    );
    let overrides: Vec<(String, String)> = kafka
        .as_object()
        .expect("an object")
        .iter()
        .map(|(key, value)| {
            let name = format!("RANKGAUGE__KAFKA__{}", key.to_uppercase());
            (name, value.as_str().expect("text").to_owned())
        })
        .collect();
    let overrides: Vec<(&str, &str)> = overrides
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    Sidecar::start(&configuration, &overrides)
}

#[test]
fn topics_of_a_shop_with_other_keys_and_partitions_are_counted_as_native_events_are() {
    let shop = std::fs::read_to_string(repository("examples/mappings/shop.yaml"));
    let (native, mapped) = shop_records(|number| format!("request-{number}"));
    let expected = counted_apart("", &native, 0.0, "owner");
    assert_eq!(format!("{:?}", &expected[3..]), "[40.0, 20.0]");
    let shop = shop.expect("the mapping");
    for join in ["owner", "repartition"] {
        let found = counted_apart(&shop, &mapped, 20.0, join);
        assert_eq!(found, expected, "{join}");
    }
    // The scores are those of topics with equal keys.
    let (native, _) = shop_records(|number| format!("u{}", number % 3));
    assert_eq!(counted("", &native, 0.0), expected);
}

/// Searches with these keys, and clicks with the user as key, as native events and as records of the shop.
fn shop_records(key_of: impl Fn(i64) -> String) -> (Records, Records) {
    let now = wall_now().as_event_time().0;
    let (mut native, mut mapped) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
    for number in 0..20 {
        let (ts, user) = (now - 60_000 + number * 100, format!("u{}", number % 3));
        let id = format!("s{number}");
        let results = if number % 2 == 0 {
            ["a", "x"]
        } else {
            ["x", "b"]
        };
        let hits = results.map(|id| json!({"doc": {"id": id}, "score": 1.5}));
        let ids = results.map(|id| json!({"id": id, "score": 1.5}));
        native[0].push((
            key_of(number),
            json!({"query_id": id, "ts": ts, "query": "zoning", "session_id": user,
                "variant": "control", "results": ids}),
        ));
        mapped[0].push((
            key_of(number),
            json!({"meta": {"type": "search.executed", "event_id": id, "ts": ts * 1_000,
                "session": {"id": user}}, "request": {"text": "zoning"}, "response": {"hits": hits}}),
        ));
        mapped[0].push((user.clone(), json!({"meta": {"type": "heartbeat"}})));
        native[1].push((
            user.clone(),
            json!({"event_id": format!("c{number}"), "ts": ts + 50, "type": "click", "query_id": id,
                "position": 1}),
        ));
        mapped[1].push((
            user,
            json!({"meta": {"type": "product.opened", "event_id": format!("c{number}"),
                "ts": (ts + 50) * 1_000}, "search_event_id": id, "index": 0}),
        ));
    }
    let bytes = |records: [Vec<(String, Value)>; 2]| {
        records.map(|records| {
            let records = records.into_iter();
            records
                .map(|(key, value)| (key, value.to_string().into_bytes()))
                .collect()
        })
    };
    (bytes(native), bytes(mapped))
}

#[test]
fn records_of_a_shop_are_counted_live_as_native_events_are() {
    let shop = std::fs::read_to_string(repository("examples/mappings/shop.yaml"));
    let (native, mapped) = shop_records(|number| format!("u{}", number % 3));
    let expected = counted("", &native, 0.0);
    assert!(expected[1] > 9.5, "{expected:?}");
    assert_eq!(
        counted(&shop.expect("the mapping"), &mapped, 20.0),
        expected
    );
}

/// Folder with a gold set, and with searches and a click as native events and as records of the shop.
fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, lines: &[Value]| {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        std::fs::write(folder.path().join(name), lines.join("\n")).expect("a file");
    };
    let query = |name: &str, truth: Value| json!({"query_id": name, "query_text": name, "ground_truth": truth});
    let set = json!({"queries": [query("zoning", json!({"a": 2, "b": 1})),
        query("parking", json!({"p": 1}))]});
    std::fs::write(folder.path().join("gold.json"), set.to_string()).expect("a file");
    let at = 1_763_337_600_000_i64;
    let (mut native, mut mapped) = (Vec::new(), vec![json!({"meta": {"type": "heartbeat"}})]);
    for (number, (query, ids)) in (0..).zip([("zoning", ["x", "a"]), ("parking", ["p", "y"])]) {
        let (id, ts) = (format!("s{number}"), at + number * 60_000);
        let hits = ids.map(|id| json!({"id": id, "score": 1.5}));
        native.push(
            json!({"query_id": id, "ts": ts, "query": query, "variant": "control",
            "results": hits}),
        );
        let hits = ids.map(|id| json!({"doc": {"id": id}, "score": 1.5}));
        mapped.push(
            json!({"meta": {"type": "search.executed", "event_id": id, "ts": ts * 1_000},
            "request": {"text": query}, "response": {"hits": hits}}),
        );
    }
    let clicks = [
        json!({"event_id": "c", "ts": at + 50, "type": "click", "query_id": "s0",
        "position": 2}),
    ];
    let opened = [json!({"meta": {"type": "product.opened", "event_id": "c",
        "ts": (at + 50) * 1_000}, "search_event_id": "s0", "index": 1})];
    write("native.jsonl", &native);
    write("mapped.jsonl", &mapped);
    write("clicks.jsonl", &clicks);
    write("opened.jsonl", &opened);
    folder
}

#[test]
fn recorded_records_of_a_shop_are_judged_as_native_events_are() {
    let folder = recorded();
    let shop = repository("examples/mappings/shop.yaml");
    let output = |command: &str, config: &[&str]| {
        let arguments = [&command.words()[..], config].concat();
        rankgauge(folder.path(), &arguments)
    };
    let shop = shop.to_str().expect("UTF-8");
    let evaluated = |run: &str, feedback: &str, config: &[&str]| {
        let evaluate = format!(
            "evaluate --gold gold.json --run {run} --feedback {feedback} --measures RR,CTR --format json"
        );
        let report = json(&output(&evaluate, config));
        (
            report["runs"][0]["means"].clone(),
            report["behaviour"].clone(),
        )
    };
    let expected = evaluated("native.jsonl", "clicks.jsonl", &[]);
    assert_eq!(expected.0["RR"], json!(0.75));
    let found = evaluated("mapped.jsonl", "opened.jsonl", &["--config", shop]);
    assert_eq!(found.0, expected.0);
    let text = |value: &Value, run: &str| value.to_string().replace(run, "run");
    assert_eq!(text(&found.1, "mapped"), text(&expected.1, "native"));
    // Native events are read as such under any configuration.
    let evaluate = "evaluate --gold gold.json --measures RR --format json --run native.jsonl";
    let report = json(&output(evaluate, &["--config", shop]));
    assert_eq!(report["runs"][0]["means"]["RR"], json!(0.75));

    let tested = |run: &str, config: &[&str]| {
        let backtest = format!("backtest --measure RR --gold gold.json --search {run} --m 0.5");
        printed(&output(&backtest, config))
    };
    let expected = tested("native.jsonl", &[]);
    assert_eq!(tested("mapped.jsonl", &["--config", shop]), expected);
    let replayed = |search: &str, feedback: &str, config: &[&str]| {
        let replay = format!(
            "replay --search {search} --feedback {feedback} --set measures=RR,CTR --set gold.paths=gold.json"
        );
        let report = json(&output(&replay, config));
        let metrics = report["metrics"].as_array().expect("an array").clone();
        let of_events = |metric: &&Value| {
            let name = metric["name"].as_str().unwrap_or_default();
            name.starts_with("rankgauge_score_") || name == "rankgauge_events_total"
        };
        metrics
            .iter()
            .filter(of_events)
            .cloned()
            .collect::<Vec<_>>()
    };
    let expected = replayed("native.jsonl", "clicks.jsonl", &[]);
    assert!(!expected.is_empty());
    let found = replayed("mapped.jsonl", "opened.jsonl", &["--config", shop]);
    assert_eq!(found, expected);
}

#[test]
fn problems_of_a_mapping_name_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.yaml");
    let text = "kafka: {search_format: own}\nformats:\n  own:\n    mapping:\n      search:\n        \
                fields:\n          query_id: /id\n          ts: when\n          query: /q\n        \
                hits: {list: /hits, id: /id}\n";
    std::fs::write(&file, text).expect("the folder can be written");
    let error =
        config::load(std::slice::from_ref(&file), std::iter::empty(), &[]).expect_err("a problem");
    let expected = format!(
        "{}:8: formats.own.mapping.search.fields.ts: \"when\" is no source",
        file.display()
    );
    assert!(error.to_string().contains(&expected), "{error}");
    let unknown = "kafka: {search_format: ours}\nformats: {native: {mapping: {}}}\n";
    std::fs::write(&file, unknown).expect("the folder can be written");
    let error = config::load(&[file], std::iter::empty(), &[]).expect_err("problems");
    let error = error.to_string();
    assert!(error.contains("\"ours\" is none of native"), "{error}");
    assert!(error.contains("is a reserved name"), "{error}");
}
