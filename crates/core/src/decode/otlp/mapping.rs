//! Mapping of spans to searches: the section `otlp` of the configuration.

use std::collections::BTreeMap;

use super::feedback::FeedbackAction;
use super::span::Resource;

/// Kind of span that is a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpanKind {
    /// Retrieval of documents.
    Retriever,
    /// Reranking of documents.
    Reranker,
}

impl SpanKind {
    /// Every kind with its name in the configuration.
    pub const NAMES: [(&str, Self); 2] =
        [("retriever", Self::Retriever), ("reranker", Self::Reranker)];

    /// Name in the configuration and in labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Retriever => "retriever",
            Self::Reranker => "reranker",
        }
    }
}

/// Session of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Session {
    /// The trace.
    #[default]
    Trace,
    /// The attribute `session.id` or `gen_ai.conversation.id`.
    SessionId,
}

impl Session {
    /// Every choice with its name in the configuration.
    pub const NAMES: [(&str, Self); 2] = [("trace", Self::Trace), ("session.id", Self::SessionId)];
}

/// Source of a value in a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `span.kind`: `retriever` or `reranker`.
    SpanKind,
    /// `span.name`.
    SpanName,
    /// `metadata.KEY`: member of the JSON object in the attribute `metadata`, or the attribute
    /// `langfuse.observation.metadata.KEY`, whose position in [`Mapping::span_attributes`] is given.
    Metadata(String, usize),
    /// `resource.KEY`: resource attribute, by its position in [`Mapping::resource_attributes`].
    Resource(usize),
    /// Attribute of the span, by its position in [`Mapping::span_attributes`].
    Attribute(usize),
}

/// Source of an id in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentSource {
    /// `document.id`.
    Id,
    /// `metadata.KEY`.
    Metadata(String),
}

impl DocumentSource {
    /// Parses `document.id` or `metadata.KEY`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "document.id" {
            return Some(Self::Id);
        }
        let key = text.strip_prefix("metadata.")?;
        (!key.is_empty()).then(|| Self::Metadata(key.to_owned()))
    }
}

/// Mapping of spans to searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Kinds that are searches.
    pub search_spans: Vec<SpanKind>,
    /// Patterns of span names that are searches; every name if empty.
    pub names: Vec<String>,
    /// Patterns of span names that are no searches.
    pub ignore_names: Vec<String>,
    /// Attributes of resources, by their positions in [`Mapping::resource_attributes`], with patterns of
    /// their values. A span of a resource that does not match all of them is no search.
    pub resources: Vec<(usize, Vec<String>)>,
    /// Patterns of the names of instrumentation scopes whose spans are searches; every scope if empty.
    pub scopes: Vec<String>,
    /// Members of a JSON input that can be the query, in order of precedence.
    pub query_fields: Vec<String>,
    /// Sources of the query key, in order of precedence.
    pub query_key: Vec<Source>,
    /// Sources of the id of a document, in order of precedence.
    pub document_id: Vec<DocumentSource>,
    /// Sources of the group of a document, in order of precedence.
    pub group_id: Vec<DocumentSource>,
    /// Sources of the variant, in order of precedence.
    pub variant: Vec<Source>,
    /// Session of a search.
    pub session: Session,
    /// Labels with their sources.
    pub labels: Vec<(String, Source)>,
    /// Names of the attributes that sources refer to.
    pub span_attributes: Vec<String>,
    /// Names of the resource attributes that sources refer to.
    pub resource_attributes: Vec<String>,
    /// Patterns of names of spans whose output is the answer of their trace; none if empty.
    pub answers: Vec<String>,
    /// Actions of feedback, by the name of the evaluation.
    pub feedback: BTreeMap<String, FeedbackAction>,
}

impl Mapping {
    /// Maximum number of spans or log records in a record.
    pub const MAX_SPANS: usize = 100_000;

    /// Mapping that selects nothing.
    pub const EMPTY: Self = Self {
        search_spans: Vec::new(),
        names: Vec::new(),
        ignore_names: Vec::new(),
        resources: Vec::new(),
        scopes: Vec::new(),
        query_fields: Vec::new(),
        query_key: Vec::new(),
        document_id: Vec::new(),
        group_id: Vec::new(),
        variant: Vec::new(),
        session: Session::Trace,
        labels: Vec::new(),
        span_attributes: Vec::new(),
        resource_attributes: Vec::new(),
        answers: Vec::new(),
        feedback: BTreeMap::new(),
    };

    /// Default patterns of ignored names: inner spans of LlamaIndex.
    pub const IGNORE_NAMES: [&str; 2] = ["*._retrieve", "*._aretrieve"];
    /// Default members of a JSON input.
    pub const QUERY_FIELDS: [&str; 4] = ["query", "query_str", "question", "input"];
    /// Default sources of the query key.
    pub const QUERY_KEY: [&str; 1] = ["metadata.query_key"];
    /// Default sources of the variant.
    pub const VARIANT: [&str; 3] = [
        "metadata.variant",
        "langfuse.version",
        "resource.service.version",
    ];

    /// Parses a source, and notes the attributes that it refers to. `None` for an empty name.
    pub fn source(&mut self, text: &str) -> Option<Source> {
        let position = |names: &mut Vec<String>, name: String| {
            let known = names.iter().position(|known| *known == name);
            known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        let source = match text {
            "" | "metadata." | "resource." => return None,
            "span.kind" => Source::SpanKind,
            "span.name" => Source::SpanName,
            _ => {
                if let Some(key) = text.strip_prefix("metadata.") {
                    let attribute = format!("langfuse.observation.metadata.{key}");
                    let attribute = position(&mut self.span_attributes, attribute);
                    Source::Metadata(key.to_owned(), attribute)
                } else if let Some(key) = text.strip_prefix("resource.") {
                    Source::Resource(position(&mut self.resource_attributes, key.to_owned()))
                } else {
                    Source::Attribute(position(&mut self.span_attributes, text.to_owned()))
                }
            }
        };
        Some(source)
    }

    /// Adds a condition on the values of the resource attribute `name`.
    pub fn require_resource(&mut self, name: &str, patterns: Vec<String>) {
        if let Some(Source::Resource(position)) = self.source(&format!("resource.{name}")) {
            self.resources.push((position, patterns));
        }
    }

    /// Returns true if spans of this resource can be searches.
    pub(super) fn selects_resource(&self, resource: &Resource<'_>) -> bool {
        self.resources.iter().all(|(position, patterns)| {
            let value = resource.configured.get(*position).copied().flatten();
            let value = value.and_then(|raw| raw.decode().ok()?.scalar());
            value.is_some_and(|value| matches(patterns, &value))
        })
    }

    /// Returns true if spans of the scope of this name can be searches.
    pub(super) fn selects_scope(&self, name: &[u8]) -> bool {
        let matches_name = |name| matches(&self.scopes, name);
        self.scopes.is_empty() || std::str::from_utf8(name).is_ok_and(matches_name)
    }

    /// Returns true if the output of a span of this name is the answer of its trace.
    pub(super) fn selects_answer(&self, name: &str) -> bool {
        matches(&self.answers, name)
    }

    /// Returns true if a span of this name is a search.
    pub(super) fn selects_name(&self, name: &str) -> bool {
        (self.names.is_empty() || matches(&self.names, name)) && !matches(&self.ignore_names, name)
    }
}

impl Default for Mapping {
    fn default() -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let mut mapping = Self {
            search_spans: vec![SpanKind::Retriever],
            ignore_names: owned(&Self::IGNORE_NAMES),
            query_fields: owned(&Self::QUERY_FIELDS),
            document_id: vec![DocumentSource::Id],
            ..Self::EMPTY
        };
        mapping.query_key = Self::QUERY_KEY
            .iter()
            .filter_map(|text| mapping.source(text))
            .collect();
        mapping.variant = Self::VARIANT
            .iter()
            .filter_map(|text| mapping.source(text))
            .collect();
        mapping
    }
}

fn matches(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| is_match(pattern, name))
}

/// Returns true if `name` matches `pattern`, in which `*` stands for any text. The work is bounded by
/// the product of both lengths.
fn is_match(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(found) = rest.find(part) else {
            return false;
        };
        rest = &rest[found + part.len()..];
    }
    rest.ends_with(last)
}
