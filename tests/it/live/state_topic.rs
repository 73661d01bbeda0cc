//! State topic: replicas without disks share baselines and commands through a compacted topic.

use std::collections::{BTreeMap, BTreeSet};

use rankgauge_core::time::Millis;
use rankgauge_serve::clock::wall_now;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::http::ask_with_body;
use super::stream::Stream;
use super::{CONSUMED, SOON, count, settings, start, wait_until_counted};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::wait_until;

/// Settings of replicas without disks that share a state topic.
fn sharing(stream: &Stream) -> Value {
    let mut settings = settings(broker(), stream);
    settings["measures"] = json!(["nDCG@10"]);
    settings["detection"] = json!({"measures": ["nDCG@10"]});
    settings["state"] = json!({"topic": unique_name("state"), "interval": "1s"});
    settings["admin"] = json!({"listen": "127.0.0.1:0"});
    // Partitions of replicas that are killed are reassigned soon.
    settings["kafka"]["properties"]["session.timeout.ms"] = json!("6000");
    settings
}

/// Baseline means by variant.
pub(super) fn baselines(exposition: &Exposition) -> BTreeMap<String, f64> {
    let samples = exposition.matching("rankgauge_baseline_score", &[]);
    samples
        .map(|it| (it.labels["variant"].clone(), it.value))
        .collect()
}

pub(super) fn post(sidecar: &Sidecar, path: &str, body: &str) {
    let headers = format!("Host: localhost\r\nContent-Length: {}\r\n", body.len());
    let answer = ask_with_body(sidecar.admin_address(), "POST", path, &headers, body);
    let text = String::from_utf8_lossy(&answer.body);
    assert!((200..300).contains(&answer.status), "{path}: {text}");
}

/// Waits until each replica has published its state after this moment.
fn wait_until_published(replicas: &[Sidecar]) {
    let now = wall_now();
    for replica in replicas {
        wait_until(SOON, "the state is published", || {
            let exposition = replica.metrics();
            let at = exposition.value("rankgauge_state_published_timestamp_seconds", &[])?;
            (at * 1000.0 > rankgauge_core::number::real(now.0.unsigned_abs()) + 1000.0)
                .then_some(())
        });
    }
}

#[test]
fn replicas_without_disks_continue_with_the_baselines_of_those_before_them() {
    let mut stream = Stream::on_new_topics(broker(), 6, 10.0, Millis(300_000));
    let settings = sharing(&stream);
    let mut replicas = [start(&settings), start(&settings), start(&settings)];
    stream.produce(broker(), 2_500);
    wait_until_counted(broker(), &settings, &stream);
    wait_until_published(&replicas);
    // Every variant, with almost equal means. A replica can read the state of the others after it has published its own.
    let of_each = wait_until(SOON, "each replica has the baselines of all", || {
        let of_each = replicas.each_ref().map(|it| baselines(&it.metrics()));
        let is_shared = of_each.iter().all(|other| {
            let is_near = |(variant, mean): (&String, &f64)| {
                let found = other.get(variant);
                found.is_some_and(|it| (mean - it).abs() < 0.05)
            };
            other.len() == 5 && of_each[0].iter().all(is_near)
        });
        is_shared.then_some(of_each)
    });
    replicas.iter_mut().for_each(Sidecar::kill);
    drop(replicas);
    let successors = [start(&settings), start(&settings)];
    let inherited = successors.each_ref().map(|it| {
        wait_until(SOON, "a replica has the baselines of the fleet", || {
            let exposition = it.metrics();
            let found = baselines(&exposition);
            let is_known = count(&exposition, "rankgauge_state_workers", &[]) > 0;
            (is_known && found.len() == 5).then_some(found)
        })
    });
    // Nothing was produced since: what they have is what was published, which is the same for both.
    assert_eq!(inherited[0], inherited[1]);
    for (variant, mean) in &inherited[0] {
        assert!(
            (mean - of_each[0][variant]).abs() < 0.05,
            "{variant}: {inherited:?} {of_each:?}"
        );
    }

    // A command to one replica reaches all, and those that start later.
    let body = r#"{"variant": "V5", "version": "5.1", "note": "repair"}"#;
    post(&successors[1], "/-/deployment", body);
    for replica in &successors {
        wait_until(SOON, "the deployment is known", || {
            let found = replica.api("/api/v1/deployments");
            let is_known = found["deployments"][0]["version"] == "5.1";
            (is_known && !baselines(&replica.metrics()).contains_key("V5")).then_some(())
        });
    }
    let later = start(&settings);
    wait_until(SOON, "a later replica has the state", || {
        let found = later.api("/api/v1/deployments");
        let known = baselines(&later.metrics());
        (found["deployments"][0]["note"] == "repair" && known.len() == 4).then_some(())
    });
    post(&later, "/-/baseline", "");
    for replica in &successors {
        wait_until(SOON, "the baselines are reset", || {
            baselines(&replica.metrics()).is_empty().then_some(())
        });
    }
    // What follows is learned, and shared.
    stream.produce(broker(), 1_500);
    wait_until_counted(broker(), &settings, &stream);
    for replica in &successors {
        wait_until(CONSUMED, "new baselines are shared", || {
            (baselines(&replica.metrics()).len() == 5).then_some(())
        });
    }

    // The history of all has the same points on each, and outlives them.
    let [first, second] = successors;
    let mut replicas = [first, second, later];
    let shown = wait_until(CONSUMED, "all replicas have the same points", || {
        let [one, two, three] = replicas.each_ref().map(points);
        let variants: BTreeSet<&String> = one.values().flat_map(BTreeMap::keys).collect();
        (one == two && two == three && variants.len() == 5).then_some(one)
    });
    replicas.iter_mut().for_each(Sidecar::kill);
    drop(replicas);
    let without_searches = [start(&settings), start(&settings)];
    for replica in &without_searches {
        wait_until(SOON, "a replica without a disk has the points", || {
            let found = points(replica);
            shown
                .iter()
                .all(|(at, means)| found.get(at) == Some(means))
                .then_some(())
        });
    }
}

/// Points of the last hour: means by time and variant.
fn points(replica: &Sidecar) -> BTreeMap<String, BTreeMap<String, f64>> {
    let found = replica.api("/api/v1/systems?history=1h");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let times: Vec<String> = list(&found["history"]["times"]).iter().map(text).collect();
    let mut points: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for system in list(&found["systems"]) {
        for score in list(&system["scores"]) {
            for (at, mean) in times.iter().zip(list(&score["history"])) {
                if let Some(mean) = mean.as_f64() {
                    let of_time = points.entry(at.clone()).or_default();
                    of_time.insert(text(&system["variant"]), mean);
                }
            }
        }
    }
    points
}

#[test]
fn records_of_others_on_the_state_topic_are_refused_and_counted() {
    let stream = Stream::on_new_topics(broker(), 1, 10.0, Millis(300_000));
    let settings = sharing(&stream);
    let topic = settings["state"]["topic"].as_str().expect("a topic");
    let replica = start(&settings);
    wait_until(SOON, "the topic is read", || {
        replica
            .log()
            .contains("state of the fleet read")
            .then_some(())
    });
    let bomb = zstd::encode_all(&vec![b' '; 64 << 20][..], 1).expect("it compresses");
    let magic: &[u8] = b"rankgauge state 1\n";
    let key = "worker/00000000000000ab/baselines/00000000000000cd/0";
    let json = zstd::encode_all(&br#"{"Command":{"reported":-1}}"#[..], 1).expect("it compresses");
    let history = "worker/00000000000000ab/history/0";
    let with_history = |spans: &str| {
        let series = format!(r#"{{"name":{{"measure":"RR","variant":"V5"}},"spans":{spans}}}"#);
        let json = format!(r#"{{"History":[0,[{series}]]}}"#);
        let value = zstd::encode_all(json.as_bytes(), 1).expect("it compresses");
        [magic, &value].concat()
    };
    let hostile: Vec<(&str, Vec<u8>)> = vec![
        ("", Vec::new()),
        ("\u{7}\u{1b}[31mkey", b"x".to_vec()),
        ("worker/../../etc", b"x".to_vec()),
        (key, b"x".to_vec()),
        (key, b"rankgauge state 9\nx".to_vec()),
        (key, magic.to_vec()),
        (key, [magic, &bomb].concat()),
        (key, [magic, &json].concat()),
        ("command/-1/00000000000000ab", [magic, &json].concat()),
        (history, with_history("[[[9000000000000,1,1]],[],[]]")),
        (
            history,
            with_history("[[[1,1,99999999999999999999]],[],[]]"),
        ),
        (history, with_history("[[[1,1,1],[1,1,1]],[],[]]")),
        (history, with_history("[[[1,1e300,1]],[],[]]")),
    ];
    let number = u64::try_from(hostile.len()).expect("a number");
    let records = hostile
        .into_iter()
        .map(|(key, value)| (key, value, Some(0)));
    broker().produce(topic, records);
    wait_until(SOON, "the records are counted", || {
        let exposition = replica.metrics();
        let rejected = [("outcome", "rejected")];
        (count(&exposition, "rankgauge_state_records_total", &rejected) == number).then_some(())
    });
    assert!(replica.log().contains("state record rejected"));
    assert!(!replica.log().contains('\u{1b}'));
    assert_eq!(count(&replica.metrics(), "rankgauge_state_workers", &[]), 0);
}

/// Searches of 40 queries at one a second of event time, which begin three hours ago.
struct Searches {
    topic: String,
    gold: TempDir,
    start: i64,
    sent: i64,
}

impl Searches {
    fn new() -> Self {
        Self::of_partitions(6)
    }

    fn of_partitions(partitions: usize) -> Self {
        let topic = unique_name("incident");
        broker().create_topic(&topic, partitions);
        let gold = tempfile::tempdir().expect("a folder");
        let lines: Vec<String> = (0..40).map(|it| format!("g{it} 0 d{it} 1\n")).collect();
        std::fs::write(gold.path().join("gold.qrels"), lines.concat())
            .expect("the folder can be written");
        Self {
            topic,
            gold,
            start: wall_now().0 - 3 * 3_600_000,
            sent: 0,
        }
    }

    /// Settings of replicas without disks that share a state topic.
    fn settings(&self) -> Value {
        json!({
            "kafka": {
                "brokers": broker().bootstrap(),
                "group_id": unique_name("group"),
                "search_topic": self.topic,
                "feedback_topic": "none",
                "start": "earliest",
                "properties": {"session.timeout.ms": "6000"},
            },
            "commit_interval": "200ms",
            "publish_interval": "200ms",
            "gold": {"paths": [self.gold.path().join("gold.qrels")]},
            "measures": ["RR"],
            "slices": [],
            "detection": {"measures": ["RR"]},
            "engine": {"out_of_orderness": "5s", "idle_timeout": "24h"},
            "state": {"topic": unique_name("state"), "interval": "1s"},
            "admin": {"listen": "127.0.0.1:0"},
        })
    }

    /// Produces the same searches to each partition.
    fn produce_to_each(&mut self, partitions: i32, number: i64, is_healthy: bool) {
        let first = self.sent;
        for partition in 0..partitions {
            self.sent = first;
            self.produce_to(Some(partition), number, is_healthy);
        }
    }

    /// Produces searches. Of ten of a healthy system, one finds nothing; of ten during the drop, six.
    fn produce(&mut self, number: i64, is_healthy: bool) {
        self.produce_to(None, number, is_healthy);
    }

    fn produce_to(&mut self, partition: Option<i32>, number: i64, is_healthy: bool) {
        let part = partition.map(|it| format!("p{it}")).unwrap_or_default();
        let searches = (self.sent..self.sent + number).map(|it| {
            // The pattern visits every query with good and bad results.
            let is_bad = (it / 40 + it) % 10 < if is_healthy { 1 } else { 6 };
            let (query, ts) = (it % 40, self.start + it * 1_000);
            let found = if is_bad {
                "nothing".to_owned()
            } else {
                format!("d{query}")
            };
            let payload = json!({
                "query_id": format!("q{it}{part}"), "ts": ts, "query_key": format!("g{query}"),
                "variant": "V5", "session_id": format!("s{it}{part}"), "results": [{"id": found}],
            });
            (format!("q{it}{part}"), payload.to_string(), partition)
        });
        let searches: Vec<(String, String, Option<i32>)> = searches.collect();
        broker().produce(&self.topic, searches);
        self.sent += number;
    }
}

/// Waits until the replicas together have read `number` searches since they started.
fn wait_until_read(replicas: &[Sidecar], number: u64) {
    let used = [("outcome", "used")];
    wait_until(CONSUMED, "the searches are read", || {
        let read = |it: &Sidecar| count(&it.metrics(), "rankgauge_records_total", &used);
        // Records that a killed replica had read are counted again.
        let is_at_end = |it: &Sidecar| {
            let lag = it.metrics().sum("rankgauge_consumer_lag_records", &[]);
            lag == 0.0
        };
        let read: u64 = replicas.iter().map(read).sum();
        (read >= number && replicas.iter().all(is_at_end)).then_some(())
    });
}

/// The incident that a replica lists, if it lists one.
fn incident(replica: &Sidecar) -> Option<Value> {
    let found = replica.api("/api/v1/incidents");
    // Two replicas that raise the alarm at once have one incident after the next exchange.
    match found["incidents"].as_array().expect("a list").as_slice() {
        [incident] => Some(incident.clone()),
        _ => None,
    }
}

#[test]
fn an_incident_outlives_all_replicas_with_its_reference() {
    let mut searches = Searches::new();
    let settings = searches.settings();
    let mut replicas = [start(&settings), start(&settings), start(&settings)];
    searches.produce(3_000, true);
    wait_until_read(&replicas, 3_000);
    for replica in &replicas {
        wait_until(CONSUMED, "the baselines are shared", || {
            let mean = *baselines(&replica.metrics()).get("V5")?;
            (mean > 0.85).then_some(())
        });
    }
    searches.produce(900, false);
    wait_until_read(&replicas, 3_900);
    for replica in &replicas {
        wait_until(CONSUMED, "the incident is on every replica", || {
            incident(replica)
        });
    }
    wait_until(SOON, "all replicas have one id", || {
        let ids = replicas
            .each_ref()
            .map(|it| incident(it).map(|it| it["id"].clone()));
        (ids[0] == ids[1] && ids[1] == ids[2]).then_some(())
    });
    // One size on all, once they have exchanged it.
    wait_until(SOON, "all replicas have one reference", || {
        let before = replicas.each_ref().map(|it| {
            let level = incident(it)?["measures"][0]["before"].clone();
            Some((
                level["searches"].as_u64()?,
                (level["mean"].as_f64()? * 1e9).round(),
            ))
        });
        (before[0].is_some() && before[0] == before[1] && before[1] == before[2]).then_some(())
    });
    let shown = incident(&replicas[0]).expect("it is open");
    let (id, before) = (shown["id"].clone(), shown["measures"][0]["before"].clone());
    assert!(before["mean"].as_f64().expect("a mean") > 0.8, "{shown}");
    // An operator takes note of it on one replica.
    let path = format!(
        "/api/v1/incidents/{}/acknowledge",
        id.as_str().expect("an id")
    );
    post(&replicas[1], &path, r#"{"by": "on call"}"#);
    wait_until(SOON, "the note is on every replica", || {
        let noted =
            |it: &Sidecar| incident(it).is_some_and(|it| it["acknowledged"]["by"] == "on call");
        replicas.iter().all(noted).then_some(())
    });
    wait_until_published(&replicas);
    replicas.iter_mut().for_each(Sidecar::kill);
    drop(replicas);

    let successors = [start(&settings), start(&settings), start(&settings)];
    for replica in &successors {
        let kept = wait_until(SOON, "the incident stands", || incident(replica));
        assert_eq!(kept["id"], id, "{kept}");
        assert_eq!(kept["ended_at"], Value::Null, "{kept}");
        assert_eq!(kept["acknowledged"]["by"], "on call", "{kept}");
        let mean = kept["measures"][0]["before"]["mean"]
            .as_f64()
            .expect("a mean");
        let known = before["mean"].as_f64().expect("a mean");
        assert!((mean - known).abs() < 1e-6, "{kept}");
    }
    searches.produce(600, false);
    // A partition that is read before the others would show the recovery before the drop.
    wait_until_read(&successors, 600);
    for replica in &successors {
        wait_until(CONSUMED, "the searches of the drop are compared", || {
            let found = incident(replica)?;
            assert_eq!(found["ended_at"], Value::Null, "{found}");
            let loss = &found["measures"][0]["loss"];
            (loss["searches"].as_u64()? >= 60 && loss["mean"].as_f64()? > 0.3).then_some(())
        });
    }
    searches.produce(3_000, true);
    for replica in &successors {
        let ended = wait_until(CONSUMED, "the recovery is found", || {
            incident(replica).filter(|it| it["ended_at"].is_string())
        });
        assert_eq!(ended["ended_by"], "recovered", "{ended}");
        assert_eq!(ended["id"], id, "{ended}");
    }
}

/// Drop evidence of all searches.
fn drop_evidence(replica: &Sidecar) -> Option<f64> {
    let exposition = replica.metrics();
    let mut of_all = exposition.matching("rankgauge_drop_log_evidence", &[("slice", "all")]);
    of_all.next().map(|it| it.value)
}

#[test]
fn a_drop_that_no_replica_shows_alone_is_an_incident_of_the_fleet() {
    let mut searches = Searches::of_partitions(3);
    let mut settings = searches.settings();
    // Each keeps its partition, however slow the machine is, and nobody takes that of the killed one.
    settings["kafka"]["properties"]["session.timeout.ms"] = json!("120000");
    let mut replicas = [start(&settings), start(&settings), start(&settings)];
    for replica in &replicas {
        wait_until(SOON, "each replica has a partition", || {
            let assigned = count(&replica.metrics(), "rankgauge_assigned_partitions", &[]);
            (assigned == 1).then_some(())
        });
    }
    searches.produce_to_each(3, 1_000, true);
    let mut produced = 3_000;
    wait_until_read(&replicas, produced);
    wait_until_published(&replicas);
    let test = [("test", "drop")];
    let threshold = replicas[0]
        .metrics()
        .value("rankgauge_evidence_threshold", &test);
    let threshold = threshold.expect("a threshold");
    let mut steps = 0;
    let opened = loop {
        assert!(steps < 80, "the drop is not found");
        steps += 1;
        let of_all = wait_until(SOON, "all replicas have the evidence of all", || {
            let found = replicas.each_ref().map(drop_evidence);
            (found[0].is_some() && found == [found[0]; 3]).then_some(found[0]?)
        });
        if of_all >= threshold {
            break of_all;
        }
        // Each search raises the evidence of a replica by less than ln 3, the part of the others.
        let number = if of_all < threshold - 5.0 { 6 } else { 1 };
        searches.produce_to_each(3, number, false);
        produced += 3 * u64::try_from(number).expect("a number");
        wait_until_read(&replicas, produced);
        wait_until_published(&replicas);
    };
    let shown = replicas.each_ref().map(|replica| {
        wait_until(SOON, "the incident is on every replica", || {
            incident(replica)
        })
    });
    wait_until(SOON, "all replicas have one id", || {
        let ids = replicas
            .each_ref()
            .map(|it| incident(it).map(|it| it["id"].clone()));
        (ids == [ids[0].clone(), ids[0].clone(), ids[0].clone()]).then_some(())
    });
    assert!(shown[0]["measures"][0]["measure"] == "RR", "{shown:?}");
    let of_fleet = "drops found by the evidence of all replicas";
    let finders = replicas.iter().filter(|it| it.log().contains(of_fleet));
    let reports: usize = replicas
        .iter()
        .map(|it| it.log().matches("drop detected").count())
        .sum();
    let finders = finders.count();
    assert!(finders > 0, "no replica used the evidence of the others");
    assert_eq!(reports, finders, "a replica showed the drop alone");
    // The evidence of a replica that is killed stays for a while, and that of the others does not rise.
    replicas[2].kill();
    wait_until_published(&replicas[..2]);
    for replica in &replicas[..2] {
        assert_eq!(drop_evidence(replica), Some(opened));
    }
}
