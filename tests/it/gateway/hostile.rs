//! Requests that a gateway refuses, with a status and a reason, and without growing.

use std::io::Write as _;
use std::net::TcpStream;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::client::{Gateway, Response, SOON, response, search};
use crate::harness::wait_until;

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}

const GZIP: [(&str, &str); 1] = [("Content-Encoding", "gzip")];

fn assert_refused(response: &Response, status: u16, reason: &str) {
    assert_eq!(response.status, status, "{response:?}");
    let text = response.json()["error"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(text.contains(reason), "{text} does not contain {reason}");
}

#[test]
fn a_request_beyond_a_limit_is_refused_with_a_reason() {
    let gateway =
        Gateway::start("gateway: {max_body: 64KiB, max_decompressed: 256KiB, max_events: 10}");
    let compressed = gateway.request("POST /v1/searches", &GZIP, &gzip(search(1).as_bytes()));
    assert_eq!(compressed.status, 200, "{compressed:?}");
    let long = vec![b' '; 65 << 10];
    let too_long = gateway.request("POST /v1/searches", &[], &long);
    assert_refused(&too_long, 413, "gateway.max_body");
    // A gigabyte in a megabyte would be refused for its size; this bomb is small.
    let bomb = gzip(&gzip(&vec![b' '; 20 << 20]));
    let twice = [("Content-Encoding", "gzip"), ("Content-Encoding", "gzip")];
    assert_refused(
        &gateway.request("POST /v1/searches", &twice, &bomb),
        415,
        "gzip",
    );
    let bomb = gzip(&vec![b' '; 10 << 20]);
    let refused = gateway.request("POST /v1/searches", &GZIP, &bomb);
    assert_refused(&refused, 413, "gateway.max_decompressed");
    let broken = gateway.request("POST /v1/searches", &GZIP, b"not gzip");
    assert_refused(&broken, 400, "not compressed with gzip");
    let many = "1,".repeat(11);
    let many = format!("[{many}1]");
    assert_refused(
        &gateway.post("/v1/searches", &many),
        413,
        "gateway.max_events",
    );
    let many = "1\n".repeat(11);
    assert_refused(
        &gateway.post("/v1/searches", &many),
        413,
        "gateway.max_events",
    );
    assert_refused(
        &gateway.post("/v1/searches", "[1,"),
        400,
        "not a JSON array",
    );
    assert_refused(&gateway.post("/v1/other", "{}"), 404, "not found");
    let get = gateway.request("GET /v1/searches", &[], b"");
    assert_refused(&get, 405, "only POST");
    assert!(get.head.contains("allow: post"), "{}", get.head);
    let deep = format!("[{}", "[".repeat(60_000));
    assert_eq!(gateway.post("/v1/searches", &deep).status, 400);
    assert_eq!(Gateway::records(&gateway.search).len(), 1);
}

#[test]
fn nothing_of_a_request_is_repeated_in_its_answer() {
    let gateway = Gateway::start("");
    let marked = [
        r#"{"query_id":"q","ts":"<script>","query":"x","results":[]}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[],"labels":{"<script>":[]}}"#,
        r#"{"query_id":"q","ts":1763337600000,"query":"x","results":[],"cost":{"<script>":1}}"#,
        "<script>",
        "[<script>]",
    ];
    for body in marked {
        let answer = gateway.post("/v1/searches", body);
        assert_eq!(answer.status, 400, "{answer:?}");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(!text.contains("script"), "{text}");
    }
    let path = gateway.post("/v1/<script>?format=<script>", "{}");
    assert!(!String::from_utf8_lossy(&path.body).contains("script"));
}

#[test]
fn a_body_that_does_not_end_is_refused_and_makes_room() {
    let gateway = Gateway::start("gateway: {max_connections: 8}");
    let head = "POST /v1/searches HTTP/1.1\r\nHost: gateway\r\nContent-Length: 1000000\r\n\r\n{";
    let mut slow: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut connection = TcpStream::connect(gateway.address).expect("a connection");
            connection
                .set_read_timeout(Some(SOON))
                .expect("a time limit");
            connection.write_all(head.as_bytes()).expect("a head");
            connection
        })
        .collect();
    // The oldest of them makes room.
    let answer = wait_until(SOON, "a request is answered", || {
        let answer = gateway.post("/v1/searches", &search(1));
        (answer.status == 200).then_some(answer)
    });
    assert_eq!(answer.json()["accepted"], 1);
    let last = slow.last_mut().expect("eight connections");
    assert_refused(&response(last).expect("a response"), 408, "within 10 s");
    let memory = gateway.process.metrics();
    let memory = memory.value("rankgauge_gateway_memory_bytes", &[]);
    assert!(memory.is_some_and(|bytes| bytes < 100_000.0), "{memory:?}");
}

/// Route, media type, body without compression, and expected statuses.
type Hostile = (&'static str, &'static str, Vec<u8>, &'static [u16]);

fn hostile_bodies() -> Vec<Hostile> {
    const PROTO: &str = "application/x-protobuf";
    let field = |number: u8, content: &[u8]| {
        let mut bytes = vec![number << 3 | 2];
        let mut length = content.len();
        while length > 127 {
            bytes.push(u8::try_from(length & 127).expect("seven bits") | 128);
            length >>= 7;
        }
        bytes.push(u8::try_from(length).expect("seven bits"));
        bytes.extend(content);
        bytes
    };
    // resource_spans {scope_spans {span}}, which has these attributes.
    let spans = |attributes: &[(String, Vec<u8>)]| {
        let attributes = attributes
            .iter()
            .map(|(key, value)| field(9, &[field(1, key.as_bytes()), field(2, value)].concat()));
        let attributes = attributes.collect::<Vec<_>>().concat();
        let kind = [
            field(1, b"openinference.span.kind"),
            field(2, &field(1, b"RETRIEVER")),
        ];
        let kind = kind.concat();
        let span = [
            field(1, &[1; 16]),
            field(2, &[1; 8]),
            field(9, &kind),
            attributes,
        ];
        field(1, &field(2, &field(2, &span.concat())))
    };
    let span = |key: &str, value: &[u8]| spans(&[(key.to_owned(), value.to_owned())]);
    let mut deep = field(1, b"x");
    while deep.len() < 1 << 20 {
        // An array of one value, in itself.
        deep = field(5, &field(1, &deep));
    }
    let values = field(5, &field(1, b"").repeat(7 << 20));
    // Each member has five bytes.
    let members = format!("{{{}\"a\":1}}", "\"\":0,".repeat(80_000));
    let metadata: Vec<(String, Vec<u8>)> = (0..35)
        .flat_map(|number| {
            let key = |name: &str| format!("retrieval.documents.{number}.document.{name}");
            [("id", "a"), ("metadata", members.as_str())]
                .map(|(name, value)| (key(name), field(1, value.as_bytes())))
        })
        .collect();
    let objects = |list: &str, end: &str| format!("{list}{}{{}}{end}", "{},".repeat(5 << 20));
    vec![
        (
            "/v1/searches",
            "application/json",
            vec![b' '; 200 << 20],
            &[413],
        ),
        (
            "/v1/searches",
            "application/x-ndjson",
            vec![b'\n'; 15 << 20],
            &[400],
        ),
        (
            "/v1/searches",
            "application/json",
            vec![b'['; 15 << 20],
            &[400],
        ),
        (
            "/v1/traces",
            "application/json",
            objects(
                "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[",
                "]}]}]}",
            )
            .into_bytes(),
            &[413],
        ),
        (
            "/v1/logs",
            "application/json",
            objects("{\"resourceLogs\":[", "]}").into_bytes(),
            &[413],
        ),
        ("/v1/traces", PROTO, span("input.value", &deep), &[200, 400]),
        // Rejected spans are a partial success.
        (
            "/v1/traces",
            PROTO,
            span("retrieval.documents", &values),
            &[200],
        ),
        ("/v1/traces", PROTO, spans(&metadata), &[200]),
        (
            "/v1/traces",
            PROTO,
            field(1, b"").repeat(7 << 20),
            &[200, 400, 413],
        ),
    ]
}

#[test]
fn hostile_bodies_leave_the_memory_flat() {
    let gateway = Gateway::start("");
    let resident = || {
        let metrics = gateway.process.metrics();
        metrics.value("process_resident_memory_bytes", &[])
    };
    let post = |path: &str, content_type: &str, body: &[u8]| {
        let headers = [("Content-Type", content_type), ("Content-Encoding", "gzip")];
        gateway.request(&format!("POST {path}"), &headers, &gzip(body))
    };
    let bodies = hostile_bodies();
    assert_eq!(gateway.post("/v1/searches", &search(1)).status, 200);
    let before = resident().expect("a metric");
    for round in 0..2 {
        for (path, content_type, body, statuses) in &bodies {
            let answer = post(path, content_type, body);
            assert!(
                statuses.contains(&answer.status),
                "{path} {round}: {answer:?}"
            );
            let now = resident().expect("a metric");
            assert!(
                now - before < 160e6,
                "{path}: {before} bytes before, {now} after"
            );
        }
    }
    let memory = gateway.process.metrics();
    assert_eq!(
        memory.value("rankgauge_gateway_memory_bytes", &[]),
        Some(0.0)
    );
    assert_eq!(gateway.post("/v1/searches", &search(2)).status, 200);
    assert_eq!(Gateway::records(&gateway.search).len(), 2);
    // The peak of the process, which the samples between requests do not show.
    assert!(
        gateway.process.peak_memory() < 400e6,
        "{} bytes",
        gateway.process.peak_memory()
    );
}

/// Response to the text of a request of which nothing follows.
fn response_to(gateway: &Gateway, request: &str) -> std::io::Result<Response> {
    let mut connection = TcpStream::connect(gateway.address)?;
    connection.set_read_timeout(Some(SOON))?;
    connection.write_all(request.as_bytes())?;
    // The gateway may have answered and closed the connection already.
    connection.shutdown(std::net::Shutdown::Write).ok();
    response(&mut connection)
}

#[test]
fn a_body_of_another_length_than_stated_is_refused() {
    let gateway = Gateway::start("");
    let head = "POST /v1/searches HTTP/1.1\r\nHost: gateway\r\nContent-Length";
    let twice = "2\r\nContent-Length: 3";
    let chunked = "2\r\nTransfer-Encoding: chunked";
    for (stated, body) in [
        ("100", "{}"),
        ("-1", "{}"),
        ("1e3", "{}"),
        ("x", ""),
        ("99999999999999999999999", "{}"),
        (twice, "{}"),
        // The body is no chunk.
        (chunked, "{}"),
    ] {
        let answer = response_to(&gateway, &format!("{head}: {stated}\r\n\r\n{body}"));
        // A connection that is closed early has no answer; a wrong head has one.
        assert!(
            answer.is_err() || answer.is_ok_and(|it| it.status == 400),
            "{stated}"
        );
    }
    assert_eq!(gateway.post("/v1/searches", &search(1)).status, 200);
    // What follows the stated length is another request, which is none.
    let event = search(2);
    let stated = event.len();
    let answer = response_to(&gateway, &format!("{head}: {stated}\r\n\r\n{event}{event}"));
    assert_eq!(answer.expect("a response").status, 200);
    assert_eq!(Gateway::records(&gateway.search).len(), 2);
}
