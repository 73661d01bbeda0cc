//! Measures of coverage and diversity of a result list: facets, sources, repetitions, the context
//! passed to an answering model, the document graph.

use smallvec::SmallVec;

use super::catalogue::Measure;
use super::descriptor::{Argument, CutoffRule, Parameter, ParameterDefault, Source};
use super::family::measures;
use super::field::{ABSENT, AT_OPTIONAL_K, FACET, Field, REL};
use super::parameter::{Absent, Cutoff};
use crate::gold::{GoldQuery, Grade, hash_document, hash_edge};
use crate::number::real_length;
use crate::ranking::Judged;

measures! {
    /// Measure of coverage or diversity. `facet` is the name of a document attribute. `cutoff` is the
    /// number of first results that count, by default all. `rel` is the lowest relevant grade, by
    /// default the relevance level of the gold set.
    pub enum Diversity;
    subject: Ranking;
    argument: None;
    build: |arguments, measure| Ok(Measure::Diversity(measure));
    /// Returns the score of one search; `None` if there is nothing to cover, or if the search lacks
    /// the data that the measure needs.
    pub fn score(judged: &Judged<'_>) -> Option<f64>;

    /// A document without a facet in the gold set counts in neither. With `from`, only queries that
    /// start from documents with that value of the facet have a score.
    "FacetR" [] FacetRecall { recall: FacetRecall = FACET_RECALL }
        : UNIT, Up, Source::Rankgauge, "Recall of the relevant documents with a facet value"
        => recall.score(judged);

    "FacetCoverage" [] FacetCoverage { facet: Box<str> = FACET }
        : UNIT, Up, Source::Rankgauge,
        "Expected facet values among the results, divided by the expected values"
        => {
            let mut expected = Expected::of(judged.query.expected.get(&**facet)?);
            for position in 0..judged.search.results.len() {
                if let Some(value) = judged.facet(position, facet) {
                    expected.note(&value);
                }
            }
            expected.coverage()
        };

    "Entropy" [] Entropy { facet: Box<str> = FACET, cutoff: Option<Cutoff> = AT_OPTIONAL_K }
        : NON_NEGATIVE, Up, Source::Paper("Shannon 1948"),
        "Shannon entropy of the facet over the results, in bits"
        => {
            entropy(judged, facet, *cutoff)
        };

    "DupBefore" [] DuplicatesBefore
        : UNIT, Down, Source::Rankgauge, "Repeated ids, divided by all ids, before deduplication"
        => {
            let before = judged.search.merged_from.as_ref()?;
            share(judged.repetitions_before()?, before.len())
        };

    "DupAfter" [] DuplicatesAfter
        : UNIT, Down, Source::Rankgauge, "Repeated ids, divided by all ids, of the results"
        => Some(repeated_after(judged));

    "DupRemoved" [] DuplicatesRemoved
        : UNBOUNDED, Neither, Source::Rankgauge,
        "Number of repeated ids before deduplication, minus the number after it"
        => {
            let before = judged.repetitions_before()?;
            Some(real_length(before) - real_length(judged.repetitions_after()))
        };

    /// 1 if there were no repetitions before. Negative if the deduplication adds repetitions.
    "DedupEffect" [] DeduplicationEffect
        : AT_MOST_ONE, Up, Source::Rankgauge,
        "Reduction of the share of repeated ids by deduplication"
        => {
            let before = judged.search.merged_from.as_ref()?;
            let before = share(judged.repetitions_before()?, before.len()).unwrap_or(0.0);
            let after = repeated_after(judged);
            Some(if before > 0.0 {
                (before - after) / before
            } else {
                1.0
            })
        };

    "ContextP" [] ContextPrecision { rel: Option<Grade> = REL }
        : UNIT, Up, Source::Rankgauge, "Relevant documents in the context, divided by the ids in it"
        => {
            let context = judged.search.context.as_ref()?;
            let level = rel.unwrap_or(judged.query.judgements.level());
            let relevant = distinct(documents(judged.query, context.iter().map(|id| &**id)), |it| it.is_relevant_at(level));
            share(relevant, context.len())
        };

    /// The gold query states the required ids; by default they are its relevant documents of the
    /// highest grade.
    "ContextR" [] ContextRecall { rel: Option<Grade> = REL }
        : UNIT, Up, Source::Rankgauge,
        "Required documents in the context, divided by the required documents"
        => context_recall(judged, *rel);

    "NodeCoverage" [] NodeCoverage
        : UNIT, Up, Source::Rankgauge,
        "Nodes of the gold graph among the results, divided by its nodes"
        => {
            let nodes = judged.query.graph.as_ref()?.node_hashes();
            coverage(nodes, judged.hashes().iter().copied())
        };

    /// The direction of an edge counts.
    "EdgeCoverage" [] EdgeCoverage
        : UNIT, Up, Source::Rankgauge,
        "Edges of the gold graph on the paths of the results, divided by its edges"
        => {
            let edges = judged.query.graph.as_ref()?.edge_hashes();
            let results = judged.search.results.iter();
            let walked = results.flat_map(|hit| hit.details().path.iter().flatten());
            coverage(edges, walked.map(|edge| hash_edge(&edge.from, &edge.to)))
        };

    "MaxDepth" [] MaxDepth
        : NON_NEGATIVE, Neither, Source::Rankgauge, "Largest graph depth of the results"
        => {
            let results = judged.search.results.iter();
            let depths = results.filter_map(|hit| hit.details().depth);
            depths.max().map(f64::from)
        };

    "MeanDepth" [] MeanDepth { absent: Absent = ABSENT }
        : NON_NEGATIVE, Neither, Source::Rankgauge, "Mean graph depth of the results"
        => {
            let depth = |depth: Option<u32>| match absent {
                Absent::Skip => depth,
                Absent::Zero => Some(depth.unwrap_or(0)),
            };
            let results = judged.search.results.iter();
            let depths = results.filter_map(|hit| depth(hit.details().depth));
            let depths: Vec<f64> = depths.map(f64::from).collect();
            (!depths.is_empty()).then(|| depths.iter().sum::<f64>() / real_length(depths.len()))
        };
}

/// Parameters of `FacetR`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FacetRecall {
    /// Name of the facet.
    pub facet: Box<str>,
    /// Value of the facet.
    pub value: Box<str>,
    /// True if the facet must have the value, false if it must have another one.
    pub equal: bool,
    /// Value of the facet that a relevant document of the query's highest grade must have.
    pub from: Option<Box<str>>,
    /// Number of first results that count, by default all.
    pub cutoff: Option<Cutoff>,
    /// Lowest relevant grade, by default the relevance level of the gold set.
    pub rel: Option<Grade>,
}

/// Condition of `FacetR` with its parameters, in any spelling.
const FACET_RECALL: Field<FacetRecall> = Field {
    argument: Argument::Condition,
    parameters: &[
        Parameter {
            name: "from",
            values: "a value of the facet",
            default: ParameterDefault::None,
        },
        REL.parameters[0],
    ],
    cutoff: CutoffRule::Optional,
    read: |arguments, parameters| {
        let (facet, value, equal) = arguments.condition().unwrap_or_default();
        Ok(FacetRecall {
            facet,
            value,
            equal,
            from: arguments.value(&parameters[0], |value| {
                (!value.is_empty()).then(|| value.into())
            })?,
            rel: (REL.read)(arguments, REL.parameters)?,
            cutoff: arguments.optional_cutoff()?,
        })
    },
    write: |recall, canonical, parameters| {
        let FacetRecall { facet, value, .. } = recall;
        let relation = if recall.equal { "=" } else { "!=" };
        canonical.argument(&format!("{facet}{relation}{value}"));
        canonical.parameter(parameters[0].name, recall.from.as_ref());
        (REL.write)(&recall.rel, canonical, REL.parameters);
        (AT_OPTIONAL_K.write)(&recall.cutoff, canonical, AT_OPTIONAL_K.parameters);
    },
};

impl FacetRecall {
    /// Number of relevant documents of a gold query with the facet. `None` if there is none, or if
    /// the query does not start from the stated value.
    pub fn in_gold(&self, query: &GoldQuery) -> Option<usize> {
        let in_gold = self.count(query, self.has_facet(query)?);
        (in_gold > 0).then_some(in_gold)
    }

    fn score(&self, judged: &Judged<'_>) -> Option<f64> {
        let query = judged.query;
        let has_facet = self.has_facet(query)?;
        let ranking = &judged.ranking;
        let served = ranking.grades().iter().zip(ranking.documents());
        let retrieved = served
            .take(self.cutoff.map_or(usize::MAX, Cutoff::length))
            .filter(|(grade, document)| {
                self.is_relevant(query, **grade) && document.is_some_and(&has_facet)
            });
        share(retrieved.count(), self.count(query, &has_facet))
    }

    /// Number of relevant documents of a gold query for which `has_facet` returns true.
    fn count(&self, query: &GoldQuery, has_facet: impl Fn(usize) -> bool) -> usize {
        let grades = query.judgements.grades().iter().enumerate();
        let relevant = grades.filter(|(_, grade)| self.is_relevant(query, Some(**grade)));
        relevant
            .filter(|(document, _)| has_facet(*document))
            .count()
    }

    fn is_relevant(&self, query: &GoldQuery, grade: Option<Grade>) -> bool {
        let level = self.rel.unwrap_or(query.judgements.level());
        grade.is_some_and(|grade| grade.is_relevant_at(level))
    }

    /// Condition on the number of a document.
    fn has_facet(&self, query: &GoldQuery) -> Option<impl Fn(usize) -> bool> {
        let from = self.from.as_deref();
        if from.is_some_and(|from| !query.starts_from(&self.facet, from, self.rel)) {
            return None;
        }
        let column = query.details.facet(&self.facet)?;
        let wanted = column.number_of(&self.value);
        Some(move |document: usize| {
            let stated = column.number(document);
            stated.is_some() && (stated == wanted) == self.equal
        })
    }
}

/// Returns the Shannon entropy of a facet over the first results that state it, in bits.
fn entropy(judged: &Judged<'_>, facet: &str, cutoff: Option<Cutoff>) -> Option<f64> {
    let results = judged.search.results.len();
    if results == 0 {
        return Some(0.0);
    }
    let top = cutoff.map_or(results, |k| k.length().min(results));
    let values = (0..top).filter_map(|position| judged.facet(position, facet));
    let mut values: SmallVec<[_; 16]> = values.collect();
    values.sort_unstable();
    (!values.is_empty()).then(|| {
        let information = values.chunk_by(|a, b| a == b).map(|equal| {
            let p = real_length(equal.len()) / real_length(values.len());
            -p * p.log2()
        });
        // Adding zero turns the -0 of a single value into 0.
        information.sum::<f64>() + 0.0
    })
}

/// Returns the share of repeated ids among the results.
fn repeated_after(judged: &Judged<'_>) -> f64 {
    share(judged.repetitions_after(), judged.search.results.len()).unwrap_or(0.0)
}

/// Distinct values that a search is expected to have, each with whether it has it.
struct Expected<'a> {
    values: SmallVec<[(&'a str, bool); 16]>,
}

impl<'a> Expected<'a> {
    fn of(values: &'a [String]) -> Self {
        let values = values.iter().map(|value| (&**value, false));
        let mut values: SmallVec<_> = values.collect();
        values.sort_unstable();
        values.dedup();
        Self { values }
    }

    /// Notes a value that the search has.
    fn note(&mut self, value: &str) {
        let found = self
            .values
            .binary_search_by(|(known, _)| (*known).cmp(value));
        if let Ok(index) = found {
            self.values[index].1 = true;
        }
    }

    /// Returns the share of the values that the search has; `None` if none is expected.
    fn coverage(&self) -> Option<f64> {
        let present = self.values.iter().filter(|(_, is_present)| *is_present);
        share(present.count(), self.values.len())
    }
}

/// Returns the share of the `expected` hashes, ascending, that are among those `found`. `None` if none
/// is expected.
fn coverage(expected: &[u64], found: impl Iterator<Item = u64>) -> Option<f64> {
    let positions = found.filter_map(|hash| expected.binary_search(&hash).ok());
    let mut positions: SmallVec<[usize; 32]> = positions.collect();
    positions.sort_unstable();
    positions.dedup();
    share(positions.len(), expected.len())
}

/// Judged documents among `ids`, with their grades.
fn documents<'a>(
    query: &GoldQuery,
    ids: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = (usize, Grade)> {
    let judgements = &query.judgements;
    ids.filter_map(|id| judgements.find_hash(hash_document(id)))
}

/// Returns the number of distinct documents with a grade for which `counts` returns true.
pub(super) fn distinct(
    documents: impl Iterator<Item = (usize, Grade)>,
    counts: impl Fn(Grade) -> bool,
) -> usize {
    let documents = documents.filter(|(_, grade)| counts(*grade));
    let mut documents: SmallVec<[usize; 16]> = documents.map(|(document, _)| document).collect();
    documents.sort_unstable();
    documents.dedup();
    documents.len()
}

/// Returns `part / whole`; `None` if the whole is 0.
pub(super) fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| real_length(part) / real_length(whole))
}

fn context_recall(judged: &Judged<'_>, rel: Option<Grade>) -> Option<f64> {
    let context = judged.search.context.as_ref()?;
    let query = judged.query;
    required_recall(
        &query.required,
        query,
        rel,
        context.iter().map(|id| hash_document(id)),
        documents(query, context.iter().map(|id| &**id)),
    )
}

/// Returns the share of the required documents that were found: those of `required`, by default the relevant
/// documents of the highest grade. What was found is given by hashes, and as judged documents.
pub(super) fn required_recall(
    required: &[String],
    query: &GoldQuery,
    rel: Option<Grade>,
    hashes: impl Iterator<Item = u64>,
    documents: impl Iterator<Item = (usize, Grade)>,
) -> Option<f64> {
    if required.is_empty() {
        let best = *query.judgements.descending().first()?;
        if !best.is_relevant_at(rel.unwrap_or(query.judgements.level())) {
            return None;
        }
        let found = distinct(documents, |grade| grade == best);
        share(found, query.judgements.relevant(Some(best)))
    } else {
        let required = required.iter().map(|id| hash_document(id));
        let mut required: SmallVec<[u64; 16]> = required.collect();
        required.sort_unstable();
        required.dedup();
        coverage(&required, hashes)
    }
}
