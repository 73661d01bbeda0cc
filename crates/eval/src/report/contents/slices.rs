//! Means by slice, as a picture and a table.

use super::cells::compared;
use crate::evaluate::{Evaluation, RunEvaluation, Slice, SliceValue};
use crate::report::document::{Block, Cell, Table};
use crate::report::figures;
use crate::report::names::{long_name as name, run_name};

/// Maximum number of slice values shown: those with the most queries.
const MAX_SLICE_VALUES: usize = 40;

/// Slices of all runs by name, in the requested order.
pub(super) fn of(evaluation: &Evaluation) -> Vec<&Slice> {
    let mut slices: Vec<&Slice> = Vec::new();
    for slice in evaluation.runs.iter().flat_map(|run| &run.by) {
        if slices.iter().all(|known| known.name != slice.name) {
            slices.push(slice);
        }
    }
    slices
}

/// Table with a row for each value and run and a column for each measure, as in the evaluation
/// plans.
pub(super) fn blocks(evaluation: &Evaluation, slice: &Slice) -> Vec<Block> {
    let mut values: Vec<(&str, usize)> = Vec::new();
    let of_run = |run| slice_of(run, &slice.name);
    for value in evaluation
        .runs
        .iter()
        .filter_map(of_run)
        .flat_map(|it| &it.values)
    {
        match values.iter_mut().find(|(known, _)| *known == value.value) {
            Some((_, queries)) => *queries = value.queries.max(*queries),
            None => values.push((&value.value, value.queries)),
        }
    }
    let left_out = values.len().saturating_sub(MAX_SLICE_VALUES);
    if left_out > 0 {
        values.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        values.truncate(MAX_SLICE_VALUES);
    }
    values.sort_unstable();
    let several = evaluation.runs.len() > 1;
    let mut rows = Vec::new();
    for (value, _) in &values {
        let found: Vec<_> = evaluation
            .runs
            .iter()
            .filter_map(|run| {
                let part = of_run(run)?.values.iter().find(|it| it.value == *value)?;
                Some((run, part))
            })
            .collect();
        let mut lines: Vec<Vec<Cell>> = found
            .iter()
            .map(|(run, part)| {
                let mut cells = vec![Cell::of(name(value))];
                if several {
                    cells.push(Cell::of(run_name(run)));
                }
                cells.push(Cell::from(part.queries));
                cells
            })
            .collect();
        for (at, measure) in evaluation.measures.iter().enumerate() {
            let means: Vec<_> = found
                .iter()
                .map(|(_, part)| part.means.get(at).copied().flatten())
                .collect();
            let scored = |part: &SliceValue| part.scored.get(at).copied();
            let is_comparable = found
                .windows(2)
                .all(|it| scored(it[0].1) == scored(it[1].1));
            let comparable: &[Option<f64>] = if is_comparable { &means } else { &[] };
            let cells = compared(measure, &means, comparable)
                .into_iter()
                .zip(&found);
            for (line, (mut cell, (_, part))) in lines.iter_mut().zip(cells) {
                let scored = part.scored.get(at).copied().unwrap_or(0);
                if scored < part.queries && scored > 0 {
                    cell.text = format!("{} ({scored})", cell.text);
                }
                line.push(cell);
            }
        }
        rows.extend(lines);
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![name(&slice.name)];
    if several {
        columns.push("run".to_owned());
    }
    columns.push("queries".to_owned());
    columns.extend(evaluation.measures.iter().cloned());
    let mut blocks: Vec<Block> = Vec::new();
    if several {
        blocks.extend(figures::slices(evaluation, &slice.name, &values));
    }
    blocks.push(Block::Table(Table {
        caption: format!(
            "Means by {}; in parentheses, the queries with a score where some have none",
            name(&slice.name)
        ),
        columns,
        heads: if several { 2 } else { 1 },
        rows,
    }));
    if left_out > 0 {
        blocks.push(Block::Paragraph(format!(
            "The {MAX_SLICE_VALUES} values with the most queries are shown, {left_out} are not."
        )));
    }
    blocks
}

fn slice_of<'a>(run: &'a RunEvaluation, slice: &str) -> Option<&'a Slice> {
    run.by.iter().find(|it| it.name == slice)
}
