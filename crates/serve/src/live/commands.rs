//! Operator commands and the queue of each worker.
//!
//! Sending a command does not block. A worker takes its commands at the next iteration of its loop.
//! A queue holds a command once, and at most 256 commands, which bounds the queue of a stalled worker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::deployments::Deployment;
use rankgauge_core::engine::incidents::{Acknowledged, Note};
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
    /// Acknowledges the incident with this id.
    Acknowledge(u64),
    /// Adds a note to an incident.
    Note {
        /// Id of the incident.
        incident: u64,
        /// Text of the note.
        text: String,
    },
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
                reset: (!it.keeps_baselines).then_some(self.reported),
            },
            Order::Acknowledge(incident) => Command::Acknowledged {
                incident: *incident,
                given: Acknowledged {
                    at: self.reported,
                    by: self.by.as_deref().map(Into::into),
                },
            },
            Order::Note { incident, text } => Command::Noted {
                incident: *incident,
                note: Note {
                    at: self.reported,
                    by: self.by.as_deref().map(Into::into),
                    text: text.as_str().into(),
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
    /// Deployment of a variant.
    Deployed {
        /// Name of the variant.
        variant: Arc<str>,
        /// Version that was deployed.
        version: Arc<str>,
        /// Time of the deployment.
        at: EventTime,
        /// Time at which it was reported, if its baselines are reset.
        reset: Option<WallTime>,
    },
    /// Keeps the acknowledgement of an incident.
    Acknowledged {
        /// Id of the incident.
        incident: u64,
        /// The acknowledgement.
        given: Acknowledged,
    },
    /// Keeps a note on an incident.
    Noted {
        /// Id of the incident.
        incident: u64,
        /// Note with its time and operator.
        note: Note,
    },
}

impl Command {
    fn reported(&self) -> WallTime {
        match self {
            Self::LearnBaselines { reported } => *reported,
            Self::Deployed { reset, .. } => reset.unwrap_or_default(),
            Self::Acknowledged { given, .. } => given.at,
            Self::Noted { note, .. } => note.at,
        }
    }

    /// Returns true if the command changes what is measured.
    fn changes_measurement(&self) -> bool {
        match self {
            Self::LearnBaselines { .. } => true,
            Self::Deployed { reset, .. } => reset.is_some(),
            Self::Acknowledged { .. } | Self::Noted { .. } => false,
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
        if waiting.len() >= MAX_COMMANDS {
            // The other workers have the words of operators, and share them.
            waiting.retain(Command::changes_measurement);
        }
        if waiting.len() < MAX_COMMANDS {
            waiting.push(command);
        } else if command.changes_measurement() {
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
