//! A computed value that concurrent callers share.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

/// Value that is computed once for all callers that wait for it.
///
/// A caller never receives a value whose computation began before its call. While one computation
/// runs, all further callers wait and share the next one.
#[derive(Debug)]
pub struct Shared<T> {
    calls: AtomicU64,
    /// Last value, with the number of calls before its computation began.
    latest: Mutex<Option<(u64, T)>>,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self {
            calls: AtomicU64::new(0),
            latest: Mutex::new(None),
        }
    }
}

impl<T: Clone> Shared<T> {
    /// The value of a computation that begins after this call. If the caller is dropped while its
    /// computation runs, the next caller computes the value.
    pub async fn get<F: Future<Output = T>>(&self, compute: impl FnOnce() -> F) -> T {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let mut latest = self.latest.lock().await;
        if let Some((covered, value)) = &*latest
            && *covered >= call
        {
            return value.clone();
        }
        let covered = self.calls.load(Ordering::Relaxed);
        let value = compute().await;
        *latest = Some((covered, value.clone()));
        value
    }
}
