//! Gold query: a query with relevance judgements.
//!
//! Plain data. Fields other than judgements are kept as written, for the measures that use them.

use std::collections::BTreeMap;

use super::answer::ExpectedAnswer;
use super::details::Details;
use super::graph::Graph;
use super::judgements::{Grade, Judgements};
use super::subtopics::Subtopics;

/// Query with its judgements and the other fields of the gold set.
#[derive(Clone, Debug, PartialEq)]
pub struct GoldQuery {
    /// Id in the gold set: `query_id` of the file, `query_key` of a search.
    pub key: String,
    /// Query text. Without it a search matches by key only.
    pub text: Option<String>,
    /// Alternative texts of the same query.
    pub aliases: Vec<String>,
    /// Labels by which slices break scores down: query_type, difficulty, primary_domain, category
    /// and other labels of the file.
    pub labels: BTreeMap<String, String>,
    /// Number of relevant documents that the file states.
    pub total_relevant: Option<u64>,
    /// Judged documents.
    pub judgements: Judgements,
    /// Fields of each judged document other than the grade, by the document's number in
    /// `judgements`. Empty when no document has any.
    pub details: Details,
    /// Judgements by subtopic. `None` if the file has no subtopics.
    pub subtopics: Option<Box<Subtopics>>,
    /// Components (`a2a`, `rne`); true if the component is needed to answer the query.
    pub needs: BTreeMap<String, bool>,
    /// Facet values that the results should cover, by facet.
    pub expected: BTreeMap<String, Vec<String>>,
    /// Ids that a complete context contains.
    pub required: Vec<String>,
    /// Expectations of the answer.
    pub answer: ExpectedAnswer,
    /// Part of the document graph that the results should cover.
    pub graph: Option<Graph>,
    /// Gold texts, for results without document ids.
    pub texts: Vec<String>,
    /// True if results are judged by their texts: the file lists texts and no documents. The
    /// judgements are then those of `texts`, in their order.
    pub by_text: bool,
}

/// Label of a gold query that names its domain.
const PRIMARY_DOMAIN: &str = "primary_domain";

impl GoldQuery {
    /// Field of a query, and label by which slices tell answerable queries from others.
    pub const ANSWERABLE: &str = "answerable";

    /// Domain that answers the query.
    pub fn domain(&self) -> Option<&str> {
        self.labels.get(PRIMARY_DOMAIN).map(String::as_str)
    }

    /// Returns true if it says anything about good results: judgements, or what they should contain.
    pub(super) fn judges(&self) -> bool {
        let has_expectations = !(self.needs.is_empty()
            && self.expected.is_empty()
            && self.required.is_empty()
            && self.answer.is_empty()
            && self.graph.is_none());
        let has_judgements = !(self.judgements.is_empty() && self.texts.is_empty());
        has_judgements || has_expectations || self.domain().is_some()
    }

    /// Judged documents with their grades, in the order of the file. Empty when texts are judged.
    pub fn documents(&self) -> Vec<(&str, Grade)> {
        if self.by_text {
            Vec::new()
        } else {
            self.judgements.documents()
        }
    }

    /// Returns true if the query starts from documents with this facet value: a relevant document
    /// of its highest grade has it. `rel` is the lowest relevant grade, by default that of the set.
    pub fn starts_from(&self, facet: &str, value: &str, rel: Option<Grade>) -> bool {
        let level = rel.unwrap_or(self.judgements.level());
        let best = self.judgements.descending().first();
        let Some(best) = best.filter(|best| best.is_relevant_at(level)) else {
            return false;
        };
        let Some(column) = self.details.facet(facet) else {
            return false;
        };
        (0..self.judgements.len())
            .filter(|document| self.judgements.grade(*document).as_ref() == Some(best))
            .any(|document| column.value(document) == Some(value))
    }
}

/// Fields of a judgement other than the grade.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgementDetail {
    /// Facets of the document, for example `law_type`.
    pub facets: BTreeMap<String, String>,
    /// Grades of the annotators, by field name (`annotator_1`).
    pub annotations: BTreeMap<String, Grade>,
    /// Notes of the annotators.
    pub notes: Option<String>,
}

impl JudgementDetail {
    /// Returns true if there are no facets, annotations or notes.
    pub fn is_empty(&self) -> bool {
        self.facets.is_empty() && self.annotations.is_empty() && self.notes.is_none()
    }
}
