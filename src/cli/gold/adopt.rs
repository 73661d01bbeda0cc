//! `gold adopt`: import of a filled annotation sheet into a gold set.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::input::Input;
use crate::cli::failure::Failure;
use crate::cli::input;
use crate::cli::layout::Page;
use crate::cli::output::OutputFormat;
use crate::cli::output_files;
use rankgauge_core::gold::adoption::{Adoption, FilledRow, GradeSource};
use rankgauge_core::gold::{Format, GoldSet};
use rankgauge_eval::gold::write;
use rankgauge_eval::text_layout::count_of;

#[derive(Debug, Args)]
pub(in crate::cli) struct Adopt {
    /// File or folder of the gold set; may be repeated.
    #[arg(long, value_name = "PATH", required = true)]
    gold: Vec<PathBuf>,
    #[command(flatten)]
    input: Input,
    /// Sheet of `gold propose --sheet`, with the column `grade` filled in.
    #[arg(long, value_name = "FILE")]
    sheet: PathBuf,
    /// File to write, in the native format.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
    /// For rows without a grade, use the grade that users gave in production.
    #[arg(long)]
    production: bool,
    /// Version of the new set. Without it, the old version with the suffix `+adopted`.
    #[arg(long, value_name = "TEXT")]
    set_version: Option<String>,
    #[command(flatten)]
    output_format: OutputFormat,
}

#[derive(Serialize)]
struct Report<'a> {
    output: String,
    /// Version as the file states it.
    version: Option<String>,
    queries: usize,
    judgements: usize,
    added: usize,
    #[serde(flatten)]
    adoption: &'a Adoption,
}

pub(super) fn run(arguments: &Adopt) -> Result<(), Failure> {
    let set = arguments.input.load(&arguments.gold)?;
    let rows = read(&arguments.sheet)?;
    let grades = if arguments.production {
        GradeSource::AnnotatorsOrProduction
    } else {
        GradeSource::Annotated
    };
    let name = name_of(&arguments.sheet);
    let adoption = Adoption::of(&set, &name, rows, grades, arguments.set_version.as_deref())
        .map_err(Failure::usage)?;
    write_set(&adoption.set, &arguments.output, arguments.force)?;
    let report = Report {
        output: arguments.output.display().to_string(),
        version: adoption.set.metadata().version.clone(),
        queries: adoption.set.queries().len(),
        judgements: adoption.set.judgement_count(),
        added: adoption.annotated + adoption.from_production,
        adoption: &adoption,
    };
    arguments.output_format.print(|| text(&report), &report)
}

pub(super) fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

pub(super) fn read(path: &Path) -> Result<Vec<FilledRow>, Failure> {
    let limit = u64::try_from(Format::MAX_FILE_BYTES).unwrap_or(u64::MAX);
    let bytes = input::read(path, limit)?;
    FilledRow::parse_sheet(&name_of(path), &bytes).map_err(Failure::usage)
}

/// Writes a set in the native format.
pub(super) fn write_set(set: &GoldSet, path: &Path, force: bool) -> Result<(), Failure> {
    let written = write::write(set, Format::Native, "").map_err(Failure::usage)?;
    output_files::write_one(path, written.judgements, force)
}

fn text(report: &Report<'_>) -> String {
    let adoption = report.adoption;
    let mut page = Page::default();
    page.line(format_args!(
        "{} added",
        count_of(report.added, "judgement", "judgements")
    ));
    let counts = [
        (adoption.from_production, "from production"),
        (adoption.new_queries, "queries that the set did not have"),
        (adoption.already_judged, "left as they were: judged already"),
        (adoption.open, "left out: no grade filled in"),
        (
            adoption.beyond_scale,
            "left out: grade from production beyond the scale",
        ),
    ];
    page.counts(counts.into_iter().filter(|(count, _)| *count > 0));
    let version = report.version.as_ref();
    let version = version.map_or_else(String::new, |version| format!(", version {version}"));
    page.line(format_args!(
        "wrote {} to {}{version}",
        count_of(report.judgements, "judgement", "judgements"),
        report.output
    ));
    page.into_text()
}
