//! From the bytes of a record to an event, or to the reason why not.
//!
//! One module a wire format. None of them knows of Kafka: a record here is a byte slice.

mod action;
mod json;
pub mod native;
pub mod ubi;

use std::collections::BTreeMap;
use std::fmt;

use crate::event::{Feedback, Limits, Reason, Search};

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
