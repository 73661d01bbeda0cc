//! Live estimate of quality from labels: requests, answers, and their interval.

use std::sync::Arc;
use std::time::Duration;

use rankgauge_core::detection::log_threshold;
use rankgauge_core::engine::settings::{Labelling, Settings};
use rankgauge_core::engine::{Engine, LabelRequest, QualityEstimate};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::{self, GoldSet, Options};
use rankgauge_core::labelling::{SigningKey, uniform};
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

/// Probabilities of the last requests of head and tail, from a search a second. Every second one is of the gold set,
/// which lacks one of its ten results.
fn probabilities(per_day: f64) -> [f64; 2] {
    let mut traffic = Traffic::new(per_day);
    let grades = (0..9).map(|rank| (format!("head-{rank}"), json!(1)));
    let grades: serde_json::Map<String, Value> = grades.collect();
    let text =
        json!({ "queries": [{ "query_id": "k", "query_text": "head", "ground_truth": grades }] });
    let gold = gold::parse(
        "gold.json",
        text.to_string().as_bytes(),
        &Options::default(),
    );
    traffic.gold(gold.unwrap());
    let mut last = [0.0; 2];
    for number in 0..600 {
        let query = if number % 2 == 0 { "head" } else { "tail" };
        traffic.search(number, query);
        for request in traffic.engine.take_label_requests() {
            assert_eq!(request.sampling.stratum, query);
            last[usize::from(query == "tail")] = request.sampling.pi;
        }
    }
    last
}

#[test]
fn head_and_tail_have_equal_parts_of_the_budget() {
    // A day has 43,200 unknown results of the head, and 432,000 of the tail.
    for (per_day, expected) in [
        (43_200.0, [0.5, 0.05]),
        // The head needs 43,200 labels at most, and leaves the others to the tail.
        (259_200.0, [1.0, 0.5]),
    ] {
        for (found, expected) in probabilities(per_day).into_iter().zip(expected) {
            // The last period is a part of the traffic.
            let ratio = found / expected;
            assert!(
                (0.95..1.05).contains(&ratio),
                "{per_day}: {found}, expected {expected}"
            );
        }
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
    let mut traffic = Traffic::new(1e9);
    for number in 0..10 {
        traffic.search(number, &format!("query {number}"));
    }
    let requests = traffic.engine.take_label_requests();
    let first = &requests[0];
    // The request of another document, with this signature.
    let [(payload, _), (_, signature)] =
        [&requests[1], first].map(|it| it.request.split_once('.').unwrap());
    let forged = format!("{payload}.{signature}");
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

/// Estimate of P@5 in a second window, of which `answered` in 10 of the requests have labels. The first `share` in 10
/// queries of each window have relevant results only, the others have none.
fn second_window(shares: [i64; 2], answered: usize) -> QualityEstimate {
    let mut traffic = Traffic::new(1e9);
    for (window, share) in (0..).zip(shares) {
        for number in 0..400 {
            traffic.search(86_400 * window + number, &format!("query {number}"));
            let requests = traffic.engine.take_label_requests();
            assert_eq!(requests.len(), 10, "every result is requested");
            let answered = if window == 0 { 10 } else { answered };
            for request in &requests[..answered] {
                let grade = f64::from(u8::from(number % 10 < share));
                traffic.judge(request, grade, &[]);
            }
        }
        assert!(window > 0 || traffic.estimate("P@5").unwrap().drop_log_evidence.is_none());
    }
    traffic.estimate("P@5").unwrap()
}

#[test]
fn a_drop_from_one_window_to_the_next_is_evidence() {
    let found = second_window([9, 3], 10);
    assert!((found.mean - 0.3).abs() < 1e-6, "{found:?}");
    // 400 searches, whose variance is 1/4 at most: the lower end of 0.9, and the shortfall of 0.3.
    let (v, r) = (100.0_f64, 100.0 / 8.2);
    let width = ((v + r) * ((v + r) / (1e-6 * r)).ln()).sqrt();
    let shortfall = 400.0 * (0.9 - 0.01 - 0.3) - width;
    let expected = 0.5 * (r / (v + r)).ln() + 0.5 * shortfall * shortfall / (v + r);
    let evidence = found.drop_log_evidence.unwrap();
    assert!((evidence - expected).abs() < 1e-3, "{evidence}, {expected}");
    assert!(evidence > log_threshold(0.001));
}

#[test]
fn equal_better_and_unknown_windows_are_no_drop() {
    for shares in [[9, 9], [3, 9], [5, 5]] {
        let found = second_window(shares, 10);
        assert!(found.drop_log_evidence.unwrap() < 0.0, "{found:?}");
    }
    // Missing labels could be relevant: 2 of 5 results have none.
    let all = second_window([9, 3], 10).drop_log_evidence.unwrap();
    let few = second_window([9, 3], 5).drop_log_evidence.unwrap();
    assert!((all - few).abs() < 1e-6, "P@5 misses no label: {few}");
    let mut traffic = Traffic::new(1e9);
    for window in 0..2 {
        for number in 0..400 {
            traffic.search(86_400 * window + number, &format!("query {number}"));
            for (rank, request) in (0..).zip(traffic.engine.take_label_requests()) {
                if window == 0 || rank % 2 == 1 {
                    traffic.judge(&request, f64::from(u8::from(window == 0)), &[]);
                }
            }
        }
    }
    // All gains fell from 1 to 0, but 3 of 5 labels are missing.
    let missing = traffic.estimate("P@5").unwrap();
    let high = 400.0 * 0.6;
    let (v, r) = (100.0_f64, 100.0 / 8.2);
    let width = half_width(v, r);
    let shortfall = 400.0 * (1.0 - 0.01) - width - high;
    let expected = log_evidence(v, r, shortfall);
    assert!((missing.drop_log_evidence.unwrap() - expected).abs() < 1e-3);
}

/// Half width of the interval of a normal mixture with the variance `v` and the mixture variance `r`, at 0.001.
fn half_width(v: f64, r: f64) -> f64 {
    ((v + r) * ((v + r) / (1e-6 * r)).ln()).sqrt()
}

/// Log evidence of a normal mixture for a sum that is lower by `shortfall`.
fn log_evidence(v: f64, r: f64, shortfall: f64) -> f64 {
    0.5 * (r / (v + r)).ln() + 0.5 * shortfall.max(0.0).powi(2) / (v + r)
}

#[test]
fn missing_labels_have_their_planned_variance() {
    // One search a second around midnight: the probability of a request is 1/2 from the second minute on.
    let mut traffic = Traffic::new(432_000.0);
    // Corrections of P@5 by labels, divided by the difference of gain and prediction.
    let weight = |request: &LabelRequest, gain: f64| {
        let part = request.sampling.measures.get("P@5");
        part.map(|it| (it.c / request.sampling.pi, gain - it.f))
    };
    let variance = |request: &LabelRequest, gain: f64| {
        weight(request, gain).map_or(0.0, |(weight, error)| {
            (weight * error).powi(2) * (1.0 - request.sampling.pi)
        })
    };
    let mut counted = [0.0, 0.0];
    for number in 31_600..32_000 {
        traffic.search(number, &format!("query {number}"));
        let gain = if number % 2 == 0 { 1.0 } else { 0.0 };
        for request in traffic.engine.take_label_requests() {
            traffic.judge(&request, gain, &[]);
            counted[0] += variance(&request, gain);
        }
    }
    let before = 400.0 * traffic.estimate("P@5").unwrap().mean;
    // Nothing is relevant the day after. The results at the first rank have no label.
    let (mut missing, mut first_label) = (0.0, None);
    for number in 32_000..32_400 {
        traffic.search(number, &format!("query {number}"));
        for request in traffic.engine.take_label_requests() {
            assert!((request.sampling.pi - 0.5).abs() < 1e-9, "{request:?}");
            if request.object_id.ends_with("-0") {
                missing += weight(&request, 1.0).map_or(0.0, |(weight, error)| weight * error);
                continue;
            }
            traffic.judge(&request, 0.0, &[]);
            counted[1] += variance(&request, 0.0);
            if weight(&request, 0.0).is_some() {
                first_label.get_or_insert(i32::try_from(number - 31_999).unwrap());
            }
        }
    }
    let found = traffic.estimate("P@5").unwrap();
    // 5 results of each search with weight 1/5 and a mean square error of 0.2.
    let planned = |searches: f64| searches * 5.0 * 0.04 * 0.2;
    assert!(counted[0] > planned(340.0), "{counted:?}");
    assert!(counted[1] < 0.7 * planned(400.0), "{counted:?}");
    let width = half_width(100.0 + counted[0], 100.0 / 8.2);
    let shortfall = before - 4.0 - width - (400.0 * found.mean + missing);
    assert!(shortfall > 0.0, "{shortfall}");
    // A day has 1,440 times the searches of the first minute.
    let mixture = 1_440.0 * planned(f64::from(first_label.unwrap())) / 8.2 + 100.0 / 8.2;
    let expected = log_evidence(100.0 + planned(400.0), mixture, shortfall);
    let evidence = found.drop_log_evidence.unwrap();
    assert!((evidence - expected).abs() < 0.01, "{evidence}, {expected}");
}

#[test]
fn looking_after_each_label_raises_few_false_alarms() {
    let mut alarms = 0;
    for run in 0..500 {
        let (mut sum, mut variance) = (0.0, 0.0);
        let mut is_alarm = false;
        for term in 0..300 {
            let error = 2.0 * uniform(run, "correction", &term.to_string()) - 1.0;
            sum += error;
            variance += error * error;
            is_alarm |= log_evidence(variance, 100.0 / 8.2, -sum) >= log_threshold(0.05);
        }
        alarms += u32::from(is_alarm);
    }
    assert!(alarms <= 25, "{alarms} of 500");
}
