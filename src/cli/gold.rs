//! `gold` commands: work on gold sets without a running sidecar.
//!
//! Each command has a module that formats its result. Exit status 0: success. 1: a failed check. 2: wrong input or usage.

mod adopt;
mod convert;
mod diff;
mod expand;
mod from_clicks;
mod input;
mod kappa;
mod propose;
mod sample;
mod stats;
mod suggest_aliases;
mod validate;

use clap::Subcommand;

use super::failure::Failure;

/// Subcommand of `gold`.
#[derive(Debug, Subcommand)]
pub(super) enum GoldCommand {
    /// Check a gold set for errors and report its quality.
    Validate(validate::Validate),
    /// Convert a gold set to another format.
    Convert(convert::Convert),
    /// Print statistics of a gold set.
    Stats(stats::Stats),
    /// Print the agreement of annotators: Cohen's kappa.
    Kappa(kappa::KappaArguments),
    /// Add judgements that follow from relations between documents.
    Expand(expand::Expand),
    /// Show the differences between two gold sets.
    Diff(diff::Diff),
    /// List unjudged documents that users clicked or rated: candidates for the gold set.
    Propose(propose::Propose),
    /// Grade documents from the clicks of users, and check the grades.
    FromClicks(from_clicks::FromClicks),
    /// List frequent queries that seem to be rewordings of a gold query: candidates for its aliases.
    SuggestAliases(suggest_aliases::SuggestAliases),
    /// Add the grades of a filled annotation sheet to a gold set.
    Adopt(adopt::Adopt),
    /// Draw a sample of the judgements for a further annotator, or compute the error rate from the
    /// answers.
    Sample(sample::Sample),
}

/// Runs a command.
pub(super) fn run(command: &GoldCommand) -> Result<(), Failure> {
    match command {
        GoldCommand::Validate(arguments) => validate::run(arguments),
        GoldCommand::Convert(arguments) => convert::run(arguments),
        GoldCommand::Stats(arguments) => stats::run(arguments),
        GoldCommand::Kappa(arguments) => kappa::run(arguments),
        GoldCommand::Expand(arguments) => expand::run(arguments),
        GoldCommand::Diff(arguments) => diff::run(arguments),
        GoldCommand::Propose(arguments) => propose::run(arguments),
        GoldCommand::FromClicks(arguments) => from_clicks::run(arguments),
        GoldCommand::SuggestAliases(arguments) => suggest_aliases::run(arguments),
        GoldCommand::Adopt(arguments) => adopt::run(arguments),
        GoldCommand::Sample(arguments) => sample::run(arguments),
    }
}
