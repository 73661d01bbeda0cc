//! Arguments of `gold propose`, and the sheet that it writes.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::failure::Failure;
use crate::cli::gold::input::Input;
use crate::cli::output::OutputFormat;
use crate::cli::output_files;
use crate::cli::recorded::RecordedEvents;
use crate::cli::settings::SettingsArguments;
use rankgauge_core::gold::adoption::SheetRow;
use rankgauge_eval::gold::write;

#[derive(Debug, Args)]
#[command(mut_arg("search", |search| search.required_unless_present("templates")))]
pub(in crate::cli) struct Propose {
    #[command(flatten)]
    pub(super) settings: SettingsArguments,
    /// File or folder of the gold set; may be repeated. Without it, the gold set of the
    /// configuration.
    #[arg(long, value_name = "PATH")]
    pub(super) gold: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) input: Input,
    #[command(flatten)]
    pub(super) recorded: RecordedEvents,
    /// File of templates, one query on each line: `{number}조 검색`. Writes queries instead of
    /// reading traffic: `{attribute}` is one of a document, `{from.attribute}` and `{to.attribute}`
    /// are those of the ends of an edge.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["search", "last", "output"])]
    pub(super) templates: Option<PathBuf>,
    /// Edges of the document graph, as for `gold expand`: they fill templates, and neighbours become
    /// candidates.
    #[arg(long, value_name = "FILE", requires = "templates")]
    pub(super) edges: Option<PathBuf>,
    /// Documents with their attributes: JSON Lines with `id`, or CSV or TSV with a header. The
    /// documents and facets of the gold set are used as well.
    #[arg(long, value_name = "FILE", requires = "templates")]
    pub(super) documents: Option<PathBuf>,
    /// Minimum number of searches in which users clicked, converted on or rated a document.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(super) min_clicks: u32,
    /// Minimum number of searches of a query that is not in the gold set.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(super) min_searches: u32,
    /// Maximum number of queries in the gold set, and of queries that are not in it.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(super) limit: usize,
    /// Maximum number of documents per query.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) per_query: usize,
    /// Write the proposals to this file as CSV, for annotators to fill in and `gold adopt` to read.
    #[arg(long, value_name = "FILE")]
    pub(super) sheet: Option<PathBuf>,
    /// Write a gold candidate to this file, in the native format: the gold set plus the proposed
    /// documents with grades from production.
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) output_format: OutputFormat,
}

/// File written by the command.
#[derive(Serialize)]
pub(super) struct Written {
    pub(super) path: String,
    /// Number of rows of a sheet, or of judgements added to a candidate.
    pub(super) count: usize,
}

/// Writes the rows as a sheet for annotators, if one is requested.
pub(super) fn write_sheet(
    arguments: &Propose,
    rows: &[SheetRow],
) -> Result<Option<Written>, Failure> {
    let Some(path) = &arguments.sheet else {
        return Ok(None);
    };
    let content = write::sheet(rows).map_err(Failure::usage)?;
    output_files::write_one(path, content, arguments.force)?;
    Ok(Some(Written {
        path: path.display().to_string(),
        count: rows.len(),
    }))
}
