//! Schema registry: records in Avro and Protocol Buffers are counted as native events, a registry that does
//! not answer delays only the partitions that need it, and none of its answers is trusted.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prost::Message as _;
use rankgauge::registry::{Client, Credentials, FetchError, Settings};
use rankgauge_serve::clock::wall_now;
use serde_json::{Value, json};

use crate::harness::command::{printed, rankgauge, stderr, stdout};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;
use crate::mappings::{Records, counted, counted_apart, label_requests};
use crate::probe::server::{Reply, Server};
use crate::probe::tls;

#[path = "../../crates/core/tests/it/decoding/avro_writer.rs"]
#[allow(clippy::panic, reason = "a writer for tests")]
mod avro_writer;

mod files;

/// Time limit of a sidecar to read its topics.
const LIMIT: Duration = Duration::from_mins(1);

/// Time limit of a request that is answered, on a busy machine.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

const SEARCH: &str = r#"{"type": "record", "name": "Search", "namespace": "shop", "fields": [
    {"name": "id", "type": "string"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "text", "type": ["null", "string"], "default": null},
    {"name": "hits", "type": {"type": "array", "items": "Hit"}}]}"#;

/// Next version, with a field before the others.
const NEXT_SEARCH: &str = r#"{"type": "record", "name": "Search", "namespace": "shop", "fields": [
    {"name": "node", "type": {"type": "map", "values": "long"}},
    {"name": "id", "type": "string"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "text", "type": ["null", "string"], "default": null},
    {"name": "hits", "type": {"type": "array", "items": "Hit"}}]}"#;

const HIT: &str = r#"{"type": "record", "name": "Hit", "namespace": "shop", "fields": [
    {"name": "id", "type": "string"}, {"name": "score", "type": "double"}]}"#;

const CLICK: &str = r#"syntax = "proto3"; package shop;
    import "google/protobuf/timestamp.proto";
    message Viewed { string id = 1; }
    message Click { string id = 1; string search = 2; google.protobuf.Timestamp at = 3; int32 place = 4; }"#;

#[derive(Clone, PartialEq, prost::Message)]
struct Click {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    search: String,
    #[prost(message, tag = "3")]
    at: Option<Timestamp>,
    #[prost(int32, tag = "4")]
    place: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
struct Timestamp {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// Answer of a registry to a request: `GET /schemas/ids/1`.
fn answer(line: &str) -> Reply {
    let hit = json!([{"name": "shop.Hit", "subject": "shop/hit", "version": 3}]);
    let body = match line.strip_prefix("GET /").unwrap_or_default() {
        "schemas/ids/1" => json!({"schema": SEARCH, "references": hit}),
        "schemas/ids/2" => json!({"schema": NEXT_SEARCH, "references": hit, "schemaType": "AVRO"}),
        "schemas/ids/3" => json!({"schema": CLICK, "schemaType": "PROTOBUF"}),
        "subjects/shop%2Fhit/versions/3" => json!({"schema": HIT, "id": 9, "version": 3}),
        _ => {
            let error = json!({"error_code": 40403, "message": "Schema not found"});
            return Reply::Status(404, String::new(), error.to_string().into_bytes());
        }
    };
    Reply::json(body.to_string())
}

fn framed(id: u32, path: &[u8], content: &[u8]) -> Vec<u8> {
    let mut record = vec![0];
    record.extend_from_slice(&id.to_be_bytes());
    record.extend_from_slice(path);
    record.extend_from_slice(content);
    record
}

/// Search in Avro, of the schema with this id.
fn search(id: u32, search: &Value) -> Vec<u8> {
    let schema = if id == 1 { SEARCH } else { NEXT_SEARCH };
    let schema = schema.replace("\"Hit\"", HIT);
    let schema: Value = serde_json::from_str(&schema).expect("a schema");
    let mut content = Vec::new();
    avro_writer::write(&mut content, &schema, search, id == 1);
    framed(id, &[], &content)
}

/// Formats of the topics, without the registry.
const FORMATS: &str = "kafka: {search_format: searches, feedback_format: clicks}
formats:
  searches:
    encoding: avro
    framing: confluent
    message: shop.Search
    mapping:
      search:
        fields: {query_id: /id, ts: /at, query: /text, session_id: key, variant: '=control'}
        hits: {list: /hits, id: /id, score: /score}
  clicks:
    encoding: protobuf
    framing: confluent
    compression: zstd
    message: shop.Click
    mapping:
      feedback:
        position_base: 0
        fields: {event_id: /id, query_id: /search, ts: /at, type: '=click', position: /place, session_id: key}
";

/// The same events as native ones, and as records of the formats.
fn twins() -> (Records, Records) {
    let now = wall_now().as_event_time().0;
    let mut twins: (Records, Records) = Default::default();
    for number in 0..20_i64 {
        let (ts, user) = (now - 60_000 + number * 100, format!("u{}", number % 3));
        let id = format!("s{number}");
        let results = if number % 2 == 0 {
            ["a", "x"]
        } else {
            ["x", "b"]
        };
        let hits = results.map(|id| json!({"id": id, "score": 1.5}));
        let native = json!({"query_id": id, "ts": ts, "query": "zoning", "session_id": user,
            "variant": "control", "results": hits});
        twins.0[0].push((user.clone(), native.to_string().into_bytes()));
        let version = if number < 10 { 1 } else { 2 };
        let value = json!({"id": id, "at": ts, "text": "zoning", "hits": hits, "node": {"a": 1}});
        twins.1[0].push((user.clone(), search(version, &value)));
        let native = json!({"event_id": format!("c{number}"), "ts": ts + 50, "type": "click",
            "query_id": id, "position": number % 2 + 1, "session_id": user});
        twins.0[1].push((user.clone(), native.to_string().into_bytes()));
        let click = Click {
            id: format!("c{number}"),
            search: id,
            at: Some(Timestamp {
                seconds: (ts + 50).div_euclid(1_000),
                nanos: i32::try_from((ts + 50).rem_euclid(1_000) * 1_000_000).expect("nanoseconds"),
            }),
            place: i32::try_from(number % 2).expect("a place"),
        };
        let click = framed(3, &[0x02, 0x02], &click.encode_to_vec());
        let click = zstd::encode_all(&*click, 1).expect("a compressed record");
        twins.1[1].push((user, click));
    }
    // Another message of the same topic.
    let viewed = framed(3, &[0], b"\x0a\x01x");
    let viewed = zstd::encode_all(&*viewed, 1).expect("a compressed record");
    twins.1[1].push(("u1".to_owned(), viewed));
    twins
}

#[test]
fn records_of_a_registry_are_counted_live_as_native_events_are() {
    let server = Server::start(|request, _| match request.header("authorization") {
        Some("Basic cmVhZGVyOnMzY3JldDo=") => answer(&request.line),
        _ => Reply::status(401),
    });
    let (native, records) = twins();
    let registry = format!(
        "{FORMATS}registry: {{url: 'http://{}/', username: reader, password: 's3cret:'}}\n",
        server.address
    );
    let expected = counted("", &native, 0.0);
    assert!(expected[1] > 9.5, "{expected:?}");
    assert_eq!(counted(&registry, &records, 1.0), expected);
    // Each schema is requested once.
    let requests: Vec<String> = server.received().into_iter().map(|it| it.line).collect();
    let of = |id: &str| requests.iter().filter(|line| line.ends_with(id)).count();
    assert_eq!(
        [of("ids/1"), of("ids/2"), of("ids/3")],
        [1; 3],
        "{requests:?}"
    );
}

#[test]
fn labels_of_records_of_a_registry_are_requested_as_those_of_native_events() {
    let server = Server::start(|request, _| answer(&request.line));
    let (native, records) = twins();
    let registry = format!("{FORMATS}registry: {{url: 'http://{}/'}}\n", server.address);
    // P@1 needs the first result: `x` of every second search has no grade.
    let [expected, found] = [("", &native), (&*registry, &records)].map(|(formats, records)| {
        let mut requests = label_requests(formats, records, 10);
        for request in &mut requests {
            // The prediction depends on the order of partitions, and the signature on the prediction.
            assert!(request["request"].is_string(), "{request}");
            assert!(
                request["sampling"]["measures"]["P@1"]["f"].is_number(),
                "{request}"
            );
            request["request"] = Value::Null;
            request["sampling"]["measures"] = Value::Null;
        }
        requests
    });
    assert_eq!(found, expected);
    for request in &found {
        assert_eq!(request["object_id"], "x", "{request}");
        assert_eq!(request["query"], "zoning", "{request}");
        assert_eq!(request["sampling"]["variant"], "control", "{request}");
        assert_eq!(request["sampling"]["stratum"], "head", "{request}");
        assert!(
            request.get("text").is_none(),
            "no text is mapped: {request}"
        );
    }
}

#[test]
fn forwarders_distribute_records_of_a_registry_by_their_ids() {
    let server = Server::start(|request, _| answer(&request.line));
    let (native, records) = twins();
    let registry = format!("{FORMATS}registry: {{url: 'http://{}/'}}\n", server.address);
    let expected = counted_apart("", &native, 0.0, "owner");
    assert!(expected[1] > 9.5, "{expected:?}");
    let found = counted_apart(&registry, &records, 1.0, "repartition");
    assert_eq!(found, expected);
}

#[test]
#[allow(clippy::too_many_lines, reason = "one scene")]
fn a_registry_that_does_not_answer_delays_its_partitions_and_loses_nothing() {
    let broker = broker();
    let (topic, feedback) = broker.unique_topics("registry", 2);
    let is_up = Arc::new(AtomicBool::new(false));
    let server = Server::start({
        let is_up = Arc::clone(&is_up);
        move |request, number| match (is_up.load(Ordering::Relaxed), &*request.line) {
            (false, "GET /schemas/ids/2") => {
                let replies = [
                    Reply::status(500),
                    Reply::Garbage,
                    Reply::Close,
                    Reply::json("{}"),
                ];
                replies[number % replies.len()].clone()
            }
            (_, line) => answer(line),
        }
    });
    let now = wall_now().as_event_time().0;
    let record = |id: u32, number: i64| {
        let hits = json!([{"id": "a", "score": 1.5}]);
        let (query_id, at) = (format!("s{number}"), now - 60_000 + number);
        search(
            id,
            &json!({"id": query_id, "at": at, "text": "zoning", "hits": hits, "node": {}}),
        )
    };
    // The producer's partitioner is fixed: keys of both partitions.
    let send = |records: Vec<(i32, Vec<u8>)>| {
        let records = records.into_iter();
        broker.produce(
            &topic,
            records.map(|(to, record)| (format!("k{to}"), record, Some(to))),
        );
    };
    send((0..10).map(|number| (0, record(1, number))).collect());
    send(
        (10..20)
            .map(|number| (1, record(if number < 15 { 1 } else { 2 }, number)))
            .collect(),
    );
    send(vec![
        (0, record(1, 20)),
        (1, record(1, 21)),
        (0, framed(404, &[], b"x")),
    ]);
    let group = unique_name("registry");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let formats = FORMATS.replace(", feedback_format: clicks", "");
    let kafka = format!(
        "kafka: {{search_format: searches, brokers: '{}', group_id: {group}, start: earliest, \
         search_topic: {topic}, feedback_topic: {feedback}, properties: {{group.instance.id: replica}}}}",
        broker.bootstrap()
    );
    let formats = formats.replace("kafka: {search_format: searches}", &kafka);
    let configuration = format!(
        "{formats}registry: {{url: 'http://{}'}}\npublish_interval: 100ms\ncommit_interval: 200ms\n\
         checkpoint: {{folder: {}}}\n",
        server.address,
        folder.path().join("checkpoints").display(),
    );
    let count = |sidecar: &Sidecar, name: &str, labels: &[(&str, &str)]| {
        let sum = sidecar.metrics().sum(&format!("rankgauge_{name}"), labels);
        format!("{sum:.0}").parse::<u64>().expect("a count")
    };
    let read = |sidecar: &Sidecar| count(sidecar, "records_total", &[]);
    let waits = |sidecar: &Sidecar| {
        wait_until(LIMIT, "a partition waits", || {
            let waiting = count(sidecar, "schema_partitions_waiting", &[]);
            let unavailable = [("outcome", "unavailable")];
            let failed = count(sidecar, "schema_registry_requests_total", &unavailable);
            // The other partition is read to its end, this one up to the schema.
            (waiting == 1 && failed >= 2 && read(sidecar) == 17).then_some(())
        });
        let (status, reason) = sidecar.get("/readyz");
        assert_eq!(status, 503, "{reason}");
        let expected = format!(
            "1 topic partitions wait for a schema: http://{}",
            server.address
        );
        assert!(reason.starts_with(&expected), "{reason}");
        assert_eq!(sidecar.get("/healthz").0, 200);
    };
    let sidecar = Sidecar::start(&configuration, &[]);
    waits(&sidecar);
    let unknown = [("reason", "unknown_schema")];
    assert_eq!(count(&sidecar, "invalid_events_total", &unknown), 1);
    assert!(
        sidecar.log().contains("schema registry unavailable"),
        "{}",
        sidecar.log()
    );
    let committed = broker.committed_offsets(&group, &topic);
    let second = committed.get(&1).copied().unwrap_or_default();
    assert!(second <= 5, "{committed:?}");
    // Killed while it waits: nothing is lost, nothing is counted twice.
    drop(sidecar);
    let sidecar = Sidecar::start(&configuration, &[]);
    waits(&sidecar);
    is_up.store(true, Ordering::Relaxed);
    wait_until(LIMIT, "all records are read", || {
        (read(&sidecar) == 23).then_some(())
    });
    wait_until(LIMIT, "the process is ready", || {
        (sidecar.get("/readyz").0 == 200).then_some(())
    });
    assert_eq!(count(&sidecar, "schema_partitions_waiting", &[]), 0);
    for (outcome, expected) in [("invalid", 1), ("duplicate", 0)] {
        assert_eq!(
            count(&sidecar, "events_total", &[("outcome", outcome)]),
            expected,
            "{outcome}"
        );
    }
}

fn settings(url: String) -> Settings {
    Settings {
        url,
        credentials: None,
        ca_file: None,
        timeout: REQUEST_TIMEOUT,
    }
}

/// Result of a request that is answered like this.
fn fetched(reply: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Result<(), FetchError> {
    fetched_within(REQUEST_TIMEOUT, reply)
}

fn fetched_within(
    timeout: Duration,
    reply: impl Fn(&str, usize) -> Reply + Send + Sync + 'static,
) -> Result<(), FetchError> {
    let server = Server::start(move |request, number| reply(&request.line, number));
    let client = Client::new(&Settings {
        timeout,
        ..settings(format!("http://{}", server.address))
    });
    client.expect("a client").fetch(7).map(|_| ())
}

#[test]
fn no_answer_of_a_registry_is_trusted() {
    let start = Instant::now();
    for (reply, problem) in [
        (Reply::status(500), "answers with 500"),
        (Reply::status(302), "answers with 302"),
        (
            Reply::status(401),
            "answers with 401 Unauthorized; set registry.username",
        ),
        (Reply::Hang, "does not answer: timeout"),
        (Reply::Trickle, "does not end its answer"),
        (Reply::Close, "does not answer"),
        (Reply::Garbage, "does not answer"),
        (Reply::json("<html>"), "none of a schema registry"),
        (Reply::json("[]"), "none of a schema registry"),
        (
            Reply::json(r#"{"schema": {}}"#),
            "none of a schema registry",
        ),
        (
            Reply::json("[".repeat(100_000)),
            "none of a schema registry",
        ),
    ] {
        let text = format!("{reply:?}");
        let timeout = match reply {
            Reply::Hang => Duration::from_millis(100),
            // Its head must arrive in time.
            Reply::Trickle => Duration::from_secs(1),
            _ => REQUEST_TIMEOUT,
        };
        let found = fetched_within(timeout, move |_, _| reply.clone()).expect_err("no schema");
        assert!(
            matches!(found, FetchError::Unavailable(_)),
            "{text:.100}: {found}"
        );
        assert!(found.to_string().contains(problem), "{text:.100}: {found}");
    }
    assert!(start.elapsed() < Duration::from_mins(1));
    assert_eq!(fetched(|_, _| Reply::status(404)), Err(FetchError::Missing));
    let invalid = |body: Value, problem: &str| {
        let found = fetched(move |_, _| Reply::json(body.to_string())).expect_err("no schema");
        assert!(matches!(found, FetchError::Invalid(_)), "{found}");
        assert!(found.to_string().contains(problem), "{found}");
    };
    invalid(
        json!({"schema": "{}", "schemaType": "JSON"}),
        "is JSON Schema; set encoding: json",
    );
    invalid(
        json!({"schema": "", "schemaType": "XML"}),
        "has the type XML",
    );
    invalid(
        json!({"schema": "\"unknown\""}),
        "has the unknown type unknown",
    );
    invalid(
        json!({"schema": "message A { B b = 1; }", "schemaType": "PROTOBUF"}),
        "has no type B",
    );
    // References in a circle are followed once; a chain of them has an end.
    let circle =
        json!({"schema": "\"int\"", "references": [{"name": "a", "subject": "a", "version": 1}]});
    assert_eq!(fetched(move |_, _| Reply::json(circle.to_string())), Ok(()));
    let endless = fetched(|_, number| {
        let reference = json!({"name": "a", "subject": "a", "version": number});
        Reply::json(json!({"schema": "\"int\"", "references": [reference]}).to_string())
    });
    let Err(FetchError::Invalid(problem)) = endless else {
        panic!("{endless:?}");
    };
    assert_eq!(problem, "refers to more than 200 schemas");
    let absent = fetched(|line, _| match line {
        "GET /schemas/ids/7" => answer("GET /schemas/ids/1"),
        _ => Reply::status(404),
    });
    assert_eq!(absent, Err(FetchError::Missing));
}

#[test]
fn a_large_answer_is_not_kept() {
    let found = fetched(|_, _| Reply::json(" ".repeat(9 << 20)));
    assert_eq!(
        found,
        Err(FetchError::Invalid(
            "has more than 8388608 bytes".to_owned()
        ))
    );
    fetched(|_, _| Reply::Endless).expect_err("no schema");
}

#[test]
fn requests_have_a_bearer_token_and_verify_certificates() {
    let server = Server::start(|request, _| match request.header("authorization") {
        Some("Bearer t0ken") => answer("GET /schemas/ids/3"),
        _ => Reply::status(403),
    });
    let token = Some(Credentials::Bearer("t0ken".to_owned()));
    let of_token = Settings {
        credentials: token.clone(),
        ..settings(format!("http://{}", server.address))
    };
    assert!(!format!("{of_token:?}").contains("t0ken"));
    let client = Client::new(&of_token).expect("a client");
    client.fetch(7).expect("a schema");
    let folder = tempfile::tempdir().expect("a folder");
    let body = r#"{"schema": "\"int\""}"#;
    let (port, certificate) = tls::server(body);
    let (_, other) = tls::server(body);
    for (name, certificate) in [("ca.pem", certificate), ("other.pem", other)] {
        let file = folder.path().join(name);
        fs::write(&file, certificate).expect("a file");
        let secure = Settings {
            ca_file: Some(file),
            ..settings(format!("https://localhost:{port}"))
        };
        let found = Client::new(&secure).expect("a client").fetch(1);
        assert_eq!(found.is_ok(), name == "ca.pem", "{name}: {found:?}");
    }
    let missing = Settings {
        ca_file: Some(folder.path().join("none.pem")),
        ..settings("https://localhost:1".to_owned())
    };
    let problem = Client::new(&missing).err().expect("no certificates");
    assert!(
        problem.to_string().contains("registry.ca_file"),
        "{problem}"
    );
}

#[test]
#[allow(clippy::too_many_lines, reason = "one scene")]
fn problems_of_formats_and_of_the_registry_are_reported_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.avsc"), SEARCH).expect("a file");
    fs::write(folder.path().join("a.proto"), CLICK).expect("a file");
    let file = folder.path().join("own.yaml");
    let mapping =
        "mapping: {search: {fields: {query_id: /id, ts: /at, query: /text}, hits: {list: /hits}}}";
    let problems = |format: &str, registry: &str| {
        let text = format!(
            "kafka: {{search_format: own}}\nformats:\n  own: {{{format}, {mapping}}}\n  unused: {{encoding: \
             avro, schema: none.avsc, mapping: {{search: {{}}}}}}\n{registry}\n"
        );
        fs::write(&file, text).expect("a file");
        let found = rankgauge::config::load(std::slice::from_ref(&file), std::iter::empty(), &[]);
        found
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let name = file.display().to_string();
    for (format, registry, problem) in [
        (
            "encoding: avro",
            "",
            "own.yaml:3: formats.own.schema: is missing; name the file",
        ),
        (
            "encoding: avro, framing: confluent",
            "",
            "or set registry.url",
        ),
        (
            "encoding: avro, schema: none.avsc",
            "",
            "none.avsc cannot be read: No such file",
        ),
        (
            "encoding: avro, schema: a.avsc",
            "",
            "has the unknown type Hit",
        ),
        (
            "encoding: protobuf, schema: a.avsc",
            "",
            "a.avsc is no descriptor set",
        ),
        (
            "encoding: protobuf, schema: a.proto",
            "",
            "has the messages shop.Viewed, shop.Click; name one",
        ),
        (
            "encoding: protobuf, schema: a.proto, message: Click",
            "",
            "has no message Click; it has shop.Viewed",
        ),
        (
            "encoding: protobuf, framing: single_object",
            "",
            "single_object is a framing of Avro",
        ),
        ("encoding: json, schema: a.avsc", "", "JSON needs no schema"),
        (
            "encoding: json",
            "registry: {url: 'registry:8081'}",
            "is no URL of a registry; write http://",
        ),
        (
            "encoding: json",
            "registry: {url: 'http://u:p@r'}",
            "has a user; write registry.username",
        ),
        (
            "encoding: json",
            "registry: {url: 'http://r', username: u}",
            "needs registry.password",
        ),
        (
            "encoding: json",
            "registry: {url: 'http://r', password: p}",
            "needs registry.username",
        ),
    ] {
        let found = problems(format, registry);
        assert!(
            found.contains(problem) && found.contains(&name),
            "{format}: {found}"
        );
    }
    for (format, registry) in [
        (
            "encoding: protobuf, schema: a.proto, message: shop.Click",
            "",
        ),
        (
            "encoding: avro, framing: confluent",
            "registry: {url: 'https://r/apis/ccompat/v7', token: t}",
        ),
    ] {
        assert_eq!(problems(format, registry), "", "{format}");
    }
    let file = file.to_str().expect("UTF-8");
    let shown = stdout(&rankgauge(
        Path::new("."),
        &["config", "show", "--config", file],
    ));
    assert!(
        shown.contains("registry.token") && shown.contains("***"),
        "{shown}"
    );
}

#[test]
fn commands_receive_the_schemas_of_their_records() {
    let requests = Arc::new(AtomicUsize::new(0));
    let server = Server::start({
        let requests = Arc::clone(&requests);
        move |request, _| {
            requests.fetch_add(1, Ordering::Relaxed);
            answer(&request.line)
        }
    });
    let broker = broker();
    let (topic, feedback) = broker.unique_topics("registry", 1);
    let (_, records) = twins();
    for (topic, records) in [(&topic, &records[0]), (&feedback, &records[1])] {
        let records = records.iter();
        broker.produce(
            topic,
            records.map(|(key, value)| (key.clone(), value.clone(), None)),
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let run = |command: &str, url: &str| {
        let kafka = format!(
            "kafka: {{feedback_format: clicks, search_format: searches, brokers: '{}', \
             search_topic: {topic}, feedback_topic: {feedback}}}",
            broker.bootstrap()
        );
        let formats = FORMATS.split_once('\n').expect("lines").1;
        let text = format!("{kafka}\n{formats}registry: {{url: '{url}'}}\n");
        let file = folder.path().join("own.yaml");
        fs::write(&file, text).expect("a file");
        let output = rankgauge(folder.path(), &format!("{command} --config own.yaml"));
        stdout(&output) + &stderr(&output)
    };
    let url = format!("http://{}", server.address);
    let lines = run("tail --from earliest --until-end", &url);
    let count = |start: &str, text: &str| {
        let lines = lines.lines().filter(|line| line.starts_with(start));
        lines.filter(|line| line.contains(text)).count()
    };
    assert_eq!(count("search", "unjudged"), 20, "{lines}");
    assert_eq!(count("feedback", "query_id=s"), 20, "{lines}");
    assert_eq!(count("feedback", "ignored"), 1, "{lines}");
    let asked = requests.load(Ordering::Relaxed);
    assert_eq!(asked, 5, "each schema, and the reference of two");
    let checked = run("check --live", &url);
    assert!(!checked.contains("unknown_schema"), "{checked}");
    let gone = run("check --live", "http://127.0.0.1:9");
    assert!(
        gone.contains("registry: http://127.0.0.1:9 does not answer"),
        "{gone}"
    );
}

/// Apicurio Registry, which ends with the test.
struct Apicurio {
    process: Child,
    url: String,
}

impl Drop for Apicurio {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A folder that `tests/setup.sh registry` fills.
fn installed(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target"),
        PathBuf::from,
    );
    target.join("registry").join(name)
}

impl Apicurio {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let process = Command::new("java")
            .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"])
            .arg("-Dquarkus.http.host=127.0.0.1")
            .arg(format!("-Dquarkus.http.port={port}"))
            .arg("-jar")
            .arg(installed("apicurio").join("apicurio-registry-app-2.6.13.Final-runner.jar"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("java runs: tests/setup.sh registry installs it");
        let url = format!("http://127.0.0.1:{port}/apis/ccompat/v7");
        let registry = Self { process, url };
        let client = Client::new(&settings(registry.url.clone())).expect("a client");
        wait_until(LIMIT, "the registry answers", || {
            let answered = client.fetch(1);
            (answered == Err(FetchError::Missing)).then_some(())
        });
        registry
    }
}

/// Values that a program serializes, in Base64 a line each.
fn serialized(mut program: Command, records: &[Value]) -> Vec<Vec<u8>> {
    let program = program.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut program = program
        .spawn()
        .expect("tests/setup.sh registry installs the programs");
    let mut input = program.stdin.take().expect("a pipe");
    for record in records {
        writeln!(input, "{record}").expect("the program reads its input");
    }
    drop(input);
    let output = program.wait_with_output().expect("the program ends");
    let lines = printed(&output);
    let values = lines
        .lines()
        .map(|line| BASE64_STANDARD.decode(line).expect("Base64"));
    values.collect()
}

#[test]
#[ignore = "needs the programs of tests/setup.sh registry: run make test-registry"]
fn records_of_real_serializers_through_a_real_registry_are_counted_as_native_events_are() {
    let registry = Apicurio::start();
    let now = wall_now().as_event_time().0;
    let mut native: Records = Default::default();
    let mut values = Vec::new();
    for number in 0..20_i64 {
        let (ts, user) = (now - 60_000 + number * 100, format!("u{}", number % 3));
        let id = format!("s{number}");
        let results = if number % 2 == 0 {
            ["a", "x"]
        } else {
            ["x", "b"]
        };
        let hits = results.map(|id| json!({"id": id, "score": 1.5}));
        let search = json!({"query_id": id, "ts": ts, "query": "zoning", "session_id": user,
            "variant": "control", "results": hits});
        native[0].push((id.clone(), search.to_string().into_bytes()));
        let meta = |id: &str, at: i64| json!({"id": id, "at": at, "session": user});
        // Searches are keyed by request, clicks by user.
        values.push((
            id.clone(),
            json!({"kind": "search", "value": {"meta": meta(&id, ts), "text": "zoning", "hits": hits}}),
        ));
        let (click, place) = (format!("c{number}"), number % 2);
        let feedback = json!({"event_id": click, "ts": ts + 50, "type": "click", "query_id": id,
            "position": place + 1, "session_id": user});
        native[1].push((user.clone(), feedback.to_string().into_bytes()));
        values.push((
            user.clone(),
            json!({"kind": "feedback", "value": {"meta": meta(&click, ts + 50), "search": id, "place": place}}),
        ));
    }
    let expected = counted_apart("", &native, 0.0, "owner");
    assert!(expected[1] > 9.5, "{expected:?}");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/registry");
    let python = installed("bin/python");
    // The script of Python writes the descriptor set that the one of JavaScript reads.
    for (interpreter, script) in [
        (python.as_path(), "serialize.py"),
        (Path::new("node"), "serialize.mjs"),
    ] {
        for encoding in ["avro", "json", "protobuf"] {
            let mut program = Command::new(interpreter);
            program.arg(scripts.join(script)).arg(&registry.url);
            program
                .arg(unique_name(encoding))
                .arg(encoding)
                .arg(folder.path());
            let lines: Vec<Value> = values.iter().map(|(_, value)| value.clone()).collect();
            let serialized = serialized(program, &lines);
            assert_eq!(serialized.len(), values.len(), "{script} {encoding}");
            let mut records: Records = Default::default();
            for ((user, value), record) in values.iter().zip(serialized) {
                let kind = usize::from(value["kind"] == "feedback");
                records[kind].push((user.clone(), record));
            }
            let formats = format!(
                "kafka: {{search_format: shop, feedback_format: shop}}
registry: {{url: '{}'}}
formats:
  shop:
    encoding: {encoding}
    framing: confluent
    mapping:
      search:
        fields: {{query_id: /meta/id, ts: /meta/at, query: /text, session_id: /meta/session, variant: '=control'}}
        hits: {{list: /hits, id: /id, score: /score}}
      feedback:
        position_base: 0
        fields: {{event_id: /meta/id, query_id: /search, ts: /meta/at, type: '=click', position: /place, \
                 session_id: /meta/session}}
",
                registry.url
            );
            assert_eq!(
                counted_apart(&formats, &records, 0.0, "owner"),
                expected,
                "{script} {encoding}"
            );
        }
    }
}
