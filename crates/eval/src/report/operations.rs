//! Operations of runs in every format: latency, cost, tokens, calls, errors, and cost against
//! quality.

use super::chart::{Chart, Scatter, ScatterPoint};
use super::csv::Row;
use super::document::{Block, Cell, Figure, Rows, number};
use super::headline::headline_of;
use super::names::name;
use crate::evaluate::Evaluation;
use crate::operations::{Distribution, Measured, Operations, Tradeoff, tradeoffs};

/// Quality against expense, by the headline measure of the evaluation.
pub(super) fn of_quality(evaluation: &Evaluation, operations: &[Operations]) -> Vec<Tradeoff> {
    let Some(measure) = headline_of(evaluation) else {
        return Vec::new();
    };
    let quality: Vec<(String, f64)> = evaluation
        .runs
        .iter()
        .filter_map(|run| Some((run.name.clone(), run.means.get(measure).copied().flatten()?)))
        .collect();
    tradeoffs(operations, &quality)
}

/// Blocks of the section about operations; empty without data.
pub(super) fn blocks(evaluation: &Evaluation, operations: &[Operations]) -> Vec<Block> {
    if operations.is_empty() {
        return Vec::new();
    }
    let mut blocks = quality(evaluation, operations);
    blocks.push(latency(operations));
    blocks.extend(stages(operations));
    blocks.push(counts(operations));
    blocks.extend(costs(operations));
    blocks.extend(models(operations));
    blocks
}

/// All numbers of the runs, then those of their slices: the run, the slice and the numbers.
fn parts(operations: &[Operations]) -> impl Iterator<Item = (&str, String, &Measured)> {
    operations.iter().flat_map(|of| {
        let slices = of.by.iter().map(|slice| {
            let part = format!("{}={}", name(&slice.label), name(&slice.value));
            (of.run.as_str(), part, &slice.measured)
        });
        [(of.run.as_str(), "all".to_owned(), &of.all)]
            .into_iter()
            .chain(slices)
    })
}

/// Number of a distribution, with its title.
type Number = (&'static str, fn(&Distribution) -> f64);

/// Adds the columns of a distribution, with `digits` decimals.
fn with_distribution<T>(rows: Rows<T>, digits: usize, of: impl Fn(&T) -> &Distribution) -> Rows<T> {
    let numbers: [Number; 5] = [
        ("mean", |of| of.mean),
        ("p50", |of| of.p50),
        ("p95", |of| of.p95),
        ("p99", |of| of.p99),
        ("max", |of| of.max),
    ];
    rows.column("searches", |item| of(item).n).columns(
        numbers,
        |(title, _)| *title,
        |item, (_, number)| format!("{:.digits$}", number(of(item))),
    )
}

fn latency(operations: &[Operations]) -> Block {
    let rows = parts(operations).filter_map(|(run, part, measured)| {
        Some((run, part, measured, measured.latency_ms.as_ref()?))
    });
    let rows = Rows::of(rows)
        .column("run", |(run, ..)| name(run))
        .column("part", |(_, part, ..)| part.clone());
    let rows = with_distribution(rows, 1, |(.., latency)| latency);
    let rows = rows.column("per second", |(_, _, measured, _)| {
        Cell::optional(measured.capacity, |capacity| format!("{capacity:.2}"))
    });
    Block::Table(rows.table(
        "Latency of a search in milliseconds, and searches per second of one client that waits for \
         each answer",
        2,
    ))
}

fn stages(operations: &[Operations]) -> Option<Block> {
    let rows = operations.iter().flat_map(|of| {
        let stages = of.stages.iter();
        stages.map(move |(stage, latency)| (of, stage, latency))
    });
    let rows = Rows::of(rows)
        .column("run", |(of, ..)| name(&of.run))
        .column("stage", |(_, stage, _)| name(stage));
    with_distribution(rows, 1, |(.., latency)| latency).block("Latency by stage in milliseconds", 2)
}

fn counts(operations: &[Operations]) -> Block {
    let rows = Rows::of(parts(operations))
        .column("run", |(run, ..)| name(run))
        .column("part", |(_, part, _)| part.clone())
        .column("searches", |(.., of)| of.searches)
        .column("errors", |(.., of)| of.errors)
        .column("empty", |(.., of)| of.zero_results)
        .column("calls", |(.., of)| of.calls)
        .column("input tokens", |(.., of)| of.input_tokens)
        .column("output tokens", |(.., of)| of.output_tokens)
        .column("cost unknown", |(.., of)| of.without_cost);
    let caption = "Searches, errors, searches without results, model calls and tokens";
    Block::Table(rows.table(caption, 2))
}

fn costs(operations: &[Operations]) -> Option<Block> {
    let rows = parts(operations).flat_map(|(run, part, measured)| {
        let costs = measured.cost.iter();
        costs.map(move |(currency, cost)| (run, part.clone(), currency, cost))
    });
    let rows = Rows::of(rows)
        .column("run", |(run, ..)| name(run))
        .column("part", |(_, part, ..)| part.clone())
        .column("currency", |(_, _, currency, _)| name(currency));
    with_distribution(rows, 6, |(.., cost)| cost)
        .column("sum", |(.., cost)| format!("{:.6}", cost.sum))
        .block("Cost of a search", 3)
}

fn models(operations: &[Operations]) -> Option<Block> {
    let models = operations.iter();
    Rows::of(models.flat_map(|of| of.models.iter().map(move |model| (of, model))))
        .column("run", |(of, _)| name(&of.run))
        .column("model", |(_, model)| name(&model.model))
        .column("operation", |(_, model)| name(&model.operation))
        .column("calls", |(_, model)| model.calls)
        .column("input tokens", |(_, model)| model.input_tokens)
        .column("output tokens", |(_, model)| model.output_tokens)
        .block("Model calls", 3)
}

/// Quality against each kind of expense, as a picture and a table.
fn quality(evaluation: &Evaluation, operations: &[Operations]) -> Vec<Block> {
    let Some(measure) = headline_of(evaluation) else {
        return Vec::new();
    };
    let measure = &evaluation.measures[measure];
    let tradeoffs = of_quality(evaluation, operations);
    let kinds = tradeoffs.chunk_by(|a, b| a.expense == b.expense);
    let figures = kinds.filter_map(|runs| {
        let expense = expense_name(&runs.first()?.expense);
        let front = runs.iter().filter(|of| of.is_efficient);
        let front: Vec<String> = front.map(|of| name(&of.run)).collect();
        let rows = Rows::of(runs)
            .column("run", |of| name(&of.run))
            .column(measure, |of| number(of.quality))
            .column(format!("mean {expense}"), |of| format!("{:.6}", of.mean))
            .column("quality per unit", |of| {
                Cell::optional(of.quality_per_unit, |it| format!("{it:.6}"))
            })
            .column("Pareto front", |of| {
                Cell::words(if of.is_efficient { "yes" } else { "no" })
            });
        Some(Block::Figure(Figure {
            description: format!(
                "Mean {measure} by mean {expense}. The Pareto front is {}: no run is both better and \
                 cheaper than one on it.",
                front.join(", ")
            ),
            chart: Chart::Scatter(Scatter {
                x_label: format!("mean {expense}"),
                y_label: measure.clone(),
                points: runs
                    .iter()
                    .map(|of| ScatterPoint {
                        name: name(&of.run),
                        at: (of.mean, of.quality),
                        is_front: of.is_efficient,
                    })
                    .collect(),
            }),
            table: rows.table(format!("Quality ({measure}) against {expense}"), 1),
        }))
    });
    figures.collect()
}

/// Name of a kind of expense, with its unit.
fn expense_name(expense: &str) -> String {
    if expense == "latency_ms" {
        "latency in ms".to_owned()
    } else {
        format!("cost in {}", name(expense))
    }
}

/// Rows of CSV about operations. The slice is a label, else `query`, `stage`, `model`, `expense` or
/// empty; the value is that of the label, else the key of the query or the name of the stage, model or
/// expense.
pub(super) fn rows(evaluation: &Evaluation, operations: &[Operations]) -> Vec<Row> {
    let mut rows = Vec::new();
    for of in operations {
        let row = |slice: &str, value: &str| Row {
            table: "operations",
            run: of.run.clone(),
            slice: slice.to_owned(),
            value: value.to_owned(),
            ..Row::default()
        };
        rows.extend(measured(&row("", ""), &of.all));
        for slice in &of.by {
            rows.extend(measured(&row(&slice.label, &slice.value), &slice.measured));
        }
        for (key, query) in &of.queries {
            for (measure, number) in query.numbers() {
                rows.push(row("query", key).scored(measure, Some(number), Some(1)));
            }
        }
        for (stage, latency) in &of.stages {
            rows.extend(distribution(&row("stage", stage), "latency_ms", latency));
        }
        for model in &of.models {
            let value = format!("{} {}", model.model, model.operation);
            for (measure, count) in [
                ("calls", model.calls),
                ("input_tokens", model.input_tokens),
                ("output_tokens", model.output_tokens),
            ] {
                rows.push(row("model", &value).counted(measure, count));
            }
        }
    }
    for of in of_quality(evaluation, operations) {
        for (measure, score) in [
            ("quality", Some(of.quality)),
            ("mean_expense", Some(of.mean)),
            ("quality_per_unit", of.quality_per_unit),
            ("pareto_front", Some(f64::from(u8::from(of.is_efficient)))),
        ] {
            rows.push(Row {
                table: "operations",
                run: of.run.clone(),
                slice: "expense".to_owned(),
                value: of.expense.clone(),
                measure: measure.to_owned(),
                score,
                ..Row::default()
            });
        }
    }
    rows
}

fn measured(row: &Row, of: &Measured) -> Vec<Row> {
    let size = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let counts = [
        ("searches", size(of.searches)),
        ("errors", size(of.errors)),
        ("zero_results", size(of.zero_results)),
        ("without_cost", size(of.without_cost)),
        ("calls", of.calls),
        ("input_tokens", of.input_tokens),
        ("output_tokens", of.output_tokens),
    ];
    let counts = counts.map(|(measure, count)| row.clone().counted(measure, count));
    let mut rows = counts.to_vec();
    if let Some(latency) = &of.latency_ms {
        rows.extend(distribution(row, "latency_ms", latency));
    }
    if of.capacity.is_some() {
        let n = of.latency_ms.map(|latency| latency.n);
        rows.push(row.clone().scored("capacity_per_second", of.capacity, n));
    }
    for (currency, cost) in &of.cost {
        rows.extend(distribution(row, &format!("cost_{currency}"), cost));
    }
    rows
}

fn distribution(row: &Row, what: &str, of: &Distribution) -> [Row; 6] {
    let numbers = [
        ("mean", of.mean),
        ("p50", of.p50),
        ("p95", of.p95),
        ("p99", of.p99),
        ("max", of.max),
        ("sum", of.sum),
    ];
    numbers.map(|(suffix, score)| {
        let measure = format!("{what}_{suffix}");
        row.clone().scored(measure, Some(score), Some(of.n))
    })
}
