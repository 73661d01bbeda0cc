//! All results of an evaluation in long form, RFC 4180, in full precision. The kind of a row is in
//! its first column. Ids are written unchanged, even if a spreadsheet would interpret them as a
//! formula.

use super::case::cases;
use super::errors::{cited_text, rows as error_rows};
use super::figures::RECALL_LEVELS;
use super::operations::rows as operation_rows;
use super::options::Options;
use super::ratios::micro_averages;
use super::recommendation::recommendations;
use super::{behaviour, sweep};
use crate::compare::{ErrorAnalysis, Pair};
use crate::evaluate::{Evaluation, OverallTier, RunEvaluation};
use rankgauge_core::gold::Grade;
use rankgauge_core::number::real;

/// Column names. `n` is the number of queries behind a score. A value that is undefined or does not
/// belong to the kind of row is an empty field.
const COLUMNS: [&str; 8] = [
    "table", "run", "slice", "value", "measure", "score", "n", "text",
];

#[derive(Clone, Default)]
pub(super) struct Row {
    pub(super) table: &'static str,
    pub(super) run: String,
    pub(super) slice: String,
    pub(super) value: String,
    pub(super) measure: String,
    pub(super) score: Option<f64>,
    pub(super) n: Option<usize>,
    pub(super) text: String,
}

impl Row {
    /// Row of a table about a run.
    fn of(table: &'static str, run: &RunEvaluation) -> Self {
        Self {
            table,
            run: run.name.clone(),
            ..Self::default()
        }
    }

    /// The row with this value.
    fn valued(self, value: &(impl ToString + ?Sized)) -> Self {
        Self {
            value: value.to_string(),
            ..self
        }
    }

    /// The row with this text.
    fn with_text(self, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..self
        }
    }

    /// The row with this score of a measure, over `n` queries or searches.
    pub(super) fn scored(
        self,
        measure: impl Into<String>,
        score: Option<f64>,
        n: Option<usize>,
    ) -> Self {
        Self {
            measure: measure.into(),
            score,
            n,
            ..self
        }
    }

    /// The row with this count.
    pub(super) fn counted(self, measure: impl Into<String>, count: u64) -> Self {
        self.scored(measure, Some(real(count)), None)
    }

    fn fields(&self) -> [String; COLUMNS.len()] {
        let score = self.score.map_or_else(String::new, |it| it.to_string());
        let n = self.n.map_or_else(String::new, |it| it.to_string());
        let [run, slice] = [&self.run, &self.slice].map(Clone::clone);
        let [value, measure] = [&self.value, &self.measure].map(Clone::clone);
        let table = self.table.to_owned();
        [
            table,
            run,
            slice,
            value,
            measure,
            score,
            n,
            self.text.clone(),
        ]
    }
}

/// Writes rows below the names of their columns, of which each row has all.
pub(super) fn table<'c>(
    columns: impl IntoIterator<Item = &'c str>,
    rows: impl IntoIterator<Item = impl IntoIterator<Item = String>>,
) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let taken = "invariant: memory takes every row, and all have the same columns";
    writer.write_record(columns).expect(taken);
    for row in rows {
        writer.write_record(row).expect(taken);
    }
    let bytes = writer.into_inner().expect(taken);
    String::from_utf8(bytes).expect("invariant: all fields are UTF-8")
}

/// Writes all results.
pub(super) fn write(evaluation: &Evaluation, options: &Options<'_>) -> String {
    let mut rows: Vec<Row> = Vec::new();
    rows.extend(gold(evaluation));
    for run in &evaluation.runs {
        rows.extend(means(evaluation, run));
        rows.extend(counts(run));
        rows.extend(targets(evaluation, run));
        rows.extend(curves(run));
        rows.extend(parts(run));
        if options.per_query {
            rows.extend(queries(evaluation, run));
        }
    }
    rows.extend(recommendations(evaluation, options).iter().map(|it| {
        let row = Row {
            table: "recommendation",
            ..Row::default()
        };
        row.valued(&it.rule)
            .with_text(format!("{} {}.", it.advice, it.because))
    }));
    rows.extend(operation_rows(evaluation, options.operations));
    rows.extend(behaviour::rows(options.behaviour));
    rows.extend(sweep::rows(options.sweeps));
    rows.extend(options.changes.iter().flat_map(changes));
    rows.extend(options.errors.iter().flat_map(errors));
    for case in cases(evaluation, options.operations, options.cases) {
        for document in &case.documents {
            for (run, rank) in case.runs.iter().zip(&document.ranks) {
                rows.push(Row {
                    table: "case",
                    run: run.run.to_owned(),
                    slice: case.query.to_owned(),
                    value: document.id.to_owned(),
                    n: *rank,
                    ..Row::default()
                });
            }
        }
        for run in &case.runs {
            let citations = run.answer.iter().flat_map(|it| &it.citations);
            rows.extend(citations.map(|cited| Row {
                table: "cited",
                run: run.run.to_owned(),
                slice: case.query.to_owned(),
                value: cited.id.clone(),
                score: cited.grade.map(Grade::get),
                n: run.rank(cited),
                text: cited_text(cited).to_owned(),
                ..Row::default()
            }));
        }
    }
    rows.extend(options.checks.iter().map(|check| Row {
        table: "check",
        run: check.run.clone(),
        value: check.outcome.name().to_owned(),
        measure: check.condition.clone(),
        text: check.detail.clone(),
        ..Row::default()
    }));
    table(COLUMNS, rows.iter().map(Row::fields))
}

/// Rows about one run against the first: the difference, its relative size, the ends of its interval
/// and the corrected p-value.
fn changes(pair: &Pair) -> Vec<Row> {
    let measures = pair.measures.iter().flat_map(|of| {
        let [low, high] = of.paired.ci95.map_or([None, None], |ends| ends.map(Some));
        let numbers = [
            ("difference", of.paired.difference),
            ("relative", of.relative()),
            ("ci95_low", low),
            ("ci95_high", high),
            ("p_holm", of.p_holm),
        ];
        numbers.map(|(value, score)| Row {
            table: "change",
            run: pair.b.clone(),
            slice: pair.a.clone(),
            value: value.to_owned(),
            measure: of.measure.clone(),
            score,
            n: Some(of.paired.n),
            text: of.verdict.words().to_owned(),
        })
    });
    measures.collect()
}

fn errors(analysis: &ErrorAnalysis) -> Vec<Row> {
    let rows = error_rows(analysis).into_iter().map(|of| {
        let rank = of.rank.and_then(|rank| usize::try_from(rank).ok());
        // A document has its grade and rank, another row its score and number of queries.
        Row {
            table: of.table,
            run: analysis.run.clone(),
            slice: of.query.to_owned(),
            value: of.document,
            measure: analysis.measure.clone(),
            score: of.score.or(of.grade),
            n: of.n.or(rank),
            text: of.text,
        }
    });
    rows.collect()
}

fn gold(evaluation: &Evaluation) -> [Row; 4] {
    let gold = &evaluation.gold;
    let texts = [("version", &gold.version), ("sha256", &gold.sha256)];
    let counts = [("queries", gold.queries), ("judgements", gold.judgements)];
    let row = |measure: &str| Row {
        table: "gold",
        measure: measure.to_owned(),
        ..Row::default()
    };
    let [version, sha256] = texts.map(|(measure, text)| row(measure).with_text(text));
    let [queries, judgements] = counts.map(|(measure, count)| Row {
        n: Some(count),
        ..row(measure)
    });
    [version, sha256, queries, judgements]
}

fn means(evaluation: &Evaluation, run: &RunEvaluation) -> Vec<Row> {
    let scored = |slice: &str, value: &str, means: &[Option<f64>], counts: &[usize]| {
        let row = Row {
            slice: slice.to_owned(),
            ..Row::of("mean", run).valued(value)
        };
        let means = evaluation.measures.iter().zip(means).zip(counts);
        let rows =
            means.map(|((measure, mean), count)| row.clone().scored(measure, *mean, Some(*count)));
        rows.collect::<Vec<Row>>()
    };
    let mut rows = scored("", "", &run.means, &run.scored);
    for slice in &run.by {
        for value in &slice.values {
            rows.extend(scored(
                &slice.name,
                &value.value,
                &value.means,
                &value.scored,
            ));
        }
    }
    for micro in &run.micro {
        let row = || Row::of("micro", run);
        let n = Some(run.queries.len());
        rows.extend(
            micro_averages(micro)
                .map(|(name, mean)| row().scored(format!("{name}@{}", micro.cutoff), mean, n)),
        );
        let counts = [
            ("TP", micro.true_positives),
            ("FP", micro.false_positives),
            ("FN", micro.false_negatives),
        ];
        rows.extend(
            counts.map(|(name, count)| row().counted(format!("{name}@{}", micro.cutoff), count)),
        );
    }
    rows
}

fn counts(run: &RunEvaluation) -> Vec<Row> {
    let size = |list: usize| u64::try_from(list).unwrap_or(u64::MAX);
    let counts = [
        ("queries", size(run.queries.len())),
        ("missing", size(run.missing.len())),
        ("unknown", size(run.unknown.len())),
        ("not_eligible", size(run.not_eligible)),
        ("retrieved", run.retrieved),
        ("relevant", run.relevant),
        ("relevant_retrieved", run.relevant_retrieved),
    ];
    let counts = counts.map(|(measure, count)| Row::of("count", run).counted(measure, count));
    let mut rows = counts.to_vec();
    for (table, keys) in [("missing", &run.missing), ("unknown", &run.unknown)] {
        rows.extend(keys.iter().map(|key| Row::of(table, run).valued(key)));
    }
    rows
}

fn targets(evaluation: &Evaluation, run: &RunEvaluation) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, measure) in evaluation.measures.iter().enumerate() {
        if evaluation.targets_of(at).next().is_some() {
            let mean = run.means.get(at).copied().flatten();
            let tier = evaluation.tier(run, at).map_or("", |target| &target.tier);
            let row = Row::of("tier", run).scored(measure, mean, None);
            rows.push(row.with_text(tier));
        }
    }
    rows.extend(evaluation.overall_tier(run).map(|tier| {
        Row::of("overall_tier", run).with_text(match tier {
            OverallTier::Reached(tier) => tier,
            OverallTier::Below => "",
        })
    }));
    for goal in &evaluation.goals {
        let bounds = goal.bounds.iter().map(|bound| evaluation.bound_text(bound));
        let bounds: Vec<String> = bounds.collect();
        let met = evaluation.is_met(goal, run);
        let row = Row::of("goal", run).valued(&goal.name);
        let row = row.scored(bounds.join(" and "), None, None);
        rows.push(row.with_text(if met { "met" } else { "not met" }));
    }
    rows
}

fn curves(run: &RunEvaluation) -> Vec<Row> {
    let point = |measure: String, score: f64| {
        let n = Some(run.queries.len());
        Row::of("curve", run).scored(measure, Some(score), n)
    };
    let curve = RECALL_LEVELS.iter().zip(run.curve.iter().flatten());
    let curve = curve.map(|(recall, precision)| point(format!("IPrec@{recall:.1}"), *precision));
    let ndcg = run.ndcg.iter();
    let ndcg = ndcg.map(|(cutoff, mean)| point(format!("nDCG@{cutoff}"), *mean));
    let points = run.points.iter().map(|point| {
        let n = usize::try_from(point.n).ok();
        let row = Row::of("point", run).valued(&point.recall);
        Row {
            slice: "recall".to_owned(),
            ..row.scored("precision", Some(point.precision), n)
        }
    });
    curve.chain(ndcg).chain(points).collect()
}

fn parts(run: &RunEvaluation) -> Vec<Row> {
    let mut rows = Vec::new();
    for component in &run.components {
        let row = |table| Row::of(table, run).valued(&component.name);
        let [[rest, unneeded], [silent, fired]] = component.trigger;
        let trigger = [
            ("needed_fired", fired),
            ("needed_silent", silent),
            ("unneeded_fired", unneeded),
            ("unneeded_silent", rest),
        ];
        rows.extend(trigger.map(|(measure, count)| row("trigger").counted(measure, count)));
        let hops = ["1", "2", "3", "4+"].into_iter().zip(component.hops);
        rows.extend(hops.map(|(measure, count)| row("hops").counted(measure, count)));
    }
    for (table, cells) in [
        ("routing", &run.routing),
        ("collaboration", &run.collaboration),
    ] {
        rows.extend(cells.iter().map(|((from, to), searches)| {
            Row {
                slice: from.clone(),
                ..Row::of(table, run)
                    .valued(to)
                    .counted("searches", *searches)
            }
        }));
    }
    rows
}

fn queries(evaluation: &Evaluation, run: &RunEvaluation) -> Vec<Row> {
    let mut rows = Vec::new();
    for query in &run.queries {
        let scores = evaluation.measures.iter().zip(&query.scores);
        rows.extend(scores.map(|(measure, score)| {
            let row = Row::of("query", run).valued(&query.key);
            row.scored(measure, *score, Some(usize::from(score.is_some())))
        }));
        let Some(documents) = &query.documents else {
            continue;
        };
        for (measure, ids) in [
            ("retrieved", &documents.retrieved),
            ("relevant", &documents.relevant),
            ("missed", &documents.missed),
        ] {
            rows.extend(ids.iter().map(|id| {
                let row = Row::of("document", run).valued(&query.key);
                row.scored(measure, None, None).with_text(id)
            }));
        }
        let citations = documents.answer.iter().flat_map(|it| &it.citations);
        rows.extend(citations.map(|cited| {
            let measure = if cited.served {
                "cited"
            } else {
                "cited_not_retrieved"
            };
            let row = Row::of("document", run).valued(&query.key);
            row.scored(measure, cited.grade.map(Grade::get), None)
                .with_text(&cited.id)
        }));
    }
    rows
}
