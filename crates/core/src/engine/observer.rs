//! Interface for observers of judged searches. An observer does not influence the engine: its state
//! is the same with and without one.

use std::fmt::Debug;
use std::sync::Arc;

use crate::engine::fixed::Nano;
use crate::engine::registry::Label;
use crate::event::Search;
use crate::gold::{GoldSet, Grade, QueryIndex};
use crate::ranking::{Component, JudgeBy, Ranking};

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
    /// The search.
    pub search: &'a Search<'a>,
    /// System version that served the search.
    pub variant: Label,
    /// Gold set that judged the search.
    pub gold: &'a Arc<GoldSet>,
    /// Index of its query in the gold set.
    pub query: QueryIndex,
    /// Ranking of its results by the grades of the gold set.
    pub ranking: &'a Ranking,
    /// Field of a result that identifies the judged document.
    pub judge_by: JudgeBy,
    /// Components that results can belong to.
    pub components: &'a [Component],
    /// Scores, by [column](crate::engine::scores::column_of).
    pub scores: &'a [(usize, Nano)],
}

impl<'a> JudgedSearch<'a> {
    /// Returns the served documents in order with their grades; `None` for an unjudged document.
    pub fn documents(&self) -> impl Iterator<Item = (&'a str, Option<Grade>)> + use<'a> {
        let judge_by = self.judge_by;
        let hits = self.search.results.iter();
        let documents = hits.map(move |hit| judge_by.document(hit));
        documents.zip(self.ranking.grades().iter().copied())
    }
}
