//! Operator commands and the queue of each worker.
//!
//! Sending a command does not block. A worker takes its commands at the next iteration of its loop.
//! A queue holds a command once, and at most 32 commands, which bounds the queue of a stalled worker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rankgauge_core::time::EventTime;

/// Command for all workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Resets the baselines. They are learned again from the following searches.
    LearnBaselines,
    /// Resets the baselines of a variant, because it was deployed.
    Deployed {
        /// Name of the variant.
        variant: Arc<str>,
        /// Version that was deployed.
        version: Arc<str>,
        /// Time of the deployment.
        at: EventTime,
    },
}

/// Maximum number of pending commands of a worker.
const MAX_COMMANDS: usize = 32;

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
            *waiting = vec![Command::LearnBaselines];
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
