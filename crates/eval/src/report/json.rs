//! JSON output of an evaluation: one object with all results, in full precision, with members in a
//! stable order.
//!
//! A score has as many digits as are needed to read back the same number. Members keep the order of
//! the request or of the input. The existing members are a contract; further members can be added
//! after them.

use serde::Serialize;

use super::case::{Case, cases};
use super::changes::{self, ChangesOut};
use super::checks::GateOut;
use super::figures::RECALL_LEVELS;
use super::members::Members;
use super::operations::of_quality;
use super::recommendation::recommendations;
use super::{Options, micro_averages};
use crate::behaviour::Behaviour;
use crate::compare::ErrorAnalysis;
use crate::evaluate::{
    ComponentFacts, Evaluation, GoldFacts, OverallTier, QueryDocuments, RunEvaluation, Slice,
};
use crate::operations::{Operations, Tradeoff};
use crate::sweep::Sweep;

/// Writes an evaluation as JSON on one line.
pub(super) fn write(evaluation: &Evaluation, options: &Options<'_>) -> String {
    let recommendations = recommendations(evaluation, options);
    let report = Report {
        gold: &evaluation.gold,
        runs: evaluation
            .runs
            .iter()
            .map(|run| Run::of(evaluation, run, options.per_query))
            .collect(),
        recommendations: recommendations
            .iter()
            .map(|it| RecommendationOut {
                rule: it.rule,
                advice: &it.advice,
                because: &it.because,
            })
            .collect(),
        operations: options.operations,
        cost_against_quality: of_quality(evaluation, options.operations),
        behaviour: options.behaviour,
        thresholds: options.sweeps,
        changes: changes::members(options.changes),
        errors: options.errors,
        cases: cases(evaluation, options.operations, options.cases),
        gate: GateOut::of(options.checks),
    };
    let mut json =
        serde_json::to_string(&report).expect("invariant: every key of the report is a string");
    json.push('\n');
    json
}

#[derive(Serialize)]
struct Report<'a> {
    gold: &'a GoldFacts,
    runs: Vec<Run<'a>>,
    recommendations: Vec<RecommendationOut<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    operations: &'a [Operations],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cost_against_quality: Vec<Tradeoff>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    behaviour: &'a [Behaviour],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    thresholds: &'a [Sweep],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<ChangesOut<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [ErrorAnalysis],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cases: Vec<Case<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<GateOut<'a>>,
}

#[derive(Serialize)]
struct RecommendationOut<'a> {
    rule: &'static str,
    advice: &'a str,
    because: &'a str,
}

/// Members of a run, in output order. Results that a run lacks are omitted.
#[derive(Serialize)]
struct Run<'a> {
    name: &'a str,
    queries: usize,
    missing: &'a [String],
    means: Members<&'a str, Option<f64>>,
    /// Number of queries behind each mean.
    n: Members<&'a str, usize>,
    micro: Members<String, Option<f64>>,
    /// Document counts behind the micro averages, by cutoff.
    micro_counts: Members<String, MicroCounts>,
    by: Members<&'a str, Members<&'a str, Members<&'a str, Option<f64>>>>,
    /// Number of queries behind each mean of a slice.
    by_n: Members<&'a str, Members<&'a str, Members<&'a str, usize>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_query: Option<Members<&'a str, Members<&'a str, f64>>>,
    /// Documents of each query.
    #[serde(skip_serializing_if = "Members::is_empty")]
    documents: Members<&'a str, &'a QueryDocuments>,
    unknown: &'a [String],
    retrieved: u64,
    relevant: u64,
    relevant_retrieved: u64,
    /// Best tier reached by each measure with targets, or null.
    #[serde(skip_serializing_if = "Members::is_empty")]
    targets: Members<&'a str, Option<&'a str>>,
    /// Best tier that all tier measures reach, or null.
    #[serde(skip_serializing_if = "Option::is_none")]
    overall_tier: Option<OverallTierOut<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    goals: Vec<GoalOut<'a>>,
    curve: Vec<CurvePoint>,
    ndcg: Vec<NdcgPoint>,
    /// Precision and recall of the single queries at their first ranks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    points: Vec<PointOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    components: Vec<Component<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routing: Vec<Routed<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    collaboration: Vec<Contributed<'a>>,
}

/// Name of the overall tier; null if the run reaches none.
#[derive(Serialize)]
#[serde(untagged)]
enum OverallTierOut<'a> {
    Reached(&'a str),
    Below(()),
}

#[derive(Serialize)]
struct MicroCounts {
    #[serde(rename = "TP")]
    true_positives: u64,
    #[serde(rename = "FP")]
    false_positives: u64,
    #[serde(rename = "FN")]
    false_negatives: u64,
}

#[derive(Serialize)]
struct GoalOut<'a> {
    name: &'a str,
    bounds: Vec<String>,
    met: bool,
}

#[derive(Serialize)]
struct CurvePoint {
    recall: f64,
    precision: f64,
}

#[derive(Serialize)]
struct PointOut {
    recall: f64,
    precision: f64,
    n: u64,
}

#[derive(Serialize)]
struct NdcgPoint {
    cutoff: u32,
    mean: f64,
}

#[derive(Serialize)]
struct Component<'a> {
    name: &'a str,
    needed_fired: u64,
    needed_silent: u64,
    unneeded_fired: u64,
    unneeded_silent: u64,
    /// Number of results at 1, 2, 3, and 4 or more hops.
    hops: [u64; 4],
}

#[derive(Serialize)]
struct Routed<'a> {
    expected: &'a str,
    selected: &'a str,
    searches: u64,
}

#[derive(Serialize)]
struct Contributed<'a> {
    primary: &'a str,
    #[serde(rename = "contributed")]
    domain: &'a str,
    searches: u64,
}

impl<'a> Run<'a> {
    fn of(evaluation: &'a Evaluation, run: &'a RunEvaluation, per_query: bool) -> Self {
        let measures = &evaluation.measures;
        let micro = run.micro.iter().flat_map(|micro| {
            micro_averages(micro)
                .map(|(name, average)| (format!("{name}@{}", micro.cutoff), average))
        });
        let scores = || {
            let queries = run.queries.iter();
            let members = queries.map(|query| (query.key.as_str(), known(measures, &query.scores)));
            Members(members.collect())
        };
        let targets = measures.iter().enumerate().filter_map(|(measure, name)| {
            let has_some = evaluation.targets_of(measure).next().is_some();
            has_some.then(|| {
                let reached = evaluation.tier(run, measure);
                (name.as_str(), reached.map(|target| target.tier.as_str()))
            })
        });
        Self {
            name: &run.name,
            queries: run.queries.len(),
            missing: &run.missing,
            means: means(measures, &run.means),
            n: counts(measures, &run.scored),
            micro: Members(micro.collect()),
            micro_counts: micro_counts(run),
            by: Members(
                run.by
                    .iter()
                    .map(|it| (it.name.as_str(), values(measures, it)))
                    .collect(),
            ),
            by_n: by_n(measures, run),
            per_query: per_query.then(scores),
            documents: Members(
                run.queries
                    .iter()
                    .filter(|_| per_query)
                    .filter_map(|query| Some((query.key.as_str(), query.documents.as_ref()?)))
                    .collect(),
            ),
            unknown: &run.unknown,
            retrieved: run.retrieved,
            relevant: run.relevant,
            relevant_retrieved: run.relevant_retrieved,
            targets: Members(targets.collect()),
            overall_tier: evaluation.overall_tier(run).map(|tier| match tier {
                OverallTier::Reached(tier) => OverallTierOut::Reached(tier),
                OverallTier::Below => OverallTierOut::Below(()),
            }),
            goals: goals(evaluation, run),
            curve: run
                .curve
                .iter()
                .flat_map(|curve| RECALL_LEVELS.into_iter().zip(*curve))
                .map(|(recall, precision)| CurvePoint { recall, precision })
                .collect(),
            ndcg: run
                .ndcg
                .iter()
                .map(|(cutoff, mean)| NdcgPoint {
                    cutoff: *cutoff,
                    mean: *mean,
                })
                .collect(),
            points: run
                .points
                .iter()
                .map(|point| PointOut {
                    recall: point.recall,
                    precision: point.precision,
                    n: point.n,
                })
                .collect(),
            components: run.components.iter().map(Component::of).collect(),
            routing: run
                .routing
                .iter()
                .map(|((expected, selected), searches)| Routed {
                    expected,
                    selected,
                    searches: *searches,
                })
                .collect(),
            collaboration: run
                .collaboration
                .iter()
                .map(|((primary, domain), searches)| Contributed {
                    primary,
                    domain,
                    searches: *searches,
                })
                .collect(),
        }
    }
}

impl<'a> Component<'a> {
    fn of(facts: &'a ComponentFacts) -> Self {
        let [
            [unneeded_silent, unneeded_fired],
            [needed_silent, needed_fired],
        ] = facts.trigger;
        Self {
            name: &facts.name,
            needed_fired,
            needed_silent,
            unneeded_fired,
            unneeded_silent,
            hops: facts.hops,
        }
    }
}

fn goals<'a>(evaluation: &'a Evaluation, run: &RunEvaluation) -> Vec<GoalOut<'a>> {
    let goals = evaluation.goals.iter().map(|goal| {
        let bounds = goal.bounds.iter();
        GoalOut {
            name: &goal.name,
            bounds: bounds.map(|bound| evaluation.bound_text(bound)).collect(),
            met: evaluation.is_met(goal, run),
        }
    });
    goals.collect()
}

/// Document counts by cutoff.
fn micro_counts(run: &RunEvaluation) -> Members<String, MicroCounts> {
    let counts = run.micro.iter().map(|micro| {
        let counts = MicroCounts {
            true_positives: micro.true_positives,
            false_positives: micro.false_positives,
            false_negatives: micro.false_negatives,
        };
        (format!("@{}", micro.cutoff), counts)
    });
    Members(counts.collect())
}

/// Numbers of queries behind the means by slice, value and measure.
fn by_n<'a>(
    measures: &'a [String],
    run: &'a RunEvaluation,
) -> Members<&'a str, Members<&'a str, Members<&'a str, usize>>> {
    let slices = run.by.iter().map(|slice| {
        let values = slice.values.iter();
        let values = values.map(|it| (it.value.as_str(), counts(measures, &it.scored)));
        (slice.name.as_str(), Members(values.collect()))
    });
    Members(slices.collect())
}

/// Means by measure. An undefined mean is null.
fn means<'a>(measures: &'a [String], means: &[Option<f64>]) -> Members<&'a str, Option<f64>> {
    let names = measures.iter().map(String::as_str);
    Members(names.zip(means.iter().copied()).collect())
}

/// Counts by measure.
fn counts<'a>(measures: &'a [String], counts: &[usize]) -> Members<&'a str, usize> {
    let names = measures.iter().map(String::as_str);
    Members(names.zip(counts.iter().copied()).collect())
}

/// Scores by measure. An undefined score is omitted.
fn known<'a>(measures: &'a [String], scores: &[Option<f64>]) -> Members<&'a str, f64> {
    let pairs = measures.iter().zip(scores);
    Members(
        pairs
            .filter_map(|(name, score)| Some((name.as_str(), (*score)?)))
            .collect(),
    )
}

fn values<'a>(
    measures: &'a [String],
    slice: &'a Slice,
) -> Members<&'a str, Members<&'a str, Option<f64>>> {
    let values = slice.values.iter();
    Members(
        values
            .map(|it| (it.value.as_str(), means(measures, &it.means)))
            .collect(),
    )
}
