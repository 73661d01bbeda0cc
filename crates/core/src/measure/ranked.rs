//! Measures of ranked retrieval: the quality of a served list, according to its gold query.
//!
//! Definitions are those of trec_eval wherever it has the measure. Unjudged documents are not
//! relevant (`Judged` and `Bpref` distinguish the two), a negative grade is judged but never
//! relevant, and a query without a relevant document scores 0. The measures know nothing of the
//! origin of a list.

mod curves;
mod name;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

pub use curves::{Curves, LEVELS};

use super::{indicator, real};
use crate::gold::{Grade, Judgements};
use crate::ranking::Ranking;

/// The k of `P@k`: the number of first results that a measure uses. At least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cutoff(NonZeroU32);

impl Cutoff {
    /// Returns `k` as a cutoff; `None` for 0.
    pub fn new(k: u32) -> Option<Self> {
        NonZeroU32::new(k).map(Self)
    }

    /// Value of k.
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// Returns true if a 1-based position is among the first k.
    pub fn admits(self, position: u32) -> bool {
        (1..=self.get()).contains(&position)
    }

    /// Value of k as a length.
    pub(super) fn length(self) -> usize {
        usize::try_from(self.get()).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Cutoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number from 0 to 1: the persistence of RBP, the recall level of IPrec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fraction(f64);

impl Fraction {
    /// Default persistence of RBP (ir_measures).
    pub const PERSISTENCE: Self = Self(0.8);

    /// Returns `value` as a fraction; `None` outside 0 to 1.
    pub fn new(value: f64) -> Option<Self> {
        // Adding zero turns -0.0 into 0.0, because equal fractions must have equal bits.
        (0.0..=1.0).contains(&value).then_some(Self(value + 0.0))
    }

    /// Value of the fraction.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Eq for Fraction {}

impl Hash for Fraction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Denominator of `P@k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denominator {
    /// k, even if there are fewer results (trec_eval).
    Cutoff,
    /// min(k, number of results), as in krag and other tools.
    Retrieved,
}

/// Gain of a grade in nDCG. The gain of a negative grade is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gain {
    /// Grade itself (trec_eval; Järvelin and Kekäläinen 2002).
    Linear,
    /// 2^grade - 1 (Burges et al. 2005).
    Exponential,
    /// 1 if relevant, else 0.
    Binary {
        /// Relevance level; by default that of the gold set.
        rel: Option<Grade>,
    },
}

/// Ideal ranking that nDCG divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ideal {
    /// All judged documents, best first (trec_eval).
    Judged,
    /// Only the retrieved documents, best first, as some tools do without stating it. The score
    /// then shows how well they were ordered, not whether the right documents were found.
    Retrieved,
}

/// Gain of a document in RBP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Weighting {
    /// 1 if relevant, else 0.
    Binary {
        /// Relevance level; by default that of the gold set.
        rel: Option<Grade>,
    },
    /// Grade / highest grade of the scale.
    Graded,
}

/// Measure of one ranked list. `rel` is the relevance level, by default that of the gold set.
/// `cutoff` is the number of first results that count; without an optional cutoff, all results
/// count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields are explained once, above")]
pub enum Ranked {
    /// `P@k`: relevant results in the top k / k.
    Precision {
        cutoff: Cutoff,
        rel: Option<Grade>,
        denominator: Denominator,
    },
    /// `R@k`: relevant results in the top k / relevant documents.
    Recall { cutoff: Cutoff, rel: Option<Grade> },
    /// `F1@k`: the harmonic mean of `P@k` and `R@k`, 0 if both are 0.
    F1 {
        cutoff: Cutoff,
        rel: Option<Grade>,
        denominator: Denominator,
    },
    /// `Success@k`: 1 if any of the top k is relevant.
    Success { cutoff: Cutoff, rel: Option<Grade> },
    /// `AllHit@k`: 1 if every relevant document is in the top k.
    AllHit { cutoff: Cutoff, rel: Option<Grade> },
    /// `RR`: 1 / rank of the first relevant result. Its mean is MRR.
    ReciprocalRank {
        cutoff: Option<Cutoff>,
        rel: Option<Grade>,
    },
    /// `AP`: the sum of the precision at each relevant result's rank / relevant documents. Its
    /// mean is MAP.
    AveragePrecision {
        cutoff: Option<Cutoff>,
        rel: Option<Grade>,
    },
    /// `nDCG`: discounted cumulative gain / that of the ideal ranking, both cut at k, as in
    /// trec_eval's `ndcg` and `ndcg_cut` (m_ndcg.c and m_ndcg_cut.c of version 10.0).
    Ndcg {
        cutoff: Option<Cutoff>,
        gain: Gain,
        ideal: Ideal,
    },
    /// `Judged@k`: judged results in the top k / min(k, results).
    Judged { cutoff: Cutoff },
    /// `Bpref`: binary preference (Buckley and Voorhees 2004), as in trec_eval (m_bpref.c of
    /// version 10.0): over the relevant results, the share of the top R judged non-relevant
    /// documents that come after it.
    Bpref { rel: Option<Grade> },
    /// `RBP`: rank-biased precision (Moffat and Zobel 2008), (1 - p) Σ gain · p^(rank - 1).
    RankBiasedPrecision {
        persistence: Fraction,
        weighting: Weighting,
    },
    /// `ERR@k`: expected reciprocal rank (Chapelle et al. 2009). A result satisfies the user with
    /// probability (2^grade - 1) / 2^max, where `max` is by default the highest grade of the scale.
    /// A higher grade counts as `max`.
    ExpectedReciprocalRank { cutoff: Cutoff, max: Option<Grade> },
    /// `IPrec@r`: interpolated precision, the best precision at any rank where recall is at least
    /// r. As in trec_eval 9, recall r requires floor(r · R + 0.9) relevant documents. Version 10
    /// rounds instead, and then r = 0.1 of 4 documents requires none.
    InterpolatedPrecision {
        recall: Fraction,
        rel: Option<Grade>,
    },
    /// `TP@k`: relevant results in the top k, a count.
    TruePositives { cutoff: Cutoff, rel: Option<Grade> },
    /// `FP@k`: results in the top k that are not relevant, a count.
    FalsePositives { cutoff: Cutoff, rel: Option<Grade> },
    /// `FN@k`: relevant documents that are not in the top k, a count.
    FalseNegatives { cutoff: Cutoff, rel: Option<Grade> },
}

impl Ranked {
    /// Returns the score of one search: from 0 to 1, except for the counts TP, FP and FN.
    ///
    /// Every measure of this kind has a score for every judged search: 0 if nothing was found or
    /// nothing is relevant. `Judged` and `FP` do not require a relevant document in the gold set,
    /// and keep their value without one. nDCG, graded RBP and ERR use the grades regardless of the
    /// relevance level, as in trec_eval.
    pub fn score(&self, ranking: &Ranking, judgements: &Judgements) -> Option<f64> {
        let list = List::new(ranking, judgements);
        Some(match *self {
            Self::Precision {
                cutoff,
                rel,
                denominator,
            } => list.precision(cutoff, rel, denominator),
            Self::Recall { cutoff, rel } => list.recall(cutoff, rel),
            Self::F1 {
                cutoff,
                rel,
                denominator,
            } => {
                let precision = list.precision(cutoff, rel, denominator);
                let recall = list.recall(cutoff, rel);
                ratio(2.0 * precision * recall, precision + recall)
            }
            Self::Success { cutoff, rel } => indicator(list.hits(cutoff, rel) > 0),
            Self::AllHit { cutoff, rel } => {
                let hits = list.hits(cutoff, rel);
                indicator(hits > 0 && hits == judgements.relevant(rel))
            }
            Self::ReciprocalRank { cutoff, rel } => list.reciprocal_rank(cutoff, rel),
            Self::AveragePrecision { cutoff, rel } => list.average_precision(cutoff, rel),
            Self::Ndcg {
                cutoff,
                gain,
                ideal,
            } => list.ndcg(cutoff, gain, ideal),
            Self::Judged { cutoff } => {
                let judged = list.judged(Some(cutoff)).count();
                ratio(real(judged), real(list.top(cutoff).len()))
            }
            Self::Bpref { rel } => list.bpref(rel),
            Self::RankBiasedPrecision {
                persistence,
                weighting,
            } => list.rank_biased_precision(persistence, weighting),
            Self::ExpectedReciprocalRank { cutoff, max } => {
                list.expected_reciprocal_rank(cutoff, max)
            }
            Self::InterpolatedPrecision { recall, rel } => list.interpolated_precision(recall, rel),
            Self::TruePositives { cutoff, rel } => real(list.hits(cutoff, rel)),
            Self::FalsePositives { cutoff, rel } => {
                real(list.top(cutoff).len() - list.hits(cutoff, rel))
            }
            Self::FalseNegatives { cutoff, rel } => real(
                judgements
                    .relevant(rel)
                    .saturating_sub(list.hits(cutoff, rel)),
            ),
        })
    }
}

/// Judged list with its judgements, the input of every formula.
pub(super) struct List<'a> {
    ranking: &'a Ranking,
    judgements: &'a Judgements,
}

impl<'a> List<'a> {
    /// List of `ranking`, judged by `judgements`.
    pub(super) fn new(ranking: &'a Ranking, judgements: &'a Judgements) -> Self {
        Self {
            ranking,
            judgements,
        }
    }

    fn top(&self, cutoff: Cutoff) -> &'a [Option<Grade>] {
        let grades = self.ranking.grades();
        let end = cutoff.length().min(grades.len());
        grades.get(..end).unwrap_or_default()
    }

    /// Ranks (from 1) and grades of the judged documents within the cutoff.
    fn judged(&self, cutoff: Option<Cutoff>) -> impl Iterator<Item = (usize, Grade)> + use<'a> {
        let last = cutoff.map_or(usize::MAX, Cutoff::length);
        let judged = self.ranking.judged().iter().copied();
        judged.take_while(move |(rank, _)| *rank <= last)
    }

    fn level(&self, rel: Option<Grade>) -> Grade {
        rel.unwrap_or(self.judgements.level())
    }

    /// Returns the 1-based ranks of relevant results within the cutoff, ascending.
    fn relevant_ranks(
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
            Denominator::Retrieved => real(self.top(cutoff).len()),
        };
        ratio(real(self.hits(cutoff, rel)), slots)
    }

    fn recall(&self, cutoff: Cutoff, rel: Option<Grade>) -> f64 {
        self.recall_within(Some(cutoff), rel)
    }

    /// Returns the recall in the top k, or of the whole list.
    pub(super) fn recall_within(&self, cutoff: Option<Cutoff>, rel: Option<Grade>) -> f64 {
        ratio(
            real(self.relevant_ranks(cutoff, rel).count()),
            real(self.judgements.relevant(rel)),
        )
    }

    fn reciprocal_rank(&self, cutoff: Option<Cutoff>, rel: Option<Grade>) -> f64 {
        self.relevant_ranks(cutoff, rel)
            .next()
            .map_or(0.0, |rank| 1.0 / real(rank))
    }

    fn average_precision(&self, cutoff: Option<Cutoff>, rel: Option<Grade>) -> f64 {
        let sum: f64 = (1..)
            .zip(self.relevant_ranks(cutoff, rel))
            .map(|(found, rank): (usize, usize)| real(found) / real(rank))
            .sum();
        ratio(sum, real(self.judgements.relevant(rel)))
    }

    pub(super) fn ndcg(&self, cutoff: Option<Cutoff>, gain: Gain, ideal: Ideal) -> f64 {
        let gain = |grade: Grade| match gain {
            Gain::Linear => grade.get().max(0.0),
            Gain::Exponential => grade.get().max(0.0).exp2() - 1.0,
            Gain::Binary { rel } => indicator(grade.is_relevant_at(self.level(rel))),
        };
        // An unjudged document has no gain.
        let served = self.judged(cutoff);
        let served = served.map(|(rank, grade)| (rank - 1, gain(grade)));
        let length = cutoff.map_or(usize::MAX, Cutoff::length);
        let best = match ideal {
            Ideal::Judged => {
                let gains = self.judgements.descending().iter().copied().map(gain);
                let gains = gains.take(length).take_while(|gain| *gain > 0.0);
                discounted(gains.enumerate())
            }
            Ideal::Retrieved => {
                let served = self.judged(None);
                let mut gains: Vec<f64> = served.map(|(_, grade)| gain(grade)).collect();
                gains.sort_unstable_by(|a, b| b.total_cmp(a));
                discounted(gains.into_iter().take(length).enumerate())
            }
        };
        // With grades that differ only in their last bits, rounding can give slightly more than the
        // ideal.
        ratio(discounted(served), best).min(1.0)
    }

    fn bpref(&self, rel: Option<Grade>) -> f64 {
        let level = self.level(rel);
        let relevant = self.judgements.relevant(rel);
        let not_relevant = self
            .judgements
            .relevant(Some(Grade::ZERO))
            .saturating_sub(relevant);
        // Used only after a non-relevant document, and therefore never a division by zero.
        let pool = real(not_relevant.min(relevant));
        let mut worse_before = 0;
        let mut sum = 0.0;
        for (_, grade) in self.judged(None) {
            if grade.is_relevant_at(level) {
                sum += if worse_before == 0 {
                    1.0
                } else {
                    1.0 - real(worse_before.min(relevant)) / pool
                };
            } else if grade.is_relevant_at(Grade::ZERO) {
                worse_before += 1;
            }
        }
        ratio(sum, real(relevant))
    }

    fn rank_biased_precision(&self, persistence: Fraction, weighting: Weighting) -> f64 {
        let scale = self.judgements.scale_max().get();
        let gain = |grade: Grade| match weighting {
            Weighting::Binary { rel } => indicator(grade.is_relevant_at(self.level(rel))),
            Weighting::Graded => ratio(grade.get().max(0.0), scale).min(1.0),
        };
        let mut reached = 1.0;
        let mut sum = 0.0;
        for grade in self.ranking.grades() {
            sum += grade.map_or(0.0, gain) * reached;
            reached *= persistence.get();
        }
        ((1.0 - persistence.get()) * sum).min(1.0)
    }

    fn expected_reciprocal_rank(&self, cutoff: Cutoff, max: Option<Grade>) -> f64 {
        let max = max.unwrap_or(self.judgements.scale_max()).get().max(0.0);
        let mut unsatisfied = 1.0;
        let mut sum = 0.0;
        for (rank, grade) in (1..).zip(self.top(cutoff)) {
            let grade = grade.map_or(0.0, Grade::get).clamp(0.0, max);
            let satisfied = (grade.exp2() - 1.0) / max.exp2();
            sum += unsatisfied * satisfied / real(rank);
            unsatisfied *= 1.0 - satisfied;
        }
        sum
    }

    fn interpolated_precision(&self, recall: Fraction, rel: Option<Grade>) -> f64 {
        let needed = (recall.get() * real(self.judgements.relevant(rel)) + 0.9).floor();
        (1..)
            .zip(self.relevant_ranks(None, rel))
            .filter(|(found, _)| real(*found) >= needed)
            .map(|(found, rank): (usize, usize)| real(found) / real(rank))
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
    LazyLock::new(|| std::array::from_fn(|index| (real(index) + 2.0).log2()));

/// Returns the discounted cumulative gain, Σ gain / log2(rank + 1), of results with their indices. It
/// divides instead of multiplying by a reciprocal, so that the result equals trec_eval's to the last
/// bit.
fn discounted(gains: impl Iterator<Item = (usize, f64)>) -> f64 {
    gains.map(|(index, gain)| gain / discount(index)).sum()
}

/// Discount of the result at `index`, from 0.
fn discount(index: usize) -> f64 {
    let known = DISCOUNTS.get(index).copied();
    known.unwrap_or_else(|| (real(index) + 2.0).log2())
}
