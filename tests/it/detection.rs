//! The command `rankgauge backtest`, also against a second implementation of the tests behind it.

mod command;
mod golden;
mod reference;
#[path = "../../crates/core/src/detection/tests/reference_streams.rs"]
mod reference_streams;
mod streams;
mod units;

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// Runs a command with `input` on its standard input.
fn fed(mut command: Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", command.get_program().display()));
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    // Written in a second thread, while this one reads: both pipes may be full at once.
    let writer = std::thread::spawn(move || {
        // A command that finds a wrong line reads no further.
        drop(stdin.write_all(input.as_bytes()));
    });
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("all was written");
    output
}

/// Runs `rankgauge backtest` with these flags.
fn backtest(flags: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankgauge"));
    command.arg("backtest").args(flags);
    fed(command, input)
}
