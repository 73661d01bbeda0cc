//! Configuration of the record formats of both topics: `kafka.search_format`,
//! `kafka.feedback_format`, and the sections `ubi` and `otlp`.

use std::collections::BTreeSet;

use super::key::{Checked, Key, List};
use super::keys;
use super::reader::Reader;
use rankgauge_core::decode::Formats;
use rankgauge_core::decode::otlp::{Mapping, Source};
use rankgauge_core::decode::ubi::Dialect;

pub(super) fn read(reader: &mut Reader) -> Formats {
    Formats {
        search: reader.get(&keys::SEARCH_FORMAT),
        feedback: reader.get(&keys::FEEDBACK_FORMAT),
        ubi: Dialect {
            ordinal_base: reader.get(&keys::ORDINAL_BASE),
            actions: reader.names(&keys::ACTIONS),
        },
        otlp: mapping(reader),
    }
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
