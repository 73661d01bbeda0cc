//! Decoders of Kafka records: the bytes of a record become events, or a rejection with its reason.
//!
//! One module per wire format. The decoders know nothing of Kafka: a record is a byte slice.

mod action;
mod avro;
mod binary;
pub mod file;
pub mod framing;
mod json;
pub mod mapped;
pub mod native;
pub mod otlp;
mod protobuf;
mod record;
pub mod schema;
pub mod ubi;
mod wire;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{Acceptance, Kind, Limits, Reason, RecordCounts, Rejection};
use mapped::Mapped;

pub(crate) use record::{Decoded, Event};
pub use record::{Encoded, Envelope, EventRef, OwnedRecord};

/// Wire format of a topic's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The JSON events of `docs/events.md`.
    Native,
    /// User Behavior Insights.
    Ubi,
    /// OpenTelemetry traces in the wire format of Protocol Buffers.
    OtlpProto,
    /// OpenTelemetry traces in JSON.
    OtlpJson,
    /// A format of the configuration, with a mapping.
    Mapped,
}

impl Format {
    /// Every format with a reserved name in the configuration.
    pub const NAMES: [(&str, Self); 4] = [
        ("native", Self::Native),
        ("ubi", Self::Ubi),
        ("otlp_proto", Self::OtlpProto),
        ("otlp_json", Self::OtlpJson),
    ];

    /// Name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Ubi => "ubi",
            Self::OtlpProto => "otlp_proto",
            Self::OtlpJson => "otlp_json",
            Self::Mapped => "mapped",
        }
    }

    /// Returns true for the encodings of OpenTelemetry, whose records hold any number of events.
    pub fn is_otlp(self) -> bool {
        match self {
            Self::Native | Self::Ubi | Self::Mapped => false,
            Self::OtlpProto | Self::OtlpJson => true,
        }
    }
}

/// Wire formats of both topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formats {
    /// Format of the search topic.
    pub search: Format,
    /// Format of the feedback topic.
    pub feedback: Format,
    /// Settings for what UBI leaves open; used only if either format is UBI.
    pub ubi: ubi::Dialect,
    /// Mapping of spans; used only if either format is OTLP.
    pub otlp: otlp::Mapping,
    /// Mappings of the search topic and of the feedback topic.
    pub mapped: [Option<Arc<Mapped>>; 2],
    /// True if the records of the search topic are searches or feedback. Both formats are the same.
    pub is_shared: bool,
}

impl Formats {
    /// Native events on both topics.
    pub const NATIVE: Self = Self {
        search: Format::Native,
        feedback: Format::Native,
        ubi: ubi::Dialect {
            ordinal_base: 1,
            actions: BTreeMap::new(),
        },
        otlp: otlp::Mapping::EMPTY,
        mapped: [None, None],
        is_shared: false,
    };

    /// Formats of files whose lines are records: messages of Protocol Buffers are no lines, and their
    /// JSON form takes their place.
    #[must_use]
    pub fn of_lines(&self) -> Self {
        let of_lines = |format| match format {
            Format::OtlpProto => Format::OtlpJson,
            format => format,
        };
        Self {
            search: of_lines(self.search),
            feedback: of_lines(self.feedback),
            mapped: self
                .mapped
                .clone()
                .map(|mapped| mapped.map(|it| Arc::new(it.of_lines()))),
            ..self.clone()
        }
    }

    /// The same with the schema of a file for the records in Avro.
    #[must_use]
    fn of_schema(&self, schema: &Arc<schema::Schema>) -> Self {
        let of_schema = |mapped: Arc<Mapped>| Arc::new(mapped.of_schema(schema));
        Self {
            mapped: self.mapped.clone().map(|mapped| mapped.map(of_schema)),
            ..self.clone()
        }
    }

    /// Format of the topic of a kind.
    pub fn of(&self, kind: Kind) -> Format {
        match kind {
            Kind::Search => self.search,
            Kind::Feedback => self.feedback,
        }
    }

    /// Kind of the event that a record seems to hold, if its topic has both kinds. `kind` is that of the
    /// topic.
    pub fn probable_kind(&self, kind: Kind, payload: &[u8]) -> Kind {
        let has = |name: &str| memchr::memmem::find(payload, name.as_bytes()).is_some();
        let is_feedback = match self.of(kind) {
            Format::Native => !has("\"results\""),
            Format::Ubi => has("\"action_name\""),
            Format::OtlpProto | Format::OtlpJson | Format::Mapped => false,
        };
        if self.is_shared && is_feedback {
            Kind::Feedback
        } else {
            kind
        }
    }

    /// Decodes a record as far as it is a single event.
    ///
    /// # Errors
    /// The record cannot be decoded.
    pub(crate) fn event<'a>(
        &'a self,
        kind: Kind,
        record: impl Into<Encoded<'a>>,
        limits: &Limits,
    ) -> Result<Decoded<'a>, Rejection> {
        let record = record.into();
        if !self.is_shared {
            return self.event_of(kind, record, limits);
        }
        let first = self.probable_kind(kind, record.payload);
        let decoded = self.event_of(first, record, limits);
        match (self.of(kind), &decoded) {
            // The members may be those of the other kind in spite of what they contain.
            (Format::Native | Format::Ubi, Err(_)) => {
                let other = self.event_of(first.other(), record, limits);
                if other.is_ok() { other } else { decoded }
            }
            (Format::Mapped, Ok(Decoded::Ignored)) => self.event_of(first.other(), record, limits),
            _ => decoded,
        }
    }

    fn event_of<'a>(
        &'a self,
        kind: Kind,
        record: Encoded<'a>,
        limits: &Limits,
    ) -> Result<Decoded<'a>, Rejection> {
        let payload = record.payload;
        let event = match (self.of(kind), kind) {
            (Format::Native, Kind::Search) => native::search(payload, limits).map(Event::Search),
            (Format::Native, Kind::Feedback) => {
                native::feedback(payload, limits).map(Event::Feedback)
            }
            (Format::Ubi, Kind::Search) => ubi::Dialect::search(payload, limits).map(Event::Search),
            (Format::Ubi, Kind::Feedback) => {
                self.ubi.feedback(payload, limits).map(Event::Feedback)
            }
            (Format::OtlpProto | Format::OtlpJson, _) => return Ok(Decoded::Several),
            (Format::Mapped, _) => {
                let mapped = self.mapped(kind)?;
                let decoded = mapped.event(kind, record, limits);
                return decoded.map_err(|rejection| mapped.explained(payload, rejection));
            }
        };
        event
            .map(Decoded::Event)
            .map_err(|rejection| framing::explained(payload, rejection))
    }

    /// Cache of the schema registry; `None` without one.
    pub fn cache(&self) -> Option<&Arc<schema::SchemaCache>> {
        self.mapped
            .iter()
            .flatten()
            .find_map(|mapped| mapped.cache())
    }

    /// Id of the schema that has to be received from the registry before a record can be decoded.
    pub fn missing_schema(&self, kind: Kind, payload: &[u8], limits: &Limits) -> Option<u32> {
        let mapped = self.mapped[kind.index()].as_deref()?;
        mapped.missing_schema(payload, limits)
    }

    fn mapped(&self, kind: Kind) -> Result<&Mapped, Rejection> {
        let mapped = self.mapped[kind.index()].as_deref();
        mapped.ok_or_else(|| Rejection::new(Reason::BadValue, "the format has no mapping"))
    }

    /// Decodes a record, and passes its events to `visit`, in their order. An invalid event among
    /// several is passed as a rejection. Returns the counts of what the record holds.
    ///
    /// # Errors
    /// The record cannot be decoded. Nothing is visited then.
    pub fn events<'a>(
        &self,
        kind: Kind,
        record: impl Into<Encoded<'a>>,
        acceptance: &Acceptance,
        visit: &mut dyn FnMut(Result<EventRef<'_>, Rejection>),
    ) -> Result<RecordCounts, Rejection> {
        let record = record.into();
        let decoded = match self.of(kind) {
            Format::OtlpProto | Format::OtlpJson | Format::Mapped if self.is_shared => {
                self.decode_both(record, acceptance, visit)
            }
            _ => self.decode(kind, record, acceptance, visit),
        };
        decoded.map_err(|rejection| match self.mapped(kind) {
            Ok(mapped) if self.of(kind) == Format::Mapped => {
                mapped.explained(record.payload, rejection)
            }
            _ => framing::explained(record.payload, rejection),
        })
    }

    /// Decodes the searches and the feedback of a record.
    fn decode_both(
        &self,
        record: Encoded<'_>,
        acceptance: &Acceptance,
        visit: &mut dyn FnMut(Result<EventRef<'_>, Rejection>),
    ) -> Result<RecordCounts, Rejection> {
        let has_events = Cell::new(false);
        let mut visit = |event: Result<EventRef<'_>, Rejection>| {
            has_events.set(true);
            visit(event);
        };
        let mut counts = self.decode(Kind::Search, record, acceptance, &mut visit)?;
        let mapped = self.mapped[Kind::Search.index()].as_deref();
        // A mapping without `each` takes the whole record for its search, as for a single event.
        if has_events.get() && mapped.is_some_and(|it| !it.holds_several(Kind::Search)) {
            return Ok(counts);
        }
        let feedback = self.decode(Kind::Feedback, record, acceptance, &mut visit);
        match feedback {
            Ok(feedback) => {
                counts = RecordCounts {
                    spans: counts.spans,
                    dropped_attributes: counts.dropped_attributes,
                    documents_without_id: counts.documents_without_id,
                    answers_without_search: counts.answers_without_search,
                    // An event that either mapping selects is not ignored.
                    ignored: counts.ignored.min(feedback.ignored),
                    ..feedback
                };
            }
            Err(rejection) if has_events.get() => visit(Err(rejection.of_one_event())),
            Err(rejection) => return Err(rejection),
        }
        Ok(counts)
    }

    fn decode(
        &self,
        kind: Kind,
        record: Encoded<'_>,
        acceptance: &Acceptance,
        visit: &mut dyn FnMut(Result<EventRef<'_>, Rejection>),
    ) -> Result<RecordCounts, Rejection> {
        let mut counts = RecordCounts::default();
        let payload = record.payload;
        match (self.of(kind), kind) {
            (Format::Native | Format::Ubi, _) => {
                if let Decoded::Event(event) = self.event(kind, record, &acceptance.limits)? {
                    visit(Ok(event.as_ref()));
                }
            }
            (Format::Mapped, _) => {
                counts = self
                    .mapped(kind)?
                    .events(kind, record, &acceptance.limits, visit)?;
            }
            (format, Kind::Search) => {
                let decode = match format {
                    Format::OtlpJson => otlp::json,
                    _ => otlp::proto,
                };
                counts = decode(payload, acceptance, &self.otlp, &mut |search| {
                    visit(search.map(EventRef::Search));
                })?;
            }
            (format, Kind::Feedback) => {
                let decode = match format {
                    Format::OtlpJson => otlp::feedback_json,
                    _ => otlp::feedback_proto,
                };
                let limits = &acceptance.limits;
                counts = decode(payload, limits, &self.otlp, &mut |event| {
                    visit(event.map(EventRef::Feedback));
                })?;
            }
        }
        Ok(counts)
    }
}
