//! View of the schema registry for other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;

use rankgauge_core::engine::family::REGISTRY_OUTCOMES;

/// Outcome of a request for a schema, in the order of [`REGISTRY_OUTCOMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryOutcome {
    /// The schema was received.
    Ok,
    /// The registry has no such schema.
    Missing,
    /// The schema cannot be used.
    Invalid,
    /// The registry did not answer.
    Unavailable,
}

/// Numbers of requests, and the problem of the last one.
#[derive(Debug, Default)]
pub struct RegistryView {
    requests: [AtomicU64; REGISTRY_OUTCOMES.len()],
    problem: ArcSwapOption<String>,
}

impl RegistryView {
    /// Counts a request.
    pub fn count(&self, outcome: RegistryOutcome) {
        self.requests[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the problem of the registry; `None` while it answers.
    pub fn set_problem(&self, problem: Option<String>) {
        self.problem.store(problem.map(Arc::new));
    }

    /// Problem of the registry; `None` while it answers.
    pub(crate) fn problem(&self) -> Option<Arc<String>> {
        self.problem.load_full()
    }

    /// Number of requests of each outcome.
    pub(crate) fn requests(&self) -> [(&'static str, u64); REGISTRY_OUTCOMES.len()] {
        let mut requests = REGISTRY_OUTCOMES.map(|outcome| (outcome, 0));
        for ((_, count), counter) in requests.iter_mut().zip(&self.requests) {
            *count = counter.load(Ordering::Relaxed);
        }
        requests
    }
}
