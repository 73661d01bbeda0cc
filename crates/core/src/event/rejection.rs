//! Limits on single records, and the reasons for which a record is rejected.

/// Limits on the size of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a record in bytes. A larger record is invalid.
    pub record_bytes: usize,
    /// Maximum number of results of one search. A longer list is invalid.
    pub results_per_search: usize,
}

/// Reason for the rejection of a record. It is a label value of `invalid_events_total`, so the list
/// is short and closed; [`Rejection::detail`](crate::decode::Rejection::detail) holds the exact problem.
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
    pub const ALL: [Self; 11] = [
        Self::Empty,
        Self::TooLarge,
        Self::NotUtf8,
        Self::NotJson,
        Self::NotProtobuf,
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
            Self::MissingField => "missing_field",
            Self::WrongType => "wrong_type",
            Self::BadValue => "bad_value",
            Self::TooManyResults => "too_many_results",
            Self::FutureTime => "future_time",
            Self::TimeInSeconds => "time_in_seconds",
        }
    }
}
