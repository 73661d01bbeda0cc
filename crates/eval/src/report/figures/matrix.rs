//! Matrices of domains: routing and collaboration.

use rankgauge_core::number::percent;
use std::collections::BTreeMap;

use crate::evaluate::{Evaluation, RunEvaluation};
use crate::report::chart::{Chart, Heatmap};
use crate::report::document::{Block, Figure, Rows};
use crate::report::names::run_name;
use crate::report::ratios::ratio;
use crate::text_layout::{escape_controls, shorten};

/// Maximum number of rows and columns of a matrix: those with the largest totals.
const MAX_MATRIX_SIDE: usize = 12;

/// Confusion matrix of routing, one chart for each run.
pub(in crate::report) fn routing(evaluation: &Evaluation) -> Vec<Block> {
    let of_run = |run: &RunEvaluation| {
        let [right, all] = diagonal(&run.routing)?;
        let accuracy = percent(ratio(right, all), 1);
        Some(matrix(
            &run.routing,
            format!(
                "Routing of {}: expected domain by selected domain",
                run_name(run)
            ),
            &format!("{right} of {all} searches ({accuracy}) were routed to the expected domain."),
            ["expected", "selected"],
        ))
    };
    evaluation.runs.iter().filter_map(of_run).collect()
}

/// Matrix of primary domains and the domains that contributed relevant results, one chart for each
/// run.
pub(in crate::report) fn collaboration(evaluation: &Evaluation) -> Vec<Block> {
    let of_run = |run: &RunEvaluation| {
        let [own, all] = diagonal(&run.collaboration)?;
        let share = percent(ratio(all - own, all), 1);
        Some(matrix(
            &run.collaboration,
            format!(
                "Collaboration in {}: primary domain by contributing domain",
                run_name(run)
            ),
            &format!(
                "Searches in which a domain contributed a relevant result. {share} of {all} \
                 contributions came from another domain than the primary one."
            ),
            ["primary", "contributed"],
        ))
    };
    evaluation.runs.iter().filter_map(of_run).collect()
}

/// Number of searches on the diagonal of a matrix, and of all searches; `None` for an empty matrix.
fn diagonal(counts: &BTreeMap<(String, String), u64>) -> Option<[u64; 2]> {
    let diagonal = counts.iter().filter(|((row, column), _)| row == column);
    let diagonal = diagonal.map(|(_, count)| count).sum();
    (!counts.is_empty()).then(|| [diagonal, counts.values().sum()])
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
    let rows = Rows::of(names.iter().zip(&values))
        .column(
            format!("{row_title} ↓ {column_title} →"),
            |(name, _)| (*name).clone(),
        )
        .columns(
            names.iter().enumerate(),
            |(_, name)| (*name).clone(),
            |(_, values), (column, _)| values[*column],
        )
        .table(caption, 1);
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
            names: names.clone(),
            values: values.clone(),
        }),
        table: rows,
    })
}
