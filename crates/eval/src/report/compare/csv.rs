//! CSV output of a comparison: all results in rows, numbers in full precision. A value that is
//! undefined or does not belong to the kind of row is an empty field.

use std::collections::BTreeMap;

use super::statistics::{Statistic, statistics};
use crate::compare::{Comparison, ErrorAnalysis, Interaction, MeasureComparison};
use crate::gate::Check;
use crate::report::csv::table;
use crate::report::errors::rows as error_rows;

/// Column names, those of the tests first.
const COLUMNS: &str = "table a b measure mean_a mean_b difference relative t p p_permutation p_holm \
    p_tukey_hsd p_randomised_tukey_hsd trials d_z d_av ci95_low ci95_high bca95_low bca95_high n verdict \
    effect_a effect_b sum combined slice value run score query document rank grade text";

/// One row, by column name.
type Row = BTreeMap<&'static str, String>;

/// Writes the comparison as CSV. `table` is the kind of row: `first` for a run against the first
/// one, `step` for a run against the one before it, `pair` for one of all pairs of three or more runs, `queries` for the numbers of queries of a pair, `interaction` for the run with both components
/// against the sum of the single effects (in `a`, the terms of the sum), `best` for the mean of a
/// run over a slice, `worst_query` for a query of the error analysis, `false_positive` and
/// `missed` for its errors, `overlap` for the rank-biased overlap of a pair, `gold`, `setting` and `warning` for facts about the comparison, and
/// `check` for a check of the gate.
pub(super) fn write(comparison: &Comparison, checks: &[Check]) -> String {
    let mut rows: Vec<Row> = Vec::new();
    let kinds = [
        ("first", &comparison.comparisons),
        ("step", &comparison.ablation),
    ];
    for (kind, pairs) in kinds {
        for pair in pairs {
            let measures = pair.measures.iter();
            rows.extend(measures.map(|of| tested(kind, &pair.a, &pair.b, of)));
            let counts = [
                ("common", pair.common),
                ("only_a", pair.only_a),
                ("only_b", pair.only_b),
            ];
            rows.extend(counts.map(|(measure, count)| {
                Row::from([
                    ("table", "queries".to_owned()),
                    ("a", pair.a.clone()),
                    ("b", pair.b.clone()),
                    ("measure", measure.to_owned()),
                    ("n", count.to_string()),
                ])
            }));
        }
    }
    rows.extend(of_all_pairs(comparison));
    rows.extend(comparison.interaction.iter().flat_map(of_interaction));
    rows.extend(of_best(comparison));
    rows.extend(comparison.errors.iter().flat_map(of_errors));
    rows.extend(comparison.overlaps.iter().map(|overlap| {
        Row::from([
            ("table", "overlap".to_owned()),
            ("a", overlap.a.clone()),
            ("b", overlap.b.clone()),
            ("measure", format!("RBO(p={})", overlap.p)),
            ("score", number(overlap.mean)),
            ("n", overlap.queries.len().to_string()),
        ])
    }));
    rows.extend(of_comparison(comparison));
    rows.extend(checks.iter().map(of_check));
    let fields = rows.iter().map(|row| {
        let columns = COLUMNS.split(' ');
        columns.map(move |column| row.get(column).cloned().unwrap_or_default())
    });
    table(COLUMNS.split(' '), fields)
}

/// Row of one test.
fn tested(kind: &str, a: &str, b: &str, of: &MeasureComparison) -> Row {
    let mut row = Row::from([
        ("table", kind.to_owned()),
        ("a", a.to_owned()),
        ("b", b.to_owned()),
        ("measure", of.measure.clone()),
        ("verdict", of.verdict.words().to_owned()),
    ]);
    for (name, statistic) in statistics(of) {
        let columns = match name {
            "a" => ["mean_a", ""],
            "b" => ["mean_b", ""],
            "ci95" => ["ci95_low", "ci95_high"],
            "bca95" => ["bca95_low", "bca95_high"],
            other => [other, ""],
        };
        match statistic {
            Statistic::Number(value) => drop(row.insert(columns[0], number(value))),
            Statistic::Count(count) => drop(row.insert(columns[0], count.to_string())),
            Statistic::Interval(ends) => {
                for (column, end) in columns.into_iter().zip(ends.into_iter().flatten()) {
                    row.insert(column, end.to_string());
                }
            }
        }
    }
    row
}

/// Rows of all pairs of three or more runs, one for each measure and pair.
fn of_all_pairs(comparison: &Comparison) -> Vec<Row> {
    let name = |at: usize| comparison.runs.get(at).cloned().unwrap_or_default();
    let rows = comparison.several.iter().flat_map(|several| {
        let pairs = several.tested.pairs.iter();
        pairs.map(move |pair| {
            Row::from([
                ("table", "pair".to_owned()),
                ("a", name(pair.a)),
                ("b", name(pair.b)),
                ("measure", several.measure.clone()),
                ("difference", pair.difference.to_string()),
                ("p_tukey_hsd", number(pair.p_tukey)),
                ("p_randomised_tukey_hsd", pair.p_randomised.to_string()),
                ("trials", several.tested.trials.to_string()),
                ("n", several.n.to_string()),
            ])
        })
    });
    rows.collect()
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
    let rows = error_rows(errors).into_iter().map(|of| {
        Row::from([
            ("table", of.table.to_owned()),
            ("run", errors.run.clone()),
            ("measure", errors.measure.clone()),
            ("query", of.query.to_owned()),
            ("document", of.document),
            ("score", number(of.score)),
            (
                "rank",
                of.rank.map(|rank| rank.to_string()).unwrap_or_default(),
            ),
            ("grade", number(of.grade)),
            ("n", of.n.map(|n| n.to_string()).unwrap_or_default()),
            ("text", of.text),
        ])
    });
    rows.collect()
}

/// Rows of the facts about the whole comparison: the gold set, the settings and the warnings.
fn of_comparison(comparison: &Comparison) -> Vec<Row> {
    let fact = |table: &str, measure: &str, text: String| {
        Row::from([
            ("table", table.to_owned()),
            ("measure", measure.to_owned()),
            ("text", text),
        ])
    };
    let mut rows = Vec::new();
    if let Some(gold) = &comparison.gold {
        rows.push(fact("gold", "version", gold.version.clone()));
        rows.push(fact("gold", "sha256", gold.sha256.clone()));
        rows.push(fact("gold", "queries", gold.queries.to_string()));
        rows.push(fact("gold", "judgements", gold.judgements.to_string()));
    }
    let settings = &comparison.statistics;
    for (name, value) in [
        ("alpha", comparison.alpha.to_string()),
        ("seed", settings.seed.to_string()),
        ("permutations", settings.permutations.to_string()),
        ("bootstraps", settings.bootstraps.to_string()),
    ] {
        rows.push(fact("setting", name, value));
    }
    let warnings = comparison.warnings.iter();
    rows.extend(warnings.map(|warning| fact("warning", "", warning.clone())));
    rows
}

fn of_check(check: &Check) -> Row {
    Row::from([
        ("table", "check".to_owned()),
        ("run", check.run.clone()),
        ("measure", check.condition.clone()),
        ("verdict", check.outcome.name().to_owned()),
        ("text", check.detail.clone()),
    ])
}

/// Formats a number with the fewest digits that read back as the same number.
fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
