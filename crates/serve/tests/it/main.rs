//! Tests of the crate, in one binary that is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panics, read clocks and spawn threads"
)]

mod description;
mod list_changes;
mod listener;
mod score_history;
mod session_partitions;
