//! `label` commands: quality of all traffic from few labels.

mod draw;
mod estimate;
mod files;
mod serve;
mod simulate;

use clap::Subcommand;

use super::failure::Failure;

/// Subcommand of `label`.
#[derive(Debug, Subcommand)]
pub(super) enum LabelCommand {
    /// Draw pairs of query and document to label, so that the labels estimate the quality of all
    /// traffic.
    Draw(draw::DrawArguments),
    /// Serve a page on the loopback that shows the rows of a sheet one after the other, and write the labels to
    /// the sheet.
    Serve(serve::ServeArguments),
    /// Estimate a measure and the difference of two variants from the labels of a sample.
    Estimate(estimate::EstimateArguments),
    /// Show bias and coverage of the estimates on synthetic searches whose measures are known.
    Simulate(simulate::SimulateArguments),
}

/// Runs a command.
pub(super) fn run(command: &LabelCommand) -> Result<(), Failure> {
    match command {
        LabelCommand::Draw(arguments) => draw::run(arguments),
        LabelCommand::Serve(arguments) => serve::run(arguments),
        LabelCommand::Estimate(arguments) => estimate::run(arguments),
        LabelCommand::Simulate(arguments) => simulate::run(arguments),
    }
}
