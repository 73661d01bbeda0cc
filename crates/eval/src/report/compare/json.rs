//! JSON output of a comparison: all results, numbers in full precision, undefined values as `null`.
//! Measures keep their order.

use super::statistics::{Statistic, statistics};
use crate::compare::{
    BestOfSlice, Comparison, ErrorAnalysis, Interaction, InteractionMeasure, MeasureComparison,
    Overlap, Pair, Several,
};
use crate::evaluate::GoldFacts;
use crate::gate::Check;
use crate::report::checks::GateOut;
use crate::report::members::Members;
use rankgauge_core::statistics::Settings;

/// Writes the comparison as indented JSON.
pub(super) fn write(comparison: &Comparison, checks: &[Check]) -> String {
    let document = Document::of(comparison, checks);
    let json = serde_json::to_string_pretty(&document);
    let json = json.expect("invariant: names and finite numbers can be written as JSON");
    format!("{json}\n")
}

#[derive(serde::Serialize)]
struct Document<'a> {
    gold: Option<&'a GoldFacts>,
    runs: &'a [String],
    /// If there are two runs, the statistics of the only comparison, repeated at a fixed place.
    #[serde(skip_serializing_if = "Option::is_none")]
    measures: Option<Members<&'a str, Statistics>>,
    comparisons: Vec<PairOut<'a>>,
    ablation: Vec<PairOut<'a>>,
    /// All pairs of three or more runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    all_pairs: Vec<SeveralOut<'a>>,
    interaction: Option<InteractionOut<'a>>,
    best: Vec<BestOut<'a>>,
    errors: Option<&'a ErrorAnalysis>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    overlaps: &'a [Overlap],
    settings: SettingsOut,
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<GateOut<'a>>,
}

#[derive(serde::Serialize)]
struct SettingsOut {
    alpha: f64,
    #[serde(flatten)]
    statistics: Settings,
}

#[derive(serde::Serialize)]
struct PairOut<'a> {
    a: &'a str,
    b: &'a str,
    queries: QueriesOut,
    measures: Members<&'a str, Statistics>,
    verdicts: Members<&'a str, &'static str>,
}

#[derive(serde::Serialize)]
struct SeveralOut<'a> {
    measure: &'a str,
    n: usize,
    trials: u32,
    pairs: Vec<SeveralPairOut<'a>>,
}

#[derive(serde::Serialize)]
struct SeveralPairOut<'a> {
    a: &'a str,
    b: &'a str,
    difference: f64,
    p_tukey_hsd: Option<f64>,
    p_randomised_tukey_hsd: f64,
}

impl<'a> SeveralOut<'a> {
    fn of(several: &'a Several, runs: &'a [String]) -> Self {
        let name = |at: usize| runs.get(at).map_or("", String::as_str);
        let pairs = several.tested.pairs.iter();
        Self {
            measure: &several.measure,
            n: several.n,
            trials: several.tested.trials,
            pairs: pairs
                .map(|pair| SeveralPairOut {
                    a: name(pair.a),
                    b: name(pair.b),
                    difference: pair.difference,
                    p_tukey_hsd: pair.p_tukey,
                    p_randomised_tukey_hsd: pair.p_randomised,
                })
                .collect(),
        }
    }
}

#[derive(serde::Serialize)]
struct QueriesOut {
    common: usize,
    only_a: usize,
    only_b: usize,
}

#[derive(serde::Serialize)]
struct InteractionOut<'a> {
    base: &'a str,
    a: &'a str,
    b: &'a str,
    both: &'a str,
    queries: usize,
    measures: Members<&'a str, Statistics>,
}

/// Statistics of a test, by name.
type Statistics = Members<&'static str, Statistic>;

#[derive(serde::Serialize)]
struct BestOut<'a> {
    slice: &'a str,
    value: &'a str,
    n: usize,
    measures: Members<&'a str, BestMeasureOut<'a>>,
}

#[derive(serde::Serialize)]
struct BestMeasureOut<'a> {
    best: Vec<&'a str>,
    means: Members<&'a str, Option<f64>>,
    n: usize,
}

impl<'a> Document<'a> {
    fn of(comparison: &'a Comparison, checks: &'a [Check]) -> Self {
        let only = match comparison.comparisons.as_slice() {
            [only] => Some(only),
            _ => None,
        };
        Self {
            gold: comparison.gold.as_ref(),
            runs: &comparison.runs,
            measures: only.map(|pair| by_measure(&pair.measures)),
            comparisons: comparison.comparisons.iter().map(PairOut::of).collect(),
            ablation: comparison.ablation.iter().map(PairOut::of).collect(),
            all_pairs: comparison
                .several
                .iter()
                .map(|several| SeveralOut::of(several, &comparison.runs))
                .collect(),
            interaction: comparison.interaction.as_ref().map(InteractionOut::of),
            best: comparison
                .best
                .iter()
                .map(|slice| BestOut::of(slice, comparison))
                .collect(),
            errors: comparison.errors.as_ref(),
            overlaps: &comparison.overlaps,
            settings: SettingsOut {
                alpha: comparison.alpha,
                statistics: comparison.statistics,
            },
            warnings: &comparison.warnings,
            gate: GateOut::of(checks),
        }
    }
}

/// Statistics by measure.
fn by_measure(measures: &[MeasureComparison]) -> Members<&str, Statistics> {
    let entries = measures
        .iter()
        .map(|of| (of.measure.as_str(), Members(statistics(of).to_vec())));
    Members(entries.collect())
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
            measures: by_measure(&pair.measures),
            verdicts: Members(
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
            let effects = [
                ("effect_a", measure.effect_a),
                ("effect_b", measure.effect_b),
                ("sum", measure.sum),
                ("combined", measure.combined),
            ];
            let effects = effects.map(|(name, effect)| (name, Statistic::Number(effect)));
            let members = effects.into_iter().chain(statistics(&measure.test));
            (measure.test.measure.as_str(), Members(members.collect()))
        };
        Self {
            base,
            a,
            b,
            both,
            queries: interaction.common,
            measures: Members(interaction.measures.iter().map(of).collect()),
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
                means: Members(means.map(|(run, mean)| (run.as_str(), *mean)).collect()),
                n: of.n,
            };
            (measure.as_str(), best)
        });
        Self {
            slice: &slice.slice,
            value: &slice.value,
            n: slice.n,
            measures: Members(entries.collect()),
        }
    }
}
