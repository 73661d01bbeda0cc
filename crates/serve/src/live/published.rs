//! Values that workers publish: read by the exposition, the API and the demo. Only workers write
//! them.

use std::sync::Arc;

use super::alarms::Alarms;
use super::dead_letter_counts::DeadLetterCounts;
use super::fleet::FleetView;
use super::list_changes::{ListChanges, ServedLists};
use super::query_stats::{MAX_BYTES, MergedQueryStats, QueryStats};
use super::registry_view::RegistryView;
use super::rejections::Rejections;
use super::session_partitions::{MAX_SESSIONS, SessionPartitions};
use super::view::{StalledPartition, WorkerView};
use crate::latencies::WorkLatencies;
use rankgauge_core::engine::Progress;
use rankgauge_core::engine::incidents::Incident;
use rankgauge_core::engine::score_column::column_of;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;

/// Values that the workers of a process publish.
#[derive(Debug)]
pub struct Published {
    /// View of each worker.
    pub views: Vec<Arc<WorkerView>>,
    /// Query statistics of each worker; `None` if the API is disabled.
    query_stats: Option<Vec<Arc<QueryStats>>>,
    /// Change of result lists; `None` if the API is disabled.
    pub list_changes: Option<ListChanges>,
    /// Dead-letter counts of each worker; `None` without a dead-letter topic.
    dead_letter_counts: Option<Vec<Arc<DeadLetterCounts>>>,
    /// View of the schema registry; `None` without one.
    pub registry: Option<Arc<RegistryView>>,
    /// View of the state that the fleet shares; `None` without a state topic.
    pub fleet: Option<Arc<FleetView>>,
    /// Durations of the process's own work.
    pub latencies: WorkLatencies,
    /// Alarms of the workers.
    pub alarms: Alarms,
    /// Last rejected records.
    pub rejections: Rejections,
    /// Partitions of the sessions.
    pub sessions: SessionPartitions,
}

/// Optional parts of a process.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the parts are independent of each other"
)]
pub struct Enabled {
    /// The API, which reads query statistics and result lists.
    pub api: bool,
    /// The dead-letter topic.
    pub dead_letters: bool,
    /// The checkpoint folder.
    pub checkpoints: bool,
    /// The schema registry.
    pub registry: bool,
    /// The state topic.
    pub fleet: bool,
}

impl Published {
    /// Initial values of `workers` workers of an engine with `settings`, with the parts that are
    /// enabled.
    pub fn new(workers: usize, settings: &Settings, enabled: Enabled) -> Self {
        let empty = Arc::new(GoldSet::empty());
        let max_bytes = MAX_BYTES / workers.max(1);
        let trend = settings.primary_measure().map(column_of);
        let query_stats = || Arc::new(QueryStats::new(Arc::clone(&empty), max_bytes, trend));
        let latencies = WorkLatencies::new(enabled.checkpoints);
        let view = || Arc::new(WorkerView::new(enabled.checkpoints, latencies.clone()));
        Self {
            views: (0..workers).map(|_| view()).collect(),
            query_stats: enabled
                .api
                .then(|| (0..workers).map(|_| query_stats()).collect()),
            list_changes: enabled.api.then(|| ListChanges::new(workers)),
            dead_letter_counts: enabled
                .dead_letters
                .then(|| (0..workers).map(|_| Arc::default()).collect()),
            registry: enabled.registry.then(Arc::default),
            fleet: enabled.fleet.then(Arc::default),
            latencies,
            alarms: Alarms::default(),
            rejections: Rejections::default(),
            sessions: SessionPartitions::new(workers, MAX_SESSIONS),
        }
    }

    /// Merges the last published snapshots of all workers of this process.
    pub fn merged_of_process(&self) -> Snapshot {
        let mut merged = Snapshot::default();
        for view in &self.views {
            merged.merge(&view.snapshot());
        }
        merged
    }

    /// Merges the last published snapshots of all workers. Incidents and evidence are those of the fleet.
    pub fn merged(&self) -> Snapshot {
        let mut merged = self.merged_of_process();
        if let Some(fleet) = &self.fleet {
            let shares = fleet.incidents();
            let evidence = &mut merged.totals.evidence;
            evidence.add_incidents(shares.iter().map(|it| &it.incident));
            merged.fleet = fleet.evidence();
        }
        merged
    }

    /// Stalled topic partitions of all workers and forwarders.
    pub fn stalled(&self) -> Vec<StalledPartition> {
        let of_views = self.views.iter();
        let of_views = of_views.flat_map(|view| [view.stalled(), view.forwarder.stalled()]);
        of_views.flat_map(|stalled| stalled.to_vec()).collect()
    }

    /// Number of topic partitions of all workers and forwarders that wait for a schema.
    pub fn without_schema(&self) -> usize {
        let of_views = self.views.iter();
        of_views
            .map(|view| view.without_schema() + view.forwarder.without_schema())
            .sum()
    }

    /// Query statistics of all workers for `gold`; `None` if the API is disabled.
    pub fn query_stats(&self, gold: Arc<GoldSet>) -> Option<MergedQueryStats> {
        let tables = self.query_stats.as_ref()?.iter().map(|stats| stats.table());
        Some(MergedQueryStats::new(gold, tables))
    }

    /// Query statistics of one worker; `None` if the API is disabled.
    pub fn query_stats_of(&self, worker: usize) -> Option<&Arc<QueryStats>> {
        self.query_stats.as_ref()?.get(worker)
    }

    /// Result lists of one worker; `None` if the API is disabled.
    pub fn lists_of(&self, worker: usize) -> Option<&Arc<ServedLists>> {
        self.list_changes.as_ref()?.of(worker)
    }

    /// Numbers of delivered and failed dead-letter records of all workers; `None` without a
    /// dead-letter topic.
    pub fn dead_letter_counts(&self, kind: Kind) -> Option<[u64; 2]> {
        let workers = self.dead_letter_counts.as_ref()?.iter();
        let counts = workers.map(|counts| counts.of(kind));
        Some(counts.fold([0; 2], |sum, of_worker| {
            [sum[0] + of_worker[0], sum[1] + of_worker[1]]
        }))
    }

    /// Dead-letter counts of one worker; `None` without a dead-letter topic.
    pub fn dead_letter_counts_of(&self, worker: usize) -> Option<&Arc<DeadLetterCounts>> {
        self.dead_letter_counts.as_ref()?.get(worker)
    }

    /// Incidents of all workers except `worker`.
    pub fn incidents_of_others(&self, worker: usize) -> Vec<Incident> {
        let incidents = self.others(worker).flat_map(|view| {
            let snapshot = view.snapshot.load();
            let evidence = &snapshot.totals.evidence;
            evidence.incidents().cloned().collect::<Vec<_>>()
        });
        incidents.collect()
    }

    /// Latest snapshots of all workers except `worker`.
    pub fn snapshots_of_others(&self, worker: usize) -> Vec<Arc<Snapshot>> {
        let others = self.others(worker);
        others.map(|view| view.snapshot.load_full()).collect()
    }

    /// Combined progress of all workers except `worker`.
    pub fn progress_of_others(&self, worker: usize) -> Option<Progress> {
        self.others(worker)
            .filter_map(|view| view.snapshot.load().progress)
            .reduce(Progress::combine)
    }

    /// Views of all workers except `worker`.
    fn others(&self, worker: usize) -> impl Iterator<Item = &Arc<WorkerView>> {
        let views = self.views.iter().enumerate();
        views.filter_map(move |(number, view)| (number != worker).then_some(view))
    }
}
