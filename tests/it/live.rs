//! End-to-end tests of the sidecar: the built binary between a real Kafka and a real Prometheus.
//!
//! The tests cover the guarantees that users rely on: nothing is lost, nothing is counted twice,
//! and the counters equal those that `replay` computes from the same records. Every test has its
//! own topics, group and stream. No test inspects the internal state of the sidecar.

mod admin;
mod alerts;
mod answers;
mod broker;
mod capacity;
pub(crate) mod check;
mod dead_letters;
mod exactness;
mod faults;
mod fetched_memory;
mod fleet;
mod garbage;
mod group;
mod http;
mod kafka_security;
mod labelling;
mod list_changes;
mod log;
mod network;
mod offline;
mod owner;
mod pace;
mod page;
pub(crate) mod pages;
mod prometheus;
mod recovery;
mod repartition;
mod secure;
mod shared_topic;
mod shutdown;
mod soak;
mod stalled;
mod state_topic;
mod stream;
mod topics;
mod transactions;
mod undecodable;
mod without_feedback;
mod workers;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rankgauge_core::event::Kind;
use rankgauge_kafka::commit_metadata;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::{ClientConfig, TopicPartitionList};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::harness::kafka::{Broker, broker, unique_name};
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::wait_until;
use stream::Stream;

/// Time limit for consuming the stream of a test on a busy machine.
const CONSUMED: Duration = Duration::from_mins(2);
/// Maximum number of polls of [`wait_until`] in that time.
const POLLS: u32 = 6_000;
/// Time limit for everything else, such as joining a group or detecting an unavailable broker.
const SOON: Duration = Duration::from_mins(1);
/// Shutdown limit configured for the sidecar in these tests. One test configures a shorter limit.
const SHUTDOWN: Duration = Duration::from_mins(1);

/// Settings for a sidecar that reads `stream` from its beginning, in its own group. Only records
/// advance time, so the counts depend only on the records and can be compared with `replay`.
fn settings(broker: &Broker, stream: &Stream) -> Value {
    json!({
        "kafka": {
            "brokers": broker.bootstrap(),
            "group_id": unique_name("group"),
            "search_topic": stream.topic(Kind::Search),
            "feedback_topic": stream.topic(Kind::Feedback),
            "start": "earliest",
            // Reconnects at once to a broker that was unavailable.
            "properties": {"reconnect.backoff.max.ms": "200"},
        },
        "commit_interval": "200ms",
        "publish_interval": "200ms",
        "shutdown_timeout": format!("{}s", SHUTDOWN.as_secs()),
        "gold": {"paths": [stream.gold()]},
        "engine": {
            "out_of_orderness": "5s",
            "feedback_window": "2m",
            "idle_timeout": "24h",
        },
    })
}

/// Settings as a configuration file: YAML, which contains JSON as a subset.
pub(crate) fn yaml(settings: &Value) -> String {
    let sections = settings
        .as_object()
        .expect("invariant: settings are an object");
    let mut text = String::new();
    for (key, value) in sections {
        writeln!(text, "{key}: {value}").expect("invariant: writing to a string succeeds");
    }
    text
}

/// Starts a sidecar with these settings.
fn start(settings: &Value) -> Sidecar {
    Sidecar::start(&yaml(settings), &[])
}

/// Starts a sidecar with two workers and without a gold set. The label `build` of a search is the version
/// of its variant. Returns it with its search topic, which has two partitions.
fn start_with_builds(name: &str) -> (Sidecar, String) {
    let (search, feedback) = broker().unique_topics(name, 2);
    let sidecar = start(&json!({
        "kafka": {
            "brokers": broker().bootstrap(),
            "group_id": unique_name(name),
            "search_topic": search,
            "feedback_topic": feedback,
            "start": "earliest",
        },
        "publish_interval": "200ms",
        "workers": 2,
        "gold": {"paths": []},
        "deployments": {"from": ["labels.build"]},
    }));
    (sidecar, search)
}

/// Number of records of a kind with an outcome.
fn finished(exposition: &Exposition, kind: Kind) -> u64 {
    count(
        exposition,
        "rankgauge_events_total",
        &[("kind", kind.name())],
    )
}

/// Number of records of a kind without an outcome yet.
fn pending(exposition: &Exposition, kind: Kind) -> u64 {
    count(
        exposition,
        "rankgauge_events_pending",
        &[("kind", kind.name())],
    )
}

/// Exact sum over the samples with at least these labels.
fn count(exposition: &Exposition, name: &str, labels: &[(&str, &str)]) -> u64 {
    exposition
        .matching(name, labels)
        .map(|sample| {
            sample
                .text
                .parse::<u64>()
                .unwrap_or_else(|error| panic!("{name} is {}: {error}", sample.text))
        })
        .sum()
}

/// Records of each kind that the sidecar received: all outcomes, plus pending records.
fn received(exposition: &Exposition) -> [u64; 2] {
    Kind::ALL.map(|kind| finished(exposition, kind) + pending(exposition, kind))
}

/// Waits until the sidecar has received exactly `records` of each kind, and returns that scrape.
///
/// # Panics
/// If the number received in time is lower or higher. The message contains both numbers.
fn scrape_when_received(sidecar: &Sidecar, records: [u64; 2]) -> Exposition {
    let mut polls_left = POLLS;
    wait_until(CONSUMED * 2, "every record is received", || {
        let exposition = sidecar.metrics();
        let received = received(&exposition);
        polls_left -= 1;
        assert!(
            polls_left > 0,
            "of {records:?} searches and feedback events {received:?} were received"
        );
        (received == records).then_some(exposition)
    })
}

/// Records of each kind that the group has counted, according to its commits in Kafka.
fn counted(broker: &Broker, settings: &Value, stream: &Stream) -> [u64; 2] {
    let group = settings["kafka"]["group_id"]
        .as_str()
        .expect("invariant: settings name a group");
    let client: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", broker.bootstrap())
        .set("group.id", group)
        .create()
        .expect("a client");
    Kind::ALL.map(|kind| {
        let mut wanted = TopicPartitionList::new();
        for partition in stream.partitions_of(kind) {
            wanted.add_partition(stream.topic(kind), partition);
        }
        let committed = client
            .committed_offsets(wanted, SOON)
            .expect("the broker answers");
        // Every partition starts at offset 0, so the offset is the number of records.
        committed
            .elements()
            .iter()
            .filter_map(|element| {
                commit_metadata::decode(element.partition(), kind, 0, element.metadata())
            })
            .map(|point| u64::try_from(point.counted).expect("offsets are not negative"))
            .sum()
    })
}

/// Waits until the group has counted everything that was produced. By then, a replica that took
/// over a partition has read the pending records of the partition again. Before that, feedback may
/// be shown as pending although its search is about to be read.
fn wait_until_counted(broker: &Broker, settings: &Value, stream: &Stream) {
    if settings["kafka"]["join"] == json!("repartition") {
        wait_until_repartitioned(broker, settings, stream);
        return;
    }
    wait_until(CONSUMED * 2, "the group has counted every record", || {
        (counted(broker, settings, stream) == stream.produced()).then_some(())
    });
}

/// Internal topics of a group.
fn internal_topics(settings: &Value) -> [String; 2] {
    let group = settings["kafka"]["group_id"].as_str();
    let group = group.expect("invariant: settings name a group");
    Kind::ALL.map(|kind| format!("{group}-repartition-{}", kind.name()))
}

/// Waits until the forwarders have committed every record of the stream, and the group what they wrote.
fn wait_until_repartitioned(broker: &Broker, settings: &Value, stream: &Stream) {
    let group = settings["kafka"]["group_id"].as_str();
    let group = group.expect("invariant: settings name a group");
    let mut forwarders = settings.clone();
    forwarders["kafka"]["group_id"] = json!(format!("{group}-repartition"));
    wait_until(
        CONSUMED * 2,
        "the forwarders have copied every record",
        || (counted(broker, &forwarders, stream) == stream.produced()).then_some(()),
    );
    for (kind, topic) in Kind::ALL.into_iter().zip(internal_topics(settings)) {
        let ends = broker.ends(&topic);
        wait_until(CONSUMED * 2, "the group has counted the copies", || {
            let points = broker.committed_metadata(group, &topic);
            let points = points.into_iter().filter_map(|(partition, metadata)| {
                let point = commit_metadata::decode(partition, kind, 0, &metadata)?;
                Some((partition, point.counted))
            });
            let points: BTreeMap<i32, i64> = points.collect();
            let mut ends = ends.iter();
            let is_done = ends.all(|(partition, end)| points.get(partition) >= Some(end));
            is_done.then_some(())
        });
    }
}

/// Everything that is additive over time and replicas, by series. Series and values are in their
/// text form.
type Counters = BTreeMap<String, String>;

/// Families that describe the process, not the records. `replay` does not compute them.
const OF_THE_PROCESS: [&str; 9] = [
    "rankgauge_checkpoints_total",
    "rankgauge_gold_reloads_total",
    "rankgauge_log_lines_lost_total",
    "rankgauge_http_closed_connections_total",
    "rankgauge_http_rejected_requests_total",
    "rankgauge_rebalances_total",
    "rankgauge_schema_registry_requests_total",
    "rankgauge_sessions_cross_partition_total",
    "rankgauge_state_records_total",
];

/// All counters and histograms that depend on records, and the pending records.
fn counters(exposition: &Exposition) -> Counters {
    let counted = |name: &str| {
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|suffix| {
                let family = name.strip_suffix(suffix)?;
                (exposition.kinds.get(family)? == "histogram").then_some(family)
            })
            .unwrap_or(name);
        let kind = exposition.kinds.get(family).map(String::as_str);
        name.starts_with("rankgauge_")
            && !OF_THE_PROCESS.contains(&name)
            && (matches!(kind, Some("counter" | "histogram")) || name == "rankgauge_events_pending")
    };
    exposition
        .samples
        .iter()
        .filter(|sample| counted(&sample.name))
        .map(|sample| (series(&sample.name, &sample.labels), sample.text.clone()))
        .collect()
}

fn series(name: &str, labels: &BTreeMap<String, String>) -> String {
    format!("{name}{labels:?}")
}

/// Result of `rankgauge replay` for everything written to the stream so far, restricted to the
/// families in `like`.
///
/// # Panics
/// If the command fails. The message contains its standard error.
fn replayed(settings: &Value, stream: &Stream, like: &Exposition) -> Counters {
    let [searches, feedback] = Kind::ALL.map(|kind| stream.files(kind));
    replayed_files(settings, stream, [&searches, &feedback], like)
}

/// Counters of a replay of files of both kinds, the second of which may be none.
fn replayed_files(
    settings: &Value,
    stream: &Stream,
    [searches, feedback]: [&[PathBuf]; 2],
    like: &Exposition,
) -> Counters {
    #[derive(Deserialize)]
    struct FinalState {
        metrics: Vec<Sample>,
    }
    #[derive(Deserialize)]
    struct Sample {
        name: String,
        labels: BTreeMap<String, String>,
        value: Box<RawValue>,
    }
    let configuration = stream.folder().join("replay.yaml");
    std::fs::write(&configuration, yaml(settings)).expect("the folder can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankgauge"));
    command
        // The sidecar does not finalise what is pending either.
        .args(["replay", "--drain=false", "--config"])
        .arg(&configuration)
        .arg("--search")
        .args(searches);
    if !feedback.is_empty() {
        command.arg("--feedback").args(feedback);
    }
    let output = command.output().expect("the binary runs");
    assert!(
        output.status.success(),
        "replay: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let state: FinalState = serde_json::from_slice(&output.stdout).expect("replay prints JSON");
    let samples = state
        .metrics
        .into_iter()
        .map(|sample| crate::harness::sidecar::Exposed {
            name: sample.name,
            labels: sample.labels,
            value: sample.value.get().parse().expect("a number"),
            text: sample.value.get().to_owned(),
        });
    counters(&Exposition {
        kinds: like.kinds.clone(),
        helps: BTreeMap::new(),
        samples: samples.collect(),
    })
}

/// Exact sum of the counters of several runs or replicas, in units of 10⁻¹⁸. Zero values are
/// omitted: an exposed series with value 0 and an absent series are equal.
fn added<'a>(parts: impl IntoIterator<Item = &'a Counters>) -> BTreeMap<&'a str, i128> {
    let mut sums: BTreeMap<&str, i128> = BTreeMap::new();
    for (series, text) in parts.into_iter().flatten() {
        *sums.entry(series).or_default() += exact(text);
    }
    sums.retain(|_, sum| *sum != 0);
    sums
}

/// Without the sessions with interleaved rankings, of which those that are open when a worker loses their
/// partition are not counted exactly (docs/guarantees.md).
fn without_sessions(mut counters: Counters) -> Counters {
    counters.retain(|series, _| !series.starts_with("rankgauge_interleaving_"));
    counters
}

/// Plain decimal in units of 10⁻¹⁸.
fn exact(text: &str) -> i128 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{fraction:0<18}")
        .parse()
        .unwrap_or_else(|error| panic!("{text} is no decimal: {error}"))
}

/// Fails with the first differing series, ordered by name. A dump of thousands of series would be
/// of no use.
fn assert_same<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    found: &BTreeMap<K, V>,
    expected: &BTreeMap<K, V>,
) {
    const SHOWN: usize = 20;
    let keys: std::collections::BTreeSet<&K> = found.keys().chain(expected.keys()).collect();
    let different: Vec<String> = keys
        .into_iter()
        .filter(|key| found.get(key) != expected.get(key))
        .map(|key| {
            format!(
                "{key:?}: {:?}, expected {:?}",
                found.get(key),
                expected.get(key)
            )
        })
        .collect();
    assert!(
        different.is_empty(),
        "{} of {} series differ:\n{}",
        different.len(),
        expected.len(),
        different[..different.len().min(SHOWN)].join("\n")
    );
}
