//! The command `rankgauge backtest`, also against a second implementation of the tests behind it.

mod command;
mod golden;
mod reference;
#[path = "../../crates/core/src/detection/tests/reference_streams.rs"]
mod reference_streams;
mod streams;
mod units;

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::harness;
use crate::harness::command::{Arguments, rankgauge_reads};

/// Runs `rankgauge backtest` with these flags.
fn backtest<A: Arguments + ?Sized>(flags: &A, input: &str) -> Output {
    let arguments = [&["backtest"][..], &flags.words()[..]].concat();
    rankgauge_reads(Path::new("."), &arguments, input)
}

/// Lines that `rankgauge backtest` prints with these flags.
#[track_caller]
fn printed(flags: &[&str], input: &str) -> Vec<Value> {
    let text = harness::command::printed(&backtest(flags, input));
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    lines.collect()
}
