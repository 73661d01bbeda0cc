//! In-memory gold sets: relevance judgements, and the lookup of the gold query of a search.
//!
//! There is one loader and one model. The formats parse a file into drafts (`formats`). The drafts
//! are checked against each other and become a [`GoldSet`] (`validate`); downstream code does not
//! check again. A set is immutable: a reload builds a new one. This module must not know searches,
//! measures or metrics, and only [`load()`] and [`Sources::read`] read files.

pub mod adoption;
mod answer;
mod companions;
mod details;
mod digest;
mod documents;
pub mod expansion;
mod formats;
mod graph;
mod judgement_hashes;
mod judgements;
mod load;
mod memory;
mod normal_form;
mod problem;
mod query;
mod set;
mod subtopics;
mod validate;

pub(crate) use documents::hash_document;
pub use formats::format::Format;
pub use formats::sheet::escape_cell;
pub use graph::Edge;
pub(crate) use graph::hash_edge;
pub(crate) use judgement_hashes::JudgementHashes;
pub use judgements::{Grade, Judgements};
pub use load::{Sources, examine, load, parse};
pub use memory::{JudgedPart, JudgedRows, SubtopicRow};
pub use normal_form::{composed, normalise};
pub use problem::{GoldError, Place, Problem};
pub use query::{GoldQuery, JudgementDetail};
pub use set::{GoldSet, Options, QueryIndex, Unjudged};
