//! Formulas of ranked retrieval, over a judged list.

pub(super) mod cumulated;
pub(super) mod user_model;

use std::sync::LazyLock;

use super::parameter::{Cutoff, Denominator, Fraction, Gain, Ideal, Rounding, Weighting};
use crate::gold::{Grade, Judgements};
use crate::number::{indicator, real_length};
use crate::ranking::Ranking;

/// Judged list with its judgements, the input of every formula.
pub(super) struct List<'a> {
    pub(super) ranking: &'a Ranking,
    pub(super) judgements: &'a Judgements,
}

impl<'a> List<'a> {
    /// List of `ranking`, judged by `judgements`.
    pub(super) fn new(ranking: &'a Ranking, judgements: &'a Judgements) -> Self {
        Self {
            ranking,
            judgements,
        }
    }

    /// Returns the value of a formula for the list, without its unjudged results if `judged_only`
    /// (condensed list, Sakai 2007).
    pub(super) fn condensed_if(
        &self,
        judged_only: bool,
        formula: impl FnOnce(&List<'_>) -> f64,
    ) -> f64 {
        if !judged_only || self.ranking.is_fully_judged() {
            return formula(self);
        }
        let grades = self.ranking.grades();
        let condensed = self
            .ranking
            .without(|position| grades[position].is_none(), self.judgements);
        formula(&List::new(&condensed, self.judgements))
    }

    pub(super) fn top(&self, cutoff: Cutoff) -> &'a [Option<Grade>] {
        let grades = self.ranking.grades();
        let end = cutoff.length().min(grades.len());
        grades.get(..end).unwrap_or_default()
    }

    /// Number of results within the cutoff.
    pub(super) fn shown(&self, cutoff: Option<Cutoff>) -> usize {
        let results = self.ranking.len();
        cutoff.map_or(results, |cutoff| cutoff.length().min(results))
    }

    /// Ranks (from 1) and grades of the judged documents within the cutoff.
    pub(super) fn judged(
        &self,
        cutoff: Option<Cutoff>,
    ) -> impl Iterator<Item = (usize, Grade)> + use<'a> {
        let last = cutoff.map_or(usize::MAX, Cutoff::length);
        let judged = self.ranking.judged().iter().copied();
        judged.take_while(move |(rank, _)| *rank <= last)
    }

    pub(super) fn level(&self, rel: Option<Grade>) -> Grade {
        rel.unwrap_or(self.judgements.level())
    }

    /// Returns the 1-based ranks of relevant results within the cutoff, ascending.
    pub(super) fn relevant_ranks(
        &self,
        cutoff: Option<Cutoff>,
        rel: Option<Grade>,
    ) -> impl Iterator<Item = usize> + 'a {
        let level = self.level(rel);
        let (relevant, judged) = if level == self.judgements.level() {
            (self.ranking.relevant(), &[][..])
        } else {
            (&[][..], self.ranking.judged())
        };
        let judged = judged.iter();
        let others = judged.filter(move |(_, grade)| grade.is_relevant_at(level));
        let ranks = relevant.iter().chain(others.map(|(rank, _)| rank));
        let last = cutoff.map_or(usize::MAX, Cutoff::length);
        ranks.copied().take_while(move |rank| *rank <= last)
    }

    pub(super) fn hits(&self, cutoff: Cutoff, rel: Option<Grade>) -> usize {
        self.relevant_ranks(Some(cutoff), rel).count()
    }

    pub(super) fn precision(
        &self,
        cutoff: Cutoff,
        rel: Option<Grade>,
        denominator: Denominator,
    ) -> f64 {
        let slots = match denominator {
            Denominator::Cutoff => f64::from(cutoff.get()),
            Denominator::Retrieved => real_length(self.top(cutoff).len()),
            Denominator::Judged => real_length(self.judged(Some(cutoff)).count()),
        };
        ratio(real_length(self.hits(cutoff, rel)), slots)
    }

    pub(super) fn recall(&self, cutoff: Cutoff, rel: Option<Grade>) -> f64 {
        self.recall_within(Some(cutoff), rel)
    }

    /// Returns the recall in the top k, or of the whole list.
    pub(super) fn recall_within(&self, cutoff: Option<Cutoff>, rel: Option<Grade>) -> f64 {
        ratio(
            real_length(self.relevant_ranks(cutoff, rel).count()),
            real_length(self.judgements.relevant(rel)),
        )
    }

    pub(super) fn f1(&self, cutoff: Cutoff, rel: Option<Grade>, denominator: Denominator) -> f64 {
        let precision = self.precision(cutoff, rel, denominator);
        let recall = self.recall(cutoff, rel);
        ratio(2.0 * precision * recall, precision + recall)
    }

    /// Number of relevant documents of the gold query.
    pub(super) fn relevant(&self, rel: Option<Grade>) -> usize {
        self.judgements.relevant(rel)
    }

    pub(super) fn reciprocal_rank(&self, cutoff: Option<Cutoff>, rel: Option<Grade>) -> f64 {
        self.relevant_ranks(cutoff, rel)
            .next()
            .map_or(0.0, |rank| 1.0 / real_length(rank))
    }

    /// Sum of the precision at the ranks of the relevant results.
    pub(super) fn precision_sum(&self, cutoff: Option<Cutoff>, rel: Option<Grade>) -> f64 {
        let ranks = (1..).zip(self.relevant_ranks(cutoff, rel));
        ranks
            .map(|(found, rank): (usize, usize)| real_length(found) / real_length(rank))
            .sum()
    }

    pub(super) fn average_precision(&self, cutoff: Option<Cutoff>, rel: Option<Grade>) -> f64 {
        ratio(
            self.precision_sum(cutoff, rel),
            real_length(self.judgements.relevant(rel)),
        )
    }

    /// Gain of a grade.
    pub(super) fn gain(&self, gain: &Gain, grade: Grade) -> f64 {
        match gain {
            Gain::Linear => grade.get().max(0.0),
            Gain::Exponential => grade.get().max(0.0).exp2() - 1.0,
            Gain::Binary { rel } => indicator(grade.is_relevant_at(self.level(*rel))),
            Gain::Table(gains) => gains.of(grade),
        }
    }

    /// Gains of the judged results, with their indices from 0. An unjudged document has no gain.
    pub(super) fn gains<'g>(
        &'g self,
        cutoff: Option<Cutoff>,
        gain: &'g Gain,
    ) -> impl Iterator<Item = (usize, f64)> + 'g {
        let served = self.judged(cutoff);
        served.map(|(rank, grade)| (rank - 1, self.gain(gain, grade)))
    }

    pub(super) fn dcg(&self, cutoff: Option<Cutoff>, gain: &Gain) -> f64 {
        discounted(self.gains(cutoff, gain)) + 0.0
    }

    pub(super) fn ideal_dcg(&self, cutoff: Option<Cutoff>, gain: &Gain, ideal: Ideal) -> f64 {
        let length = cutoff.map_or(usize::MAX, Cutoff::length);
        let length = match ideal {
            Ideal::Judged | Ideal::Retrieved => length,
            Ideal::Shown => length.min(self.ranking.len()),
            Ideal::Uncut => usize::MAX,
        };
        let sorted = |mut gains: Vec<f64>| {
            gains.sort_unstable_by(|a, b| b.total_cmp(a));
            discounted(gains.into_iter().take(length).enumerate())
        };
        match (ideal, gain) {
            (Ideal::Retrieved, _) => sorted(self.gains(None, gain).map(|(_, gain)| gain).collect()),
            // Gains that are stated by grade may have another order than the grades.
            (Ideal::Judged | Ideal::Shown | Ideal::Uncut, Gain::Table(_)) => {
                let grades = self.judgements.descending().iter();
                sorted(grades.map(|grade| self.gain(gain, *grade)).collect())
            }
            (Ideal::Judged | Ideal::Shown | Ideal::Uncut, _) => {
                let grades = self.judgements.descending().iter();
                let gains = grades.map(|grade| self.gain(gain, *grade));
                let gains = gains.take(length).take_while(|gain| *gain > 0.0);
                discounted(gains.enumerate())
            }
        }
    }

    pub(super) fn ndcg(&self, cutoff: Option<Cutoff>, gain: &Gain, ideal: Ideal) -> f64 {
        // With grades that differ only in their last bits, rounding can give slightly more than the
        // ideal.
        ratio(
            discounted(self.gains(cutoff, gain)),
            self.ideal_dcg(cutoff, gain, ideal),
        )
        .min(1.0)
    }

    pub(super) fn bpref(&self, rel: Option<Grade>) -> f64 {
        let level = self.level(rel);
        let relevant = self.judgements.relevant(rel);
        let not_relevant = self
            .judgements
            .relevant(Some(Grade::ZERO))
            .saturating_sub(relevant);
        // Used only after a non-relevant document, and therefore never a division by zero.
        let pool = real_length(not_relevant.min(relevant));
        let mut worse_before = 0;
        let mut sum = 0.0;
        for (_, grade) in self.judged(None) {
            if grade.is_relevant_at(level) {
                sum += if worse_before == 0 {
                    1.0
                } else {
                    1.0 - real_length(worse_before.min(relevant)) / pool
                };
            } else if grade.is_relevant_at(Grade::ZERO) {
                worse_before += 1;
            }
        }
        ratio(sum, real_length(relevant))
    }

    pub(super) fn rank_biased_precision(&self, persistence: Fraction, weighting: Weighting) -> f64 {
        let scale = match weighting {
            Weighting::Binary { .. } | Weighting::Graded => self.judgements.scale_max().get(),
            Weighting::OfQuery => {
                let highest = self.judgements.descending().first();
                highest.map_or(1.0, |grade| grade.get().max(1.0))
            }
        };
        let gain = |grade: Grade| match weighting {
            Weighting::Binary { rel } => indicator(grade.is_relevant_at(self.level(rel))),
            Weighting::Graded | Weighting::OfQuery => ratio(grade.get().max(0.0), scale).min(1.0),
        };
        let mut reached = 1.0;
        let mut sum = 0.0;
        for grade in self.ranking.grades() {
            sum += grade.map_or(0.0, gain) * reached;
            reached *= persistence.get();
        }
        ((1.0 - persistence.get()) * sum).min(1.0)
    }

    pub(super) fn expected_reciprocal_rank(&self, cutoff: Cutoff, max: Option<Grade>) -> f64 {
        let max = max.unwrap_or(self.judgements.scale_max()).get().max(0.0);
        let mut unsatisfied = 1.0;
        let mut sum = 0.0;
        for (rank, grade) in (1..).zip(self.top(cutoff)) {
            let grade = grade.map_or(0.0, Grade::get).clamp(0.0, max);
            let satisfied = (grade.exp2() - 1.0) / max.exp2();
            sum += unsatisfied * satisfied / real_length(rank);
            unsatisfied *= 1.0 - satisfied;
        }
        sum
    }

    pub(super) fn interpolated_precision(
        &self,
        recall: Fraction,
        rel: Option<Grade>,
        rounding: Rounding,
    ) -> f64 {
        let relevant = real_length(self.judgements.relevant(rel));
        let needed = match rounding {
            Rounding::Up => (recall.get() * relevant + 0.9).floor(),
            Rounding::Nearest => (recall.get() * relevant).round(),
        };
        (1..)
            .zip(self.relevant_ranks(None, rel))
            .filter(|(found, _)| real_length(*found) >= needed)
            .map(|(found, rank): (usize, usize)| real_length(found) / real_length(rank))
            .fold(0.0, f64::max)
    }
}

/// Returns `part / whole`; 0 if the whole is not positive.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    // Adding zero turns the -0.0 of an empty sum into 0.0.
    if whole > 0.0 { part / whole + 0.0 } else { 0.0 }
}

/// log2(rank + 1) for the first 1024 ranks, which is more than any page of results has.
static DISCOUNTS: LazyLock<[f64; 1024]> =
    LazyLock::new(|| std::array::from_fn(|index| (real_length(index) + 2.0).log2()));

/// Returns the discounted cumulative gain, Σ gain / log2(rank + 1), of results with their indices. It
/// divides instead of multiplying by a reciprocal, so that the result equals trec_eval's to the last
/// bit.
pub(super) fn discounted(gains: impl Iterator<Item = (usize, f64)>) -> f64 {
    gains.map(|(index, gain)| gain / discount(index)).sum()
}

/// Discount of the result at `index`, from 0.
pub(super) fn discount(index: usize) -> f64 {
    let known = DISCOUNTS.get(index).copied();
    known.unwrap_or_else(|| (real_length(index) + 2.0).log2())
}
