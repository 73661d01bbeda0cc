//! Tests of the crate, in one binary that is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

mod description;
mod list_changes;
mod score_history;
