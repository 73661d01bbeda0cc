//! Offline evaluation: whole runs judged against a gold set, as data that reports show.
//!
//! The scores are those of the live path: the same measures, the same judging. Nothing here knows
//! how a report looks or where it goes.

mod judging;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::run::Run;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::Rules;

pub use judging::label_of;

/// What is evaluated, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The measures; none of people, who are not in a run.
    pub measures: Vec<Measure>,
    /// How searches are judged.
    pub rules: Rules,
    /// Gold queries that the run does not answer count with zero results (trec_eval -c).
    pub complete: bool,
    /// Only gold queries with a relevant document count.
    pub has_relevant: bool,
    /// Labels (of the gold query, else of the search) that break the means down.
    pub by: Vec<String>,
    /// What the measures are asked to reach.
    pub targets: Vec<Target>,
    /// Whether to gather what only pictures show: the precision-recall curve, nDCG by cutoff.
    pub pictures: bool,
}

/// Why runs cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "run {run}, line {line}: the gold query `{query}` is answered again, first on line {first} \
     under another name; a run answers a query once"
)]
pub struct AnsweredTwice {
    /// The run's name.
    pub run: String,
    /// The gold query's key.
    pub query: String,
    /// Where it is answered again.
    pub line: usize,
    /// Where it was answered first.
    pub first: usize,
}

/// Judges `runs` against `gold`.
///
/// # Errors
/// When a run answers a gold query twice, by its key and by its text.
pub fn evaluate(
    gold: &GoldSet,
    runs: &[Run<'_>],
    options: &Options,
) -> Result<Evaluation, AnsweredTwice> {
    Ok(Evaluation {
        gold: GoldFacts {
            version: gold.version().to_owned(),
            sha256: gold.sha256().to_owned(),
            queries: gold.queries().len(),
            judgements: gold.judgement_count(),
        },
        measures: options.measures.iter().map(ToString::to_string).collect(),
        targets: options.targets.clone(),
        runs: runs
            .iter()
            .map(|run| judging::judge(gold, run, options))
            .collect::<Result<_, _>>()?,
    })
}

/// Runs judged against one gold set.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// What the runs were judged against.
    pub gold: GoldFacts,
    /// The measures, in the order in which they were asked for. Everything that is a list "by
    /// measure" below is in this order.
    pub measures: Vec<String>,
    /// What the measures are asked to reach; only of measures in `measures`.
    pub targets: Vec<Target>,
    /// The runs, in the order in which they were given. At least one.
    pub runs: Vec<RunEvaluation>,
}

/// Which gold set, so that nobody compares scores against different ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GoldFacts {
    /// Its version: stated, or the beginning of the hash.
    pub version: String,
    /// SHA-256 of its files.
    pub sha256: String,
    /// Its queries.
    pub queries: usize,
    /// Its judged (query, document) pairs.
    pub judgements: usize,
}

/// A mean that a measure is asked to reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Position in [`Evaluation::measures`].
    pub measure: usize,
    /// What reaching it is called: `excellent`, `good`.
    pub tier: String,
    /// The lowest mean that reaches it.
    pub value: f64,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEvaluation {
    /// Its name: the file's without folder and extension, or the variant's.
    pub name: String,
    /// What the run calls itself: the sixth column of a TREC run. `None` where it says nothing.
    pub tag: Option<String>,
    /// The queries that count in the means, in the order of the gold set. With `--complete`, those
    /// that are missing from the run as well.
    pub queries: Vec<QueryEvaluation>,
    /// Keys of gold queries that the run does not answer.
    pub missing: Vec<String>,
    /// Keys of queries in the run that the gold set does not know.
    pub unknown: Vec<String>,
    /// Retrieved results over all counted queries.
    pub retrieved: u64,
    /// Relevant documents over all counted queries.
    pub relevant: u64,
    /// Relevant documents retrieved over all counted queries.
    pub relevant_retrieved: u64,
    /// Mean by measure over the queries that have a score; `None` where no query has one.
    pub means: Vec<Option<f64>>,
    /// Micro averages, a row for each cutoff among the measures.
    pub micro: Vec<Micro>,
    /// Means by slice, in the order in which the slices were asked for.
    pub by: Vec<Slice>,
    /// Mean interpolated precision at recall 0.0, 0.1 … 1.0; `None` unless pictures are wanted.
    pub curve: Option<[f64; 11]>,
    /// Mean nDCG at the cutoffs 1, 2, 3, 5, 10, 20, 50, 100, as far as the longest ranking reaches;
    /// empty unless pictures are wanted.
    pub ndcg: Vec<(u32, f64)>,
    /// What the components did, in the order of the configuration; empty without components.
    pub components: Vec<ComponentFacts>,
    /// (expected domain, selected domain) -> searches. Empty where the run says nothing of routing.
    pub routing: BTreeMap<(String, String), u64>,
    /// (primary domain, domain that contributed a relevant result) -> searches. Empty without
    /// domains.
    pub collaboration: BTreeMap<(String, String), u64>,
}

/// What one query scored.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryEvaluation {
    /// The gold query's key.
    pub key: String,
    /// Its text, where the gold set has it.
    pub text: Option<String>,
    /// Whether the run answers it.
    pub answered: bool,
    /// Its retrieved results.
    pub retrieved: u64,
    /// Its relevant documents.
    pub relevant: u64,
    /// Its relevant documents that were retrieved.
    pub relevant_retrieved: u64,
    /// By measure; `None` where the query has no score.
    pub scores: Vec<Option<f64>>,
}

/// Documents of all queries together, at one cutoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Micro {
    /// The cutoff.
    pub cutoff: u32,
    /// Relevant results retrieved.
    pub true_positives: u64,
    /// Results that are not relevant.
    pub false_positives: u64,
    /// Relevant documents missed.
    pub false_negatives: u64,
}

/// Means broken down by one label.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// The label: `query_type`.
    pub name: String,
    /// Its values in their order by bytes.
    pub values: Vec<SliceValue>,
}

/// Means of the queries that share a label's value.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceValue {
    /// The value: `keyword`.
    pub value: String,
    /// The queries that have it.
    pub queries: usize,
    /// Mean by measure.
    pub means: Vec<Option<f64>>,
}

/// What one component did over a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentFacts {
    /// Its name: `rne`.
    pub name: String,
    /// Searches by whether the gold set says the component was needed (first index; 0 no, 1 yes)
    /// and whether it fired (second).
    pub trigger: [[u64; 2]; 2],
    /// Its results at a distance of 1, 2, 3, and 4 or more hops.
    pub hops: [u64; 4],
}
