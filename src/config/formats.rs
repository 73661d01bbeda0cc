//! Configuration of the record formats of both topics: `kafka.search_format`,
//! `kafka.feedback_format`, and the sections `formats`, `ubi` and `otlp`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::key::{Checked, Key, List};
use super::reader::Reader;
use super::{keys, values};
use rankgauge_core::decode::framing::Framing;
use rankgauge_core::decode::mapped::{Encoding, Form, Mapped, Term};
use rankgauge_core::decode::otlp::{Mapping, Source};
use rankgauge_core::decode::schema::{Schema, SchemaCache, Schemas, Source as SchemaSource};
use rankgauge_core::decode::ubi::Dialect;
use rankgauge_core::decode::{Format, Formats};
use rankgauge_core::engine::position::{FeedbackTopic, Topics};
use rankgauge_core::event::Kind;

/// Formats of both topics, and all mappings by name. `has_registry` is true if there is a schema registry.
/// With a shared topic, both kinds have the format of the search topic.
pub(super) fn read(
    reader: &mut Reader,
    has_registry: bool,
    topics: Topics,
) -> (Formats, BTreeMap<String, Arc<Mapped>>) {
    let cache = has_registry.then(Arc::<SchemaCache>::default);
    let own = own(reader, cache.as_ref());
    let (search, search_mapping) = format(reader, Kind::Search, &own);
    let is_shared = topics.feedback == FeedbackTopic::Shared;
    if is_shared {
        check_shared(reader, search_mapping.as_deref());
    }
    let has_own_format = !is_shared || reader.is_written(&keys::FEEDBACK_FORMAT.path);
    let (feedback, feedback_mapping) = if has_own_format {
        format(reader, Kind::Feedback, &own)
    } else {
        (search, search_mapping.clone())
    };
    let has_spans = [search, feedback].iter().any(|it| it.is_otlp());
    let formats = Formats {
        search,
        feedback,
        ubi: Dialect {
            ordinal_base: reader.get(&keys::ORDINAL_BASE),
            actions: reader.names(&keys::ACTIONS),
        },
        otlp: mapping(reader, has_spans),
        mapped: [search_mapping, feedback_mapping],
        is_shared,
    };
    let mappings = own.into_iter();
    let mappings = mappings.filter_map(|(name, mapped)| Some((name, mapped?)));
    (formats, mappings.collect())
}

/// Reports a topic of both kinds whose records have two formats, or no condition that separates them.
fn check_shared(reader: &mut Reader, mapped: Option<&Mapped>) {
    let [search, feedback] = [&keys::SEARCH_FORMAT, &keys::FEEDBACK_FORMAT];
    if reader.is_written(&feedback.path) && reader.get(feedback) != reader.get(search) {
        let text = "the topic of both kinds has one format; remove kafka.feedback_format";
        reader.conflict(&[&feedback.path, &search.path], text);
    }
    let Some(mapped) = mapped else { return };
    if !mapped.maps(Kind::Feedback) {
        let text = format!(
            "\"{0}\" maps no feedback events, and the topic has both kinds; add \
             formats.{0}.mapping.feedback",
            mapped.name()
        );
        reader.problem(&search.path, text);
    } else if !mapped.is_selective(Kind::Search) {
        let text = format!(
            "\"{0}\" takes every record for a search, and the topic has both kinds; add \
             formats.{0}.mapping.search.when",
            mapped.name()
        );
        reader.problem(&search.path, text);
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

/// Formats with a mapping, by name; `None` for one with problems, which are reported, and for one with
/// schemas that no topic uses.
fn own(
    reader: &mut Reader,
    cache: Option<&Arc<SchemaCache>>,
) -> BTreeMap<String, Option<Arc<Mapped>>> {
    let used = [&keys::SEARCH_FORMAT, &keys::FEEDBACK_FORMAT].map(|key| reader.text(&key.path));
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
        // The gateway reads JSON by any mapping.
        let is_used =
            form.encoding == Encoding::Json || used.iter().flatten().any(|used| *used == name);
        let term = reader.term(&path);
        let mapped = if let Some(term) = term {
            is_used
                .then(|| {
                    let schemas = schemas(reader, form, &section, cache);
                    let mapped = compiled(reader, &name, form, term, &path)?;
                    Some(Arc::new(mapped.with_schemas(schemas?)))
                })
                .flatten()
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

/// Schemas of the records of a format; `None` if there are problems, which are reported.
fn schemas(
    reader: &mut Reader,
    form: Form,
    section: &str,
    cache: Option<&Arc<SchemaCache>>,
) -> Option<Schemas> {
    let (schema_key, message_key) = (keys::SCHEMA.of(section), keys::MESSAGE.of(section));
    let framing = keys::FRAMING.of(section).path;
    let file = reader.find(&schema_key);
    let message = reader.find(&message_key);
    if form.framing == Framing::SingleObject && form.encoding != Encoding::Avro {
        reader.problem(
            &framing,
            "single_object is a framing of Avro; set encoding: avro",
        );
        return None;
    }
    if form.encoding == Encoding::Json {
        for (key, is_set) in [
            (&schema_key.path, file.is_some()),
            (&message_key.path, message.is_some()),
        ] {
            if is_set {
                reader.problem(
                    key,
                    "has no effect: JSON needs no schema; remove it, or set encoding",
                );
            }
        }
        return Some(Schemas::default());
    }
    let Some(file) = file else {
        if form.framing == Framing::Confluent
            && let Some(cache) = cache
        {
            return Some(Schemas {
                source: SchemaSource::Registry(Arc::clone(cache)),
                message,
            });
        }
        if !reader.is_written(&schema_key.path) {
            let text = match form.framing {
                Framing::Confluent => {
                    "is missing; name the file of the schema, or set registry.url"
                }
                Framing::None | Framing::SingleObject => "is missing; name the file of the schema",
            };
            reader.problem(&schema_key.path, text);
        }
        return None;
    };
    let schema = schema_of_file(
        reader,
        form.encoding,
        &file,
        &schema_key.path,
        message.as_deref(),
    )?;
    Some(Schemas {
        source: SchemaSource::File(Arc::new(schema)),
        message,
    })
}

/// Schema of a file; `None` if there are problems, which are reported.
fn schema_of_file(
    reader: &mut Reader,
    encoding: Encoding,
    file: &Path,
    key: &str,
    message: Option<&str>,
) -> Option<Schema> {
    let path = located(reader, file, key);
    let name = path.display();
    let content = match std::fs::read(&path) {
        Ok(content) => content,
        Err(error) => {
            reader.problem(key, format!("{name} cannot be read: {error}"));
            return None;
        }
    };
    let text = || std::str::from_utf8(&content).map_err(|_| "is not UTF-8".to_owned());
    let schema = match encoding {
        Encoding::Json | Encoding::Avro => text().and_then(|text| Schema::avro(text, &[], message)),
        Encoding::Protobuf if path.extension().is_some_and(|it| it == "proto") => {
            Schema::protobuf(&content, &[])
        }
        Encoding::Protobuf => Schema::descriptor_set(&content),
    };
    let checked = schema.and_then(|schema| schema.check_message(message).map(|()| schema));
    checked
        .map_err(|problem| reader.problem(key, format!("{name} {problem}")))
        .ok()
}

/// Path of a file that is relative to the working folder, or to the file that names it.
fn located(reader: &Reader, file: &Path, key: &str) -> PathBuf {
    if !file.exists()
        && let Some(folder) = reader.folder(key)
    {
        let beside = folder.join(file);
        if beside.exists() {
            return beside;
        }
    }
    file.to_owned()
}

/// Compiled mapping; `None` if it has problems, which are reported.
fn compiled(reader: &mut Reader, name: &str, form: Form, term: Term, path: &str) -> Option<Mapped> {
    let compiled = Mapped::compile(name, form, term);
    let reported = compiled.map_err(|problems| {
        for problem in problems {
            reader.problem(&format!("{path}{}", problem.path), problem.text);
        }
    });
    reported.ok()
}

fn mapping(reader: &mut Reader, has_spans: bool) -> Mapping {
    let kinds: BTreeSet<_> = reader.values(&keys::SEARCH_SPANS).into_iter().collect();
    let mut mapping = Mapping {
        search_spans: kinds.into_iter().collect(),
        names: reader.values(&keys::SPAN_NAMES),
        ignore_names: reader.values(&keys::IGNORE_NAMES),
        scopes: reader.values(&keys::SCOPES),
        query_fields: reader.values(&keys::QUERY_FIELDS),
        document_id: reader.values(&keys::DOCUMENT_ID),
        group_id: reader.values(&keys::DOCUMENT_GROUP),
        session: reader.get(&keys::SESSION),
        answers: reader.values(&keys::ANSWERS),
        feedback: reader.names(&keys::EVALUATIONS).into_iter().collect(),
        ..Mapping::EMPTY
    };
    let unnamed = |sources: Vec<(String, Source)>| sources.into_iter().map(|it| it.1).collect();
    mapping.query_key = unnamed(sources(reader, &keys::QUERY_KEY, &mut mapping));
    mapping.variant = unnamed(sources(reader, &keys::VARIANT, &mut mapping));
    mapping.labels = sources(reader, &keys::LABELS, &mut mapping);
    read_deployments(reader, &mut mapping, has_spans);
    for (name, patterns) in reader.named_lists(&keys::RESOURCES) {
        mapping.require_resource(&name, patterns);
    }
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

/// Prefix of a label among the sources of a version.
const LABEL: &str = "labels.";

/// Labels that state the version of a variant: those of searches, and the sources of spans, which are
/// labels of the same name.
pub(super) fn version_labels(reader: &mut Reader) -> Vec<String> {
    let sources = reader.values(&keys::DEPLOYMENTS_FROM).into_iter();
    let names = sources.map(|it| it.strip_prefix(LABEL).map_or(it.clone(), str::to_owned));
    names.collect()
}

/// Adds the sources of a version to the labels of spans, and reports those of the variant.
fn read_deployments(reader: &mut Reader, mapping: &mut Mapping, has_spans: bool) {
    let of_variant: Vec<String> = reader.values(&keys::VARIANT);
    for element in reader.list(&keys::DEPLOYMENTS_FROM) {
        let (path, text) = (&element.path, &element.text);
        let label = text.strip_prefix(LABEL);
        if of_variant.contains(text) || label.is_some_and(|it| of_variant.iter().any(|of| of == it))
        {
            let problem = format!(
                "\"{text}\" is a source of the variant (otlp.variant): another value is another \
                 variant, and no deployment of it; remove it from one of the two"
            );
            reader.problem(path, problem);
        } else if label.is_some_and(str::is_empty) {
            reader.problem(path, "labels. lacks the name of a label");
        } else if label.is_none() && !mapping.labels.iter().any(|(name, _)| name == text) {
            if let Some(source) = mapping.source(text).filter(|_| has_spans) {
                mapping.labels.push((text.clone(), source));
                continue;
            }
            let problem = format!(
                "\"{text}\" is no source; labels.NAME is expected, and for OpenTelemetry also span.name, \
                 metadata.KEY, resource.KEY or the name of an attribute"
            );
            reader.problem(path, problem);
        }
    }
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
