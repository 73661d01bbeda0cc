//! Decoder of records in a team's own format, described by a mapping: pointers into a record become the
//! fields of events.
//!
//! A mapping is compiled once to a trie of its pointers (`trie`). A record is read along the trie,
//! in any encoding, without a tree of its values; then the fields are set from what was found.
//! The events are checked as native events are.

mod build;
mod plan;
mod problem;
mod scalar;
mod term;
mod trie;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeSeed as _;

use super::binary::Broken;
use super::framing::{self, Compression, Framing};
use super::json::{check_size, not_json, text_of_any, without_half_characters};
use super::record::{Decoded, Encoded, Event, EventRef};
use super::schema::{self, Cached, Schemas};
use super::{avro, protobuf};
use crate::event::{Kind, Limits, Reason, RecordCounts, Rejection};
use plan::{Each, Origin, Plan, Scope};
use scalar::Scalar;
use trie::{Found, Node, Stop, Walk};

pub use problem::Problem;
pub use term::Term;

/// Encoding of the records of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// JSON, UTF-8.
    Json,
    /// Binary encoding of Avro.
    Avro,
    /// Messages of Protocol Buffers.
    Protobuf,
}

impl Encoding {
    /// Every encoding with its name in the configuration.
    pub const NAMES: [(&str, Self); 3] = [
        ("json", Self::Json),
        ("avro", Self::Avro),
        ("protobuf", Self::Protobuf),
    ];
}

/// Form of the records of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Encoding of the content inside the framing.
    pub encoding: Encoding,
    /// Framing around the encoding.
    pub framing: Framing,
    /// Compression of the whole payload.
    pub compression: Compression,
}

impl Form {
    /// Form of the lines of files.
    const OF_LINES: Self = Self {
        encoding: Encoding::Json,
        framing: Framing::None,
        compression: Compression::None,
    };
}

/// Rejection of a record without the framing of its format.
#[cold]
fn not_framed(encoding: Encoding, beginning: &str) -> Rejection {
    let reason = match encoding {
        Encoding::Json => Reason::NotJson,
        Encoding::Avro => Reason::NotAvro,
        Encoding::Protobuf => Reason::NotProtobuf,
    };
    Rejection::new(
        reason,
        format_args!("the record does not begin with {beginning}; set framing: none"),
    )
}

/// Content of a record, with its schema.
#[derive(Clone, Copy)]
enum Content<'a> {
    Json(&'a str),
    Avro(&'a avro::Schema, &'a [u8]),
    /// Schema, place of the message, message.
    Protobuf(&'a protobuf::Schema, usize, &'a [u8]),
}

/// Compiled mapping with the form of its records.
#[derive(Clone)]
pub struct Mapped {
    name: String,
    form: Form,
    schemas: Schemas,
    term: Term,
    search: Option<Plan>,
    feedback: Option<Plan>,
}

impl PartialEq for Mapped {
    fn eq(&self, other: &Self) -> bool {
        // The plans follow from the term.
        let is_form = self.form == other.form && self.schemas == other.schemas;
        is_form && self.name == other.name && self.term == other.term
    }
}

impl Eq for Mapped {}

impl fmt::Debug for Mapped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut mapped = formatter.debug_struct("Mapped");
        mapped.field("name", &self.name);
        mapped.field("form", &self.form);
        mapped.field("term", &self.term).finish_non_exhaustive()
    }
}

impl Mapped {
    /// Compiles the mapping of the format `name`.
    ///
    /// # Errors
    /// All problems of the mapping, with their paths.
    pub fn compile(name: &str, form: Form, term: Term) -> Result<Self, Vec<Problem>> {
        let (mut search, mut feedback, mut problems) = (None, None, Vec::new());
        let kinds = term.section("", &mut problems);
        for (kind, written) in kinds {
            let path = format!(".{kind}");
            match kind.as_str() {
                "search" => search = Plan::compile(Kind::Search, written, &path, &mut problems),
                "feedback" => {
                    feedback = Plan::compile(Kind::Feedback, written, &path, &mut problems);
                }
                _ => problems.push(Problem {
                    path,
                    text: plan::unknown_key(kind, &["search", "feedback"]),
                }),
            }
        }
        if kinds.is_empty() && problems.is_empty() {
            problems.push(Problem {
                path: String::new(),
                text: "maps neither search nor feedback".to_owned(),
            });
        }
        if problems.is_empty() {
            let name = name.to_owned();
            Ok(Self {
                name,
                form,
                schemas: Schemas::default(),
                term,
                search,
                feedback,
            })
        } else {
            Err(problems)
        }
    }

    /// The same with the schemas of its records.
    #[must_use]
    pub fn with_schemas(self, schemas: Schemas) -> Self {
        Self { schemas, ..self }
    }

    /// Cache of the schema registry; `None` without one.
    pub fn cache(&self) -> Option<&Arc<schema::SchemaCache>> {
        self.schemas.cache()
    }

    /// Name of the format in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if the mapping has events of a kind.
    pub fn maps(&self, kind: Kind) -> bool {
        self.plan(kind).is_some()
    }

    /// Returns true if a record can hold several events of a kind.
    pub fn holds_several(&self, kind: Kind) -> bool {
        self.plan(kind).is_some_and(|plan| plan.each.is_some())
    }

    /// Returns true if the mapping of a kind selects records by a condition.
    pub fn is_selective(&self, kind: Kind) -> bool {
        self.plan(kind).is_some_and(|plan| !plan.when.is_empty())
    }

    /// Sources as written of the fields, labels and attributes that an event of a kind has once, after their
    /// keys in the mapping of the kind: `fields.latency_ms`, `labels.channel`.
    pub fn field_sources(&self, kind: Kind) -> impl Iterator<Item = (String, &str)> {
        let plan = self.plan(kind).into_iter();
        let sources = plan.flat_map(Plan::sources);
        sources.map(|(key, sources)| (key, sources.text.as_str()))
    }

    /// The same for the events of a kind without a value in the sources of the field with a key.
    #[must_use]
    pub fn without_field(&self, kind: Kind, key: &str) -> Self {
        let mut absent = self.clone();
        let of_kind = match kind {
            Kind::Search => &mut absent.search,
            Kind::Feedback => &mut absent.feedback,
        };
        if let Some(plan) = of_kind {
            let of_key = plan.sources().find(|(known, _)| known == key);
            let of_key = of_key.map(|(_, sources)| (sources.clone(), vec![None]));
            plan.when.extend(of_key);
        }
        absent
    }

    /// Format of the same records as lines of a file.
    #[must_use]
    pub(super) fn of_lines(&self) -> Self {
        Self {
            form: Form::OF_LINES,
            ..self.clone()
        }
    }

    /// The same with the schema of the records in an Avro container.
    #[must_use]
    pub(super) fn of_schema(&self, schema: &Arc<schema::Schema>) -> Self {
        Self {
            form: Form {
                encoding: Encoding::Avro,
                ..Form::OF_LINES
            },
            schemas: Schemas {
                source: schema::Source::File(Arc::clone(schema)),
                message: None,
            },
            ..self.clone()
        }
    }

    /// Returns true if the records can be lines of a file.
    pub(super) fn is_of_lines(&self) -> bool {
        self.form == Form::OF_LINES
    }

    /// Returns true if the records are in Avro.
    pub(super) fn is_avro(&self) -> bool {
        self.form.encoding == Encoding::Avro
    }

    fn plan(&self, kind: Kind) -> Option<&Plan> {
        match kind {
            Kind::Search => self.search.as_ref(),
            Kind::Feedback => self.feedback.as_ref(),
        }
    }

    fn plan_of(&self, kind: Kind) -> Result<&Plan, Rejection> {
        self.plan(kind).ok_or_else(|| {
            Rejection::new(
                Reason::BadValue,
                format_args!(
                    "formats.{} has no mapping of {} events",
                    self.name,
                    kind.name()
                ),
            )
        })
    }

    /// Replaces the rejection of a payload that is in another form than that of the format.
    #[cold]
    pub(super) fn explained(&self, payload: &[u8], rejection: Rejection) -> Rejection {
        let has_form = match (self.form.compression, self.form.framing) {
            (Compression::None, Framing::None) => false,
            (Compression::None, Framing::Confluent) => Framing::unframed(payload).is_some(),
            (Compression::None, Framing::SingleObject) => framing::single_object(payload).is_some(),
            (Compression::Gzip | Compression::Zstd, _) => framing::is_compressed(payload),
        };
        if has_form {
            rejection
        } else {
            framing::explained(payload, rejection)
        }
    }

    /// Id of the schema that has to be received from the registry before a record can be decoded.
    pub(super) fn missing_schema(&self, payload: &[u8], limits: &Limits) -> Option<u32> {
        let cache = self.cache()?;
        let inflated = self.form.compression.inflated(payload, limits).ok()?;
        let (id, _) = Framing::unframed(&inflated)?;
        matches!(cache.get(id), Cached::Unknown).then_some(id)
    }

    /// Content of a payload without compression; `None` for another message than the mapping's.
    fn content<'a>(
        &'a self,
        payload: &'a [u8],
        limits: &Limits,
    ) -> Result<Option<Content<'a>>, Rejection> {
        let encoding = self.form.encoding;
        let (id, content) = match self.form.framing {
            _ if payload.is_empty() => (None, payload),
            Framing::None => (None, payload),
            Framing::Confluent => match Framing::unframed(payload) {
                Some((id, content)) => (Some(id), content),
                None => return Err(not_framed(encoding, "the byte 0 and the id of a schema")),
            },
            Framing::SingleObject => match framing::single_object(payload) {
                Some((fingerprint, content)) => {
                    self.check_fingerprint(fingerprint)?;
                    (None, content)
                }
                None => return Err(not_framed(encoding, "the bytes C3 01 of a single object")),
            },
        };
        if encoding == Encoding::Json {
            return text_of_any(content, limits).map(|text| Some(Content::Json(text)));
        }
        check_size(payload, limits)?;
        if encoding == Encoding::Protobuf && framing::is_compressed(content) {
            return Err(Rejection::new(
                Reason::NotProtobuf,
                "the record is compressed",
            ));
        }
        let schema = self.schemas.of(id)?;
        let has_names = self.schemas.cache().is_some();
        let wanted = self.schemas.message.as_deref().filter(|_| has_names);
        let content = match (encoding, &schema.0) {
            (Encoding::Avro, schema::Kind::Avro(schema)) => {
                let is_other = wanted.is_some_and(|wanted| schema.name.as_deref() != Some(wanted));
                (!is_other).then_some(Content::Avro(schema, content))
            }
            (Encoding::Protobuf, schema::Kind::Protobuf(schema)) => {
                let unknown = |problem: String| {
                    Rejection::new(Reason::UnknownSchema, format_args!("the schema {problem}"))
                };
                let (path, content) = match self.form.framing {
                    Framing::Confluent => protobuf::message_path(content)
                        .map(|(path, content)| (Some(path), content))
                        .map_err(|error| Rejection::new(Reason::NotProtobuf, error))?,
                    Framing::None | Framing::SingleObject => (None, content),
                };
                let message = if let Some(path) = path.filter(|_| has_names) {
                    schema.at(&path).ok_or_else(|| {
                        unknown(format!(
                            "has no message at {path:?}, which the record states"
                        ))
                    })?
                } else {
                    let name = self.schemas.message.as_deref();
                    schema.message(name).map_err(unknown)?
                };
                let is_other = wanted.is_some_and(|wanted| schema.name(message) != Some(wanted));
                (!is_other).then_some(Content::Protobuf(schema, message, content))
            }
            _ => {
                return Err(Rejection::new(
                    Reason::UnknownSchema,
                    "the schema of the record is of another encoding; correct encoding",
                ));
            }
        };
        Ok(content)
    }

    fn check_fingerprint(&self, fingerprint: u64) -> Result<(), Rejection> {
        match &self.schemas.of(None)?.0 {
            schema::Kind::Avro(schema) if schema.fingerprint != fingerprint => {
                let ours = schema.fingerprint;
                Err(Rejection::new(
                    Reason::UnknownSchema,
                    format_args!(
                        "the record has the schema with fingerprint {fingerprint:016x}, the file has \
                         {ours:016x}"
                    ),
                ))
            }
            schema::Kind::Avro(_) | schema::Kind::Protobuf(_) => Ok(()),
        }
    }

    /// Decodes a record that holds a single event.
    pub(super) fn event<'a>(
        &'a self,
        kind: Kind,
        record: Encoded<'a>,
        limits: &Limits,
    ) -> Result<Decoded<'a>, Rejection> {
        let plan = self.plan_of(kind)?;
        // What is decompressed does not outlive the decoding.
        if plan.each.is_some() || self.form.compression != Compression::None {
            return Ok(Decoded::Several);
        }
        let Some(content) = self.content(record.payload, limits)? else {
            return Ok(Decoded::Ignored);
        };
        match plan.single(content, record, limits) {
            Ok(event) => Ok(event.map_or(Decoded::Ignored, Decoded::Event)),
            // Nor does what is mended.
            Err(_) if mended(content).is_some() => Ok(Decoded::Several),
            Err(rejection) => Err(rejection),
        }
    }

    /// Decodes a record, and passes its events to `visit`. Returns the counts of its events.
    ///
    /// # Errors
    /// The record cannot be decoded. Nothing is visited then.
    pub(super) fn events(
        &self,
        kind: Kind,
        record: Encoded<'_>,
        limits: &Limits,
        visit: &mut dyn FnMut(Result<EventRef<'_>, Rejection>),
    ) -> Result<RecordCounts, Rejection> {
        let plan = self.plan_of(kind)?;
        let inflated = self.form.compression.inflated(record.payload, limits)?;
        let Some(content) = self.content(&inflated, limits)? else {
            return Ok(RecordCounts {
                ignored: 1,
                ..RecordCounts::default()
            });
        };
        let decoded = plan.events(content, record, limits, visit);
        match (decoded, mended(content)) {
            (Err(_), Some(text)) => plan.events(Content::Json(&text), record, limits, visit),
            (decoded, _) => decoded,
        }
    }
}

/// Text of a record with halves of characters, in which each is replaced as in native events.
fn mended(content: Content<'_>) -> Option<String> {
    match content {
        Content::Json(text) => without_half_characters(text),
        Content::Avro(..) | Content::Protobuf(..) => None,
    }
}

impl Plan {
    fn events<'a>(
        &'a self,
        content: Content<'a>,
        record: Encoded<'a>,
        limits: &Limits,
        visit: &mut dyn FnMut(Result<EventRef<'_>, Rejection>),
    ) -> Result<RecordCounts, Rejection> {
        let mut counts = RecordCounts::default();
        match &self.each {
            Some(each) => self.several(each, content, record, limits, &mut counts, visit)?,
            None => match self.single(content, record, limits)? {
                Some(event) => visit(Ok(event.as_ref())),
                None => counts.ignored += 1,
            },
        }
        Ok(counts)
    }

    /// Decodes a record of one event; `None` if the mapping does not select it.
    fn single<'a>(
        &'a self,
        content: Content<'a>,
        record: Encoded<'a>,
        limits: &Limits,
    ) -> Result<Option<Event<'a>>, Rejection> {
        let mut found = self.event.found();
        match self.event.read(content, record, limits, &mut found)? {
            None => self.build(found, limits),
            Some(()) => Ok(None),
        }
    }

    /// Decodes a record that holds a list of events.
    fn several<'a>(
        &'a self,
        each: &'a Each,
        content: Content<'a>,
        record: Encoded<'a>,
        limits: &Limits,
        counts: &mut RecordCounts,
        visit: &mut dyn FnMut(Result<EventRef<'_>, Rejection>),
    ) -> Result<(), Rejection> {
        let mut outer = each.record.found();
        each.record.read(content, record, limits, &mut outer)?;
        let events = outer.rows.pop().unwrap_or_default();
        for (index, mut found) in events.into_iter().enumerate() {
            for (from, to) in &each.copies {
                if let (Some(from), Some(to)) = (outer.slots.get(*from), found.slots.get_mut(*to)) {
                    to.clone_from(from);
                }
            }
            let built = self
                .event
                .read_envelope(record, limits, &mut found)
                .and_then(|()| self.build(found, limits));
            match built {
                Ok(Some(event)) => visit(Ok(event.as_ref())),
                Ok(None) => counts.ignored += 1,
                Err(rejection) => {
                    let place = format!("{}/{index}", self.each_pointer());
                    visit(Err(rejection.placed_at(&place).of_one_event()));
                }
            }
        }
        Ok(())
    }

    fn each_pointer(&self) -> &str {
        let list = self
            .each
            .as_ref()
            .and_then(|each| each.record.lists.first());
        list.map_or("", |list| &list.pointer)
    }
}

impl Scope {
    fn found<'a>(&self) -> Found<'a> {
        Found::new(self.slots.len(), self.lists.len())
    }

    /// Reads the values of a record. Returns a value if the mapping does not select it.
    fn read<'a>(
        &'a self,
        content: Content<'a>,
        record: Encoded<'a>,
        limits: &Limits,
        found: &mut Found<'a>,
    ) -> Result<Option<()>, Rejection> {
        self.read_envelope(record, limits, found)?;
        let walk = self.walk(&self.root, limits, found);
        let broken = |reason| move |Broken(text)| Rejection::new(reason, text);
        let read = match content {
            Content::Json(text) => read_json(text, walk).map_err(|error| not_json(text, &error)),
            Content::Avro(schema, bytes) => {
                avro::read(schema, bytes, walk).map_err(broken(Reason::NotAvro))
            }
            Content::Protobuf(schema, message, bytes) => {
                protobuf::read(schema, message, bytes, walk).map_err(broken(Reason::NotProtobuf))
            }
        };
        match (read, found.stop.take()) {
            (Ok(()), _) => Ok(None),
            (Err(_), Some(Stop::Ignored)) => {
                // A record in another form can have the value that is ignored where it stops the read.
                if let Content::Avro(schema, bytes) = content
                    && framing::may_be_other(bytes)
                {
                    avro::check(schema, bytes).map_err(broken(Reason::NotAvro))?;
                }
                Ok(Some(()))
            }
            (Err(_), Some(Stop::Rejected(rejection))) | (Err(rejection), None) => Err(rejection),
        }
    }

    /// Reads the values around the payload.
    fn read_envelope<'a>(
        &'a self,
        record: Encoded<'a>,
        limits: &Limits,
        found: &mut Found<'a>,
    ) -> Result<(), Rejection> {
        let Some(envelope) = record.envelope else {
            return Ok(());
        };
        let text = |bytes: Option<&'a [u8]>| match bytes {
            None => Scalar::Absent,
            Some(bytes) => std::str::from_utf8(bytes)
                .map_or(Scalar::Other("bytes"), |text| Scalar::Text(text.into())),
        };
        for (origin, slot) in &self.envelope {
            let value = match origin {
                Origin::Key => text(envelope.key()),
                Origin::Header(name) => text(envelope.header(name)),
                Origin::Timestamp => envelope.timestamp().map_or(Scalar::Absent, Scalar::Time),
            };
            if let Some(slot) = found.slots.get_mut(*slot) {
                *slot = value;
            }
        }
        if let (Some(root), Scalar::Text(Cow::Borrowed(key))) = (&self.key, text(envelope.key()))
            && let Err(error) = read_json(key, self.walk(root, limits, found))
        {
            found.stop = None;
            return Err(Rejection::new(
                Reason::NotJson,
                format_args!("key: {}", not_json(key, &error).detail),
            ));
        }
        Ok(())
    }

    fn walk<'f, 'a>(
        &'a self,
        root: &'a Node,
        limits: &'f Limits,
        found: &'f mut Found<'a>,
    ) -> Walk<'f, 'a> {
        Walk {
            node: root,
            lists: &self.lists,
            found,
            limits,
        }
    }
}

fn read_json<'a>(text: &'a str, walk: Walk<'_, 'a>) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    walk.deserialize(&mut deserializer)?;
    deserializer.end()
}
