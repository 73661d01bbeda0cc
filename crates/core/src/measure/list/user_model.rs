//! Formulas of models of a user: the expected gain of a result that is seen (C/W/L, as in cwl_eval),
//! the order of pairs, and the overlap with the ideal ranking.

use super::{List, ratio};
use crate::gold::Grade;
use crate::measure::parameter::{Cutoff, Number};
use crate::number::real_length;

/// Number of ranks that a user can reach, as in cwl_eval.
const RANKS: usize = 1000;

/// Grades without gain and with the highest gain.
#[derive(Clone, Copy)]
pub(in crate::measure) struct Scale {
    max: Option<Grade>,
    min: f64,
}

impl Scale {
    pub(in crate::measure) fn new(max: Option<Grade>, min: Number) -> Self {
        Self {
            max,
            min: min.get(),
        }
    }
}

/// Result that a user has seen.
pub(in crate::measure) struct Step {
    /// Rank, from 1.
    pub(in crate::measure) rank: usize,
    /// Gain, from 0 to 1.
    pub(in crate::measure) gain: f64,
    /// Sum of the gains up to this rank.
    pub(in crate::measure) gained: f64,
}

impl Step {
    /// Rank as a number.
    pub(in crate::measure) fn place(&self) -> f64 {
        real_length(self.rank)
    }
}

impl List<'_> {
    /// Returns the mean gain of the results that a user sees, who continues after a result with the
    /// probability `continues`.
    pub(in crate::measure) fn user_model(
        &self,
        scale: Scale,
        continues: impl Fn(&Step) -> f64,
    ) -> f64 {
        let max = scale.max.unwrap_or(self.judgements.scale_max()).get();
        let span = max - scale.min;
        let grades = self.ranking.grades();
        let (mut gained, mut reached, mut seen, mut sum) = (0.0, 1.0, 0.0, 0.0);
        for rank in 1..=RANKS {
            let grade = grades.get(rank - 1).copied().flatten();
            let gain = grade.map_or(0.0, |grade| {
                ratio(grade.get().max(0.0) - scale.min, span).clamp(0.0, 1.0)
            });
            gained += gain;
            seen += reached;
            sum += reached * gain;
            reached *= continues(&Step { rank, gain, gained });
            if reached <= 0.0 {
                break;
            }
        }
        ratio(sum, seen).min(1.0)
    }

    /// Returns the share of pairs of a relevant and another result with the relevant one first. `None`
    /// without such a pair.
    pub(in crate::measure) fn accuracy(
        &self,
        cutoff: Option<Cutoff>,
        rel: Option<Grade>,
    ) -> Option<f64> {
        let results = self.ranking.len();
        let length = cutoff.map_or(results, |cutoff| cutoff.length().min(results));
        let (mut found, mut before) = (0, 0.0);
        for rank in self.relevant_ranks(cutoff, rel) {
            before += real_length(rank - 1 - found);
            found += 1;
        }
        let pairs = real_length(found) * real_length(length - found);
        (pairs > 0.0).then(|| 1.0 - before / pairs)
    }

    /// Rank-biased overlap with the ideal ranking. Equal grades of the ideal ranking are in the order
    /// of the results.
    pub(in crate::measure) fn compatibility(&self, persistence: f64, normalise: bool) -> f64 {
        let mut retrieved = vec![None; self.judgements.len()];
        for (index, document) in self.ranking.documents().iter().enumerate() {
            if let Some(place) = document.and_then(|number| retrieved.get_mut(number)) {
                place.get_or_insert(index);
            }
        }
        let grades = self.judgements.grades().iter().zip(&retrieved);
        let mut ideal: Vec<(Grade, Option<usize>)> = grades
            .filter(|(grade, _)| grade.get() > 0.0)
            .map(|(grade, place)| (*grade, *place))
            .collect();
        ideal
            .sort_by_key(|(grade, place)| (std::cmp::Reverse(*grade), place.unwrap_or(usize::MAX)));
        let depth = self.ranking.len().max(ideal.len());
        // Depth from which a document is in both lists.
        let mut common: Vec<usize> = Vec::with_capacity(ideal.len());
        for (index, (_, place)) in ideal.iter().enumerate() {
            common.extend(place.map(|place| place.max(index)));
        }
        common.sort_unstable();
        let mut common = common.into_iter().peekable();
        let (mut weight, mut all, mut sum, mut best) = (1.0, 0.0, 0.0, 0.0);
        let mut overlap = 0_usize;
        for index in 0..depth {
            while common.next_if(|from| *from <= index).is_some() {
                overlap += 1;
            }
            let size = real_length(index + 1);
            sum += weight * real_length(overlap) / size;
            best += weight * real_length((index + 1).min(ideal.len())) / size;
            all += weight;
            weight *= persistence;
        }
        let score = ratio(sum, all);
        let score = if normalise {
            ratio(score, ratio(best, all))
        } else {
            score
        };
        score.min(1.0)
    }
}
