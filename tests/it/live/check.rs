//! `rankgauge check --live`: each fault is planted on the real broker and found, with its remedy.

use std::path::Path;
use std::process::Command;

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use rankgauge_serve::clock::wall_now;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{CONSUMED, SOON, count, settings, start, yaml};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::Sidecar;
use crate::harness::{free_port, wait_until};

/// Output of `check --live` and its exit code. Without `--timeout`, it has two minutes, for a busy machine.
pub(crate) fn check(settings: &Value, arguments: &[&str]) -> (String, i32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("rankgauge.yaml");
    std::fs::write(&path, yaml(settings)).expect("the folder can be written");
    let patient: &[&str] = if arguments.contains(&"--timeout") {
        &[]
    } else {
        &["--timeout", "2m"]
    };
    let output = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .args(["check", "--live", "--config"])
        .arg(&path)
        .args(arguments)
        .args(patient)
        .output()
        .expect("the binary runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("UTF-8");
    (text, output.status.code().expect("an exit code"))
}

/// Checks that the live check fails with a finding that contains these parts in one line.
#[track_caller]
fn assert_finds(settings: &Value, parts: &[&str]) {
    let (text, code) = check(settings, &[]);
    let is_found = |line: &str| parts.iter().all(|part| line.contains(part));
    assert!(text.lines().any(is_found), "{parts:?}\n{text}");
    let is_error = parts.contains(&"error ");
    assert_eq!(code, i32::from(is_error), "{text}");
    assert_eq!(text.contains("the live check found"), is_error, "{text}");
}

/// Two topics, a gold set for `query`, and settings for them.
struct Plant {
    search: String,
    feedback: String,
    settings: Value,
    _gold: tempfile::TempDir,
}

impl Plant {
    fn new() -> Self {
        let (search, feedback) = broker().unique_topics("check", 2);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let gold = folder.path().join("gold.json");
        std::fs::write(&gold, r#"{"queries": [{"query_id": "q", "query_text": "용도지역", "ground_truth": {"a": 2, "b": 0}}]}"#)
            .expect("the folder can be written");
        let settings = json!({
            "kafka": {
                "brokers": broker().bootstrap(),
                "group_id": unique_name("check"),
                "search_topic": search,
                "feedback_topic": feedback,
            },
            "gold": {"paths": [gold]},
        });
        Self {
            search,
            feedback,
            settings,
            _gold: folder,
        }
    }

    /// Produces ten searches of one second each, and a click on each. `change` alters both events
    /// and returns the key and the partition of the click.
    fn produce(&self, change: impl Fn(i64, &mut Value, &mut Value) -> (String, i32)) {
        let start = wall_now().0 - 60_000;
        let mut searches = Vec::new();
        let mut clicks = Vec::new();
        for number in 0..10 {
            let id = format!("id-{number}");
            let ts = start + number * 1_000;
            let mut search = json!({"query_id": id, "ts": ts, "query": "용도지역",
                "results": [{"id": "a"}, {"id": "b"}, {"id": "c"}]});
            let mut click = json!({"event_id": format!("click-{number}"), "ts": ts + 500,
                "type": "click", "query_id": id, "position": 1});
            let (key, partition) = change(number, &mut search, &mut click);
            searches.push((id, search.to_string(), Some(i32::from(number % 2 == 1))));
            clicks.push((key, click.to_string(), Some(partition)));
        }
        broker().produce(&self.search, searches);
        broker().produce(&self.feedback, clicks);
    }
}

/// Key and partition of a click beside its search.
fn beside(number: i64) -> (String, i32) {
    (format!("id-{number}"), i32::from(number % 2 == 1))
}

#[test]
fn a_healthy_system_passes_and_nothing_is_committed() {
    let mut stream = Stream::on_new_topics(broker(), 2, 10.0, Millis(60_000));
    stream.produce(broker(), 300);
    let settings = settings(broker(), &stream);
    let (text, code) = check(&settings, &["--sample", "200"]);
    assert_eq!(code, 0, "{text}");
    for part in [
        "the configuration is valid",
        "ok      topics: ",
        "ok      permissions: ",
        "memory: the process needs at most ",
        "bytes (max.message.bytes), compression.type producer",
        "ok      records: 200 sampled records of ",
        "lie in the partition of their search",
        "ok      clock: ",
        "of 200 gold queries occur",
        "ok      capacity: ",
        "for each worker (engine.memory is 256MiB) and ",
        "live check: 0 errors",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let (json, code) = check(&settings, &["--format", "json"]);
    assert_eq!(code, 0, "{json}");
    let report: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(report["errors"], 0);
    let findings = report["findings"].as_array().expect("an array");
    // A container may have less memory than batches of any codec need.
    let mut findings = findings.iter().filter(|it| it["check"] != "memory");
    assert!(findings.all(|it| it["severity"] == "ok"), "{json}");
    let group = settings["kafka"]["group_id"].as_str().expect("a name");
    for kind in Kind::ALL {
        let committed = broker().committed_offsets(group, stream.topic(kind));
        assert!(committed.is_empty(), "{committed:?}");
    }
    assert_eq!(broker().group_members(group), 0);
}

#[test]
fn missing_and_unequal_topics_are_found() {
    let (search, _) = broker().unique_topics("check", 1);
    let (_, wide) = broker().unique_topics("check", 3);
    let mut settings = json!({"kafka": {"brokers": broker().bootstrap(),
        "search_topic": search, "feedback_topic": "check.absent",
        "dead_letter_topic": "check.letters"}});
    assert_finds(
        &settings,
        &[
            "error ",
            "topics: topic check.absent does not exist; create it",
        ],
    );
    assert_finds(
        &settings,
        &[
            "error ",
            "topics: topic check.letters does not exist; create it",
        ],
    );
    settings["kafka"] = json!({"brokers": broker().bootstrap(), "search_topic": search,
        "feedback_topic": wide});
    assert_finds(
        &settings,
        &["error ", "has 1 partitions and", "has 3; add partitions to"],
    );
    assert_finds(
        &json!({"kafka": {"brokers": broker().bootstrap(), "search_topic": "check.absent",
        "feedback_topic": wide}}),
        &["error ", "topic check.absent does not exist"],
    );
}

#[test]
fn an_unreachable_broker_is_found_with_its_cause() {
    let settings = json!({"kafka": {"brokers": format!("127.0.0.1:{}", free_port())}});
    assert_finds(
        &settings,
        &[
            "error ",
            "connection: connection refused",
            "check that the broker runs",
        ],
    );
}

#[test]
fn feedback_in_another_partition_is_found_with_its_cause() {
    let plant = Plant::new();
    plant.produce(|number, _, _| (format!("id-{number}"), 0));
    assert_finds(
        &plant.settings,
        &[
            "error ",
            "keys: 5 of 10 sampled feedback events (50.0 %) lie in another partition",
            "different partitioners",
        ],
    );
    let plant = Plant::new();
    plant.produce(|number, _, _| (format!("click-{number}"), 0));
    assert_finds(
        &plant.settings,
        &[
            "error ",
            "keys: 5 of 10",
            "these records have the keys \"id-1\" and \"click-1\"",
        ],
    );
    let plant = Plant::new();
    plant.produce(|number, _, click| {
        click["query_id"] = json!(format!("other-{number}"));
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &[
            "warning",
            "keys: no sampled feedback event belongs to a sampled search: the searches are of 2",
            "Z, the feedback is of 2",
        ],
    );
}

/// A backfill writes all searches, then all feedback: the times of Kafka do not say which belong together.
#[test]
fn feedback_of_a_backfill_is_sampled_by_its_event_time() {
    let plant = Plant::new();
    let start = wall_now().0 - 86_400_000;
    let (mut searches, mut clicks) = (Vec::new(), Vec::new());
    for number in 0..2_000 {
        let id = format!("id-{number}");
        let ts = start + number * 20_000;
        let partition = Some(i32::from(number % 2 == 1));
        let search =
            json!({"query_id": id, "ts": ts, "query": "용도지역", "results": [{"id": "a"}]});
        let click = json!({"event_id": format!("click-{number}"), "ts": ts + 500, "type": "click",
            "query_id": id, "position": 1});
        searches.push((id.clone(), search.to_string(), partition));
        clicks.push((id, click.to_string(), partition));
    }
    broker().produce(&plant.search, searches);
    broker().produce(&plant.feedback, clicks);
    let (text, code) = check(&plant.settings, &["--sample", "100"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains(
            "ok      keys: 100 sampled feedback events lie in the partition of their search"
        ),
        "{text}"
    );
}

#[test]
fn conditions_that_select_nothing_are_found() {
    let mut plant = Plant::new();
    plant.produce(|number, _, _| beside(number));
    let mapping = json!({"search": {
        "when": {"/type": ["serch"]},
        "fields": {"query_id": "/query_id", "ts": "/ts", "query": "/query"},
        "hits": {"list": "/results", "id": "/id"},
    }});
    plant.settings["formats"] = json!({"own": {"mapping": mapping}});
    plant.settings["kafka"]["search_format"] = json!("own");
    let topic = plant.search.clone();
    assert_finds(
        &plant.settings,
        &[
            "error ",
            &format!("records: none of 10 sampled records of {topic} is a search"),
            "mapping.search.when",
        ],
    );
}

#[test]
fn fields_without_a_value_in_any_record_are_found() {
    let mut plant = Plant::new();
    plant.produce(|number, search, click| {
        search["took"] = json!(12.5);
        search["visit"] = json!("v");
        // Half of the records are enough.
        if number % 2 == 0 {
            click["place"] = json!("x");
        }
        beside(number)
    });
    let mapping = json!({
        "search": {
            "fields": {"query_id": "/query_id", "ts": "/ts", "query": "/query", "latency_ms": "/tuk",
                "session_id": ["/visits", "/visit_id"], "user_id": "/visit", "error_type": "/error"},
            "hits": {"list": "/results", "id": "/id"},
            "labels": {"channel": "/canal"},
        },
        "feedback": {
            "fields": {"event_id": "/event_id", "ts": "/ts", "type": "/type", "query_id": "/query_id",
                "object_id": "/document", "position": "/position", "value": "/value"},
            "labels": {"place": "/place"},
        },
    });
    plant.settings["formats"] = json!({"own": {"mapping": mapping}});
    for format in ["search_format", "feedback_format"] {
        plant.settings["kafka"][format] = json!("own");
    }
    for (number, message) in [
        (
            "10 sampled searches",
            "/tuk (formats.own.mapping.search.fields.latency_ms)",
        ),
        (
            "10 sampled searches",
            "/visits or /visit_id (formats.own.mapping.search.fields.session_id)",
        ),
        (
            "10 sampled searches",
            "/canal (formats.own.mapping.search.labels.channel)",
        ),
        (
            "10 sampled feedback events",
            "/document (formats.own.mapping.feedback.fields.object_id)",
        ),
    ] {
        let message = format!("records: 0 of {number} have {message}");
        assert_finds(&plant.settings, &["warning", &message]);
    }
    let (text, _) = check(&plant.settings, &[]);
    let found = text.lines().filter(|line| line.contains("records: 0 of"));
    assert_eq!(found.count(), 4, "{text}");
}

#[test]
fn clicks_on_results_that_were_not_served_are_found() {
    let plant = Plant::new();
    plant.produce(|number, _, click| {
        click["object_id"] = json!(if number < 3 { "doc:a" } else { "c" });
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &[
            "warning",
            "ids: 3 of 10 sampled clicks (30.0 %) are on results that their search did not serve",
            "first on \"doc:a\" at",
            "where the search served 3 results, \"a\" first",
        ],
    );
    let plant = Plant::new();
    plant.produce(|number, _, click| {
        click["position"] = json!(3 + number);
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &[
            "warning",
            "ids: 9 of 10 sampled clicks (90.0 %)",
            "first on position ",
        ],
    );
}

#[test]
fn ids_that_repeat_or_are_missing_are_found() {
    let plant = Plant::new();
    plant.produce(|number, search, click| {
        search["query_id"] = json!(format!("id-{}", number / 2));
        click["query_id"] = search["query_id"].clone();
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &[
            "error ",
            "ids: 5 of 10 sampled searches (50.0 %) have the query_id of another one",
        ],
    );
    let plant = Plant::new();
    plant.produce(|number, search, click| {
        let session = format!("visit-{number}");
        search["session_id"] = json!(session);
        click["session_id"] = json!(session);
        click.as_object_mut().expect("an object").remove("query_id");
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &[
            "error ",
            "ids: 10 of 10 sampled clicks and impressions (100.0 %) have no query_id",
        ],
    );
}

#[test]
fn clocks_that_differ_are_found() {
    let plant = Plant::new();
    plant.produce(|number, search, _| {
        let ts = search["ts"].as_i64().expect("a time");
        search["ts"] = json!(ts + 7_200_000 * (number / 5));
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &[
            "error ",
            "clock: 5 of 10 sampled records of",
            "future_time; synchronise",
        ],
    );
    let plant = Plant::new();
    plant.produce(|number, _, click| {
        let ts = click["ts"].as_i64().expect("a time");
        click["ts"] = json!(ts - 30_500);
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &[
            "warning",
            "clock: 10 of 10",
            "are earlier than their search, by up to 30 s; synchronise",
        ],
    );
    let plant = Plant::new();
    plant.produce(|number, search, _| {
        let ts = search["ts"].as_i64().expect("a time");
        search["ts"] = json!(ts - 600_000 * i64::from(number == 8));
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &[
            "warning",
            "clock: 1 of 10",
            "older than a record before them",
            "raise engine.out_of_orderness",
        ],
    );
}

#[test]
fn the_share_of_eligible_searches_is_stated() {
    let plant = Plant::new();
    plant.produce(|number, search, _| {
        if number < 3 {
            search["page"] = json!(2);
        } else if number == 3 {
            search["filters"] = json!(["brand:a"]);
        }
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &[
            "ok ",
            "eligibility: 6 of 10 sampled searches (60.0 %) are eligible for judging; others by reason: \
             page 3, filters 1",
        ],
    );
    assert_finds(&plant.settings, &["ok ", "gold: 6 of 6 eligible searches"]);
}

#[test]
fn a_gold_set_of_another_system_is_found() {
    let plant = Plant::new();
    plant.produce(|number, search, _| {
        search["query"] = json!("건폐율");
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &[
            "error ",
            "gold: 0 of 10 sampled searches",
            "0 of 1 gold queries occur",
            "\"건폐율\"",
            "use a gold set",
        ],
    );
    let plant = Plant::new();
    plant.produce(|number, search, _| {
        search["results"] = json!([{"id": "a::chunk0", "group_id": "a"}]);
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &[
            "error ",
            "gold: 0 of 10 results of these searches",
            "\"a::chunk0\"",
            "gold.judge_by",
        ],
    );
}

#[test]
fn invalid_records_are_found_by_reason() {
    let plant = Plant::new();
    plant.produce(|number, search, click| {
        match number {
            3 => search["latency_ms"] = json!("fast"),
            4 => drop(search.as_object_mut().and_then(|it| it.remove("results"))),
            5 => click["position"] = json!(0),
            _ => {}
        }
        beside(number)
    });
    for parts in [
        [
            "error ",
            "reason wrong_type (10.0 %)",
            "latency_ms: invalid type: string \"fast\"",
        ],
        [
            "error ",
            "reason missing_field (10.0 %)",
            "missing field `results`",
        ],
        [
            "error ",
            "reason bad_value (10.0 %)",
            "positions are counted from 1; correct the producer",
        ],
    ] {
        assert_finds(&plant.settings, &parts);
    }
}

#[test]
fn topics_without_records_are_named() {
    let plant = Plant::new();
    assert_finds(
        &plant.settings,
        &[
            "warning",
            &format!("records: {} has no records; check that", plant.search),
        ],
    );
}

#[test]
fn options_of_the_live_check_need_it() {
    let output = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .args(["check", "--sample", "10"])
        .current_dir(Path::new("/"))
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn join_that_the_sample_needs_is_recommended() {
    let mut plant = Plant::new();
    plant.produce(|number, _, _| (format!("user-{number}"), 0));
    assert_finds(
        &plant.settings,
        &[
            "error ",
            "keys: ",
            "or set kafka.join: owner, with which one replica reads all partitions",
        ],
    );
    plant.settings["kafka"]["join"] = json!("owner");
    assert_finds(
        &plant.settings,
        &["ok ", "keys: 5 of 10 ", "kafka.join: owner joins them"],
    );
    assert_finds(
        &plant.settings,
        &[
            "ok ",
            "topics: ",
            "-owner does not exist; rankgauge creates it",
        ],
    );
    plant.settings["kafka"]["join"] = json!("repartition");
    assert_finds(
        &plant.settings,
        &[
            "ok ",
            "keys: 5 of 10 ",
            "kafka.join: repartition joins them",
        ],
    );
    assert_finds(
        &plant.settings,
        &[
            "ok ",
            "topics: ",
            "-repartition-feedback does not exist; rankgauge creates it with ",
        ],
    );
    let mut plant = Plant::new();
    plant.produce(|number, _, _| beside(number));
    plant.settings["kafka"]["join"] = json!("owner");
    assert_finds(
        &plant.settings,
        &["ok ", "keys: 0 of 10 ", "kafka.join: partition suffices"],
    );
    // One topic of both kinds has every pair in one partition.
    plant.feedback = plant.search.clone();
    plant.settings["kafka"]["feedback_topic"] = json!(plant.search);
    plant.settings["kafka"]["join"] = json!("partition");
    plant.produce(|number, search, click| {
        search["query_id"] = json!(format!("again-{number}"));
        click["query_id"] = search["query_id"].clone();
        beside(number)
    });
    assert_finds(
        &plant.settings,
        &["ok ", "topics: ", "it has the feedback, too"],
    );
    assert_finds(
        &plant.settings,
        &["ok ", "keys: ", "lie in the partition of their search"],
    );
}

#[test]
fn foreign_members_of_the_group_are_named() {
    let (ours, theirs) = (Plant::new(), Plant::new());
    let group = ours.settings["kafka"]["group_id"].clone();
    let mut other = theirs.settings.clone();
    other["kafka"]["group_id"] = group;
    let sidecar = start(&other);
    wait_until(SOON, "the other release is a member", || {
        let assigned = count(&sidecar.metrics(), "rankgauge_assigned_partitions", &[]);
        (assigned == 2).then_some(())
    });
    assert_finds(
        &ours.settings,
        &[
            "error ",
            "group: consumer group ",
            "has members that are not of this deployment: client rankgauge-0@",
            &theirs.search,
            "set another kafka.group_id",
        ],
    );
    let (text, _) = check(&other, &[]);
    assert!(
        text.contains("has 1 members, all of them rankgauge"),
        "{text}"
    );
}

#[test]
fn the_state_topic_is_checked() {
    let plant = Plant::new();
    let topic = unique_name("state");
    let mut settings = plant.settings.clone();
    settings["state"] = json!({"topic": topic});
    let (text, _) = check(&settings, &[]);
    assert!(
        text.contains(&format!("ok      state: {topic} does not exist")),
        "{text}"
    );
    broker().create_topic(&topic, 1);
    assert_finds(
        &settings,
        &[
            "error ",
            "state: ",
            "has cleanup.policy=delete",
            "cleanup.policy=compact",
        ],
    );
    // A replica creates it as it has to be.
    let created = unique_name("state");
    settings["state"] = json!({"topic": created});
    let sidecar = start(&settings);
    wait_until(SOON, "the topic is created", || {
        sidecar
            .log()
            .contains("state of the fleet read")
            .then_some(())
    });
    let (text, _) = check(&settings, &[]);
    let exists = format!("ok      state: {created} exists, is compacted and can be read");
    assert!(text.contains(&exists), "{text}");
}

#[test]
fn a_process_waits_while_another_one_has_its_instance_id() {
    let plant = Plant::new();
    let mut settings = plant.settings.clone();
    settings["kafka"]["properties"] =
        json!({"group.instance.id": "replica-1", "session.timeout.ms": "6000"});
    let yaml = yaml(&settings);
    let assigned = |it: &Sidecar| count(&it.metrics(), "rankgauge_assigned_partitions", &[]);
    let mut first = Sidecar::start(&yaml, &[("HOSTNAME", "one")]);
    wait_until(SOON, "the first process has the partitions", || {
        (assigned(&first) == 2).then_some(())
    });
    let second = Sidecar::start(&yaml, &[("HOSTNAME", "two")]);
    for named in [
        "belongs to client rankgauge-0@one at ",
        "this process is client rankgauge-0@two",
    ] {
        wait_until(SOON, "both owners are named", || {
            second.log().contains(named).then_some(())
        });
    }
    assert_eq!((assigned(&first), assigned(&second)), (2, 0));
    // A process of the same host takes its place at once; another one waits for the end of the session.
    first.kill();
    wait_until(CONSUMED, "the second process has the partitions", || {
        (assigned(&second) == 2).then_some(())
    });
}
