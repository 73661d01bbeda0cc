//! The `gold` commands: what can be done with gold sets without a running sidecar.
//!
//! Here are their arguments and the way from files to what `gold` makes of them; how it reads is in
//! a module a command. 0: fine. 1: a check did not pass. 2: wrong input or usage.

mod adopt;
mod convert;
mod diff;
mod expand;
mod kappa;
mod output;
mod propose;
mod stats;
mod validate;

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, Subcommand};

use super::{Failure, Settings, Shown, layout, start_log};
use rankgauge_core::gold::{self, GoldSet, Options, UnknownFormat};

/// What to do with a gold set.
#[derive(Debug, Subcommand)]
pub(super) enum GoldCommand {
    /// Find everything that is wrong with a gold set, and say how good it is.
    Validate(validate::Validate),
    /// Write a gold set in another format.
    Convert(convert::Convert),
    /// Say what is in a gold set.
    Stats(stats::Stats),
    /// Say how far the annotators agree: Cohen's kappa.
    Kappa(kappa::KappaArguments),
    /// Add judgements that follow from relations between documents.
    Expand(expand::Expand),
    /// Say what differs between two gold sets.
    Diff(diff::Diff),
    /// List what nobody has judged and people clicked or rated: candidates for the gold set.
    Propose(propose::Propose),
    /// Add what annotators filled into a sheet of proposals.
    Adopt(adopt::Adopt),
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
        GoldCommand::Adopt(arguments) => adopt::run(arguments),
    }
}

/// Where a gold set is.
#[derive(Debug, Args)]
struct Source {
    /// Files and folders of the gold set, taken together.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    input: Input,
}

/// How a gold set is read.
#[derive(Debug, Args)]
struct Input {
    /// Format of the files; without it each is recognised by its content: native, rag, plan,
    /// qrels, beir, quepid, srw, rank_eval, ranx.
    #[arg(long = "from", value_name = "FORMAT", value_parser = format)]
    from: Option<gold::Format>,
}

impl Input {
    fn options(&self) -> Options {
        Options {
            format: self.from,
            ..Options::default()
        }
    }

    /// The set that all of `files` make together.
    fn load(&self, files: &[PathBuf]) -> Result<GoldSet, Failure> {
        gold::load(files, &self.options()).map_err(|error| Failure::Usage(error.into()))
    }
}

fn format(name: &str) -> Result<gold::Format, UnknownFormat> {
    name.parse()
}

/// A number that is one: neither infinite nor NaN.
fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if number.is_finite() {
        Ok(number)
    } else {
        Err("not a number to compare with".to_owned())
    }
}

/// A grade.
fn grade(text: &str) -> Result<gold::Grade, String> {
    let grade = text.parse().ok().and_then(gold::Grade::new);
    grade.ok_or_else(|| "a grade is a number from -1000 to 1000".to_owned())
}

/// A check that did not pass.
fn failed(reason: String) -> Failure {
    Failure::Running(anyhow!(reason))
}

/// `count` of what is called `one` or `many`.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
