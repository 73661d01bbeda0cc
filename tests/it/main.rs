//! All integration tests, in one binary that is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panics and run outside the engine: they read clocks and spawn threads"
)]

mod answers;
mod architecture;
mod broken_output;
mod capacity;
mod check;
mod checkpoint;
mod columnar;
mod compare;
mod config;
mod connect;
mod dashboards;
mod deploy;
mod detection;
mod documents;
mod eligibility;
mod encoding;
mod errors;
mod evaluate;
mod faults;
mod gate;
mod gateway;
mod gold;
mod gold_files;
mod golden;
mod harness;
mod harness_works;
mod incidents;
mod init;
mod inputs;
mod lifecycle;
mod live;
mod logging;
mod mappings;
mod operations;
mod otel;
mod pace;
mod packaging;
mod parity;
mod probe;
mod registry;
mod regressions;
mod release;
mod report_browser;
mod rules;
mod runs_judged;
mod scenarios;
mod seeds;
mod tail;
mod terminal;
mod ubi_twins;
mod untrusted_text;
mod wrong_input;

use std::path::{Path, PathBuf};

/// Path of a file of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
