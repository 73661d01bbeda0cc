//! Native feedback beside searches from spans, and the commands that show both: `tail` and
//! `check --live`.

use prost::Message as _;
use serde_json::{Value, json};

use super::fixtures::{bytes, path};
use super::judged::MEASURES;
use super::live::{LIMIT, PARTITIONS, Record, by_trace, record_of};
use super::messages::{Span, Traces, hex};
use crate::harness::command::{Arguments as _, printed, rankgauge};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;
use crate::live::check::check;
use crate::live::yaml;

/// Searches of the fixture: `*.retrieve` spans, without the inner ones.
fn searches(name: &str) -> Vec<Span> {
    let traces = Traces::decode(&*bytes(name)).expect("a fixture");
    let scopes = traces.resource_spans.into_iter();
    let spans = scopes
        .flat_map(|resource| resource.scope_spans)
        .flat_map(|scope| scope.spans);
    spans
        .filter(|span| !span.name.ends_with("._retrieve"))
        .collect()
}

/// Topics with the spans of a fixture, keyed by trace, and with feedback under the same keys.
fn topics(feedback: &[(String, Value)]) -> Value {
    let broker = broker();
    let (search, clicks) = broker.unique_topics("otel", PARTITIONS);
    broker.produce(&search, by_trace(&bytes("llama_index.pb")));
    let records = feedback.iter().map(|(key, event)| -> Record {
        (
            key.clone().into_bytes(),
            event.to_string().into_bytes(),
            None,
        )
    });
    broker.produce(&clicks, records);
    json!({
        "kafka": {
            "brokers": broker.bootstrap(), "group_id": unique_name("group"), "start": "earliest",
            "search_topic": search, "search_format": "otlp_proto", "feedback_topic": clicks,
        },
        "gold": {"paths": [path("gold.json")]},
        "measures": MEASURES.iter().chain(&["CTR"]).collect::<Vec<_>>(),
        "publish_interval": "200ms",
    })
}

/// Closes the feedback windows with an event of an hour later in each partition of both topics.
fn close_windows(settings: &Value) {
    const HOUR: u64 = 3_600_000_000_000;
    let topic = |name: &str| settings["kafka"][name].as_str().expect("a name").to_owned();
    let traces = Traces::decode(&*bytes("llama_index.pb")).expect("a fixture");
    let resource = traces.resource_spans.first().expect("a resource");
    for number in 0..PARTITIONS {
        let partition = Some(i32::try_from(number).expect("few"));
        let mut span = searches("llama_index.pb").remove(0);
        span.trace_id = vec![u8::try_from(number + 1).expect("few"); 16];
        span.start_time_unix_nano += HOUR;
        span.end_time_unix_nano += HOUR;
        let ts = span.end_time_unix_nano / 1_000_000;
        let event =
            json!({"event_id": "end", "ts": ts, "type": "click", "position": 1, "query_id": "end"});
        let records = [
            (topic("search_topic"), record_of(resource, vec![span])),
            (topic("feedback_topic"), event.to_string().into_bytes()),
        ];
        for (topic, record) in records {
            broker().produce(&topic, [(Vec::new(), record, partition)]);
        }
    }
}

#[test]
fn native_feedback_joins_the_search_of_its_span_or_trace() {
    let searches = searches("llama_index.pb");
    let mut feedback = Vec::new();
    for (number, span) in searches.iter().enumerate() {
        let trace = hex(&span.trace_id);
        let ts = span.end_time_unix_nano / 1_000_000 + 1_000;
        let of_span = json!({
            "event_id": format!("c{number}"), "ts": ts, "type": "click", "position": 1,
            "query_id": format!("{trace}/{}", hex(&span.span_id)),
        });
        let of_trace = json!({
            "event_id": format!("t{number}"), "ts": ts, "type": "thumbs", "value": true,
            "session_id": &trace,
        });
        feedback.extend([(trace.clone(), of_span), (trace, of_trace)]);
    }
    assert_eq!(feedback.len(), 12);
    let settings = topics(&feedback);
    let sidecar = Sidecar::start(&yaml(&settings), &[]);
    let topic = settings["kafka"]["feedback_topic"]
        .as_str()
        .expect("a name");
    wait_until(LIMIT, "all feedback is read", || {
        let read = sidecar
            .metrics()
            .sum("rankgauge_records_total", &[("topic", topic)]);
        (read > 11.5).then_some(())
    });
    close_windows(&settings);
    // Joined, on arrival or with the search that is read later.
    let exposition = wait_until(LIMIT, "all feedback is joined", || {
        let exposition = sidecar.metrics();
        let of = |kind: &str| {
            let labels = [("type", kind), ("variant", "llama_index")];
            exposition.sum("rankgauge_feedback_total", &labels)
        };
        (of("click") > 5.5 && of("thumbs") > 5.5).then_some(exposition)
    });
    let labels = [("kind", "feedback"), ("outcome", "orphaned")];
    assert!(exposition.sum("rankgauge_events_total", &labels) < 0.5);
}

#[test]
fn tail_describes_each_span_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    // The Collector's file exporter writes one record a line.
    let lines: Vec<String> = ["llama_index.json", "langchain.json"]
        .map(|name| serde_json::from_slice::<Value>(&bytes(name)).expect("JSON"))
        .iter()
        .map(|record| format!("{record}\n"))
        .collect();
    std::fs::write(folder.path().join("spans.jsonl"), lines.concat()).expect("a file");
    let gold = format!("gold.paths={}", path("gold.json").display());
    let tail = "tail --search spans.jsonl --format json --set kafka.search_format=otlp_proto --set \
                measures=RR --set";
    let arguments = [&tail.words()[..], &[&*gold]].concat();
    let text = printed(&rankgauge(folder.path(), &arguments));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let count = |outcome: &str, offset: u64| {
        let is_it = |line: &&Value| line["outcome"] == outcome && line["offset"] == offset;
        lines.iter().filter(is_it).count()
    };
    // Six searches of the first record, two of the second; its others have no ids.
    assert_eq!(count("judged", 1) + count("unjudged", 1), 6, "{text}");
    assert_eq!(count("judged", 2) + count("unjudged", 2), 2, "{text}");
    assert_eq!(count("invalid", 2), 4, "{text}");
    let judged = lines.iter().find(|line| line["outcome"] == "judged");
    let judged = judged.expect("a judged search");
    assert_eq!(judged["variant"], "llama_index", "{judged}");
    assert!(judged["scores"]["RR"].is_number(), "{judged}");
    let invalid = lines.iter().find(|line| line["outcome"] == "invalid");
    let invalid = invalid.expect("an invalid search");
    assert_eq!(invalid["reason"], "missing_field", "{invalid}");
    let detail = invalid["detail"].as_str().expect("a text");
    assert!(detail.contains("span "), "{detail}");
}

#[test]
fn check_live_reads_spans_and_finds_feedback_under_other_keys() {
    let searches = searches("llama_index.pb");
    let click = |number: usize, span: &Span| {
        json!({
            "event_id": format!("c{number}"), "ts": span.end_time_unix_nano / 1_000_000 + 1_000,
            "type": "click", "position": 1,
            "query_id": format!("{}/{}", hex(&span.trace_id), hex(&span.span_id)),
        })
    };
    let numbered = searches.iter().enumerate();
    let right: Vec<(String, Value)> = numbered
        .clone()
        .map(|(number, span)| (hex(&span.trace_id), click(number, span)))
        .collect();
    let (text, _) = check(&topics(&right), &[]);
    assert!(text.contains("12 sampled spans of "), "{text}");
    assert!(text.contains("search 6, invalid 0"), "{text}");
    assert!(
        text.contains("lie in the partition of their search"),
        "{text}"
    );

    // Keyed by the whole query id, most feedback is in another partition than its search.
    let wrong: Vec<(String, Value)> = numbered
        .map(|(number, span)| {
            let event = click(number, span);
            (event["query_id"].to_string(), event)
        })
        .collect();
    let settings = topics(&wrong);
    let (text, code) = check(&settings, &[]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("lie in another partition than"), "{text}");
    assert!(text.contains("the same key: the trace id"), "{text}");

    // Spans read as native events: the format is named in the remedy.
    let mut native = settings;
    native["kafka"]["search_format"] = json!("native");
    let (text, code) = check(&native, &[]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("kafka.search_format"), "{text}");
}
