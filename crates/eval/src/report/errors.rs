//! Error analysis in every format: a section of a document and rows of CSV. JSON contains the analysis
//! itself.

use super::document::{Block, Cell, Rows, Section, number};
use crate::compare::{ErrorAnalysis, WorstQuery};
use crate::evaluate::{QueryAnswer, QueryCitation};
use crate::text_layout::{count_of, escape_controls, shorten};
use rankgauge_core::gold::Grade;

/// Maximum number of documents of a query. CSV and JSON contain all of them.
const MAX_LISTED: usize = 10;

/// Builds the section about the errors of a run.
pub(super) fn section(errors: &ErrorAnalysis) -> Section {
    let mut blocks = vec![Block::Paragraph(format!(
        "{} of {} have no perfect score. The first {} results of each were examined.",
        errors.imperfect,
        count_of(errors.scored, "query", "queries"),
        errors.cutoff
    ))];
    blocks.extend(patterns(errors));
    blocks.extend(hard_slices(errors));
    for worst in &errors.queries {
        let title = escape_controls(&title(worst, &errors.measure));
        blocks.push(Block::Paragraph(title));
        blocks.push(Block::List(documents(worst)));
    }
    let heading = format!(
        "Worst queries of {} by {}",
        name(&errors.run),
        escape_controls(&errors.measure)
    );
    Section::new(heading, blocks)
}

fn patterns(errors: &ErrorAnalysis) -> Option<Block> {
    let examples = |keys: &[String]| {
        let keys = keys.iter().map(|key| shorten(&escape_controls(key), 20));
        keys.collect::<Vec<String>>().join(", ")
    };
    Rows::of(&errors.patterns)
        .column("pattern", |it| escape_controls(&it.pattern.to_string()))
        .column("queries", |it| it.queries)
        .column("such as", |it| Cell::words(examples(&it.examples)))
        .block(
            format!(
                "Failure patterns of {}; a query can have several",
                name(&errors.run)
            ),
            1,
        )
}

fn hard_slices(errors: &ErrorAnalysis) -> Option<Block> {
    Rows::of(&errors.hard_slices)
        .column("slice", |it| {
            format!("{}={}", name(&it.label), name(&it.value))
        })
        .column("queries", |it| it.queries)
        .column("mean", |it| Some(it.mean))
        .column("elsewhere", |it| Some(it.rest))
        .block(
            format!(
                "Slices in which {} scores lower by {}",
                name(&errors.run),
                escape_controls(&errors.measure)
            ),
            1,
        )
}

/// Name of a run, a label or a value; empty if it is empty.
fn name(text: &str) -> String {
    shorten(&escape_controls(text), 40)
}

/// Documents of one query, in sentences.
fn documents(worst: &WorstQuery) -> Vec<String> {
    let patterns: Vec<String> = worst.patterns.iter().map(ToString::to_string).collect();
    let mut items = Vec::new();
    if !patterns.is_empty() {
        items.push(patterns.join("; "));
    }
    if worst.retrieved > 0 {
        let found = worst.found.iter();
        let found = found.map(|of| format!("{}. {} (grade {})", of.rank, of.document, of.grade));
        items.push(format!("relevant: {}", listed(found)));
        let false_positives = worst.false_positives.iter().map(|of| {
            let grade = of
                .grade
                .map_or_else(|| "not judged".to_owned(), |it| format!("grade {it}"));
            format!("{}. {} ({grade})", of.rank, of.document)
        });
        items.push(format!("not relevant: {}", listed(false_positives)));
    }
    let missed = worst.missed.iter().map(|of| {
        let rank = of
            .rank
            .map_or_else(|| "not found".to_owned(), |it| format!("rank {it}"));
        format!(
            "{} (grade {}, expected from rank {}, {rank})",
            of.document, of.grade, of.expected_rank
        )
    });
    items.push(format!("missed: {}", listed(missed)));
    items.extend(worst.answer.as_ref().map(answer));
    items.iter().map(|item| escape_controls(item)).collect()
}

/// Answer of one query by its citations, in a sentence.
fn answer(of: &QueryAnswer) -> String {
    let citations = of.citations.iter().map(|cited| {
        let grade = cited
            .grade
            .map_or_else(|| "not judged".to_owned(), |it| format!("grade {it}"));
        let invented = if cited.served { "" } else { ", not retrieved" };
        format!("{} ({grade}{invented})", cited.id)
    });
    let cited = listed(citations);
    if of.refused {
        format!("the model declined to answer; cited: {cited}")
    } else {
        format!("cited: {cited}")
    }
}

fn title(worst: &WorstQuery, measure: &str) -> String {
    let score = number(worst.score);
    match &worst.text {
        Some(text) if *text != worst.query => {
            format!("{} \"{text}\": {measure} {score}", worst.query)
        }
        _ => format!("{}: {measure} {score}", worst.query),
    }
}

/// Joins the first items and counts the rest.
fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(MAX_LISTED);
    let shown: Vec<String> = items.take(MAX_LISTED).collect();
    match (shown.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Row of CSV about one item.
#[derive(Default)]
pub(super) struct ErrorRow<'a> {
    /// Kind of row.
    pub(super) table: &'static str,
    /// Key of the query, or the label of a slice.
    pub(super) query: &'a str,
    /// Id of the document, name of a pattern, or value of a slice.
    pub(super) document: String,
    /// Score of a query, or mean of a slice.
    pub(super) score: Option<f64>,
    /// Rank of the document.
    pub(super) rank: Option<u32>,
    /// Grade of the document.
    pub(super) grade: Option<f64>,
    /// Number of queries.
    pub(super) n: Option<usize>,
    /// Text of the query, or the expected rank of a document.
    pub(super) text: String,
}

/// Mark of a cited document that was not retrieved.
pub(super) fn cited_text(of: &QueryCitation) -> &'static str {
    if of.served { "" } else { "not retrieved" }
}

/// Rows of CSV about an error analysis.
pub(super) fn rows(errors: &ErrorAnalysis) -> Vec<ErrorRow<'_>> {
    let mut rows = Vec::new();
    for it in &errors.patterns {
        rows.push(ErrorRow {
            table: "pattern",
            document: it.pattern.to_string(),
            n: Some(it.queries),
            text: it.examples.join(" "),
            ..ErrorRow::default()
        });
    }
    for it in &errors.hard_slices {
        rows.push(ErrorRow {
            table: "hard_slice",
            query: &it.label,
            document: it.value.clone(),
            score: Some(it.mean),
            n: Some(it.queries),
            text: it.rest.to_string(),
            ..ErrorRow::default()
        });
    }
    for worst in &errors.queries {
        let row = |table| ErrorRow {
            table,
            query: &worst.query,
            ..ErrorRow::default()
        };
        rows.push(ErrorRow {
            score: Some(worst.score),
            n: Some(worst.retrieved),
            text: worst.text.clone().unwrap_or_default(),
            ..row("worst_query")
        });
        rows.extend(worst.patterns.iter().map(|pattern| ErrorRow {
            document: pattern.to_string(),
            ..row("query_pattern")
        }));
        rows.extend(worst.found.iter().map(|of| ErrorRow {
            document: of.document.clone(),
            rank: Some(of.rank),
            grade: Some(of.grade),
            ..row("found")
        }));
        rows.extend(worst.false_positives.iter().map(|of| ErrorRow {
            document: of.document.clone(),
            rank: Some(of.rank),
            grade: of.grade,
            ..row("false_positive")
        }));
        rows.extend(worst.missed.iter().map(|of| ErrorRow {
            document: of.document.clone(),
            rank: of.rank,
            grade: Some(of.grade),
            text: of.expected_rank.to_string(),
            ..row("missed")
        }));
        let citations = worst.answer.iter().flat_map(|it| &it.citations);
        rows.extend(citations.map(|of| ErrorRow {
            document: of.id.clone(),
            grade: of.grade.map(Grade::get),
            text: cited_text(of).to_owned(),
            ..row("cited")
        }));
    }
    rows
}
