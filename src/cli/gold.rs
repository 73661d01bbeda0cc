//! `gold` commands: work on gold sets without a running sidecar.
//!
//! This module holds the shared arguments and loads the files. Each command has a module that
//! formats its result. Exit status 0: success. 1: a failed check. 2: wrong input or usage.

mod adopt;
mod convert;
mod diff;
mod expand;
mod kappa;
mod output;
mod propose;
mod sample;
mod stats;
mod validate;

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, Subcommand};

use super::output::OutputFormat;
use super::settings::SettingsArguments;
use super::{Failure, layout, logging};
use rankgauge_core::gold::{self, GoldSet, Options, UnknownFormat};
use rankgauge_eval::text_layout::count_of;

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
        GoldCommand::Adopt(arguments) => adopt::run(arguments),
        GoldCommand::Sample(arguments) => sample::run(arguments),
    }
}

/// Files of a gold set.
#[derive(Debug, Args)]
struct Source {
    /// Files and folders of the gold set, merged into one set.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    input: Input,
}

/// Input options of a gold set.
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

    /// Loads the gold set of all `files` together.
    fn load(&self, files: &[PathBuf]) -> Result<GoldSet, Failure> {
        gold::load(files, &self.options()).map_err(|error| Failure::Usage(error.into()))
    }
}

fn format(name: &str) -> Result<gold::Format, UnknownFormat> {
    name.parse()
}

/// Parses a finite number.
fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if number.is_finite() {
        Ok(number)
    } else {
        Err("not a finite number".to_owned())
    }
}

/// Parses a grade.
fn grade(text: &str) -> Result<gold::Grade, String> {
    let grade = text.parse().ok().and_then(gold::Grade::new);
    grade.ok_or_else(|| "a grade is a number from -1000 to 1000".to_owned())
}

/// Failure of a check.
fn failed(reason: String) -> Failure {
    Failure::Running(anyhow!(reason))
}
