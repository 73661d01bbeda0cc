//! Operations of runs in every format: latency, cost, tokens, calls, errors, and cost against
//! quality.

use super::chart::{Chart, Scatter, ScatterPoint};
use super::document::{Block, Cell, Figure, Table, number};
use super::headline::headline;
use super::names::name;
use crate::evaluate::Evaluation;
use crate::operations::{Distribution, Measured, Operations, Tradeoff, tradeoffs};

/// Quality against expense, by the headline measure of the evaluation.
pub(super) fn of_quality(evaluation: &Evaluation, operations: &[Operations]) -> Vec<Tradeoff> {
    let Some(measure) = headline(&evaluation.measures) else {
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

fn table(caption: String, columns: &[&str], heads: usize, rows: Vec<Vec<Cell>>) -> Block {
    Block::Table(Table {
        caption,
        columns: columns.iter().map(|it| (*it).to_owned()).collect(),
        heads,
        rows,
    })
}

/// Cells of a distribution, with `digits` decimals.
fn cells(of: &Distribution, digits: usize) -> Vec<Cell> {
    let mut cells = vec![Cell::count(of.n)];
    let numbers = [of.mean, of.p50, of.p95, of.p99, of.max];
    cells.extend(numbers.map(|number| Cell::of(format!("{number:.digits$}"))));
    cells
}

fn latency(operations: &[Operations]) -> Block {
    let rows = parts(operations).filter_map(|(run, part, measured)| {
        let mut row = vec![Cell::of(name(run)), Cell::of(part)];
        row.extend(cells(measured.latency_ms.as_ref()?, 1));
        row.push(Cell::of(measured.capacity.map_or_else(
            || "–".to_owned(),
            |capacity| format!("{capacity:.2}"),
        )));
        Some(row)
    });
    let columns = [
        "run",
        "part",
        "searches",
        "mean",
        "p50",
        "p95",
        "p99",
        "max",
        "per second",
    ];
    table(
        "Latency of a search in milliseconds, and searches per second of one client that waits for \
         each answer"
            .to_owned(),
        &columns,
        2,
        rows.collect(),
    )
}

fn stages(operations: &[Operations]) -> Option<Block> {
    let rows = operations.iter().flat_map(|of| {
        of.stages.iter().map(|(stage, latency)| {
            let mut row = vec![Cell::of(name(&of.run)), Cell::of(name(stage))];
            row.extend(cells(latency, 1));
            row
        })
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let columns = [
        "run", "stage", "searches", "mean", "p50", "p95", "p99", "max",
    ];
    (!rows.is_empty()).then(|| {
        table(
            "Latency by stage in milliseconds".to_owned(),
            &columns,
            2,
            rows,
        )
    })
}

fn counts(operations: &[Operations]) -> Block {
    let rows = parts(operations).map(|(run, part, measured)| {
        vec![
            Cell::of(name(run)),
            Cell::of(part),
            Cell::count(measured.searches),
            Cell::count(measured.errors),
            Cell::count(measured.zero_results),
            Cell::count(measured.calls),
            Cell::count(measured.input_tokens),
            Cell::count(measured.output_tokens),
            Cell::count(measured.without_cost),
        ]
    });
    let columns = [
        "run",
        "part",
        "searches",
        "errors",
        "empty",
        "calls",
        "input tokens",
        "output tokens",
        "cost unknown",
    ];
    table(
        "Searches, errors, searches without results, model calls and tokens".to_owned(),
        &columns,
        2,
        rows.collect(),
    )
}

fn costs(operations: &[Operations]) -> Option<Block> {
    let rows = parts(operations).flat_map(|(run, part, measured)| {
        let costs = measured.cost.iter();
        costs
            .map(|(currency, cost)| {
                let mut row = vec![
                    Cell::of(name(run)),
                    Cell::of(part.clone()),
                    Cell::of(name(currency)),
                ];
                row.extend(cells(cost, 6));
                row.push(Cell::of(format!("{:.6}", cost.sum)));
                row
            })
            .collect::<Vec<_>>()
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let columns = [
        "run", "part", "currency", "searches", "mean", "p50", "p95", "p99", "max", "sum",
    ];
    (!rows.is_empty()).then(|| table("Cost of a search".to_owned(), &columns, 3, rows))
}

fn models(operations: &[Operations]) -> Option<Block> {
    let rows = operations.iter().flat_map(|of| {
        of.models.iter().map(|model| {
            vec![
                Cell::of(name(&of.run)),
                Cell::of(name(&model.model)),
                Cell::of(name(&model.operation)),
                Cell::count(model.calls),
                Cell::count(model.input_tokens),
                Cell::count(model.output_tokens),
            ]
        })
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let columns = [
        "run",
        "model",
        "operation",
        "calls",
        "input tokens",
        "output tokens",
    ];
    (!rows.is_empty()).then(|| table("Model calls".to_owned(), &columns, 3, rows))
}

/// Quality against each kind of expense, as a picture and a table.
fn quality(evaluation: &Evaluation, operations: &[Operations]) -> Vec<Block> {
    let Some(measure) = headline(&evaluation.measures) else {
        return Vec::new();
    };
    let measure = &evaluation.measures[measure];
    let tradeoffs = of_quality(evaluation, operations);
    let kinds = tradeoffs.chunk_by(|a, b| a.expense == b.expense);
    let figures = kinds.filter_map(|runs| {
        let expense = expense_name(&runs.first()?.expense);
        let front = runs.iter().filter(|of| of.is_efficient);
        let front: Vec<String> = front.map(|of| name(&of.run)).collect();
        let rows = runs.iter().map(|of| {
            let per_unit = of.quality_per_unit;
            vec![
                Cell::of(name(&of.run)),
                Cell::of(number(of.quality)),
                Cell::of(format!("{:.6}", of.mean)),
                Cell::of(per_unit.map_or_else(|| "–".to_owned(), |it| format!("{it:.6}"))),
                Cell::words(if of.is_efficient { "yes" } else { "no" }),
            ]
        });
        let columns = [
            "run".to_owned(),
            measure.clone(),
            format!("mean {expense}"),
            "quality per unit".to_owned(),
            "Pareto front".to_owned(),
        ];
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
            table: Table {
                caption: format!("Quality ({measure}) against {expense}"),
                columns: columns.to_vec(),
                heads: 1,
                rows: rows.collect(),
            },
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

/// Number in a row of CSV.
pub(super) struct OperationRow {
    /// Name of the run.
    pub(super) run: String,
    /// Label of a slice, else `query`, `stage`, `model`, `expense` or empty.
    pub(super) slice: String,
    /// Value of the label, else the key of the query or the name of the stage, model or expense.
    pub(super) value: String,
    /// Name of the number: `latency_ms_p95`.
    pub(super) measure: String,
    /// Number.
    pub(super) score: Option<f64>,
    /// Number of searches behind it.
    pub(super) n: Option<usize>,
}

/// Rows of CSV about operations.
pub(super) fn rows(evaluation: &Evaluation, operations: &[Operations]) -> Vec<OperationRow> {
    let mut rows = Vec::new();
    for of in operations {
        measured(&mut rows, &of.run, ["", ""], &of.all);
        for slice in &of.by {
            let part = [slice.label.as_str(), slice.value.as_str()];
            measured(&mut rows, &of.run, part, &slice.measured);
        }
        for (key, query) in &of.queries {
            for (measure, number) in query.numbers() {
                rows.push(OperationRow {
                    run: of.run.clone(),
                    slice: "query".to_owned(),
                    value: key.clone(),
                    measure,
                    score: Some(number),
                    n: Some(1),
                });
            }
        }
        for (stage, latency) in &of.stages {
            distribution(&mut rows, &of.run, ["stage", stage], "latency_ms", latency);
        }
        for model in &of.models {
            let value = format!("{} {}", model.model, model.operation);
            for (measure, count) in [
                ("calls", model.calls),
                ("input_tokens", model.input_tokens),
                ("output_tokens", model.output_tokens),
            ] {
                count_row(&mut rows, &of.run, ["model", &value], measure, count);
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
            rows.push(OperationRow {
                run: of.run.clone(),
                slice: "expense".to_owned(),
                value: of.expense.clone(),
                measure: measure.to_owned(),
                score,
                n: None,
            });
        }
    }
    rows
}

fn measured(rows: &mut Vec<OperationRow>, run: &str, part: [&str; 2], of: &Measured) {
    let size = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    for (measure, count) in [
        ("searches", size(of.searches)),
        ("errors", size(of.errors)),
        ("zero_results", size(of.zero_results)),
        ("without_cost", size(of.without_cost)),
        ("calls", of.calls),
        ("input_tokens", of.input_tokens),
        ("output_tokens", of.output_tokens),
    ] {
        count_row(rows, run, part, measure, count);
    }
    if let Some(latency) = &of.latency_ms {
        distribution(rows, run, part, "latency_ms", latency);
    }
    if let Some(capacity) = of.capacity {
        rows.push(OperationRow {
            run: run.to_owned(),
            slice: part[0].to_owned(),
            value: part[1].to_owned(),
            measure: "capacity_per_second".to_owned(),
            score: Some(capacity),
            n: of.latency_ms.map(|latency| latency.n),
        });
    }
    for (currency, cost) in &of.cost {
        distribution(rows, run, part, &format!("cost_{currency}"), cost);
    }
}

fn count_row(
    rows: &mut Vec<OperationRow>,
    run: &str,
    [slice, value]: [&str; 2],
    measure: &str,
    count: u64,
) {
    rows.push(OperationRow {
        run: run.to_owned(),
        slice: slice.to_owned(),
        value: value.to_owned(),
        measure: measure.to_owned(),
        score: Some(rankgauge_core::number::real(count)),
        n: None,
    });
}

fn distribution(
    rows: &mut Vec<OperationRow>,
    run: &str,
    [slice, value]: [&str; 2],
    what: &str,
    of: &Distribution,
) {
    for (suffix, score) in [
        ("mean", of.mean),
        ("p50", of.p50),
        ("p95", of.p95),
        ("p99", of.p99),
        ("max", of.max),
        ("sum", of.sum),
    ] {
        rows.push(OperationRow {
            run: run.to_owned(),
            slice: slice.to_owned(),
            value: value.to_owned(),
            measure: format!("{what}_{suffix}"),
            score: Some(score),
            n: Some(of.n),
        });
    }
}
