//! The command line's entrance: arguments in, exit code out.
//!
//! 0: done. 1: could not go on. 2: the arguments or the configuration are wrong.

use std::process::ExitCode;

use clap::Parser as _;
use rankgauge::cli::{Arguments, Failure};

fn main() -> ExitCode {
    match rankgauge::cli::run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("rankgauge: {failure}");
            match failure {
                Failure::Usage(_) => ExitCode::from(2),
                Failure::Running(_) => ExitCode::FAILURE,
            }
        }
    }
}
