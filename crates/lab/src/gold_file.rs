//! Gold set of a [`Corpus`] in the native format.
//!
//! A gold loader can read the output. The module only writes: grades and labels come from the
//! corpus.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::corpus::{Corpus, GoldQuery, HIGHLY_RELEVANT, SCALE_MAX};
use super::vocabulary;

impl Corpus {
    /// Returns the gold set as a file in the native format (JSON, indented): version, queries, and
    /// per query its labels, needs, expectations, graph, and annotators' grades.
    #[expect(
        clippy::missing_panics_doc,
        reason = "it cannot panic: the invariant is stated where it is used"
    )]
    pub fn gold_json(&self) -> String {
        let file = GoldFile {
            version: format!("demo-{}", self.seed),
            created_at: "2025-11-17",
            scale_max: SCALE_MAX,
            relevance_level: 1,
            queries: self
                .queries
                .iter()
                .map(|query| self.gold_entry(query))
                .collect(),
        };
        serde_json::to_string_pretty(&file)
            .expect("invariant: a gold file has string keys and finite numbers only")
    }

    fn gold_entry<'a>(&'a self, query: &'a GoldQuery) -> GoldEntry<'a> {
        GoldEntry {
            query_id: &query.key,
            query_text: &query.text,
            aliases: query.alias.as_slice(),
            query_type: query.category.query_type(),
            difficulty: query.difficulty.name(),
            primary_domain: vocabulary::DOMAINS[query.domain],
            labels: GoldLabels {
                category: query.category.letter(),
            },
            ground_truth: GroundTruth {
                corpus: self,
                query,
            },
            total_relevant: query.relevant.len(),
            needs_a2a: query.needs_a2a,
            needs_rne: query.needs_rne,
            expected: (!query.expected_types.is_empty()).then(|| Expected {
                doc_type: query.expected_types.iter().map(|it| it.name()).collect(),
            }),
            required: query.required.iter().map(|&it| self.id(it)).collect(),
            graph: query.needs_rne.then(|| self.gold_graph(query)),
        }
    }

    /// Part of the law graph that a complete answer covers: the highly relevant documents and the
    /// paths to them.
    fn gold_graph<'a>(&'a self, query: &GoldQuery) -> GoldGraph<'a> {
        let relevant = query.relevant.iter();
        let highly = relevant.filter(|judgement| judgement.grade >= HIGHLY_RELEVANT);
        let (nodes, edges) = query
            .graph
            .leading_to(highly.map(|judgement| judgement.document));
        GoldGraph {
            nodes: nodes.into_iter().map(|it| self.id(it)).collect(),
            edges: edges
                .into_iter()
                .map(|ends| ends.map(|it| self.id(it)))
                .map(|[from, to]| GoldEdge { from, to })
                .collect(),
        }
    }

    fn id(&self, document: usize) -> &str {
        &self.documents[document].id
    }
}

#[derive(Serialize)]
struct GoldFile<'a> {
    version: String,
    created_at: &'static str,
    scale_max: u8,
    relevance_level: u8,
    queries: Vec<GoldEntry<'a>>,
}

#[derive(Serialize)]
struct GoldEntry<'a> {
    query_id: &'a str,
    query_text: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    aliases: &'a [String],
    query_type: &'static str,
    difficulty: &'static str,
    primary_domain: &'static str,
    labels: GoldLabels,
    ground_truth: GroundTruth<'a>,
    total_relevant: usize,
    needs_a2a: bool,
    needs_rne: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<Expected>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    required: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<GoldGraph<'a>>,
}

#[derive(Serialize)]
struct Expected {
    doc_type: Vec<&'static str>,
}

#[derive(Serialize)]
struct GoldGraph<'a> {
    nodes: Vec<&'a str>,
    edges: Vec<GoldEdge<'a>>,
}

#[derive(Serialize)]
struct GoldEdge<'a> {
    from: &'a str,
    to: &'a str,
}

#[derive(Serialize)]
struct GoldLabels {
    category: &'static str,
}

#[derive(Serialize)]
struct GoldGrade {
    relevance: u8,
    law_type: &'static str,
    doc_type: &'static str,
    domain: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotator_1: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotator_2: Option<u8>,
}

/// Judgements of one query as a JSON object, highest grade first.
struct GroundTruth<'a> {
    corpus: &'a Corpus,
    query: &'a GoldQuery,
}

impl Serialize for GroundTruth<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let judgements = self.query.relevant.iter().chain(&self.query.irrelevant);
        let mut map = serializer.serialize_map(None)?;
        for judgement in judgements {
            let document = &self.corpus.documents[judgement.document];
            let grade = GoldGrade {
                relevance: judgement.grade,
                law_type: document.law_type.name(),
                doc_type: document.doc_type.name(),
                domain: vocabulary::DOMAINS[document.domain],
                annotator_1: judgement.second_opinion.map(|_| judgement.grade),
                annotator_2: judgement.second_opinion,
            };
            map.serialize_entry(&document.id, &grade)?;
        }
        map.end()
    }
}
