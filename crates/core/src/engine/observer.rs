//! Interface for observers of judged searches. An observer does not influence the engine: its state
//! is the same with and without one.

use std::fmt::Debug;
use std::sync::Arc;

use crate::engine::fixed::Nano;
use crate::engine::registry::Label;
use crate::gold::{GoldSet, QueryIndex};
use crate::ranking::Judged;

/// Observer that receives each judged search once, when it is counted.
pub trait Observer: Debug + Send + Sync {
    /// Receives a judged search. The engine calls it for every judged search, so it must be fast.
    fn judged(&self, search: &JudgedSearch<'_>);

    /// A variant is retired: its number will stand for another one.
    fn retired(&self, variant: Label);
}

/// A judged search with its gold query and its scores.
#[derive(Clone, Copy, Debug)]
pub struct JudgedSearch<'a> {
    /// The search, its ranking by the grades of the gold set, and the parts of the components.
    pub judged: Judged<'a>,
    /// System version that served the search.
    pub variant: Label,
    /// Gold set that judged the search.
    pub gold: &'a Arc<GoldSet>,
    /// Index of its query in the gold set.
    pub query: QueryIndex,
    /// Scores, by [column](crate::engine::scores::column_of).
    pub scores: &'a [(usize, Nano)],
}
