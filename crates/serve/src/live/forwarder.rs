//! View of the forwarder of a worker, with `kafka.join: repartition`. Without it, nothing is ever set.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};

use super::heartbeat::Heartbeat;
use super::view::StalledPartition;
use crate::clock::monotonic_now;
use rankgauge_core::event::Kind;

/// Time without a transaction after which a forwarder is reported.
const FAILURE_TIMEOUT: Duration = Duration::from_secs(30);

/// View of the forwarder of a worker.
#[derive(Debug, Default)]
pub struct ForwarderView {
    /// Heartbeat of its thread; unset without a forwarder.
    heartbeat: OnceLock<Heartbeat>,
    sources: ArcSwap<Vec<SourcePartition>>,
    stalled: ArcSwap<Vec<StalledPartition>>,
    /// Number of topic partitions that wait for a schema.
    without_schema: AtomicUsize,
    /// `None` while transactions are committed.
    failure: ArcSwapOption<Failure>,
}

/// Source partition that a forwarder copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePartition {
    /// Kind of the topic.
    pub kind: Kind,
    /// Number of the partition, from 0.
    pub partition: i32,
    /// Number of records that are not copied yet; `None` until the broker has reported the end.
    pub lag: Option<u64>,
}

/// Forwarder that commits no transaction.
#[derive(Debug)]
struct Failure {
    /// Time of the first failure; `None` if no transaction was committed since the start.
    since: Option<Instant>,
    problem: String,
}

impl ForwarderView {
    /// Records the start of the forwarder. Until its first transaction, the process is not ready.
    pub fn started(&self) {
        let problem = "it has no assignment from its consumer group".to_owned();
        let failure = Failure {
            since: None,
            problem,
        };
        self.failure.store(Some(Arc::new(failure)));
        self.heartbeat.get_or_init(Heartbeat::default);
    }

    /// Records the start of an iteration of the forwarder's loop, or of a long request.
    pub fn beat(&self) {
        if let Some(heartbeat) = self.heartbeat.get() {
            heartbeat.beat();
        }
    }

    /// Time since the last beat; `None` without a forwarder.
    pub fn heartbeat_age(&self) -> Option<Duration> {
        self.heartbeat.get().map(Heartbeat::age)
    }

    /// Records a failure, after which the forwarder has no source partitions.
    pub fn failed(&self, problem: String) {
        let since = match self.failure.load().as_deref() {
            Some(known) => known.since,
            None => Some(monotonic_now()),
        };
        let failure = Failure { since, problem };
        self.failure.store(Some(Arc::new(failure)));
        self.set_sources(Vec::new());
        self.set_stalled(Vec::new());
        self.set_without_schema(0);
    }

    /// Records a committed transaction, or an assignment without partitions.
    pub fn works(&self) {
        self.failure.store(None);
    }

    /// Problem for the readiness check; `None` if there is none, or only for a short time.
    pub fn problem(&self) -> Option<String> {
        let failure = self.failure.load_full()?;
        let problem = &failure.problem;
        let Some(since) = failure.since else {
            return Some(format!("has copied nothing yet: {problem}"));
        };
        let time = since.elapsed();
        let seconds = time.as_secs();
        (time >= FAILURE_TIMEOUT).then(|| format!("has copied nothing for {seconds} s: {problem}"))
    }

    /// Sets the source partitions.
    pub fn set_sources(&self, sources: Vec<SourcePartition>) {
        self.sources.store(Arc::new(sources));
    }

    /// Source partitions that the forwarder copies.
    pub fn sources(&self) -> Arc<Vec<SourcePartition>> {
        self.sources.load_full()
    }

    /// Sets the stalled source partitions.
    pub fn set_stalled(&self, stalled: Vec<StalledPartition>) {
        self.stalled.store(Arc::new(stalled));
    }

    /// Stalled source partitions.
    pub fn stalled(&self) -> Arc<Vec<StalledPartition>> {
        self.stalled.load_full()
    }

    /// Sets the number of source partitions that wait for a schema.
    pub fn set_without_schema(&self, partitions: usize) {
        self.without_schema.store(partitions, Ordering::Relaxed);
    }

    /// Number of source partitions that wait for a schema.
    pub fn without_schema(&self) -> usize {
        self.without_schema.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarder_is_a_problem_until_its_first_transaction_and_after_a_long_failure() {
        let view = ForwarderView::default();
        assert_eq!(view.problem(), None, "a process without forwarders");
        view.beat();
        assert_eq!(view.heartbeat_age(), None, "a process without forwarders");
        view.started();
        let waiting = "has copied nothing yet: it has no assignment from its consumer group";
        assert_eq!(view.problem().as_deref(), Some(waiting));
        assert!(view.heartbeat_age() < Some(FAILURE_TIMEOUT));
        view.failed("no permission".to_owned());
        let refused = "has copied nothing yet: no permission";
        assert_eq!(view.problem().as_deref(), Some(refused));
        view.works();
        assert_eq!(view.problem(), None);
        let source = SourcePartition {
            kind: Kind::Search,
            partition: 3,
            lag: Some(7),
        };
        view.set_sources(vec![source]);
        view.failed("a broker is away".to_owned());
        assert_eq!(view.problem(), None, "only for a moment");
        assert!(view.sources().is_empty(), "another forwarder copies them");
        let since = monotonic_now().checked_sub(FAILURE_TIMEOUT);
        let problem = "a broker is away".to_owned();
        view.failure
            .store(Some(Arc::new(Failure { since, problem })));
        view.failed("the coordinator is away".to_owned());
        let long = view.problem().expect("a problem");
        assert!(long.starts_with("has copied nothing for 3"), "{long}");
        assert!(long.ends_with(" s: the coordinator is away"), "{long}");
    }
}
