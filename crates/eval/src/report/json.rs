//! JSON output of an evaluation: one object with all results, in full precision, with members in a
//! stable order.
//!
//! A score has as many digits as are needed to read back the same number. Members keep the order of
//! the request or of the input. The existing members are a contract; further members can be added
//! after them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::case::{Case, cases};
use super::changes::{self, ChangesOut};
use super::checks::GateOut;
use super::figures::RECALL_LEVELS;
use super::members::Members;
use super::operations::of_quality;
use super::options::Options;
use super::ratios::{coverage, micro_averages};
use super::recommendation::{Recommendation, recommendations};
use crate::behaviour::Behaviour;
use crate::compare::ErrorAnalysis;
use crate::evaluate::{
    ComponentFacts, Evaluation, GoldFacts, Micro, OverallTier, PlanePoint, QueryDocuments,
    RunEvaluation, SliceValue, StatedSettings,
};
use crate::operations::{Operations, Tradeoff};
use crate::sweep::Sweep;

/// Writes an evaluation as JSON on one line.
pub(super) fn write(evaluation: &Evaluation, options: &Options<'_>) -> String {
    let report = Report {
        gold: &evaluation.gold,
        runs: evaluation
            .runs
            .iter()
            .map(|run| Run::of(evaluation, run, options.per_query))
            .collect(),
        recommendations: recommendations(evaluation, options),
        operations: options.operations,
        cost_against_quality: of_quality(evaluation, options.operations),
        behaviour: options.behaviour,
        thresholds: options.sweeps,
        changes: changes::members(options.changes),
        errors: options.errors,
        cases: cases(evaluation, options.operations, options.cases),
        gate: GateOut::of(options.checks),
        judging: &evaluation.judging,
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
    recommendations: Vec<Recommendation>,
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
    judging: &'a StatedSettings,
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
    micro_counts: Members<String, &'a Micro>,
    by: Members<&'a str, Members<&'a str, Members<&'a str, Option<f64>>>>,
    /// Number of queries behind each mean of a slice.
    by_n: Members<&'a str, Members<&'a str, Members<&'a str, usize>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_query: Option<Members<&'a str, Members<&'a str, f64>>>,
    /// Documents of each query.
    #[serde(skip_serializing_if = "Members::is_empty")]
    documents: Members<&'a str, &'a QueryDocuments>,
    unknown: &'a [String],
    not_eligible: usize,
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
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    points: &'a [PlanePoint],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    components: Vec<Component<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routing: Vec<Members<&'a str, Cell<'a>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    collaboration: Vec<Members<&'a str, Cell<'a>>>,
    /// Share of the answered queries that the gold set has.
    coverage: Option<f64>,
    /// Mean of the lowest scores over all grades of the unjudged results.
    #[serde(skip_serializing_if = "Members::is_empty")]
    low: Members<&'a str, f64>,
    /// Mean of the highest scores.
    #[serde(skip_serializing_if = "Members::is_empty")]
    high: Members<&'a str, f64>,
    #[serde(skip_serializing_if = "Members::is_empty")]
    per_query_low: Members<&'a str, Members<&'a str, f64>>,
    #[serde(skip_serializing_if = "Members::is_empty")]
    per_query_high: Members<&'a str, Members<&'a str, f64>>,
}

/// Name of the overall tier; null if the run reaches none.
#[derive(Serialize)]
#[serde(untagged)]
enum OverallTierOut<'a> {
    Reached(&'a str),
    Below(()),
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
        let ends_of_queries = |end: fn(&[f64; 2]) -> f64| {
            let queries = run.queries.iter().filter(|_| per_query);
            let members = queries
                .map(|query| (query.key.as_str(), ends(measures, &query.bounds, end)))
                .filter(|(_, ends)| !ends.is_empty());
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
            micro_counts: Members(
                run.micro
                    .iter()
                    .map(|micro| (format!("@{}", micro.cutoff), micro))
                    .collect(),
            ),
            by: slices(run, |value| means(measures, &value.means)),
            by_n: slices(run, |value| counts(measures, &value.scored)),
            per_query: per_query.then(scores),
            documents: Members(
                run.queries
                    .iter()
                    .filter(|_| per_query)
                    .filter_map(|query| Some((query.key.as_str(), query.documents.as_ref()?)))
                    .collect(),
            ),
            unknown: &run.unknown,
            not_eligible: run.not_eligible,
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
            points: &run.points,
            components: run.components.iter().map(Component::of).collect(),
            routing: cells(&run.routing, ["expected", "selected"]),
            collaboration: cells(&run.collaboration, ["primary", "contributed"]),
            coverage: coverage(run),
            low: ends(measures, &run.bounds, |[low, _]| *low),
            high: ends(measures, &run.bounds, |[_, high]| *high),
            per_query_low: ends_of_queries(|[low, _]| *low),
            per_query_high: ends_of_queries(|[_, high]| *high),
        }
    }
}

/// Member of a cell of a matrix.
#[derive(Serialize)]
#[serde(untagged)]
enum Cell<'a> {
    Domain(&'a str),
    Searches(u64),
}

/// Cells of a matrix, with the names of their domains.
fn cells<'a>(
    matrix: &'a BTreeMap<(String, String), u64>,
    [row, column]: [&'a str; 2],
) -> Vec<Members<&'a str, Cell<'a>>> {
    let cells = matrix.iter().map(|((from, to), searches)| {
        Members(vec![
            (row, Cell::Domain(from)),
            (column, Cell::Domain(to)),
            ("searches", Cell::Searches(*searches)),
        ])
    });
    cells.collect()
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

/// Ends of the bounds by measure. A measure without bounds is omitted.
fn ends<'a>(
    measures: &'a [String],
    bounds: &[Option<[f64; 2]>],
    end: impl Fn(&[f64; 2]) -> f64,
) -> Members<&'a str, f64> {
    let pairs = measures.iter().zip(bounds);
    let ends = pairs.filter_map(|(name, bounds)| Some((name.as_str(), end(bounds.as_ref()?))));
    Members(ends.collect())
}

/// Numbers by slice and value.
fn slices<'a, T>(
    run: &'a RunEvaluation,
    numbers: impl Fn(&'a SliceValue) -> T,
) -> Members<&'a str, Members<&'a str, T>> {
    let slices = run.by.iter().map(|slice| {
        let values = slice.values.iter();
        let values = values.map(|value| (value.value.as_str(), numbers(value)));
        (slice.name.as_str(), Members(values.collect()))
    });
    Members(slices.collect())
}
