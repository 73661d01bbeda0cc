//! Documents of a span, in served order, from whichever convention states them.

use std::borrow::Cow;
use std::fmt;

use super::keys::{Attribute, DocumentField, DocumentList};
use super::mapping::{DocumentSource, Mapping, SpanKind};
use super::span::{self, DocumentAttribute, Span};
use super::value::{Any, MAX_VALUES, Unreadable};
use crate::event::{Attributes, Hit, HitDetails, Id, Reason, Rejection, Score, Text, Value};

/// Text of redacted JSON and of JSON without a value.
pub(super) const NO_JSON: [&str; 3] = ["", "null", "__REDACTED__"];

/// Size of the shortest member of a JSON object, `"":0,`, in bytes.
const MIN_MEMBER_BYTES: usize = 5;

/// Document as a span states it.
#[derive(Debug, Default)]
struct Document<'a> {
    id: Option<Cow<'a, str>>,
    score: Option<f64>,
    text: Option<Text<'a>>,
    attributes: Option<Attributes<'a>>,
}

/// Documents of a span.
#[derive(Debug)]
pub(super) struct Documents<'a> {
    pub(super) hits: Vec<Hit<'a>>,
    /// Position (from 0) of the first document without an id.
    pub(super) first_without_id: Option<usize>,
    /// Number of documents without an id.
    pub(super) without_id: u64,
}

/// Rejection of a span for a value of an attribute.
pub(super) fn unreadable(attribute: impl fmt::Display, problem: &Unreadable) -> Rejection {
    let reason = match problem {
        Unreadable::NotUtf8 => Reason::NotUtf8,
        _ => Reason::BadValue,
    };
    Rejection::new(reason, format_args!("{attribute}: {problem}"))
}

fn bad(attribute: impl fmt::Display, problem: impl fmt::Display) -> Rejection {
    Rejection::new(Reason::BadValue, format_args!("{attribute}: {problem}"))
}

/// Documents of a list, whose metadata has at most [`MAX_VALUES`] members together.
struct List<'a> {
    documents: Vec<Document<'a>>,
    members: usize,
}

impl<'a> List<'a> {
    fn with_capacity(capacity: usize) -> Self {
        Self {
            documents: Vec::with_capacity(capacity),
            members: 0,
        }
    }

    /// Adds a document.
    ///
    /// # Errors
    /// The metadata of the list has too many members.
    fn push(&mut self, document: Document<'a>, name: &str) -> Result<(), Rejection> {
        self.members += document.attributes.as_ref().map_or(0, |it| it.0.len());
        if self.members > MAX_VALUES {
            let problem = format_args!("more than {MAX_VALUES} members of metadata in one list");
            return Err(bad(name, problem));
        }
        self.documents.push(document);
        Ok(())
    }
}

/// Reads the documents of a span; `None` if the instrumentation did not record any.
///
/// # Errors
/// The list is incomplete or cannot be read.
pub(super) fn read<'a>(
    kind: SpanKind,
    span: &Span<'a>,
    attributes: &mut span::Attributes<'a>,
    mapping: &Mapping,
    limit: usize,
) -> Result<Option<Documents<'a>>, Rejection> {
    let found = match flattened(kind, attributes)? {
        Some(documents) => Some(documents),
        None => whole(kind, attributes)?,
    };
    if span.dropped > 0 && found.is_some() {
        return Err(Rejection::new(
            Reason::BadValue,
            format_args!(
                "droppedAttributesCount: the process dropped {} attributes of this span, and the \
                 list of documents may be incomplete; raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
                span.dropped
            ),
        ));
    }
    let output = || {
        let output = attributes.get(Attribute::Output).ok()?.text()?;
        Any::of_json(output).ok()
    };
    let Some(mut documents) = found else {
        let is_empty = span.is_error || output().is_some_and(is_empty_output);
        return Ok(is_empty.then(|| Documents {
            hits: Vec::new(),
            first_without_id: None,
            without_id: 0,
        }));
    };
    if documents.len() > limit {
        return Err(Rejection::new(
            Reason::TooManyResults,
            format_args!(
                "{} results, limits.results_per_search is {limit}",
                documents.len()
            ),
        ));
    }
    for document in &mut documents {
        document.id = lookup(document, &mapping.document_id);
    }
    if documents.iter().any(|document| document.id.is_none()) {
        complete_ids(&mut documents, output());
    }
    let without = |document: &Document<'_>| document.id.is_none();
    let without_id = documents
        .iter()
        .filter(|document| without(document))
        .count();
    Ok(Some(Documents {
        first_without_id: documents.iter().position(without),
        without_id: u64::try_from(without_id).unwrap_or(u64::MAX),
        hits: documents
            .into_iter()
            .map(|document| hit(document, mapping))
            .collect(),
    }))
}

/// Reads a list that is flattened to one attribute for each field. `None` if there is none.
fn flattened<'a>(
    kind: SpanKind,
    attributes: &mut span::Attributes<'a>,
) -> Result<Option<Vec<Document<'a>>>, Rejection> {
    let (wanted, name) = match kind {
        SpanKind::Retriever => (
            DocumentList::Retrieved,
            Attribute::RetrievedDocuments.name(),
        ),
        SpanKind::Reranker => (DocumentList::Reranked, Attribute::RerankedDocuments.name()),
    };
    let entries = &mut attributes.documents;
    let by_position = |entry: &DocumentAttribute<'_>| (entry.list != wanted, entry.position);
    if !entries.is_sorted_by_key(by_position) {
        entries.sort_by_key(by_position);
    }
    let end = entries.partition_point(|entry| entry.list == wanted);
    let entries = &attributes.documents[..end];
    let Some(last) = entries.last() else {
        return Ok(None);
    };
    let capacity = usize::try_from(last.position).unwrap_or(usize::MAX);
    let mut read = List::with_capacity(capacity.saturating_add(1).min(entries.len()));
    let by_document = entries.chunk_by(|a, b| a.position == b.position);
    for (next, entries) in (0..).zip(by_document) {
        let position = entries.first().map_or(0, |entry| entry.position);
        if position != next {
            return Err(bad(
                format_args!("{name}.{next}"),
                "this document is missing, and later ones are there: the list is truncated",
            ));
        }
        read.push(document(entries, name)?, name)?;
    }
    Ok(Some(read.documents))
}

fn document<'a>(entries: &[DocumentAttribute<'a>], name: &str) -> Result<Document<'a>, Rejection> {
    let mut document = Document::default();
    // In reverse, so that the first of several values is kept.
    for entry in entries.iter().rev() {
        let decoded = || {
            let value = entry.value.decode();
            value.map_err(|problem| {
                unreadable(format_args!("{name}.{}.document", entry.position), &problem)
            })
        };
        match entry.field {
            DocumentField::Id => document.id = decoded()?.id(),
            DocumentField::Score => document.score = decoded()?.number(),
            DocumentField::Content => document.text = decoded()?.text().map(Text),
            DocumentField::Metadata => {
                document.attributes = metadata(decoded()?).map_err(|problem| {
                    let place = format_args!("{name}.{}.document.metadata", entry.position);
                    bad(place, problem)
                })?;
            }
            DocumentField::Other => {}
        }
    }
    Ok(document)
}

/// Reads metadata: a JSON object as text, or an object.
fn metadata(value: Any<'_>) -> Result<Option<Attributes<'_>>, String> {
    let problem =
        |error: serde_json::Error| format!("not a JSON object, or a truncated one: {error}");
    if let Any::Text(text) = &value
        && text.len() > MAX_VALUES * MIN_MEMBER_BYTES
        && Any::of_json(Cow::Borrowed(text)) == Err(Unreadable::TooMany)
    {
        return Err(Unreadable::TooMany.to_string());
    }
    match value {
        Any::Text(text) if NO_JSON.contains(&&*text) => Ok(None),
        Any::Text(Cow::Borrowed(text)) => {
            let attributes: Attributes<'_> = serde_json::from_str(text).map_err(problem)?;
            Ok(Some(scalars(attributes)))
        }
        Any::Text(Cow::Owned(text)) => {
            let attributes: Attributes<'_> = serde_json::from_str(&text).map_err(problem)?;
            Ok(Some(owned(scalars(attributes))))
        }
        Any::Map(members) => Ok(Some(Attributes(
            members.into_iter().filter_map(scalar).collect(),
        ))),
        Any::Empty | Any::Bool(_) | Any::Int(_) | Any::Double(_) | Any::List(_) | Any::Bytes => {
            Ok(None)
        }
    }
}

fn scalars(mut attributes: Attributes<'_>) -> Attributes<'_> {
    attributes.0.retain(|(_, value)| *value != Value::Other);
    attributes
}

fn owned(attributes: Attributes<'_>) -> Attributes<'static> {
    let own = |text: Text<'_>| Text(Cow::Owned(text.0.into_owned()));
    let own = |(key, value): (Text<'_>, Value<'_>)| {
        let value = match value {
            Value::Text(text) => Value::Text(own(text)),
            Value::Number(number) => Value::Number(number),
            Value::Bool(flag) => Value::Bool(flag),
            Value::Other => Value::Other,
        };
        (own(key), value)
    };
    Attributes(attributes.0.into_iter().map(own).collect())
}

/// Converts a member with a scalar value.
fn scalar<'a>((key, value): (Cow<'a, str>, Any<'a>)) -> Option<(Text<'a>, Value<'a>)> {
    let value = match value {
        Any::Text(text) => Value::Text(Text(text)),
        Any::Int(number) => Value::Text(Text(Cow::Owned(number.to_string()))),
        Any::Double(number) => Value::Number(number),
        Any::Bool(flag) => Value::Bool(flag),
        Any::Empty | Any::List(_) | Any::Map(_) | Any::Bytes => return None,
    };
    Some((Text(key), value))
}

/// Reads a list that is one attribute, of the first convention that has it.
fn whole<'a>(
    kind: SpanKind,
    attributes: &span::Attributes<'a>,
) -> Result<Option<Vec<Document<'a>>>, Rejection> {
    let own = match kind {
        SpanKind::Retriever => Attribute::RetrievedDocuments,
        SpanKind::Reranker => Attribute::RerankedDocuments,
    };
    for attribute in [own, Attribute::GenAiDocuments, Attribute::LangfuseOutput] {
        if !attributes.has(attribute) {
            continue;
        }
        let name = attribute.name();
        let value = attributes.get(attribute);
        let value = value.map_err(|problem| unreadable(name, &problem))?;
        let value = match value {
            Any::Text(text) if NO_JSON.contains(&&*text) => continue,
            Any::Text(text) => match Any::of_json(text) {
                Ok(value) => value,
                // The output of a Langfuse observation can be any text.
                Err(_) if attribute == Attribute::LangfuseOutput => continue,
                Err(problem) => return Err(unreadable(name, &problem)),
            },
            value => value,
        };
        let is_langfuse = attribute == Attribute::LangfuseOutput;
        if let Some(elements) = elements(value) {
            let mut read = List::with_capacity(elements.len());
            for (position, element) in elements.into_iter().enumerate() {
                let place = format_args!("{name}[{position}]");
                read.push(of_object(element, is_langfuse, place)?, name)?;
            }
            return Ok(Some(read.documents));
        }
    }
    Ok(None)
}

/// Elements of a list, or of the member `documents` of an object.
fn elements(mut value: Any<'_>) -> Option<Vec<Any<'_>>> {
    let value = value.take("documents").unwrap_or(value);
    match value {
        Any::List(values) => Some(values),
        _ => None,
    }
}

/// Reads a document that is an object: `{id, score, content, …}`, or `{id, page_content, metadata}`. The
/// names may begin with `document.`, or be those of a member `document`.
fn of_object<'a>(
    element: Any<'a>,
    is_langfuse: bool,
    place: fmt::Arguments<'_>,
) -> Result<Document<'a>, Rejection> {
    let element = match element {
        // An array of OpenTelemetry has elements of one scalar type: objects are JSON texts.
        Any::Text(text) => Any::of_json(text).map_err(|problem| unreadable(place, &problem))?,
        element => element,
    };
    let Any::Map(mut members) = element else {
        return Err(Rejection::new(
            Reason::WrongType,
            format_args!("{place}: an object is expected"),
        ));
    };
    let nested =
        |(key, value): &(Cow<'_, str>, Any<'_>)| key == "document" && matches!(value, Any::Map(_));
    if let Some(position) = members.iter().position(nested)
        && let (_, Any::Map(inner)) = members.swap_remove(position)
    {
        members.extend(inner);
    }
    let mut document = Document::default();
    let mut attributes = Vec::new();
    for (key, value) in members {
        match key.strip_prefix("document.").unwrap_or(&key) {
            "id" => document.id = value.id(),
            "score" => document.score = value.number(),
            "content" | "page_content" => document.text = value.text().map(Text),
            "metadata" => {
                let metadata = metadata(value);
                let metadata =
                    metadata.map_err(|problem| bad(format_args!("{place}.metadata"), problem))?;
                attributes.extend(metadata.into_iter().flat_map(|it| it.0));
            }
            _ if is_langfuse => {}
            _ => attributes.extend(scalar((key, value))),
        }
    }
    document.attributes = (!attributes.is_empty()).then_some(Attributes(attributes));
    Ok(document)
}

/// Returns the value of the first source that the document has.
fn lookup<'a>(document: &Document<'a>, sources: &[DocumentSource]) -> Option<Cow<'a, str>> {
    sources.iter().find_map(|source| match source {
        DocumentSource::Id => document.id.clone(),
        DocumentSource::Metadata(key) => {
            let attributes = document.attributes.as_ref()?;
            let (_, value) = attributes.0.iter().find(|(name, _)| **name == **key)?;
            let value = match value {
                Value::Text(text) => text.0.clone(),
                Value::Number(number) => Cow::Owned(number.to_string()),
                Value::Bool(_) | Value::Other => return None,
            };
            (!value.is_empty()).then_some(value)
        }
    })
}

/// Sets the missing ids to those at the same positions of the output, if it has the same length.
fn complete_ids<'a>(documents: &mut [Document<'a>], output: Option<Any<'a>>) {
    let Some(mut output) = output else { return };
    let Some(Any::List(listed)) = output.take("documents") else {
        return;
    };
    if listed.len() != documents.len() {
        return;
    }
    for (document, mut listed) in documents.iter_mut().zip(listed) {
        if document.id.is_none() {
            document.id = listed.take("id").and_then(Any::id);
        }
    }
}

/// Returns true for `[]` and `{"documents": []}`.
fn is_empty_output(output: Any<'_>) -> bool {
    elements(output).is_some_and(|documents| documents.is_empty())
}

fn hit<'a>(document: Document<'a>, mapping: &Mapping) -> Hit<'a> {
    let group_id = lookup(&document, &mapping.group_id).map(Id);
    let mut hit = Hit::of_document(Id(document.id.unwrap_or_default()));
    hit.score = document.score.map(Score::from);
    hit.with_details(HitDetails {
        group_id,
        text: document.text,
        attrs: document.attributes,
        ..HitDetails::default()
    })
}
