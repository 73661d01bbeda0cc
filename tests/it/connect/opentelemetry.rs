//! Applications that send their spans to the gateway with the SDKs of OpenTelemetry and the
//! instrumentations of LlamaIndex, LangChain and Haystack.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{DONE, Judged, root};
use crate::gateway::client::{SOON, request};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::wait_until;

/// Number of the partitions of each topic.
const PARTITIONS: usize = 2;

/// Searches of a program, and those of them with feedback.
const SEARCHES: usize = 10;

/// Queries of the programs, and the documents that each of them retrieves.
const RANKINGS: [(&str, [&str; 3]); 5] = [
    ("용도지역 변경", ["law-30", "law-36", "law-76"]),
    ("건폐율", ["law-77", "law-84", "law-56"]),
    ("opening hours", ["hours", "holidays", "pool"]),
    ("library card", ["card", "library", "payment"]),
    ("parking permit", ["parking", "visitors", "works"]),
];

/// Programs with the protocols that they export with. Compression alternates.
const PROGRAMS: [(&str, &str); 8] = [
    ("sdk.py", "http/protobuf"),
    ("sdk.py", "http/json"),
    ("with_llama_index.py", "http/protobuf"),
    ("with_langchain.py", "http/json"),
    ("with_haystack.py", "http/protobuf"),
    ("sdk.mjs", "http/protobuf"),
    ("sdk.mjs", "http/json"),
    ("with_langchain.mjs", "http/protobuf"),
];

fn examples() -> PathBuf {
    root().join("examples/opentelemetry")
}

/// Sidecar with the configuration of the page, for topics of its own.
fn judged() -> Judged {
    let (search, feedback) = broker().unique_topics("connect", PARTITIONS);
    let text = fs::read_to_string(examples().join("gateway.yaml")).expect("a configuration");
    let mut settings = text;
    for (shown, tested) in [
        (
            "brokers: localhost:9092",
            format!(
                "brokers: {}\n  group_id: {}\n  start: earliest",
                broker().bootstrap(),
                unique_name("connect")
            ),
        ),
        ("search.log", search.clone()),
        ("search.feedback", feedback.clone()),
        ("127.0.0.1:4318", "127.0.0.1:0".to_owned()),
        (
            "gold.json",
            examples().join("gold.json").display().to_string(),
        ),
    ] {
        assert!(settings.contains(shown), "{shown}");
        settings = settings.replace(shown, &tested);
    }
    settings.push_str(
        "publish_interval: 100ms\n\
         engine: {out_of_orderness: 1s, feedback_window: 1m, idle_timeout: 24h}\n",
    );
    Judged {
        topics: [search, feedback],
        partitions: PARTITIONS,
        sidecar: Sidecar::start(&settings, &[]),
    }
}

/// Starts a program, whose variant is the version of its service.
fn start(gateway: &str, variant: &str, number: usize) -> Child {
    let (program, protocol) = PROGRAMS[number];
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let python = target.parent().expect("the target directory");
    let interpreter = if Path::new(program).extension().is_some_and(|it| it == "py") {
        python.join("otel/bin/python")
    } else {
        PathBuf::from("node")
    };
    let compression = if number.is_multiple_of(2) {
        "gzip"
    } else {
        "none"
    };
    let child = Command::new(interpreter)
        .arg(examples().join(program))
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", gateway)
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        .env("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
        .env(
            "OTEL_RESOURCE_ATTRIBUTES",
            format!("service.name=shop,service.version={variant}"),
        )
        .env("LANGCHAIN_CALLBACKS_BACKGROUND", "false")
        .env("HAYSTACK_TELEMETRY_ENABLED", "False")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    child.unwrap_or_else(|error| panic!("{program}: {error}; run tests/setup.sh connect"))
}

/// The searches and the feedback of a program as native events.
fn native(variant: &str) -> [String; 2] {
    let now = rankgauge_serve::clock::wall_now().as_event_time().0;
    let lines = |event: &dyn Fn(usize) -> Option<Value>| {
        let events = (0..SEARCHES).filter_map(event);
        let lines: Vec<String> = events.map(|event| event.to_string()).collect();
        lines.join("\n")
    };
    let searches = lines(&|number| {
        let (query, documents) = RANKINGS[number % RANKINGS.len()];
        let results: Vec<Value> = documents.iter().map(|id| json!({"id": id})).collect();
        Some(json!({
            "query_id": format!("q{number}"), "session_id": format!("s{number}"), "ts": now,
            "variant": variant, "query": query, "results": results,
        }))
    });
    let feedback = lines(&|number| {
        number.is_multiple_of(2).then(|| {
            json!({
                "event_id": format!("e{number}"), "session_id": format!("s{number}"),
                "ts": now + 1_000, "type": "thumbs", "value": true,
            })
        })
    });
    [searches, feedback]
}

/// Counters of a variant that do not depend on times and on what only spans state.
fn counters(metrics: &Exposition, variant: &str) -> BTreeMap<String, String> {
    let samples = metrics.samples.iter().filter(|sample| {
        let label = |name| sample.labels.get(name).map(String::as_str);
        let is_compared = sample.name.starts_with("rankgauge_score_")
            || sample.name.starts_with("rankgauge_feedback_")
            || sample.name == "rankgauge_searches_total";
        is_compared
            && sample.name.ends_with("_total")
            && label("variant") == Some(variant)
            && matches!(label("slice"), None | Some("all"))
    });
    let samples = samples.map(|sample| {
        let mut labels = sample.labels.clone();
        labels.remove("variant");
        (format!("{}{labels:?}", sample.name), sample.text.clone())
    });
    samples.collect()
}

/// The retrievals of every program are the same searches, with the same feedback.
#[test]
#[ignore = "needs the toolchains of tests/setup.sh connect: run make test-connect"]
fn instrumented_applications_lead_to_equal_scores() {
    let judged = judged();
    let address = judged.sidecar.gateway_address();
    wait_until(SOON, "the gateway is ready", || {
        let ready = request(address, "GET /readyz", &[], b"").expect("a response");
        (ready.status == 200).then_some(())
    });
    let gateway = format!("http://{address}");
    let variants: Vec<String> = (0..PROGRAMS.len())
        .map(|number| {
            let (program, protocol) = PROGRAMS[number];
            format!("{program}-{}", protocol.trim_start_matches("http/"))
        })
        .collect();
    let children = variants.iter().enumerate();
    let children: Vec<Child> = children
        .map(|(number, variant)| start(&gateway, variant, number))
        .collect();
    for (child, variant) in children.into_iter().zip(&variants) {
        let output = child.wait_with_output().expect("a process");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let errors = text(&output.stderr);
        assert!(
            output.status.success(),
            "{variant}: {}{errors}",
            text(&output.stdout)
        );
        // An exporter logs what the gateway refuses.
        assert!(!errors.contains("xport"), "{variant}: {errors}");
    }
    for (path, body) in ["/v1/searches", "/v1/feedback"]
        .into_iter()
        .zip(native("native"))
    {
        let head = format!("POST {path}");
        let answer = request(address, &head, &[], body.as_bytes()).expect("a response");
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    #[allow(clippy::cast_precision_loss, reason = "a hundred events")]
    let all = ((variants.len() + 1) * SEARCHES) as f64;
    judged.close(broker(), "native", [all, all / 2.0]);
    let metrics = wait_until(DONE, "the searches are judged", || {
        let metrics = judged.sidecar.metrics();
        let outcome = [("kind", "search"), ("outcome", "judged")];
        let is_judged = metrics.sum("rankgauge_events_total", &outcome) > all - 0.5;
        is_judged.then_some(metrics)
    });
    let expected = counters(&metrics, "native");
    let searches = r#"rankgauge_searches_total{"slice": "all", "value": ""}"#;
    assert_eq!(
        expected.get(searches).map(String::as_str),
        Some("10"),
        "{expected:#?}"
    );
    let thumbs = expected
        .iter()
        .any(|(name, count)| name.contains("thumbs") && count == "5");
    assert!(thumbs, "{expected:#?}");
    for variant in variants {
        assert_eq!(counters(&metrics, &variant), expected, "{variant}");
    }
}
