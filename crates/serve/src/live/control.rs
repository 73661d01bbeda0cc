//! Values that operators control: written by the app and the API, read by workers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use super::commands::{Command, CommandQueue, Order, ReportedCommand};
use super::deployments::{Deployment, Deployments, VersionBefore};
use rankgauge_core::engine::SeenDeployment;
use rankgauge_core::engine::incidents::Acknowledged;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::time::{Millis, WallTime};

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
    /// Last acknowledgements by incident, until the workers have published them.
    acknowledged: Mutex<BTreeMap<u64, Acknowledged>>,
    /// Commands to share with the fleet; `None` without a state topic.
    outbox: Option<Mutex<Vec<ReportedCommand>>>,
}

/// Time after which the workers have published an acknowledgement.
const ACKNOWLEDGED_KEPT: Millis = Millis(60_000);

/// Maximum number of commands that wait to be shared.
const MAX_OUTBOX: usize = 256;

impl Control {
    /// Control of `workers` workers, with an empty gold set, and with the deployments that were saved
    /// in the checkpoint folder. With `is_shared`, commands are kept for the fleet.
    pub fn new(workers: usize, checkpoints: Option<&Path>, is_shared: bool) -> Self {
        Self {
            gold: ArcSwap::from_pointee(GoldSet::empty()),
            command_queues: (0..workers).map(|_| CommandQueue::default()).collect(),
            stop: AtomicBool::new(false),
            drained: AtomicUsize::new(0),
            deployments: Deployments::load(checkpoints),
            acknowledged: Mutex::default(),
            outbox: is_shared.then(Mutex::default),
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
    fn command(&self, command: &Command) {
        for queue in &self.command_queues {
            queue.push(command.clone());
        }
    }

    /// Executes a command of an operator, and keeps it for the fleet.
    pub fn execute(&self, command: ReportedCommand) {
        self.command(&command.command());
        if let Order::Deploy(deployment) = &command.order {
            self.deployments.add(deployment.clone());
        }
        self.share(command);
    }

    /// Acknowledges an incident. Returns the first acknowledgement, if the workers have not published it yet.
    pub(crate) fn acknowledge(&self, incident: u64, given: Acknowledged) -> Option<Acknowledged> {
        let acknowledged = self.acknowledged.lock();
        let mut acknowledged = acknowledged.unwrap_or_else(PoisonError::into_inner);
        let now = given.at;
        acknowledged.retain(|_, it| now.since(it.at) < ACKNOWLEDGED_KEPT);
        let first = acknowledged.get(&incident).cloned();
        acknowledged
            .entry(incident)
            .or_insert_with(|| given.clone());
        self.execute(ReportedCommand {
            reported: now,
            by: given.by.map(String::from),
            order: Order::Acknowledge(incident),
        });
        first
    }

    /// Executes the report of a deployment.
    pub fn deploy(&self, deployment: Deployment, reported: WallTime) {
        self.execute(ReportedCommand {
            reported,
            by: deployment.by.clone(),
            order: Order::Deploy(deployment),
        });
    }

    /// Records deployments that searches show, except for those that another worker or an operator reported.
    pub fn deploy_seen(&self, seen: Vec<SeenDeployment>) {
        let seen = seen.into_iter().map(|seen| Deployment {
            variant: seen.variant.into(),
            version: seen.deployed.version.map(String::from).unwrap_or_default(),
            ts: seen.deployed.at.0,
            keeps_baselines: true,
            before: Some(Box::new(VersionBefore {
                version: seen.before.into(),
                period: None,
            })),
            ..Deployment::default()
        });
        for deployment in self.deployments.add_new(seen) {
            let command = ReportedCommand {
                // Replicas see it at almost the same event time.
                reported: WallTime(deployment.ts),
                by: None,
                order: Order::Deploy(deployment),
            };
            self.command(&command.command());
            self.share(command);
        }
    }

    /// Executes commands that another replica received.
    pub fn receive(&self, commands: &[&ReportedCommand]) {
        let deployments = commands.iter().filter_map(|it| match &it.order {
            Order::Deploy(deployment) => Some(deployment.clone()),
            Order::ResetBaselines | Order::Acknowledge(_) | Order::Note { .. } => None,
        });
        self.deployments.add_new(deployments);
        for command in commands {
            self.command(&command.command());
        }
    }

    fn share(&self, command: ReportedCommand) {
        let Some(outbox) = &self.outbox else { return };
        let mut outbox = outbox.lock().unwrap_or_else(PoisonError::into_inner);
        if outbox.len() < MAX_OUTBOX {
            outbox.push(command);
        }
    }

    /// Takes the commands to share with the fleet, oldest first.
    pub fn take_outbox(&self) -> Vec<ReportedCommand> {
        let outbox = self.outbox.iter();
        let taken = outbox.flat_map(|outbox| {
            std::mem::take(&mut *outbox.lock().unwrap_or_else(PoisonError::into_inner))
        });
        taken.collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_acknowledgement_names_the_first_one() {
        let control = Control::new(1, None, false);
        let given = |by: &str, at| Acknowledged {
            at: WallTime(at),
            by: Some(by.into()),
        };
        assert_eq!(control.acknowledge(1, given("alice", 10)), None);
        let first = control.acknowledge(1, given("bob", 20));
        assert_eq!(first, Some(given("alice", 10)));
        assert_eq!(control.acknowledge(2, given("bob", 30)), None);
    }
}
