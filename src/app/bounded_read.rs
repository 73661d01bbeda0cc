//! Reads of files that may hang, each within a time limit.
//!
//! A read that hangs (a volume that does not answer, a named pipe without a writer) cannot be stopped: its
//! thread stays, and its result is dropped. The number of such threads is limited.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Maximum number of reads that hang at the same time. One more is allowed if all its paths are regular
/// files that answer: pipes that hang for ever must not keep a good file in their place from being read.
const MAX_HANGING: usize = 16;

/// Reads that share a limit.
#[derive(Clone, Debug, Default)]
pub(super) struct BoundedReads(Arc<AtomicUsize>);

/// Failure of a read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// It did not end in time, or too many reads hang.
    Slow,
    /// It panicked.
    Failed(String),
}

/// Place of a read among those that may hang.
struct Slot {
    reads: Arc<AtomicUsize>,
    is_last: bool,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.reads.fetch_sub(1, Ordering::Relaxed);
    }
}

impl BoundedReads {
    /// Runs `read`, which reads `paths`, on a thread of its own.
    ///
    /// # Errors
    /// [`ReadError::Slow`] after `limit`.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        paths: Vec<PathBuf>,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ReadError> {
        let slot = self.slot().ok_or(ReadError::Slow)?;
        let reading = tokio::task::spawn_blocking(move || {
            let slot = slot;
            let may_hang = slot.is_last && paths.iter().any(|path| may_hang(path));
            (!may_hang).then(read)
        });
        match tokio::time::timeout(limit, reading).await {
            Ok(Ok(Some(result))) => Ok(result),
            Ok(Err(problem)) => Err(ReadError::Failed(problem.to_string())),
            Ok(Ok(None)) | Err(_) => Err(ReadError::Slow),
        }
    }

    fn slot(&self) -> Option<Slot> {
        let add = |reads: usize| (reads <= MAX_HANGING).then_some(reads + 1);
        let before = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        Some(Slot {
            is_last: before.ok()? == MAX_HANGING,
            reads: Arc::clone(&self.0),
        })
    }
}

/// Returns true if a path, or an entry of a folder, is neither a regular file nor a folder.
fn may_hang(path: &Path) -> bool {
    let is_special =
        |path: &Path| fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    is_special(path) || entries.into_iter().any(|entry| is_special(&entry.path()))
}
