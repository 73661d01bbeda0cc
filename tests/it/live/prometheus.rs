//! A real Prometheus beside two replicas with the law-search profile. The scraped metrics pass
//! `promtool`, agree with the rolling values, answer every query of the dashboards, and match the
//! catalogue.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rankgauge_core::engine::family::{self, Family, Type};
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, Millis};
use rankgauge_lab::traffic::Record;
use rankgauge_serve::clock::wall_now;
use serde_json::{Value, json};

use super::http::ask_with_body;
use super::stream::Stream;
use super::{CONSUMED, SOON, pending, received, settings, yaml};
use crate::dashboards::{
    VariableQuery, annotation_queries, folder, panel_queries, variable_queries,
};
use crate::harness::alertmanager::{SPEED, accelerated_rules};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::prometheus::{Prometheus, Sample, promtool_check_metrics};
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::wait_until;

const PROFILE: &str = include_str!("../../../config/law-search.yaml");
const SEARCHES: usize = 1_500;
const SCRAPE_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum relative difference between the extrapolation of two increases over the same range:
/// Prometheus extrapolates by half a scrape interval, except if a counter started at 0. The number
/// of [`SCRAPES`] reduces the difference.
const STRETCH: f64 = 0.02;
const SCRAPES: u32 = 30;

/// Two replicas of one group, with a partition each.
type Replicas = [Sidecar; 2];

/// Replicas with two bursts of traffic: one before Prometheus starts, ten minutes earlier in event
/// time, and one after it, at the present time. Windows contain only the second burst, and so does
/// an increase.
fn observed() -> (Replicas, Observer) {
    let mut past = Stream::on_new_topics(broker(), 2, 100.0, Millis(600_000));
    let mut settings = settings(broker(), &past);
    settings["windows"] = json!(["1m", "5m"]);
    let arms = ["V1", "V2", "V3", "V4", "V5"];
    let arms = arms.map(|arm| json!({"variant": arm, "share": 0.2}));
    settings["experiments"] = json!([{
        "id": "law-search-ablation",
        "control": "V1",
        "arms": arms,
    }]);
    settings["detection"] = json!({
        "measures": ["nDCG@10", "RR"],
        "slices": ["query_type"],
    });
    settings["feedback"] = json!({"min_samples": 5, "expected_clicks": [0.3, 0.2, 0.1]});
    settings["kafka"]["dead_letter_topic"] = json!("never.written");
    settings["state"] = json!({"topic": unique_name("state"), "interval": "1s"});
    let tokens = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prometheus-tokens.yaml");
    let file = "applications: [{name: shop, tokens: [a-token-of-the-shop]}]\n";
    std::fs::write(&tokens, file).expect("a file");
    settings["gateway"] = json!({"listen": "127.0.0.1:0", "tokens_file": tokens});
    // Time advances when the traffic pauses, so every search is soon finalised.
    settings["engine"] = json!({
        "out_of_orderness": "1s",
        "feedback_window": "5s",
        "idle_timeout": "1s",
    });
    // Measures cannot use events later than the end of the feedback window.
    let profile = PROFILE
        .replace("  - SAT\n", "  - SAT(dwell=2)\n")
        .replace("  - Reformulated\n", "  - Reformulated(within=5)\n")
        .replace("  - SessionSuccess\n", "")
        .replace(
            "targets:\n",
            "targets:\n  - {error_rate: 0.05}\n  - {zero_result_rate: 0.2}\n  \
             - {traffic_share: {variant: V1, min: 0.01}}\n",
        );
    let replicas = ["a", "b"].map(|name| {
        // The catalogue contains families that only this setting exposes.
        settings["checkpoint"] = json!({"folder": past.folder().join(name)});
        Sidecar::start(&format!("{profile}\n{}", yaml(&settings)), &[])
    });
    wait_until(SOON, "each replica has a partition", || {
        let assigned = |it: &Sidecar| it.metrics().sum("rankgauge_assigned_partitions", &[]);
        let each = replicas.iter().map(assigned).collect::<Vec<_>>();
        (each == [1.0, 1.0]).then_some(())
    });
    let deployment = r#"{"variant": "V1", "version": "1.0.0"}"#;
    let headers = format!(
        "Host: localhost\r\nContent-Length: {}\r\n",
        deployment.len()
    );
    for replica in &replicas {
        let address = replica.admin_address();
        let reported = ask_with_body(address, "POST", "/-/deployment", &headers, deployment);
        assert_eq!(reported.status, 202);
    }
    past.produce(broker(), SEARCHES);
    past.send(broker(), &rarities(&past.gold(), Millis(590_000)));
    settle(&replicas, past.produced());

    let prometheus = with_our_rules(&replicas);
    prometheus.wait_for_scrapes(2);
    let burst = prometheus.query("time()")[0].value;
    let mut present = Stream::new(past.topics(), 2, 100.0, Millis(20_000));
    present.produce(broker(), SEARCHES);
    present.send(broker(), &rarities(&present.gold(), Millis(10_000)));
    let ([searches, feedback], more) = (past.produced(), present.produced());
    settle(&replicas, [searches + more[0], feedback + more[1]]);
    prometheus.wait_for_scrapes(SCRAPES);
    (replicas, Observer::of(prometheus, burst))
}

/// Prometheus queried at one fixed time, independent of later scrapes: a scrape that times out on a
/// busy machine removes all series until the next scrape.
struct Observer {
    prometheus: Prometheus,
    /// Seconds since the Unix epoch.
    at: f64,
    /// Time at which the second burst began. Rates of a few seconds have values only soon after it.
    burst: f64,
}

impl Observer {
    /// Selects a time preceded by several successful scrapes, so that the rules were evaluated on
    /// one.
    fn of(prometheus: Prometheus, burst: f64) -> Self {
        let at = wait_until(CONSUMED, "scrapes succeed, and rules are evaluated", || {
            let [now] = &prometheus.query("time()")[..] else {
                return None;
            };
            let at = now.value;
            let answers = |expr: &str| !prometheus.query_at(expr, at).is_empty();
            let last = "rankgauge:experiment_difference:avg";
            let is_fresh = answers("min_over_time(up[3s]) == 1 and count_over_time(up[3s]) >= 4");
            (is_fresh && answers(last)).then_some(at)
        });
        Self {
            prometheus,
            at,
            burst,
        }
    }

    fn query(&self, expr: &str) -> Vec<Sample> {
        self.prometheus.query_at(expr, self.at)
    }

    /// Evaluates an expression at the fixed time, and then at earlier ones, back to the burst. Returns
    /// the first answer with samples.
    fn evaluate(&self, expr: &str) -> Result<Vec<Sample>, String> {
        let mut at = self.at;
        loop {
            let samples = self.prometheus.evaluate(expr, Some(at))?;
            if !samples.is_empty() || at < self.burst {
                return Ok(samples);
            }
            at -= 0.5;
        }
    }
}

/// Prometheus with the shipped rules, in which one minute is one second. Panels use only rules
/// without a range.
fn with_our_rules(replicas: &Replicas) -> Prometheus {
    let rules = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    let files = accelerated_rules(&folder("deploy/prometheus/rules"), rules.path(), SPEED);
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    // Prometheus has loaded its rules when it is ready.
    let targets = replicas.each_ref().map(Sidecar::address);
    Prometheus::start(&targets, SCRAPE_INTERVAL, &files)
}

/// Records that are too rare in the traffic: a search that calls a model without a configured
/// price, with a thumb, a click, a rating and two grades that agree with the gold set, although the
/// search has no results.
fn rarities(gold: &Path, ago: Millis) -> [Record; 7] {
    let gold = std::fs::read_to_string(gold).expect("a gold set");
    let gold: Value = serde_json::from_str(&gold).expect("JSON");
    let query = &gold["queries"][0];
    let judged = query["ground_truth"].as_object().expect("judgements");
    let graded = |holds: fn(i64) -> bool| {
        let grade = |judgement: &Value| judgement["relevance"].as_i64().or(judgement.as_i64());
        let mut judged = judged.iter();
        let found = judged.find(|(_, judgement)| grade(judgement).is_some_and(holds));
        found.expect("a document of that grade").0
    };
    let ts = EventTime(wall_now().0).minus(ago);
    let key = format!("rare-{}", ts.0);
    let search = json!({
        "query_id": key,
        "ts": ts.0,
        "query_key": query["query_id"],
        "results": [],
        "variant": "V1",
        "usage": [{"operation": "chat", "model": "a-model-of-our-own", "input_tokens": 10}],
    });
    let thumb = json!({
        "event_id": key,
        "ts": ts.0,
        "query_id": key,
        "type": "thumbs",
        "value": true,
    });
    let click = json!({
        "event_id": 1,
        "ts": ts.0,
        "query_id": key,
        "type": "click",
        "position": 1,
    });
    let rating = json!({
        "event_id": 4,
        "ts": ts.0,
        "query_id": key,
        "type": "rating",
        "value": 4,
    });
    let grade = |event: u8, document: &str, value: u8| {
        json!({
            "event_id": event,
            "ts": ts.0,
            "query_id": key,
            "type": "judgment",
            "object_id": document,
            "value": value,
        })
    };
    let mut evaluated = grade(5, graded(|grade| grade > 0), 1);
    evaluated["evaluator"] = json!({"id": "rule-1", "version": "1", "kind": "rule"});
    evaluated["cost"] = json!({"amount": 0.002, "currency": "EUR"});
    let records = [
        (Kind::Search, search),
        (Kind::Feedback, thumb),
        (Kind::Feedback, click),
        (Kind::Feedback, rating),
        (Kind::Feedback, grade(2, graded(|grade| grade > 0), 2)),
        (Kind::Feedback, grade(3, graded(|grade| grade == 0), 0)),
        (Kind::Feedback, evaluated),
    ];
    records.map(|(kind, event)| Record {
        kind,
        ts,
        // Both bursts belong to one partition, and so to one replica: a series that is new has no rate.
        key: "rare".to_owned(),
        payload: event.to_string().into_bytes(),
    })
}

/// Waits until everything is received by the replicas together and has an outcome.
fn settle(replicas: &Replicas, records: [u64; 2]) {
    let sums = |of: &dyn Fn(&Exposition) -> [u64; 2]| {
        let each = replicas.each_ref().map(|replica| of(&replica.metrics()));
        [each[0][0] + each[1][0], each[0][1] + each[1][1]]
    };
    wait_until(CONSUMED, "every record is received", || {
        (sums(&received) == records).then_some(())
    });
    wait_until(SOON, "every search is seen to its end", || {
        let left = sums(&|exposition| Kind::ALL.map(|kind| pending(exposition, kind)));
        (left == [0, 0]).then_some(())
    });
}

#[test]
fn scraped_metrics_match_the_catalogue_and_answer_dashboard_queries() {
    let (replicas, prometheus) = observed();
    increases_divide_to_the_rolling_score(&prometheus);
    every_query_of_the_dashboards_answers(&prometheus);
    every_variable_of_the_dashboards_has_values(&prometheus);
    let texts = replicas.each_ref().map(|replica| replica.get("/metrics").1);
    let expositions = texts
        .each_ref()
        .map(|text| Exposition::parse(text).expect("the text format"));
    what_is_exposed_is_the_catalogue(&expositions);
    for text in &texts {
        assert_eq!(promtool_check_metrics(text), Ok(()));
    }
}

/// Compares the mean from counters with the rolling mean, replica by replica.
fn increases_divide_to_the_rolling_score(prometheus: &Observer) {
    let by = "sum by (instance, measure, variant, slice, value)";
    let sum = format!("{by} (increase(rankgauge_score_sum_total[5m]))");
    let negative = format!("{by} (increase(rankgauge_score_negative_sum_total[5m]))");
    let number = format!("{by} (increase(rankgauge_score_count_total[5m]))");
    // Measures with negative values are exposed as a difference of two counters.
    let signed: BTreeSet<String> = prometheus
        .query("count by (measure) (rankgauge_score_negative_sum_total)")
        .into_iter()
        .map(|sample| sample.labels["measure"].clone())
        .collect();
    let from_counters: BTreeMap<_, f64> = prometheus
        .query(&format!(
            "(({sum}) - ({negative}) or ({sum})) / ({number} > 0)"
        ))
        .into_iter()
        .map(|sample| (sample.labels, sample.value))
        .collect();
    let rolling = prometheus.query("rankgauge_score{window=\"5m\"}");
    assert!(rolling.len() > 300, "only {} scores", rolling.len());
    let (mut whole, mut started) = (0, 0);
    let count = rolling.len();
    for sample in rolling {
        let labels: BTreeMap<_, _> = ["instance", "measure", "variant", "slice", "value"]
            .iter()
            // Prometheus treats an empty label as absent.
            .filter_map(|name| Some(((*name).to_owned(), sample.labels.get(*name)?.clone())))
            .collect();
        let Some(mean) = from_counters.get(&labels) else {
            // The series started with the second burst. Its first value is not part of an increase.
            assert_ne!((&*labels["slice"], &*labels["measure"]), ("all", "nDCG@10"));
            started += 1;
            continue;
        };
        let is_whole = labels["slice"] == "all" && labels["measure"] == "nDCG@10";
        whole += usize::from(is_whole);
        let tolerance = if is_whole {
            1e-9
        } else if signed.contains(&labels["measure"]) {
            STRETCH
        } else {
            STRETCH * sample.value
        };
        assert!(
            (mean - sample.value).abs() <= tolerance + 1e-9,
            "{labels:?}: {mean} from counters, {} rolling",
            sample.value
        );
    }
    assert!(
        started * 4 < count,
        "{started} of {count} series have no increase"
    );
    assert_eq!(
        whole, 10,
        "every variant has a mean of nDCG@10 on both replicas"
    );
}

fn every_query_of_the_dashboards_answers(prometheus: &Observer) {
    let queries = panel_queries();
    assert!(queries.len() > 30, "only {} queries", queries.len());
    let mut problems = Vec::new();
    for query in queries {
        let problem = match prometheus.evaluate(&query.expr) {
            Err(reason) => reason,
            // No one answers requests for labels here; `live::labelling` has answers.
            Ok(_)
                if query.expr.contains("rankgauge_quality")
                    || query.expr.contains("rankgauge:quality_") =>
            {
                continue;
            }
            // Too few values of evaluators have one of people here; rules are tested with some.
            Ok(_)
                if query.expr.contains("evaluator_drift")
                    || query.expr.contains("test=\"evaluator\"") =>
            {
                continue;
            }
            // `live::stalled` has a forwarder.
            Ok(_) if query.expr.contains("rankgauge_forwarder_lag_records") => continue,
            // This traffic has no answers.
            Ok(_)
                if ["CitationP|", "TokenF1|", "\"Refusal\"", "\"Evaluation"]
                    .iter()
                    .any(|measures| query.expr.contains(measures)) =>
            {
                continue;
            }
            // This traffic has no incident; rules are tested with one.
            Ok(_) if query.expr.contains("rankgauge:incident_") => continue,
            Ok(samples) if samples.is_empty() => "no answer".to_owned(),
            Ok(samples) if samples.iter().any(|sample| sample.value.is_nan()) => "NaN".to_owned(),
            Ok(_) => continue,
        };
        problems.push(format!("{}: {problem}: {}", query.panel, query.expr));
    }
    for expr in annotation_queries() {
        // This traffic raises no alarm, and the gold set does not change.
        if let Err(reason) = prometheus.evaluate(&expr) {
            problems.push(format!("annotation: {reason}: {expr}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn every_variable_of_the_dashboards_has_values(prometheus: &Observer) {
    // A Prometheus above several clusters sets the label `cluster`; this one is of a single cluster.
    let of_one_cluster = |it: &VariableQuery| it.label != "cluster";
    for query in variable_queries().into_iter().filter(of_one_cluster) {
        let found = prometheus.query(&format!("count by ({}) ({})", query.label, query.series));
        let values = found
            .iter()
            .filter(|sample| sample.labels.contains_key(&query.label));
        assert!(values.count() > 0, "${}: {}", query.variable, query.series);
    }
}

/// Families of a sidecar with a gateway. A probe is a process of its own; these sidecars have no forwarders
/// (`stalled` has one) and have not restored a checkpoint (`faults` has one that did).
fn of_a_sidecar() -> impl Iterator<Item = &'static &'static Family> {
    let families = family::ALL.iter();
    families.filter(|family| {
        !family.name.starts_with("probe_")
            && family.name != "checkpoint_restored_timestamp_seconds"
            && family.name != family::FORWARDER_LAG.name
    })
}

/// Asserts that the families of each replica are exactly those of the catalogue, with the same type and
/// help, and that the samples of both together have the same labels.
fn what_is_exposed_is_the_catalogue(replicas: &[Exposition; 2]) {
    let ours = |names: &mut dyn Iterator<Item = &String>| -> BTreeSet<String> {
        names
            .filter(|name| !name.starts_with("process_"))
            .cloned()
            .collect()
    };
    let families: BTreeSet<String> = of_a_sidecar().map(|it| it.full_name()).collect();
    for exposition in replicas {
        assert_eq!(ours(&mut exposition.kinds.keys()), families);
        assert_eq!(ours(&mut exposition.helps.keys()), families);
        for family in of_a_sidecar() {
            let name = family.full_name();
            assert_eq!(exposition.kinds[&name], family.kind.name(), "{name}");
            assert_eq!(exposition.helps[&name], family.help, "{name}");
        }
    }
    let mut samples_of = 0;
    let mut missing = Vec::new();
    for family in of_a_sidecar() {
        let name = family.full_name();
        let names: Vec<String> = match family.kind {
            Type::Histogram => ["_bucket", "_sum", "_count"]
                .iter()
                .map(|suffix| format!("{name}{suffix}"))
                .collect(),
            // Summaries of the process have a sum and a count, those of windows have none.
            Type::Summary if !family.label_names().contains(&"window") => ["", "_sum", "_count"]
                .iter()
                .map(|suffix| format!("{name}{suffix}"))
                .collect(),
            Type::Counter | Type::Gauge | Type::Summary => vec![name.clone()],
        };
        for sample_name in names {
            let mut expected: BTreeSet<&str> = family.label_names().into_iter().collect();
            if sample_name.ends_with("_bucket") {
                expected.insert("le");
            } else if sample_name != name {
                expected.remove("quantile");
            }
            let before = samples_of;
            for sample in replicas
                .iter()
                .flat_map(|it| it.matching(&sample_name, &[]))
            {
                let labels: BTreeSet<&str> = sample.labels.keys().map(String::as_str).collect();
                assert_eq!(labels, expected, "{sample_name}");
                samples_of += 1;
            }
            // Tests of the engine show the families of a drop, and searches that are not eligible.
            let is_of_drop = family.name.starts_with("incident")
                || family.name.starts_with("drop_")
                    && family.name != family::DROP_LOG_EVIDENCE.name;
            let is_of_pages = family.name == "searches_not_eligible_total";
            // Tests of the engine show conversions of a window of their own.
            let is_of_conversions = family.name == "conversions_not_counted_total";
            // No one answers requests for labels here; `live::labelling` has answers.
            let is_of_labels =
                family.name.starts_with("quality") || family.name.starts_with("label");
            // Tests of the engine show an evaluator with enough values of people.
            let is_of_agreement = [
                "evaluator_slice_kappa",
                "evaluator_corrected_value",
                "evaluator_drift_change",
            ]
            .contains(&family.name);
            let is_elsewhere =
                is_of_drop || is_of_pages || is_of_conversions || is_of_labels || is_of_agreement;
            if samples_of == before && !is_elsewhere {
                missing.push(sample_name);
            }
        }
    }
    assert!(missing.is_empty(), "without a sample: {missing:?}");
    let strangers: Vec<&str> = replicas
        .iter()
        .flat_map(|exposition| &exposition.samples)
        .map(|sample| sample.name.as_str())
        .filter(|name| !name.starts_with("process_"))
        .collect();
    assert_eq!(
        strangers.len(),
        samples_of,
        "samples outside of the catalogue"
    );
}
