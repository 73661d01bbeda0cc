//! The command line's entrance: arguments in, exit code out.
//!
//! 0: done. 1: could not go on. 2: the arguments or the configuration are wrong.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use rankgauge::cli::{Arguments, Failure};

fn main() -> ExitCode {
    match rankgauge::cli::run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Where nobody listens, the exit code says it all.
            drop(writeln!(std::io::stderr(), "rankgauge: {failure}"));
            match failure {
                Failure::Usage(_) => ExitCode::from(2),
                Failure::Running(_) => ExitCode::FAILURE,
            }
        }
    }
}
