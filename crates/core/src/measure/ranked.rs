//! Measures of ranked retrieval: the quality of a served list, according to its gold query.
//!
//! Definitions are those of trec_eval wherever it has the measure. Unjudged documents are not
//! relevant (`Judged` and `Bpref` distinguish the two), a negative grade is judged but never
//! relevant, and a query without a relevant document scores 0. The measures know nothing of the
//! origin of a list.

use super::catalogue::Measure;
use super::descriptor::Source;
use super::family::measures;
use super::field::{
    AT_K, AT_OPTIONAL_K, AT_RECALL, DENOMINATOR, GAIN, GRADED, IDEAL, JUDGED_ONLY, MAX,
    PERSISTENCE, RECALL_BASE, REL, ROUNDING,
};
use super::list::{List, ratio};
use super::parameter::{
    Cutoff, Denominator, Fraction, Gain, Ideal, RecallBase, Rounding, Weighting,
};
use crate::gold::{Grade, Judgements};
use crate::number::{indicator, real_length};
use crate::ranking::Ranking;

measures! {
    /// Measure of one ranked list. `rel` is the relevance level, by default that of the gold set.
    /// `cutoff` is the number of first results that count; without an optional cutoff, all results
    /// count.
    pub enum Ranked;
    subject: Ranking;
    argument: None;
    build: |arguments, measure| Ok(Measure::Ranked(measure));
    pub(super) fn of(list: &List<'_>) -> f64;

    "P" ["precision", "prec", "P_k"] Precision {
        denominator: Denominator = DENOMINATOR,
        judged_only: bool = JUDGED_ONLY,
        rel: Option<Grade> = REL,
        cutoff: Cutoff = AT_K,
    }
        : UNIT, Up, Source::TrecEval("P"), "Relevant results among the first k, divided by k"
        => list.condensed_if(*judged_only, |list| list.precision(*cutoff, *rel, *denominator));

    "R" ["recall", "recall_k"] Recall {
        judged_only: bool = JUDGED_ONLY,
        rel: Option<Grade> = REL,
        cutoff: Cutoff = AT_K,
    }

        : UNIT, Up, Source::TrecEval("recall"),
        "Relevant results among the first k, divided by all relevant documents"
        => list.condensed_if(*judged_only, |list| list.recall(*cutoff, *rel));

    "F1" [] F1 {
        denominator: Denominator = DENOMINATOR,
        judged_only: bool = JUDGED_ONLY,
        rel: Option<Grade> = REL,
        cutoff: Cutoff = AT_K,
    }
        : UNIT, Up, Source::Paper("van Rijsbergen 1979"),
        "Harmonic mean of the precision and the recall of the first k results"
        => list.condensed_if(*judged_only, |list| list.f1(*cutoff, *rel, *denominator));

    "Success" ["hit", "hits", "hitrate", "hit_rate", "success_k"] Success {
        judged_only: bool = JUDGED_ONLY,
        rel: Option<Grade> = REL,
        cutoff: Cutoff = AT_K,
    }
        : UNIT, Up, Source::TrecEval("success"), "1 if any of the first k results is relevant"
        => list.condensed_if(*judged_only, |list| indicator(list.hits(*cutoff, *rel) > 0));

    "AllHit" [] AllHit { rel: Option<Grade> = REL, cutoff: Cutoff = AT_K }
        : UNIT, Up, Source::Rankgauge, "1 if all relevant documents are among the first k results"
        => {
            let hits = list.hits(*cutoff, *rel);
            indicator(hits > 0 && hits == list.relevant(*rel))
        };

    "RR" ["MRR", "recip_rank"] ReciprocalRank {
        judged_only: bool = JUDGED_ONLY,
        rel: Option<Grade> = REL,
        cutoff: Option<Cutoff> = AT_OPTIONAL_K,
    }
        : UNIT, Up, Source::TrecEval("recip_rank"),
        "Reciprocal rank of the first relevant result; its mean is MRR"
        => list.condensed_if(*judged_only, |list| list.reciprocal_rank(*cutoff, *rel));

    "AP" ["MAP", "map_cut_k"] AveragePrecision {
        denominator: RecallBase = RECALL_BASE,
        judged_only: bool = JUDGED_ONLY,
        rel: Option<Grade> = REL,
        cutoff: Option<Cutoff> = AT_OPTIONAL_K,
    }
        : UNIT, Up, Source::TrecEval("map"),
        "Average precision at the ranks of the relevant documents; its mean is MAP"
        => list.condensed_if(*judged_only, |list| match denominator {
            RecallBase::Relevant => list.average_precision(*cutoff, *rel),
            RecallBase::Found => {
                let found = list.relevant_ranks(*cutoff, *rel).count();
                ratio(list.precision_sum(*cutoff, *rel), real_length(found))
            }
        });

    /// As in trec_eval's `ndcg` and `ndcg_cut` (m_ndcg.c and m_ndcg_cut.c of version 10.0).
    "nDCG" ["ndcg_cut_k"] Ndcg {
        gain: Gain = GAIN,
        ideal: Ideal = IDEAL,
        judged_only: bool = JUDGED_ONLY,
        cutoff: Option<Cutoff> = AT_OPTIONAL_K,
    } with [REL]
        : UNIT, Up, Source::TrecEval("ndcg"),
        "Discounted cumulative gain, divided by that of the ideal ranking"
        => list.condensed_if(*judged_only, |list| list.ndcg(*cutoff, gain, *ideal));

    "Judged" [] Judged { cutoff: Option<Cutoff> = AT_OPTIONAL_K }
        : UNIT, Neither, Source::IrMeasures("Judged"),
        "Judged results among the first k, divided by these results"
        => {
            let judged = list.judged(*cutoff).count();
            ratio(real_length(judged), real_length(list.shown(*cutoff)))
        };

    /// Buckley and Voorhees 2004, as in trec_eval (m_bpref.c of version 10.0): over the relevant
    /// results, the share of the top R judged non-relevant documents that come after it.
    "Bpref" [] Bpref { rel: Option<Grade> = REL }
        : UNIT, Up, Source::TrecEval("bpref"),
        "Binary preference: relevant documents ranked above judged non-relevant ones"
        => list.bpref(*rel);

    /// (1 - p) Σ gain · p^(rank - 1).
    "RBP" [] RankBiasedPrecision {
        weighting: Weighting = GRADED,
        judged_only: bool = JUDGED_ONLY,
        persistence: Fraction = PERSISTENCE,
    } with [REL]
        : UNIT, Up, Source::Paper("Moffat and Zobel 2008"),
        "Rank-biased precision: gain of a user who continues to the next rank with probability p"
        => list.condensed_if(*judged_only, |list| list.rank_biased_precision(*persistence, *weighting));

    /// A result satisfies the user with probability (2^grade - 1) / 2^max, where `max` is by default
    /// the highest grade of the scale. A higher grade counts as `max`.
    "ERR" [] ExpectedReciprocalRank {
        judged_only: bool = JUDGED_ONLY,
        max: Option<Grade> = MAX,
        cutoff: Cutoff = AT_K,
    }

        : UNIT, Up, Source::Paper("Chapelle et al. 2009"),
        "Expected reciprocal rank of the result that satisfies the user"
        => list.condensed_if(*judged_only, |list| list.expected_reciprocal_rank(*cutoff, *max));

    /// As in trec_eval 9, recall r requires floor(r · R + 0.9) relevant documents. Version 10 rounds
    /// to the nearest number, and then r = 0.1 of 4 documents requires none.
    "IPrec" ["iprec_at_recall_r"] InterpolatedPrecision {
        judged_only: bool = JUDGED_ONLY,
        rel: Option<Grade> = REL,
        rounding: Rounding = ROUNDING,
        recall: Fraction = AT_RECALL,
    }
        : UNIT, Up, Source::TrecEval("iprec_at_recall"),
        "Interpolated precision: highest precision at any rank with at least recall r"
        => list.condensed_if(*judged_only, |list| list.interpolated_precision(*recall, *rel, *rounding));

    "TP" [] TruePositives { rel: Option<Grade> = REL, cutoff: Option<Cutoff> = AT_OPTIONAL_K }
        : NON_NEGATIVE, Up, Source::Rankgauge, "Number of relevant results among the first k"
        => real_length(list.relevant_ranks(*cutoff, *rel).count());

    "FP" [] FalsePositives { rel: Option<Grade> = REL, cutoff: Option<Cutoff> = AT_OPTIONAL_K }
        : NON_NEGATIVE, Down, Source::Rankgauge, "Number of non-relevant results among the first k"
        => real_length(list.shown(*cutoff) - list.relevant_ranks(*cutoff, *rel).count());

    "FN" [] FalseNegatives { rel: Option<Grade> = REL, cutoff: Option<Cutoff> = AT_OPTIONAL_K }
        : NON_NEGATIVE, Down, Source::Rankgauge,
        "Number of relevant documents that are not among the first k results"
        => {
            let found = list.relevant_ranks(*cutoff, *rel).count();
            real_length(list.relevant(*rel).saturating_sub(found))
        };
}

impl Ranked {
    /// Returns true if the score, or its upper bound with unjudged results, depends on the highest grade of the scale.
    pub(super) fn depends_on_scale(&self) -> bool {
        match self {
            Self::RankBiasedPrecision { weighting, .. } => *weighting == Weighting::Graded,
            Self::ExpectedReciprocalRank {
                max, judged_only, ..
            } => max.is_none() || !judged_only,
            Self::Ndcg {
                gain, judged_only, ..
            } => !judged_only && !matches!(gain, Gain::Binary { .. }),
            _ => false,
        }
    }

    /// Returns the score of one search: from 0 to 1, except for the counts TP, FP and FN.
    ///
    /// Every measure of this kind has a score for every judged search: 0 if nothing was found or
    /// nothing is relevant. `Judged` and `FP` do not require a relevant document in the gold set,
    /// and keep their value without one. nDCG, graded RBP and ERR use the grades regardless of the
    /// relevance level, as in trec_eval.
    pub fn score(&self, ranking: &Ranking, judgements: &Judgements) -> Option<f64> {
        Some(self.of(&List::new(ranking, judgements)))
    }
}
