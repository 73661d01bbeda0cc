//! Values that operators control: written by the app and the API, read by workers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arc_swap::ArcSwap;

use super::commands::{Command, CommandQueue};
use super::deployments::{Deployment, Deployments};
use rankgauge_core::engine::incidents::Deployed;
use rankgauge_core::gold::GoldSet;

/// Control of the workers of a process.
#[derive(Debug)]
pub struct Control {
    /// Current gold set, replaced as a whole.
    gold: ArcSwap<GoldSet>,
    /// Command queue of each worker.
    command_queues: Vec<CommandQueue>,
    /// Shutdown request. It is set once.
    stop: AtomicBool,
    /// Number of drained workers: those with nothing left to commit.
    drained: AtomicUsize,
    /// Reported deployments.
    pub deployments: Deployments,
}

impl Control {
    /// Control of `workers` workers, with an empty gold set, and with the deployments that were saved
    /// in the checkpoint folder.
    pub fn new(workers: usize, checkpoints: Option<&Path>) -> Self {
        Self {
            gold: ArcSwap::from_pointee(GoldSet::empty()),
            command_queues: (0..workers).map(|_| CommandQueue::default()).collect(),
            stop: AtomicBool::new(false),
            drained: AtomicUsize::new(0),
            deployments: Deployments::load(checkpoints),
        }
    }

    /// Current gold set.
    pub fn gold(&self) -> Arc<GoldSet> {
        self.gold.load_full()
    }

    /// The current gold set, if it is not `known`.
    pub fn gold_other_than(&self, known: &Arc<GoldSet>) -> Option<Arc<GoldSet>> {
        let gold = self.gold.load();
        (!Arc::ptr_eq(&gold, known)).then(|| Arc::clone(&gold))
    }

    /// Replaces the gold set. A worker receives it at the next iteration of its loop.
    pub fn set_gold(&self, gold: GoldSet) {
        self.gold.store(Arc::new(gold));
    }

    /// Sends `command` to every worker. A worker executes it at the next iteration of its loop.
    pub fn command(&self, command: &Command) {
        for queue in &self.command_queues {
            queue.push(command.clone());
        }
    }

    /// Records a deployment. Every worker resets the baselines of its variant.
    pub fn deploy(&self, deployment: Deployment) {
        self.reset_for(&deployment);
        self.deployments.add(deployment);
    }

    fn reset_for(&self, deployment: &Deployment) {
        self.command(&Command::Deployed {
            variant: deployment.variant.as_str().into(),
            version: deployment.version.as_str().into(),
            at: deployment.at(),
        });
    }

    /// Records a deployment that searches show, unless another worker or an operator reported it.
    pub fn deploy_seen(&self, variant: &str, deployed: Deployed) {
        let deployment = Deployment {
            variant: variant.to_owned(),
            version: deployed.version.map(String::from).unwrap_or_default(),
            ts: deployed.at.0,
            note: None,
            lists: None,
        };
        if self.deployments.add_new(&deployment) {
            self.reset_for(&deployment);
        }
    }

    /// Removes and returns the pending commands of `worker`, oldest first.
    pub fn take_commands(&self, worker: usize) -> Vec<Command> {
        self.command_queues[worker].take()
    }

    /// Requests the shutdown of all workers.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns true if the shutdown was requested.
    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Marks one worker as drained: it has nothing left to commit.
    pub fn mark_drained(&self) {
        self.drained.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns true if all workers are drained.
    pub fn all_drained(&self) -> bool {
        self.drained.load(Ordering::Acquire) >= self.command_queues.len()
    }
}
