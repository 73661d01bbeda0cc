//! Spans through a real Kafka, unkeyed and keyed by trace.

use std::collections::BTreeMap;

use prost::Message as _;
use serde_json::json;

use super::fixtures::{COMPLETE, bytes, path};
use super::judged::{MEASURES, evaluated};
use super::messages::{ResourceSpans, ScopeSpans, Span, Traces, hex};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::wait_until;

pub(super) const PARTITIONS: usize = 3;

/// Record with its key and its partition.
pub(super) type Record = (Vec<u8>, Vec<u8>, Option<i32>);

/// One record for each resource and trace, keyed by the trace, as with `partition_traces_by_id`.
pub(super) fn by_trace(record: &[u8]) -> Vec<Record> {
    let traces = Traces::decode(record).expect("a fixture");
    let mut records = Vec::new();
    for spans in traces.resource_spans {
        let mut by_trace: BTreeMap<Vec<u8>, Vec<Span>> = BTreeMap::new();
        for span in spans.scope_spans.iter().flat_map(|scope| &scope.spans) {
            by_trace
                .entry(span.trace_id.clone())
                .or_default()
                .push(span.clone());
        }
        for (trace, list) in by_trace {
            let one = record_of(&spans, list);
            records.push((hex(&trace).into_bytes(), one, None));
        }
    }
    records
}

/// Records of two spans each, round robin over the partitions: spans of a trace are in different
/// records and partitions.
fn spread(record: &[u8]) -> Vec<Record> {
    let traces = Traces::decode(record).expect("a fixture");
    let mut records = Vec::new();
    for spans in traces.resource_spans {
        let list: Vec<Span> = spans
            .scope_spans
            .iter()
            .flat_map(|scope| scope.spans.clone())
            .collect();
        for (number, pair) in (0..).zip(list.chunks(2)) {
            let partition = number % i32::try_from(PARTITIONS).expect("few");
            records.push((
                Vec::new(),
                record_of(&spans, pair.to_vec()),
                Some(partition),
            ));
        }
    }
    records
}

pub(super) fn record_of(like: &ResourceSpans, spans: Vec<Span>) -> Vec<u8> {
    let one = ResourceSpans {
        scope_spans: vec![ScopeSpans { scope: None, spans }],
        ..like.clone()
    };
    let resource_spans = vec![one];
    Traces { resource_spans }.encode_to_vec()
}

/// Sidecar that has read `records`, and its exposition.
fn consumed(
    records: &[Record],
    gold: &str,
    invalid: usize,
    dead_letters: &str,
) -> (Sidecar, Exposition) {
    let broker = broker();
    let (search, feedback) = broker.unique_topics("otel", PARTITIONS);
    let settings = json!({
        "brokers": broker.bootstrap(), "group_id": unique_name("group"),
        "search_topic": search, "feedback_topic": feedback, "start": "earliest",
        "search_format": "otlp_proto", "dead_letter_topic": dead_letters,
    });
    let configuration = format!(
        "kafka: {settings}\ngold: {{paths: [{}]}}\nmeasures: {MEASURES:?}\n\
         publish_interval: 200ms\n",
        path(gold).display()
    );
    broker.create_topic(dead_letters, 1);
    broker.produce(&search, records.iter().cloned());
    let sidecar = Sidecar::start(&configuration, &[]);
    let total = u32::try_from(records.len()).expect("few");
    let exposition = wait_until(LIMIT, "every record is counted", || {
        let exposition = sidecar.metrics();
        let counted = exposition.sum("rankgauge_records_total", &[("topic", &search)]);
        (counted >= f64::from(total)).then_some(exposition)
    });
    let of = |outcome: &str| {
        let labels = [("topic", search.as_str()), ("outcome", outcome)];
        exposition.sum("rankgauge_records_total", &labels)
    };
    let records = of("used") + of("without_events") + of("invalid");
    assert!((records - f64::from(total)).abs() < 0.5);
    let invalid = f64::from(u32::try_from(invalid).expect("few"));
    assert!((of("invalid") - invalid).abs() < 0.5);
    (sidecar, exposition)
}

pub(super) const LIMIT: std::time::Duration = std::time::Duration::from_mins(1);

/// Asserts that spans and events add up.
fn assert_conserved(exposition: &Exposition, spans: [u64; 5], undecodable: u64) {
    let names = ["search", "invalid", "without_documents", "ignored", "other"];
    for (outcome, expected) in names.iter().zip(spans) {
        let found = exposition.sum("rankgauge_spans_total", &[("outcome", outcome)]);
        let expected = f64::from(u32::try_from(expected).expect("few"));
        assert!(
            (found - expected).abs() < 0.5,
            "{outcome}: {found}, {expected} were sent"
        );
    }
    let events = exposition.sum("rankgauge_events_total", &[("kind", "search")])
        + exposition.sum("rankgauge_events_pending", &[("kind", "search")]);
    let expected = spans[0] + spans[1] + undecodable;
    let expected = f64::from(u32::try_from(expected).expect("few"));
    assert!(
        (events - expected).abs() < 0.5,
        "{events} events of {expected}"
    );
}

#[track_caller]
fn assert_evaluated(exposition: &Exposition, name: &str, gold: &str) {
    for (measure, expected) in evaluated(name, gold) {
        let labels = [
            ("measure", measure),
            ("variant", name),
            ("slice", "all"),
            ("value", ""),
        ];
        let sum = exposition.value("rankgauge_score_sum_total", &labels);
        let count = exposition.value("rankgauge_score_count_total", &labels);
        let found = sum.zip(count).map(|(sum, count)| sum / count);
        let found = found.unwrap_or_else(|| panic!("{name} has no {measure}"));
        assert!(
            (found - expected).abs() < 1e-8,
            "{name} {measure}: {found}, evaluate gives {expected}"
        );
    }
}

fn total() -> [u64; 5] {
    let mut sum = [0; 5];
    for (_, outcomes) in COMPLETE {
        for (sum, count) in sum.iter_mut().zip(outcomes) {
            *sum += count;
        }
    }
    sum
}

#[test]
fn unkeyed_spans_spread_over_records_and_partitions_have_the_scores_of_evaluate() {
    let mut records: Vec<Record> = Vec::new();
    for (name, _) in COMPLETE {
        records.extend(spread(&bytes(&format!("{name}.pb"))));
    }
    // A record cut off within its last span gives one invalid event and no search.
    let mut cut = bytes("llama_index.pb");
    cut.truncate(cut.len() - 3);
    records.push((Vec::new(), cut, Some(0)));
    // Its spans without ids are invalid, and the record is none: it is no dead letter.
    records.extend(spread(&bytes("langchain.pb")));
    let mut spans = total();
    spans[0] += 2;
    spans[1] += 4;
    let dead_letters = unique_name("dead");
    let (sidecar, exposition) = consumed(&records, "gold.json", 1, &dead_letters);
    assert_conserved(&exposition, spans, 1);
    wait_until(LIMIT, "the dead-letter record is delivered", || {
        let delivered = sidecar.metrics().sum("rankgauge_dead_letters_total", &[]);
        (delivered > 0.5).then_some(())
    });
    let letters = broker().consume(&dead_letters);
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].headers["reason"], "not_protobuf");
    let labels = [("kind", "search"), ("reason", "missing_field")];
    let missing = exposition.sum("rankgauge_invalid_events_total", &labels);
    assert!((missing - 4.0).abs() < 0.5);
    let labels = [("kind", "search"), ("reason", "not_protobuf")];
    let invalid = exposition.sum("rankgauge_invalid_events_total", &labels);
    assert!((invalid - 1.0).abs() < 0.5);
    for (name, _) in COMPLETE {
        assert_evaluated(&exposition, name, "gold.json");
    }
}

#[test]
fn spans_keyed_by_trace_have_the_scores_of_evaluate_by_text() {
    let mut records: Vec<Record> = Vec::new();
    let mut spans = total();
    for (name, _) in COMPLETE {
        records.extend(by_trace(&bytes(&format!("{name}.pb"))));
    }
    // Without ids, and judged by text.
    records.extend(by_trace(&bytes("langchain.pb")));
    spans[0] += 6;
    let dead_letters = unique_name("dead");
    let (_sidecar, exposition) = consumed(&records, "gold-texts.json", 0, &dead_letters);
    assert_conserved(&exposition, spans, 0);
    let without_id = exposition.sum("rankgauge_span_documents_without_id_total", &[]);
    assert!((without_id - 13.0).abs() < 0.5);
    for name in COMPLETE.iter().map(|(name, _)| *name).chain(["langchain"]) {
        assert_evaluated(&exposition, name, "gold-texts.json");
    }
}
