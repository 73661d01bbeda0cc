//! Evaluation of runs, as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::options::{Goal, Options, Target};
use super::plane::PlanePoint;
use rankgauge_core::gold::{GoldSet, Grade};
use rankgauge_core::ranking::Judged;

/// Runs judged against one gold set.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Gold set that the runs were judged against.
    pub gold: GoldFacts,
    /// Measures, in the requested order. Every list "by measure" below has this order.
    pub measures: Vec<String>,
    /// Measure that represents the others, by position in `measures`; `None` for the usual one.
    pub headline: Option<usize>,
    /// Target means, only of measures in `measures`.
    pub targets: Vec<Target>,
    /// Measures that determine the overall tier of a run, by position in `measures`.
    pub tier_measures: Vec<usize>,
    /// Goals of a run, only with measures in `measures`.
    pub goals: Vec<Goal>,
    /// Runs, in the given order. At least one.
    pub runs: Vec<RunEvaluation>,
    /// Settings of the judgement that are not the usual ones.
    pub judging: StatedSettings,
}

/// Settings by name, with their values as text. Scores of different ones cannot be compared.
pub type StatedSettings = BTreeMap<String, String>;

impl Evaluation {
    /// Evaluation of runs that were judged against `gold` with `options`.
    pub fn of(gold: &GoldSet, options: &Options, runs: Vec<RunEvaluation>) -> Self {
        Self {
            gold: GoldFacts::of(gold),
            measures: options.measures.iter().map(ToString::to_string).collect(),
            headline: options.headline,
            targets: options.targets.clone(),
            tier_measures: options.tier_measures.clone(),
            goals: options.goals.clone(),
            runs,
            judging: options.stated.clone(),
        }
    }
}

/// Identity of the gold set. Scores against different gold sets cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoldFacts {
    /// Version of the gold set: as stated, or the beginning of the hash.
    pub version: String,
    /// SHA-256 of the files of the gold set.
    pub sha256: String,
    /// Number of queries.
    pub queries: usize,
    /// Number of judged (query, document) pairs.
    pub judgements: usize,
}

impl GoldFacts {
    /// Identity of a gold set.
    pub fn of(gold: &GoldSet) -> Self {
        Self {
            version: gold.version().to_owned(),
            sha256: gold.sha256().to_owned(),
            queries: gold.queries().len(),
            judgements: gold.judgement_count(),
        }
    }
}

/// Evaluation of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEvaluation {
    /// Name of the run: that of the file without directory and extension, or that of the variant.
    pub name: String,
    /// Tag of the run: the sixth column of a TREC run's last line. `None` if the run has no tag.
    pub tag: Option<String>,
    /// Queries that count in the means, in the order of the gold set. With `--complete`, queries
    /// that are missing from the run are included.
    pub queries: Vec<QueryEvaluation>,
    /// Keys of gold queries that the run does not answer.
    pub missing: Vec<String>,
    /// Keys of queries in the run that are not in the gold set.
    pub unknown: Vec<String>,
    /// Number of searches that are not judged, because they are not eligible.
    pub not_eligible: usize,
    /// Number of retrieved results over all counted queries.
    pub retrieved: u64,
    /// Number of relevant documents over all counted queries.
    pub relevant: u64,
    /// Number of relevant documents retrieved over all counted queries.
    pub relevant_retrieved: u64,
    /// Mean by measure over the queries that have a score; `None` if no query has one.
    pub means: Vec<Option<f64>>,
    /// Number of queries with a score, by measure.
    pub scored: Vec<usize>,
    /// Means of the lowest and of the highest scores over all grades of the unjudged results, by
    /// measure; `None` for a measure without bounds.
    pub bounds: Vec<Option<[f64; 2]>>,
    /// Mean of perfect rankings of the counted queries, by measure: an upper bound. `None` for
    /// measures without a target, and for measures of more than the ranking.
    pub perfect: Vec<Option<f64>>,
    /// Micro averages, one for each cutoff among the measures.
    pub micro: Vec<Micro>,
    /// Means by slice, in the requested order.
    pub by: Vec<Slice>,
    /// Mean interpolated precision at recall 0.0, 0.1 … 1.0; `None` unless curves are requested.
    pub curve: Option<[f64; 11]>,
    /// Mean nDCG at the cutoffs 1, 2, 3, 5, 10, 20, 50, 100, up to the length of the longest
    /// ranking; empty unless curves are requested.
    pub ndcg: Vec<(u32, f64)>,
    /// Precision and recall of the single queries at their first 100 ranks; empty unless curves are
    /// requested.
    pub points: Vec<PlanePoint>,
    /// Statistics of the components, in the order of the configuration; empty without components.
    pub components: Vec<ComponentFacts>,
    /// Number of searches by (expected domain, selected domain). Empty if the run has no routing
    /// data.
    pub routing: BTreeMap<(String, String), u64>,
    /// Number of searches by (primary domain, domain that contributed a relevant result). Empty
    /// without domains.
    pub collaboration: BTreeMap<(String, String), u64>,
}

/// Evaluation of one query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryEvaluation {
    /// Key of the gold query.
    pub key: String,
    /// Text of the query, if the gold set has it.
    pub text: Option<String>,
    /// True if the run answers the query.
    pub answered: bool,
    /// Number of retrieved results.
    pub retrieved: u64,
    /// Number of relevant documents.
    pub relevant: u64,
    /// Number of relevant documents that were retrieved.
    pub relevant_retrieved: u64,
    /// Score by measure; `None` if the query has no score.
    pub scores: Vec<Option<f64>>,
    /// Lowest and highest score over all grades of the unjudged results, by measure; `None` for a
    /// measure without bounds. Empty unless requested.
    pub bounds: Vec<Option<[f64; 2]>>,
    /// Documents of the answer and of the judgements, if requested.
    pub documents: Option<QueryDocuments>,
}

/// Documents of one query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueryDocuments {
    /// Ids of the results, in judged order.
    pub retrieved: Vec<String>,
    /// Ids of the relevant documents, highest grade first.
    pub relevant: Vec<String>,
    /// Ids of the relevant documents that are not among the results, highest grade first.
    pub missed: Vec<String>,
    /// Answer that a model gave from the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<QueryAnswer>,
}

/// Answer to one query. Its text is judged, and kept nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueryAnswer {
    /// True if the model declined to answer.
    pub refused: bool,
    /// Cited documents in the order of the answer, each once.
    pub citations: Vec<QueryCitation>,
}

/// Document that an answer cites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueryCitation {
    /// Id as it is cited.
    pub id: String,
    /// Grade; `None` for an unjudged document.
    pub grade: Option<Grade>,
    /// False if the document was neither among the results nor in the context: an invention.
    pub served: bool,
}

impl QueryAnswer {
    /// Answer of a judged search; `None` without one.
    pub(crate) fn of(judged: &Judged<'_>) -> Option<Self> {
        let answer = judged.answer()?;
        let citations = answer.cited().iter().map(|cited| QueryCitation {
            id: cited.id.to_string(),
            grade: cited.judged.map(|(_, grade)| grade),
            served: cited.is_served,
        });
        Some(Self {
            refused: answer.answer.is_refusal(),
            citations: citations.collect(),
        })
    }
}

/// Document counts of all queries together, at one cutoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Micro {
    /// Cutoff of the counts.
    #[serde(skip)]
    pub cutoff: u32,
    /// Number of relevant results retrieved.
    #[serde(rename = "TP")]
    pub true_positives: u64,
    /// Number of results that are not relevant.
    #[serde(rename = "FP")]
    pub false_positives: u64,
    /// Number of relevant documents that were not retrieved.
    #[serde(rename = "FN")]
    pub false_negatives: u64,
}

/// Means broken down by one label.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Name of the label: `query_type`.
    pub name: String,
    /// Values of the label, ordered by bytes.
    pub values: Vec<SliceValue>,
}

/// Means of the queries that share a label's value.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceValue {
    /// Value of the label: `keyword`.
    pub value: String,
    /// Number of queries with the value.
    pub queries: usize,
    /// Mean by measure.
    pub means: Vec<Option<f64>>,
    /// Number of queries with a score, by measure.
    pub scored: Vec<usize>,
}

/// Statistics of one component over a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentFacts {
    /// Name of the component: `rne`.
    pub name: String,
    /// Number of searches by need according to the gold set (first index; 0 no, 1 yes) and by
    /// execution of the component (second index).
    pub trigger: [[u64; 2]; 2],
    /// Number of results at a distance of 1, 2, 3, and 4 or more hops.
    pub hops: [u64; 4],
}
