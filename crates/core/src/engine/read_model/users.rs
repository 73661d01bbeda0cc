//! User behaviour: interleaving, production judgements, and the correlation of ranking measures with
//! user satisfaction.

use std::collections::BTreeMap;

use super::model::ReadModel;
use crate::detection::Preference;
use crate::engine::correlation::ranking_measures;
use crate::engine::family;
use crate::engine::fixed::units_to_f64;
use crate::engine::registry::{Dimension, TIE};
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

    /// Cohen's kappa between production judgements and the gold set: relevant or not relevant. `None`
    /// without documents that both judge.
    pub fn production_agreement(&self) -> Option<f64> {
        let counts = self.counts(&family::PRODUCTION_JUDGEMENTS);
        let of_both = counts.filter_map(|(_, [gold, production, ..], count)| {
            match (gold.position(), production.position()) {
                (Some(gold @ 0..2), Some(production @ 0..2)) => {
                    Some((gold, production, u64::try_from(count).unwrap_or(u64::MAX)))
                }
                _ => None,
            }
        });
        kappa(of_both.collect::<Vec<_>>())
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
