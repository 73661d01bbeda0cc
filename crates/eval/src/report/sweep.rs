//! Sweeps of the score threshold in every format.

use super::chart::{Chart, Lines, Series};
use super::document::{Block, Cell, Figure, Table, number};
use super::names::name;
use super::operations::OperationRow;
use crate::sweep::{Point, Sweep};

/// Number of marks of the x axis, besides the first.
const MARKS: u32 = 4;

/// Blocks of the section about thresholds; empty without a sweep.
pub(super) fn blocks(sweeps: &[Sweep]) -> Vec<Block> {
    if sweeps.is_empty() {
        return Vec::new();
    }
    let rows = sweeps.iter().map(|of| {
        let Point {
            threshold,
            f1,
            precision,
            recall,
            kept,
        } = of.best;
        vec![
            Cell::of(name(&of.run)),
            Cell::of(short(threshold)),
            Cell::of(number(f1)),
            Cell::of(number(of.all.f1)),
            Cell::of(number(precision)),
            Cell::of(number(recall)),
            Cell::of(format!("{kept:.1}")),
            Cell::count(of.queries),
        ]
    });
    let columns = [
        "run",
        "best threshold",
        "F1",
        "F1 without threshold",
        "precision",
        "recall",
        "results kept",
        "queries",
    ];
    let mut blocks = vec![Block::Table(Table {
        caption: "Score threshold with the best F1; precision is over the results kept".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        heads: 1,
        rows: rows.collect(),
    })];
    blocks.extend(sweeps.iter().map(figure));
    blocks
}

/// Score as text, with four decimals.
fn short(score: f64) -> String {
    number(score)
}

fn figure(of: &Sweep) -> Block {
    let points = || of.points.iter().rev();
    let series = |title: &str, value: fn(&Point) -> f64| Series {
        name: title.to_owned(),
        points: points().map(|it| (it.threshold, value(it))).collect(),
    };
    let (low, high) = (of.all.threshold, of.points.first().map(|it| it.threshold));
    let high = high.unwrap_or(low);
    let ticks = (0..=MARKS).map(|mark| {
        let at = low + (high - low) * f64::from(mark) / f64::from(MARKS);
        (at, format!("{at:.2}"))
    });
    let columns = ["threshold", "F1", "precision", "recall", "results kept"];
    let rows = of.points.iter().map(|it| {
        let is_best = it.threshold.total_cmp(&of.best.threshold).is_eq();
        vec![
            Cell::of(short(it.threshold)),
            Cell {
                best: is_best,
                ..Cell::of(number(it.f1))
            },
            Cell::of(number(it.precision)),
            Cell::of(number(it.recall)),
            Cell::of(format!("{:.1}", it.kept)),
        ]
    });
    Block::Figure(Figure {
        description: format!(
            "F1 of {} is {:.2} at the threshold {}, and {:.2} with all results. {} of {} \
             thresholds are drawn.",
            name(&of.run),
            of.best.f1,
            short(of.best.threshold),
            of.all.f1,
            of.points.len(),
            of.thresholds,
        ),
        chart: Chart::Lines(Lines {
            x_label: "threshold of the score".to_owned(),
            y_label: "mean over queries".to_owned(),
            ticks: ticks.collect(),
            series: vec![
                series("F1", |it| it.f1),
                series("precision", |it| it.precision),
                series("recall", |it| it.recall),
            ],
        }),
        table: Table {
            caption: format!("F1 by score threshold of {}", name(&of.run)),
            columns: columns.map(str::to_owned).to_vec(),
            heads: 1,
            rows: rows.collect(),
        },
    })
}

/// Rows of CSV about sweeps. The value of a row is its threshold; the best ones have the slice
/// `best`.
pub(super) fn rows(sweeps: &[Sweep]) -> Vec<OperationRow> {
    let rows = sweeps.iter().flat_map(|of| {
        let best = [("best", of.best)].into_iter();
        let points = of.points.iter().map(|point| ("point", *point));
        best.chain(points).flat_map(move |(slice, point)| {
            let scores = [
                ("F1", point.f1),
                ("precision", point.precision),
                ("recall", point.recall),
                ("kept", point.kept),
            ];
            scores.map(|(measure, score)| OperationRow {
                run: of.run.clone(),
                slice: slice.to_owned(),
                value: point.threshold.to_string(),
                measure: measure.to_owned(),
                score: Some(score),
                n: Some(of.queries),
            })
        })
    });
    rows.collect()
}
