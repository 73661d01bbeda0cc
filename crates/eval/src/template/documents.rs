//! Documents with their attributes: from JSON Lines, from a table, or from the facets of a gold set.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use rankgauge_core::columns;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::gold::expansion::Relation;

/// Attribute that every document has.
pub(super) const ID: &str = "id";

/// Documents by id, each with its attributes. An attribute can have several values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documents(BTreeMap<String, BTreeMap<String, Vec<String>>>);

/// Error in a file of documents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct DocumentError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Description of the error and its remedy.
    pub problem: String,
}

impl Documents {
    /// Documents of a gold set with their facets.
    pub fn of_gold(gold: &GoldSet) -> Self {
        let mut documents = Self::default();
        for query in gold.queries() {
            let mut details = query.details.iter();
            for (id, _) in query.documents() {
                let attributes = documents.0.entry(id.to_owned()).or_default();
                let facets = details.next().into_iter().flat_map(|detail| &detail.facets);
                for (name, value) in facets {
                    let values = attributes.entry(name.clone()).or_default();
                    if !values.contains(value) {
                        values.push(value.clone());
                    }
                }
            }
        }
        documents
    }

    /// Parses documents: JSON Lines with `id` and attributes, or CSV or TSV with a header.
    ///
    /// # Errors
    /// The first wrong line.
    pub fn parse(file: &str, text: &str) -> Result<Self, DocumentError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let wrong = |line: usize, problem: String| DocumentError {
            file: file.to_owned(),
            line,
            problem,
        };
        let mut documents = Self::default();
        if text.trim_start().starts_with('{') {
            let lines = (1..).zip(text.lines());
            for (line, json) in lines.filter(|(_, line)| !line.trim().is_empty()) {
                let fields: serde_json::Map<String, Value> = serde_json::from_str(json)
                    .map_err(|error| wrong(line, format!("not a JSON object: {error}")))?;
                let id = fields.get(ID).and_then(text_of);
                let id = id.ok_or_else(|| wrong(line, "a document needs an `id`".to_owned()))?;
                documents.add(id, fields.iter().filter(|(name, _)| *name != ID));
            }
            return Ok(documents);
        }
        let mut reader = columns::reader(text).from_reader(text.as_bytes());
        let header = reader.headers().cloned();
        let header = header.map_err(|error| wrong(1, error.to_string()))?;
        let id_column = header.iter().position(|name| name == ID);
        let id_column = id_column.ok_or_else(|| {
            wrong(
                1,
                "the header has no column `id`; write JSON Lines with `id`, or a table with a header"
                    .to_owned(),
            )
        })?;
        for row in reader.records() {
            let row = row.map_err(|error| {
                let line = error.position().map_or(1, csv::Position::line);
                wrong(
                    usize::try_from(line).unwrap_or(usize::MAX),
                    error.to_string(),
                )
            })?;
            let line = row.position().map_or(1, csv::Position::line);
            let id = row.get(id_column).filter(|id| !id.is_empty());
            let id = id.ok_or_else(|| {
                wrong(
                    usize::try_from(line).unwrap_or(usize::MAX),
                    "a document needs an `id`".to_owned(),
                )
            })?;
            let attributes = documents.0.entry(id.to_owned()).or_default();
            for (name, value) in header.iter().zip(row.iter()) {
                if name != ID && !value.is_empty() {
                    let values = attributes.entry(name.to_owned()).or_default();
                    values.push(value.to_owned());
                }
            }
        }
        Ok(documents)
    }

    fn add<'a>(&mut self, id: String, fields: impl Iterator<Item = (&'a String, &'a Value)>) {
        let attributes = self.0.entry(id).or_default();
        for (name, value) in fields {
            let values = match value {
                Value::Array(values) => values.iter().filter_map(text_of).collect(),
                value => text_of(value).into_iter().collect::<Vec<_>>(),
            };
            attributes.entry(name.clone()).or_default().extend(values);
        }
    }

    /// Adds documents that occur in edges only. They have no attribute but their id.
    #[must_use]
    pub fn with_ends(mut self, edges: &[Relation]) -> Self {
        for edge in edges {
            for id in [&edge.from, &edge.to] {
                self.0.entry(id.clone()).or_default();
            }
        }
        self
    }

    /// Adds the documents of `other`. An attribute that both have keeps the values of this one.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        for (id, attributes) in other.0 {
            let known = self.0.entry(id).or_default();
            for (name, values) in attributes {
                known.entry(name).or_insert(values);
            }
        }
        self
    }

    /// Ids of all documents.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Names of all attributes.
    pub(super) fn attributes(&self) -> BTreeSet<&str> {
        let attributes = self.0.values().flat_map(BTreeMap::keys);
        attributes.map(String::as_str).collect()
    }

    /// Values of an attribute of a document.
    pub(super) fn values<'a>(&'a self, id: &'a str, attribute: &str) -> Vec<&'a str> {
        if attribute == ID {
            return vec![id];
        }
        let attributes = self.0.get(id);
        let values = attributes.and_then(|attributes| attributes.get(attribute));
        values.into_iter().flatten().map(String::as_str).collect()
    }
}

/// Text of a string, a number or a truth value.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
