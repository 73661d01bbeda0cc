//! Runs in memory, for callers that have no file.

use std::borrow::Cow;

use rustc_hash::{FxBuildHasher, FxHashSet};

use super::answer::{Answer, Order, ReadOptions, Results, by_score};
use super::error::RunProblem;

/// Results for one query, in the order in which they are judged.
#[derive(Clone, Debug)]
pub struct RankedQuery {
    key: String,
    /// Concatenation of the document ids.
    text: String,
    /// End offsets of the ids in `text`.
    ends: Vec<usize>,
    scores: Vec<f64>,
}

impl RankedQuery {
    /// Results in the order of trec_eval, or as listed. `results` are sorted in place.
    ///
    /// # Errors
    /// An id is empty, a score is NaN, or the order needs ranks.
    pub fn new(
        key: &str,
        results: &mut [(f64, &str)],
        order: Option<Order>,
    ) -> Result<Self, RunProblem> {
        check_ids(key, results)?;
        if let Some((_, document)) = results.iter().find(|(score, _)| score.is_nan()) {
            return Err(RunProblem::NoScore {
                query: key.to_owned(),
                document: (*document).to_owned(),
            });
        }
        match order {
            Some(Order::Served) => {}
            None | Some(Order::Score | Order::Score64 | Order::Ascending) => {
                let key = |score| order.unwrap_or(Order::Score).key(score);
                results.sort_by(|(one, a), (other, b)| by_score((key(*one), a), (key(*other), b)));
            }
            Some(Order::Rank) => return Err(RunProblem::NoOrder { what: "rank" }),
        }
        Ok(Self::of(key, results))
    }

    /// Results in the order of their ranks, equal ranks as listed. An earlier result has the higher score.
    ///
    /// # Errors
    /// An id is empty, or a rank is NaN.
    pub fn by_rank(key: &str, results: &mut [(f64, &str)]) -> Result<Self, RunProblem> {
        check_ids(key, results)?;
        if results.iter().any(|(rank, _)| rank.is_nan()) {
            return Err(RunProblem::NoOrder { what: "rank" });
        }
        // -0 is equal to 0.
        results.sort_by(|(one, _), (other, _)| (one + 0.0).total_cmp(&(other + 0.0)));
        for ((rank, _), at) in results.iter_mut().zip(0_u32..) {
            *rank = -f64::from(at);
        }
        Ok(Self::of(key, results))
    }

    fn of(key: &str, results: &[(f64, &str)]) -> Self {
        let mut ranked = Self {
            key: key.to_owned(),
            text: String::with_capacity(results.iter().map(|(_, id)| id.len()).sum()),
            ends: Vec::with_capacity(results.len()),
            scores: Vec::with_capacity(results.len()),
        };
        for (score, document) in results {
            ranked.text.push_str(document);
            ranked.ends.push(ranked.text.len());
            ranked.scores.push(*score);
        }
        ranked
    }

    /// The results with the changes that the options of a reader demand: composed ids, fewer results. `None`
    /// without a change.
    #[must_use]
    pub fn changed(&self, options: &ReadOptions) -> Option<Self> {
        let answer = Answer {
            scores: self.scores.clone(),
            ..self.answer()
        };
        let Answer {
            query,
            results,
            scores,
        } = options.changed(&answer)?;
        let Results::Documents(documents) = results else {
            return None;
        };
        let results: Vec<(f64, &str)> = scores
            .into_iter()
            .zip(documents.iter().map(AsRef::as_ref))
            .collect();
        Some(Self::of(&query, &results))
    }

    /// The same results in another order.
    ///
    /// # Errors
    /// As [`RankedQuery::new`].
    pub fn reordered(&self, order: Order) -> Result<Self, RunProblem> {
        let rows = self.scores.iter().copied().zip(self.documents());
        let mut rows: Vec<(f64, &str)> = rows.collect();
        Self::new(&self.key, &mut rows, Some(order))
    }

    /// Checks that no document is repeated.
    ///
    /// # Errors
    /// The first document that is.
    pub fn check_distinct(&self) -> Result<(), RunProblem> {
        let mut seen = FxHashSet::with_capacity_and_hasher(self.ends.len(), FxBuildHasher);
        match self.documents().find(|document| !seen.insert(*document)) {
            None => Ok(()),
            Some(document) => Err(RunProblem::RepeatedDocument {
                query: self.key.clone(),
                document: document.to_owned(),
            }),
        }
    }

    /// Query: its key or its text.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Document ids.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let id = self.text.get(start..*end).unwrap_or_default();
            start = *end;
            id
        })
    }

    /// Scores of the documents.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Answer with these results.
    pub(crate) fn answer(&self) -> Answer<'_> {
        Answer {
            query: Cow::Borrowed(&self.key),
            results: Results::Documents(self.documents().map(Cow::Borrowed).collect()),
            scores: Vec::new(),
        }
    }
}

fn check_ids(key: &str, results: &[(f64, &str)]) -> Result<(), RunProblem> {
    let is_empty = |id: &str| id.trim().is_empty();
    if is_empty(key) {
        return Err(RunProblem::EmptyId { what: "query" });
    }
    if results.iter().any(|(_, document)| is_empty(document)) {
        return Err(RunProblem::EmptyId { what: "document" });
    }
    Ok(())
}
