//! `gold stats`: statistics of a gold set.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use clap::Args;

use super::input::Source;
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::output::OutputFormat;
use rankgauge_eval::gold::statistics::Statistics;
use rankgauge_eval::text_layout::{Column, TextTable, count_of};

/// Maximum number of values of a label, and of files, in the text output.
const MAX_VALUES: usize = 12;

#[derive(Debug, Args)]
pub(in crate::cli) struct Stats {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    output_format: OutputFormat,
}

pub(super) fn run(arguments: &Stats) -> Result<(), Failure> {
    let set = arguments.source.input.load(&arguments.source.files)?;
    let statistics = Statistics::of(&set);
    arguments
        .output_format
        .print(|| text(&statistics), &statistics)
}

fn noun_of(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

fn text(statistics: &Statistics) -> String {
    let mut page = Page::default();
    page.line(format_args!("Gold set {}", statistics.version));
    page.line(format_args!("sha256 {}", statistics.sha256));
    page.gap();
    let mut totals = TextTable::new([Column::right(0, 8), Column::left(1, 0)]);
    for (count, name) in [
        (
            statistics.queries,
            noun_of(statistics.queries, "query", "queries"),
        ),
        (
            statistics.queries_without_text,
            "without a text: joined by key only",
        ),
        (
            statistics.queries_without_relevant,
            "without a relevant document",
        ),
        (
            statistics.judgements,
            noun_of(statistics.judgements, "judgement", "judgements"),
        ),
    ] {
        totals.row([count.to_string(), name.to_owned()]);
    }
    page.table(&totals);

    page.heading("Files");
    page.items(&statistics.files, MAX_VALUES, Clone::clone);
    let scale = statistics.scale_max.map_or_else(
        || "nothing is judged".to_owned(),
        |max| format!("the scale ends at {max}"),
    );
    page.heading(&format!(
        "Judgements by grade (relevant from {}; {scale})",
        statistics.relevance_level
    ));
    let grades = statistics.grades.iter();
    page.counts(grades.map(|grade| (grade.count, format!("grade {}", grade.grade))));

    let relevant = &statistics.relevant;
    page.heading("Relevant documents of a query");
    page.line(format_args!(
        "  min {}   median {}   mean {:.2}   max {}   ({} in all)",
        relevant.min, relevant.median, relevant.mean, relevant.max, relevant.total
    ));
    for (label, values) in &statistics.labels {
        page.heading(&format!("Queries by {label}"));
        counts(&mut page, values);
    }
    if !statistics.annotators.is_empty() {
        page.heading("Judgements by annotator");
        counts(&mut page, &statistics.annotators);
    }
    page.into_text()
}

fn counts(page: &mut Page, counts: &BTreeMap<String, usize>) {
    let mut counts: Vec<(&String, &usize)> = counts.iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(**count));
    let shown = counts.iter().take(MAX_VALUES);
    page.counts(shown.map(|(name, count)| (**count, name.as_str())));
    if let Some(more) = counts
        .len()
        .checked_sub(MAX_VALUES)
        .filter(|more| *more > 0)
    {
        page.line(format_args!(
            "          … and {}",
            count_of(more, "other", "others")
        ));
    }
}
