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
        match kind {
            Kind::Search => self
                .single_search(payload, limits)
                .map(|it| it.map(Event::Search)),
            Kind::Feedback => self
                .single_feedback(payload, limits)
                .map(|it| it.map(Event::Feedback)),
        }
    }

    fn single_search<'a>(
        &self,
        payload: &'a [u8],
        limits: &Limits,
    ) -> Option<Result<Box<Search<'a>>, Rejection>> {
        match self.search {
            Format::Native => Some(native::search(payload, limits)),
            Format::Ubi => Some(ubi::search(payload, limits)),
            Format::OtlpProto | Format::OtlpJson => None,
        }
    }

    fn single_feedback<'a>(
        &self,
        payload: &'a [u8],
        limits: &Limits,
    ) -> Option<Result<Feedback<'a>, Rejection>> {
        match self.feedback {
            Format::Native => Some(native::feedback(payload, limits)),
            Format::Ubi => Some(ubi::feedback(payload, limits, &self.ubi)),
            Format::OtlpProto | Format::OtlpJson => None,
        }
    }

    /// Decodes a record of the search topic, and passes its searches to `visit`, in their order. An
    /// invalid search among several is passed as a rejection. Returns the counts of its spans.
    ///
    /// # Errors
    /// The record cannot be decoded. Nothing is visited then.
    pub fn searches(
        &self,
        payload: &[u8],
        acceptance: &Acceptance,
        visit: &mut otlp::Visit<'_>,
    ) -> Result<RecordCounts, Rejection> {
        if let Some(search) = self.single_search(payload, &acceptance.limits) {
            visit(Ok(&*search?));
            return Ok(RecordCounts::default());
        }
        let decode = match self.search {
            Format::OtlpJson => otlp::json,
            _ => otlp::proto,
        };
        let spans = decode(payload, acceptance, &self.otlp, visit)?;
        Ok(RecordCounts {
            spans,
            ..RecordCounts::default()
        })
    }

    /// Decodes a record of the feedback topic, and passes its events to `visit`, in their order. An
    /// invalid event among several is passed as a rejection. Returns the counts of its evaluations.
    ///
    /// # Errors
    /// The record cannot be decoded. Nothing is visited then.
    pub fn feedback(
        &self,
        payload: &[u8],
        limits: &Limits,
        visit: &mut otlp::VisitFeedback<'_>,
    ) -> Result<RecordCounts, Rejection> {
        if let Some(feedback) = self.single_feedback(payload, limits) {
            visit(Ok(&feedback?));
            return Ok(RecordCounts::default());
        }
        let decode = match self.feedback {
            Format::OtlpJson => otlp::feedback_json,
            _ => otlp::feedback_proto,
        };
        let evaluations = decode(payload, limits, &self.otlp, visit)?;
        Ok(RecordCounts {
            evaluations,
            ..RecordCounts::default()
        })
    }
}
