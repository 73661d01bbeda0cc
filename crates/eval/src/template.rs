//! Queries from templates, documents and the edges of their graph: candidates for a gold set.
//!
//! A template is a line of text with placeholders. `{number}` is an attribute of a document (or its
//! `id`), and gives a query for each value. `{from.number}`, `{to.number}` and `{relation}` belong
//! to an edge, and give a query for each edge. The documents that fill a template are candidates for
//! its query, and so are their neighbours in the graph. An annotator decides about all of them. The
//! module reads no files.

mod documents;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use rankgauge_core::gold::GoldSet;
use rankgauge_core::gold::adoption::SheetRow;
use rankgauge_core::gold::expansion::Relation;

use documents::ID;
pub use documents::{DocumentError, Documents};

/// Maximum number of queries that one document or edge gives with one template.
const MAX_COMBINATIONS: usize = 100;

/// Maximum number of queries that are generated before the most frequent are chosen.
const MAX_GENERATED: usize = 100_000;

/// Template of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
    is_about_edges: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(Side, String),
}

/// Origin of a placeholder's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Document,
    From,
    To,
    Relation,
}

/// Error in a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum TemplateError {
    #[error("{file}:{line}: `{{` without `}}`; write {{number}}")]
    Unclosed { file: String, line: usize },
    #[error("{file}:{line}: an empty placeholder; write {{number}}, an attribute of the documents")]
    Empty { file: String, line: usize },
    #[error(
        "{file}:{line}: the template has no placeholder, so that it gives one query only; add \
         {{number}} or another attribute of the documents"
    )]
    Constant { file: String, line: usize },
    #[error(
        "{file}:{line}: placeholders of a document and of an edge in one template; use {{from.…}} \
         and {{to.…}} for all of them"
    )]
    Mixed { file: String, line: usize },
    #[error("{file}: no template; write one on each line, such as `{{number}}조 검색`")]
    None { file: String },
    #[error(
        "no document has the attribute `{attribute}` of the template `{template}`; the attributes \
         are {known}"
    )]
    UnknownAttribute {
        template: String,
        attribute: String,
        known: String,
    },
    #[error("the template `{template}` is about edges; name their file with --edges")]
    NoEdges { template: String },
}

impl Template {
    /// Parses templates, one on each line. Empty lines and lines that begin with `#` are skipped.
    /// `file` is the name in errors.
    ///
    /// # Errors
    /// The first wrong line; or no line has a template.
    pub fn parse_all(file: &str, text: &str) -> Result<Vec<Self>, TemplateError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let templates = lines.map(|(line, text)| Self::parse(file, line, text));
        let templates = templates.collect::<Result<Vec<Self>, _>>()?;
        if templates.is_empty() {
            return Err(TemplateError::None {
                file: file.to_owned(),
            });
        }
        Ok(templates)
    }

    fn parse(file: &str, line: usize, text: &str) -> Result<Self, TemplateError> {
        let file = || file.to_owned();
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            let (field, after) = after
                .split_once('}')
                .ok_or_else(|| TemplateError::Unclosed { file: file(), line })?;
            let field = field.trim();
            let (side, name) = match field.split_once('.') {
                Some(("from", name)) => (Side::From, name),
                Some(("to", name)) => (Side::To, name),
                _ if field == "from" => (Side::From, ID),
                _ if field == "to" => (Side::To, ID),
                _ if field == "relation" => (Side::Relation, field),
                _ => (Side::Document, field),
            };
            if name.is_empty() {
                return Err(TemplateError::Empty { file: file(), line });
            }
            parts.push(Part::Field(side, name.to_owned()));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        let sides = || {
            parts.iter().filter_map(|part| match part {
                Part::Text(_) => None,
                Part::Field(side, _) => Some(*side),
            })
        };
        let of_documents = sides().filter(|side| *side == Side::Document).count();
        match (of_documents, sides().count()) {
            (_, 0) => Err(TemplateError::Constant { file: file(), line }),
            (some, all) if some > 0 && some < all => {
                Err(TemplateError::Mixed { file: file(), line })
            }
            (some, _) => Ok(Self {
                text: text.to_owned(),
                is_about_edges: some == 0,
                parts,
            }),
        }
    }
}

/// Bounds of a generation.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum number of queries.
    pub queries: usize,
    /// Maximum number of documents of a query.
    pub per_query: usize,
}

/// Generated queries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Generated {
    /// Queries that are not in the gold set, those with the most documents first.
    pub queries: Vec<GeneratedQuery>,
    /// Number of further queries, beyond the limit.
    pub queries_more: usize,
    /// Number of generated queries that are in the gold set already.
    pub known: usize,
    /// Number of queries by template, in the order of the templates.
    pub by_template: Vec<(String, usize)>,
}

/// Generated query with its candidates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GeneratedQuery {
    /// Text of the query.
    pub query_text: String,
    /// Template of the query, the first that gives it.
    pub template: String,
    /// Candidates: documents that fill the template, then their neighbours.
    pub documents: Vec<GeneratedDocument>,
    /// Number of further documents, beyond the limit.
    pub documents_more: usize,
}

/// Candidate of a generated query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GeneratedDocument {
    /// Id of the document.
    pub document_id: String,
    /// Reason: `template`, or the relation along which the document was reached.
    pub reason: String,
}

/// Documents of a query by id, with the reason and its order.
type Candidates = BTreeMap<String, (usize, String)>;

/// Fills `templates` with `documents` and `edges`.
///
/// # Errors
/// A template asks for an attribute that no document has, or for edges without any.
pub fn generate(
    templates: &[Template],
    documents: &Documents,
    edges: &[Relation],
    gold: &GoldSet,
    bounds: Bounds,
) -> Result<Generated, TemplateError> {
    let mut found: BTreeMap<String, (usize, String, Candidates)> = BTreeMap::new();
    let mut generated = Generated::default();
    for (number, template) in templates.iter().enumerate() {
        check(template, documents, edges)?;
        let mut texts: BTreeSet<String> = BTreeSet::new();
        let mut add = |text: String, candidates: &[&str]| {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            texts.insert(text.clone());
            if found.len() >= MAX_GENERATED && !found.contains_key(&text) {
                return;
            }
            let new = || (number, template.text.clone(), Candidates::new());
            let (_, _, of_query) = found.entry(text).or_insert_with(new);
            for id in candidates {
                let reason = || (0, "template".to_owned());
                of_query.entry((*id).to_owned()).or_insert_with(reason);
            }
        };
        if template.is_about_edges {
            for edge in edges {
                for text in filled(template, documents, Filling::Edge(edge)) {
                    add(text, &[&edge.from, &edge.to]);
                }
            }
        } else {
            for id in documents.ids() {
                for text in filled(template, documents, Filling::Document(id)) {
                    add(text, &[id]);
                }
            }
        }
        generated
            .by_template
            .push((template.text.clone(), texts.len()));
    }
    let mut neighbours: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for edge in edges {
        let (from, to) = (edge.from.as_str(), edge.to.as_str());
        neighbours.entry(from).or_default().push((to, &edge.name));
        neighbours.entry(to).or_default().push((from, &edge.name));
    }
    let mut queries: Vec<(usize, usize, GeneratedQuery)> = Vec::new();
    for (text, (number, template, mut candidates)) in found {
        if gold.find(None, Some(&text)).is_some() {
            generated.known += 1;
            continue;
        }
        let filling = candidates.len();
        let origins: Vec<String> = candidates.keys().cloned().collect();
        for origin in &origins {
            for (id, relation) in neighbours.get(origin.as_str()).into_iter().flatten() {
                let reason = || (1, (*relation).to_owned());
                candidates.entry((*id).to_owned()).or_insert_with(reason);
            }
        }
        let mut documents: Vec<(usize, GeneratedDocument)> = candidates
            .into_iter()
            .map(|(document_id, (order, reason))| {
                let document = GeneratedDocument {
                    document_id,
                    reason,
                };
                (order, document)
            })
            .collect();
        documents.sort_by_key(|(order, _)| *order);
        let documents_more = documents.len().saturating_sub(bounds.per_query);
        documents.truncate(bounds.per_query);
        let query = GeneratedQuery {
            query_text: text,
            template,
            documents: documents.into_iter().map(|(_, it)| it).collect(),
            documents_more,
        };
        queries.push((filling, number, query));
    }
    // The queries are ordered by text before, which decides between equal ones.
    queries.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    generated.queries_more = queries.len().saturating_sub(bounds.queries);
    queries.truncate(bounds.queries);
    generated.queries = queries.into_iter().map(|(_, _, query)| query).collect();
    Ok(generated)
}

/// Document or edge that fills a template.
#[derive(Clone, Copy)]
enum Filling<'a> {
    Document(&'a str),
    Edge(&'a Relation),
}

fn check(
    template: &Template,
    documents: &Documents,
    edges: &[Relation],
) -> Result<(), TemplateError> {
    if template.is_about_edges && edges.is_empty() {
        return Err(TemplateError::NoEdges {
            template: template.text.clone(),
        });
    }
    let known = documents.attributes();
    for part in &template.parts {
        let Part::Field(Side::Document | Side::From | Side::To, name) = part else {
            continue;
        };
        if name != ID && !known.contains(name.as_str()) {
            let known = [ID].into_iter().chain(known.iter().copied());
            return Err(TemplateError::UnknownAttribute {
                template: template.text.clone(),
                attribute: name.clone(),
                known: known.collect::<Vec<_>>().join(", "),
            });
        }
    }
    Ok(())
}

/// Texts of a template with the values of a document or an edge; none if an attribute is missing.
fn filled(template: &Template, documents: &Documents, with: Filling<'_>) -> Vec<String> {
    let mut texts = vec![String::new()];
    for part in &template.parts {
        let values: Vec<&str> = match (part, with) {
            (Part::Text(text), _) => vec![text.as_str()],
            (Part::Field(Side::Document, name), Filling::Document(id)) => {
                documents.values(id, name)
            }
            (Part::Field(Side::From, name), Filling::Edge(edge)) => {
                documents.values(&edge.from, name)
            }
            (Part::Field(Side::To, name), Filling::Edge(edge)) => documents.values(&edge.to, name),
            (Part::Field(Side::Relation, _), Filling::Edge(edge)) => vec![edge.name.as_str()],
            (Part::Field(..), _) => Vec::new(),
        };
        let longer = texts
            .iter()
            .flat_map(|text| values.iter().map(move |value| format!("{text}{value}")));
        texts = longer.take(MAX_COMBINATIONS).collect();
    }
    texts.retain(|text| !text.trim().is_empty());
    texts
}

impl Generated {
    /// Rows of a sheet for annotators.
    pub fn rows(&self) -> Vec<SheetRow> {
        let rows = self.queries.iter().flat_map(|query| {
            query.documents.iter().map(|document| SheetRow {
                query_text: query.query_text.clone(),
                document_id: document.document_id.clone(),
                ..SheetRow::default()
            })
        });
        rows.collect()
    }
}
