//! Tests that distinguish a regression from noise: against a second implementation, against
//! properties that hold for any numbers, and through the output of the command.

mod command;
mod coverage;
mod golden;
mod properties;
mod reference;

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

/// Reproducible numbers from 0 to 1: the upper bits of a linear congruential generator.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).expect("32 bits")) / 4_294_967_296.0
    }
}
