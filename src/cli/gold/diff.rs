//! `gold diff`: differences between two gold sets.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::input::{Input, failed};
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::output::OutputFormat;
use rankgauge_eval::evaluate::GoldFacts;
use rankgauge_eval::gold::difference::{Difference, QueryChange};
use rankgauge_eval::text_layout::count_of;

/// Maximum number of queries in each list of the text output.
const MAX_SHOWN: usize = 100;

#[derive(Debug, Args)]
pub(in crate::cli) struct Diff {
    /// Old gold set.
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// New gold set.
    #[arg(value_name = "NEW")]
    new: PathBuf,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output_format: OutputFormat,
}

#[derive(Serialize)]
struct Report<'a> {
    old: GoldFacts,
    new: GoldFacts,
    #[serde(flatten)]
    difference: &'a Difference,
}

pub(super) fn run(arguments: &Diff) -> Result<(), Failure> {
    let old = arguments.input.load(std::slice::from_ref(&arguments.old))?;
    let new = arguments.input.load(std::slice::from_ref(&arguments.new))?;
    let difference = Difference::between(&old, &new);
    let report = Report {
        old: GoldFacts::of(&old),
        new: GoldFacts::of(&new),
        difference: &difference,
    };
    arguments.output_format.print(|| text(&report), &report)?;
    if difference.equal {
        Ok(())
    } else {
        Err(failed("the gold sets differ".to_owned()))
    }
}

fn text(report: &Report<'_>) -> String {
    let mut page = Page::default();
    for (name, side) in [("old", &report.old), ("new", &report.new)] {
        page.line(format_args!(
            "{name}  {}: {}, {}",
            side.version,
            count_of(side.queries, "query", "queries"),
            count_of(side.judgements, "judgement", "judgements")
        ));
    }
    let difference = report.difference;
    if difference.equal {
        page.gap();
        page.line(format_args!("no differences"));
        return page.into_text();
    }
    if let Some(change) = &difference.relevance_level {
        page.line(format_args!(
            "relevance_level {} -> {}",
            change.old, change.new
        ));
    }
    if let Some(change) = &difference.scale_max {
        let shown = |grade: Option<_>| {
            grade.map_or_else(
                || "none".to_owned(),
                |grade: rankgauge_core::gold::Grade| grade.to_string(),
            )
        };
        page.line(format_args!(
            "scale_max {} -> {}",
            shown(change.old),
            shown(change.new)
        ));
    }
    for (heading, queries) in [
        ("Queries added", &difference.added),
        ("Queries removed", &difference.removed),
    ] {
        if !queries.is_empty() {
            page.heading(heading);
            page.items(queries, MAX_SHOWN, Clone::clone);
        }
    }
    if !difference.changed.is_empty() {
        page.heading("Queries changed");
        for query in difference.changed.iter().take(MAX_SHOWN) {
            page.line(format_args!("  {}", query.query));
            for line in changes(query) {
                page.line(format_args!("    {line}"));
            }
        }
        if let Some(more) = difference
            .changed
            .len()
            .checked_sub(MAX_SHOWN)
            .filter(|more| *more > 0)
        {
            page.item(&format!("… and {more} more; --format json lists all"));
        }
    }
    let totals = &difference.totals;
    page.gap();
    page.line(format_args!(
        "queries     +{} -{} ~{}",
        totals.queries_added, totals.queries_removed, totals.queries_changed
    ));
    page.line(format_args!(
        "judgements  +{} -{} ~{} (of queries in both)",
        totals.judgements_added, totals.judgements_removed, totals.judgements_changed
    ));
    page.into_text()
}

/// Returns the differences in a query, one line each.
fn changes(query: &QueryChange) -> Vec<String> {
    let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "(none)".to_owned());
    let mut lines = Vec::new();
    if let Some(change) = &query.text {
        let (old, new) = (shown(&change.old), shown(&change.new));
        lines.push(format!("text: {old} -> {new}"));
    }
    for (label, change) in &query.labels {
        let (old, new) = (shown(&change.old), shown(&change.new));
        lines.push(format!("{label}: {old} -> {new}"));
    }
    if !query.fields.is_empty() {
        lines.push(format!("changed: {}", query.fields.join(", ")));
    }
    let judgements = &query.judgements;
    for (document, grade) in &judgements.added {
        lines.push(format!("+ {document}  {grade}"));
    }
    for (document, grade) in &judgements.removed {
        lines.push(format!("- {document}  {grade}"));
    }
    for (document, change) in &judgements.changed {
        lines.push(format!("~ {document}  {} -> {}", change.old, change.new));
    }
    for document in &judgements.details {
        lines.push(format!("~ {document}  facets, annotations or notes"));
    }
    lines
}
