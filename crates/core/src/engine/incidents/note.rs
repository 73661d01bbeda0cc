//! Notes on an incident.

use serde::{Deserialize, Serialize};

use crate::time::WallTime;

/// Note of an operator on an incident.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Note {
    /// Time of the note.
    pub at: WallTime,
    /// Operator, if known.
    pub by: Option<Box<str>>,
    /// Text of at most [`Note::MAX_BYTES`] bytes.
    pub text: Box<str>,
}

impl Note {
    /// Maximum length of the text in bytes.
    pub const MAX_BYTES: usize = 2_000;

    /// Maximum number of notes on an incident. Later ones are not kept.
    pub const MAX_NUMBER: usize = 32;
}
