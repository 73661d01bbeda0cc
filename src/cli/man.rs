//! `rankgauge man`: manual pages, generated from the definition of the command line.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use clap_mangen::Man;

use super::failure::Failure;
use super::help;
use super::output::print_data;

/// Arguments of the command.
#[derive(Debug, Args)]
pub(super) struct ManPages {
    /// Existing folder to write the pages of all commands to. Without it, the page of the program
    /// is printed.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(arguments: &ManPages) -> Result<(), Failure> {
    // Revision and compiler are not part of the manual.
    let command = help::command().long_version(None);
    let Some(folder) = &arguments.folder else {
        let mut page = Vec::new();
        Man::new(command)
            .render(&mut page)
            .context("the page cannot be generated")
            .map_err(Failure::Running)?;
        return print_data(&String::from_utf8_lossy(&page)).map_err(Failure::Running);
    };
    if !folder.is_dir() {
        return Err(Failure::Usage(anyhow::anyhow!(
            "{} is not a folder; make it first",
            folder.display()
        )));
    }
    clap_mangen::generate_to(command, folder)
        .with_context(|| format!("the pages cannot be written to {}", folder.display()))
        .map_err(Failure::Running)
}
