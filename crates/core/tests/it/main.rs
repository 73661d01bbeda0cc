//! Tests of the core, in one binary that is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panics and run outside the engine: they read clocks and spawn threads"
)]

mod catalogue;
mod decoding;
mod engine;
mod gold;
mod measures;
mod otel;
mod read_model;
mod schemas;
mod statistics;

use std::path::{Path, PathBuf};

/// Path of a file of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}
