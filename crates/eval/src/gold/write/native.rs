//! Writer of the native format, which holds all data of a gold set.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use rankgauge_core::gold::{Edge, GoldQuery, GoldSet, Grade, JudgementDetail};

/// Labels that are fields of the query object.
const NAMED_LABELS: [&str; 4] = ["query_type", "difficulty", "primary_domain", "category"];

/// Serialises the set to JSON, in the order of its queries and judgements.
pub(super) fn write(set: &GoldSet) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&NativeSet(set))?;
    text.push('\n');
    Ok(text)
}

struct NativeSet<'a>(&'a GoldSet);

impl Serialize for NativeSet<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let stated = self.0.metadata();
        if let Some(version) = &stated.version {
            map.serialize_entry("version", version)?;
        }
        if let Some(kind) = &stated.kind {
            map.serialize_entry("kind", kind)?;
        }
        if let Some(created_at) = &stated.created_at {
            map.serialize_entry("created_at", created_at)?;
        }
        if let Some(level) = stated.relevance_level {
            map.serialize_entry("relevance_level", &level)?;
        }
        if let Some(scale_max) = stated.scale_max {
            map.serialize_entry("scale_max", &scale_max)?;
        }
        let queries: Vec<NativeQuery<'_>> = self.0.queries().iter().map(NativeQuery).collect();
        map.serialize_entry("queries", &queries)?;
        map.end()
    }
}

struct NativeQuery<'a>(&'a GoldQuery);

impl Serialize for NativeQuery<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let query = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("query_id", &query.key)?;
        if let Some(text) = &query.text {
            map.serialize_entry("query_text", text)?;
        }
        if !query.aliases.is_empty() {
            map.serialize_entry("aliases", &query.aliases)?;
        }
        for name in NAMED_LABELS {
            if let Some(value) = query.labels.get(name) {
                map.serialize_entry(name, value)?;
            }
        }
        let others = query.labels.iter();
        let others: BTreeMap<&String, &String> = others
            .filter(|(name, _)| {
                let is_field = query.answer.answerable.is_some() && *name == GoldQuery::ANSWERABLE;
                !is_field && !NAMED_LABELS.contains(&name.as_str())
            })
            .collect();
        if !others.is_empty() {
            map.serialize_entry("labels", &others)?;
        }
        map.serialize_entry("ground_truth", &GroundTruth(query))?;
        if query.total_relevant.is_some() {
            // The count of the written judgements replaces the stated count.
            map.serialize_entry("total_relevant", &query.judgements.relevant(None))?;
        }
        if !query.needs.is_empty() {
            map.serialize_entry("needs", &query.needs)?;
        }
        if let Some(subtopics) = &query.subtopics {
            let mut by_name: BTreeMap<&str, BTreeMap<&str, Grade>> = BTreeMap::new();
            for (number, (document, _)) in query.judgements.documents().into_iter().enumerate() {
                for (subtopic, grade) in subtopics.of_document(number) {
                    if let Some(name) = subtopics.names().get(*subtopic) {
                        let documents = by_name.entry(name).or_default();
                        documents.insert(document, *grade);
                    }
                }
            }
            map.serialize_entry("subtopics", &by_name)?;
        }
        if !query.expected.is_empty() {
            map.serialize_entry("expected", &query.expected)?;
        }
        if !query.required.is_empty() {
            map.serialize_entry("required", &query.required)?;
        }
        let answer = &query.answer;
        let lists = [
            ("answers", &answer.references),
            ("must_cite", &answer.must_cite),
            ("must_contain", &answer.must_contain),
        ];
        for (name, entries) in lists.into_iter().filter(|(_, it)| !it.is_empty()) {
            map.serialize_entry(name, entries)?;
        }
        if let Some(answerable) = answer.answerable {
            map.serialize_entry(GoldQuery::ANSWERABLE, &answerable)?;
        }
        if let Some(graph) = &query.graph {
            let edges: Vec<NativeEdge<'_>> = graph.edges().iter().map(NativeEdge).collect();
            map.serialize_entry("graph", &NativeGraph(graph.nodes(), edges))?;
        }
        if !query.texts.is_empty() {
            map.serialize_entry("texts", &query.texts)?;
        }
        map.end()
    }
}

struct GroundTruth<'a>(&'a GoldQuery);

impl Serialize for GroundTruth<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let documents = self.0.documents().into_iter().enumerate();
        serializer.collect_map(documents.map(|(position, (document, grade))| {
            let detail = self.0.details.get(position);
            (document, NativeJudgement(grade, detail))
        }))
    }
}

struct NativeJudgement<'a>(Grade, Option<&'a JudgementDetail>);

impl Serialize for NativeJudgement<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(detail) = self.1.filter(|detail| !detail.is_empty()) else {
            return self.0.serialize(serializer);
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("relevance", &self.0)?;
        for (facet, value) in &detail.facets {
            map.serialize_entry(facet, value)?;
        }
        for (annotator, grade) in &detail.annotations {
            map.serialize_entry(annotator, grade)?;
        }
        if let Some(notes) = &detail.notes {
            map.serialize_entry("notes", notes)?;
        }
        map.end()
    }
}

struct NativeGraph<'a>(&'a [String], Vec<NativeEdge<'a>>);

impl Serialize for NativeGraph<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("nodes", self.0)?;
        map.serialize_entry("edges", &self.1)?;
        map.end()
    }
}

struct NativeEdge<'a>(&'a Edge);

impl Serialize for NativeEdge<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("from", &self.0.from)?;
        map.serialize_entry("to", &self.0.to)?;
        map.end()
    }
}
