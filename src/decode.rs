//! From the bytes of a record to an event, or to the reason why not.
//!
//! One module a wire format. None of them knows of Kafka: a record here is a byte slice.

mod action;
mod json;
pub mod native;
pub mod ubi;

use std::collections::BTreeMap;
use std::fmt;

use crate::engine::settings::Limits;
use crate::event::{Feedback, Search};

pub use action::ActionName;

/// How the records of a topic are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The JSON events of `docs/events.md`.
    Native,
    /// User Behavior Insights.
    Ubi,
}

impl Format {
    /// Every format by the name that configuration gives it.
    pub const NAMES: [(&str, Self); 2] = [("native", Self::Native), ("ubi", Self::Ubi)];

    /// The name that configuration gives it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Ubi => "ubi",
        }
    }
}

/// How both topics are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formats {
    /// The format of searches.
    pub search: Format,
    /// The format of feedback.
    pub feedback: Format,
    /// What UBI leaves open, where either is UBI.
    pub ubi: ubi::Dialect,
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
    };

    /// Decodes a record of the search topic.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn search<'a>(&self, payload: &'a [u8], limits: &Limits) -> Result<Search<'a>, Rejection> {
        match self.search {
            Format::Native => native::search(payload, limits),
            Format::Ubi => ubi::search(payload, limits),
        }
    }

    /// Decodes a record of the feedback topic.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn feedback<'a>(
        &self,
        payload: &'a [u8],
        limits: &Limits,
    ) -> Result<Feedback<'a>, Rejection> {
        match self.feedback {
            Format::Native => native::feedback(payload, limits),
            Format::Ubi => ubi::feedback(payload, limits, &self.ubi),
        }
    }
}

/// Why a record cannot be used. The label value of `invalid_events_total`, so the list is short
/// and closed; what exactly was wrong is in [`Rejection::detail`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No payload at all (a tombstone).
    Empty,
    /// More bytes than `limits.record_bytes`.
    TooLarge,
    /// Not UTF-8.
    NotUtf8,
    /// Not JSON, or cut short.
    NotJson,
    /// A required field is missing.
    MissingField,
    /// A known field holds something of another type.
    WrongType,
    /// A known field holds a value outside its range.
    BadValue,
    /// More results than `limits.results_per_search`.
    TooManyResults,
    /// Further ahead of the wall time than `engine.max_future_skew`.
    FutureTime,
}

impl Reason {
    /// Every reason, in the order of [`Reason::index`].
    pub const ALL: [Self; 9] = [
        Self::Empty,
        Self::TooLarge,
        Self::NotUtf8,
        Self::NotJson,
        Self::MissingField,
        Self::WrongType,
        Self::BadValue,
        Self::TooManyResults,
        Self::FutureTime,
    ];

    /// Position in [`Reason::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The label value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLarge => "too_large",
            Self::NotUtf8 => "not_utf8",
            Self::NotJson => "not_json",
            Self::MissingField => "missing_field",
            Self::WrongType => "wrong_type",
            Self::BadValue => "bad_value",
            Self::TooManyResults => "too_many_results",
            Self::FutureTime => "future_time",
        }
    }
}

/// Why one record cannot be used, and what was wrong with it in a person's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", reason.name())]
pub struct Rejection {
    /// The kind of problem.
    pub reason: Reason,
    /// The field and what is wrong with it.
    pub detail: String,
}

impl Rejection {
    fn new(reason: Reason, detail: impl fmt::Display) -> Self {
        let mut detail = detail.to_string();
        // A parser quotes what it did not understand, however long that is.
        detail.truncate(detail.floor_char_boundary(300));
        Self { reason, detail }
    }
}
