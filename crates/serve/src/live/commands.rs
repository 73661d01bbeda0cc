//! Operator commands and the queue of each worker.
//!
//! Sending a command does not block. A worker takes its commands at the next iteration of its loop.
//! A queue holds a command once, and at most 256 commands, which bounds the queue of a stalled worker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::deployments::Deployment;
use rankgauge_core::engine::incidents::Acknowledged;
use rankgauge_core::time::{EventTime, WallTime};

/// Command with its origin. Every replica of the fleet executes it once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedCommand {
    /// Time at which a replica received it.
    pub reported: WallTime,
    /// User of the API, if the listener has authentication.
    pub by: Option<String>,
    /// The command.
    pub order: Order,
}

/// Command of an operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Resets all baselines.
    ResetBaselines,
    /// Reports a deployment.
    Deploy(Deployment),
    /// Takes note of the incident with this id.
    Acknowledge(u64),
}

impl ReportedCommand {
    /// Command for the workers.
    pub(super) fn command(&self) -> Command {
        match &self.order {
            Order::ResetBaselines => Command::LearnBaselines {
                reported: self.reported,
            },
            Order::Deploy(it) => Command::Deployed {
                variant: it.variant.as_str().into(),
                version: it.version.as_str().into(),
                at: it.at(),
                reported: self.reported,
            },
            Order::Acknowledge(incident) => Command::Acknowledged {
                incident: *incident,
                note: Acknowledged {
                    at: self.reported,
                    by: self.by.as_deref().map(Into::into),
                },
            },
        }
    }
}

/// Command for all workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Resets the baselines. They are learned again from the following searches.
    LearnBaselines {
        /// Time at which it was reported.
        reported: WallTime,
    },
    /// Resets the baselines of a variant, because it was deployed.
    Deployed {
        /// Name of the variant.
        variant: Arc<str>,
        /// Version that was deployed.
        version: Arc<str>,
        /// Time of the deployment.
        at: EventTime,
        /// Time at which it was reported.
        reported: WallTime,
    },
    /// Notes that an operator took note of an incident.
    Acknowledged {
        /// Id of the incident.
        incident: u64,
        /// The note.
        note: Acknowledged,
    },
}

impl Command {
    fn reported(&self) -> WallTime {
        match self {
            Self::LearnBaselines { reported } | Self::Deployed { reported, .. } => *reported,
            Self::Acknowledged { note, .. } => note.at,
        }
    }
}

/// Maximum number of pending commands of a worker. A process that starts receives those of the fleet.
const MAX_COMMANDS: usize = 256;

/// Queue of pending commands of one worker.
#[derive(Debug, Default)]
pub(super) struct CommandQueue(Mutex<Vec<Command>>);

impl CommandQueue {
    /// Adds `command` to the queue, unless it is already pending.
    pub(super) fn push(&self, command: Command) {
        let mut waiting = self.waiting();
        if waiting.contains(&command) {
            return;
        }
        if waiting.len() < MAX_COMMANDS {
            waiting.push(command);
        } else {
            // The reset of all baselines includes those of every variant.
            let reported = waiting.iter().map(Command::reported).max();
            let reported = reported.unwrap_or_default().max(command.reported());
            *waiting = vec![Command::LearnBaselines { reported }];
        }
    }

    /// Removes and returns all pending commands, oldest first.
    pub(super) fn take(&self) -> Vec<Command> {
        std::mem::take(&mut *self.waiting())
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Command>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
