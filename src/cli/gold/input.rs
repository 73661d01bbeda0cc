//! Arguments and files that the commands of gold sets share.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use crate::cli::failure::Failure;
use crate::config::Config;
use rankgauge_core::columns::Columns;
use rankgauge_core::gold::{self, GoldSet, Options, Unjudged};

/// Files of a gold set.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// Files and folders of the gold set, merged into one set.
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) input: Input,
}

/// Input options of a gold set.
#[derive(Debug, Args)]
pub(super) struct Input {
    /// Format of the files; without it each is recognised by its content: native, rag, plan,
    /// qrels, beir, quepid, srw, rank_eval, ranx.
    #[arg(long = "from", value_name = "FORMAT", value_parser = format)]
    pub(super) from: Option<gold::Format>,
    /// Columns of tables whose names are not found: their contents in order, or by name or number:
    /// "query,_,document,grade", "query=qid,document=pid,grade=3". Contents are query, document, grade, text
    /// (of the query) and subtopic; `_` is a column that is not read.
    #[arg(long, value_name = "COLUMNS", value_parser = Columns::of_gold)]
    columns: Option<Columns>,
}

impl Input {
    pub(super) fn options(&self) -> Options {
        Options {
            format: self.from,
            columns: self.columns.clone(),
            unjudged: Unjudged::All,
            ..Options::default()
        }
    }

    /// Loads the gold set at `paths`, or that of the configuration if there are none.
    pub(super) fn set(&self, paths: &[PathBuf], config: &Config) -> Result<GoldSet, Failure> {
        let (paths, options) = if paths.is_empty() {
            let options = Options {
                format: self.from.or(config.gold.options.format),
                columns: self
                    .columns
                    .clone()
                    .or_else(|| config.gold.options.columns.clone()),
                unjudged: Unjudged::All,
                ..config.gold.options.clone()
            };
            (config.gold.paths.as_slice(), options)
        } else {
            let options = Options {
                relevance_level: config.gold.options.relevance_level,
                ..self.options()
            };
            (paths, options)
        };
        if paths.is_empty() {
            return Err(Failure::Usage(anyhow!(
                "no gold set: name one with --gold, or a configuration with gold.paths"
            )));
        }
        gold::load(paths, &options).map_err(Failure::usage)
    }

    /// Loads the gold set of all `files` together.
    pub(super) fn load(&self, files: &[PathBuf]) -> Result<GoldSet, Failure> {
        gold::load(files, &self.options()).map_err(Failure::usage)
    }
}

pub(super) fn format(name: &str) -> Result<gold::Format, String> {
    let format = name.parse::<gold::Format>();
    format.map_err(|error| error.to_string())
}

/// Parses a finite number.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if number.is_finite() {
        Ok(number)
    } else {
        Err("not a finite number".to_owned())
    }
}

/// Parses a grade.
pub(super) fn grade(text: &str) -> Result<gold::Grade, String> {
    let grade = text.parse().ok().and_then(gold::Grade::new);
    grade.ok_or_else(|| "a grade is a number from -1000 to 1000".to_owned())
}

/// Failure of a check.
pub(super) fn failed(reason: String) -> Failure {
    Failure::Running(anyhow!(reason))
}
