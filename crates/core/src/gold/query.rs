//! One gold query: a query of which somebody judged what it should find.
//!
//! Plain data. What is not a judgement is kept as it was written, for the measures that ask for
//! it.

use std::collections::BTreeMap;

use super::{Grade, Judgements};

/// A query with its judgements and everything else a gold set says about it.
#[derive(Clone, Debug, PartialEq)]
pub struct GoldQuery {
    /// Its id in the gold set: `query_id` of the file, `query_key` of a search.
    pub key: String,
    /// What users type; without it a search can only be joined by key.
    pub text: Option<String>,
    /// Other texts that mean the same query.
    pub aliases: Vec<String>,
    /// What slices break scores down by: query_type, difficulty, primary_domain, category and
    /// whatever else the file labels it with.
    pub labels: BTreeMap<String, String>,
    /// How many relevant documents the file says there are, where it says so.
    pub total_relevant: Option<u64>,
    /// The judged documents.
    pub judgements: Judgements,
    /// What the file says of each judged document beside its grade, by the document's number in
    /// `judgements`. Empty when it says nothing of any.
    pub details: Vec<JudgementDetail>,
    /// Whether a component (`a2a`, `rne`) is needed to answer it.
    pub needs: BTreeMap<String, bool>,
    /// Values of a facet that the results should cover.
    pub expected: BTreeMap<String, Vec<String>>,
    /// Ids that a complete context holds.
    pub required: Vec<String>,
    /// The part of the document graph that the results should cover.
    pub graph: Option<Graph>,
    /// Texts that count as gold where documents have no ids.
    pub texts: Vec<String>,
    /// Whether results are judged by their texts: the file lists texts and no documents. The
    /// judgements then are of `texts`, in their order.
    pub by_text: bool,
}

impl GoldQuery {
    /// The judged documents with their grades, in the order of the file. None where the judgements
    /// are of texts.
    pub fn documents(&self) -> Vec<(&str, Grade)> {
        if self.by_text {
            Vec::new()
        } else {
            self.judgements.documents()
        }
    }
}

/// What a gold set says of one judgement beside the grade.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgementDetail {
    /// Facets of the document, for example `law_type`.
    pub facets: BTreeMap<String, String>,
    /// What each annotator gave, by the field's name (`annotator_1`).
    pub annotations: BTreeMap<String, Grade>,
    /// Why, in the annotators' words.
    pub notes: Option<String>,
}

impl JudgementDetail {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.facets.is_empty() && self.annotations.is_empty() && self.notes.is_none()
    }
}

/// Gold nodes and edges of a document graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Document ids.
    pub nodes: Vec<String>,
    /// Relations between them.
    pub edges: Vec<Edge>,
}

/// A directed relation between two documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Id of the document that refers.
    pub from: String,
    /// Id of the document that is referred to.
    pub to: String,
}
