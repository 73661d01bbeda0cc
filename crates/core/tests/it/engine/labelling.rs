//! Live estimate of quality from labels: requests, answers, and their interval.

use std::sync::Arc;
use std::time::Duration;

use rankgauge_core::engine::Engine;
use rankgauge_core::engine::quality::{LabelRequest, QualityEstimate};
use rankgauge_core::engine::settings::{Labelling, Settings};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::{self, GoldSet, Options};
use rankgauge_core::labelling::{Sampling, SigningKey, uniform};
use rankgauge_core::number::{real, real_length};
use rankgauge_core::time::Millis;
use serde_json::{Value, json};

use super::recovery::{restored, write};
use super::{START, World, assign, read, settings, tick};

const DAY: i64 = 86_400_000;

fn labelling(per_day: f64) -> Settings {
    Settings {
        labelling: Some(Labelling {
            measures: ["P@5", "sDCG@10"].map(|it| it.parse().unwrap()).to_vec(),
            per_day,
            deadline: Millis(7 * DAY),
            window: Millis(DAY),
            seed: 3,
            scale_max: 3.0,
            key: SigningKey::new(b"a key of sixteen bytes"),
        }),
        feedback_window: Duration::from_mins(1),
        ..settings()
    }
}

/// Engine that reads searches and judgements.
struct Traffic {
    world: World,
    engine: Engine,
    read: [i64; 2],
}

impl Traffic {
    fn new(per_day: f64) -> Self {
        let world = World::new(labelling(per_day));
        let mut engine = world.engine();
        assign(&mut engine, 0);
        Self {
            world,
            engine,
            read: [0; 2],
        }
    }

    fn gold(&mut self, gold: GoldSet) {
        let gold = Arc::new(gold);
        self.engine.apply(rankgauge_core::engine::Input::Gold(gold));
    }

    fn read(&mut self, kind: Kind, payload: &Value) {
        let offset = self.read[kind.index()];
        self.read[kind.index()] += 1;
        tick(&mut self.engine, payload["ts"].as_i64().unwrap());
        read(&mut self.engine, kind, 0, offset, &payload.to_string());
    }

    /// Search number `number` at its second, with ten results of a query.
    fn search(&mut self, number: i64, query: &str) {
        let results: Vec<_> = (0..10)
            .map(|rank| json!({"id": format!("{query}-{rank}")}))
            .collect();
        let event = json!({
            "query_id": format!("s{number}"), "ts": START + 1_000 * number, "query": query,
            "variant": "V5", "results": results,
        });
        self.read(Kind::Search, &event);
    }

    /// Judgement that answers a request.
    fn judge(&mut self, request: &LabelRequest, grade: f64, changes: &[(&str, Value)]) {
        let mut event = json!({
            "event_id": format!("j{}", self.read[1]), "ts": request.ts + 5_000, "type": "judgment",
            "query_id": request.query_id, "object_id": request.object_id, "value": grade,
            "request": request.request,
        });
        for (name, value) in changes {
            event[*name] = value.clone();
        }
        self.read(Kind::Feedback, &event);
    }

    fn estimate(&self, measure: &str) -> Option<QualityEstimate> {
        let estimates = self.engine.snapshot().totals.quality.estimates();
        estimates.into_iter().find(|it| &*it.measure == measure)
    }
}

/// True grade of a document: it depends on its id alone.
fn grade_of(document: &str) -> f64 {
    (4.0 * uniform(99, "truth", document)).floor()
}

fn gain(measure: &str, document: &str) -> f64 {
    let grade = grade_of(document);
    if measure == "P@5" {
        f64::from(u8::from(grade >= 1.0))
    } else {
        grade / 3.0
    }
}

/// True mean of a measure over the queries of searches.
fn truth(measure: &str, queries: &[String]) -> f64 {
    let weights: Vec<f64> = if measure == "P@5" {
        vec![0.2; 5]
    } else {
        let discounts: Vec<f64> = (0..10)
            .map(|rank| 1.0 / f64::from(rank + 2).log2())
            .collect();
        let sum: f64 = discounts.iter().sum();
        discounts.into_iter().map(|it| it / sum).collect()
    };
    let of_query = |query: &String| -> f64 {
        let ranks = weights.iter().enumerate();
        ranks
            .map(|(rank, weight)| weight * gain(measure, &format!("{query}-{rank}")))
            .sum()
    };
    queries.iter().map(of_query).sum::<f64>() / real_length(queries.len())
}

#[test]
fn the_estimate_is_that_of_the_reference() {
    // 20 % of the first minute is requested: 86,400 labels a day for 5 results a second.
    let mut traffic = Traffic::new(86_400.0);
    for search in 0..59 {
        traffic.search(search, &format!("query {}", search % 20));
    }
    let requests = traffic.engine.take_label_requests();
    assert!(
        requests.len() > 60 && requests.len() < 180,
        "{}",
        requests.len()
    );
    assert_eq!(traffic.estimate("P@5"), None, "no label yet");
    for request in &requests {
        traffic.judge(request, grade_of(&request.object_id), &[]);
    }
    for measure in ["P@5", "sDCG@10"] {
        let found = traffic.estimate(measure).unwrap();
        assert_eq!(found.searches, 59);
        assert_eq!(found.requests, u64::try_from(requests.len()).unwrap());
        assert_eq!(found.labels, u64::try_from(requests.len()).unwrap());
        // Before the labels, every prediction is 0.5.
        let n = 59.0;
        let (mut sum, mut variance, mut planned) = (0.5 * n, 0.0, 0.0);
        for request in &requests {
            let sampling = &request.sampling;
            assert!((sampling.pi - 0.2).abs() < 1e-9);
            if let Some(weight) = sampling.measures.get(measure) {
                assert!((weight.f - 0.5).abs() < 1e-9);
                let error = gain(measure, &request.object_id) - weight.f;
                sum += weight.c * error / sampling.pi;
                variance += (1.0 - sampling.pi) * (weight.c * error / sampling.pi).powi(2);
            }
        }
        let ranks = if measure == "P@5" { 5 } else { 10 };
        for rank in 0..ranks {
            let c: f64 = if measure == "P@5" {
                0.2
            } else {
                let sum: f64 = (0..10).map(|it| 1.0 / f64::from(it + 2).log2()).sum();
                1.0 / f64::from(rank + 2).log2() / sum
            };
            planned += n * c * c * 0.2 * 0.8 / 0.2;
        }
        // The window is a day, of which its searches so far took a part.
        let passed = START + 58_000 - START.div_euclid(DAY) * DAY;
        let passed = real(u64::try_from(passed).unwrap());
        let r = planned * (86_400_000.0 / passed).max(1.0) / 8.2;
        let width = ((variance + r) * ((variance + r) / (0.0025 * r)).ln()).sqrt();
        let close = |found: f64, expected: f64| {
            assert!(
                (found - expected).abs() < 1e-6,
                "{found}, expected {expected}"
            );
        };
        close(found.mean, sum / n);
        close(found.lower, ((sum - width) / n).max(0.0));
        close(found.upper, ((sum + width) / n).min(1.0));
    }
}

#[test]
fn missing_labels_count_as_both_ends_and_known_grades_exactly() {
    let mut traffic = Traffic::new(1e9);
    let queries: Vec<String> = (0..40).map(|it| format!("query {}", it % 8)).collect();
    for (number, query) in queries.iter().enumerate() {
        traffic.search(i64::try_from(number).unwrap(), query);
    }
    let requests = traffic.engine.take_label_requests();
    assert_eq!(requests.len(), 400, "every result is requested");
    for request in &requests[..200] {
        traffic.judge(request, grade_of(&request.object_id), &[]);
    }
    let found = traffic.estimate("P@5").unwrap();
    let true_mean = truth("P@5", &queries);
    assert!(found.lower < true_mean && true_mean < found.upper);
    assert!((found.upper - found.lower - 0.5).abs() < 1e-6, "{found:?}");
    for request in &requests[200..] {
        traffic.judge(request, grade_of(&request.object_id), &[]);
    }
    for measure in ["P@5", "sDCG@10"] {
        let found = traffic.estimate(measure).unwrap();
        let expected = truth(measure, &queries);
        for end in [found.lower, found.mean, found.upper] {
            assert!(
                (end - expected).abs() < 1e-6,
                "{found:?}, expected {expected}"
            );
        }
        assert!(found.known.abs() < 1e-12);
    }

    // The same results, judged in the gold set: no label is needed.
    let mut traffic = Traffic::new(1e9);
    let json: Vec<Value> = (0..8)
        .map(|query| {
            let grades = (0..10).map(|rank| format!("query {query}-{rank}"));
            let grades = grades.map(|document| {
                let grade = grade_of(&document);
                (document, json!(grade))
            });
            let grades: serde_json::Map<String, Value> = grades.collect();
            json!({
                "query_id": format!("k{query}"), "query_text": format!("query {query}"),
                "ground_truth": grades,
            })
        })
        .collect();
    let text = json!({ "queries": json }).to_string();
    let gold = gold::parse("gold.json", text.as_bytes(), &Options::default());
    traffic.gold(gold.unwrap());
    for (number, query) in queries.iter().enumerate() {
        traffic.search(i64::try_from(number).unwrap(), query);
    }
    assert!(traffic.engine.take_label_requests().is_empty());
    let found = traffic.estimate("P@5").unwrap();
    assert!((found.mean - truth("P@5", &queries)).abs() < 1e-6);
    assert!((found.known - 1.0).abs() < 1e-12);
    assert!((found.upper - found.lower).abs() < 1e-9);
}

#[test]
fn the_interval_contains_the_truth_while_labels_arrive() {
    let mut outside = 0;
    for run in 0..40_i64 {
        let mut traffic = Traffic::new(43_200.0);
        let mut queries = Vec::new();
        let mut is_outside = false;
        for number in 0..600 {
            let query = format!("query {run} {}", (number * 7) % 150);
            traffic.search(number, &query);
            queries.push(query);
            for request in traffic.engine.take_label_requests() {
                traffic.judge(&request, grade_of(&request.object_id), &[]);
            }
            if number > 300 && number % 50 == 0 {
                let found = traffic.estimate("P@5").unwrap();
                let expected = truth("P@5", &queries);
                is_outside |= expected < found.lower || expected > found.upper;
                assert!(found.upper - found.lower < 0.5, "{found:?}");
            }
        }
        outside += u32::from(is_outside);
    }
    assert!(outside <= 5, "{outside} of 40");
}

#[test]
fn a_changed_request_is_no_label() {
    let key = SigningKey::new(b"a key of sixteen bytes");
    let mut traffic = Traffic::new(1e9);
    for number in 0..10 {
        traffic.search(number, &format!("query {number}"));
    }
    let requests = traffic.engine.take_label_requests();
    let first = &requests[0];
    let read = Sampling::read(&first.request, &key).unwrap();
    assert_eq!(read.variant, "V5");
    // A higher probability or another prediction, signed with another key.
    let mut changed = read.clone();
    changed.pi /= 2;
    let forged = changed.token(&SigningKey::new(b"another key"));
    assert!(Sampling::read(&forged, &key).is_err());
    let (payload, signature) = first.request.split_once('.').unwrap();
    for token in [
        "",
        ".",
        payload,
        signature,
        &format!("{payload}."),
        &format!("{signature}.{signature}"),
        &format!("A{payload}.{signature}"),
        &"x".repeat(9_000),
    ] {
        assert!(Sampling::read(token, &key).is_err(), "{token}");
    }
    for request in &requests[1..50] {
        traffic.judge(request, 1.0, &[]);
    }
    let before = traffic.estimate("P@5").unwrap();
    // Forged, of another document, of a model, answered twice, and too late.
    let late = requests[60].deadline + 1;
    for (request, changes) in [
        (first, vec![("request", json!(forged))]),
        (first, vec![("object_id", json!("query 3-3"))]),
        (
            first,
            vec![("evaluator", json!({"id": "m", "kind": "model"}))],
        ),
        (&requests[1], vec![]),
        (&requests[60], vec![("ts", json!(late))]),
    ] {
        traffic.judge(request, 3.0, &changes);
        assert_eq!(traffic.estimate("P@5").unwrap(), before);
    }
    // The label of the first one still counts, on a scale of its own.
    let scale = [("min", json!(0)), ("max", json!(10))];
    traffic.judge(first, 10.0, &scale);
    assert_ne!(traffic.estimate("sDCG@10").unwrap().labels, before.labels);
}

#[test]
fn a_restart_goes_on_with_the_same_windows_and_probabilities() {
    let mut traffic = Traffic::new(200_000.0);
    let mut through = Traffic::new(200_000.0);
    for number in 0..300 {
        let query = format!("query {number}");
        for traffic in [&mut traffic, &mut through] {
            traffic.search(number, &query);
            for request in traffic.engine.take_label_requests() {
                traffic.judge(&request, grade_of(&request.object_id), &[]);
            }
        }
        if number == 150 {
            let saved = write(&traffic.engine);
            (traffic.engine, _) = restored(&traffic.world, &saved);
            assign(&mut traffic.engine, 0);
            traffic.read = through.read;
        }
    }
    let found = traffic.estimate("P@5").unwrap();
    assert_eq!(Some(found), through.estimate("P@5"));
}
