//! All results of an evaluation in long form, RFC 4180, in full precision. The kind of a row is in
//! its first column. Ids are written unchanged, even if a spreadsheet would interpret them as a
//! formula.

use super::case::cases;
use super::errors::rows as error_rows;
use super::figures::RECALL_LEVELS;
use super::operations::rows as operation_rows;
use super::recommendation::recommendations;
use super::{Options, behaviour, micro_averages, sweep};
use crate::compare::{ErrorAnalysis, Pair};
use crate::evaluate::{Evaluation, OverallTier, RunEvaluation};

/// Column names. `n` is the number of queries behind a score. A value that is undefined or does not
/// belong to the kind of row is an empty field.
const COLUMNS: [&str; 8] = [
    "table", "run", "slice", "value", "measure", "score", "n", "text",
];

/// One row.
#[derive(Default)]
struct Row<'a> {
    table: &'static str,
    run: &'a str,
    slice: &'a str,
    value: &'a str,
    measure: &'a str,
    score: Option<f64>,
    n: Option<usize>,
    text: &'a str,
}

/// Rows of the result.
struct Rows(csv::Writer<Vec<u8>>);

impl Rows {
    fn new() -> Self {
        let mut rows = Self(csv::Writer::from_writer(Vec::new()));
        rows.record(COLUMNS);
        rows
    }

    fn record(&mut self, fields: [&str; COLUMNS.len()]) {
        self.0
            .write_record(fields)
            .expect("invariant: memory takes every row, and all have the same columns");
    }

    fn add(&mut self, row: &Row<'_>) {
        let score = row.score.map_or_else(String::new, |it| it.to_string());
        let n = row.n.map_or_else(String::new, |it| it.to_string());
        self.record([
            row.table,
            row.run,
            row.slice,
            row.value,
            row.measure,
            &score,
            &n,
            row.text,
        ]);
    }

    fn text(self) -> String {
        let bytes = self
            .0
            .into_inner()
            .expect("invariant: memory takes every row");
        String::from_utf8(bytes).expect("invariant: all fields are UTF-8")
    }
}

/// Writes all results.
pub(super) fn write(evaluation: &Evaluation, options: &Options<'_>) -> String {
    let mut rows = Rows::new();
    gold(&mut rows, evaluation);
    for run in &evaluation.runs {
        means(&mut rows, evaluation, run);
        counts(&mut rows, run);
        targets(&mut rows, evaluation, run);
        curves(&mut rows, run);
        parts(&mut rows, run);
        if options.per_query {
            queries(&mut rows, evaluation, run);
        }
    }
    for it in recommendations(evaluation, options) {
        rows.add(&Row {
            table: "recommendation",
            value: it.rule,
            text: &format!("{} {}.", it.advice, it.because),
            ..Row::default()
        });
    }
    let operations = operation_rows(evaluation, options.operations);
    let operations = operations.into_iter().map(|of| ("operations", of));
    let behaviour = behaviour::rows(options.behaviour).into_iter();
    let behaviour = behaviour.map(|of| ("behaviour", of));
    let sweeps = sweep::rows(options.sweeps).into_iter();
    let sweeps = sweeps.map(|of| ("threshold", of));
    for (table, of) in operations.chain(behaviour).chain(sweeps) {
        rows.add(&Row {
            table,
            run: &of.run,
            slice: &of.slice,
            value: &of.value,
            measure: &of.measure,
            score: of.score,
            n: of.n,
            text: "",
        });
    }
    for pair in options.changes {
        changes(&mut rows, pair);
    }
    for analysis in options.errors {
        errors(&mut rows, analysis);
    }
    for case in cases(evaluation, options.operations, options.cases) {
        for document in &case.documents {
            for (run, rank) in case.runs.iter().zip(&document.ranks) {
                rows.add(&Row {
                    table: "case",
                    run: run.run,
                    slice: case.query,
                    value: document.id,
                    n: *rank,
                    ..Row::default()
                });
            }
        }
    }
    for check in options.checks {
        rows.add(&Row {
            table: "check",
            run: &check.run,
            value: check.outcome.name(),
            measure: &check.condition,
            text: &check.detail,
            ..Row::default()
        });
    }
    rows.text()
}

/// Rows about one run against the first: the difference, its relative size, the ends of its interval
/// and the corrected p-value.
fn changes(rows: &mut Rows, pair: &Pair) {
    for of in &pair.measures {
        let [low, high] = of.paired.ci95.map_or([None, None], |ends| ends.map(Some));
        for (value, score) in [
            ("difference", of.paired.difference),
            ("relative", of.relative()),
            ("ci95_low", low),
            ("ci95_high", high),
            ("p_holm", of.p_holm),
        ] {
            rows.add(&Row {
                table: "change",
                run: &pair.b,
                slice: &pair.a,
                value,
                measure: &of.measure,
                score,
                n: Some(of.paired.n),
                text: of.verdict.words(),
            });
        }
    }
}

fn errors(rows: &mut Rows, analysis: &ErrorAnalysis) {
    for of in error_rows(analysis) {
        let rank = of.rank.and_then(|rank| usize::try_from(rank).ok());
        // A document has its grade and rank, another row its score and number of queries.
        rows.add(&Row {
            table: of.table,
            run: &analysis.run,
            slice: of.query,
            value: &of.document,
            measure: &analysis.measure,
            score: of.score.or(of.grade),
            n: of.n.or(rank),
            text: &of.text,
        });
    }
}

fn gold(rows: &mut Rows, evaluation: &Evaluation) {
    let gold = &evaluation.gold;
    for (measure, text) in [("version", &gold.version), ("sha256", &gold.sha256)] {
        rows.add(&Row {
            table: "gold",
            measure,
            text,
            ..Row::default()
        });
    }
    for (measure, count) in [("queries", gold.queries), ("judgements", gold.judgements)] {
        rows.add(&Row {
            table: "gold",
            measure,
            n: Some(count),
            ..Row::default()
        });
    }
}

fn means(rows: &mut Rows, evaluation: &Evaluation, run: &RunEvaluation) {
    let scored = |slice, value, means: &[Option<f64>], counts: &[usize], rows: &mut Rows| {
        let means = means.iter().zip(counts);
        for (measure, (mean, count)) in evaluation.measures.iter().zip(means) {
            rows.add(&Row {
                table: "mean",
                run: &run.name,
                slice,
                value,
                measure,
                score: *mean,
                n: Some(*count),
                ..Row::default()
            });
        }
    };
    scored("", "", &run.means, &run.scored, rows);
    for slice in &run.by {
        for value in &slice.values {
            scored(&slice.name, &value.value, &value.means, &value.scored, rows);
        }
    }
    for micro in &run.micro {
        for (name, average) in micro_averages(micro) {
            rows.add(&Row {
                table: "micro",
                run: &run.name,
                measure: &format!("{name}@{}", micro.cutoff),
                score: average,
                n: Some(run.queries.len()),
                ..Row::default()
            });
        }
        for (name, count) in [
            ("TP", micro.true_positives),
            ("FP", micro.false_positives),
            ("FN", micro.false_negatives),
        ] {
            let measure = format!("{name}@{}", micro.cutoff);
            rows.add(&of_count("micro", run, "", &measure, count));
        }
    }
}

/// Row of a count.
fn of_count<'a>(
    table: &'static str,
    run: &'a RunEvaluation,
    value: &'a str,
    measure: &'a str,
    count: u64,
) -> Row<'a> {
    Row {
        table,
        run: &run.name,
        value,
        measure,
        score: Some(rankgauge_core::number::real(count)),
        ..Row::default()
    }
}

fn counts(rows: &mut Rows, run: &RunEvaluation) {
    let size = |list: usize| u64::try_from(list).unwrap_or(u64::MAX);
    for (measure, count) in [
        ("queries", size(run.queries.len())),
        ("missing", size(run.missing.len())),
        ("unknown", size(run.unknown.len())),
        ("retrieved", run.retrieved),
        ("relevant", run.relevant),
        ("relevant_retrieved", run.relevant_retrieved),
    ] {
        rows.add(&of_count("count", run, "", measure, count));
    }
    for (table, keys) in [("missing", &run.missing), ("unknown", &run.unknown)] {
        for key in keys {
            rows.add(&Row {
                table,
                run: &run.name,
                value: key,
                ..Row::default()
            });
        }
    }
}

fn targets(rows: &mut Rows, evaluation: &Evaluation, run: &RunEvaluation) {
    for (at, measure) in evaluation.measures.iter().enumerate() {
        if evaluation.targets_of(at).next().is_none() {
            continue;
        }
        rows.add(&Row {
            table: "tier",
            run: &run.name,
            measure,
            score: run.means.get(at).copied().flatten(),
            text: evaluation.tier(run, at).map_or("", |target| &target.tier),
            ..Row::default()
        });
    }
    if let Some(tier) = evaluation.overall_tier(run) {
        rows.add(&Row {
            table: "overall_tier",
            run: &run.name,
            text: match tier {
                OverallTier::Reached(tier) => tier,
                OverallTier::Below => "",
            },
            ..Row::default()
        });
    }
    for goal in &evaluation.goals {
        let bounds = goal.bounds.iter().map(|bound| evaluation.bound_text(bound));
        let bounds: Vec<String> = bounds.collect();
        let met = evaluation.is_met(goal, run);
        rows.add(&Row {
            table: "goal",
            run: &run.name,
            value: &goal.name,
            measure: &bounds.join(" and "),
            text: if met { "met" } else { "not met" },
            ..Row::default()
        });
    }
}

fn curves(rows: &mut Rows, run: &RunEvaluation) {
    let point = |measure: String, score: f64, rows: &mut Rows| {
        rows.add(&Row {
            table: "curve",
            run: &run.name,
            measure: &measure,
            score: Some(score),
            n: Some(run.queries.len()),
            ..Row::default()
        });
    };
    let curve = run.curve.iter().flatten();
    for (recall, precision) in RECALL_LEVELS.iter().zip(curve) {
        point(format!("IPrec@{recall:.1}"), *precision, rows);
    }
    for (cutoff, mean) in &run.ndcg {
        point(format!("nDCG@{cutoff}"), *mean, rows);
    }
    for point in &run.points {
        rows.add(&Row {
            table: "point",
            run: &run.name,
            slice: "recall",
            value: &point.recall.to_string(),
            measure: "precision",
            score: Some(point.precision),
            n: usize::try_from(point.n).ok(),
            ..Row::default()
        });
    }
}

fn parts(rows: &mut Rows, run: &RunEvaluation) {
    for component in &run.components {
        let [[rest, unneeded], [silent, fired]] = component.trigger;
        for (measure, count) in [
            ("needed_fired", fired),
            ("needed_silent", silent),
            ("unneeded_fired", unneeded),
            ("unneeded_silent", rest),
        ] {
            rows.add(&of_count("trigger", run, &component.name, measure, count));
        }
        for (measure, count) in ["1", "2", "3", "4+"].into_iter().zip(component.hops) {
            rows.add(&of_count("hops", run, &component.name, measure, count));
        }
    }
    for (table, cells) in [
        ("routing", &run.routing),
        ("collaboration", &run.collaboration),
    ] {
        for ((from, to), searches) in cells {
            rows.add(&Row {
                slice: from,
                ..of_count(table, run, to, "searches", *searches)
            });
        }
    }
}

fn queries(rows: &mut Rows, evaluation: &Evaluation, run: &RunEvaluation) {
    for query in &run.queries {
        for (measure, score) in evaluation.measures.iter().zip(&query.scores) {
            rows.add(&Row {
                table: "query",
                run: &run.name,
                value: &query.key,
                measure,
                score: *score,
                n: Some(usize::from(score.is_some())),
                ..Row::default()
            });
        }
        let Some(documents) = &query.documents else {
            continue;
        };
        for (measure, ids) in [
            ("retrieved", &documents.retrieved),
            ("relevant", &documents.relevant),
            ("missed", &documents.missed),
        ] {
            for id in ids {
                rows.add(&Row {
                    table: "document",
                    run: &run.name,
                    value: &query.key,
                    measure,
                    text: id,
                    ..Row::default()
                });
            }
        }
    }
}
