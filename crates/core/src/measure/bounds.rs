//! Bounds of a score over all grades that the unjudged results could have.
//!
//! The exact bounds assume that every relevant document is judged or served: an unjudged result that is
//! relevant counts among the relevant documents of its query. The simple upper bound counts every
//! unjudged result as relevant and leaves the ideal unchanged; it is cheaper, and never below the exact
//! one within the served list.

use std::iter;
use std::sync::LazyLock;

use super::catalogue::Measure;
use super::descriptor::CutoffRule;
use super::list::{List, discount, ratio};
use super::parameter::{Cutoff, Denominator, Gain, Ideal, RecallBase};
use super::ranked::Ranked;
use crate::gold::{Grade, Judgements};
use crate::number::{indicator, real_length};
use crate::ranking::Ranking;

impl Measure {
    /// Cutoff of the measure, as in its canonical name. `None` without one: all results count.
    pub fn cutoff(&self) -> Option<Cutoff> {
        match self.descriptor().cutoff {
            CutoffRule::Optional | CutoffRule::Required => {}
            // The value after the @ is no number of results.
            CutoffRule::None | CutoffRule::RecallLevel | CutoffRule::Multiple => return None,
        }
        let name = self.to_string();
        let (_, cutoff) = name.rsplit_once('@')?;
        Cutoff::new(cutoff.parse().ok()?)
    }

    /// Returns the exact bounds of the score over all integer grades of the unjudged results: the lowest and
    /// the highest score, both possible. `None` for a measure without such bounds: of condensed lists, of
    /// judged results alone, with another ideal ranking than that of the judged documents in the top k, of
    /// components, domains or users.
    ///
    /// RBP has the residual of the ranks after the list in its upper bound (Moffat and Zobel 2008).
    ///
    /// `score` is that of `ranking`, and `assumed` the ranking of [`Ranking::assume_relevant`].
    pub fn bounds(
        &self,
        score: f64,
        ranking: &Ranking,
        assumed: &Ranking,
        judgements: &Judgements,
    ) -> Option<[f64; 2]> {
        let Self::Ranked(measure) = self else {
            return None;
        };
        let [list, assumed] = [ranking, assumed].map(|it| List::new(it, judgements));
        let [low, high] = measure.bounds(score, &list, &assumed)?;
        // Rounding: another order of the same sum.
        Some([low.min(score), high.max(score)])
    }

    /// Returns true if the measure has a [score if unjudged results are relevant](Self::score_if_relevant).
    pub fn has_range(&self) -> bool {
        let Self::Ranked(measure) = self else {
            return false;
        };
        let rule = measure.unjudged_rule();
        rule.is_some_and(|rule| !matches!(rule, Rule::Misses { .. }))
    }

    /// Returns the score of a search if each unjudged result had the highest grade, at most the
    /// highest score of the measure. `None` for a measure without [bounds](Self::bounds), and for false
    /// negatives: the relevant documents beyond the list stay as they are.
    ///
    /// `assumed` is the ranking with these grades, [`Ranking::assume_relevant`].
    pub fn score_if_relevant(&self, assumed: &Ranking, judgements: &Judgements) -> Option<f64> {
        let Self::Ranked(measure) = self else {
            return None;
        };
        let list = List::new(assumed, judgements);
        let rel = match measure.unjudged_rule()? {
            Rule::Simple | Rule::Lower => return Some(measure.of(&list)),
            Rule::Residual => return Some(measure.of(&list).min(1.0)),
            Rule::AllHit { cutoff, rel } => {
                let found = list.hits(cutoff, rel);
                return Some(indicator(found > 0 && found >= list.relevant(rel)));
            }
            Rule::Misses { .. } => return None,
            Rule::Recall { rel, .. } | Rule::F1 { rel, .. } | Rule::Precisions { rel, .. } => rel,
            Rule::Gains { gain, .. } => match gain {
                Gain::Binary { rel } => rel,
                Gain::Linear | Gain::Exponential | Gain::Table(_) => None,
            },
        };
        let score = measure.of(&list).min(1.0);
        // Without a relevant document, the score is 0 for every list. It could be 1 if there were one.
        let is_undefined =
            judgements.relevant(rel) == 0 && list.relevant_ranks(None, rel).count() > 0;
        Some(if is_undefined { 1.0 } else { score })
    }
}

/// Effect of an unjudged result on a measure.
enum Rule {
    /// A relevant result raises the score, and nothing else changes.
    Simple,
    /// A relevant result lowers the score, and nothing else changes.
    Lower,
    /// RBP: the ranks after the list count too.
    Residual,
    /// Relevant results within the cutoff, divided by the relevant documents.
    Recall { cutoff: Cutoff, rel: Option<Grade> },
    /// As [`Rule::Recall`], divided by the relevant documents and the slots.
    F1 {
        cutoff: Cutoff,
        rel: Option<Grade>,
        slots: Denominator,
    },
    /// 1 if all relevant documents are within the cutoff.
    AllHit { cutoff: Cutoff, rel: Option<Grade> },
    /// Relevant documents beyond the cutoff.
    Misses { cutoff: Option<Cutoff> },
    /// Sum of precisions at relevant ranks, divided by the relevant documents.
    Precisions {
        cutoff: Option<Cutoff>,
        rel: Option<Grade>,
    },
    /// Discounted gains, divided by those of the ideal ranking.
    Gains { cutoff: Option<Cutoff>, gain: Gain },
}

impl Ranked {
    fn unjudged_rule(&self) -> Option<Rule> {
        Some(match *self {
            Self::Precision {
                judged_only: true, ..
            }
            | Self::Recall {
                judged_only: true, ..
            }
            | Self::F1 {
                judged_only: true, ..
            }
            | Self::Success {
                judged_only: true, ..
            }
            | Self::ReciprocalRank {
                judged_only: true, ..
            }
            | Self::AveragePrecision {
                judged_only: true, ..
            }
            | Self::AveragePrecision {
                denominator: RecallBase::Found,
                ..
            }
            | Self::Precision {
                denominator: Denominator::Judged,
                ..
            }
            | Self::F1 {
                denominator: Denominator::Judged,
                ..
            }
            | Self::Ndcg {
                judged_only: true, ..
            }
            | Self::RankBiasedPrecision {
                judged_only: true, ..
            }
            | Self::ExpectedReciprocalRank {
                judged_only: true, ..
            }
            | Self::Ndcg {
                ideal: Ideal::Retrieved | Ideal::Shown | Ideal::Uncut,
                ..
            }
            | Self::Ndcg {
                gain: Gain::Table(_),
                ..
            }
            | Self::Judged { .. }
            | Self::Bpref { .. }
            | Self::InterpolatedPrecision { .. } => return None,
            Self::Precision { .. }
            | Self::Success { .. }
            | Self::ReciprocalRank { .. }
            | Self::ExpectedReciprocalRank { .. }
            | Self::TruePositives { .. } => Rule::Simple,
            Self::FalsePositives { .. } => Rule::Lower,
            Self::RankBiasedPrecision { .. } => Rule::Residual,
            Self::Recall { cutoff, rel, .. } => Rule::Recall { cutoff, rel },
            Self::F1 {
                cutoff,
                rel,
                denominator,
                ..
            } => Rule::F1 {
                cutoff,
                rel,
                slots: denominator,
            },
            Self::AllHit { cutoff, rel } => Rule::AllHit { cutoff, rel },
            Self::FalseNegatives { cutoff, .. } => Rule::Misses { cutoff },
            Self::AveragePrecision { cutoff, rel, .. } => Rule::Precisions { cutoff, rel },
            Self::Ndcg {
                cutoff, ref gain, ..
            } => Rule::Gains {
                cutoff,
                gain: gain.clone(),
            },
        })
    }

    fn bounds(&self, score: f64, list: &List<'_>, assumed: &List<'_>) -> Option<[f64; 2]> {
        let rule = self.unjudged_rule()?;
        if list.ranking.is_fully_judged() && !matches!(rule, Rule::Residual) {
            return Some([score; 2]);
        }
        Some(match rule {
            Rule::Simple => [score, self.of(assumed)],
            Rule::Lower => [self.of(assumed), score],
            Rule::Residual => [score, (score + self.residual(list)).min(1.0)],
            Rule::Recall { cutoff, rel } => {
                let (hits, relevant) = (list.hits(cutoff, rel), list.relevant(rel));
                let [within, beyond] = unjudged(list, cutoff);
                let share = |hits, relevant| ratio(real_length(hits), real_length(relevant));
                [
                    share(hits, relevant + beyond),
                    share(hits + within, relevant + within),
                ]
            }
            Rule::F1 { cutoff, rel, slots } => {
                let (hits, relevant) = (list.hits(cutoff, rel), list.relevant(rel));
                let [within, beyond] = unjudged(list, cutoff);
                let slots = match slots {
                    Denominator::Cutoff => cutoff.length(),
                    Denominator::Retrieved => list.top(cutoff).len(),
                    Denominator::Judged => list.judged(Some(cutoff)).count(),
                };
                let share = |hits: usize, relevant: usize| {
                    ratio(
                        2.0 * real_length(hits),
                        real_length(slots) + real_length(relevant),
                    )
                };
                [
                    share(hits, relevant + beyond),
                    share(hits + within, relevant + within),
                ]
            }
            Rule::AllHit { cutoff, rel } => {
                let hits = list.hits(cutoff, rel);
                let has_all = hits == list.relevant(rel);
                let [within, beyond] = unjudged(list, cutoff);
                [
                    indicator(has_all && hits > 0 && beyond == 0),
                    indicator(has_all && hits + within > 0),
                ]
            }
            Rule::Misses { cutoff } => {
                let beyond = cutoff.map_or(0, |cutoff| unjudged(list, cutoff)[1]);
                [score, score + real_length(beyond)]
            }
            Rule::Precisions { cutoff, rel } => precisions(list, cutoff, rel),
            Rule::Gains { cutoff, gain } => Gains::of(list, cutoff, &gain).bounds(),
        })
    }

    /// Weights of the unjudged ranks, and of all ranks after the list, in RBP.
    fn residual(&self, list: &List<'_>) -> f64 {
        let Self::RankBiasedPrecision { persistence, .. } = self else {
            return 0.0;
        };
        let p = persistence.get();
        let mut reached = 1.0;
        let mut weights = 0.0;
        for grade in list.ranking.grades() {
            if grade.is_none() {
                weights += (1.0 - p) * reached;
            }
            reached *= p;
        }
        weights + reached
    }
}

/// Numbers of unjudged results within and beyond the cutoff.
fn unjudged(list: &List<'_>, cutoff: Cutoff) -> [usize; 2] {
    let within = list
        .top(cutoff)
        .iter()
        .filter(|grade| grade.is_none())
        .count();
    let all = list.ranking.len() - list.ranking.judged().len();
    [within, all - within]
}

/// Ranks (from 1) of the unjudged results.
fn holes(ranking: &Ranking) -> impl Iterator<Item = usize> + '_ {
    let grades = ranking.grades().iter().enumerate();
    grades
        .filter(|(_, grade)| grade.is_none())
        .map(|(position, _)| position + 1)
}

/// Bounds of average precision. For a number of relevant documents among the unjudged ones, the score
/// is highest with the first of them and lowest with the last.
fn precisions(list: &List<'_>, cutoff: Option<Cutoff>, rel: Option<Grade>) -> [f64; 2] {
    let deepest = cutoff.map_or(usize::MAX, Cutoff::length);
    let length = list.ranking.len();
    // By rank: judged relevant results up to it, and the sum of their reciprocal ranks after it.
    let mut found = vec![0.0; length + 2];
    let mut after = vec![0.0; length + 2];
    for rank in list.relevant_ranks(cutoff, rel) {
        found[rank] = 1.0;
        after[rank - 1] = 1.0 / real_length(rank);
    }
    for rank in 1..=length {
        found[rank] += found[rank - 1];
    }
    for rank in (0..length).rev() {
        after[rank] += after[rank + 1];
    }
    let sum: f64 = (1..)
        .zip(list.relevant_ranks(cutoff, rel))
        .map(|(found, rank): (usize, usize)| real_length(found) / real_length(rank))
        .sum();
    let relevant = real_length(list.relevant(rel));
    let start = ratio(sum, relevant);
    let walk = |ranks: &[usize], is_first: bool| {
        let (mut sum, mut added, mut later, mut best) = (sum, 0.0, 0.0, start);
        for rank in ranks.iter().copied() {
            let before = if is_first { added } else { 0.0 };
            added += 1.0;
            if rank <= deepest {
                let reciprocal = 1.0 / real_length(rank);
                sum += (found[rank] + before + 1.0) * reciprocal + after[rank] + later;
                if !is_first {
                    later += reciprocal;
                }
            }
            let score = ratio(sum, relevant + added);
            best = if is_first {
                score.max(best)
            } else {
                score.min(best)
            };
        }
        best
    };
    let mut ranks: Vec<usize> = holes(list.ranking).collect();
    let high = walk(&ranks, true);
    ranks.reverse();
    [walk(&ranks, false), high]
}

/// Discounted gains of a list with unjudged results, and of its ideal ranking, as sums over the steps of
/// the gain from one possible grade to the next.
///
/// Both sums have one term a step, which depends on the number of unjudged results that reach it. The
/// best numbers of results follow from a sequence of linear problems (Dinkelbach 1967). Each is solved
/// from the highest step down, because a higher step has no more results than a lower one. Between two
/// judged grades, the terms of all grades are proportional and form one step.
struct Gains {
    /// Discounted gain of the judged results.
    served: f64,
    /// Discounted gain of the parts of the ideal ranking that no unjudged result changes.
    fixed: f64,
    steps: Vec<Step>,
    /// Sum of the weights of the first unjudged results, by their number.
    first: Vec<f64>,
    /// Sum of the weights of the last unjudged results, by their number.
    last: Vec<f64>,
}

/// Step of the gain from one possible grade to the next.
struct Step {
    gain: f64,
    /// Discounted gain of the step in the ideal ranking, by the number of unjudged results that reach it.
    ideal: Vec<f64>,
}

impl Gains {
    fn of(list: &List<'_>, cutoff: Option<Cutoff>, gain: &Gain) -> Self {
        let level = |rel: Option<Grade>| rel.unwrap_or(list.judgements.level());
        let top = match gain {
            Gain::Binary { rel } => list.judgements.top_grade().max(level(*rel)),
            Gain::Linear | Gain::Exponential | Gain::Table(_) => list.judgements.top_grade(),
        };
        let gain_of = |grade: Grade| list.gain(gain, grade);
        let cutoff = cutoff.map_or(usize::MAX, Cutoff::length);
        let judged = list.ranking.judged().iter();
        let within = judged.clone().filter(|(rank, _)| *rank <= cutoff);
        let served = within
            .map(|(rank, grade)| gain_of(*grade) / discount(rank - 1))
            .sum();
        // Judged gains of the ideal ranking, descending.
        let gains = list.judgements.descending().iter().copied();
        let mut gains: Vec<f64> = gains.map(gain_of).collect();
        gains.retain(|gain| *gain > 0.0);
        gains.sort_unstable_by(|a, b| b.total_cmp(a));
        let within = holes(list.ranking).take_while(|rank| *rank <= cutoff);
        let mut unjudged: Vec<f64> = within.map(|rank| 1.0 / discount(rank - 1)).collect();
        // Results beyond the cutoff only displace documents of the ideal ranking, which has as many
        // places as the cutoff.
        let beyond = list.ranking.len() - list.ranking.judged().len() - unjudged.len();
        unjudged.resize(unjudged.len() + beyond.min(cutoff), 0.0);
        let best = best_sums(gains.len() + unjudged.len(), cutoff);
        // Number of judged documents whose gain is at least `gain`.
        let reaching = |gain: f64| gains.partition_point(|it| *it >= gain);
        let mut levels: Vec<f64> = gains.clone();
        levels.reverse();
        levels.dedup();
        let values = values(list.judgements, top, gain);
        let mut steps = Vec::new();
        let mut below = 0.0;
        for value in values.into_iter().map(gain_of) {
            if value <= below {
                continue;
            }
            // The step passes the gains of judged documents that an integer grade does not have.
            let mut ideal = vec![0.0; unjudged.len() + 1];
            let first = levels.partition_point(|level| *level <= below);
            let end = levels.partition_point(|level| *level < value);
            let passed = levels.get(first..end).unwrap_or_default().iter().copied();
            let mut from = below;
            for level in passed.chain([value]) {
                let documents = reaching(level);
                for (ideal, best) in ideal.iter_mut().zip(&best[documents..]) {
                    *ideal += (level - from) * best;
                }
                from = level;
            }
            steps.push(Step {
                gain: value - below,
                ideal,
            });
            below = value;
        }
        let above = levels.partition_point(|level| *level <= below);
        let mut fixed = 0.0;
        for level in levels.get(above..).unwrap_or_default() {
            fixed += (level - below) * best[reaching(*level)];
            below = *level;
        }
        Self {
            served,
            fixed,
            steps,
            first: sums(unjudged.iter().copied()),
            last: sums(unjudged.iter().rev().copied()),
        }
    }

    fn bounds(&self) -> [f64; 2] {
        let mut choices = Choices::default();
        [
            self.extreme(&self.last, -1.0, &mut choices),
            self.extreme(&self.first, 1.0, &mut choices),
        ]
    }

    /// Highest score (`sign` 1) or lowest (`sign` -1), where the unjudged results of a grade are those
    /// with these sums of weights.
    fn extreme(&self, weights: &[f64], sign: f64, choices: &mut Choices) -> f64 {
        let score = |counts: &mut dyn Iterator<Item = usize>| {
            let (mut gain, mut ideal) = (self.served, self.fixed);
            for (step, count) in self.steps.iter().zip(counts) {
                gain += step.gain * weights[count];
                ideal += step.ideal[count];
            }
            ratio(gain, ideal).min(1.0)
        };
        let none = score(&mut iter::repeat(0));
        let all = score(&mut iter::repeat(weights.len() - 1));
        let mut best = if sign * all > sign * none { all } else { none };
        // Each round improves the score, and few are needed: convergence is superlinear.
        for _ in 0..MAX_ROUNDS {
            let found = score(&mut choices.of(&self.steps, weights, sign, best));
            if sign * found <= sign * best {
                break;
            }
            best = found;
        }
        best
    }
}

/// Sum of the weights of the first ranks, by their number, up to `most`. Ranks beyond the cutoff have none.
fn best_sums(most: usize, cutoff: usize) -> Vec<f64> {
    /// Sums for the ranks of a long page.
    static KNOWN: LazyLock<Vec<f64>> = LazyLock::new(|| weight_sums(256));
    fn weight_sums(most: usize) -> Vec<f64> {
        sums((0..most).map(|index| 1.0 / discount(index)))
    }
    let within = most.min(cutoff);
    let known = KNOWN.get(..=within).map(<[f64]>::to_vec);
    let mut sums = known.unwrap_or_else(|| weight_sums(within));
    let all = sums.last().copied().unwrap_or_default();
    sums.resize(most + 1, all);
    sums
}

/// Sum of the first weights, by their number.
fn sums(weights: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let mut sums = Vec::with_capacity(weights.len() + 1);
    let mut sum = 0.0;
    sums.push(sum);
    for weight in weights {
        sum += weight;
        sums.push(sum);
    }
    sums
}

/// Numbers of unjudged results that a round compares. Its memory serves all rounds.
#[derive(Default)]
struct Choices {
    /// Best sum of the steps above, by the number of results that reach them.
    sums: Vec<f64>,
    /// By step, highest first: the best number of results that reach it, by the number that may.
    best: Vec<usize>,
}

impl Choices {
    /// Numbers of unjudged results by step that maximise sign · (gain - score · ideal).
    fn of(
        &mut self,
        steps: &[Step],
        weights: &[f64],
        sign: f64,
        score: f64,
    ) -> impl Iterator<Item = usize> {
        self.sums.clear();
        self.sums.resize(weights.len(), 0.0);
        self.best.resize(weights.len() * steps.len(), 0);
        // From the highest step down: for each number of results that reach the step below, the best
        // sum and the number that reach this one.
        let best = self.best.chunks_exact_mut(weights.len());
        for (step, best) in steps.iter().rev().zip(best) {
            let (mut top, mut at) = (f64::NEG_INFINITY, 0);
            let numbers = weights.iter().zip(&step.ideal).zip(&mut self.sums);
            for (count, (((weight, ideal), sum), best)) in numbers.zip(best).enumerate() {
                let found = sign * (step.gain * weight - score * ideal) + *sum;
                if found > top {
                    (top, at) = (found, count);
                }
                (*sum, *best) = (top, at);
            }
        }
        let mut most = weights.len() - 1;
        self.best
            .chunks_exact(weights.len())
            .rev()
            .map(move |best| {
                most = best[most];
                most
            })
    }
}

/// Maximum number of rounds of the search for a bound.
const MAX_ROUNDS: usize = 50;

/// Grades at which the terms of a step can change, ascending: the integers around the judged grades, and
/// the highest grade.
fn values(judgements: &Judgements, top: Grade, gain: &Gain) -> Vec<Grade> {
    if matches!(gain, Gain::Binary { .. }) {
        return vec![top];
    }
    let mut judged = judgements.descending().to_vec();
    judged.dedup();
    let around = judged
        .iter()
        .flat_map(|grade| [grade.get().floor(), grade.get().ceil()]);
    let within = around.filter(|value| *value > 0.0 && *value < top.get());
    let mut values: Vec<Grade> = within.filter_map(Grade::new).chain([top]).collect();
    values.sort_unstable();
    values.dedup();
    values
}
