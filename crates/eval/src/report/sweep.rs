//! Sweeps of the score threshold in every format.

use super::chart::{Chart, Lines, Series};
use super::csv::Row;
use super::document::{Block, Cell, Figure, Rows, number};
use super::names::name;
use crate::sweep::{Point, Sweep};

/// Number of marks of the x axis, besides the first.
const MARKS: u32 = 4;

/// Blocks of the section about thresholds; empty without a sweep.
pub(super) fn blocks(sweeps: &[Sweep]) -> Vec<Block> {
    if sweeps.is_empty() {
        return Vec::new();
    }
    let best = Rows::of(sweeps)
        .column("run", |of| name(&of.run))
        .column("best threshold", |of| number(of.best.threshold))
        .column("F1", |of| number(of.best.f1))
        .column("F1 without threshold", |of| number(of.all.f1))
        .column("precision", |of| number(of.best.precision))
        .column("recall", |of| number(of.best.recall))
        .column("results kept", |of| format!("{:.1}", of.best.kept))
        .column("queries", |of| of.queries);
    let caption = "Score threshold with the best F1; precision is over the results kept";
    let mut blocks = vec![Block::Table(best.table(caption, 1))];
    blocks.extend(sweeps.iter().map(figure));
    blocks
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
    let is_best = |it: &Point| it.threshold.total_cmp(&of.best.threshold).is_eq();
    let rows = Rows::of(&of.points)
        .column("threshold", |it| number(it.threshold))
        .column("F1", |it| Cell {
            best: is_best(it),
            ..Cell::of(number(it.f1))
        })
        .column("precision", |it| number(it.precision))
        .column("recall", |it| number(it.recall))
        .column("results kept", |it| format!("{:.1}", it.kept));
    Block::Figure(Figure {
        description: format!(
            "F1 of {} is {:.2} at the threshold {}, and {:.2} with all results. {} of {} \
             thresholds are drawn.",
            name(&of.run),
            of.best.f1,
            number(of.best.threshold),
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
        table: rows.table(format!("F1 by score threshold of {}", name(&of.run)), 1),
    })
}

/// Rows of CSV about sweeps. The value of a row is its threshold; the best ones have the slice
/// `best`.
pub(super) fn rows(sweeps: &[Sweep]) -> impl Iterator<Item = Row> {
    sweeps.iter().flat_map(|of| {
        let best = [("best", of.best)].into_iter();
        let points = of.points.iter().map(|point| ("point", *point));
        best.chain(points).flat_map(move |(slice, point)| {
            let scores = [
                ("F1", point.f1),
                ("precision", point.precision),
                ("recall", point.recall),
                ("kept", point.kept),
            ];
            scores.map(|(measure, score)| Row {
                table: "threshold",
                run: of.run.clone(),
                slice: slice.to_owned(),
                value: point.threshold.to_string(),
                measure: measure.to_owned(),
                score: Some(score),
                n: Some(of.queries),
                ..Row::default()
            })
        })
    })
}
