//! Path from a record in Kafka to a notification: sidecar, Prometheus with the shipped rules,
//! Alertmanager with the shipped example, webhook. One minute in the rules is one second here.

mod demo;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, Millis};
use rankgauge_lab::traffic::Record;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{CONSUMED, SHUTDOWN, SOON, scrape_when_received, settings, start};
use crate::dashboards::{dashboards, folder};
use crate::harness::alertmanager::{Alert, Alertmanager, Notified, SPEED, accelerated_rules};
use crate::harness::kafka::broker;
use crate::harness::prometheus::{GRAFANA, Prometheus};
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

const SCRAPE_INTERVAL: Duration = Duration::from_millis(250);

fn alertmanager() -> Alertmanager {
    Alertmanager::start(&folder("deploy/alertmanager/alertmanager.yaml"))
}

/// Prometheus with the shipped rules that sends alerts to `alertmanager`.
fn prometheus(sidecars: &[&Sidecar], alertmanager: &Alertmanager) -> Prometheus {
    let rules = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    let files = accelerated_rules(&folder("deploy/prometheus/rules"), rules.path(), SPEED);
    let files: Vec<_> = files.iter().map(PathBuf::as_path).collect();
    let targets: Vec<_> = sidecars.iter().map(|sidecar| sidecar.address()).collect();
    let to = Some(alertmanager.address());
    // Prometheus has loaded its rules when it is ready.
    Prometheus::start_alerting(&targets, SCRAPE_INTERVAL, &files, to)
}

fn label<'a>(alert: &'a Alert, name: &str) -> &'a str {
    alert.labels.get(name).map_or("", String::as_str)
}

/// Alerts in Alertmanager, after it has processed all of them.
fn decided(alertmanager: &Alertmanager) -> Vec<Alert> {
    wait_until(SOON, "every alert is processed", || {
        let alerts = alertmanager.alerts();
        let decided = alerts
            .iter()
            .all(|alert| alert.status.state != "unprocessed");
        decided.then_some(alerts)
    })
}

/// True if no scrape was lost. On a busy machine, a scrape may time out: alerts then end and fire again, and others
/// report that the target is down.
fn has_every_scrape(prometheus: &Prometheus) -> bool {
    !prometheus.query("min_over_time(up[1d]) == 1").is_empty()
}

/// Alert with the labels that the rules set.
fn alert(name: &str, concern: &str, severity: &str, labels: Value) -> Value {
    let mut all = json!({
        "alertname": name, "concern": concern, "severity": severity, "job": "rankgauge",
    });
    let Value::Object(labels) = labels else {
        panic!("labels are an object")
    };
    all.as_object_mut()
        .expect("invariant: made as an object")
        .extend(labels);
    json!({ "labels": all })
}

#[test]
fn one_drop_is_one_notification_and_slice_alerts_are_inhibited() {
    let dropped = |labels| alert("RankgaugeQualityDropped", "quality", "critical", labels);
    let missed = |labels| alert("RankgaugeQualityBelowTarget", "quality", "warning", labels);
    let alertmanager = alertmanager();
    alertmanager.post(&json!([
        dropped(json!({"measure": "nDCG@10", "variant": "V5", "slice": "all"})),
        dropped(
            json!({"measure": "nDCG@10", "variant": "V5", "slice": "query_type", "value": "조문"})
        ),
        dropped(json!({"measure": "P@5", "variant": "V5", "slice": "all"})),
        missed(json!({"measure": "nDCG@10", "variant": "V5", "slice": "all"})),
        missed(json!({"measure": "P@5", "variant": "V5", "slice": "query_type", "value": "조문"})),
        dropped(
            json!({"measure": "nDCG@10", "variant": "V4", "slice": "query_type", "value": "조문"})
        ),
        missed(json!({"measure": "RR", "variant": "V4", "slice": "all"})),
    ]));
    let sent = wait_until(
        SOON,
        "both variants are told, and the missed target",
        || {
            let sent = alertmanager.notifications();
            (sent.len() >= 3).then_some(sent)
        },
    );
    let told: BTreeSet<(String, Vec<String>)> = sent
        .into_iter()
        .map(|notification| {
            let alerts = notification.alerts.iter().map(|alert| {
                let labels = ["variant", "measure", "slice"].map(|name| &*alert.labels[name]);
                format!("{} {}", alert.labels["alertname"], labels.join(" "))
            });
            let mut alerts: Vec<String> = alerts.collect();
            alerts.sort();
            (notification.receiver, alerts)
        })
        .collect();
    let expected = [
        (
            "on-call",
            vec![
                "RankgaugeQualityDropped V5 P@5 all",
                "RankgaugeQualityDropped V5 nDCG@10 all",
            ],
        ),
        (
            "on-call",
            vec!["RankgaugeQualityDropped V4 nDCG@10 query_type"],
        ),
        ("search-team", vec!["RankgaugeQualityBelowTarget V4 RR all"]),
    ];
    let expected = expected.map(|(receiver, alerts)| {
        let alerts = alerts.into_iter().map(str::to_owned).collect();
        (receiver.to_owned(), alerts)
    });
    assert_eq!(told, BTreeSet::from(expected));
    let held_back = decided(&alertmanager)
        .iter()
        .filter(|alert| alert.status.state == "suppressed")
        .count();
    assert_eq!(held_back, 3);
}

#[test]
fn measurement_alerts_inhibit_quality_alerts_of_the_same_deployment_only() {
    let quality = |namespace: &str, variant: &str, measure: &str| {
        let labels = json!({
            "namespace": namespace, "variant": variant, "measure": measure, "slice": "all",
        });
        alert("RankgaugeQualityDropped", "quality", "critical", labels)
    };
    let doubt = |name, labels| alert(name, "measurement", "warning", labels);
    let vanished = "RankgaugeSeriesVanished";
    let alertmanager = alertmanager();
    alertmanager.post(&json!([
        doubt(
            "RankgaugeGoldCoverageHalved",
            json!({"namespace": "doubtful"})
        ),
        quality("doubtful", "V5", "nDCG@10"),
        quality("sound", "V5", "nDCG@10"),
        doubt(
            vanished,
            json!({"namespace": "partial", "variant": "V5", "measure": "CTR"})
        ),
        quality("partial", "V5", "CTR"),
        quality("partial", "V5", "nDCG@10"),
        doubt(vanished, json!({"namespace": "partial", "variant": "V4"})),
        quality("partial", "V4", "nDCG@10"),
        alert(
            "RankgaugeRecordsLost",
            "upkeep",
            "warning",
            json!({"namespace": "sound", "topic": "search.log"}),
        ),
    ]));
    wait_until(SOON, "the alert on the sound deployment", || {
        let sent = alertmanager.firing("RankgaugeQualityDropped");
        (sent.len() >= 2).then_some(())
    });
    let held_back: BTreeSet<[String; 3]> = decided(&alertmanager)
        .iter()
        .filter(|alert| alert.status.state == "suppressed")
        .map(|alert| ["namespace", "variant", "measure"].map(|name| label(alert, name).to_owned()))
        .collect();
    let expected = [
        ["doubtful", "V5", "nDCG@10"],
        ["partial", "V4", "nDCG@10"],
        ["partial", "V5", "CTR"],
    ];
    let expected = expected.map(|labels| labels.map(str::to_owned));
    assert_eq!(held_back, BTreeSet::from(expected));
    let sent = alertmanager.firing("RankgaugeQualityDropped");
    let sent: BTreeSet<[&str; 3]> = sent
        .iter()
        .map(|(_, alert)| {
            ["namespace", "variant", "measure"].map(|name| alert.labels[name].as_str())
        })
        .collect();
    let expected = [["partial", "V5", "nDCG@10"], ["sound", "V5", "nDCG@10"]];
    assert_eq!(sent, BTreeSet::from(expected));
}

/// One of two replicas stops. The other takes over, so that this is a warning and no alert on quality is
/// held back. Its objective is that every search succeeds: its quality alert fires with any traffic.
#[test]
fn a_stopped_replica_of_two_warns_and_holds_no_alert_on_quality_back() {
    let mut stream = Stream::on_new_topics(broker(), 2, 2_000.0, Millis(60_000));
    let mut settings = settings(broker(), &stream);
    settings["measures"] = json!(["Success@1"]);
    settings["targets"] = json!([{"measure": "Success@1", "tier": "good", "value": 1.0}]);
    let sidecar = start(&settings);
    let mut stopped = start(&settings);
    let alertmanager = alertmanager();
    let prometheus = prometheus(&[&sidecar, &stopped], &alertmanager);
    prometheus.wait_for_scrapes(2);
    let address = stopped.address().to_string();
    assert!(stopped.terminate(SHUTDOWN).success());

    // Traffic continues, because its absence would raise an alert as well. It is too low for a
    // quality alert, which could otherwise fire first.
    let mut trickle = 0..300;
    let (receiver, down) = wait_until(CONSUMED, "the stopped sidecar is told", || {
        if trickle.next().is_some() {
            stream.produce(broker(), 1);
        }
        alertmanager.firing("RankgaugeDown").pop()
    });
    assert_eq!(receiver, "search-team");
    assert_eq!(down.labels["instance"], address);
    the_links_lead_somewhere(&down, &prometheus);

    wait_until(CONSUMED, "an alert on quality is told", || {
        stream.produce(broker(), 20);
        let notified = alertmanager.notifications().into_iter();
        let mut alerts = notified.flat_map(|notification| notification.alerts);
        alerts
            .any(|alert| alert.labels["concern"] == "quality")
            .then_some(())
    });
    let alerts = alertmanager.alerts();
    let is_held_back = |alert: &Alert| !alert.status.inhibited_by.is_empty();
    let mut of_quality = alerts
        .iter()
        .filter(|alert| label(alert, "concern") == "quality");
    assert!(!of_quality.any(is_held_back));
}

/// Number of searches of a variant after which its baselines are exact enough to find a drop.
const LEARNED_FROM: f64 = 2_000.0;

/// Settings of detection: a measure, overall and by slice, compared with its baseline and with a
/// target that every variant meets.
fn watched(stream: &Stream) -> Value {
    let mut settings = settings(broker(), stream);
    settings["measures"] = json!(["nDCG@10"]);
    settings["targets"] = json!([{"measure": "nDCG@10", "tier": "fair", "value": 0.3}]);
    settings["detection"] = json!({
        "measures": ["nDCG@10"],
        "slices": ["difficulty"],
        "tolerance": 0.04,
    });
    settings
}

/// Produces unmodified searches until each of the five variants has enough of them in its
/// baselines.
fn learn(stream: &mut Stream, sidecar: &Sidecar) {
    wait_until(CONSUMED, "it is known what is usual", || {
        stream.produce(broker(), 2_000);
        // Prevents consumer lag, which would raise an alert.
        let exposition = scrape_when_received(sidecar, stream.produced());
        let counted = exposition.matching("rankgauge_baseline_searches", &[]);
        let is_enough = |text: &str| text.parse().is_ok_and(|it: f64| it >= LEARNED_FROM);
        (counted.filter(|sample| is_enough(&sample.text)).count() == 5).then_some(())
    });
}

/// Searches with the first half of the results removed for V5.
fn spoilt(mut records: Vec<Record>) -> Vec<Record> {
    for record in &mut records {
        if record.kind == Kind::Search {
            let mut search: Value = serde_json::from_slice(&record.payload).expect("JSON");
            if search["experiment"]["variant"] == "V5"
                && let Some(results) = search["results"].as_array_mut()
            {
                results.drain(..results.len().div_ceil(2));
                // A list that begins below rank 1 would not be judged.
                for (result, rank) in results.iter_mut().zip(1..) {
                    result["rank"] = Value::from(rank);
                }
                record.payload = search.to_string().into_bytes();
            }
        }
    }
    records
}

#[test]
fn injected_drop_is_notified_as_one_alert_with_variant_and_measure() {
    // A query counts once a minute, so event time runs ahead of the clock.
    let mut stream = Stream::on_new_topics(broker(), 2, 10.0, Millis(0));
    let mut settings = watched(&stream);
    settings["engine"]["max_future_skew"] = json!("24h");
    let sidecar = start(&settings);
    learn(&mut stream, &sidecar);
    // There is always traffic from here on, because its absence would raise an alert as well.
    let alertmanager = alertmanager();
    let prometheus = prometheus(&[&sidecar], &alertmanager);

    let (receiver, alert) = wait_until(SOON, "the drop of V5 is told", || {
        let records = spoilt(stream.take(100));
        stream.send(broker(), &records);
        alertmanager.firing("RankgaugeQualityDropped").pop()
    });
    assert_eq!(receiver, "on-call");
    let labels = [
        ("alertname", "RankgaugeQualityDropped"),
        ("concern", "quality"),
        ("job", "rankgauge"),
        ("measure", "nDCG@10"),
        ("severity", "critical"),
        ("slice", "all"),
        ("variant", "V5"),
    ];
    let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(alert.labels, labels.into());
    let summary = &alert.annotations["summary"];
    assert!(
        summary.starts_with("nDCG@10 of variant V5, slice all,"),
        "{summary}"
    );
    let link = &alert.annotations["dashboard_url"];
    assert_eq!(parameter(link, "var-variant"), "V5");
    assert_eq!(parameter(link, "var-measure"), "nDCG@10");
    the_links_lead_somewhere(&alert, &prometheus);

    // The alert stays active for longer than the group wait. No other notification is sent: not for
    // another variant, not for a slice, and not for the same alert again.
    for _ in 0..30 {
        let records = spoilt(stream.take(100));
        stream.send(broker(), &records);
        prometheus.wait_for_scrapes(1);
    }
    let alerts = alertmanager.alerts();
    let told = alertmanager.notifications();
    let mut notified = told.iter().flat_map(|notification| &notification.alerts);
    let is_of_v5 = |it: &Notified| it.labels.get("variant").is_some_and(|name| name == "V5");
    assert!(
        notified.all(|it| it.labels["concern"] != "quality" || is_of_v5(it)),
        "{told:?}"
    );
    if !has_every_scrape(&prometheus) {
        eprintln!("a scrape was lost: the number of notifications is not checked");
        return;
    }
    let lasts = alerts.iter().find(|it| it.labels == alert.labels);
    let lasts = lasts.expect("the alert lasts");
    assert_eq!(lasts.status.state, "active");
    let others = alerts.iter().filter(|it| it.labels != alert.labels);
    for other in others {
        assert!(
            other.status.inhibited_by.contains(&lasts.fingerprint),
            "{other:?}"
        );
    }
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].alerts.len(), 1, "{told:?}");
}

/// One hour of event time. The configuration lets event time run ahead of the clock, and each
/// minute takes one scrape.
#[test]
fn healthy_hour_with_bursts_and_repeated_queries_raises_no_alert() {
    let mut stream = Stream::on_new_topics(broker(), 2, 5.0, Millis(0));
    let mut settings = watched(&stream);
    settings["engine"]["max_future_skew"] = json!("24h");
    let sidecar = start(&settings);
    let mut repeated = most_asked(stream.take(10_000));
    learn(&mut stream, &sidecar);
    // There is traffic in two of three minutes from here on.
    let alertmanager = alertmanager();
    let prometheus = prometheus(&[&sidecar], &alertmanager);

    for minute in 0..60_usize {
        let mut records = stream.take([100, 0, 800][minute % 3]);
        // In every burst, many users send the same query at the same moment.
        if minute % 3 == 2 {
            let now = records.last().expect("invariant: a burst").ts;
            let again = repeated.next().expect("invariant: there are many queries");
            records.extend(
                again
                    .into_iter()
                    .map(|search| asked_at(now, minute, search)),
            );
        }
        stream.send(broker(), &records);
        prometheus.wait_for_scrapes(1);
    }
    scrape_when_received(&sidecar, stream.produced());
    prometheus.wait_for_scrapes(2);

    // The evidence of every variant was compared with a threshold.
    for (test, merged) in [("drop", "logsumexp"), ("target", "logmeanexp")] {
        let compared = format!(
            "rankgauge:{test}_log_evidence:{merged}{{slice=\"all\"}} < on (job) group_left () \
             rankgauge:evidence_threshold:max{{test=\"{test}\"}}"
        );
        wait_until(SOON, &compared, || {
            (prometheus.query(&compared).len() == 5).then_some(())
        });
    }
    // No alert fired, including those that would be inhibited or wait for their group. Of the interleaved
    // rankings of this traffic, users prefer one by design. After a lost scrape, only the alerts on quality count.
    let is_complete = has_every_scrape(&prometheus);
    let concern = if is_complete { ".*" } else { "quality" };
    let fired = prometheus.query(&format!(
        "count_over_time(ALERTS{{alertstate=\"firing\",alertname!=\"RankgaugeRankingPreferred\",\
         concern=~\"{concern}\"}}[1d])"
    ));
    assert!(fired.is_empty(), "{fired:?}");
    let told = alertmanager.notifications();
    let mut alerts = told.iter().flat_map(|notification| &notification.alerts);
    assert!(
        alerts.all(|it| it.labels["alertname"] == "RankgaugeRankingPreferred"
            || (!is_complete && it.labels["concern"] != "quality")),
        "{told:?}"
    );
}

/// Searches with a gold query, grouped by query, in the order in which they were served. The most
/// frequent query comes first.
fn most_asked(records: Vec<Record>) -> impl Iterator<Item = Vec<Value>> {
    let mut by_query: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for record in records {
        if record.kind == Kind::Search {
            let search: Value = serde_json::from_slice(&record.payload).expect("JSON");
            if let Some(query) = search["query_key"].as_str() {
                by_query.entry(query.to_owned()).or_default().push(search);
            }
        }
    }
    let mut searches: Vec<Vec<Value>> = by_query.into_values().collect();
    searches.sort_by_key(|searches| Reverse(searches.len()));
    searches.into_iter()
}

/// The search with the current time.
fn asked_at(now: EventTime, minute: usize, mut search: Value) -> Record {
    let key = format!("{}-{minute}", search["query_id"].as_str().expect("an id"));
    search["query_id"] = json!(key);
    search["ts"] = json!(now.0);
    Record {
        kind: Kind::Search,
        ts: now,
        key,
        payload: search.to_string().into_bytes(),
    }
}

/// Asserts that Prometheus answers the expression, that the panel is in the committed dashboard,
/// and that the runbook section exists.
fn the_links_lead_somewhere(alert: &Notified, prometheus: &Prometheus) {
    // A Prometheus 3 that is built from Go modules has the links, and no pages.
    let graph = format!("http://{}/graph?", prometheus.address());
    assert!(
        alert.generator_url.starts_with(&graph),
        "{graph}: {}",
        alert.generator_url
    );
    let expr = parameter(&alert.generator_url, "g0.expr");
    wait_until(SOON, &expr, || {
        (!prometheus.query(&expr).is_empty()).then_some(())
    });

    let link = &alert.annotations["dashboard_url"];
    let path = link.strip_prefix(&format!("{GRAFANA}/d/"));
    let uid = path.and_then(|path| path.split('?').next()).expect(link);
    assert_eq!(parameter(link, "var-job"), alert.labels["job"]);
    let dashboards = dashboards();
    let dashboard = dashboards.iter().find(|it| it.uid == uid).expect(link);
    let panel = parameter(link, "viewPanel").parse().expect(link);
    assert!(dashboard.panel_title(panel).is_some(), "{link}");

    let (_, anchor) = alert.annotations["runbook_url"]
        .split_once("docs/runbooks.md#")
        .expect("a section of the runbooks");
    let runbooks = std::fs::read_to_string(folder("docs/runbooks.md")).expect("it exists");
    let written = runbooks
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .any(|section| section.to_lowercase() == anchor);
    assert!(written, "{anchor}");
}

/// Decoded parameter of a link.
fn parameter(url: &str, name: &str) -> String {
    let (_, query) = url.split_once('?').expect("a link with parameters");
    let value = query
        .split('&')
        .find_map(|parameter| parameter.strip_prefix(name)?.strip_prefix('='))
        .unwrap_or_else(|| panic!("{url} has no {name}"));
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next(), rest.next()].map(Option::unwrap_or_default);
                let digits = std::str::from_utf8(&digits).expect("ASCII");
                u8::from_str_radix(digits, 16).expect("two digits")
            }
            plain => plain,
        });
    }
    String::from_utf8(bytes).expect("a link is UTF-8")
}
