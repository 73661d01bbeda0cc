//! Status of the sidecar: workers, partitions and their positions, and record outcomes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::state::{AdminApi, GoldSetInfo};
use super::timestamp::Timestamp;
use super::{incidents, missed_targets};
use crate::live::{CheckpointView, StalledPartition, WorkerView};
use rankgauge_core::engine::read_model::ReadModel;
use rankgauge_core::engine::snapshot::PartitionStatus;
use rankgauge_core::event::Kind;
use rankgauge_core::time::{Millis, WallTime};

/// Status of the sidecar.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Status {
    pub(crate) version: &'static str,
    pub(crate) revision: &'static str,
    pub(crate) rustc: &'static str,
    pub(crate) started: Timestamp,
    pub(crate) uptime_seconds: f64,
    /// Problem reported by `/healthz`, if any.
    pub(crate) liveness_problem: Option<String>,
    /// Problem reported by `/readyz`, if any.
    pub(crate) readiness_problem: Option<String>,
    pub(crate) workers: Vec<WorkerStatus>,
    pub(crate) partitions: Vec<PartitionPosition>,
    /// Partitions of the topics that forwarders of this process copy; empty unless kafka.join is repartition.
    pub(crate) sources: Vec<SourcePosition>,
    /// The lowest watermark of all partitions; end of the rolling windows.
    pub(crate) watermark: Option<Timestamp>,
    pub(crate) gold: Option<GoldSetInfo>,
    pub(crate) events: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    pub(crate) finalised_early: u64,
    /// Open incidents.
    pub(crate) open_incidents: usize,
    /// Means that miss their targets, by variant, measure and slice.
    pub(crate) missed_targets: usize,
    /// Time since a search was last received, to about five seconds; null before the first search.
    pub(crate) last_search_age_seconds: Option<f64>,
    /// True if samples are counted in overflow series.
    #[serde(skip)]
    pub(crate) is_over_series_limit: bool,
    /// True if other machines reach the admin listener without authentication, and this is not accepted.
    #[serde(skip)]
    pub(crate) is_open: bool,
}

/// Status of a worker.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Worker")]
pub(crate) struct WorkerStatus {
    pub(crate) worker: usize,
    pub(crate) connected: bool,
    /// True if the consumer group has ever assigned partitions to the worker, possibly none.
    pub(crate) assigned: bool,
    pub(crate) partitions: usize,
    pub(crate) rebalances: u64,
    pub(crate) heartbeat_age_seconds: f64,
    /// Absent before the first published snapshot.
    pub(crate) snapshot_age_seconds: Option<f64>,
    /// Absent without a checkpoint folder.
    pub(crate) checkpoint: Option<Checkpoint>,
}

/// Status of a worker's checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Checkpoint {
    pub(crate) age_seconds: Option<f64>,
    pub(crate) bytes: u64,
    pub(crate) duration_seconds: f64,
    pub(crate) written: u64,
    pub(crate) failed: u64,
}

/// Status of a partition of both topics.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Partition")]
pub(crate) struct PartitionPosition {
    pub(crate) partition: i32,
    pub(crate) worker: usize,
    /// Records not yet read, by topic; null until the broker has reported the end of the partition.
    pub(crate) lag: BTreeMap<String, Option<u64>>,
    pub(crate) watermark: Option<Timestamp>,
    pub(crate) watermark_delay_seconds: Option<f64>,
    /// Topics of the partition that have records to read and deliver none.
    pub(crate) stalled: Vec<StalledTopic>,
}

/// Source partition of a forwarder.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SourcePartition")]
pub(crate) struct SourcePosition {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    /// Worker whose forwarder copies it.
    pub(crate) worker: usize,
    /// Records not yet copied; null until the broker has reported the end of the partition.
    pub(crate) lag: Option<u64>,
    /// Null unless the partition has records to read and delivers none.
    pub(crate) stalled: Option<StalledTopic>,
}

/// Topic of a partition that has records to read and delivers none.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StalledTopic {
    pub(crate) topic: String,
    /// Offset at which reading stopped.
    pub(crate) offset: i64,
    /// Time since the last progress.
    pub(crate) seconds: f64,
    /// Cause, with its remedy.
    pub(crate) cause: &'static str,
}

pub(crate) fn of(admin: &AdminApi, now: WallTime) -> Status {
    let exposition = &admin.exposition;
    let published = &exposition.published;
    let merged = published.merged();
    let model = exposition.names.read(&merged);
    let liveness_problem = exposition.liveness_problem();
    let views = || published.views.iter().enumerate();
    let mut partitions: Vec<PartitionPosition> = views()
        .flat_map(|(worker, view)| {
            let snapshot = view.snapshot();
            let statuses = snapshot.partitions.iter();
            let topics = &exposition.names.topics;
            let stalled = view.stalled();
            let statuses = statuses.map(|status| PartitionPosition {
                stalled: stalled_topics(&stalled, status.partition),
                ..partition(worker, status, topics, now)
            });
            statuses.collect::<Vec<_>>()
        })
        .collect();
    partitions.sort_by_key(|partition| partition.partition);
    let topics = &exposition.names.topics;
    let sources = views().flat_map(|(worker, view)| sources(worker, view, topics));
    let mut sources: Vec<SourcePosition> = sources.collect();
    sources.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
    Status {
        version: exposition.process.base.build.version,
        revision: exposition.process.base.build.revision,
        rustc: exposition.process.base.build.rustc,
        started: Timestamp(admin.started.as_event_time()),
        uptime_seconds: now.since(admin.started).seconds(),
        readiness_problem: liveness_problem
            .clone()
            .or_else(|| exposition.readiness_problem()),
        liveness_problem,
        workers: views()
            .map(|(number, view)| worker(number, view, now))
            .collect(),
        partitions,
        sources,
        watermark: model.watermark().map(Timestamp),
        gold: exposition
            .is_gold_configured
            .then(|| GoldSetInfo::from(&*exposition.control.gold())),
        events: Kind::ALL
            .map(|kind| (kind.name(), events(&model, kind)))
            .into(),
        finalised_early: model.finalised_early(),
        open_incidents: incidents::open(&model),
        missed_targets: missed_targets::count(&model),
        last_search_age_seconds: admin
            .history
            .since_last_search(&model, now)
            .map(Millis::seconds),
        is_open: admin.is_open,
        is_over_series_limit: model.overflow().any(|(_, samples)| samples > 0),
    }
}

fn worker(number: usize, view: &WorkerView, now: WallTime) -> WorkerStatus {
    WorkerStatus {
        worker: number,
        connected: view.connected(),
        assigned: view.has_been_assigned(),
        partitions: view.partitions(),
        rebalances: view.rebalances(),
        heartbeat_age_seconds: view.heartbeat.age().as_secs_f64(),
        snapshot_age_seconds: view.snapshot().wall.map(|wall| age(wall, now)),
        checkpoint: view.checkpoint().map(|view| checkpoint(view, now)),
    }
}

fn checkpoint(view: &CheckpointView, now: WallTime) -> Checkpoint {
    let [written, failed] = view.attempts();
    Checkpoint {
        age_seconds: view.written().map(|written| age(written, now)),
        bytes: view.bytes(),
        duration_seconds: view.took().as_secs_f64(),
        written,
        failed,
    }
}

fn partition(
    worker: usize,
    status: &PartitionStatus,
    topics: &[String],
    now: WallTime,
) -> PartitionPosition {
    PartitionPosition {
        partition: status.partition,
        worker,
        lag: topics.iter().cloned().zip(status.lag).collect(),
        watermark: status.watermark.map(Timestamp),
        watermark_delay_seconds: status
            .watermark
            .map(|watermark| now.as_event_time().since(watermark).seconds()),
        stalled: Vec::new(),
    }
}

fn stalled_topics(stalled: &[StalledPartition], partition: i32) -> Vec<StalledTopic> {
    let of_it = stalled.iter().filter(|it| it.partition == partition);
    of_it.map(stalled_topic).collect()
}

fn stalled_topic(it: &StalledPartition) -> StalledTopic {
    StalledTopic {
        topic: it.topic.clone(),
        offset: it.offset,
        seconds: it.since.elapsed().as_secs_f64(),
        cause: it.cause,
    }
}

fn sources(worker: usize, view: &WorkerView, topics: &[String]) -> Vec<SourcePosition> {
    let stalled = view.forwarder.stalled();
    let sources = view.forwarder.sources();
    let sources = sources.iter().filter_map(|it| {
        let is_it = |stalled: &&StalledPartition| {
            (stalled.kind, stalled.partition) == (it.kind, it.partition)
        };
        Some(SourcePosition {
            topic: topics.get(it.kind.index())?.clone(),
            partition: it.partition,
            worker,
            lag: it.lag,
            stalled: stalled.iter().find(is_it).map(stalled_topic),
        })
    });
    sources.collect()
}

/// Events by outcome. With the pending ones, they add up to the events received.
pub(super) fn events(model: &ReadModel<'_>, kind: Kind) -> BTreeMap<&'static str, u64> {
    let outcomes = model.outcomes(kind).into_iter();
    outcomes.chain([("pending", model.pending(kind))]).collect()
}

pub(crate) fn age(then: WallTime, now: WallTime) -> f64 {
    Millis(now.since(then).0.max(0)).seconds()
}
