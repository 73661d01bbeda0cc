//! Positions of the columns of a run.

use rankgauge_core::columns::{Columns, Role};

/// Positions of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Positions {
    pub(super) query: usize,
    pub(super) document: usize,
    pub(super) rank: Option<usize>,
    pub(super) score: Option<usize>,
    /// True if the column of the score contains distances.
    pub(super) is_distance: bool,
}

impl Positions {
    /// Finds the columns of a header or record: those of `stated`, else by their names. `None` without a
    /// column of queries or documents.
    pub(super) fn of(names: &[&str], stated: Option<&Columns>) -> Option<Self> {
        let found = |role: Role| role.position(names, stated);
        let (score, distance) = (found(Role::Score), found(Role::Distance));
        Some(Self {
            query: found(Role::Query)?,
            document: found(Role::Document)?,
            rank: found(Role::Rank),
            score: score.or(distance),
            is_distance: score.is_none() && distance.is_some(),
        })
    }

    /// Sentence that names the columns by their numbers.
    pub(super) fn named(self) -> String {
        let mut columns = vec![(self.query, "query"), (self.document, "document")];
        columns.extend(self.rank.map(|at| (at, "rank")));
        let score = if self.is_distance {
            "distance"
        } else {
            "score"
        };
        columns.extend(self.score.map(|at| (at, score)));
        columns.sort_unstable();
        let columns = columns
            .iter()
            .map(|(at, name)| format!("{} {name}", at + 1));
        format!("columns are {}", columns.collect::<Vec<_>>().join(", "))
    }

    /// Positions in a table of three columns without a header, of which the last is the rank or the score.
    pub(super) fn of_three(is_rank: bool) -> Self {
        Self {
            query: 0,
            document: 1,
            rank: is_rank.then_some(2),
            score: (!is_rank).then_some(2),
            is_distance: false,
        }
    }
}
