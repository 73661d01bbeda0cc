//! Live estimate of quality: a label service reads requests and answers them through the feedback topic.

use std::collections::BTreeMap;

use rankgauge_core::event::Kind;
use rankgauge_core::gold::{self, GoldSet, Options};
use rankgauge_core::time::Millis;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{CONSUMED, SHUTDOWN, count, received, settings, start};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

/// Length of a window in milliseconds.
const WINDOW: i64 = 60_000;

/// Grade of a document for a query, as the corpus has it.
fn grade(gold: &GoldSet, query: &str, document: &str) -> f64 {
    let Some(query) = gold.find(None, Some(query)) else {
        return 0.0;
    };
    let found = gold.query(query).judgements.find(document);
    found.map_or(0.0, |(_, grade)| grade.get())
}

/// True P@5 of the searches of each variant and window, and their number.
fn truth(stream: &Stream, gold: &GoldSet) -> BTreeMap<(String, i64), (f64, u64)> {
    let mut sums: BTreeMap<(String, i64), (f64, u64)> = BTreeMap::new();
    for path in stream.files(Kind::Search) {
        let text = std::fs::read_to_string(path).expect("a file of the stream");
        for line in text.lines() {
            let search: Value = serde_json::from_str(line).expect("JSON");
            if search["synthetic"] == true {
                continue;
            }
            let ts = time_of(&search["ts"]);
            let variant = search["experiment"]["variant"]
                .as_str()
                .or(search["variant"].as_str())
                .unwrap_or_default();
            let query = search["query"].as_str().unwrap_or_default();
            let results = search["results"].as_array().expect("results");
            let mut seen = Vec::new();
            for hit in results.iter().take(5) {
                let id = hit["id"].as_str().expect("an id");
                if !seen.contains(&id) {
                    seen.push(id);
                }
            }
            let relevant = seen.iter().filter(|id| grade(gold, query, id) >= 1.0);
            let share = f64::from(u32::try_from(relevant.count()).expect("few")) / 5.0;
            let key = (variant.to_owned(), ts.div_euclid(WINDOW) * WINDOW);
            let (sum, number) = sums.entry(key).or_default();
            *sum += share;
            *number += 1;
        }
    }
    for (sum, number) in sums.values_mut() {
        *sum /= f64::from(u32::try_from(*number).expect("few"));
    }
    sums
}

fn time_of(ts: &Value) -> i64 {
    ts.as_i64().unwrap_or_else(|| {
        let time: jiff::Timestamp = ts.as_str().expect("a time").parse().expect("RFC 3339");
        time.as_millisecond()
    })
}

/// Reads the requests so far, and answers those that have no answer yet.
fn answer(topic: &str, stream: &Stream, gold: &GoldSet, answered: &mut usize) -> Vec<Value> {
    let records = broker().consume(topic);
    let requests: Vec<Value> = records
        .iter()
        .map(|record| serde_json::from_slice(&record.payload).expect("JSON"))
        .collect();
    let answers = requests[*answered..].iter().map(|request| {
        let query = request["query"].as_str().expect("a query");
        let document = request["object_id"].as_str().expect("a document");
        let key = request["query_id"].as_str().expect("an id").to_owned();
        let event = json!({
            "event_id": format!("label-{}", request["request_id"].as_str().expect("an id")),
            "ts": request["ts"].as_i64().expect("a time") + 1_000,
            "type": "judgment",
            "query_id": key,
            "object_id": document,
            "value": grade(gold, query, document),
            "request": request["request"],
        });
        let partition = Some(stream.partition(&key));
        (key, event.to_string(), partition)
    });
    let answers: Vec<_> = answers.collect();
    broker().produce(stream.topic(Kind::Feedback), answers);
    *answered = requests.len();
    requests
}

fn quality(sidecar: &Sidecar, variant: &str) -> Option<[f64; 3]> {
    let exposition = sidecar.metrics();
    let of = |bound: &str| {
        let labels = [("measure", "P@5"), ("variant", variant), ("bound", bound)];
        exposition.value("rankgauge_quality", &labels)
    };
    Some([of("lower")?, of("mean")?, of("upper")?])
}

/// Compares the estimates of the API with the truth, and with the metrics.
fn check_estimates(sidecar: &Sidecar, truth: &BTreeMap<(String, i64), (f64, u64)>) {
    let listed = sidecar.api("/api/v1/quality");
    let estimates = listed["estimates"].as_array().expect("a list");
    assert!(estimates.len() >= 2, "{listed}");
    for it in estimates {
        let variant = it["variant"].as_str().expect("a variant");
        let start = time_of(&it["window"]);
        let (mean, searches) = truth[&(variant.to_owned(), start)];
        assert_eq!(it["searches"], searches, "{it}");
        let [lower, middle, upper] =
            ["lower", "mean", "upper"].map(|name| it[name].as_f64().expect("a number"));
        // One of 300 such intervals does not contain the mean. None is wrong by twice its length.
        let (below, above) = (middle - lower, upper - middle);
        let [lowest, highest] = [middle - 2.0 * below, middle + 2.0 * above];
        assert!(lowest <= mean && mean <= highest, "{it}, true mean {mean}");
        assert_eq!(quality(sidecar, variant), Some([lower, middle, upper]));
        assert!(upper - lower < 0.5, "{it}");
        let labels = [("measure", "P@5"), ("variant", variant)];
        let evidence = sidecar
            .metrics()
            .value("rankgauge_quality_drop_log_evidence", &labels);
        assert!(evidence.is_some(), "there are windows before: {it}");
        assert_eq!(evidence, it["drop_log_evidence"].as_f64());
    }
    let target = [("test", "target")];
    let exposition = sidecar.metrics();
    assert!(
        exposition
            .value("rankgauge_evidence_threshold", &target)
            .is_some()
    );
}

#[test]
fn labels_of_a_service_estimate_all_traffic() {
    let mut stream =
        Stream::of_queries(broker(), 100, 40.0, Millis(600_000), Some(Millis(120_000)));
    let text = std::fs::read(stream.gold()).expect("a gold set");
    let gold = gold::parse("gold.json", &text, &Options::default()).expect("a gold set");
    let topic = unique_name("label-requests");
    broker().create_topic(&topic, 1);
    let key_file = stream.folder().join("label-key");
    std::fs::write(&key_file, "a key of more than sixteen bytes\n").expect("a file");
    let mut settings = settings(broker(), &stream);
    // Nothing is judged: every grade comes from the service.
    settings["gold"] = json!({"paths": []});
    settings["workers"] = json!(2);
    settings["labelling"] = json!({
        "topic": topic,
        // 46 results a second: about a sixth of them.
        "per_day": 4_000_000,
        "measures": ["P@5"],
        "estimate_window": "1m",
        "key_file": key_file,
    });
    let mut sidecar = start(&settings);
    // At most 10,000 requests are kept until they are sent: those of 1,250 searches are fewer. The numbers of
    // received events are published after the requests are sent.
    for _ in 0..8 {
        stream.produce(broker(), 1_250);
        let produced = stream.produced();
        wait_until(CONSUMED, "every event is received", || {
            (received(&sidecar.metrics()) == produced).then_some(())
        });
    }
    let mut answered = 0;
    let requests = wait_until(CONSUMED, "every request is counted", || {
        let requests = answer(&topic, &stream, &gold, &mut answered);
        let exposition = sidecar.metrics();
        let counted = [("kind", "human"), ("outcome", "counted")];
        let counted = exposition.value("rankgauge_labels_total", &counted)?;
        let sent = exposition.sum("rankgauge_label_requests_total", &[("stratum", "tail")]);
        let number = f64::from(u32::try_from(requests.len()).expect("few"));
        (counted >= sent && sent > 0.0 && number >= sent).then_some(requests)
    });
    assert!(requests.len() > 400, "{}", requests.len());
    for request in &requests {
        let pi = request["sampling"]["pi"].as_f64().expect("a number");
        assert!(pi > 0.0 && pi <= 1.0, "{request}");
        let weight = &request["sampling"]["measures"]["P@5"];
        assert!((weight["c"].as_f64().expect("a weight") - 0.2).abs() < 1e-9);
        assert!((0.0..=1.0).contains(&weight["f"].as_f64().expect("a prediction")));
    }

    check_estimates(&sidecar, &truth(&stream, &gold));

    // A service cannot change a request: its signature is not valid then.
    let first = &requests[0];
    let changed = first["request"]
        .as_str()
        .expect("a token")
        .replacen('e', "f", 1);
    let forged = json!({
        "event_id": "forged", "ts": first["ts"], "type": "judgment", "query_id": first["query_id"],
        "object_id": first["object_id"], "value": 3, "request": changed,
    });
    let key = first["query_id"].as_str().expect("an id").to_owned();
    let partition = Some(stream.partition(&key));
    broker().produce(
        stream.topic(Kind::Feedback),
        [(key, forged.to_string(), partition)],
    );
    wait_until(CONSUMED, "the forged label is rejected", || {
        let labels = [("kind", "human"), ("outcome", "invalid")];
        let exposition = sidecar.metrics();
        (exposition.value("rankgauge_labels_total", &labels) == Some(1.0)).then_some(())
    });
    let page = sidecar.page("/systems/V5");
    assert!(page.contains("Quality of all traffic"), "{page}");
    let exposition = sidecar.metrics();
    let requested = [("variant", "V5"), ("stratum", "tail")];
    assert!(count(&exposition, "rankgauge_label_requests_total", &requested) > 0);
    assert!(sidecar.terminate(SHUTDOWN).success());
}
