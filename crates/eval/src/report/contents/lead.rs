//! Sections that support the verdict, all in the headline measure.

use super::cells::mean;
use crate::compare::{MeasureComparison, Pair};
use crate::evaluate::{Evaluation, RunEvaluation, SliceValue};
use crate::report::changes::with_difference;
use crate::report::chart::{Chart, Estimate, Intervals};
use crate::report::document::{Block, Cell, Figure, Rows, number, signed};
use crate::report::headline::headline_of;
use crate::report::names::{long_name as name, run_name};
use crate::report::recommendation::leading;
use crate::text_layout::{escape_controls, shorten};
use rankgauge_core::measure::direction::Direction;

/// Maximum number of slice values and of queries listed.
const MAX_LISTED: usize = 5;

/// Minimum number of queries of a slice value: the mean of fewer says little.
const MIN_QUERIES: usize = 5;

/// Differences of all runs from the first one on one axis, with the intervals of their tests.
pub(super) fn forest(evaluation: &Evaluation, changes: &[Pair]) -> Option<Block> {
    let measure = &evaluation.measures[headline_of(evaluation)?];
    let found: Vec<(&Pair, &MeasureComparison)> = changes
        .iter()
        .filter_map(|pair| {
            let mut measures = pair.measures.iter();
            Some((pair, measures.find(|of| of.measure == *measure)?))
        })
        .collect();
    let first = name(&found.first()?.0.a);
    let short = |pair: &Pair| shorten(&escape_controls(&pair.b), 40);
    let table = Rows::of(&found)
        .column("run", |(pair, _)| name(&pair.b))
        .column("mean", |(_, of)| Cell::optional(of.paired.b, number));
    let table = with_difference(table, |(_, of)| of)
        .column("verdict", |(_, of)| Cell::words(of.verdict.words()));
    let series = found.iter().map(|(_, of)| Estimate {
        value: of.paired.difference,
        ends: of.simultaneous,
    });
    Some(Block::Figure(Figure {
        description: format!(
            "Mean difference in {measure} per query of each run from {first}. An interval that excludes 0 \
             shows a difference, corrected for all measures of the report."
        ),
        chart: Chart::Intervals(Intervals {
            x_label: format!("{measure}, minus {first}"),
            rows: found.iter().map(|(pair, _)| short(pair)).collect(),
            series: vec![(measure.clone(), series.collect())],
        }),
        table: table.table(format!("{measure} of each run against {first}"), 1),
    }))
}

/// Slice values in which the preferred run has the lowest means.
pub(super) fn weakest_slices(evaluation: &Evaluation) -> Option<Block> {
    let headline = headline_of(evaluation)?;
    let measure = &evaluation.measures[headline];
    let (_, run) = leading(evaluation)?;
    let of = |value: &SliceValue| value.means.get(headline).copied().flatten();
    let mut values: Vec<(&str, &SliceValue, f64)> = run
        .by
        .iter()
        .flat_map(|slice| {
            slice
                .values
                .iter()
                .map(|value| (slice.name.as_str(), value))
        })
        .filter(|(_, value)| value.queries >= MIN_QUERIES)
        .filter_map(|(slice, value)| Some((slice, value, of(value)?)))
        .collect();
    let sign = sign(measure)?;
    values.sort_by(|a, b| (sign * a.2).total_cmp(&(sign * b.2)));
    values.truncate(MAX_LISTED);
    let in_run = |run: &RunEvaluation, slice: &str, value: &str| {
        let slice = run.by.iter().find(|it| it.name == slice)?;
        let value = slice.values.iter().find(|it| it.value == value)?;
        of(value)
    };
    Rows::of(values)
        .column("slice", |(slice, ..)| name(slice))
        .column("value", |(_, value, _)| name(&value.value))
        .column("queries", |(_, value, _)| value.queries)
        .columns(
            &evaluation.runs,
            |run| run_name(run),
            |(slice, value, _), run| Cell::from(in_run(run, slice, &value.value)),
        )
        .block(
            format!("{measure}: lowest means of {} by slice", run_name(run)),
            2,
        )
}

/// Queries that lose most from the first run to the preferred one, or to the last if the first is
/// preferred.
pub(super) fn losses(evaluation: &Evaluation) -> Option<Block> {
    let headline = headline_of(evaluation)?;
    let measure = &evaluation.measures[headline];
    let sign = sign(measure)?;
    let (first, others) = evaluation.runs.split_first()?;
    let preferred = leading(evaluation).map_or(0, |(position, _)| position);
    let run = match preferred {
        0 => others.last()?,
        position => evaluation.runs.get(position)?,
    };
    let score = |run: &RunEvaluation, key: &str| {
        let query = run.queries.iter().find(|query| query.key == key)?;
        query.scores.get(headline).copied().flatten()
    };
    let mut lost: Vec<(&str, Option<&str>, f64, f64)> = run
        .queries
        .iter()
        .filter_map(|query| {
            let now = query.scores.get(headline).copied().flatten()?;
            let before = score(first, &query.key)?;
            (sign * (now - before) < 0.0).then_some((
                query.key.as_str(),
                query.text.as_deref(),
                before,
                now,
            ))
        })
        .collect();
    lost.sort_by(|a, b| {
        let change = |it: &(&str, Option<&str>, f64, f64)| sign * (it.3 - it.2);
        change(a).total_cmp(&change(b)).then_with(|| a.0.cmp(b.0))
    });
    lost.truncate(MAX_LISTED);
    mean(run, headline)?;
    Rows::of(lost)
        .column("query", |(key, ..)| name(key))
        .column("text", |(_, text, ..)| name(text.unwrap_or_default()))
        .column(run_name(first), |(_, _, before, _)| Some(*before))
        .column(run_name(run), |(.., now)| Some(*now))
        .column("difference", |(_, _, before, now)| signed(now - before))
        .block(
            format!(
                "{measure}: queries that lose most from {} to {}",
                run_name(first),
                run_name(run)
            ),
            2,
        )
}

/// 1 if higher values of a measure are better, -1 if lower ones are; `None` if neither is.
fn sign(measure: &str) -> Option<f64> {
    match Direction::of(measure) {
        Direction::Up => Some(1.0),
        Direction::Down => Some(-1.0),
        Direction::Neither => None,
    }
}
