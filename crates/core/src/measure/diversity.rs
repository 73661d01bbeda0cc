//! Measures of coverage and diversity of a result list: facets, sources, repetitions, the context
//! passed to an answering model, the document graph.

use std::fmt;

use smallvec::SmallVec;

use super::catalogue::entry;
use super::descriptor::Descriptor;
use super::grammar::{shown, write_canonical};
use super::{Absent, Cutoff, real};
use crate::gold::{GoldQuery, Grade, hash_document, hash_edge};
use crate::ranking::Judged;

/// Measure of coverage or diversity. `facet` is the name of a document attribute. `cutoff` is the
/// number of first results that count, by default all. `rel` is the lowest relevant grade, by
/// default the relevance level of the gold set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields are explained once, above")]
pub enum Diversity {
    /// `FacetR(law_type=시행령)`, `FacetR(law_type!=법률)`: relevant documents with that facet
    /// retrieved / in the gold set. A document without a facet in the gold set counts in neither.
    /// `FacetR(law_type=시행령,from=법률)`: only of queries that start from documents with that
    /// value of the facet.
    FacetRecall(FacetRecall),
    /// `FacetCoverage(doc_type)`: expected values present among the results / expected values.
    FacetCoverage { facet: Box<str> },
    /// `Entropy(source)@k`: Shannon entropy of the facet over the results that state it, in bits.
    Entropy {
        facet: Box<str>,
        cutoff: Option<Cutoff>,
    },
    /// `DupBefore`: repeated ids / all ids of `merged_from`.
    DuplicatesBefore,
    /// `DupAfter`: repeated ids / all ids of the results.
    DuplicatesAfter,
    /// `DedupEffect`: (before - after) / before; 1 if there were no repetitions before. Negative if
    /// the deduplication adds repetitions.
    DeduplicationEffect,
    /// `ContextP`: relevant ids / all ids of the search's context.
    ContextPrecision { rel: Option<Grade> },
    /// `ContextR`: required ids in the context / required ids. The gold query states the required
    /// ids; by default they are its relevant documents of the highest grade.
    ContextRecall { rel: Option<Grade> },
    /// `NodeCoverage`: nodes of the gold graph among the results / nodes.
    NodeCoverage,
    /// `EdgeCoverage`: edges of the gold graph, with their direction, among the results' paths /
    /// edges.
    EdgeCoverage,
    /// `MaxDepth`: largest depth among the results that state one.
    MaxDepth,
    /// `MeanDepth`: mean depth of the results that state one, or of all results.
    MeanDepth { absent: Absent },
    /// `DupRemoved`: repeated ids before deduplication, minus those after it.
    DuplicatesRemoved,
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

impl Diversity {
    /// Returns the facts about the measure.
    pub(super) fn descriptor(&self) -> &'static Descriptor {
        match self {
            Self::FacetRecall(_) => const { entry("FacetR") },
            Self::FacetCoverage { .. } => const { entry("FacetCoverage") },
            Self::Entropy { .. } => const { entry("Entropy") },
            Self::DuplicatesBefore => const { entry("DupBefore") },
            Self::DuplicatesAfter => const { entry("DupAfter") },
            Self::DeduplicationEffect => const { entry("DedupEffect") },
            Self::ContextPrecision { .. } => const { entry("ContextP") },
            Self::ContextRecall { .. } => const { entry("ContextR") },
            Self::NodeCoverage => const { entry("NodeCoverage") },
            Self::EdgeCoverage => const { entry("EdgeCoverage") },
            Self::MaxDepth => const { entry("MaxDepth") },
            Self::MeanDepth { .. } => const { entry("MeanDepth") },
            Self::DuplicatesRemoved => const { entry("DupRemoved") },
        }
    }

    /// Returns the score of one search; `None` if there is nothing to cover, or if the search lacks
    /// the data that the measure needs.
    pub fn score(&self, judged: &Judged<'_>) -> Option<f64> {
        let results = &judged.search.results;
        match self {
            Self::FacetRecall(recall) => recall.score(judged),
            Self::FacetCoverage { facet } => {
                let expected = judged.query.expected.get(&**facet)?;
                let mut expected = Expected::of(expected);
                for position in 0..results.len() {
                    if let Some(value) = judged.facet(position, facet) {
                        expected.note(&value);
                    }
                }
                expected.coverage()
            }
            Self::Entropy { facet, cutoff } => {
                if results.is_empty() {
                    return Some(0.0);
                }
                let top = cutoff.map_or(results.len(), |k| k.length().min(results.len()));
                let values = (0..top).filter_map(|position| judged.facet(position, facet));
                let mut values: SmallVec<[_; 16]> = values.collect();
                values.sort_unstable();
                (!values.is_empty()).then(|| {
                    let information = values.chunk_by(|a, b| a == b).map(|equal| {
                        let p = real(equal.len()) / real(values.len());
                        -p * p.log2()
                    });
                    // Adding zero turns the -0 of a single value into 0.
                    information.sum::<f64>() + 0.0
                })
            }
            Self::DuplicatesBefore => {
                let before = judged.search.merged_from.as_ref()?;
                share(judged.repetitions_before()?, before.len())
            }
            Self::DuplicatesAfter => {
                Some(share(judged.repetitions_after(), results.len()).unwrap_or(0.0))
            }
            Self::DeduplicationEffect => {
                let before = judged.search.merged_from.as_ref()?;
                let before = share(judged.repetitions_before()?, before.len()).unwrap_or(0.0);
                let after = share(judged.repetitions_after(), results.len()).unwrap_or(0.0);
                Some(if before > 0.0 {
                    (before - after) / before
                } else {
                    1.0
                })
            }
            Self::ContextPrecision { rel } => {
                let context = judged.search.context.as_ref()?;
                let level = rel.unwrap_or(judged.query.judgements.level());
                let relevant = judged_in(context.iter().map(|id| &**id), judged.query, |it| {
                    it.is_relevant_at(level)
                });
                share(relevant, context.len())
            }
            Self::ContextRecall { rel } => context_recall(judged, *rel),
            Self::NodeCoverage => {
                let nodes = judged.query.graph.as_ref()?.node_hashes();
                coverage(nodes, judged.hashes().iter().copied())
            }
            Self::EdgeCoverage => {
                let edges = judged.query.graph.as_ref()?.edge_hashes();
                let walked = results
                    .iter()
                    .flat_map(|hit| hit.details().path.iter().flatten());
                coverage(edges, walked.map(|edge| hash_edge(&edge.from, &edge.to)))
            }
            Self::MaxDepth => {
                let depths = results.iter().filter_map(|hit| hit.details().depth);
                depths.max().map(f64::from)
            }
            Self::DuplicatesRemoved => {
                let before = judged.repetitions_before()?;
                Some(real(before) - real(judged.repetitions_after()))
            }
            Self::MeanDepth { absent } => {
                let depth = |depth: Option<u32>| match absent {
                    Absent::Skip => depth,
                    Absent::Zero => Some(depth.unwrap_or(0)),
                };
                let depths = results.iter().filter_map(|hit| depth(hit.details().depth));
                let depths: Vec<f64> = depths.map(f64::from).collect();
                (!depths.is_empty()).then(|| depths.iter().sum::<f64>() / real(depths.len()))
            }
        }
    }
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

/// Returns the number of distinct documents among `ids` that have a grade for which `counts` returns
/// true.
fn judged_in<'a>(
    ids: impl Iterator<Item = &'a str>,
    query: &GoldQuery,
    counts: impl Fn(Grade) -> bool,
) -> usize {
    let judgements = &query.judgements;
    let judged = ids.filter_map(|id| judgements.find_hash(hash_document(id)));
    let mut documents: SmallVec<[usize; 16]> = judged
        .filter(|(_, grade)| counts(*grade))
        .map(|(document, _)| document)
        .collect();
    documents.sort_unstable();
    documents.dedup();
    documents.len()
}

/// Returns `part / whole`; `None` if the whole is 0.
fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| real(part) / real(whole))
}

fn context_recall(judged: &Judged<'_>, rel: Option<Grade>) -> Option<f64> {
    let context = judged.search.context.as_ref()?;
    let query = judged.query;
    if query.required.is_empty() {
        let best = *query.judgements.descending().first()?;
        if !best.is_relevant_at(rel.unwrap_or(query.judgements.level())) {
            return None;
        }
        let best_in_context =
            judged_in(context.iter().map(|id| &**id), query, |grade| grade == best);
        share(best_in_context, query.judgements.relevant(Some(best)))
    } else {
        let required = query.required.iter().map(|id| hash_document(id));
        let mut required: SmallVec<[u64; 16]> = required.collect();
        required.sort_unstable();
        required.dedup();
        coverage(&required, context.iter().map(|id| hash_document(id)))
    }
}

impl fmt::Display for Diversity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.descriptor().name;
        let (facet, rel, cutoff) = match self {
            Self::FacetRecall(FacetRecall {
                facet,
                value,
                equal,
                from,
                cutoff,
                rel,
            }) => {
                let condition = format!("{facet}{}{value}", if *equal { "=" } else { "!=" });
                let parameters = [("from", shown(from.as_ref())), ("rel", shown(rel.as_ref()))];
                let cutoff = shown(cutoff.as_ref());
                return write_canonical(f, name, Some(&condition), &parameters, cutoff);
            }
            Self::FacetCoverage { facet } => (Some(facet), None, None),
            Self::Entropy { facet, cutoff } => (Some(facet), None, cutoff.as_ref()),
            Self::ContextPrecision { rel } | Self::ContextRecall { rel } => {
                (None, rel.as_ref(), None)
            }
            Self::DuplicatesBefore
            | Self::DuplicatesAfter
            | Self::DeduplicationEffect
            | Self::NodeCoverage
            | Self::EdgeCoverage
            | Self::DuplicatesRemoved
            | Self::MaxDepth => (None, None, None),
            Self::MeanDepth { absent } => {
                let absent = (*absent == Absent::Zero).then_some("zero");
                return write_canonical(f, name, None, &[("absent", shown(absent.as_ref()))], None);
            }
        };
        let facet = facet.map(|facet| facet as &dyn fmt::Display);
        write_canonical(f, name, facet, &[("rel", shown(rel))], shown(cutoff))
    }
}
