//! `rankgauge completions`: completion scripts of shells.

use clap::Args;
use clap_complete::Shell;

use super::failure::Failure;
use super::help;
use super::output::print_data;

/// Name of the program.
const PROGRAM: &str = "rankgauge";

/// Arguments of the command.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Shell that the script is for.
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub(super) fn run(arguments: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut help::command(), PROGRAM, &mut script);
    print_data(&String::from_utf8_lossy(&script)).map_err(Failure::Running)
}
