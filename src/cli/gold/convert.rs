//! `gold convert`: conversion of a gold set to another format.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;

use super::input::{Source, format};
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::output::{OutputFormat, is_stdout, note, print_data};
use crate::cli::output_files::{self, Output};
use rankgauge_core::gold::{Format, GoldSet};
use rankgauge_eval::gold::write::{self, Written};
use rankgauge_eval::text_layout::count_of;

#[derive(Debug, Args)]
pub(in crate::cli) struct Convert {
    #[command(flatten)]
    source: Source,
    /// Format to write: native, qrels, beir, quepid, srw, rank_eval, ranx.
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    to: Format,
    /// File to write; `-` is standard output. Query texts go to NAME.tsv (qrels) or queries.jsonl (beir) beside it.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Overwrite existing files.
    #[arg(long)]
    force: bool,
    /// Index of the documents (rank_eval) if the gold set does not state it.
    #[arg(long, value_name = "NAME", default_value = "documents")]
    index: String,
    #[command(flatten)]
    output_format: OutputFormat,
}

#[derive(Serialize)]
struct Report<'a> {
    output: String,
    texts: Option<String>,
    format: &'static str,
    queries: usize,
    judgements: usize,
    losses: &'a [String],
}

pub(super) fn run(arguments: &Convert) -> Result<(), Failure> {
    let set = arguments.source.input.load(&arguments.source.files)?;
    let written = write::write(&set, arguments.to, &arguments.index).map_err(Failure::usage)?;
    let Written {
        judgements,
        texts,
        losses,
    } = written;
    if is_stdout(&arguments.output) {
        if texts.is_some() {
            return Err(Failure::Usage(anyhow!(
                "--output -: {} is two files with these query texts, and standard output holds one; name a file",
                arguments.to
            )));
        }
        report_losses(arguments.to, &losses);
        return print_data(&judgements).map_err(Failure::Running);
    }
    let texts_path = texts_path(arguments.to, &arguments.output);
    let mut outputs = vec![Output {
        path: arguments.output.clone(),
        content: judgements,
    }];
    if let Some(content) = texts {
        if texts_path == arguments.output {
            return Err(Failure::Usage(anyhow!(
                "{}: the query texts go to this file; give the judgements another name",
                arguments.output.display()
            )));
        }
        outputs.push(Output {
            path: texts_path,
            content,
        });
    }
    output_files::write(&outputs, arguments.force)?;
    report_losses(arguments.to, &losses);
    let path = |output: &Output| output.path.display().to_string();
    let report = Report {
        output: arguments.output.display().to_string(),
        texts: outputs.get(1).map(path),
        format: arguments.to.name(),
        queries: set.queries().len(),
        judgements: set.judgement_count(),
        losses: &losses,
    };
    arguments
        .output_format
        .print(|| text(&set, &report), &report)
}

/// Returns the path of the query texts for formats that keep them in a separate file.
fn texts_path(format: Format, judgements: &Path) -> PathBuf {
    if format == Format::Beir {
        judgements.with_file_name("queries.jsonl")
    } else {
        judgements.with_extension("tsv")
    }
}

/// Lists on standard error the data that the format cannot hold. A program may read standard
/// output.
fn report_losses(format: Format, losses: &[String]) {
    if !losses.is_empty() {
        let mut page = Page::default();
        page.line(format_args!("rankgauge: {format} cannot hold:"));
        for loss in losses {
            page.item(loss);
        }
        note(&page.into_text());
    }
}

fn text(set: &GoldSet, report: &Report<'_>) -> String {
    let mut page = Page::default();
    page.line(format_args!(
        "wrote {} as {} to {}",
        count_of(set.judgement_count(), "judgement", "judgements"),
        report.format,
        report.output
    ));
    if let Some(texts) = &report.texts {
        page.line(format_args!("wrote the queries' texts to {texts}"));
    }
    page.into_text()
}
