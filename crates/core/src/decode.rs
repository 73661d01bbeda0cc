//! Decoders of Kafka records: the bytes of a record become an event, or a rejection with its
//! reason.
//!
//! One module per wire format. The decoders know nothing of Kafka: a record is a byte slice.

mod action;
mod json;
pub mod native;
pub mod ubi;

use std::collections::BTreeMap;
use std::fmt;

use crate::event::{Feedback, Limits, Reason, Search};

pub use action::ActionName;

/// Wire format of a topic's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The JSON events of `docs/events.md`.
    Native,
    /// User Behavior Insights.
    Ubi,
}

impl Format {
    /// Every format with its name in the configuration.
    pub const NAMES: [(&str, Self); 2] = [("native", Self::Native), ("ubi", Self::Ubi)];

    /// Name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Ubi => "ubi",
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
    /// A [`Rejection`] with the reason.
    pub fn search<'a>(&self, payload: &'a [u8], limits: &Limits) -> Result<Search<'a>, Rejection> {
        match self.search {
            Format::Native => native::search(payload, limits),
            Format::Ubi => ubi::search(payload, limits),
        }
    }

    /// Decodes a record of the feedback topic.
    ///
    /// # Errors
    /// A [`Rejection`] with the reason.
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

/// Rejection of one record, with a readable explanation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", reason.name())]
pub struct Rejection {
    /// Reason for the rejection.
    pub reason: Reason,
    /// Field and problem.
    pub detail: String,
}

impl Rejection {
    fn new(reason: Reason, detail: impl fmt::Display) -> Self {
        let mut detail = detail.to_string();
        // Parsers quote the rejected input, which can be long.
        detail.truncate(detail.floor_char_boundary(300));
        Self { reason, detail }
    }
}
