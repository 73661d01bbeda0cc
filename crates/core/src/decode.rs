//! Decoders of Kafka records: the bytes of a record become events, or a rejection with its reason.
//!
//! One module per wire format. The decoders know nothing of Kafka: a record is a byte slice.

mod action;
mod json;
pub mod native;
pub mod otlp;
pub mod ubi;

use std::collections::BTreeMap;

use crate::event::{Acceptance, Feedback, Kind, Limits, RecordCounts, Rejection, Search};

pub use action::ActionName;

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
}

impl Format {
    /// Every format with its name in the configuration.
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
        }
    }

    /// Returns true for the encodings of OpenTelemetry, whose records hold any number of events.
    pub fn is_otlp(self) -> bool {
        match self {
            Self::Native | Self::Ubi => false,
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
}

/// Event of a record that holds no other.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A search. A box, because it is large and passes through several hands.
    Search(Box<Search<'a>>),
    /// A feedback event.
    Feedback(Feedback<'a>),
}

impl Event<'_> {
    fn as_ref(&self) -> EventRef<'_> {
        match self {
            Self::Search(search) => EventRef::Search(search),
            Self::Feedback(feedback) => EventRef::Feedback(feedback),
        }
    }
}

/// Reference to an event of a record.
#[derive(Clone, Copy, Debug)]
pub enum EventRef<'e> {
    /// A search.
    Search(&'e Search<'e>),
    /// A feedback event.
    Feedback(&'e Feedback<'e>),
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

    /// Decodes a record of a format whose records are single events; `None` for other formats.
    pub fn event<'a>(
        &self,
        kind: Kind,
        payload: &'a [u8],
        limits: &Limits,
    ) -> Option<Result<Event<'a>, Rejection>> {
        Some(match (self.of(kind), kind) {
            (Format::Native, Kind::Search) => native::search(payload, limits).map(Event::Search),
            (Format::Native, Kind::Feedback) => {
                native::feedback(payload, limits).map(Event::Feedback)
            }
            (Format::Ubi, Kind::Search) => ubi::search(payload, limits).map(Event::Search),
            (Format::Ubi, Kind::Feedback) => {
                ubi::feedback(payload, limits, &self.ubi).map(Event::Feedback)
            }
            (Format::OtlpProto | Format::OtlpJson, _) => return None,
        })
    }

    /// Decodes a record, and passes its events to `visit`, in their order. An invalid event among
    /// several is passed as a rejection. Returns the counts of what the record holds.
    ///
    /// # Errors
    /// The record cannot be decoded. Nothing is visited then.
    pub fn events(
        &self,
        kind: Kind,
        payload: &[u8],
        acceptance: &Acceptance,
        visit: &mut dyn FnMut(Result<EventRef<'_>, Rejection>),
    ) -> Result<RecordCounts, Rejection> {
        let mut counts = RecordCounts::default();
        match (self.of(kind), kind) {
            (Format::Native | Format::Ubi, _) => {
                if let Some(event) = self.event(kind, payload, &acceptance.limits) {
                    visit(Ok(event?.as_ref()));
                }
            }
            (format, Kind::Search) => {
                let decode = match format {
                    Format::OtlpJson => otlp::json,
                    _ => otlp::proto,
                };
                counts.spans = decode(payload, acceptance, &self.otlp, &mut |search| {
                    visit(search.map(EventRef::Search));
                })?;
            }
            (format, Kind::Feedback) => {
                let decode = match format {
                    Format::OtlpJson => otlp::feedback_json,
                    _ => otlp::feedback_proto,
                };
                let limits = &acceptance.limits;
                counts.evaluations = decode(payload, limits, &self.otlp, &mut |event| {
                    visit(event.map(EventRef::Feedback));
                })?;
            }
        }
        Ok(counts)
    }
}
