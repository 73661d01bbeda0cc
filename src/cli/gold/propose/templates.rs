//! `gold propose --templates`: queries from templates, documents and the edges of their graph.

use std::path::Path;

use serde::Serialize;

use super::arguments::{Propose, Written, write_sheet};
use crate::cli::failure::Failure;
use crate::cli::input;
use crate::cli::layout::Page;
use crate::config::Config;
use rankgauge_core::gold::expansion::Relation;
use rankgauge_core::gold::{Format, GoldSet};
use rankgauge_eval::template::{Bounds, Documents, Generated, GeneratedQuery, Template, generate};
use rankgauge_eval::text_layout::{count_of, escape_controls, truncate};

/// Maximum width of a query text in the text output, in columns.
const MAX_TEXT_COLUMNS: usize = 60;

#[derive(Serialize)]
struct Report<'a> {
    gold_version: &'a str,
    gold_sha256: &'a str,
    #[serde(flatten)]
    generated: &'a Generated,
    sheet: Option<Written>,
}

/// Runs the command with the templates at `path`.
pub(super) fn run(arguments: &Propose, config: &Config, path: &Path) -> Result<(), Failure> {
    let gold = if arguments.gold.is_empty() && config.gold.paths.is_empty() {
        GoldSet::empty()
    } else {
        arguments.input.set(&arguments.gold, config)?
    };
    let templates =
        Template::parse_all(&path.display().to_string(), &read(path)?).map_err(Failure::usage)?;
    let edges = match &arguments.edges {
        Some(path) => Relation::parse_all(&path.display().to_string(), read(path)?.as_bytes())
            .map_err(Failure::usage)?,
        None => Vec::new(),
    };
    let documents = match &arguments.documents {
        Some(path) => {
            Documents::parse(&path.display().to_string(), &read(path)?).map_err(Failure::usage)?
        }
        None => Documents::default(),
    };
    let documents = documents.or(Documents::of_gold(&gold)).with_ends(&edges);
    let bounds = Bounds {
        queries: arguments.limit,
        per_query: arguments.per_query,
    };
    let generated =
        generate(&templates, &documents, &edges, &gold, bounds).map_err(Failure::usage)?;
    let report = Report {
        gold_version: gold.version(),
        gold_sha256: gold.sha256(),
        sheet: write_sheet(arguments, &generated.rows())?,
        generated: &generated,
    };
    arguments.output_format.print(|| text(&report), &report)
}

fn read(path: &Path) -> Result<String, Failure> {
    let limit = u64::try_from(Format::MAX_FILE_BYTES).unwrap_or(u64::MAX);
    input::read_text(path, limit)
}

fn text(report: &Report<'_>) -> String {
    let mut page = Page::default();
    let generated = report.generated;
    let all = generated.queries.len() + generated.queries_more;
    page.line(format_args!(
        "{} from {}, {} in the gold set already",
        count_of(all, "new query", "new queries"),
        count_of(generated.by_template.len(), "template", "templates"),
        generated.known
    ));
    let by_template = generated.by_template.iter();
    page.counts(by_template.map(|(template, count)| (*count, template.as_str())));
    for query in &generated.queries {
        query_lines(&mut page, query);
    }
    if generated.queries_more > 0 {
        page.gap();
        page.line(format_args!(
            "… and {} more queries",
            generated.queries_more
        ));
    }
    if let Some(sheet) = &report.sheet {
        page.gap();
        page.line(format_args!(
            "wrote {} to {}; fill in `grade`, then `gold adopt`",
            count_of(sheet.count, "row", "rows"),
            sheet.path
        ));
    }
    page.into_text()
}

fn query_lines(page: &mut Page, query: &GeneratedQuery) {
    page.gap();
    let text = truncate(&escape_controls(&query.query_text), MAX_TEXT_COLUMNS);
    page.line(format_args!("{text}"));
    for document in &query.documents {
        page.line(format_args!(
            "  {}  ({})",
            escape_controls(&document.document_id),
            escape_controls(&document.reason)
        ));
    }
    if query.documents_more > 0 {
        page.line(format_args!("  … and {} more", query.documents_more));
    }
}
