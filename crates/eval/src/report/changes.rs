//! Differences of the runs from the first run in every format: their size, interval and significance.

use serde::Serialize;

use super::document::{Block, Cell, Table};
use super::members::Members;
use super::names::name;
use crate::compare::{MeasureComparison, Pair};
use crate::text_layout::escape_controls;
use rankgauge_core::statistics::Interval;

/// Blocks of the section about differences; empty without any.
pub(super) fn blocks(changes: &[Pair]) -> Vec<Block> {
    let Some(first) = changes.first() else {
        return Vec::new();
    };
    let rows = changes.iter().flat_map(|pair| {
        pair.measures.iter().map(|of| {
            vec![
                Cell::of(name(&pair.b)),
                Cell::of(escape_controls(&of.measure)),
                Cell::of(signed(of.paired.difference)),
                Cell::of(relative(of)),
                Cell::of(interval(of.paired.ci95)),
                Cell::of(of.p_holm.map_or_else(|| "–".to_owned(), probability)),
                Cell::of(of.paired.n.to_string()),
                Cell::words(of.verdict.words()),
            ]
        })
    });
    let columns = [
        "run",
        "measure",
        "difference",
        "relative",
        "95 % interval",
        "Holm p",
        "queries",
        "verdict",
    ];
    vec![
        Block::Table(Table {
            caption: format!("Mean difference per query from {}", name(&first.a)),
            columns: columns.map(str::to_owned).to_vec(),
            heads: 2,
            rows: rows.collect(),
        }),
        Block::Paragraph(
            "Two-sided paired t-test, corrected after Holm over the measures of a run. `compare` \
             has further tests."
                .to_owned(),
        ),
    ]
}

/// Difference with its sign.
pub(super) fn signed(difference: Option<f64>) -> String {
    difference.map_or_else(
        || "–".to_owned(),
        |difference| {
            let text = format!("{difference:+.4}");
            if text.trim_start_matches(['+', '-']) == "0.0000" {
                "0.0000".to_owned()
            } else {
                text
            }
        },
    )
}

/// Difference relative to the first run, in percent.
pub(super) fn relative(of: &MeasureComparison) -> String {
    of.relative().map_or_else(
        || "–".to_owned(),
        |share| {
            let text = format!("{:+.1} %", 100.0 * share);
            if matches!(text.as_str(), "-0.0 %" | "+0.0 %") {
                "0.0 %".to_owned()
            } else {
                text
            }
        },
    )
}

/// Interval in brackets.
pub(super) fn interval(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || "–".to_owned(),
        |[low, high]| format!("[{}, {}]", signed(Some(low)), signed(Some(high))),
    )
}

fn probability(p: f64) -> String {
    if p < 0.0001 {
        "<0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
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
    ci95: Option<Interval>,
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
