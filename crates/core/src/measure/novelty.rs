//! Measures of novelty and diversity over subtopics, as ndeval computes them (trec-web), and means over judgement
//! groups, as trec_eval computes them.
//!
//! A query without subtopics has one: its documents are relevant to it by their grades. A document is
//! relevant to a subtopic or not; grades do not count further. A later result of the same document has no
//! subtopic. At k = 1, ndeval does not divide alpha_DCG and ERR_IA; they are divided here, so that no score is
//! above 1. The ideal ranking is built greedily, and a better one counts as 1.

use std::cmp::Ordering;

use super::catalogue::Measure;
use super::descriptor::Source;
use super::family::measures;
use super::field::{ALPHA, AT_K, AT_MULTIPLE, AT_OPTIONAL_K, PATIENCE, REL};
use super::list::{discount, ratio};
use super::parameter::{Cutoff, Number};
use super::retrieval::whole;
use crate::gold::Grade;
use crate::number::real_length;
use crate::ranking::Judged;

measures! {
    /// Measure of novelty and diversity. `alpha` is the intolerance of repeated subtopics, `beta` the patience
    /// of the user. `rel` is the lowest grade of a document that is relevant to a subtopic, by default the
    /// relevance level of the gold set.
    pub enum Novelty;
    subject: Ranking;
    argument: None;
    build: |arguments, measure| Ok(Measure::Novelty(measure));
    /// Returns the score of one search. A query without a relevant document scores 0.
    pub(super) fn score(judged: &Judged<'_>) -> f64;

    /// As in ndeval, divided by the gain of a list of which every result is relevant to every subtopic.
    "alpha_DCG" ["alpha-DCG"] AlphaGain { alpha: Number = ALPHA, rel: Option<Grade> = REL, cutoff: Cutoff = AT_K }
        : UNIT, Up, Source::IrMeasures("alpha_DCG"),
        "Discounted gain, in which a subtopic counts less with each result that has it"
        => {
            let list = Subtopic::of(judged, *rel);
            ratio(list.cumulated(*cutoff, *alpha, discount), list.perfect(*cutoff, *alpha, discount))
        };

    "alpha_nDCG" ["alpha-nDCG"] AlphaNdcg { alpha: Number = ALPHA, rel: Option<Grade> = REL, cutoff: Cutoff = AT_K }
        : UNIT, Up, Source::IrMeasures("alpha_nDCG"),
        "alpha_DCG, divided by that of the ideal ranking, which is built greedily"
        => {
            let list = Subtopic::of(judged, *rel);
            let ideal = list.ideal(judged, *rel, *alpha, cutoff.length());
            ratio(list.cumulated(*cutoff, *alpha, discount), ideal.cumulated(*cutoff, *alpha, discount)).min(1.0)
        };

    /// As in ndeval, divided by that of a list of which every result is relevant to every subtopic.
    "ERR_IA" ["ERR-IA"] ReciprocalRank { alpha: Number = ALPHA, rel: Option<Grade> = REL, cutoff: Cutoff = AT_K }
        : UNIT, Up, Source::IrMeasures("ERR_IA"),
        "Intent-aware expected reciprocal rank: alpha_DCG with the reciprocal rank as discount"
        => {
            let list = Subtopic::of(judged, *rel);
            ratio(list.cumulated(*cutoff, *alpha, rank_of), list.perfect(*cutoff, *alpha, rank_of))
        };

    "nERR_IA" ["nERR-IA"] NormalisedReciprocalRank {
        alpha: Number = ALPHA,
        rel: Option<Grade> = REL,
        cutoff: Cutoff = AT_K,
    }
        : UNIT, Up, Source::IrMeasures("nERR_IA"), "ERR_IA, divided by that of the ideal ranking"
        => {
            let list = Subtopic::of(judged, *rel);
            let ideal = list.ideal(judged, *rel, *alpha, cutoff.length());
            ratio(list.cumulated(*cutoff, *alpha, rank_of), ideal.cumulated(*cutoff, *alpha, rank_of)).min(1.0)
        };

    "NRBP" [] BiasedPrecision { alpha: Number = ALPHA, beta: Number = PATIENCE, rel: Option<Grade> = REL }
        : UNIT, Up, Source::IrMeasures("NRBP"),
        "Novelty- and rank-biased precision: alpha_DCG of a user who continues with probability beta"
        => {
            let list = Subtopic::of(judged, *rel);
            let scale = 1.0 - (1.0 - alpha.get()) * beta.get();
            ratio(list.decayed(*alpha, *beta) * scale, real_length(list.subtopics))
        };

    "nNRBP" [] NormalisedBiasedPrecision { alpha: Number = ALPHA, beta: Number = PATIENCE, rel: Option<Grade> = REL }
        : UNIT, Up, Source::IrMeasures("nNRBP"), "NRBP, divided by that of the ideal ranking"
        => {
            let list = Subtopic::of(judged, *rel);
            let ideal = list.ideal(judged, *rel, *alpha, MAX_IDEAL);
            ratio(list.decayed(*alpha, *beta), ideal.decayed(*alpha, *beta)).min(1.0)
        };

    "AP_IA" ["AP-IA", "MAP-IA"] AveragePrecision { rel: Option<Grade> = REL }
        : UNIT, Up, Source::IrMeasures("AP_IA"), "Intent-aware average precision: the mean of AP over the subtopics"
        => Subtopic::of(judged, *rel).average_precision();

    "P_IA" ["P-IA"] Precision { rel: Option<Grade> = REL, cutoff: Cutoff = AT_K }
        : UNIT, Up, Source::IrMeasures("P_IA"), "Intent-aware precision: the mean of P over the subtopics"
        => {
            let list = Subtopic::of(judged, *rel);
            let found: usize = list.top(*cutoff).iter().map(Vec::len).sum();
            ratio(real_length(found), f64::from(cutoff.get()) * real_length(list.subtopics))
        };

    /// A group is a second column of qrels_jg: the judgements of a user. One without a relevant document scores 0.
    "GroupAP" ["map_avgjg"] GroupAveragePrecision { rel: Option<Grade> = REL }
        : UNIT, Up, Source::TrecEval("map_avgjg"), "Mean of AP over the judgement groups"
        => Subtopic::of(judged, *rel).mean_over_groups(Group::average_precision);

    "GroupP" ["P_avgjg_k"] GroupPrecision { rel: Option<Grade> = REL, cutoff: Cutoff = AT_K }
        : UNIT, Up, Source::TrecEval("P_avgjg"), "Mean of P over the judgement groups"
        => Subtopic::of(judged, *rel).mean_over_groups(|group| group.precision(cutoff.length()));

    "GroupRprecMult" ["Rprec_mult_avgjg_r"] GroupPrecisionMultiple {
        rel: Option<Grade> = REL,
        multiple: Number = AT_MULTIPLE,
    }
        : UNIT, Up, Source::TrecEval("Rprec_mult_avgjg"), "Mean of RprecMult over the judgement groups"
        => Subtopic::of(judged, *rel).mean_over_groups(|group| {
            group.precision(whole(multiple.get() * real_length(group.relevant) + 0.9))
        });

    "StRecall" ["strec"] SubtopicRecall { rel: Option<Grade> = REL, cutoff: Option<Cutoff> = AT_OPTIONAL_K }
        : UNIT, Up, Source::IrMeasures("StRecall"),
        "Subtopics of the first k results, divided by those with a relevant document"
        => {
            let list = Subtopic::of(judged, *rel);
            let top = cutoff.map_or(&list.results[..], |cutoff| list.top(cutoff));
            let mut found: Vec<usize> = top.iter().flatten().copied().collect();
            found.sort_unstable();
            found.dedup();
            ratio(real_length(found.len()), real_length(list.subtopics))
        };
}

/// Maximum length of the ideal ranking of a measure without a cutoff. Later results change no digit.
const MAX_IDEAL: usize = 1000;

/// Results that are relevant in one judgement group.
struct Group {
    /// Ranks, from 1, ascending.
    ranks: Vec<usize>,
    /// Number of relevant documents.
    relevant: usize,
}

impl Group {
    fn precision(&self, count: usize) -> f64 {
        let found = self.ranks.iter().take_while(|rank| **rank <= count).count();
        ratio(real_length(found), real_length(count))
    }

    fn average_precision(&self) -> f64 {
        let found = (1..).zip(&self.ranks);
        let sum = found.map(|(found, rank)| real_length(found) / real_length(*rank));
        ratio(sum.sum(), real_length(self.relevant))
    }
}

/// Results by the subtopics that they are relevant to.
struct Subtopic {
    /// Subtopics of each result.
    results: Vec<Vec<usize>>,
    /// Relevant documents of each subtopic.
    relevant: Vec<usize>,
    /// Number of subtopics with a relevant document.
    subtopics: usize,
}

impl Subtopic {
    fn of(judged: &Judged<'_>, rel: Option<Grade>) -> Self {
        let documents = judged.query.judgements.len();
        let mut relevant = vec![0; judged.query.subtopics.as_ref().map_or(1, |it| it.count())];
        for document in 0..documents {
            for subtopic in subtopics_of(judged, rel, document) {
                if let Some(count) = relevant.get_mut(subtopic) {
                    *count += 1;
                }
            }
        }
        let mut seen = vec![false; documents];
        let results = judged.ranking.documents().iter().map(|document| {
            let first = document.filter(|document| {
                let seen = seen.get_mut(*document);
                seen.is_some_and(|seen| !std::mem::replace(seen, true))
            });
            first.map_or_else(Vec::new, |it| subtopics_of(judged, rel, it).collect())
        });
        Self {
            results: results.collect(),
            subtopics: relevant.iter().filter(|count| **count > 0).count(),
            relevant,
        }
    }

    fn top(&self, cutoff: Cutoff) -> &[Vec<usize>] {
        let end = cutoff.length().min(self.results.len());
        self.results.get(..end).unwrap_or_default()
    }

    /// Gain of each result: a subtopic counts 1 at first, and less by the factor 1 - alpha each time.
    fn gains<'l>(
        &'l self,
        results: &'l [Vec<usize>],
        alpha: Number,
    ) -> impl Iterator<Item = f64> + 'l {
        let mut left = vec![1.0; self.relevant.len()];
        results
            .iter()
            .map(move |subtopics| gain_of(subtopics, &mut left, alpha))
    }

    /// Sum of the discounted gains of the first results.
    fn cumulated(&self, cutoff: Cutoff, alpha: Number, discount: fn(usize) -> f64) -> f64 {
        let gains = self.gains(self.top(cutoff), alpha).enumerate();
        gains
            .map(|(index, gain)| gain / discount(index))
            .sum::<f64>()
            + 0.0
    }

    /// Sum of the discounted gains of results that are relevant to every subtopic.
    fn perfect(&self, cutoff: Cutoff, alpha: Number, discount: fn(usize) -> f64) -> f64 {
        let mut gain = real_length(self.subtopics);
        let mut sum = 0.0;
        for index in 0..cutoff.length() {
            sum += gain / discount(index);
            gain *= 1.0 - alpha.get();
        }
        sum
    }

    /// Sum of the gains of all results, each of which is reached with the probability `beta`.
    fn decayed(&self, alpha: Number, beta: Number) -> f64 {
        let mut reached = 1.0;
        let mut sum = 0.0;
        for gain in self.gains(&self.results, alpha) {
            sum += gain * reached;
            reached *= beta.get();
        }
        sum
    }

    /// Mean of a measure over all subtopics.
    fn mean_over_groups(&self, measure: impl Fn(&Group) -> f64) -> f64 {
        let mut groups: Vec<Group> = self
            .relevant
            .iter()
            .map(|relevant| Group {
                ranks: Vec::new(),
                relevant: *relevant,
            })
            .collect();
        for (rank, subtopics) in (1..).zip(&self.results) {
            for subtopic in subtopics {
                if let Some(group) = groups.get_mut(*subtopic) {
                    group.ranks.push(rank);
                }
            }
        }
        let sum = groups.iter().map(measure).sum::<f64>();
        ratio(sum, real_length(groups.len()))
    }

    fn average_precision(&self) -> f64 {
        let mut found = vec![0_usize; self.relevant.len()];
        let mut sums = vec![0.0; self.relevant.len()];
        for (rank, subtopics) in (1..).zip(&self.results) {
            for subtopic in subtopics {
                if let (Some(found), Some(sum)) =
                    (found.get_mut(*subtopic), sums.get_mut(*subtopic))
                {
                    *found += 1;
                    *sum += real_length(*found) / real_length(rank);
                }
            }
        }
        let of_subtopics = sums.iter().zip(&self.relevant);
        let of_subtopics = of_subtopics.map(|(sum, relevant)| ratio(*sum, real_length(*relevant)));
        ratio(of_subtopics.sum(), real_length(self.subtopics))
    }

    /// Ideal ranking of at most `length` results: each has the highest gain after those before it, of equal ones
    /// the document with the last id.
    fn ideal(&self, judged: &Judged<'_>, rel: Option<Grade>, alpha: Number, length: usize) -> Self {
        let documents = judged.query.judgements.documents();
        let mut rest: Vec<(&str, Vec<usize>)> = (0..)
            .zip(documents)
            .map(|(number, (id, _))| (id, subtopics_of(judged, rel, number).collect()))
            .filter(|(_, subtopics): &(_, Vec<usize>)| !subtopics.is_empty())
            .collect();
        let mut left = vec![1.0; self.relevant.len()];
        let mut results = Vec::new();
        while results.len() < length && !rest.is_empty() {
            let gain = |subtopics: &[usize]| -> f64 {
                let left = subtopics.iter().filter_map(|it| left.get(*it));
                left.sum()
            };
            let by_gain = |a: &(&str, Vec<usize>), b: &(&str, Vec<usize>)| -> Ordering {
                gain(&a.1).total_cmp(&gain(&b.1)).then_with(|| a.0.cmp(b.0))
            };
            let best = rest
                .iter()
                .enumerate()
                .max_by(|(_, a), (_, b)| by_gain(a, b));
            let Some((position, _)) = best else { break };
            let (_, subtopics) = rest.swap_remove(position);
            gain_of(&subtopics, &mut left, alpha);
            results.push(subtopics);
        }
        Self {
            results,
            relevant: self.relevant.clone(),
            subtopics: self.subtopics,
        }
    }
}

/// Subtopics that a document is relevant to.
fn subtopics_of(
    judged: &Judged<'_>,
    rel: Option<Grade>,
    document: usize,
) -> impl Iterator<Item = usize> {
    let judgements = &judged.query.judgements;
    let level = rel.unwrap_or(judgements.level());
    let stated = judged.query.subtopics.as_ref();
    let of_subtopics = stated.map_or(&[][..], |it| it.of_document(document));
    let of_query = judgements.grade(document).filter(|_| stated.is_none());
    let relevant = move |grade: &Grade| grade.is_relevant_at(level);
    let of_subtopics = of_subtopics
        .iter()
        .filter(move |(_, grade)| relevant(grade));
    let of_subtopics: Vec<usize> = of_subtopics.map(|(subtopic, _)| *subtopic).collect();
    of_subtopics
        .into_iter()
        .chain(of_query.filter(relevant).map(|_| 0))
}

/// Returns the gain of a result, and reduces what is left of its subtopics.
fn gain_of(subtopics: &[usize], left: &mut [f64], alpha: Number) -> f64 {
    let mut gain = 0.0;
    for subtopic in subtopics {
        if let Some(left) = left.get_mut(*subtopic) {
            gain += *left;
            *left *= 1.0 - alpha.get();
        }
    }
    gain
}

/// Rank of the result at `index`, from 0.
fn rank_of(index: usize) -> f64 {
    real_length(index + 1)
}
