//! A comparison as CSV: a row for each pair of runs and each measure, numbers in full precision,
//! what is undefined as an empty field.
//!
//! Best runs and error analysis have other columns and stand in the other formats.

use csv::Writer;

use crate::compare::{Comparison, MeasureComparison};
use crate::statistics::Interval;

/// The columns.
const COLUMNS: [&str; 19] = [
    "comparison",
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
];

/// Writes it. `comparison` is `first` for a run against the first one, `step` for a run against the
/// one before it, and `interaction` for the run with both components against what the single
/// effects add up to (in `a`, the sum's terms).
pub(super) fn write(comparison: &Comparison) -> String {
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    let kinds = [
        ("first", &comparison.comparisons),
        ("step", &comparison.ablation),
    ];
    for (kind, pairs) in kinds {
        for pair in pairs {
            let measures = pair.measures.iter();
            rows.extend(measures.map(|of| row(kind, &pair.a, &pair.b, of)));
        }
    }
    if let Some(interaction) = &comparison.interaction {
        let [base, a, b, both] = &interaction.runs;
        let sum = format!("{a} + {b} - {base}");
        let measures = interaction.measures.iter();
        rows.extend(measures.map(|of| row("interaction", &sum, both, &of.test)));
    }
    let mut writer = Writer::from_writer(Vec::new());
    for row in &rows {
        writer
            .write_record(row)
            .expect("invariant: memory takes every row, and all have the same columns");
    }
    let bytes = writer
        .into_inner()
        .expect("invariant: memory takes every row");
    String::from_utf8(bytes).expect("invariant: rows of text are text")
}

fn row(kind: &str, a: &str, b: &str, of: &MeasureComparison) -> [String; 19] {
    let paired = &of.paired;
    let end = |interval: Option<Interval>, end: usize| number(interval.map(|ends| ends[end]));
    [
        kind.to_owned(),
        a.to_owned(),
        b.to_owned(),
        of.measure.clone(),
        number(paired.a),
        number(paired.b),
        number(paired.difference),
        number(paired.t),
        number(paired.p),
        number(paired.p_permutation),
        number(of.p_holm),
        number(paired.d_z),
        number(paired.d_av),
        end(paired.ci95, 0),
        end(paired.ci95, 1),
        end(paired.bca95, 0),
        end(paired.bca95, 1),
        paired.n.to_string(),
        of.verdict.words().to_owned(),
    ]
}

/// The shortest digits that read back as the same number.
fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
