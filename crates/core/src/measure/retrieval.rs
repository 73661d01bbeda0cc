//! Further measures of ranked retrieval, with the definitions of the tools that print them.
//!
//! Unless an entry states otherwise, the definition is that of the tool named as its source. A score is
//! absent where the definition divides by zero and the tool prints none.

use super::catalogue::Measure;
use super::descriptor::Source;
use super::family::measures;
use super::field::{
    AT_K, AT_MULTIPLE, AT_OPTIONAL_K, BETA, DOCUMENTS, GAIN, GOAL, JUDGED_ONLY, MAX_REL, MIN_REL,
    NORMALIZE, PERSISTENCE_90, PERSISTENCE_95, REL, ROUNDING, UTILITY_A, UTILITY_B, UTILITY_C,
    UTILITY_D,
};
use super::list::cumulated::MIN_GEOMETRIC;
use super::list::user_model::Scale;
use super::list::{List, ratio};
use super::parameter::{Cutoff, Fraction, Gain, Ideal, Number, Rounding};
use crate::gold::{Grade, Judgements};
use crate::number::{indicator, real_length};
use crate::ranking::Ranking;

measures! {
    /// Further measure of one ranked list. `rel` is the relevance level, by default that of the gold
    /// set. Grades from `min_rel` to `max_rel`, by default the highest grade of the scale, have gains
    /// from 0 to 1. `goal` is the gain that a user wants.
    pub enum Retrieval;
    subject: Ranking;
    argument: None;
    build: |arguments, measure| Ok(Measure::Retrieval(measure));
    fn of(list: &List<'_>) -> Option<f64>;

    "Rprec" ["R-Prec", "r_precision", "r-precision"] RPrecision {
        judged_only: bool = JUDGED_ONLY,
        rel: Option<Grade> = REL,
    }
        : UNIT, Up, Source::TrecEval("Rprec"),
        "Precision of the first R results, where R is the number of relevant documents"
        => Some(list.condensed_if(*judged_only, |list| list.precision_of_first(list.relevant(*rel), *rel)));

    "RprecMult" ["Rprec_mult_r"] RPrecisionMultiple {
        rel: Option<Grade> = REL,
        multiple: Number = AT_MULTIPLE,
    }
        : UNIT, Up, Source::TrecEval("Rprec_mult"),
        "Precision of the first x times R results, where R is the number of relevant documents"
        => {
            let relevant = real_length(list.relevant(*rel));
            Some(list.precision_of_first(whole(multiple.get() * relevant + 0.9), *rel))
        };

    "RelP" ["relative_P_k"] RelativePrecision { rel: Option<Grade> = REL, cutoff: Cutoff = AT_K }
        : UNIT, Up, Source::TrecEval("relative_P"),
        "Relevant results among the first k, divided by the highest possible number"
        => {
            let possible = cutoff.length().min(list.relevant(*rel));
            Some(ratio(real_length(list.hits(*cutoff, *rel)), real_length(possible)))
        };

    "DCG" ["dcg_cut_k"] DiscountedGain { gain: Gain = GAIN, cutoff: Option<Cutoff> = AT_OPTIONAL_K } with [REL]
        : NON_NEGATIVE, Up, Source::TrecEval("dcg"), "Discounted cumulative gain"
        => Some(list.dcg(*cutoff, gain));

    "IDCG" ["ideal_dcg"] IdealDiscountedGain { gain: Gain = GAIN, cutoff: Option<Cutoff> = AT_OPTIONAL_K } with [REL]
        : NON_NEGATIVE, Neither, Source::TrecEval("ideal_dcg"),
        "Discounted cumulative gain of the ideal ranking"
        => Some(list.ideal_dcg(*cutoff, gain, Ideal::Judged));

    "CG" [] CumulativeGain { gain: Gain = GAIN, cutoff: Option<Cutoff> = AT_OPTIONAL_K } with [REL]
        : NON_NEGATIVE, Up, Source::Paper("Järvelin and Kekäläinen 2002"),
        "Cumulative gain: sum of the gains of the first k results"
        => Some(list.gains(*cutoff, gain).map(|(_, gain)| gain).sum::<f64>() + 0.0);

    "nDCGRel" ["ndcg_rel"] NdcgAtRelevant
        : UNIT, Up, Source::TrecEval("ndcg_rel"),
        "Mean of nDCG at the ranks of the documents with gain"
        => Some(list.ndcg_at_relevant());

    "RnDCG" [] NdcgAtLevels
        : UNIT, Up, Source::TrecEval("Rndcg"),
        "Mean of nDCG at the ranks at which the gain of the ideal ranking falls"
        => Some(list.ndcg_at_levels());

    "G" [] GainAndCost
        : UNIT, Up, Source::TrecEval("G"), "Gain of results, discounted by the missed gain before them"
        => Some(list.gain_and_cost());

    "binG" [] BinaryGainAndCost { rel: Option<Grade> = REL }
        : UNIT, Up, Source::TrecEval("binG"),
        "Relevant results, discounted by the number of other results before them"
        => Some(list.binary_gain_and_cost(*rel));

    "infAP" [] InferredPrecision { rel: Option<Grade> = REL }
        : UNIT, Up, Source::TrecEval("infAP"),
        "Average precision, inferred from judgements of a part of the pool"
        => Some(list.inferred_average_precision(*rel));

    "IPrecAvg" ["11pt_avg"] ElevenPoints { rel: Option<Grade> = REL, rounding: Rounding = ROUNDING }
        : UNIT, Up, Source::TrecEval("11pt_avg"), "Mean of IPrec at recall 0, 0.1 … 1"
        => {
            let levels = (0..=10_u8).rev().filter_map(|level| Fraction::new(f64::from(level) / 10.0));
            let sum: f64 = levels.map(|level| list.interpolated_precision(level, *rel, *rounding)).sum();
            Some(sum / 11.0)
        };

    "yaap" [] YetAnotherPrecision { rel: Option<Grade> = REL }
        : UNBOUNDED, Up, Source::TrecEval("yaap"), "Log odds of average precision, smoothed"
        => {
            let sum = list.precision_sum(None, *rel);
            Some(((1.0 + sum) / (1.0 + real_length(list.relevant(*rel)) - sum)).ln())
        };

    /// `docs` is the number of documents of the collection.
    "Utility" [] Utility {
        a: Number = UTILITY_A,
        b: Number = UTILITY_B,
        c: Number = UTILITY_C,
        d: Number = UTILITY_D,
        documents: Number = DOCUMENTS,
        rel: Option<Grade> = REL,
    }
        : UNBOUNDED, Up, Source::TrecEval("utility"),
        "Weighted sum of the relevant and other results, and of the relevant and other documents not retrieved"
        => {
            let retrieved = real_length(list.ranking.len());
            let relevant = real_length(list.relevant(*rel));
            let found = real_length(list.found(*rel));
            let rest = documents.get() + found - retrieved - relevant;
            Some(
                a.get() * found
                    + b.get() * (retrieved - found)
                    + c.get() * (relevant - found)
                    + d.get() * rest,
            )
        };

    "GMAP" ["gm_map", "gm_ap"] GeometricPrecision { rel: Option<Grade> = REL } mean Geometric
        : UNIT, Up, Source::TrecEval("gm_map"),
        "Average precision, at least 0.00001, of which the geometric mean is computed"
        => Some(list.average_precision(None, *rel).max(MIN_GEOMETRIC));

    "GMBpref" ["gm_bpref"] GeometricPreference { rel: Option<Grade> = REL } mean Geometric
        : UNIT, Up, Source::TrecEval("gm_bpref"),
        "Bpref, at least 0.00001, of which the geometric mean is computed"
        => Some(list.bpref(*rel).max(MIN_GEOMETRIC));

    "SetP" ["set_P"] SetPrecision { judged_only: bool = JUDGED_ONLY, rel: Option<Grade> = REL }
        : UNIT, Up, Source::TrecEval("set_P"), "Relevant results, divided by all results"
        => Some(list.condensed_if(*judged_only, |list| list.set_precision(*rel)));

    "SetRelP" ["set_relative_P"] SetRelativePrecision {
        judged_only: bool = JUDGED_ONLY,
        rel: Option<Grade> = REL,
    }
        : UNIT, Up, Source::TrecEval("set_relative_P"),
        "Relevant results, divided by the highest possible number"
        => Some(list.condensed_if(*judged_only, |list| {
            let possible = list.ranking.len().min(list.relevant(*rel));
            ratio(real_length(list.found(*rel)), real_length(possible))
        }));

    "SetSuccess" [] SetSuccess { rel: Option<Grade> = REL }
        : UNIT, Up, Source::Tool("torchmetrics, hit_rate"), "1 if any result is relevant"
        => Some(indicator(list.found(*rel) > 0));

    "SetR" ["set_recall"] SetRecall { rel: Option<Grade> = REL }
        : UNIT, Up, Source::TrecEval("set_recall"), "Relevant results, divided by all relevant documents"
        => Some(list.recall_within(None, *rel));

    "SetAP" ["set_map"] SetAveragePrecision {
        judged_only: bool = JUDGED_ONLY,
        rel: Option<Grade> = REL,
    }
        : UNIT, Up, Source::TrecEval("set_map"), "Product of SetP and SetR"
        => Some(list.condensed_if(*judged_only, |list| {
            let found = real_length(list.found(*rel));
            let all = real_length(list.ranking.len()) * real_length(list.relevant(*rel));
            ratio(found * found, all)
        }));

    /// As in trec_eval, `beta` is the weight of recall itself, not its square root.
    "SetF" ["set_F"] SetF {
        beta: Number = BETA,
        judged_only: bool = JUDGED_ONLY,
        rel: Option<Grade> = REL,
    }
        : UNIT, Up, Source::TrecEval("set_F"), "Weighted harmonic mean of SetP and SetR"
        => Some(list.condensed_if(*judged_only, |list| {
            let (precision, recall) = (list.set_precision(*rel), list.recall_within(None, *rel));
            let weight = beta.get();
            ratio((weight + 1.0) * precision * recall, weight * precision + recall)
        }));

    "NumQ" ["num_q"] Queries mean Sum
        : NON_NEGATIVE, Neither, Source::TrecEval("num_q"), "Number of queries"
        => Some(1.0);

    "NumRet" ["num_ret"] Retrieved mean Sum
        : NON_NEGATIVE, Neither, Source::TrecEval("num_ret"), "Number of results"
        => Some(real_length(list.ranking.len()));

    "NumRel" ["num_rel"] Relevant { rel: Option<Grade> = REL } mean Sum
        : NON_NEGATIVE, Neither, Source::TrecEval("num_rel"), "Number of relevant documents"
        => Some(real_length(list.relevant(*rel)));

    "NumRelRet" ["num_rel_ret"] RelevantRetrieved { rel: Option<Grade> = REL } mean Sum
        : NON_NEGATIVE, Up, Source::TrecEval("num_rel_ret"), "Number of relevant results"
        => Some(real_length(list.found(*rel)));

    "NumNonrelJudgedRet" ["num_nonrel_judged_ret"] OtherJudgedRetrieved { rel: Option<Grade> = REL } mean Sum
        : NON_NEGATIVE, Down, Source::TrecEval("num_nonrel_judged_ret"),
        "Number of judged results that are not relevant"
        => {
            let judged = list.judged(None).filter(|(_, grade)| grade.get() >= 0.0);
            Some(real_length(judged.count().saturating_sub(list.found(*rel))))
        };

    "Unjudged" ["unj_k"] Unjudged { cutoff: Cutoff = AT_K }
        : UNIT, Neither, Source::TrecEval("unj"),
        "Results without a grade, or with a negative one, among the first k, divided by k"
        => {
            let judged = list.judged(Some(*cutoff)).filter(|(_, grade)| grade.get() >= 0.0);
            let others = list.top(*cutoff).len() - judged.count();
            Some(ratio(real_length(others), f64::from(cutoff.get())))
        };

    /// As in trec_eval, 0 without an unjudged result.
    "RBPResid" ["rbp_resid"] RankBiasedResidual { persistence: Number = PERSISTENCE_90 }
        : UNIT, Neither, Source::TrecEval("rbp_resid"),
        "Highest possible increase of RBP by results without a grade and by later results"
        => Some(list.rank_biased_residual(persistence.get()));

    "Fallout" ["fall_out"] Fallout { rel: Option<Grade> = REL, cutoff: Option<Cutoff> = AT_OPTIONAL_K }
        : UNIT, Down, Source::Tool("torchmetrics, fall_out"),
        "Other results among the first k, divided by all results that are not relevant"
        => {
            let others = list.shown(*cutoff) - list.relevant_ranks(*cutoff, *rel).count();
            let all = list.ranking.len() - list.found(*rel);
            Some(ratio(real_length(others), real_length(all)))
        };

    "Accuracy" ["AUROC"] Accuracy { rel: Option<Grade> = REL, cutoff: Option<Cutoff> = AT_OPTIONAL_K }
        : UNIT, Up, Source::IrMeasures("Accuracy"),
        "Share of pairs of a relevant and another result with the relevant one first"
        => list.accuracy(*cutoff, *rel);

    "Compat" [] Compatibility { normalize: bool = NORMALIZE, persistence: Number = PERSISTENCE_95 }
        : UNIT, Up, Source::IrMeasures("Compat"),
        "Rank-biased overlap of the results and the ideal ranking of the documents with a positive grade"
        => Some(list.compatibility(persistence.get(), *normalize));

    "SDCG" [] ScaledGain { max: Option<Grade> = MAX_REL, min: Number = MIN_REL, cutoff: Cutoff = AT_K }
        : UNIT, Up, Source::IrMeasures("SDCG"),
        "Discounted cumulative gain, divided by that of k documents with the highest gain"
        => {
            let last = cutoff.length();
            Some(list.user_model(Scale::new(*max, *min), |step| {
                if step.rank < last {
                    real_length(step.rank + 1).log2() / real_length(step.rank + 2).log2()
                } else {
                    0.0
                }
            }))
        };

    "INSQ" [] InverseSquares { goal: Number = GOAL, max: Option<Grade> = MAX_REL, min: Number = MIN_REL }
        : UNIT, Up, Source::IrMeasures("INSQ"), "Gain of a user who continues more often at later ranks"
        => Some(list.user_model(Scale::new(*max, *min), |step| square_step(step.place(), 2.0 * goal.get())));

    "INST" [] AdaptiveSquares { goal: Number = GOAL, max: Option<Grade> = MAX_REL, min: Number = MIN_REL }
        : UNIT, Up, Source::IrMeasures("INST"),
        "Gain of a user who continues less often after reaching the goal"
        => Some(list.user_model(Scale::new(*max, *min), |step| {
            square_step(step.place(), goal.get() + (goal.get() - step.gained))
        }));

    "BPM" [] BejeweledPlayer {
        goal: Number = GOAL,
        max: Option<Grade> = MAX_REL,
        min: Number = MIN_REL,
        cutoff: Cutoff = AT_K,
    }
        : UNIT, Up, Source::IrMeasures("BPM"),
        "Gain of a user who stops at the goal or after k results, whichever is first"
        => {
            let last = cutoff.length();
            Some(list.user_model(Scale::new(*max, *min), |step| {
                let stops = step.gained >= goal.get() || step.rank >= last;
                if stops { 0.0 } else { 1.0 }
            }))
        };

    "NERR8" [] NearlyReciprocal8 { max: Option<Grade> = MAX_REL, min: Number = MIN_REL, cutoff: Cutoff = AT_K }
        : UNIT, Up, Source::IrMeasures("NERR8"),
        "Gain of a user who stops at a result by its gain, or after k results"
        => {
            let last = cutoff.length();
            Some(list.user_model(Scale::new(*max, *min), |step| {
                if step.rank < last { 1.0 - step.gain } else { 0.0 }
            }))
        };

    "NERR9" [] NearlyReciprocal9 { max: Option<Grade> = MAX_REL, min: Number = MIN_REL, cutoff: Cutoff = AT_K }
        : UNIT, Up, Source::IrMeasures("NERR9"),
        "Gain of a user who stops by the rank and the gain, or after k results"
        => {
            let last = cutoff.length();
            Some(list.user_model(Scale::new(*max, *min), |step| {
                if step.rank < last {
                    step.place() / (step.place() + 1.0) * (1.0 - step.gain)
                } else {
                    0.0
                }
            }))
        };

    "NERR10" [] NearlyReciprocal10 {
        max: Option<Grade> = MAX_REL,
        min: Number = MIN_REL,
        persistence: Number = PERSISTENCE_90,
    }
        : UNIT, Up, Source::IrMeasures("NERR10"),
        "Gain of a user who stops with probability 1 - p, or at a result by its gain"
        => Some(list.user_model(Scale::new(*max, *min), |step| persistence.get() * (1.0 - step.gain)));

    "NERR11" [] NearlyReciprocal11 { goal: Number = GOAL, max: Option<Grade> = MAX_REL, min: Number = MIN_REL }
        : UNIT, Up, Source::IrMeasures("NERR11"),
        "Gain of a user who continues as in INSQ, or stops at a result by its gain"
        => Some(list.user_model(Scale::new(*max, *min), |step| {
            square_step(step.place(), 2.0 * goal.get()) * (1.0 - step.gain)
        }));
}

impl Retrieval {
    /// Returns true if the score depends on the highest grade of the scale.
    pub(super) fn depends_on_scale(&self) -> bool {
        matches!(
            self,
            Self::ScaledGain { max: None, .. }
                | Self::InverseSquares { max: None, .. }
                | Self::AdaptiveSquares { max: None, .. }
                | Self::BejeweledPlayer { max: None, .. }
                | Self::NearlyReciprocal8 { max: None, .. }
                | Self::NearlyReciprocal9 { max: None, .. }
                | Self::NearlyReciprocal10 { max: None, .. }
                | Self::NearlyReciprocal11 { max: None, .. }
        )
    }

    /// Returns the score of one search; `None` if the definition divides by zero.
    pub fn score(&self, ranking: &Ranking, judgements: &Judgements) -> Option<f64> {
        self.of(&List::new(ranking, judgements))
    }
}

/// Probability of continuing at a rank, as in INSQ.
fn square_step(rank: f64, goal: f64) -> f64 {
    ((rank + goal - 1.0) / (rank + goal)).powi(2)
}

/// Whole part of a number that is not negative.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is not negative, and far below 2^53"
)]
pub(super) fn whole(number: f64) -> usize {
    number as usize
}
