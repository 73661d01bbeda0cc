//! Threads that judge files.

/// Starts the thread pool for judging files. If the system cannot start threads, the current thread
/// does all the work.
pub(super) fn start_threads() {
    if rayon::ThreadPoolBuilder::new().build_global().is_err() {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1);
        // In tests, the pool may exist already; that one is used.
        drop(alone.use_current_thread().build_global());
    }
}
