//! Differences of the runs from the first run in every format: their size, interval and significance.

use serde::Serialize;

use super::document::{Block, Cell, Rows, interval, percentage, signed};
use super::members::Members;
use super::names::name;
use crate::compare::{MeasureComparison, Pair, testable};
use crate::text_layout::{escape_controls, probability};

/// Adds the columns of a difference: its size, interval and significance.
pub(super) fn with_difference<T>(rows: Rows<T>, of: impl Fn(&T) -> &MeasureComparison) -> Rows<T> {
    rows.column("difference", |it| {
        Cell::optional(of(it).paired.difference, signed)
    })
    .column("relative", |it| {
        Cell::optional(of(it).relative(), percentage)
    })
    .column("interval", |it| {
        Cell::optional(of(it).simultaneous, interval)
    })
    .column("Holm p", |it| Cell::optional(of(it).p_holm, probability))
}

/// Blocks of the section about differences in `measures`; empty without any.
pub(super) fn blocks(changes: &[Pair], measures: &[String]) -> Vec<Block> {
    let Some(first) = changes.first() else {
        return Vec::new();
    };
    let (_, left_out) = testable(measures.to_vec());
    let left_out = left_out.iter().map(|reason| escape_controls(reason));
    let left_out: Vec<String> = left_out.collect();
    let tests = changes
        .iter()
        .flat_map(|pair| pair.measures.iter().map(|of| (&pair.b, of)));
    let tests = Rows::of(tests)
        .column("run", |(run, _)| name(run))
        .column("measure", |(_, of)| escape_controls(&of.measure));
    let tests = with_difference(tests, |(_, of)| of)
        .column("queries", |(_, of)| of.paired.n)
        .column("verdict", |(_, of)| Cell::words(of.verdict.words()));
    let caption = format!("Mean difference per query from {}", name(&first.a));
    let mut blocks = vec![
        Block::Table(tests.table(caption, 2)),
        Block::Paragraph(
            "Two-sided paired t-test, or the permutation test if the differences of fewer than 30 queries are \
             skewed or all differences are equal, corrected after Holm over the measures of a run. The interval of \
             a difference has the same correction: it excludes 0 exactly if the difference is shown. \
             `compare` has further tests."
                .to_owned(),
        ),
    ];
    if !left_out.is_empty() {
        blocks.push(Block::List(left_out));
    }
    blocks
}

/// Differences of a run, in JSON.
#[derive(Serialize)]
pub(super) struct ChangesOut<'a> {
    run: &'a str,
    against: &'a str,
    queries: usize,
    measures: Members<&'a str, ChangeOut>,
}

#[derive(Serialize)]
struct ChangeOut {
    difference: Option<f64>,
    relative: Option<f64>,
    ci95: Option<[f64; 2]>,
    p_holm: Option<f64>,
    verdict: &'static str,
    n: usize,
}

/// Differences of all runs, in JSON.
pub(super) fn members(changes: &[Pair]) -> Vec<ChangesOut<'_>> {
    let changes = changes.iter().map(|pair| ChangesOut {
        run: &pair.b,
        against: &pair.a,
        queries: pair.common,
        measures: Members(
            pair.measures
                .iter()
                .map(|of| {
                    let change = ChangeOut {
                        difference: of.paired.difference,
                        relative: of.relative(),
                        ci95: of.paired.ci95,
                        p_holm: of.p_holm,
                        verdict: of.verdict.words(),
                        n: of.paired.n,
                    };
                    (of.measure.as_str(), change)
                })
                .collect(),
        ),
    });
    changes.collect()
}
