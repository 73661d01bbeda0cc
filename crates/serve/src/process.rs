//! Metric families that describe the process. They have few series, held by the `prometheus` crate
//! in a separate registry. There is no global registry.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus::core::Collector;
use prometheus::process_collector::ProcessCollector;
use prometheus::proto::{MetricFamily, MetricType};
use prometheus::{
    Encoder, Gauge, GaugeVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry,
    TextEncoder,
};

use super::collect::Value;
use super::gateway::GatewayMetrics;
use super::json::Sample;
use super::latencies::Latencies;
use super::metric::opts;
use super::probe::ProbeMetrics;
use crate::build::BuildInfo;
use crate::live::{CheckpointView, FleetView, Published};
use crate::target::Target;
use rankgauge_core::engine::family::{self, Family};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::number::real;
use rankgauge_core::time::{Millis, WallTime};

/// Error in the setup of the families, caused by a mistake in the catalogue.
pub type Error = prometheus::Error;

/// The families of every process with listeners.
#[derive(Debug)]
pub struct BaseMetrics {
    pub(crate) build: BuildInfo,
    registry: Registry,
    /// Number of log lines that could not be written.
    lost_log_lines: Arc<AtomicU64>,
    log_lines_lost: IntCounter,
    rejected_requests: IntCounterVec,
    closed_connections: IntCounterVec,
}

/// The families that describe the process.
#[derive(Debug)]
pub struct ProcessMetrics {
    pub(crate) base: BaseMetrics,
    gold_queries: IntGauge,
    gold_judgements: IntGauge,
    gold_info: IntGaugeVec,
    gold_reloads: IntCounterVec,
    gold_reload_timestamp: Gauge,
    snapshot_age: GaugeVec,
    kafka_connected: IntGaugeVec,
    partition_stalled: GaugeVec,
    forwarder_lag: IntGaugeVec,
    assigned_partitions: IntGauge,
    topic_partitions: IntGauge,
    rebalances: IntCounter,
    sessions_split: IntCounter,
    checkpoints: CheckpointMetrics,
    dead_letters: IntCounterVec,
    dead_letter_failures: IntCounterVec,
    registry_requests: IntCounterVec,
    state_records: IntCounterVec,
    state_workers: IntGauge,
    state_bytes: IntGauge,
    state_published: GaugeVec,
    state_read: GaugeVec,
    state_interval: GaugeVec,
    without_schema: IntGauge,
}

/// Metrics of one listener.
#[derive(Clone, Debug)]
pub struct ListenerMetrics {
    rejected: [IntCounter; 2],
    closed: [IntCounter; 3],
}

impl ListenerMetrics {
    /// Records a request that was rejected.
    pub(super) fn request_rejected(&self, reason: RejectReason) {
        self.rejected[reason as usize].inc();
    }

    /// Records a connection that was closed before its end.
    pub(super) fn connection_closed(&self, reason: CloseReason) {
        self.closed[reason as usize].inc();
    }
}

/// Reason for rejecting a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RejectReason {
    /// The capacity of the listener was used up.
    Capacity,
    /// The credentials were missing or wrong.
    Authentication,
}

impl RejectReason {
    /// All reasons, in the order of their values.
    const ALL: [Self; 2] = [Self::Capacity, Self::Authentication];

    fn name(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Authentication => "authentication",
        }
    }
}

/// Reason for closing a connection that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// The head of a request was not complete in time.
    SlowRequest,
    /// A response was not read in time.
    SlowResponse,
    /// A new connection needed its place.
    Capacity,
}

impl CloseReason {
    /// All reasons, in the order of their values.
    const ALL: [Self; 3] = [Self::SlowRequest, Self::SlowResponse, Self::Capacity];

    fn name(self) -> &'static str {
        match self {
            Self::SlowRequest => "slow_request",
            Self::SlowResponse => "slow_response",
            Self::Capacity => "capacity",
        }
    }
}

/// Metrics of the checkpoints on disk, by worker.
#[derive(Debug)]
struct CheckpointMetrics {
    age: GaugeVec,
    restored: GaugeVec,
    bytes: GaugeVec,
    duration: GaugeVec,
    attempts: IntCounterVec,
}

impl CheckpointMetrics {
    fn new(families: &Families<'_>) -> Result<Self, Error> {
        Ok(Self {
            age: families.gauges(&family::CHECKPOINT_AGE)?,
            restored: families.gauges(&family::CHECKPOINT_RESTORED)?,
            bytes: families.gauges(&family::CHECKPOINT_BYTES)?,
            duration: families.gauges(&family::CHECKPOINT_DURATION)?,
            attempts: families.counters(&family::CHECKPOINTS)?,
        })
    }

    fn update(&self, worker: &str, view: &CheckpointView, now: WallTime) {
        let results = [AttemptResult::Success, AttemptResult::Failure];
        for (result, count) in results.iter().zip(view.attempts()) {
            let counter = self.attempts.with_label_values(&[worker, result.name()]);
            counter.inc_by(count.saturating_sub(counter.get()));
        }
        if let Some(restored) = view.restored() {
            let restored = seconds(restored.0);
            self.restored.with_label_values(&[worker]).set(restored);
        }
        let Some(written) = view.written() else {
            return;
        };
        let age = seconds(now.since(written).0.max(0));
        self.age.with_label_values(&[worker]).set(age);
        self.bytes
            .with_label_values(&[worker])
            .set(real(view.bytes()));
        self.duration
            .with_label_values(&[worker])
            .set(view.took().as_secs_f64());
    }
}

/// Result of an attempt to load the gold set or to write a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttemptResult {
    /// The new one is in use.
    Success,
    /// The previous one stays in use.
    Failure,
}

impl AttemptResult {
    fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }
}

impl BaseMetrics {
    /// The families with their initial values. `lost_log_lines` is the number of log lines that could
    /// not be written.
    ///
    /// # Errors
    /// When the catalogue contradicts itself.
    pub fn new(build: BuildInfo, lost_log_lines: Arc<AtomicU64>) -> Result<Self, Error> {
        let registry = Registry::new();
        let families = Families(&registry);
        registry.register(Box::new(ProcessCollector::for_self()))?;
        let info = families.whole_gauges(&family::BUILD_INFO)?;
        info.with_label_values(&[build.version, build.revision, build.rustc])
            .set(1);
        Ok(Self {
            build,
            log_lines_lost: families.counter(&family::LOG_LINES_LOST)?,
            lost_log_lines,
            rejected_requests: families.counters(&family::HTTP_REJECTED_REQUESTS)?,
            closed_connections: families.counters(&family::HTTP_CLOSED_CONNECTIONS)?,
            registry,
        })
    }

    /// Metrics of the listener `name`, which are exposed from the start.
    pub fn listener(&self, name: &str) -> ListenerMetrics {
        ListenerMetrics {
            rejected: RejectReason::ALL.map(|reason| {
                self.rejected_requests
                    .with_label_values(&[name, reason.name()])
            }),
            closed: CloseReason::ALL.map(|reason| {
                self.closed_connections
                    .with_label_values(&[name, reason.name()])
            }),
        }
    }

    /// Metrics of a gateway, which are exposed from now on.
    ///
    /// # Errors
    /// When the catalogue contradicts itself.
    pub fn gateway(&self) -> Result<GatewayMetrics, Error> {
        let families = Families(&self.registry);
        let metrics = GatewayMetrics {
            requests: families.counters(&family::GATEWAY_REQUESTS)?,
            events: families.counters(&family::GATEWAY_EVENTS)?,
            memory: families.gauge(&family::GATEWAY_MEMORY)?,
            application_events: families.counters(&family::GATEWAY_APPLICATION_EVENTS)?,
            application_bytes: families.counters(&family::GATEWAY_APPLICATION_BYTES)?,
            application_limited: families.counters(&family::GATEWAY_APPLICATION_LIMITED)?,
            request_duration: families.add(Latencies::new(&family::GATEWAY_REQUEST_DURATION))?,
            delivery_duration: families.add(Latencies::new(&family::GATEWAY_DELIVERY_DURATION))?,
        };
        metrics.expose();
        Ok(metrics)
    }

    /// Metrics of a probe, which are exposed from now on.
    ///
    /// # Errors
    /// When the catalogue contradicts itself.
    pub fn probe(&self) -> Result<ProbeMetrics, Error> {
        let families = Families(&self.registry);
        Ok(ProbeMetrics {
            searches: families.counters(&family::PROBE_SEARCHES)?,
            request_duration: families.add(Latencies::new(&family::PROBE_REQUEST_DURATION))?,
        })
    }

    fn gather(&self) -> Vec<MetricFamily> {
        let lost = self.lost_log_lines.load(Ordering::Relaxed);
        self.log_lines_lost
            .inc_by(lost.saturating_sub(self.log_lines_lost.get()));
        self.registry.gather()
    }

    /// The families in the text format.
    ///
    /// # Errors
    /// When the encoder rejects a family.
    pub fn encode(&self) -> Result<String, Error> {
        encode(&self.gather())
    }
}

fn encode(families: &[MetricFamily]) -> Result<String, Error> {
    let mut out = Vec::new();
    TextEncoder::new().encode(families, &mut out)?;
    String::from_utf8(out).map_err(|error| Error::Msg(error.to_string()))
}

impl ProcessMetrics {
    /// All families with their initial values. `lost_log_lines` is the number of
    /// log lines that could not be written.
    ///
    /// # Errors
    /// When the catalogue contradicts itself.
    pub fn new(
        build: BuildInfo,
        targets: &[Target],
        lost_log_lines: Arc<AtomicU64>,
    ) -> Result<Self, Error> {
        let base = BaseMetrics::new(build, lost_log_lines)?;
        let families = Families(&base.registry);
        let values = families.gauges(&family::SCORE_TARGET)?;
        for target in targets {
            values
                .with_label_values(&[&target.measure.to_string(), &target.tier])
                .set(target.value);
        }
        let metrics = Self {
            gold_queries: families.gauge(&family::GOLD_QUERIES)?,
            gold_judgements: families.gauge(&family::GOLD_JUDGEMENTS)?,
            gold_info: families.whole_gauges(&family::GOLD_INFO)?,
            gold_reloads: families.counters(&family::GOLD_RELOADS)?,
            gold_reload_timestamp: families
                .add(Gauge::with_opts(opts(&family::GOLD_RELOAD_TIMESTAMP)))?,
            snapshot_age: families.gauges(&family::SNAPSHOT_AGE)?,
            kafka_connected: families.whole_gauges(&family::KAFKA_CONNECTED)?,
            partition_stalled: families.gauges(&family::PARTITION_STALLED)?,
            forwarder_lag: families.whole_gauges(&family::FORWARDER_LAG)?,
            assigned_partitions: families.gauge(&family::ASSIGNED_PARTITIONS)?,
            topic_partitions: families.gauge(&family::TOPIC_PARTITIONS)?,
            rebalances: families.counter(&family::REBALANCES)?,
            sessions_split: families.counter(&family::SESSIONS_CROSS_PARTITION)?,
            checkpoints: CheckpointMetrics::new(&families)?,
            dead_letters: families.counters(&family::DEAD_LETTERS)?,
            dead_letter_failures: families.counters(&family::DEAD_LETTER_FAILURES)?,
            registry_requests: families.counters(&family::SCHEMA_REGISTRY_REQUESTS)?,
            state_records: families.counters(&family::STATE_RECORDS)?,
            state_workers: families.gauge(&family::STATE_WORKERS)?,
            state_bytes: families.gauge(&family::STATE_BYTES)?,
            state_published: families.gauges(&family::STATE_PUBLISHED)?,
            state_read: families.gauges(&family::STATE_READ)?,
            state_interval: families.gauges(&family::STATE_INTERVAL)?,
            without_schema: families.gauge(&family::SCHEMA_PARTITIONS_WAITING)?,
            base,
        };
        // All results are exposed from the start: `increase` misses the first failure if the
        // counter appears with it.
        for result in [AttemptResult::Success, AttemptResult::Failure] {
            metrics.gold_reloads.with_label_values(&[result.name()]);
        }
        for outcome in family::REGISTRY_OUTCOMES {
            metrics.registry_requests.with_label_values(&[outcome]);
        }
        for outcome in family::STATE_OUTCOMES {
            metrics.state_records.with_label_values(&[outcome]);
        }
        Ok(metrics)
    }

    /// The families of every process.
    pub fn base(&self) -> &BaseMetrics {
        &self.base
    }

    /// Records that the gold set `gold` is in use since `now`.
    pub fn gold_loaded(&self, gold: &GoldSet, now: WallTime) {
        self.gold_reloads
            .with_label_values(&[AttemptResult::Success.name()])
            .inc();
        self.gold_queries
            .set(i64::try_from(gold.queries().len()).unwrap_or(i64::MAX));
        self.gold_judgements
            .set(i64::try_from(gold.judgement_count()).unwrap_or(i64::MAX));
        self.gold_info.reset();
        self.gold_info
            .with_label_values(&[gold.version(), gold.sha256()])
            .set(1);
        self.gold_reload_timestamp.set(seconds(now.0));
    }

    /// Records a failed attempt to load a gold set.
    pub fn gold_load_failed(&self) {
        self.gold_reloads
            .with_label_values(&[AttemptResult::Failure.name()])
            .inc();
    }

    /// The families in the text format, with the state of the workers at `now`. `topics` are in the
    /// order of [`Kind::index`].
    ///
    /// # Errors
    /// When the encoder rejects a family.
    pub fn encode(
        &self,
        published: &Published,
        topics: &[String],
        now: WallTime,
    ) -> Result<String, Error> {
        encode(&self.families(published, topics, now))
    }

    /// The counters and gauges as samples.
    pub fn samples(&self, published: &Published, topics: &[String], now: WallTime) -> Vec<Sample> {
        let families = self.families(published, topics, now);
        let samples = families.iter().flat_map(|family| {
            family.get_metric().iter().filter_map(|metric| {
                let labels = metric.get_label().iter();
                let labels = labels.map(|label| (label.name().into(), label.value().into()));
                let value = match family.get_field_type() {
                    MetricType::COUNTER => metric.get_counter().get_value(),
                    MetricType::GAUGE => metric.get_gauge().get_value(),
                    MetricType::SUMMARY | MetricType::UNTYPED | MetricType::HISTOGRAM => {
                        return None;
                    }
                };
                Sample::new(family.name().into(), labels.collect(), Value::Float(value))
            })
        });
        samples.collect()
    }

    /// The families with the state of the workers at `now`.
    fn families(
        &self,
        published: &Published,
        topics: &[String],
        now: WallTime,
    ) -> Vec<MetricFamily> {
        let mut partitions = 0;
        let mut rebalances = 0;
        for (number, view) in published.views.iter().enumerate() {
            let worker = number.to_string();
            if let Some(checkpoint) = view.checkpoint() {
                self.checkpoints.update(&worker, checkpoint, now);
            }
            if let Some(wall) = view.snapshot().wall {
                self.snapshot_age
                    .with_label_values(&[&worker])
                    .set(seconds(now.since(wall).0.max(0)));
            }
            self.kafka_connected
                .with_label_values(&[&worker])
                .set(i64::from(view.connected()));
            partitions += view.partitions();
            rebalances += view.rebalances();
        }
        self.partition_stalled.reset();
        let partitions_read = published.views.iter().flat_map(|view| {
            let snapshot = view.snapshot();
            let numbers = snapshot.partitions.iter().map(|status| status.partition);
            numbers.collect::<Vec<_>>()
        });
        for partition in partitions_read {
            for topic in topics {
                self.partition_stalled
                    .with_label_values(&[topic, &partition.to_string()])
                    .set(0.0);
            }
        }
        self.forwarder_lag.reset();
        for view in &published.views {
            for source in view.forwarder.sources().iter() {
                let Some(topic) = topics.get(source.kind.index()) else {
                    continue;
                };
                let partition = source.partition.to_string();
                let labels = [topic.as_str(), partition.as_str()];
                self.partition_stalled.with_label_values(&labels).set(0.0);
                if let Some(lag) = source.lag {
                    let lag = i64::try_from(lag).unwrap_or(i64::MAX);
                    self.forwarder_lag.with_label_values(&labels).set(lag);
                }
            }
        }
        for stalled in published.stalled() {
            self.partition_stalled
                .with_label_values(&[&stalled.topic, &stalled.partition.to_string()])
                .set(stalled.since.elapsed().as_secs_f64());
        }
        for (kind, topic) in Kind::ALL.into_iter().zip(topics) {
            let Some(counts) = published.dead_letter_counts(kind) else {
                continue;
            };
            let families = [&self.dead_letters, &self.dead_letter_failures];
            for (family, count) in families.into_iter().zip(counts) {
                let counter = family.with_label_values(&[topic]);
                counter.inc_by(count.saturating_sub(counter.get()));
            }
        }
        if let Some(registry) = &published.registry {
            for (outcome, count) in registry.requests() {
                let counter = self.registry_requests.with_label_values(&[outcome]);
                counter.inc_by(count.saturating_sub(counter.get()));
            }
        }
        if let Some(fleet) = &published.fleet {
            self.update_state(fleet);
        }
        let without_schema = published.without_schema();
        self.without_schema
            .set(i64::try_from(without_schema).unwrap_or(i64::MAX));
        self.assigned_partitions
            .set(i64::try_from(partitions).unwrap_or(i64::MAX));
        let known = published.views.iter().map(|view| view.topic_partitions());
        // A worker without partitions may have an earlier number.
        let of_topics = known.filter(|it| *it > 0).min().unwrap_or(0);
        self.topic_partitions
            .set(i64::try_from(of_topics).unwrap_or(i64::MAX));
        self.rebalances
            .inc_by(rebalances.saturating_sub(self.rebalances.get()));
        let split = published.sessions.split();
        self.sessions_split
            .inc_by(split.saturating_sub(self.sessions_split.get()));
        let mut families = self.base.gather();
        families.extend(published.latencies.families());
        families
    }

    fn update_state(&self, fleet: &FleetView) {
        for (outcome, count) in fleet.records() {
            let counter = self.state_records.with_label_values(&[outcome]);
            counter.inc_by(count.saturating_sub(counter.get()));
        }
        let held = fleet.held().map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        self.state_workers.set(held[0]);
        self.state_bytes.set(held[1]);
        let times = [
            (&self.state_published, fleet.published()),
            (&self.state_read, fleet.was_read()),
            (&self.state_interval, fleet.interval()),
        ];
        for (gauge, millis) in times {
            if let Some(millis) = millis {
                let none: [&str; 0] = [];
                gauge.with_label_values(&none).set(seconds(millis));
            }
        }
    }
}

/// Registry that creates and registers the families of the catalogue.
struct Families<'a>(&'a Registry);

impl Families<'_> {
    fn add<C: Collector + Clone + 'static>(&self, created: Result<C, Error>) -> Result<C, Error> {
        let collector = created?;
        self.0.register(Box::new(collector.clone()))?;
        Ok(collector)
    }

    fn counter(&self, family: &Family) -> Result<IntCounter, Error> {
        self.add(IntCounter::with_opts(opts(family)))
    }

    fn counters(&self, family: &Family) -> Result<IntCounterVec, Error> {
        self.add(IntCounterVec::new(opts(family), &family.label_names()))
    }

    fn gauge(&self, family: &Family) -> Result<IntGauge, Error> {
        self.add(IntGauge::with_opts(opts(family)))
    }

    fn gauges(&self, family: &Family) -> Result<GaugeVec, Error> {
        self.add(GaugeVec::new(opts(family), &family.label_names()))
    }

    fn whole_gauges(&self, family: &Family) -> Result<IntGaugeVec, Error> {
        self.add(IntGaugeVec::new(opts(family), &family.label_names()))
    }
}

/// Converts milliseconds to seconds.
fn seconds(millis: i64) -> f64 {
    Millis(millis).seconds()
}
