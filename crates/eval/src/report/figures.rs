//! Charts of a report, each with the table of its numbers.
//!
//! A chart without data is omitted. A chart with too many items is truncated, and its caption or
//! description states it.

mod matrix;
mod ranking;

use rankgauge_core::number::percent;
use std::collections::BTreeMap;

use super::chart::{Bars, Changes, Chart, Shades};
use super::document::{Block, Cell, Figure, Rows, signed};
use super::headline::headline_of;
use super::names::run_name;
use super::ratios::ratio;
use crate::evaluate::{Evaluation, RunEvaluation};
use crate::text_layout::{escape_controls, shorten};
pub(super) use matrix::{collaboration, routing};
pub(super) use ranking::{RECALL_LEVELS, distribution, ndcg, planes, precision_recall};
use ranking::{counted, of_first};

/// Difference below which two scores are equal.
const EQUAL: f64 = 1e-12;

/// Maximum number of queries in a table of gains, and in one of losses.
const MAX_CHANGED_QUERIES: usize = 10;

/// Sorted differences of the queries in the headline measure, one chart for each run after the first.
pub(super) fn changes(evaluation: &Evaluation) -> Vec<Block> {
    let Some(measure) = headline_of(evaluation) else {
        return Vec::new();
    };
    let (Some((first, others)), Some(name)) = (
        evaluation.runs.split_first(),
        evaluation.measures.get(measure),
    ) else {
        return Vec::new();
    };
    let scores = |run: &'_ RunEvaluation| -> BTreeMap<String, f64> {
        let queries = run.queries.iter();
        queries
            .filter_map(|query| Some((query.key.clone(), (*query.scores.get(measure)?)?)))
            .collect()
    };
    let of_first = scores(first);
    let charts = others.iter().filter_map(|run| {
        let mut queries: Vec<(String, f64)> = scores(run)
            .into_iter()
            .filter_map(|(query, score)| {
                let difference = score - of_first.get(&query)?;
                Some((query, difference))
            })
            .collect();
        queries.sort_by(|a, b| b.1.total_cmp(&a.1));
        let number_of = |is_counted: fn(f64) -> bool| {
            let counted = queries.iter().filter(|(_, it)| is_counted(*it));
            counted.count()
        };
        let higher = number_of(|it| it > EQUAL);
        let lower = number_of(|it| it < -EQUAL);
        let same = queries.len() - higher - lower;
        queries.first()?;
        // The largest gains and losses; the middle is in the data formats.
        let at_end = queries.len().saturating_sub(MAX_CHANGED_QUERIES);
        let gains = queries.iter().take(MAX_CHANGED_QUERIES);
        let losses = queries.iter().skip(at_end.max(MAX_CHANGED_QUERIES));
        let listed = Rows::of(gains.chain(losses))
            .column("query", |(query, _)| shorten(&escape_controls(query), 40))
            .column("difference", |(_, difference)| signed(*difference));
        let (run, first) = (run_name(run), run_name(first));
        Some(Block::Figure(Figure {
            description: format!(
                "{name} of {run} minus {first}, query by query: {higher} higher, {same} equal, \
                 {lower} lower. The numbers list the largest."
            ),
            chart: Chart::Changes(Changes {
                x_label: format!("queries, {run} minus {first}"),
                y_label: name.clone(),
                values: queries.iter().map(|(_, difference)| *difference).collect(),
            }),
            table: listed.table(format!("Differences of {run} from {first} by query"), 1),
        }))
    });
    charts.collect()
}

/// Means of the headline measure by slice value and run.
pub(super) fn slices(
    evaluation: &Evaluation,
    slice: &str,
    values: &[(&str, usize)],
) -> Option<Block> {
    let measure = headline_of(evaluation)?;
    let title = evaluation.measures.get(measure)?;
    let runs: Vec<&RunEvaluation> = counted(evaluation).collect();
    let score = |run: &RunEvaluation, value: &str| {
        let slice = run.by.iter().find(|it| it.name == slice)?;
        let value = slice.values.iter().find(|it| it.value == value)?;
        value.means.get(measure).copied().flatten()
    };
    let rows: Vec<(String, usize, Vec<Option<f64>>)> = values
        .iter()
        .map(|(value, queries)| {
            let scores = runs.iter().map(|run| score(run, value));
            (
                shorten(&escape_controls(value), 40),
                *queries,
                scores.collect(),
            )
        })
        .collect();
    let defined = |row: &&(String, usize, Vec<Option<f64>>)| row.2.iter().any(Option::is_some);
    let weakest = rows.iter().filter(defined).min_by(|a, b| {
        let first = |row: &(String, usize, Vec<Option<f64>>)| {
            row.2.first().copied().flatten().unwrap_or(f64::INFINITY)
        };
        first(a).total_cmp(&first(b))
    })?;
    let name = shorten(&escape_controls(slice), 40);
    let means = Rows::of(&rows)
        .column(&name, |(value, ..)| value.clone())
        .column("queries", |(_, queries, _)| *queries)
        .columns(
            runs.iter().enumerate(),
            |(_, run)| run_name(run),
            |(.., scores), (run, _)| scores[*run],
        );
    Some(Block::Figure(Figure {
        description: format!(
            "{title} by {name}; the stronger the colour, the higher the mean. The lowest{} is that \
             of {}.",
            of_first(&runs),
            weakest.0,
        ),
        chart: Chart::Shades(Shades {
            columns: runs.iter().map(|run| run_name(run)).collect(),
            rows: rows
                .iter()
                .map(|(value, _, scores)| (value.clone(), scores.clone()))
                .collect(),
        }),
        table: means.table(format!("{title} by {name}"), 1),
    }))
}

/// Distance of the results of each component, one chart for each component.
pub(super) fn hops(evaluation: &Evaluation) -> Vec<Block> {
    const DISTANCES: [&str; 4] = ["1", "2", "3", "4+"];
    let mut names: Vec<&str> = Vec::new();
    for component in evaluation.runs.iter().flat_map(|run| &run.components) {
        if !names.contains(&component.name.as_str()) {
            names.push(&component.name);
        }
    }
    let picture = |name: &str| {
        let of = |run: &RunEvaluation| {
            run.components
                .iter()
                .find(|it| it.name == name)
                .map(|it| it.hops)
        };
        let runs: Vec<(String, [u64; 4])> = evaluation
            .runs
            .iter()
            .filter_map(|run| Some((run_name(run), of(run)?)))
            .filter(|(_, hops)| hops.iter().any(|count| *count > 0))
            .collect();
        let (first, hops) = runs.first()?;
        let share = |hops: &[u64; 4], at: usize| ratio(hops[at], hops.iter().sum());
        let mut rows = Rows::of(DISTANCES.iter().enumerate())
            .column("hops", |(_, distance)| Cell::of(**distance));
        for (run, hops) in &runs {
            rows = rows
                .column(format!("{run}: results"), |(at, _)| hops[*at])
                .column(format!("{run}: share"), |(at, _)| {
                    percent(share(hops, *at), 1)
                });
        }
        let name = shorten(&escape_controls(name), 40);
        Some(Block::Figure(Figure {
            description: format!(
                "{} of the results of {name} in {first} were one hop away, {} two.",
                percent(share(hops, 0), 0),
                percent(share(hops, 1), 0),
            ),
            chart: Chart::Bars(Bars {
                x_label: "hops".to_owned(),
                y_label: "share of results, %".to_owned(),
                groups: DISTANCES.map(str::to_owned).to_vec(),
                series: runs
                    .iter()
                    .map(|(run, hops)| {
                        (
                            run.clone(),
                            (0..4).map(|at| 100.0 * share(hops, at)).collect(),
                        )
                    })
                    .collect(),
            }),
            table: rows.table(format!("Hop distribution of {name}"), 1),
        }))
    };
    names.into_iter().filter_map(picture).collect()
}
