//! Micro averages: precision and recall over the results of all searches together, from three
//! counts.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::catalogue::Measure;
use super::list::{List, ratio};
use super::parameter::{Cutoff, Denominator};
use super::ranked::Ranked;
use crate::gold::Judgements;
use crate::number::real;
use crate::ranking::Ranking;

/// Numbers of documents in the top k of one search or of many, by relevance and retrieval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Documents {
    /// Relevant and retrieved.
    pub true_positives: u64,
    /// Retrieved and not relevant.
    pub false_positives: u64,
    /// Relevant and not retrieved.
    pub false_negatives: u64,
}

impl Documents {
    /// Returns the cutoffs at which documents are counted, ascending: those of the measures that treat
    /// the top k as a set of relevant and other documents.
    pub fn cutoffs(measures: &[Measure]) -> Vec<Cutoff> {
        let mut cutoffs: Vec<Cutoff> = measures
            .iter()
            .filter_map(|measure| match measure {
                Measure::Ranked(
                    Ranked::Precision {
                        cutoff,
                        rel: None,
                        denominator: Denominator::Cutoff,
                        judged_only: false,
                    }
                    | Ranked::Recall {
                        cutoff,
                        rel: None,
                        judged_only: false,
                    }
                    | Ranked::F1 {
                        cutoff,
                        rel: None,
                        denominator: Denominator::Cutoff,
                        judged_only: false,
                    },
                ) => Some(*cutoff),
                Measure::Ranked(
                    Ranked::TruePositives { cutoff, rel: None }
                    | Ranked::FalsePositives { cutoff, rel: None }
                    | Ranked::FalseNegatives { cutoff, rel: None },
                ) => *cutoff,
                Measure::Ranked(_)
                | Measure::Retrieval(_)
                | Measure::Component(_)
                | Measure::Diversity(_)
                | Measure::Novelty(_)
                | Measure::Routing(_)
                | Measure::Answer(_)
                | Measure::User(_) => None,
            })
            .collect();
        cutoffs.sort_unstable();
        cutoffs.dedup();
        cutoffs
    }

    /// Counts the documents in the top `cutoff` of `ranking`, at the default relevance level.
    pub fn of(ranking: &Ranking, judgements: &Judgements, cutoff: Cutoff) -> Self {
        let list = List::new(ranking, judgements);
        let hits = list.hits(cutoff, None);
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Self {
            true_positives: count(hits),
            false_positives: count(ranking.len().min(cutoff.length()) - hits),
            false_negatives: count(judgements.relevant(None).saturating_sub(hits)),
        }
    }

    /// ΣTP / Σ(TP + FP); `None` if nothing was retrieved.
    pub fn precision(&self) -> Option<f64> {
        share(self.true_positives, self.false_positives)
    }

    /// ΣTP / Σ(TP + FN); `None` if nothing is relevant.
    pub fn recall(&self) -> Option<f64> {
        share(self.true_positives, self.false_negatives)
    }

    /// Harmonic mean of precision and recall; 0 if both are 0.
    pub fn f1(&self) -> Option<f64> {
        let (precision, recall) = (self.precision()?, self.recall()?);
        Some(ratio(2.0 * precision * recall, precision + recall))
    }
}

impl AddAssign for Documents {
    fn add_assign(&mut self, other: Self) {
        self.true_positives += other.true_positives;
        self.false_positives += other.false_positives;
        self.false_negatives += other.false_negatives;
    }
}

fn share(part: u64, rest: u64) -> Option<f64> {
    let whole = part + rest;
    (whole > 0).then(|| real(part) / real(whole))
}
