//! Tests of the evaluation of files, in one binary that is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

mod clicks;
mod compare;
mod gate;
mod gold;
mod labelling;
mod memory;
mod operations;
mod preferences;
mod reports;
mod runs;
mod text_layout;

use std::path::{Path, PathBuf};

/// Path of a file of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}
