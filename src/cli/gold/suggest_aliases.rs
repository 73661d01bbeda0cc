//! `gold suggest-aliases`: frequent queries that seem to be rewordings of a gold query.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;

use super::input::Input;
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::logging;
use crate::cli::output::OutputFormat;
use crate::cli::recorded::RecordedEvents;
use crate::cli::settings::SettingsArguments;
use crate::ingest::history::Record;
use rankgauge_core::event::Kind;
use rankgauge_eval::proposal::aliases::AliasSuggestions;
use rankgauge_eval::proposal::{DEFAULT_MEMORY_LIMIT, Tally};
use rankgauge_eval::text_layout::{Column, TextTable, count_of, escape_controls, truncate};

/// Maximum width of a query text in the text output, in columns.
const MAX_TEXT_COLUMNS: usize = 40;

#[derive(Debug, Args)]
pub(in crate::cli) struct SuggestAliases {
    #[command(flatten)]
    settings: SettingsArguments,
    /// File or folder of the gold set; may be repeated. Without it, the gold set of the
    /// configuration.
    #[arg(long, value_name = "PATH")]
    gold: Vec<PathBuf>,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    recorded: RecordedEvents,
    /// Minimum number of searches of a query.
    #[arg(long, value_name = "N", default_value_t = 3)]
    min_searches: u32,
    /// Maximum number of suggestions.
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    output_format: OutputFormat,
}

#[derive(Serialize)]
struct Report<'a> {
    gold_version: &'a str,
    gold_sha256: &'a str,
    #[serde(flatten)]
    suggestions: &'a AliasSuggestions,
}

pub(super) fn run(arguments: &SuggestAliases) -> Result<(), Failure> {
    let config = arguments.settings.load()?;
    let _log = logging::start(&config)?;
    let gold = arguments.input.set(&arguments.gold, &config)?;
    let judge_by = config.engine.judging.judge_by;
    let mut tally = Tally::new(&gold, judge_by, DEFAULT_MEMORY_LIMIT).with_judged();
    let mut first_invalid = None;
    let mut take = |record: Record<'_>| match record {
        Record::Search(event) => tally.search(event),
        Record::Feedback(event) => tally.feedback(event),
        Record::Rejected { kind, place, why } => {
            if kind == Kind::Search {
                first_invalid.get_or_insert_with(|| format!("{place}: {why}"));
            }
        }
    };
    arguments.recorded.read(&config, &mut take)?;
    let suggestions = tally.aliases(arguments.min_searches, arguments.limit);
    if let (0, Some(first)) = (suggestions.searches.read, &first_invalid) {
        return Err(Failure::Usage(anyhow!(
            "no search could be read; first: {first}"
        )));
    }
    let report = Report {
        gold_version: gold.version(),
        gold_sha256: gold.sha256(),
        suggestions: &suggestions,
    };
    arguments
        .output_format
        .print(|| text(&suggestions), &report)
}

fn text(found: &AliasSuggestions) -> String {
    let mut page = Page::default();
    page.line(format_args!(
        "{} read, {} of queries that are not in the gold set",
        count_of(
            usize::try_from(found.searches.read).unwrap_or(usize::MAX),
            "search",
            "searches"
        ),
        found.searches.unknown
    ));
    if found.aliases.is_empty() {
        page.item("no query seems to be a rewording of a gold query");
        return page.into_text();
    }
    page.heading("Rewordings of gold queries, to confirm");
    let mut table = TextTable::new([
        Column::left(2, 40),
        Column::left(2, 40),
        Column::right(1, 8),
        Column::right(1, 7),
        Column::right(1, 7),
        Column::right(1, 7),
    ]);
    table.row([
        "gold query",
        "alias",
        "searches",
        "words",
        "results",
        "clicks",
    ]);
    let short = |text: &str| truncate(&escape_controls(text), MAX_TEXT_COLUMNS);
    for it in &found.aliases {
        table.row([
            short(&it.query_text),
            short(&it.alias),
            it.searches.to_string(),
            format!("{:.2}", it.words),
            format!("{:.2}", it.results),
            it.clicks
                .map_or_else(|| "-".to_owned(), |it| format!("{it:.2}")),
        ]);
    }
    page.table(&table);
    if found.aliases_more > 0 {
        page.item(&format!("{} more; raise --limit", found.aliases_more));
    }
    page.gap();
    page.line(format_args!(
        "If a query means the same, add its text to `aliases` of the gold query. Nothing was changed."
    ));
    page.into_text()
}
