//! `gold expand`: judgements derived from relations between documents.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::adopt::write_set;
use super::input::{Input, grade};
use crate::cli::failure::Failure;
use crate::cli::input;
use crate::cli::layout::Page;
use crate::cli::output::OutputFormat;
use rankgauge_core::gold::expansion::{Expansion, ExpansionRules, Relation};
use rankgauge_core::gold::{Format, Grade};
use rankgauge_eval::text_layout::count_of;

#[derive(Debug, Args)]
pub(in crate::cli) struct Expand {
    /// File or folder of the gold set.
    #[arg(value_name = "GOLD")]
    gold: PathBuf,
    #[command(flatten)]
    input: Input,
    /// Relations between documents: JSON Lines with `from`, `to` and `relation`, or CSV or TSV with
    /// these columns.
    #[arg(long, value_name = "FILE")]
    edges: PathBuf,
    /// File to write, in the native format.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
    /// Grade that a relation gives; may be repeated. By default same_article, decree and rule give
    /// 2 and references gives 1; a relation without a grade is not followed.
    #[arg(long = "grade", value_name = "RELATION=GRADE", value_parser = relation_grade)]
    grades: Vec<(String, Grade)>,
    /// Follow this relation in both directions, as same_article is; may be repeated.
    #[arg(long, value_name = "RELATION")]
    both_ways: Vec<String>,
    /// Grade of the documents to start from; without it, the highest grade of the scale.
    #[arg(long, value_name = "GRADE", value_parser = grade)]
    from_grade: Option<Grade>,
    #[command(flatten)]
    output_format: OutputFormat,
}

fn relation_grade(text: &str) -> Result<(String, Grade), String> {
    let parts = text.rsplit_once('=');
    let (relation, value) = parts.ok_or("RELATION=GRADE is expected: references=1")?;
    Ok((Relation::normalise(relation), grade(value)?))
}

#[derive(Serialize)]
struct Report<'a> {
    output: String,
    queries: usize,
    judgements: usize,
    added: usize,
    #[serde(flatten)]
    expansion: &'a Expansion,
}

pub(super) fn run(arguments: &Expand) -> Result<(), Failure> {
    let set = arguments
        .input
        .load(std::slice::from_ref(&arguments.gold))?;
    let limit = u64::try_from(Format::MAX_FILE_BYTES).unwrap_or(u64::MAX);
    let edges = input::read(&arguments.edges, limit)?;
    let name = arguments.edges.file_name().unwrap_or_default();
    let relations = Relation::parse_all(&name.to_string_lossy(), &edges).map_err(Failure::usage)?;

    let mut rules = ExpansionRules {
        from_grade: arguments.from_grade,
        ..ExpansionRules::default()
    };
    rules.grades.extend(arguments.grades.iter().cloned());
    let both_ways = arguments
        .both_ways
        .iter()
        .map(|name| Relation::normalise(name));
    rules.symmetric.extend(both_ways);

    let expansion = rules.expand(&set, &relations);
    let expansion = expansion.map_err(Failure::usage)?;
    write_set(&expansion.set, &arguments.output, arguments.force)?;

    let report = Report {
        output: arguments.output.display().to_string(),
        queries: expansion.set.queries().len(),
        judgements: expansion.set.judgement_count(),
        added: expansion.added.values().sum(),
        expansion: &expansion,
    };
    arguments.output_format.print(|| text(&report), &report)
}

fn text(report: &Report<'_>) -> String {
    let mut page = Page::default();
    let expansion = report.expansion;
    let from_grade = expansion
        .from_grade
        .map_or_else(|| "none".to_owned(), |grade| grade.to_string());
    page.line(format_args!(
        "{} added, from {} of grade {from_grade} along {}",
        count_of(report.added, "judgement", "judgements"),
        count_of(expansion.origins, "judgement", "judgements"),
        count_of(expansion.edges, "edge", "edges"),
    ));
    let added = expansion.added.iter();
    let added = added.filter(|(_, count)| **count > 0);
    let unchanged = (
        expansion.already_judged,
        "left as they were: judged already",
    );
    page.counts(
        added
            .map(|(relation, count)| (*count, relation.as_str()))
            .chain([unchanged]),
    );
    for (relation, count) in &expansion.without_grade {
        page.item(&format!(
            "{} of the relation `{relation}` not followed: give it a grade with --grade \
             {relation}=1",
            count_of(*count, "edge", "edges")
        ));
    }
    page.line(format_args!(
        "wrote {} to {}",
        count_of(report.judgements, "judgement", "judgements"),
        report.output
    ));
    page.into_text()
}
