//! Who wants to see every search that is judged, beside what is counted of it. Nothing that an observer
//! does comes back: the engine's state is the same with and without one.

use std::fmt::Debug;
use std::sync::Arc;

use crate::engine::fixed::Nano;
use crate::engine::registry::Label;
use crate::event::Search;
use crate::gold::{GoldSet, Grade, QueryIndex};
use crate::ranking::{JudgeBy, Ranking};

/// Sees judged searches, each once, when it is counted.
pub trait Observer: Debug + Send + Sync {
    /// A search was judged. It is called for every one of them, so it had better be quick.
    fn judged(&self, seen: &JudgedSearch<'_>);
}

/// A search beside its gold query, with what it scored.
#[derive(Clone, Copy, Debug)]
pub struct JudgedSearch<'a> {
    /// The search.
    pub search: &'a Search<'a>,
    /// The system version that served it.
    pub variant: Label,
    /// The gold set that it was judged by.
    pub gold: &'a Arc<GoldSet>,
    /// Its query there.
    pub query: QueryIndex,
    /// What the gold set says of its results.
    pub ranking: &'a Ranking,
    /// Which field of a result names the judged document.
    pub judge_by: JudgeBy,
    /// What it scored, by [column](crate::engine::scores::column_of).
    pub scores: &'a [(usize, Nano)],
}

impl<'a> JudgedSearch<'a> {
    /// The documents that were served, in order, with their grades; `None` where nobody judged one.
    pub fn documents(&self) -> impl Iterator<Item = (&'a str, Option<Grade>)> + use<'a> {
        let judge_by = self.judge_by;
        let hits = self.search.results.iter();
        let documents = hits.map(move |hit| judge_by.document(hit));
        documents.zip(self.ranking.grades().iter().copied())
    }
}
