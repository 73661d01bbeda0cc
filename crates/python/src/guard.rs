//! Calls from Python: panics become exceptions, and long work releases the interpreter.

#![allow(
    clippy::disallowed_methods,
    reason = "long work has a thread of its own, so that the caller can be interrupted"
)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Failure;

/// Threads of this process. A process that was forked has none of the threads of its parent, so that it
/// needs others.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Interval at which a waiting call looks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// Returns the threads of this process.
pub(crate) fn pool() -> Result<Arc<ThreadPool>, Failure> {
    let process = std::process::id();
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = pool.as_ref().filter(|(owner, _)| *owner == process) {
        return Ok(Arc::clone(pool));
    }
    let new = ThreadPoolBuilder::new()
        .thread_name(|number| format!("rankgauge-{number}"))
        .build()
        .map_err(|error| Failure::Internal(format!("no thread can be started: {error}")))?;
    let new = Arc::new(new);
    // Threads of the parent cannot be joined here.
    std::mem::forget(pool.replace((process, Arc::clone(&new))));
    Ok(new)
}

/// Leaves the threads to work that was interrupted and may never end. Later calls start others.
fn abandon() {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::forget(pool.take());
}

/// Runs `work`, and turns a panic into an exception.
pub(crate) fn catch<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(defect(&*panic)))
}

fn defect(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    Failure::Internal(format!(
        "internal error: {}; please report it with the input",
        text.unwrap_or("unknown")
    ))
}

/// Runs short work on the threads, without the interpreter.
pub(crate) fn compute<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let pool = pool()?;
    py.detach(|| pool.install(|| catch(work)))
}

/// Work that runs on the threads, while the interpreter does something else.
pub(crate) struct Started<T>(Receiver<Result<T, Failure>>);

impl<T: Send> Started<T> {
    /// Waits for the result.
    pub(crate) fn end(self, py: Python<'_>) -> Result<T, Failure> {
        let Self(receiver) = self;
        py.detach(move || receiver.recv().unwrap_or_else(|_| Err(ended())))
    }
}

/// Starts short work on the threads.
pub(crate) fn start<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<Started<T>, Failure> {
    let (sender, receiver) = sync_channel(1);
    pool()?.spawn(move || {
        // Without a receiver, the call was interrupted.
        drop(sender.send(catch(work)));
    });
    Ok(Started(receiver))
}

fn ended() -> Failure {
    Failure::Internal("internal error: a thread ended".to_owned())
}

/// Runs long work on the threads, without the interpreter. A signal ends the call at once; the work then
/// ends later, and its result is dropped.
pub(crate) fn compute_long<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let Started(mut receiver) = start(work)?;
    loop {
        let result;
        (receiver, result) = py.detach(move || {
            let result = receiver.recv_timeout(SIGNAL_INTERVAL);
            (receiver, result)
        });
        match result {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| abandon())?,
            Err(RecvTimeoutError::Disconnected) => return Err(ended()),
        }
    }
}
