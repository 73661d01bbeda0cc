//! JSON output of a comparison: all results, numbers in full precision, undefined values as `null`.
//! Measures keep their order.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::compare::{
    BestOfSlice, Comparison, ErrorAnalysis, Interaction, InteractionMeasure, MeasureComparison,
    Pair, QueryErrors,
};
use crate::evaluate::GoldFacts;
use rankgauge_core::statistics::Interval;

/// Writes the comparison as indented JSON.
pub(super) fn write(comparison: &Comparison) -> String {
    let document = Document::of(comparison);
    let json = serde_json::to_string_pretty(&document);
    let json = json.expect("invariant: names and finite numbers can be written as JSON");
    format!("{json}\n")
}

/// JSON object whose members keep their order.
struct Ordered<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Ordered<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
struct Document<'a> {
    gold: Option<&'a GoldFacts>,
    runs: &'a [String],
    /// If there are two runs, the statistics of the only comparison, repeated at a fixed place.
    #[serde(skip_serializing_if = "Option::is_none")]
    measures: Option<Ordered<&'a str, Statistics>>,
    comparisons: Vec<PairOut<'a>>,
    ablation: Vec<PairOut<'a>>,
    interaction: Option<InteractionOut<'a>>,
    best: Vec<BestOut<'a>>,
    errors: Option<ErrorsOut<'a>>,
    settings: SettingsOut,
    warnings: &'a [String],
}

#[derive(serde::Serialize)]
struct SettingsOut {
    alpha: f64,
    seed: u64,
    permutations: u32,
    bootstraps: u32,
}

#[derive(serde::Serialize)]
struct PairOut<'a> {
    a: &'a str,
    b: &'a str,
    queries: QueriesOut,
    measures: Ordered<&'a str, Statistics>,
    verdicts: Ordered<&'a str, &'static str>,
}

#[derive(serde::Serialize)]
struct QueriesOut {
    common: usize,
    only_a: usize,
    only_b: usize,
}

#[derive(serde::Serialize)]
struct Statistics {
    a: Option<f64>,
    b: Option<f64>,
    difference: Option<f64>,
    t: Option<f64>,
    p: Option<f64>,
    p_permutation: Option<f64>,
    p_holm: Option<f64>,
    d_z: Option<f64>,
    d_av: Option<f64>,
    ci95: Option<Interval>,
    bca95: Option<Interval>,
    n: usize,
}

#[derive(serde::Serialize)]
struct InteractionOut<'a> {
    base: &'a str,
    a: &'a str,
    b: &'a str,
    both: &'a str,
    queries: usize,
    measures: Ordered<&'a str, InteractionStatistics>,
}

#[derive(serde::Serialize)]
struct InteractionStatistics {
    effect_a: Option<f64>,
    effect_b: Option<f64>,
    sum: Option<f64>,
    combined: Option<f64>,
    #[serde(flatten)]
    test: Statistics,
}

#[derive(serde::Serialize)]
struct BestOut<'a> {
    slice: &'a str,
    value: &'a str,
    n: usize,
    measures: Ordered<&'a str, BestMeasureOut<'a>>,
}

#[derive(serde::Serialize)]
struct BestMeasureOut<'a> {
    best: Vec<&'a str>,
    means: Ordered<&'a str, Option<f64>>,
    n: usize,
}

#[derive(serde::Serialize)]
struct ErrorsOut<'a> {
    run: &'a str,
    measure: &'a str,
    cutoff: u32,
    queries: Vec<WorstOut<'a>>,
}

#[derive(serde::Serialize)]
struct WorstOut<'a> {
    query: &'a str,
    text: Option<&'a str>,
    score: f64,
    false_positives: Vec<FalsePositiveOut<'a>>,
    missed: Vec<MissedOut<'a>>,
}

#[derive(serde::Serialize)]
struct FalsePositiveOut<'a> {
    rank: u32,
    document: &'a str,
    grade: Option<f64>,
}

#[derive(serde::Serialize)]
struct MissedOut<'a> {
    document: &'a str,
    grade: f64,
    rank: Option<u32>,
}

impl<'a> Document<'a> {
    fn of(comparison: &'a Comparison) -> Self {
        let only = match comparison.comparisons.as_slice() {
            [only] => Some(only),
            _ => None,
        };
        Self {
            gold: comparison.gold.as_ref(),
            runs: &comparison.runs,
            measures: only.map(|pair| statistics(&pair.measures)),
            comparisons: comparison.comparisons.iter().map(PairOut::of).collect(),
            ablation: comparison.ablation.iter().map(PairOut::of).collect(),
            interaction: comparison.interaction.as_ref().map(InteractionOut::of),
            best: comparison
                .best
                .iter()
                .map(|slice| BestOut::of(slice, comparison))
                .collect(),
            errors: comparison.errors.as_ref().map(ErrorsOut::of),
            settings: SettingsOut {
                alpha: comparison.alpha,
                seed: comparison.statistics.seed,
                permutations: comparison.statistics.permutations,
                bootstraps: comparison.statistics.bootstraps,
            },
            warnings: &comparison.warnings,
        }
    }
}

/// Statistics by measure.
fn statistics(measures: &[MeasureComparison]) -> Ordered<&str, Statistics> {
    let entries = measures.iter();
    Ordered(
        entries
            .map(|of| (of.measure.as_str(), Statistics::of(of)))
            .collect(),
    )
}

impl Statistics {
    fn of(of: &MeasureComparison) -> Self {
        let paired = &of.paired;
        Self {
            a: paired.a,
            b: paired.b,
            difference: paired.difference,
            t: paired.t,
            p: paired.p,
            p_permutation: paired.p_permutation,
            p_holm: of.p_holm,
            d_z: paired.d_z,
            d_av: paired.d_av,
            ci95: paired.ci95,
            bca95: paired.bca95,
            n: paired.n,
        }
    }
}

impl<'a> PairOut<'a> {
    fn of(pair: &'a Pair) -> Self {
        let verdicts = pair.measures.iter();
        Self {
            a: &pair.a,
            b: &pair.b,
            queries: QueriesOut {
                common: pair.common,
                only_a: pair.only_a,
                only_b: pair.only_b,
            },
            measures: statistics(&pair.measures),
            verdicts: Ordered(
                verdicts
                    .map(|of| (of.measure.as_str(), of.verdict.words()))
                    .collect(),
            ),
        }
    }
}

impl<'a> InteractionOut<'a> {
    fn of(interaction: &'a Interaction) -> Self {
        let [base, a, b, both] = &interaction.runs;
        let of = |measure: &'a InteractionMeasure| {
            let statistics = InteractionStatistics {
                effect_a: measure.effect_a,
                effect_b: measure.effect_b,
                sum: measure.sum,
                combined: measure.combined,
                test: Statistics::of(&measure.test),
            };
            (measure.test.measure.as_str(), statistics)
        };
        Self {
            base,
            a,
            b,
            both,
            queries: interaction.common,
            measures: Ordered(interaction.measures.iter().map(of).collect()),
        }
    }
}

impl<'a> BestOut<'a> {
    fn of(slice: &'a BestOfSlice, comparison: &'a Comparison) -> Self {
        let runs = &comparison.runs;
        let measures = comparison.measures.iter().zip(&slice.measures);
        let entries = measures.map(|(measure, of)| {
            let means = runs.iter().zip(&of.means);
            let best = BestMeasureOut {
                best: of.best.iter().map(|run| runs[*run].as_str()).collect(),
                means: Ordered(means.map(|(run, mean)| (run.as_str(), *mean)).collect()),
                n: of.n,
            };
            (measure.as_str(), best)
        });
        Self {
            slice: &slice.slice,
            value: &slice.value,
            n: slice.n,
            measures: Ordered(entries.collect()),
        }
    }
}

impl<'a> ErrorsOut<'a> {
    fn of(errors: &'a ErrorAnalysis) -> Self {
        let queries = errors.queries.iter().map(|worst| {
            let QueryErrors {
                text,
                false_positives,
                missed,
            } = &worst.errors;
            let false_positives = false_positives.iter().map(|of| FalsePositiveOut {
                rank: of.rank,
                document: &of.document,
                grade: of.grade,
            });
            let missed = missed.iter().map(|of| MissedOut {
                document: &of.document,
                grade: of.grade,
                rank: of.rank,
            });
            WorstOut {
                query: &worst.query,
                text: text.as_deref(),
                score: worst.score,
                false_positives: false_positives.collect(),
                missed: missed.collect(),
            }
        });
        Self {
            run: &errors.run,
            measure: &errors.measure,
            cutoff: errors.cutoff,
            queries: queries.collect(),
        }
    }
}
