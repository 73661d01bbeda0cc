//! Configuration of the record formats of both topics: `kafka.search_format`,
//! `kafka.feedback_format`, and the sections `formats`, `ubi` and `otlp`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::key::{Checked, Key, List};
use super::reader::Reader;
use super::{keys, values};
use rankgauge_core::decode::mapped::{Form, Mapped, Term};
use rankgauge_core::decode::otlp::{Mapping, Source};
use rankgauge_core::decode::ubi::Dialect;
use rankgauge_core::decode::{Format, Formats};
use rankgauge_core::event::Kind;

pub(super) fn read(reader: &mut Reader) -> Formats {
    let own = own(reader);
    let (search, search_mapping) = format(reader, Kind::Search, &own);
    let (feedback, feedback_mapping) = format(reader, Kind::Feedback, &own);
    Formats {
        search,
        feedback,
        ubi: Dialect {
            ordinal_base: reader.get(&keys::ORDINAL_BASE),
            actions: reader.names(&keys::ACTIONS),
        },
        otlp: mapping(reader),
        mapped: [search_mapping, feedback_mapping],
    }
}

/// Format of the topic of a kind, with its mapping.
fn format(
    reader: &mut Reader,
    kind: Kind,
    own: &BTreeMap<String, Option<Arc<Mapped>>>,
) -> (Format, Option<Arc<Mapped>>) {
    let key = match kind {
        Kind::Search => &keys::SEARCH_FORMAT,
        Kind::Feedback => &keys::FEEDBACK_FORMAT,
    };
    let name = reader.get(key);
    if let Some(mapped) = own.get(&name) {
        if let Some(mapped) = mapped
            && !mapped.maps(kind)
        {
            let text = format!(
                "\"{name}\" maps no {0} events; add formats.{name}.mapping.{0}",
                kind.name()
            );
            reader.problem(&key.path, text);
        }
        return (Format::Mapped, mapped.clone());
    }
    let known: Vec<String> = own.keys().cloned().collect();
    let format = values::record_format(&name, &known).unwrap_or_else(|problem| {
        reader.problem(&key.path, format!("\"{name}\" {problem}"));
        Format::Native
    });
    (format, None)
}

/// Formats with a mapping, by name; `None` for one with problems, which are reported.
fn own(reader: &mut Reader) -> BTreeMap<String, Option<Arc<Mapped>>> {
    let mut own = BTreeMap::new();
    for (name, section) in reader.named(&keys::FORMATS) {
        if Format::NAMES.iter().any(|(reserved, _)| *reserved == name) {
            reader.problem(&section, "is a reserved name; choose another one");
            continue;
        }
        let form = Form {
            encoding: reader.get(&keys::ENCODING.of(&section)),
            framing: reader.get(&keys::FRAMING.of(&section)),
            compression: reader.get(&keys::COMPRESSION.of(&section)),
        };
        let path = keys::MAPPING.of(&section).path.into_owned();
        let mapped = if let Some(term) = reader.term(&path) {
            compiled(reader, &name, form, term, &path)
        } else {
            if !reader.is_written(&path) {
                reader.problem(&path, "is missing");
            }
            None
        };
        own.insert(name, mapped);
    }
    own
}

/// Compiled mapping; `None` if it has problems, which are reported.
fn compiled(
    reader: &mut Reader,
    name: &str,
    form: Form,
    term: Term,
    path: &str,
) -> Option<Arc<Mapped>> {
    let compiled = Mapped::compile(name, form, term);
    let reported = compiled.map_err(|problems| {
        for problem in problems {
            reader.problem(&format!("{path}{}", problem.path), problem.text);
        }
    });
    reported.ok().map(Arc::new)
}

fn mapping(reader: &mut Reader) -> Mapping {
    let kinds: BTreeSet<_> = reader.values(&keys::SEARCH_SPANS).into_iter().collect();
    let mut mapping = Mapping {
        search_spans: kinds.into_iter().collect(),
        names: reader.values(&keys::SPAN_NAMES),
        ignore_names: reader.values(&keys::IGNORE_NAMES),
        query_fields: reader.values(&keys::QUERY_FIELDS),
        document_id: reader.values(&keys::DOCUMENT_ID),
        group_id: reader.values(&keys::DOCUMENT_GROUP),
        session: reader.get(&keys::SESSION),
        feedback: reader.names(&keys::EVALUATIONS).into_iter().collect(),
        ..Mapping::EMPTY
    };
    let unnamed = |sources: Vec<(String, Source)>| sources.into_iter().map(|it| it.1).collect();
    mapping.query_key = unnamed(sources(reader, &keys::QUERY_KEY, &mut mapping));
    mapping.variant = unnamed(sources(reader, &keys::VARIANT, &mut mapping));
    mapping.labels = sources(reader, &keys::LABELS, &mut mapping);
    if reader.is_empty_list(&keys::SEARCH_SPANS) {
        reader.problem(
            &keys::SEARCH_SPANS.path,
            "is empty; no span would be a search",
        );
    }
    if reader.is_empty_list(&keys::DOCUMENT_ID) {
        reader.problem(
            &keys::DOCUMENT_ID.path,
            "is empty; document.id is the default",
        );
    }
    let is_mixed = mapping.search_spans.len() > 1 && !mapping.variant.contains(&Source::SpanKind);
    if is_mixed {
        reader.conflict(
            &[&keys::SEARCH_SPANS.path, &keys::VARIANT.path],
            "retriever and reranker spans would be searches of the same variant; add span.kind to \
             otlp.variant",
        );
    }
    mapping
}

/// Sources with their names. `mapping` numbers the attributes that they refer to.
fn sources(
    reader: &mut Reader,
    key: &Key<List<Checked<String>>>,
    mapping: &mut Mapping,
) -> Vec<(String, Source)> {
    let mut sources = Vec::new();
    for element in reader.list(key) {
        if let Some(source) = mapping.source(&element.text) {
            sources.push((element.text, source));
        } else {
            let text = format!(
                "\"{}\" is no source; span.kind, span.name, metadata.KEY, resource.KEY or the name of \
                 an attribute is expected",
                element.text
            );
            reader.problem(&element.path, text);
        }
    }
    sources
}
