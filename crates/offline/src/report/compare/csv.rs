//! CSV output of a comparison: all results in rows, numbers in full precision. A value that is
//! undefined or does not belong to the kind of row is an empty field.

use std::collections::BTreeMap;

use csv::Writer;

use crate::compare::{Comparison, ErrorAnalysis, Interaction, MeasureComparison};
use rankgauge_core::statistics::Interval;

/// Column names, those of the tests first.
const COLUMNS: [&str; 31] = [
    "table",
    "a",
    "b",
    "measure",
    "mean_a",
    "mean_b",
    "difference",
    "t",
    "p",
    "p_permutation",
    "p_holm",
    "d_z",
    "d_av",
    "ci95_low",
    "ci95_high",
    "bca95_low",
    "bca95_high",
    "n",
    "verdict",
    "effect_a",
    "effect_b",
    "sum",
    "combined",
    "slice",
    "value",
    "run",
    "score",
    "query",
    "document",
    "rank",
    "grade",
];

/// One row, by column name.
type Row = BTreeMap<&'static str, String>;

/// Writes the comparison as CSV. `table` is the kind of row: `first` for a run against the first
/// one, `step` for a run against the one before it, `interaction` for the run with both components
/// against the sum of the single effects (in `a`, the terms of the sum), `best` for the mean of a
/// run over a slice, `worst_query` for a query of the error analysis, and `false_positive` and
/// `missed` for its errors.
pub(super) fn write(comparison: &Comparison) -> String {
    let mut rows: Vec<Row> = Vec::new();
    let kinds = [
        ("first", &comparison.comparisons),
        ("step", &comparison.ablation),
    ];
    for (kind, pairs) in kinds {
        for pair in pairs {
            let measures = pair.measures.iter();
            rows.extend(measures.map(|of| tested(kind, &pair.a, &pair.b, of)));
        }
    }
    rows.extend(comparison.interaction.iter().flat_map(of_interaction));
    rows.extend(of_best(comparison));
    rows.extend(comparison.errors.iter().flat_map(of_errors));
    let mut writer = Writer::from_writer(Vec::new());
    let mut record = |fields: [&str; COLUMNS.len()]| {
        writer
            .write_record(fields)
            .expect("invariant: memory takes every row, and all have the same columns");
    };
    record(COLUMNS);
    for row in &rows {
        record(COLUMNS.map(|column| row.get(column).map_or("", String::as_str)));
    }
    let bytes = writer
        .into_inner()
        .expect("invariant: memory takes every row");
    String::from_utf8(bytes).expect("invariant: rows of text are text")
}

/// Row of one test.
fn tested(kind: &str, a: &str, b: &str, of: &MeasureComparison) -> Row {
    let paired = &of.paired;
    let end = |interval: Option<Interval>, end: usize| number(interval.map(|ends| ends[end]));
    Row::from([
        ("table", kind.to_owned()),
        ("a", a.to_owned()),
        ("b", b.to_owned()),
        ("measure", of.measure.clone()),
        ("mean_a", number(paired.a)),
        ("mean_b", number(paired.b)),
        ("difference", number(paired.difference)),
        ("t", number(paired.t)),
        ("p", number(paired.p)),
        ("p_permutation", number(paired.p_permutation)),
        ("p_holm", number(of.p_holm)),
        ("d_z", number(paired.d_z)),
        ("d_av", number(paired.d_av)),
        ("ci95_low", end(paired.ci95, 0)),
        ("ci95_high", end(paired.ci95, 1)),
        ("bca95_low", end(paired.bca95, 0)),
        ("bca95_high", end(paired.bca95, 1)),
        ("n", paired.n.to_string()),
        ("verdict", of.verdict.words().to_owned()),
    ])
}

fn of_interaction(interaction: &Interaction) -> impl Iterator<Item = Row> {
    let [base, a, b, both] = &interaction.runs;
    let sum = format!("{a} + {b} - {base}");
    interaction.measures.iter().map(move |of| {
        let mut row = tested("interaction", &sum, both, &of.test);
        row.extend([
            ("effect_a", number(of.effect_a)),
            ("effect_b", number(of.effect_b)),
            ("sum", number(of.sum)),
            ("combined", number(of.combined)),
        ]);
        row
    })
}

/// Rows of the best runs, one for each slice, measure and run.
fn of_best(comparison: &Comparison) -> Vec<Row> {
    let mut rows = Vec::new();
    for slice in &comparison.best {
        for (measure, of) in comparison.measures.iter().zip(&slice.measures) {
            for (position, (run, mean)) in comparison.runs.iter().zip(&of.means).enumerate() {
                let best = of.best.contains(&position);
                rows.push(Row::from([
                    ("table", "best".to_owned()),
                    ("slice", slice.slice.clone()),
                    ("value", slice.value.clone()),
                    ("measure", measure.clone()),
                    ("run", run.clone()),
                    ("score", number(*mean)),
                    ("n", of.n.to_string()),
                    ("verdict", if best { "best" } else { "" }.to_owned()),
                ]));
            }
        }
    }
    rows
}

fn of_errors(errors: &ErrorAnalysis) -> Vec<Row> {
    let mut rows = Vec::new();
    for worst in &errors.queries {
        let row = |kind: &str, more: Vec<(&'static str, String)>| {
            let mut row = Row::from([
                ("table", kind.to_owned()),
                ("run", errors.run.clone()),
                ("measure", errors.measure.clone()),
                ("query", worst.query.clone()),
            ]);
            row.extend(more);
            row
        };
        rows.push(row(
            "worst_query",
            vec![("score", number(Some(worst.score)))],
        ));
        let documents = |document: &str, rank: Option<u32>, grade: Option<f64>| {
            vec![
                ("document", document.to_owned()),
                (
                    "rank",
                    rank.map(|rank| rank.to_string()).unwrap_or_default(),
                ),
                ("grade", number(grade)),
            ]
        };
        let false_positives = worst.false_positives.iter();
        rows.extend(false_positives.map(|of| {
            row(
                "false_positive",
                documents(&of.document, Some(of.rank), of.grade),
            )
        }));
        let missed = worst.missed.iter();
        rows.extend(
            missed.map(|of| row("missed", documents(&of.document, of.rank, Some(of.grade)))),
        );
    }
    rows
}

/// Formats a number with the fewest digits that read back as the same number.
fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
