//! Context of one worker: the values that it has in common with other threads.

use std::sync::Arc;

use super::recovery::Recovery;
use crate::config::Config;
use crate::fleet::{Link, Links};
use crate::registry::Fetcher;
use rankgauge_core::engine::position::Join;
use rankgauge_core::engine::state::State;
use rankgauge_core::engine::{Engine, Input, Registry};
use rankgauge_kafka::Settings;
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::live::list_changes::ServedLists;
use rankgauge_serve::live::query_stats::QueryStats;
use rankgauge_serve::live::{Control, Published, WorkerView};

/// Context of one worker. Clones refer to the same values.
#[derive(Clone, Debug)]
pub struct WorkerContext {
    /// Worker number.
    pub(super) number: usize,
    pub(super) config: Arc<Config>,
    /// Settings of the consumer of the worker.
    pub(super) kafka: Arc<Settings>,
    pub(super) registry: Arc<Registry>,
    pub(super) published: Arc<Published>,
    pub(super) control: Arc<Control>,
    pub(super) recovery: Arc<Recovery>,
    /// Links to the thread of the fleet; `None` without a state topic.
    pub(super) links: Option<Arc<Links>>,
    /// Receiver of schemas; `None` without a registry.
    pub(super) schemas: Option<Arc<Fetcher>>,
}

impl WorkerContext {
    /// Cluster, and the topics from which the worker reads: internal ones with `kafka.join: repartition`.
    pub(super) fn kafka(&self) -> &Settings {
        &self.kafka
    }

    /// Returns true if the worker reads internal topics.
    pub(super) fn has_internal_topics(&self) -> bool {
        self.config.kafka.join == Join::Repartition
    }

    /// View of this worker for other threads.
    pub(super) fn view(&self) -> &Arc<WorkerView> {
        &self.published.views[self.number]
    }

    /// Query statistics of this worker; `None` if the API is disabled.
    pub(super) fn query_stats(&self) -> Option<&Arc<QueryStats>> {
        self.published.query_stats_of(self.number)
    }

    /// Result lists of this worker; `None` if the API is disabled.
    pub(super) fn lists(&self) -> Option<&Arc<ServedLists>> {
        self.published.lists_of(self.number)
    }

    /// Link of this worker to the thread of the fleet; `None` without a state topic.
    pub(super) fn link(&self) -> Option<&Link> {
        self.links.as_ref()?.of(self.number)
    }

    /// Creates an engine without counters and partitions.
    pub(super) fn new_engine(&self) -> Engine {
        let settings = Arc::new(self.config.engine.clone());
        Engine::new(settings, Arc::clone(&self.registry), wall_now())
    }

    /// Creates an engine with the counters of `state` and without partitions.
    pub(super) fn engine_with(&self, state: &State) -> Engine {
        let mut engine = self.new_engine();
        engine.restore(state);
        engine.apply(Input::Gold(self.control.gold()));
        engine
    }
}
