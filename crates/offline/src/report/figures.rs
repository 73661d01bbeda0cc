//! Charts of a report, each with the table of its numbers.
//!
//! A chart without data is omitted. A chart with too many items is truncated, and its caption or
//! description states it.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::signed;
use super::chart::{Bars, Changes, Chart, Heatmap, Lines, Series, Shades};
use super::document::{Block, Cell, Figure, Table, shorten};
use super::headline::headline;
use super::{ratio, real};
use crate::evaluate::{Evaluation, RunEvaluation};
use crate::text_layout::escape_controls;

/// Recall levels of the precision-recall curve, as in trec_eval.
pub(super) const RECALL_LEVELS: [f64; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Maximum number of rows and columns of a matrix: those with the largest totals.
const MAX_MATRIX_SIDE: usize = 12;

/// Number of bars in a distribution.
const BINS: usize = 10;

/// Difference below which two scores are equal.
const EQUAL: f64 = 1e-12;

/// Maximum number of queries in a table of gains, and in one of losses.
const MAX_CHANGED_QUERIES: usize = 10;

/// Short name of a run, for use beside others.
pub(super) fn run_name(run: &RunEvaluation) -> String {
    shorten(&escape_controls(&run.name), 40)
}

/// Precision-recall curve of all runs that have queries and a curve.
pub(super) fn precision_recall(evaluation: &Evaluation) -> Option<Block> {
    let (runs, curves): (Vec<&RunEvaluation>, Vec<[f64; 11]>) = counted(evaluation)
        .filter_map(|run| Some((run, run.curve?)))
        .unzip();
    let first = curves.first()?;
    let mut columns = vec!["recall".to_owned()];
    columns.extend(runs.iter().map(|run| run_name(run)));
    let rows = RECALL_LEVELS.iter().enumerate().map(|(i, recall)| {
        let scores = curves.iter().map(|curve| Cell::score(Some(curve[i])));
        [Cell::of(format!("{recall:.1}"))]
            .into_iter()
            .chain(scores)
            .collect()
    });
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
        table: Table {
            caption: "Precision–recall curve: interpolated precision at recall".to_owned(),
            columns,
            heads: 1,
            rows: rows.collect(),
        },
    }))
}

/// Mean nDCG by cutoff, for all runs that have one.
pub(super) fn ndcg(evaluation: &Evaluation) -> Option<Block> {
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
    let mut columns = vec!["cutoff".to_owned()];
    columns.extend(runs.iter().map(|run| run_name(run)));
    let rows = cutoffs.iter().map(|cutoff| {
        let score = |run: &&RunEvaluation| {
            let point = run.ndcg.iter().find(|(at, _)| at == cutoff);
            Cell::score(point.map(|(_, mean)| *mean))
        };
        [Cell::count(cutoff)]
            .into_iter()
            .chain(runs.iter().map(score))
            .collect()
    });
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
        table: Table {
            caption: "nDCG by cutoff".to_owned(),
            columns,
            heads: 1,
            rows: rows.collect(),
        },
    }))
}

/// Distribution of the queries over the scores in the headline measure.
pub(super) fn distribution(evaluation: &Evaluation) -> Option<Block> {
    let measure = headline(&evaluation.measures)?;
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
    let mut columns = vec![name.clone()];
    columns.extend(runs.iter().map(|(run, _)| run_name(run)));
    let rows = bounds.iter().enumerate().map(|(bin, bounds)| {
        let counts = counts.iter().map(|counts| Cell::count(counts[bin]));
        [Cell::of(bounds)].into_iter().chain(counts).collect()
    });
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
        table: Table {
            caption: format!("Score distribution: queries by {name}"),
            columns,
            heads: 1,
            rows: rows.collect(),
        },
    }))
}

/// Sorted differences of the queries in the headline measure, one chart for each run after the first.
pub(super) fn changes(evaluation: &Evaluation) -> Vec<Block> {
    let Some(measure) = headline(&evaluation.measures) else {
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
        let row = |(query, difference): &(String, f64)| {
            vec![
                Cell::of(shorten(&escape_controls(query), 40)),
                Cell::of(signed(Some(*difference))),
            ]
        };
        // The largest gains and losses; the middle is in the data formats.
        let at_end = queries.len().saturating_sub(MAX_CHANGED_QUERIES);
        let gains = queries.iter().take(MAX_CHANGED_QUERIES);
        let losses = queries.iter().skip(at_end.max(MAX_CHANGED_QUERIES));
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
            table: Table {
                caption: format!("Differences of {run} from {first} by query"),
                columns: vec!["query".to_owned(), "difference".to_owned()],
                heads: 1,
                rows: gains.chain(losses).map(row).collect(),
            },
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
    let measure = headline(&evaluation.measures)?;
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
    let mut columns = vec![name.clone(), "queries".to_owned()];
    columns.extend(runs.iter().map(|run| run_name(run)));
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
        table: Table {
            caption: format!("{title} by {name}"),
            columns,
            heads: 1,
            rows: rows
                .into_iter()
                .map(|(value, queries, scores)| {
                    let mut row = vec![Cell::of(value), Cell::count(queries)];
                    row.extend(scores.into_iter().map(Cell::score));
                    row
                })
                .collect(),
        },
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
        let mut columns = vec!["hops".to_owned()];
        for (run, _) in &runs {
            columns.push(format!("{run}: results"));
            columns.push(format!("{run}: share"));
        }
        let share = |hops: &[u64; 4], at: usize| ratio(hops[at], hops.iter().sum());
        let rows = DISTANCES.iter().enumerate().map(|(at, distance)| {
            let counts = runs.iter().flat_map(|(_, hops)| {
                [
                    Cell::count(hops[at]),
                    Cell::of(format!("{:.1} %", 100.0 * share(hops, at))),
                ]
            });
            [Cell::of(*distance)].into_iter().chain(counts).collect()
        });
        let name = shorten(&escape_controls(name), 40);
        Some(Block::Figure(Figure {
            description: format!(
                "{:.0} % of the results of {name} in {first} were one hop away, {:.0} % two.",
                100.0 * share(hops, 0),
                100.0 * share(hops, 1),
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
            table: Table {
                caption: format!("Hop distribution of {name}"),
                columns,
                heads: 1,
                rows: rows.collect(),
            },
        }))
    };
    names.into_iter().filter_map(picture).collect()
}

/// Confusion matrix of routing, one chart for each run.
pub(super) fn routing(evaluation: &Evaluation) -> Vec<Block> {
    let with = evaluation.runs.iter().filter(|run| !run.routing.is_empty());
    with.map(|run| {
        let [right, all] = diagonal(&run.routing);
        let accuracy = 100.0 * ratio(right, all);
        matrix(
            &run.routing,
            format!(
                "Routing of {}: expected domain by selected domain",
                run_name(run)
            ),
            &format!(
                "{right} of {all} searches ({accuracy:.1} %) were routed to the expected domain."
            ),
            ["expected", "selected"],
        )
    })
    .collect()
}

/// Matrix of primary domains and the domains that contributed relevant results, one chart for each
/// run.
pub(super) fn collaboration(evaluation: &Evaluation) -> Vec<Block> {
    let with = evaluation
        .runs
        .iter()
        .filter(|run| !run.collaboration.is_empty());
    with.map(|run| {
        let [own, all] = diagonal(&run.collaboration);
        let share = 100.0 * ratio(all - own, all);
        matrix(
            &run.collaboration,
            format!(
                "Collaboration in {}: primary domain by contributing domain",
                run_name(run)
            ),
            &format!(
                "Searches in which a domain contributed a relevant result. {share:.1} % of {all} \
                 contributions came from another domain than the primary one."
            ),
            ["primary", "contributed"],
        )
    })
    .collect()
}

/// Number of searches on the diagonal of a matrix, and of all searches.
fn diagonal(counts: &BTreeMap<(String, String), u64>) -> [u64; 2] {
    let diagonal = counts.iter().filter(|((row, column), _)| row == column);
    [
        diagonal.map(|(_, count)| count).sum(),
        counts.values().sum(),
    ]
}

fn matrix(
    counts: &BTreeMap<(String, String), u64>,
    caption: String,
    description: &str,
    [row_title, column_title]: [&str; 2],
) -> Block {
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for ((row, column), count) in counts {
        *totals.entry(row).or_default() += count;
        *totals.entry(column).or_default() += count;
    }
    // Both sides list the same domains in the same order, which puts correct routing on the
    // diagonal.
    let mut domains: Vec<(&str, u64)> = totals.into_iter().collect();
    domains.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let left_out = domains.len().saturating_sub(MAX_MATRIX_SIDE);
    domains.truncate(MAX_MATRIX_SIDE);
    domains.sort_unstable();
    let names: Vec<String> = domains
        .iter()
        .map(|(name, _)| shorten(&escape_controls(name), 40))
        .collect();
    let value = |row: &str, column: &str| counts.get(&(row.to_owned(), column.to_owned())).copied();
    let values: Vec<Vec<u64>> = domains
        .iter()
        .map(|(row, _)| {
            domains
                .iter()
                .map(|(column, _)| value(row, column).unwrap_or(0))
                .collect()
        })
        .collect();
    let row = |(name, values): (&String, &Vec<u64>)| {
        let values = values.iter().map(Cell::count);
        [Cell::of(name)].into_iter().chain(values).collect()
    };
    let rows: Vec<Vec<Cell>> = names.iter().zip(&values).map(row).collect();
    let mut columns = vec![format!("{row_title} ↓ {column_title} →")];
    columns.extend(names.iter().cloned());
    let note = if left_out > 0 {
        format!(" The {MAX_MATRIX_SIDE} domains with the most are shown, {left_out} are not.")
    } else {
        String::new()
    };
    Block::Figure(Figure {
        description: format!(
            "{description} The more of its row a cell holds, the stronger its colour; the frames mark a \
             domain with itself.{note}"
        ),
        chart: Chart::Heatmap(Heatmap {
            x_label: column_title.to_owned(),
            y_label: row_title.to_owned(),
            names,
            values,
        }),
        table: Table {
            caption,
            columns,
            heads: 1,
            rows,
        },
    })
}

/// Runs with at least one counted query.
fn counted(evaluation: &Evaluation) -> impl Iterator<Item = &RunEvaluation> {
    evaluation.runs.iter().filter(|run| !run.queries.is_empty())
}

/// Name of the run that a description is about, if there are several runs.
fn of_first(runs: &[&RunEvaluation]) -> String {
    match runs {
        [first, _, ..] => format!(" ({})", run_name(first)),
        _ => String::new(),
    }
}
