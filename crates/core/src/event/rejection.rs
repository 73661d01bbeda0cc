//! Limits on single records, and rejections of records with their reasons.

use std::fmt;

/// Limits on the size of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a record in bytes. A larger record is invalid.
    pub record_bytes: usize,
    /// Maximum number of results of one search. A longer list is invalid.
    pub results_per_search: usize,
}

/// Conditions under which a record is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// Limits on its size.
    pub limits: Limits,
    /// True if the gold set has texts, by which documents without an id are judged.
    pub has_gold_texts: bool,
}

/// Reason for the rejection of a record. It is a label value of `invalid_events_total`, so the list
/// is short and closed; [`Rejection::detail`] holds the exact problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No payload (a tombstone).
    Empty,
    /// More bytes than `limits.record_bytes`.
    TooLarge,
    /// Not UTF-8.
    NotUtf8,
    /// Not JSON, or truncated JSON.
    NotJson,
    /// Not the expected Protocol Buffers message, or a truncated one.
    NotProtobuf,
    /// Not Avro of the expected schema, or truncated Avro.
    NotAvro,
    /// The schema registry has no usable schema of this id, or a single object has another schema.
    UnknownSchema,
    /// A required field is missing.
    MissingField,
    /// A known field has a value of the wrong type.
    WrongType,
    /// A known field has a value outside its range.
    BadValue,
    /// More results than `limits.results_per_search`.
    TooManyResults,
    /// A time that is further ahead of the wall time than `engine.max_future_skew`.
    FutureTime,
    /// A time in seconds where milliseconds are expected.
    TimeInSeconds,
}

impl Reason {
    /// Every reason, in the order of [`Reason::index`].
    pub const ALL: [Self; 13] = [
        Self::Empty,
        Self::TooLarge,
        Self::NotUtf8,
        Self::NotJson,
        Self::NotProtobuf,
        Self::NotAvro,
        Self::UnknownSchema,
        Self::MissingField,
        Self::WrongType,
        Self::BadValue,
        Self::TooManyResults,
        Self::FutureTime,
        Self::TimeInSeconds,
    ];

    /// Position in [`Reason::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Label value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLarge => "too_large",
            Self::NotUtf8 => "not_utf8",
            Self::NotJson => "not_json",
            Self::NotProtobuf => "not_protobuf",
            Self::NotAvro => "not_avro",
            Self::UnknownSchema => "unknown_schema",
            Self::MissingField => "missing_field",
            Self::WrongType => "wrong_type",
            Self::BadValue => "bad_value",
            Self::TooManyResults => "too_many_results",
            Self::FutureTime => "future_time",
            Self::TimeInSeconds => "time_in_seconds",
        }
    }

    /// Action against records that are invalid for this reason.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Empty => "do not send records without a payload, and do not compact the topic",
            Self::TooLarge => "send smaller records, or raise limits.record_bytes",
            Self::NotUtf8 => {
                "encode records as UTF-8, or set kafka.search_format or kafka.feedback_format: spans in \
                 Protocol Buffers are otlp_proto"
            }
            Self::NotJson => {
                "send JSON, one event a record, without the framing of a schema registry; or map the \
                 records in the section formats (docs/connect/own-records.md)"
            }
            Self::NotProtobuf => {
                "send ExportTraceServiceRequest messages (traces.encoding: otlp_proto), or set \
                 kafka.search_format or kafka.feedback_format"
            }
            Self::NotAvro => {
                "set encoding, framing and schema of the format to those of the producer \
                 (docs/connect/own-records.md)"
            }
            Self::UnknownSchema => {
                "set registry.url to the registry of the producer, or schema to the file of its schema \
                 (docs/connect/own-records.md)"
            }
            Self::MissingField | Self::WrongType | Self::BadValue => {
                "correct the producer by schemas/ and docs/events.md, or map its records in the section \
                 formats (docs/connect/own-records.md)"
            }
            Self::TooManyResults => {
                "send only the served results, or raise limits.results_per_search"
            }
            Self::FutureTime => "synchronise the clocks",
            Self::TimeInSeconds => "multiply times by 1,000, or send ISO 8601 with an offset",
        }
    }
}

/// Rejection of a record or of one of its events, from the decoder or the engine to the log, the
/// dead-letter topic and the API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", reason.name())]
pub struct Rejection {
    /// Reason for the rejection.
    pub reason: Reason,
    /// Field and problem. It may quote the record.
    pub detail: String,
    /// False if the record can have other events, which are counted.
    pub is_whole_record: bool,
}

impl Rejection {
    /// Maximum length of [`Rejection::detail`] in bytes. Parsers quote the rejected input, which can
    /// be long.
    pub const MAX_DETAIL: usize = 300;

    /// Creates the rejection of a whole record.
    pub fn new(reason: Reason, detail: impl fmt::Display) -> Self {
        let mut detail = detail.to_string();
        detail.truncate(detail.floor_char_boundary(Self::MAX_DETAIL));
        Self {
            reason,
            detail,
            is_whole_record: true,
        }
    }

    /// Returns the rejection of one event of a record that can have several.
    #[must_use]
    pub fn of_one_event(self) -> Self {
        Self {
            is_whole_record: false,
            ..self
        }
    }

    /// Adds the place of the rejected part of a record.
    #[must_use]
    pub fn placed_at(self, place: &str) -> Self {
        Self {
            is_whole_record: self.is_whole_record,
            ..Self::new(self.reason, format_args!("{place}: {}", self.detail))
        }
    }
}
