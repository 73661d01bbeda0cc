//! The same work on every task of a list, on as many threads as there are processors.
//!
//! Results stand in the order of the tasks, so how many threads there were shows in nothing but
//! time.

use std::num::NonZero;
use std::thread;

/// `work` done on each of `tasks`.
pub(super) fn each<T: Sync, R: Send>(tasks: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let share = tasks.len().div_ceil(threads).max(1);
    let do_all = |tasks: &[T]| tasks.iter().map(&work).collect::<Vec<R>>();
    let do_all = &do_all;
    thread::scope(|scope| {
        let shares: Vec<_> = tasks
            .chunks(share)
            .map(|chunk| {
                let started = thread::Builder::new().spawn_scoped(scope, move || do_all(chunk));
                // Where no thread is to be had, the work is done here.
                started.map_err(|_| chunk)
            })
            .collect();
        shares
            .into_iter()
            .flat_map(|share| match share {
                Ok(handle) => handle
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(chunk) => do_all(chunk),
            })
            .collect()
    })
}
