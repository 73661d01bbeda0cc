//! What an operator asks of the workers: noted by whoever is asked, found by each worker the next
//! time it goes round its loop. Who asks does not wait, and a worker that hangs keeps no more than one
//! command of each kind waiting.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Something that every worker is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Forget what scores usually are, and learn it anew from the searches that follow.
    LearnBaselines,
}

/// The commands that wait for one worker.
#[derive(Debug, Default)]
pub(super) struct Mailbox(Mutex<Vec<Command>>);

impl Mailbox {
    /// Leaves `command` for the worker. One that already waits is not done twice.
    pub(super) fn leave(&self, command: Command) {
        let mut waiting = self.waiting();
        if !waiting.contains(&command) {
            waiting.push(command);
        }
    }

    /// What has been left since the last look, in that order.
    pub(super) fn take(&self) -> Vec<Command> {
        std::mem::take(&mut *self.waiting())
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Command>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
