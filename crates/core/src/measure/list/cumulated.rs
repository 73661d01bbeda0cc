//! Formulas of trec_eval over the cumulated gain of a list and of the ideal ranking.

use super::{List, discount, ratio};
use crate::gold::Grade;
use crate::number::real_length;

/// Smallest score of a geometric mean, as in trec_eval.
pub(in crate::measure) const MIN_GEOMETRIC: f64 = 0.00001;

/// Smoothing of inferred average precision, as in trec_eval.
const INFERENCE: f64 = 0.00001;

fn positive(grade: Grade) -> f64 {
    grade.get().max(0.0)
}

impl List<'_> {
    /// Number of relevant results.
    pub(in crate::measure) fn found(&self, rel: Option<Grade>) -> usize {
        self.relevant_ranks(None, rel).count()
    }

    /// Returns the relevant results among the first `count`, divided by `count`.
    pub(in crate::measure) fn precision_of_first(&self, count: usize, rel: Option<Grade>) -> f64 {
        let found = self.relevant_ranks(None, rel);
        let found = found.take_while(|rank| *rank <= count).count();
        ratio(real_length(found), real_length(count))
    }

    pub(in crate::measure) fn set_precision(&self, rel: Option<Grade>) -> f64 {
        ratio(
            real_length(self.found(rel)),
            real_length(self.ranking.len()),
        )
    }

    /// Returns the gain of the ideal ranking at `index`, and 0 after its last document with gain.
    fn ideal_gain(&self, index: usize) -> f64 {
        let ideal = self.judgements.descending().get(index);
        ideal.copied().map_or(0.0, positive)
    }

    /// Gain of the result at `index`.
    fn gain_at(&self, index: usize) -> f64 {
        let grade = self.ranking.grades().get(index).copied().flatten();
        grade.map_or(0.0, positive)
    }

    pub(in crate::measure) fn ndcg_at_relevant(&self) -> f64 {
        let results = self.ranking.len();
        let (mut gained, mut ideal, mut sum) = (0.0, 0.0, 0.0);
        let (mut found, mut all) = (0_usize, 0_usize);
        let mut index = 0;
        loop {
            let best = self.ideal_gain(index);
            if index >= results && best <= 0.0 {
                break;
            }
            let gain = self.gain_at(index);
            gained += gain / discount(index);
            if best > 0.0 {
                all += 1;
                ideal += best / discount(index);
            }
            if gain > 0.0 {
                sum += ratio(gained, ideal);
                found += 1;
            }
            index += 1;
        }
        sum += ratio(real_length(all.saturating_sub(found)) * gained, ideal);
        ratio(sum, real_length(all)).min(1.0)
    }

    pub(in crate::measure) fn ndcg_at_levels(&self) -> f64 {
        if self.relevant(None) == 0 {
            return 0.0;
        }
        let results = self.ranking.len();
        let (mut gained, mut ideal, mut sum) = (0.0, 0.0, 0.0);
        let mut levels = 0_usize;
        let mut last = self.ideal_gain(0);
        let mut add = |gained: f64, ideal: f64| {
            if ideal > 0.0 {
                sum += gained / ideal;
                levels += 1;
            }
        };
        let mut index = 0;
        // The ideal ranking and the results run side by side until both end.
        while index < results || last > 0.0 {
            let best = if last > 0.0 {
                self.ideal_gain(index)
            } else {
                0.0
            };
            #[allow(clippy::float_cmp, reason = "gains are copied, not computed")]
            if last != best {
                add(gained, ideal);
            }
            gained += self.gain_at(index) / discount(index);
            if best > 0.0 {
                ideal += best / discount(index);
            }
            last = best;
            index += 1;
        }
        // Results after the ideal ranking count once more, at their end.
        let with_gain = self.judgements.descending();
        let with_gain = with_gain.partition_point(|grade| grade.get() > 0.0);
        if results > with_gain + 1 {
            add(gained, ideal);
        }
        ratio(sum, real_length(levels)).min(1.0)
    }

    pub(in crate::measure) fn gain_and_cost(&self) -> f64 {
        let (mut gained, mut cost, mut sum) = (0.0, 0.0, 0.0);
        for index in 0..self.ranking.len() {
            let gain = self.gain_at(index);
            gained += gain;
            cost += self.ideal_gain(index).max(1.0);
            if gain > 0.0 {
                sum += gain / (2.0 + cost - gained).log2();
            }
        }
        let ideal: f64 = self
            .judgements
            .descending()
            .iter()
            .copied()
            .map(positive)
            .sum();
        ratio(sum, ideal)
    }

    pub(in crate::measure) fn binary_gain_and_cost(&self, rel: Option<Grade>) -> f64 {
        let ranks = (1..).zip(self.relevant_ranks(None, rel));
        let sum: f64 = ranks
            .map(|(found, rank): (usize, usize)| 1.0 / real_length(2 + rank - found).log2())
            .sum();
        ratio(sum, real_length(self.relevant(rel)))
    }

    /// A negative grade is that of a document in the pool without a judgement.
    pub(in crate::measure) fn inferred_average_precision(&self, rel: Option<Grade>) -> f64 {
        let level = self.level(rel);
        let (mut relevant, mut others, mut unjudged) = (0.0, 0.0, 0.0);
        let mut sum = 0.0;
        for (rank, grade) in self.judged(None) {
            if grade.is_relevant_at(level) {
                let before = real_length(rank - 1);
                sum += if rank == 1 {
                    1.0
                } else {
                    let pooled = (relevant + others + unjudged) / before;
                    let precision = (relevant + INFERENCE) / (relevant + others + 2.0 * INFERENCE);
                    1.0 / (before + 1.0) + before / (before + 1.0) * pooled * precision
                };
                relevant += 1.0;
            } else if grade.get() < 0.0 {
                unjudged += 1.0;
            } else {
                others += 1.0;
            }
        }
        ratio(sum, real_length(self.relevant(rel)))
    }

    pub(in crate::measure) fn rank_biased_residual(&self, persistence: f64) -> f64 {
        let (mut reached, mut sum, mut any) = (1.0, 0.0, false);
        for grade in self.ranking.grades() {
            if grade.is_none_or(|grade| grade.get() < 0.0) {
                sum += reached;
                any = true;
            }
            reached *= persistence;
        }
        if any {
            (reached + (1.0 - persistence) * sum).min(1.0)
        } else {
            0.0
        }
    }
}
