//! Replicas with checkpoints that are killed, paused and restarted. Together they lose nothing, and
//! the number of records counted twice is bounded.
//!
//! The bound is measured for each failure: the successor counts again the records in the checkpoint
//! of the failed replica that were not committed to Kafka.

use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rankgauge::checkpoint::folder;
use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use rankgauge_kafka::commit_metadata;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{
    CONSUMED, Counters, SHUTDOWN, SOON, added, counters, exact, internal_topics, received,
    replayed, settings, start, wait_until_counted,
};
use crate::harness::kafka::{Broker, broker, unique_name};
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::wait_until;

/// Number of searches in one burst.
const BURST: usize = 400;
/// Offsets by topic and partition.
type Offsets = BTreeMap<(Kind, i32), i64>;

/// Replicas of one group, each with its own checkpoint folder.
struct Fleet {
    stream: Stream,
    settings: Value,
    replicas: Vec<Replica>,
    /// Highest offsets that the group has ever committed to Kafka.
    committed: Offsets,
}

struct Replica {
    settings: Value,
    sidecar: Option<Sidecar>,
    seen: Counters,
}

impl Replica {
    fn sidecar(&self) -> &Sidecar {
        self.sidecar.as_ref().expect("invariant: it runs")
    }

    /// Scrapes the replica. Asserts that no value is lower than before, despite all failures.
    fn scrape(&mut self) -> Exposition {
        let exposition = self.sidecar().metrics();
        let found = counters(&exposition);
        for (series, before) in &self.seen {
            let now = found.get(series).map_or("0", String::as_str);
            assert!(
                series.starts_with("rankgauge_events_pending") || exact(now) >= exact(before),
                "{series} was {before} and is {now}"
            );
        }
        self.seen = found;
        exposition
    }

    /// Number of times that the replica detected the loss of its partitions.
    fn noticed(&self) -> usize {
        let log = self.sidecar().log();
        log.matches("partitions lost; rolling back to the last checkpoint")
            .count()
    }

    fn folder(&self) -> &str {
        let folder = &self.settings["checkpoint"]["folder"];
        folder.as_str().expect("invariant: a path")
    }

    /// Counted offsets in the checkpoints on disk.
    fn on_disk(&self) -> Offsets {
        let contents = folder::look(self.folder().as_ref());
        let points = contents.checkpoints.into_iter().flat_map(|it| it.points);
        points
            .map(|point| ((point.kind, point.partition), point.counted))
            .collect()
    }
}

impl Fleet {
    /// Starts replicas with these additional consumer properties.
    fn start(replicas: usize, partitions: u16, is_static: bool, properties: &Value) -> Self {
        let stream = Stream::on_new_topics(broker(), partitions, 100.0, Millis(3_600_000));
        let settings = settings(broker(), &stream);
        Self::of(stream, settings, replicas, is_static, properties)
    }

    /// Starts replicas of which one reads all partitions of topics with different keys.
    fn with_owner(replicas: usize, is_static: bool, properties: &Value) -> Self {
        let stream = Stream::apart(broker(), [6, 12], 100.0, Millis(3_600_000));
        let mut settings = settings(broker(), &stream);
        settings["kafka"]["join"] = json!("owner");
        Self::of(stream, settings, replicas, is_static, properties)
    }

    /// Starts replicas that copy topics with different keys to internal ones.
    fn with_repartition(replicas: usize, is_static: bool, properties: &Value) -> Self {
        let stream = Stream::apart(broker(), [6, 12], 100.0, Millis(3_600_000));
        let mut settings = settings(broker(), &stream);
        settings["kafka"]["join"] = json!("repartition");
        settings["kafka"]["repartition_key"] = json!("session_id");
        Self::of(stream, settings, replicas, is_static, properties)
    }

    fn of(
        stream: Stream,
        mut settings: Value,
        replicas: usize,
        is_static: bool,
        properties: &Value,
    ) -> Self {
        let all = settings["kafka"]["properties"].as_object_mut();
        let more = properties.as_object().expect("invariant: properties");
        all.expect("invariant: properties").extend(more.clone());
        let replicas = (0..replicas)
            .map(|number| {
                let mut settings = settings.clone();
                let folder = stream.folder().join(format!("replica-{number}"));
                settings["checkpoint"] = json!({"folder": folder});
                settings["publish_interval"] = json!("50ms");
                if is_static {
                    settings["kafka"]["properties"]["group.instance.id"] =
                        json!(unique_name("replica"));
                }
                Replica {
                    sidecar: Some(start(&settings)),
                    settings,
                    seen: Counters::new(),
                }
            })
            .collect();
        let fleet = Self {
            stream,
            settings,
            replicas,
            committed: Offsets::new(),
        };
        fleet.await_balance();
        fleet
    }

    /// Replica that reads all partitions, if there is one.
    fn owner(&self) -> Option<usize> {
        if self.settings["kafka"]["join"] != json!("owner") {
            return None;
        }
        self.await_balance();
        let owns = |replica: &Replica| {
            let exposition = replica.sidecar().metrics();
            exposition.sum("rankgauge_assigned_partitions", &[]) > 0.5
        };
        self.replicas.iter().position(owns)
    }

    /// Topics from which the group reads.
    fn topics(&self) -> [String; 2] {
        if self.settings["kafka"]["join"] == json!("repartition") {
            internal_topics(&self.settings)
        } else {
            self.stream.topics()
        }
    }

    fn group(&self) -> &str {
        let group = &self.settings["kafka"]["group_id"];
        group.as_str().expect("invariant: a name")
    }

    /// Waits until every replica has its assignment and every partition has a consumer. With two or
    /// more replicas, no replica has all partitions.
    fn await_balance(&self) {
        let has_owner = self.settings["kafka"]["join"] == json!("owner");
        let partitions = Kind::ALL.map(|kind| self.stream.partitions_of(kind).count());
        let partitions = partitions[0].max(partitions[1]);
        wait_until(CONSUMED, "the partitions are shared", || {
            let shares: Vec<f64> = self
                .replicas
                .iter()
                .map(|replica| {
                    let exposition = replica.sidecar().metrics();
                    exposition.sum("rankgauge_assigned_partitions", &[])
                })
                .collect();
            let sum: f64 = shares.iter().sum();
            let mut replicas = self.replicas.iter();
            let joined = replicas.all(|replica| replica.sidecar().get("/readyz").0 == 200);
            let even = has_owner
                || (shares.iter()).all(|share| (*share - sum / u32_of(shares.len())).abs() < 1.0);
            ((sum - u32_of(partitions)).abs() < 0.5 && even && joined).then_some(())
        });
    }

    fn burst(&mut self, searches: usize) {
        self.stream.produce(broker(), searches);
        self.note_committed();
    }

    /// Fetches and records the committed offsets. They must never decrease.
    fn note_committed(&mut self) -> Offsets {
        let now = counted_by_partition(broker(), self.group(), &self.topics());
        self.note(&now);
        now
    }

    fn note(&mut self, now: &Offsets) {
        for (place, before) in &self.committed {
            let now = now.get(place).copied().unwrap_or_default();
            assert!(now >= *before, "{place:?} went back from {before} to {now}");
        }
        self.committed.clone_from(now);
    }

    /// Waits until everything is counted and committed to Kafka.
    fn settle(&mut self) {
        wait_until_counted(broker(), &self.settings, &self.stream);
        self.note_committed();
    }

    /// Number of records on the disk of this replica that successors starting at the committed
    /// offsets `kafka` may count again.
    fn unknown_to(&self, kafka: &Offsets, replica: usize) -> u64 {
        let disk = self.replicas[replica].on_disk();
        disk.iter()
            .map(|(place, counted)| counted - kafka.get(place).copied().unwrap_or_default())
            .map(|records| u64::try_from(records).unwrap_or_default())
            .sum()
    }

    /// Applies `act` to a replica after `scrapes` scrapes, during a burst. Returns the committed
    /// offsets directly afterwards, before another replica takes over.
    fn in_a_burst(
        &mut self,
        replica: usize,
        scrapes: u32,
        act: impl FnOnce(&mut Replica),
    ) -> Offsets {
        let group = self.group().to_owned();
        let topics = self.topics();
        let Self {
            stream, replicas, ..
        } = self;
        let replica = &mut replicas[replica];
        let kafka = thread::scope(|scope| {
            scope.spawn(|| stream.produce(broker(), BURST));
            for _ in 0..scrapes {
                replica.scrape();
            }
            act(replica);
            counted_by_partition(broker(), &group, &topics)
        });
        self.note(&kafka);
        kafka
    }

    /// `kill -9` and a restart, either at once or after other replicas have counted its partitions.
    /// Returns the maximum number of records counted twice as a result.
    fn kill(&mut self, replica: usize, scrapes: u32, stays_away: bool) -> u64 {
        let kafka = self.in_a_burst(replica, scrapes, |replica| replica.sidecar = None);
        let unknown = self.unknown_to(&kafka, replica);
        if stays_away {
            self.await_takeover();
        }
        let settings = &self.replicas[replica].settings;
        self.replicas[replica].sidecar = Some(start(settings));
        self.replicas[replica].scrape();
        unknown
    }

    /// SIGTERM and a restart.
    fn roll(&mut self, replica: usize) {
        self.replicas[replica].scrape();
        let mut sidecar = self.replicas[replica].sidecar.take().expect("it runs");
        let status = sidecar.terminate(SHUTDOWN);
        assert!(status.success(), "{status}: {}", sidecar.log());
        drop(sidecar);
        self.burst(BURST);
        let settings = &self.replicas[replica].settings;
        self.replicas[replica].sidecar = Some(start(settings));
        self.replicas[replica].scrape();
    }

    /// Waits until the group has removed one replica and the others have counted everything.
    fn await_takeover(&mut self) {
        let others = self.replicas.len() - 1;
        wait_until(SOON, "a replica that is not heard of is given up", || {
            (broker().group_members(self.group()) == others).then_some(())
        });
        self.settle();
    }

    /// Pauses a replica until other replicas have taken over and counted its partitions, then
    /// resumes it. Returns the maximum number of records counted twice as a result.
    fn freeze(&mut self, replica: usize, scrapes: u32) -> u64 {
        // A replica without partitions would lose nothing.
        self.await_balance();
        let before = self.replicas[replica].noticed();
        let kafka = self.in_a_burst(replica, scrapes, |replica| replica.sidecar().pause());
        let unknown = self.unknown_to(&kafka, replica);
        self.await_takeover();
        self.replicas[replica].sidecar().resume();
        wait_until(SOON, "it notices", || {
            (self.replicas[replica].noticed() > before).then_some(())
        });
        // The checkpoint that was being written during the pause is complete only now.
        let unknown = unknown.max(self.unknown_to(&kafka, replica));
        // The replica had fetched more records than it had counted. By now, everything is counted.
        self.await_balance();
        self.replicas[replica].scrape();
        self.note_committed();
        unknown
    }

    /// Waits until everything is counted, and returns the number of records of both kinds that were
    /// counted twice. Asserts that no series is below the result of `replay`.
    fn counted_twice(&mut self) -> u64 {
        self.settle();
        let like = self.replicas[0].scrape();
        let mut truth = replayed(&self.settings, &self.stream, &like);
        truth.retain(|series, _| !series.starts_with("rankgauge_offsets_without_records"));
        let pending: u64 = truth
            .iter()
            .filter(|(series, _)| series.starts_with("rankgauge_events_pending"))
            .map(|(_, value)| value.parse::<u64>().expect("a count"))
            .sum();
        truth.retain(|series, _| !series.starts_with("rankgauge_events_pending"));
        let truth = added([&truth]);
        let mut missing = Vec::new();
        let started = Instant::now();
        wait_until(CONSUMED, "nothing is missing", || {
            let parts: Vec<Counters> = self
                .replicas
                .iter_mut()
                .map(|replica| counters(&replica.scrape()))
                .collect();
            let sums = added(&parts);
            missing = truth
                .iter()
                .filter(|(series, value)| sums.get(*series).is_none_or(|sum| sum < value))
                .map(|(series, value)| format!("{series}: {:?} of {value}", sums.get(series)))
                .collect();
            assert!(
                started.elapsed() < SOON || missing.is_empty(),
                "{} of {} series lack something:\n{}",
                missing.len(),
                truth.len(),
                missing[..missing.len().min(20)].join("\n")
            );
            missing.is_empty().then_some(())
        });
        let shown = wait_until(CONSUMED, "what waits is the same as in replay", || {
            let mut waiting = 0;
            let mut shown = [0; 2];
            for replica in &mut self.replicas {
                let exposition = replica.scrape();
                let found = received(&exposition);
                shown = [shown[0] + found[0], shown[1] + found[1]];
                waiting += Kind::ALL
                    .map(|kind| super::pending(&exposition, kind))
                    .iter()
                    .sum::<u64>();
            }
            (waiting == pending).then_some(shown)
        });
        let produced = self.stream.produced();
        (shown[0] + shown[1]) - (produced[0] + produced[1])
    }
}

fn u32_of(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("a small count"))
}

/// Counted offsets of a group according to its commits in Kafka.
fn counted_by_partition(broker: &Broker, group: &str, topics: &[String; 2]) -> Offsets {
    Kind::ALL
        .into_iter()
        .flat_map(|kind| {
            let points = broker.committed_metadata(group, &topics[kind.index()]);
            points.into_iter().filter_map(move |(partition, metadata)| {
                let point = commit_metadata::decode(partition, kind, 0, &metadata)?;
                Some(((kind, partition), point.counted))
            })
        })
        .collect()
}

/// Number of rounds of a test. `make chaos` increases it.
fn rounds(usual: usize) -> usize {
    std::env::var("RANKGAUGE_ROUNDS").map_or(usual, |rounds| {
        rounds.parse().expect("RANKGAUGE_ROUNDS is a number")
    })
}

/// Applies `rounds` failures drawn from `kinds`, and compares the number of records counted twice
/// with its bound.
fn conservation(name: &str, is_static: bool, rounds: usize, seed: u64) {
    fails(
        name,
        Fleet::start(2, 4, is_static, &session()),
        is_static,
        rounds,
        seed,
    );
}

/// Short session time-out, but long enough for a heartbeat delayed by a busy machine.
fn session() -> Value {
    json!({"session.timeout.ms": "10000", "heartbeat.interval.ms": "1000"})
}

fn fails(name: &str, mut fleet: Fleet, is_static: bool, rounds: usize, seed: u64) {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut bound = 0;
    let mut failures = [0; 3];
    // Each kind of failure occurs at least once. Further failures are drawn at random.
    for round in 0..rounds {
        let kind = match round {
            0..3 => round,
            _ => [0, 0, 0, 1, 2, 2][chance.random_range(0..6)],
        };
        failures[kind] += 1;
        let replica = chance.random_range(0..fleet.replicas.len());
        let replica = fleet.owner().unwrap_or(replica);
        fleet.burst(chance.random_range(1..BURST));
        let scrapes = chance.random_range(0..20);
        match kind {
            // After a restart, a dynamic member has a new member id. A static member keeps its
            // assignment.
            0 => bound += fleet.kill(replica, scrapes, is_static && round % 2 == 0),
            1 => bound += fleet.freeze(replica, scrapes),
            _ => fleet.roll(replica),
        }
    }
    fleet.await_balance();
    let twice = fleet.counted_twice();
    let [searches, feedback] = fleet.stream.produced();
    eprintln!(
        "{name}: {} kills, {} pauses past the session time-out, {} rolling restarts, {} records: \
         none lost, {twice} counted twice, of at most {bound} that were on disk and not committed",
        failures[0],
        failures[1],
        failures[2],
        searches + feedback
    );
    assert!(twice <= bound, "{twice} counted twice, of at most {bound}");
}

#[test]
fn dynamic_members_lose_nothing_and_double_count_at_most_uncommitted_records() {
    conservation("dynamic members", false, rounds(3), 11);
}

#[test]
fn static_members_lose_nothing_and_double_count_at_most_uncommitted_records() {
    conservation("static members", true, rounds(3), 12);
}

#[test]
fn owners_of_all_partitions_lose_nothing_and_double_count_at_most_uncommitted_records() {
    let fleet = Fleet::with_owner(2, false, &session());
    fails("owners", fleet, false, rounds(3), 13);
}

#[test]
fn three_forwarders_and_their_readers_lose_nothing_and_double_count_at_most_uncommitted_records() {
    let fleet = Fleet::with_repartition(3, false, &session());
    fails("repartition", fleet, false, rounds(3), 14);
}

#[test]
fn surplus_replicas_stay_idle_and_rolling_restarts_are_exactly_once() {
    let mut fleet = Fleet::start(3, 2, false, &json!({}));
    for replica in &fleet.replicas {
        assert_eq!(replica.sidecar().get("/readyz").0, 200, "idle is ready");
    }
    for replica in (0..3).cycle().take(rounds(3)) {
        fleet.burst(BURST);
        fleet.roll(replica);
    }
    assert_eq!(fleet.counted_twice(), 0);
}
