//! Error analysis in every format: a section of a document and rows of CSV. JSON contains the analysis
//! itself.

use super::document::{Block, Cell, Section, Table, number, shorten};
use crate::compare::{ErrorAnalysis, WorstQuery};
use crate::text_layout::{count_of, escape_controls};

/// Maximum number of documents of a query. CSV and JSON contain all of them.
const MAX_LISTED: usize = 10;

/// Maximum length of names, in characters.
const NAME: usize = 40;

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
    Section {
        is_action: false,
        heading: format!(
            "Worst queries of {} by {}",
            shorten(&escape_controls(&errors.run), NAME),
            escape_controls(&errors.measure)
        ),
        blocks,
    }
}

fn patterns(errors: &ErrorAnalysis) -> Option<Block> {
    let rows = errors.patterns.iter().map(|it| {
        let examples: Vec<String> = it
            .examples
            .iter()
            .map(|key| shorten(&escape_controls(key), 20))
            .collect();
        vec![
            Cell::of(escape_controls(&it.pattern.to_string())),
            Cell::count(it.queries),
            Cell::words(examples.join(", ")),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let columns = ["pattern", "queries", "such as"];
    (!rows.is_empty()).then(|| {
        Block::Table(Table {
            caption: format!(
                "Failure patterns of {}; a query can have several",
                shorten(&escape_controls(&errors.run), NAME)
            ),
            columns: columns.map(str::to_owned).to_vec(),
            heads: 1,
            rows,
        })
    })
}

fn hard_slices(errors: &ErrorAnalysis) -> Option<Block> {
    let rows = errors.hard_slices.iter().map(|it| {
        let name = |text: &str| shorten(&escape_controls(text), NAME);
        vec![
            Cell::of(format!("{}={}", name(&it.label), name(&it.value))),
            Cell::count(it.queries),
            Cell::score(Some(it.mean)),
            Cell::score(Some(it.rest)),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let columns = ["slice", "queries", "mean", "elsewhere"];
    (!rows.is_empty()).then(|| {
        Block::Table(Table {
            caption: format!(
                "Slices in which {} scores lower by {}",
                shorten(&escape_controls(&errors.run), NAME),
                escape_controls(&errors.measure)
            ),
            columns: columns.map(str::to_owned).to_vec(),
            heads: 1,
            rows,
        })
    })
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
    items.iter().map(|item| escape_controls(item)).collect()
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
    }
    rows
}
