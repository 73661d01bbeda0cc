//! User behaviour: interleaving, production judgements, and the correlation of ranking measures with
//! user satisfaction.

use std::collections::BTreeMap;

use super::model::ReadModel;
use crate::detection::Preference;
use crate::engine::correlation::ranking_measures;
use crate::engine::family::{self, Family};
use crate::engine::fixed::units_to_f64;
use crate::engine::series::{Dimension, Label, TIE};
use crate::number::real;
use crate::statistics::{kappa, spearman};

/// Correlation of a ranking measure with user satisfaction over a rolling day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SatisfactionCorrelation {
    /// Position of the measure in the settings.
    pub measure: usize,
    /// Judged searches with feedback.
    pub searches: u64,
    /// Spearman's rank correlation. `None` below `feedback.min_samples`.
    pub coefficient: Option<f64>,
}

/// Preference between two teams of interleaved rankings.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamPair<'m> {
    /// Id of the experiment; empty without one.
    pub experiment: &'m str,
    /// The two teams.
    pub teams: [&'m str; 2],
    /// Sessions by outcome for the first team.
    pub preference: Preference,
}

/// Agreement of an evaluator with people on the searches of a variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvaluatorAgreement<'m> {
    /// Id; `__people__` for people without one.
    pub evaluator: &'m str,
    /// Version; empty if not stated.
    pub version: &'m str,
    /// Variant; empty for searches without one.
    pub variant: &'m str,
    /// Judgments by outcome: both low, the evaluator above people, below them, both high.
    pub pairs: [u64; 4],
    /// Sum of the differences from people.
    pub error_sum: f64,
}

impl EvaluatorAgreement<'_> {
    /// Mean difference from people; `None` without a pair.
    pub fn error(&self) -> Option<f64> {
        let pairs: u64 = self.pairs.iter().sum();
        (pairs > 0).then(|| self.error_sum / real(pairs))
    }
}

impl ReadModel<'_> {
    /// Pairs of teams with sessions, in the order of their names.
    pub fn team_pairs(&self) -> Vec<TeamPair<'_>> {
        let mut pairs: BTreeMap<_, Preference> = BTreeMap::new();
        for (_, [experiment, team, against, outcome], count) in
            self.counts(&family::INTERLEAVING_PAIRS)
        {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            let of = (
                self.text(Dimension::Experiment, *experiment),
                self.text(Dimension::Team, *team),
                self.text(Dimension::Team, *against),
            );
            let preference = pairs.entry(of).or_default();
            match outcome.position() {
                Some(0) => preference.wins += count,
                Some(1) => preference.losses += count,
                Some(_) | None => preference.ties += count,
            }
        }
        let pairs = pairs.into_iter();
        let pairs = pairs.map(|((experiment, team, against), preference)| TeamPair {
            experiment,
            teams: [team, against],
            preference,
        });
        pairs.collect()
    }

    /// Preference for each team of an interleaved experiment: the number of its series of
    /// [`family::INTERLEAVING_WINS`], and (wins + ties / 2) / searches - 1/2.
    pub fn preferences(&self) -> Vec<(usize, f64)> {
        let wins = self.snapshot.totals.counters.of(&family::INTERLEAVING_WINS);
        let wins = wins.iter().map(|wins| units_to_f64(*wins, 0));
        let keys = self.keys(&family::INTERLEAVING_WINS).iter();
        let wins: Vec<_> = keys
            .zip(wins)
            .map(|([of, team, ..], wins)| (*of, *team, wins))
            .collect();
        let preference = |(number, (experiment, team, won)): (usize, &(_, _, f64))| {
            let of_experiment = || wins.iter().filter(|it| it.0 == *experiment);
            let searches: f64 = of_experiment().map(|it| it.2).sum();
            let tied = of_experiment()
                .find(|it| it.1 == TIE)
                .map_or(0.0, |it| it.2);
            let delta = (won + tied / 2.0) / searches - 0.5;
            (*team != TIE && searches > 0.0).then_some((number, delta))
        };
        wins.iter().enumerate().filter_map(preference).collect()
    }

    /// Agreement of evaluators with people, by evaluator, version and variant.
    pub fn evaluators(&self) -> Vec<EvaluatorAgreement<'_>> {
        let mut found: BTreeMap<[&str; 3], EvaluatorAgreement<'_>> = BTreeMap::new();
        let name = |family: &'static Family, place: usize, label: Label| {
            let name = family.keys().nth(place);
            name.and_then(|name| self.label_value(name, label))
                .unwrap_or(Label::OTHER_NAME)
        };
        let families = [&family::EVALUATOR_PAIRS, &family::EVALUATOR_ERROR_SUM];
        for family in families {
            for (_, [evaluator, version, outcome, variant], count) in self.counts(family) {
                let of = [(0, evaluator), (1, version), (3, variant)];
                let of = of.map(|(place, label)| name(family, place, *label));
                let agreement = found.entry(of).or_insert_with(|| EvaluatorAgreement {
                    evaluator: of[0],
                    version: of[1],
                    variant: of[2],
                    ..EvaluatorAgreement::default()
                });
                let place = outcome.position().unwrap_or_default();
                if family.decimals == 0 {
                    let count = u64::try_from(count).unwrap_or(u64::MAX);
                    if let Some(pairs) = agreement.pairs.get_mut(place) {
                        *pairs += count;
                    }
                } else {
                    let sign = if place == 0 { 1.0 } else { -1.0 };
                    agreement.error_sum += sign * units_to_f64(count, family.decimals);
                }
            }
        }
        found.into_values().collect()
    }

    /// Cohen's kappa between evaluators and people over all variants, by evaluator and version.
    pub fn evaluator_kappas(&self) -> Vec<([&str; 2], f64)> {
        let evaluators = self.evaluators();
        let of_one =
            evaluators.chunk_by(|a, b| (a.evaluator, a.version) == (b.evaluator, b.version));
        let kappas = of_one.filter_map(|of| {
            let first = of.first()?;
            let items = of.iter().flat_map(|it| {
                let [both_low, above, below, both_high] = it.pairs;
                [
                    (false, false, both_low),
                    (false, true, above),
                    (true, false, below),
                    (true, true, both_high),
                ]
            });
            let kappa = kappa(items.filter(|(_, _, count)| *count > 0))?;
            Some(([first.evaluator, first.version], kappa))
        });
        kappas.collect()
    }

    /// Correlations of the ranking measures that have any searches with feedback.
    pub fn correlations(&self) -> impl Iterator<Item = SatisfactionCorrelation> {
        let measures = ranking_measures(&self.settings.measures).enumerate();
        let all = measures.map(|(place, measure)| {
            let pairs: Vec<_> = self.snapshot.totals.correlation.pairs().of(place).collect();
            let searches = pairs.iter().map(|pair| pair.2).sum();
            let is_enough = searches >= self.settings.min_samples;
            SatisfactionCorrelation {
                measure,
                searches,
                coefficient: spearman(&pairs).filter(|_| is_enough),
            }
        });
        all.filter(|it| it.searches > 0)
    }
}
