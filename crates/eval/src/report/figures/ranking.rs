//! Charts of the ranking: curves, single queries, score distribution.

use rankgauge_core::number::{percent, real};
use std::collections::{BTreeMap, BTreeSet};

use crate::evaluate::{Evaluation, RunEvaluation};
use crate::report::chart::{Bars, Chart, Lines, Plane, Series};
use crate::report::document::{Block, Cell, Figure, Rows};
use crate::report::headline::headline_of;
use crate::report::names::run_name;
use crate::report::ratios::ratio;

/// Recall levels of the precision-recall curve, as in trec_eval.
pub(in crate::report) const RECALL_LEVELS: [f64; 11] =
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Number of bars in a distribution.
const BINS: usize = 10;

/// Precision-recall curve of all runs that have queries and a curve.
pub(in crate::report) fn precision_recall(evaluation: &Evaluation) -> Option<Block> {
    let (runs, curves): (Vec<&RunEvaluation>, Vec<[f64; 11]>) = counted(evaluation)
        .filter_map(|run| Some((run, run.curve?)))
        .unzip();
    let first = curves.first()?;
    let rows = Rows::of(RECALL_LEVELS.iter().enumerate())
        .column("recall", |(_, recall)| format!("{recall:.1}"))
        .columns(
            runs.iter().zip(&curves),
            |(run, _)| run_name(run),
            |(at, _), (_, curve)| Some(curve[*at]),
        );
    let series = runs.iter().zip(&curves).map(|(run, curve)| Series {
        name: run_name(run),
        points: RECALL_LEVELS.into_iter().zip(*curve).collect(),
    });
    Some(Block::Figure(Figure {
        description: format!(
            "Mean interpolated precision falls from {:.2} at recall 0 to {:.2} at recall 1{}.",
            first[0],
            first[10],
            of_first(&runs),
        ),
        chart: Chart::Lines(Lines {
            x_label: "recall".to_owned(),
            y_label: "precision".to_owned(),
            ticks: [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
                .map(|recall| (recall, format!("{recall:.1}")))
                .to_vec(),
            series: series.collect(),
        }),
        table: rows.table(
            "Precision–recall curve: interpolated precision at recall",
            1,
        ),
    }))
}

/// Precision and recall of the single queries at their first ranks, one chart for each run.
pub(in crate::report) fn planes(evaluation: &Evaluation) -> Vec<Block> {
    // Bands of a fifth, of which the last one contains 1.
    const BANDS: [&str; 5] = ["0.0–0.2", "0.2–0.4", "0.4–0.6", "0.6–0.8", "0.8–1.0"];
    let band = |value: f64| {
        (1..5)
            .filter(|band| value * 5.0 >= f64::from(*band))
            .count()
    };
    let with = counted(evaluation).filter(|run| !run.points.is_empty());
    with.map(|run| {
        let mut counts = [[0_u64; 5]; 5];
        for point in &run.points {
            counts[band(point.precision)][band(point.recall)] += point.n;
        }
        let all: u64 = counts.iter().flatten().sum();
        let best: u64 = counts[3..].iter().flat_map(|row| &row[3..]).sum();
        let rows = Rows::of((0..5).rev())
            .column("precision ↓ recall →", |row| Cell::of(BANDS[*row]))
            .columns(0..5, |column| BANDS[*column], |row, column| {
                counts[*row][*column]
            });
        let curve = run.curve.iter().flatten();
        Block::Figure(Figure {
            description: format!(
                "Each query at each of its ranks, up to 100; the larger a disc, the more of them. {} \
                 have precision and recall of at least 0.6. The line is the mean curve.",
                percent(ratio(best, all), 1)
            ),
            chart: Chart::Plane(Plane {
                points: run
                    .points
                    .iter()
                    .map(|point| (point.recall, point.precision, point.n))
                    .collect(),
                curve: RECALL_LEVELS.into_iter().zip(curve.copied()).collect(),
            }),
            table: rows.table(
                format!("Precision and recall of the queries: {}", run_name(run)),
                1,
            ),
        })
    })
    .collect()
}

/// Mean nDCG by cutoff, for all runs that have one.
pub(in crate::report) fn ndcg(evaluation: &Evaluation) -> Option<Block> {
    let runs: Vec<_> = counted(evaluation)
        .filter(|run| !run.ndcg.is_empty())
        .collect();
    let first = runs.first()?;
    let cutoffs: BTreeSet<u32> = runs
        .iter()
        .flat_map(|run| run.ndcg.iter().map(|it| it.0))
        .collect();
    let place: BTreeMap<u32, f64> = (0_u32..)
        .zip(&cutoffs)
        .map(|(place, cutoff)| (*cutoff, f64::from(place)))
        .collect();
    let series = runs.iter().map(|run| Series {
        name: run_name(run),
        points: run
            .ndcg
            .iter()
            .map(|(cutoff, mean)| (place[cutoff], *mean))
            .collect(),
    });
    let rows = Rows::of(&cutoffs)
        .column("cutoff", ToString::to_string)
        .columns(
            &runs,
            |run| run_name(run),
            |cutoff, run| {
                let point = run.ndcg.iter().find(|(at, _)| at == *cutoff);
                point.map(|(_, mean)| *mean)
            },
        );
    let (shallow, deep) = (first.ndcg.first()?, first.ndcg.last()?);
    Some(Block::Figure(Figure {
        description: format!(
            "Mean nDCG is {:.2} at cutoff {} and {:.2} at cutoff {}{}.",
            shallow.1,
            shallow.0,
            deep.1,
            deep.0,
            of_first(&runs),
        ),
        chart: Chart::Lines(Lines {
            x_label: "cutoff".to_owned(),
            y_label: "nDCG".to_owned(),
            ticks: place
                .iter()
                .map(|(cutoff, place)| (*place, cutoff.to_string()))
                .collect(),
            series: series.collect(),
        }),
        table: rows.table("nDCG by cutoff", 1),
    }))
}

/// Distribution of the queries over the scores in the headline measure.
pub(in crate::report) fn distribution(evaluation: &Evaluation) -> Option<Block> {
    let measure = headline_of(evaluation)?;
    let name = evaluation.measures.get(measure)?;
    let of = |run: &RunEvaluation| -> Vec<f64> {
        let scores = run
            .queries
            .iter()
            .filter_map(|query| *query.scores.get(measure)?);
        scores.filter(|score| score.is_finite()).collect()
    };
    let runs: Vec<(&RunEvaluation, Vec<f64>)> = counted(evaluation)
        .map(|run| (run, of(run)))
        .filter(|(_, scores)| !scores.is_empty())
        .collect();
    let (first, _) = runs.first()?;
    let all = || runs.iter().flat_map(|(_, scores)| scores.iter().copied());
    let low = all().fold(0.0, f64::min);
    let high = all().fold(1.0, f64::max);
    // Upper edges of all bins but the last, which includes the highest score.
    let bins = u32::try_from(BINS).unwrap_or(1);
    let edge = |bin: u32| low + (high - low) * f64::from(bin) / f64::from(bins);
    let count = |scores: &[f64]| {
        let mut counts = [0_u64; BINS];
        for score in scores {
            let bin = (1..bins).filter(|bin| *score >= edge(*bin)).count();
            counts[bin] += 1;
        }
        counts
    };
    let counts: Vec<[u64; BINS]> = runs.iter().map(|(_, scores)| count(scores)).collect();
    let bounds: Vec<String> = (0..bins)
        .map(|bin| format!("{:.1}–{:.1}", edge(bin), edge(bin + 1)))
        .collect();
    let rows = Rows::of(bounds.iter().enumerate())
        .column(name, |(_, bounds)| (*bounds).clone())
        .columns(
            runs.iter().zip(&counts),
            |((run, _), _)| run_name(run),
            |(bin, _), (_, counts)| counts[*bin],
        );
    let names: Vec<_> = runs.iter().map(|(run, _)| *run).collect();
    Some(Block::Figure(Figure {
        description: format!(
            "Queries by their score in {name}, from {low:.1} to {high:.1}. Of {}, {} score in the \
             lowest tenth of the range and {} in the highest{}.",
            first.queries.len(),
            counts[0][0],
            counts[0][BINS - 1],
            of_first(&names),
        ),
        chart: Chart::Bars(Bars {
            x_label: name.clone(),
            y_label: "queries".to_owned(),
            // Only the lower edges: ten ranges do not fit below ten bars.
            groups: (0..bins).map(|bin| format!("{:.1}", edge(bin))).collect(),
            series: runs
                .iter()
                .zip(&counts)
                .map(|((run, _), counts)| (run_name(run), counts.map(real).to_vec()))
                .collect(),
        }),
        table: rows.table(format!("Score distribution: queries by {name}"), 1),
    }))
}

/// Runs with at least one counted query.
pub(super) fn counted(evaluation: &Evaluation) -> impl Iterator<Item = &RunEvaluation> {
    evaluation.runs.iter().filter(|run| !run.queries.is_empty())
}

/// Name of the run that a description is about, if there are several runs.
pub(super) fn of_first(runs: &[&RunEvaluation]) -> String {
    match runs {
        [first, _, ..] => format!(" ({})", run_name(first)),
        _ => String::new(),
    }
}
