//! API responses compared with `/metrics`, with the served results, and with the API document.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::{Value, json};

use super::{ask, get, json_of};
use crate::harness::kafka::broker;
use crate::harness::sidecar::{Exposed, Exposition, Sidecar};
use crate::harness::wait_until;
use crate::live::stream::Stream;
use crate::live::{SOON, scrape_when_received, series, settings, start};

/// Number in an API response.
fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Asserts that two numbers are equal up to rounding.
fn assert_close(found: f64, expected: f64) {
    let tolerance = 1e-9 * expected.abs().max(1.0);
    assert!(
        (found - expected).abs() <= tolerance,
        "{found}, expected {expected}"
    );
}

/// One stream for all endpoints: producing it takes longer than the requests.
#[test]
fn api_responses_match_metrics_and_served_results() {
    let mut stream = Stream::on_new_topics(broker(), 4, 50.0, Millis(120_000));
    let mut settings = settings(broker(), &stream);
    settings["workers"] = json!(2);
    settings["measures"] = json!(["CTR", "FP@5", "P@5", "nDCG@10"]);
    settings["checkpoint"] = json!({"folder": stream.folder().join("checkpoints")});
    // Query statistics must survive a reload of unchanged gold files.
    settings["gold"]["reload_interval"] = json!("100ms");
    stream.produce(broker(), 3_000);
    let sidecar = start(&settings);
    scrape_when_received(&sidecar, stream.produced());

    let status = status_at_rest(&sidecar, &stream);
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["liveness_problem"], Value::Null);
    assert_eq!(status["readiness_problem"], Value::Null);
    let workers = status["workers"].as_array().expect("a list");
    assert_eq!(workers.len(), 2);
    for worker in workers {
        assert!(number(&worker["snapshot_age_seconds"]) < 60.0);
        assert!(number(&worker["checkpoint"]["age_seconds"]) < 60.0);
        assert!(number(&worker["checkpoint"]["written"]) > 0.0);
    }
    shows_the_samples_of_metrics(&sidecar);
    shows_measures(&sidecar);
    shows_queries(&sidecar, &stream);
    shows_what_the_document_says(&sidecar);
}

/// Status after both workers have their partitions and complete information about them. One worker
/// may have read everything before the other joined, and the client reports consumer statistics
/// only periodically.
fn status_at_rest(sidecar: &Sidecar, stream: &Stream) -> Value {
    let is_known = |partition: &Value| {
        let lag = |kind: &Kind| partition["lag"][stream.topic(*kind)].as_u64();
        let mut lags = Kind::ALL.iter().map(lag);
        partition["watermark"].is_string() && lags.all(|lag| lag == Some(0))
    };
    let mut status = Value::Null;
    wait_until(
        SOON,
        "the status tells of all records, partitions and workers",
        || {
            status = get(sidecar, "/api/v1/status");
            let workers = status["workers"].as_array()?;
            let joined = |worker: &Value| worker["connected"] == true && worker["assigned"] == true;
            let partitions = status["partitions"].as_array()?;
            let numbers: Vec<_> = partitions.iter().map(|one| &one["partition"]).collect();
            let total = |kind: Kind| -> u64 {
                let outcomes = status["events"][kind.name()].as_object();
                let outcomes = outcomes.expect("outcomes").values();
                outcomes.filter_map(Value::as_u64).sum()
            };
            let is_at_rest = workers.iter().all(joined)
                && numbers == [0, 1, 2, 3]
                && partitions.iter().all(is_known)
                && Kind::ALL.map(total) == stream.produced();
            is_at_rest.then_some(())
        },
    );
    status
}

/// True if a sample may change while no record arrives.
fn moves(sample: &Exposed) -> bool {
    let name = sample.name.as_str();
    [
        "process_",
        "rankgauge_checkpoint",
        "rankgauge_gold_reload",
        "rankgauge_publish_duration",
        "rankgauge_scrape_duration",
        "rankgauge_snapshot_age",
        "rankgauge_watermark_delay",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

/// API response, and the content of `/metrics`, which was the same before and after it. Consumer
/// statistics and the end of windows, which the workers exchange, arrive later than the counters.
fn between_equal_scrapes(sidecar: &Sidecar, path: &str) -> (Value, Exposition) {
    let still = |exposition: &Exposition| -> Vec<(String, String)> {
        let samples = exposition.samples.iter().filter(|sample| !moves(sample));
        samples
            .map(|sample| (series(&sample.name, &sample.labels), sample.text.clone()))
            .collect()
    };
    wait_until(SOON, "two scrapes show the same", || {
        let before = sidecar.metrics();
        let answer = get(sidecar, path);
        let after = sidecar.metrics();
        (still(&before) == still(&after)).then_some((answer, after))
    })
}

fn shows_the_samples_of_metrics(sidecar: &Sidecar) {
    let (snapshot, exposition) = between_equal_scrapes(sidecar, "/api/v1/snapshot");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let shown: BTreeMap<String, f64> = snapshot["metrics"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|sample| {
            let labels = sample["labels"].as_object().expect("labels").iter();
            let labels = labels.map(|(name, value)| (name.clone(), text(value)));
            let name = series(&text(&sample["name"]), &labels.collect());
            (name, number(&sample["value"]))
        })
        .collect();
    // A snapshot is a state of the counts, and knows no durations of the process.
    let is_of_snapshot = |sample: &&Exposed| {
        let of_process = ["scrape", "publish", "checkpoint_write"];
        let mut durations = of_process
            .map(|it| format!("rankgauge_{it}_duration_seconds"))
            .into_iter();
        !durations.any(|name| sample.name.starts_with(&name))
    };
    let exposed: Vec<&Exposed> = exposition.samples.iter().filter(is_of_snapshot).collect();
    assert_eq!(shown.len(), exposed.len());
    for sample in exposed {
        let name = series(&sample.name, &sample.labels);
        let shown = shown
            .get(&name)
            .unwrap_or_else(|| panic!("{name} is missing"));
        if !moves(sample) {
            assert_close(*shown, sample.value);
        }
    }
}

fn shows_measures(sidecar: &Sidecar) {
    let path = "/api/v1/measures?measure=nDCG@10&measure=P@5&slice=all";
    let (shown, exposition) = between_equal_scrapes(sidecar, path);
    let rows = shown["measures"].as_array().expect("a list");
    let counts = exposition.matching("rankgauge_score_count_total", &[("slice", "all")]);
    let expected: Vec<_> = counts
        .filter(|sample| ["P@5", "nDCG@10"].contains(&sample.labels["measure"].as_str()))
        .collect();
    assert!(expected.len() >= 4, "{expected:?}");
    assert_eq!(rows.len(), expected.len());
    for sample in expected {
        let of = |name: &str| sample.labels[name].as_str();
        let row = rows
            .iter()
            .find(|row| row["measure"] == of("measure") && row["variant"] == of("variant"))
            .unwrap_or_else(|| panic!("{sample:?} is missing"));
        let labels = ["measure", "variant", "slice"].map(|name| (name, of(name)));
        let sum = exposition.sum("rankgauge_score_sum_total", &labels);
        assert_close(number(&row["count"]), sample.value);
        assert_close(number(&row["mean"]), sum / sample.value);
        for window in row["windows"].as_array().expect("a list") {
            let name = window["window"].as_str().expect("a name");
            let labels = [&labels[..], &[("window", name)]].concat();
            assert_close(
                number(&window["mean"]),
                exposition.sum("rankgauge_score", &labels),
            );
            assert!(number(&window["count"]) > 0.0);
        }
    }
    let one = get(sidecar, &format!("{path}&variant=V1&window=1h"));
    let rows = one["measures"].as_array().expect("a list");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["variant"], "V1");
        assert_eq!(row["windows"][0]["window"], "1h");
        assert_eq!(row["windows"][1], Value::Null);
    }
}

fn shows_queries(sidecar: &Sidecar, stream: &Stream) {
    let exposition = sidecar.metrics();
    let worst = get(sidecar, "/api/v1/queries?variant=V1&limit=1000");
    // Higher is better for clicks as well, but clicks are recorded later.
    assert_eq!(worst["measure"], "P@5");
    assert_eq!(worst["not_recorded"], 0);
    let rows = worst["queries"].as_array().expect("a list");
    assert!(rows.len() > 50, "{}", rows.len());
    assert_eq!(worst["found"], rows.len());
    assert!(rows.is_sorted_by(|a, b| number(&a["mean"]) <= number(&b["mean"])));
    let labels = [("measure", "P@5"), ("variant", "V1"), ("slice", "all")];
    let [count, sum] = ["count", "sum"].map(|what| {
        let name = format!("rankgauge_score_{what}_total");
        exposition.sum(&name, &labels)
    });
    assert_close(rows.iter().map(|row| number(&row["count"])).sum(), count);
    let scores = rows
        .iter()
        .map(|row| number(&row["count"]) * number(&row["mean"]));
    assert_close(scores.sum(), sum);
    // For a measure where lower is better, the highest values are the worst.
    let most = get(sidecar, "/api/v1/queries?measure=FP@5&limit=30");
    let most = most["queries"].as_array().expect("a list");
    assert_eq!(most.len(), 30);
    assert!(most.is_sorted_by(|a, b| number(&a["mean"]) >= number(&b["mean"])));

    let gold = fs::read_to_string(stream.gold()).expect("the gold set is there");
    let gold: Value = serde_json::from_str(&gold).expect("it is JSON");
    let served: BTreeMap<String, Value> = stream
        .files(Kind::Search)
        .iter()
        .flat_map(|file| {
            let text = fs::read_to_string(file).expect("it was written");
            let lines = text.lines().map(str::to_owned);
            lines.collect::<Vec<_>>()
        })
        .map(|line| serde_json::from_str::<Value>(&line).expect("it is JSON"))
        .map(|event| (event["query_id"].as_str().expect("an id").to_owned(), event))
        .collect();
    for row in rows.iter().take(20) {
        let key = row["key"].as_str().expect("a key");
        let query = get(sidecar, &format!("/api/v1/queries/{key}?variant=V1"));
        assert_eq!(query["text"], row["text"]);
        let arm = &query["variants"][0];
        assert_eq!(query["variants"].as_array().map(Vec::len), Some(1));
        assert_eq!(arm["searches"], row["count"]);
        let rankings = arm["rankings"].as_array().expect("a list");
        let count = row["count"].as_u64().expect("a count");
        assert_eq!(Some(rankings.len()), usize::try_from(count.min(5)).ok());
        let of_gold = gold["queries"]
            .as_array()
            .and_then(|queries| queries.iter().find(|query| query["query_id"] == key))
            .expect("the gold set has it");
        let grades = grades(of_gold);
        for ranking in rankings {
            let event = &served[ranking["query_id"].as_str().expect("an id")];
            agrees(ranking, event, &grades);
        }
    }
    let [key] = [&rows[0]["key"]].map(|key| key.as_str().expect("a key"));
    let short = get(sidecar, &format!("/api/v1/queries/{key}?cutoff=1"));
    let documents = &short["variants"][0]["rankings"][0]["documents"];
    assert!(
        documents
            .as_array()
            .is_some_and(|documents| documents.len() <= 1)
    );
}

/// Paths of all keys in `value`. Maps whose keys are data are not descended into.
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let path = format!("{path}.{key}");
                if !["labels", "lag"].contains(&key.as_str()) && !member.is_number() {
                    keys(member, &path, found);
                }
                let is_optional = [".scores.", ".reference."]
                    .iter()
                    .any(|it| path.contains(it));
                if !path.ends_with(".repeated") && !is_optional {
                    found.insert(path);
                }
            }
        }
        Value::Array(elements) => {
            for element in elements {
                keys(element, path, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn shows_what_the_document_says(sidecar: &Sidecar) {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/api.md");
    let document = fs::read_to_string(document).expect("it is there");
    let worst = get(sidecar, "/api/v1/queries?limit=1");
    let key = worst["queries"][0]["key"].as_str().expect("a key");
    for (section, method, path) in [
        ("Status", "GET", "/api/v1/status"),
        ("Measures", "GET", "/api/v1/measures"),
        ("Snapshot", "GET", "/api/v1/snapshot"),
        ("Queries", "GET", "/api/v1/queries"),
        ("One query", "GET", &format!("/api/v1/queries/{key}")),
        ("Commands", "POST", "/-/reload"),
    ] {
        let (_, text) = document
            .split_once(&format!("\n## {section}\n"))
            .unwrap_or_else(|| panic!("{section} is missing"));
        let (_, text) = text.split_once("```json\n").expect("an example");
        let (text, _) = text.split_once("```").expect("its end");
        let example: Value = serde_json::from_str(text).expect("the example is JSON");
        let answer = json_of(&ask(sidecar, method, path, ""), 200);
        let [documented, served] = [example, answer].map(|value| {
            let mut found = BTreeSet::new();
            keys(&value, "", &mut found);
            found
        });
        assert_eq!(documented, served, "{section}");
    }
}

/// Grades of a gold query, by document.
fn grades(query: &Value) -> BTreeMap<String, f64> {
    let judgements = query["ground_truth"].as_object().expect("judgements");
    judgements
        .iter()
        .map(|(id, judgement)| (id.clone(), number(&judgement["relevance"])))
        .collect()
}

/// True if a ranking contains the results that `event` served, with the grades of the gold set.
fn agrees(ranking: &Value, event: &Value, grades: &BTreeMap<String, f64>) {
    let results = event["results"].as_array().expect("results");
    assert_eq!(ranking["length"], results.len());
    let shown = ranking["documents"].as_array().expect("a list");
    assert_eq!(shown.len(), results.len().min(20));
    let mut seen = BTreeSet::new();
    for ((document, result), rank) in shown.iter().zip(results).zip(1..) {
        assert_eq!(document["rank"], rank);
        assert_eq!(document["id"], result["id"]);
        let id = result["id"].as_str().expect("an id");
        let repeated = !seen.insert(id);
        assert_eq!(document["repeated"].as_bool().unwrap_or(false), repeated);
        let grade = grades.get(id).filter(|_| !repeated);
        assert_eq!(document["grade"].as_f64(), grade.copied(), "{id}");
    }
    let missing = ranking["missing"].as_array().expect("a list");
    let is_shown = |id: &str| shown.iter().any(|document| document["id"] == id);
    let expected = grades
        .iter()
        .filter(|(id, grade)| **grade >= 1.0 && !is_shown(id));
    assert_eq!(missing.len(), expected.count().min(20));
}
