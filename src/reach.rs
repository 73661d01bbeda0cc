//! Highest means that measures can reach on a gold set, and what watching them takes.
//!
//! No ranking scores more than the ideal one of a query, so the mean over the gold queries of its
//! scores is the highest value that the mean of the measure can reach when each query is searched
//! equally often.

use rankgauge_core::gold::{GoldQuery, GoldSet};
use rankgauge_core::measure::Ranked;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::measure::{Aspect, ComponentMeasure, Cutoff, Denominator, Diversity, Measure};
use rankgauge_core::number::real_length;
use rankgauge_core::ranking::Ranking;

use rankgauge_serve::target::Target;

/// Maximum number of prefixes of an ideal ranking that are judged.
const MAX_PREFIXES: usize = 200;

/// Rounding error of a mean of scores.
const ROUNDING: f64 = 1e-9;

/// Target that no ranking can reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreachable {
    /// Key of the value in the configuration.
    pub key: String,
    /// Description of the problem, with its remedy.
    pub text: String,
}

/// Returns the targets that no system can reach on the gold set.
pub fn unreachable(targets: &[Target], gold: &GoldSet) -> Vec<Unreachable> {
    if gold.queries().is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for target in targets {
        if target.measure.descriptor().direction == Direction::Down {
            continue;
        }
        let text = match highest(&target.measure, gold) {
            Highest::Unlimited => continue,
            Highest::NoScore => format!(
                "no query of the gold set has what {} needs, so that no search has a score; remove \
                 the target, or extend the gold set",
                target.measure
            ),
            Highest::Mean(mean) if target.value <= mean + ROUNDING => continue,
            Highest::Mean(mean) => format!(
                "{} cannot reach {}: on this gold set ({} queries with {:.1} relevant documents on \
                 average), its mean is at most {mean:.3}, with ideal rankings; lower the target, or \
                 choose a measure that can reach it",
                target.measure,
                target.value,
                gold.queries().len(),
                relevant_documents(gold),
            ),
        };
        found.push(Unreachable {
            key: target.value_key.clone(),
            text,
        });
    }
    found
}

/// Mean number of relevant documents of a query.
fn relevant_documents(gold: &GoldSet) -> f64 {
    let numbers = gold
        .queries()
        .iter()
        .map(|query| Some(real_length(query.judgements.relevant(None))));
    mean(numbers).unwrap_or(0.0)
}

/// Highest value that the mean of a measure can reach.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Highest {
    /// The gold set does not limit it.
    Unlimited,
    /// No query has a score.
    NoScore,
    /// Mean over the queries of the highest score.
    Mean(f64),
}

fn highest(measure: &Measure, gold: &GoldSet) -> Highest {
    let queries = gold.queries();
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
            return Highest::Unlimited;
        }
    };
    highest.map_or(Highest::NoScore, Highest::Mean)
}

/// Highest score of a component measure: no part of the ranking has more relevant documents than the
/// ideal ranking.
fn highest_of_component(of: &ComponentMeasure, queries: &[GoldQuery]) -> Highest {
    // Any part of the queries may trigger or need the component.
    if of.when.is_some() {
        return Highest::Unlimited;
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
                Some(if has_relevant { 1.0 } else { 0.0 })
            });
            return mean(share).map_or(Highest::NoScore, Highest::Mean);
        }
        Aspect::DiscoveryCount
        | Aspect::Count { .. }
        | Aspect::Precision { .. }
        | Aspect::BasePrecision
        | Aspect::NdcgGain { .. }
        | Aspect::Share { .. }
        | Aspect::Hops
        | Aspect::Fired
        | Aspect::Trigger => return Highest::Unlimited,
    };
    let scores = queries.iter().map(|query| highest_score(&whole, query));
    mean(scores).map_or(Highest::NoScore, Highest::Mean)
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
