//! Configuration of the mapping of OpenTelemetry spans to searches, and of evaluations to feedback:
//! the section `otlp`.

use std::collections::BTreeSet;

use super::reader::{Element, Reader};
use rankgauge_core::decode::otlp::{
    DocumentSource, FeedbackAction, Mapping, Session, Source, SpanKind,
};

const DOCUMENT_SOURCES: &str = "is neither document.id nor metadata.KEY";

pub(super) fn mapping(reader: &mut Reader) -> Mapping {
    let mut mapping = Mapping {
        search_spans: search_spans(reader),
        names: texts(reader, "otlp.names", &[]),
        ignore_names: texts(reader, "otlp.ignore_names", &Mapping::IGNORE_NAMES),
        query_fields: texts(reader, "otlp.query_fields", &Mapping::QUERY_FIELDS),
        document_id: documents(reader, "otlp.document_id", &["document.id"]),
        group_id: documents(reader, "otlp.group_id", &[]),
        session: reader.choice("otlp.session", Session::default(), &Session::NAMES),
        ..Mapping::EMPTY
    };
    mapping.query_key = sources(reader, "otlp.query_key", &Mapping::QUERY_KEY, &mut mapping)
        .into_iter()
        .map(|(_, source)| source)
        .collect();
    mapping.variant = sources(reader, "otlp.variant", &Mapping::VARIANT, &mut mapping)
        .into_iter()
        .map(|(_, source)| source)
        .collect();
    mapping.labels = sources(reader, "otlp.labels", &[], &mut mapping);
    for name in reader.names("otlp.feedback") {
        let path = format!("otlp.feedback.{name}");
        let action = reader.parsed(&path, |text| {
            let problem = "is neither thumbs nor rating MIN..MAX";
            FeedbackAction::parse(text).ok_or(problem)
        });
        mapping.feedback.extend(action.map(|action| (name, action)));
    }
    let is_mixed = mapping.search_spans.len() > 1 && !mapping.variant.contains(&Source::SpanKind);
    if is_mixed {
        reader.conflict(
            &["otlp.search_spans", "otlp.variant"],
            "retriever and reranker spans would be searches of the same variant; add span.kind to \
             otlp.variant",
        );
    }
    mapping
}

fn search_spans(reader: &mut Reader) -> Vec<SpanKind> {
    let path = "otlp.search_spans";
    let mut kinds = BTreeSet::new();
    let elements = reader.list(path, &[SpanKind::Retriever.name()]);
    let is_empty = elements.is_empty();
    for (element, text) in elements {
        match SpanKind::NAMES.iter().find(|(name, _)| *name == text) {
            Some((_, kind)) => {
                kinds.insert(*kind);
            }
            None => reader.problem(
                &element,
                format!("\"{text}\" is none of retriever, reranker"),
            ),
        }
    }
    if is_empty {
        reader.problem(path, "is empty; no span would be a search");
    }
    kinds.into_iter().collect()
}

fn texts(reader: &mut Reader, path: &str, default: &[&str]) -> Vec<String> {
    let elements = reader.list(path, default);
    elements.into_iter().map(|(_, text)| text).collect()
}

/// Reads a list, and reports each element that `parse` does not accept.
fn parsed<T>(
    reader: &mut Reader,
    path: &str,
    default: &[&str],
    problem: &str,
    mut parse: impl FnMut(&str) -> Option<T>,
) -> Vec<(String, T)> {
    let elements: Vec<Element> = reader.list(path, default);
    let mut values = Vec::with_capacity(elements.len());
    for (element, text) in elements {
        match parse(&text) {
            Some(value) => values.push((text, value)),
            None => reader.problem(&element, format!("\"{text}\" {problem}")),
        }
    }
    values
}

fn documents(reader: &mut Reader, path: &str, default: &[&str]) -> Vec<DocumentSource> {
    let mut stated = 0;
    let sources = parsed(reader, path, default, DOCUMENT_SOURCES, |text| {
        stated += 1;
        DocumentSource::parse(text)
    });
    if stated == 0 && !default.is_empty() {
        reader.problem(
            path,
            format!("is empty; {} is the default", default.join(", ")),
        );
    }
    sources.into_iter().map(|(_, source)| source).collect()
}

fn sources(
    reader: &mut Reader,
    path: &str,
    default: &[&str],
    mapping: &mut Mapping,
) -> Vec<(String, Source)> {
    let problem = "is no source; span.kind, span.name, metadata.KEY, resource.KEY or the name of an \
                   attribute is expected";
    parsed(reader, path, default, problem, |text| mapping.source(text))
}
