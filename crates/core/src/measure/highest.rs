//! Highest means that measures can reach on a gold set.

use super::catalogue::Measure;
use super::component::{Aspect, ComponentMeasure};
use super::diversity::Diversity;
use super::parameter::{Cutoff, Denominator};
use super::ranked::Ranked;
use crate::gold::{GoldQuery, GoldSet};
use crate::number::{indicator, real_length};
use crate::ranking::Ranking;

/// Maximum number of prefixes of an ideal ranking that are judged.
const MAX_PREFIXES: usize = 200;

/// Highest value that the mean of a measure can reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HighestMean {
    /// The gold set does not limit it.
    Unlimited,
    /// No query has a score.
    NoScore,
    /// Mean over the queries of the highest score.
    Mean(f64),
}

impl Measure {
    /// Returns the highest value that the mean of the measure can reach on a gold set. No ranking scores more
    /// than the ideal one of a query, so this is the mean of the scores of ideal rankings, if each query is
    /// searched equally often.
    pub fn highest_mean(&self, gold: &GoldSet) -> HighestMean {
        highest_mean(self, gold.queries())
    }
}

fn highest_mean(measure: &Measure, queries: &[GoldQuery]) -> HighestMean {
    let highest = match measure {
        Measure::Ranked(ranked) => mean(queries.iter().map(|query| highest_score(ranked, query))),
        Measure::Component(of) => return highest_of_component(of, queries),
        Measure::Diversity(Diversity::FacetRecall { recall }) => {
            let judged_by_id = queries
                .iter()
                .map(|query| (!query.by_text).then_some(query));
            mean(judged_by_id.map(|query| {
                let in_gold = recall.in_gold(query?)?;
                let found = recall
                    .cutoff
                    .map_or(in_gold, |cutoff| in_gold.min(length(cutoff)));
                Some(real_length(found) / real_length(in_gold))
            }))
        }
        Measure::Retrieval(_)
        | Measure::Diversity(_)
        | Measure::Novelty(_)
        | Measure::Routing(_)
        | Measure::Answer(_)
        | Measure::User(_) => {
            return HighestMean::Unlimited;
        }
    };
    highest.map_or(HighestMean::NoScore, HighestMean::Mean)
}

/// Highest score of a component measure: no part of the ranking has more relevant documents than the
/// ideal ranking.
fn highest_of_component(of: &ComponentMeasure, queries: &[GoldQuery]) -> HighestMean {
    // Any part of the queries may trigger or need the component.
    if of.when.is_some() {
        return HighestMean::Unlimited;
    }
    let rel = of.rel;
    let whole = match of.aspect {
        Aspect::RecallGain {
            cutoff: Some(cutoff),
        } => Ranked::Recall {
            cutoff,
            rel,
            judged_only: false,
        },
        Aspect::PrecisionGain { cutoff } => Ranked::Precision {
            cutoff,
            rel,
            denominator: Denominator::Cutoff,
            judged_only: false,
        },
        Aspect::Discovery | Aspect::RecallGain { cutoff: None } | Aspect::RecallDelta => {
            let share = queries.iter().map(|query| {
                let has_relevant = query.judgements.relevant(rel) > 0;
                Some(indicator(has_relevant))
            });
            return mean(share).map_or(HighestMean::NoScore, HighestMean::Mean);
        }
        Aspect::DiscoveryCount
        | Aspect::Count { .. }
        | Aspect::Precision { .. }
        | Aspect::BasePrecision
        | Aspect::NdcgGain { .. }
        | Aspect::Share { .. }
        | Aspect::Hops
        | Aspect::Fired
        | Aspect::Trigger => return HighestMean::Unlimited,
    };
    let scores = queries.iter().map(|query| highest_score(&whole, query));
    mean(scores).map_or(HighestMean::NoScore, HighestMean::Mean)
}

/// Highest score of a query: the judged documents in the order of their grades, as far as it raises
/// the score.
fn highest_score(measure: &Ranked, query: &GoldQuery) -> Option<f64> {
    let mut documents = query.judgements.documents();
    documents.sort_by(|a, b| b.1.get().total_cmp(&a.1.get()));
    let mut ranking = Ranking::new();
    let lengths = (0..=documents.len().min(MAX_PREFIXES)).chain([documents.len()]);
    let scores = lengths.filter_map(|length| {
        let ideal = documents.iter().take(length).map(|(document, _)| *document);
        ranking.judge(ideal, &query.judgements);
        measure.score(&ranking, &query.judgements)
    });
    scores.max_by(f64::total_cmp)
}

fn mean(scores: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (mut sum, mut number) = (0.0, 0);
    for score in scores.flatten() {
        sum += score;
        number += 1;
    }
    (number > 0).then(|| sum / real_length(number))
}

fn length(cutoff: Cutoff) -> usize {
    usize::try_from(cutoff.get()).unwrap_or(usize::MAX)
}
