//! Sums, and the values derived from them once they are complete. This module is independent of the
//! origin of the numbers.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::Value;

use super::search::RELEVANT;
use super::{Search, count, text};
use crate::engine::brute_force::DAY_IN_ONE_WINDOW;

/// Samples by name and labels.
pub(in crate::engine::brute_force) type Totals = BTreeMap<String, f64>;

/// Upper bounds of the buckets of the time to the first click, in seconds.
const FIRST_CLICK: [f64; 12] = [
    0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0,
];

/// Sums that do not depend on the positions of records.
#[derive(Default)]
pub(super) struct Sums {
    totals: Totals,
    /// By experiment: interleaved sessions by winner, and all teams that took part.
    interleaved: BTreeMap<String, BTreeMap<String, f64>>,
    /// Judgements of production and of the gold set where both are known.
    agreement: Vec<(bool, bool)>,
    /// By measure of the ranking: its score and satisfaction, in thousandths.
    pub(super) pairs: BTreeMap<&'static str, Vec<(f64, f64)>>,
}

/// Winner of sessions without a winning team.
const TIE: &str = "__tie__";

impl Sums {
    pub(super) fn add(&mut self, name: &str, labels: &[(&str, &str)], number: f64) {
        *self.totals.entry(sample(name, labels)).or_default() += number;
    }

    pub(super) fn outcome(&mut self, kind: &str, outcome: &str) {
        self.add("events_total", &[("kind", kind), ("outcome", outcome)], 1.0);
    }

    pub(super) fn joined(&mut self, event: &Value, variant: &str) {
        let labels = [("type", &*text(&event["type"])), ("variant", variant)];
        self.add("feedback_total", &labels, 1.0);
    }

    pub(super) fn score(&mut self, search: &Search, measure: &str, score: f64) {
        for (slice, value) in &search.slices {
            let variant = search.variant.as_str();
            let labels = [
                ("measure", measure),
                ("slice", slice),
                ("value", value),
                ("variant", variant),
            ];
            self.add("score_sum_total", &labels, score);
            self.add("score_count_total", &labels, 1.0);
        }
    }

    /// Counts a search.
    pub(super) fn search(&mut self, search: &Search) {
        for (slice, value) in &search.slices {
            let labels = [
                ("slice", *slice),
                ("value", value),
                ("variant", &search.variant),
            ];
            self.add("searches_total", &labels, 1.0);
        }
    }

    pub(super) fn first_click(&mut self, variant: &str, seconds: f64) {
        let name = "time_to_first_click_seconds";
        let variant = ("variant", variant);
        self.add(&format!("{name}_sum"), &[variant], seconds);
        self.add(&format!("{name}_count"), &[variant], 1.0);
        let buckets = FIRST_CLICK.iter().filter(|bound| seconds <= **bound);
        for bound in buckets.map(ToString::to_string).chain(["+Inf".into()]) {
            self.add(&format!("{name}_bucket"), &[("le", &bound), variant], 1.0);
        }
    }

    /// Counts a session by the credit of its teams.
    pub(super) fn interleaving(&mut self, experiment: &str, teams: &BTreeMap<String, usize>) {
        let most = teams.values().max().copied().unwrap_or(0);
        let best: Vec<&String> = teams
            .iter()
            .filter(|(_, credit)| **credit == most && most > 0)
            .map(|(team, _)| team)
            .collect();
        let winner = if let [only] = best[..] { only } else { TIE };
        let wins = self.interleaved.entry(experiment.to_owned()).or_default();
        for team in teams.keys() {
            wins.entry(team.clone()).or_default();
        }
        *wins.entry(winner.to_owned()).or_default() += 1.0;
        for (team, credit) in teams {
            for (against, other) in teams.iter().filter(|(it, _)| *it > team) {
                let outcome = match credit.cmp(other) {
                    Ordering::Greater => "win",
                    Ordering::Less => "loss",
                    Ordering::Equal => "tie",
                };
                let labels = [
                    ("against", against.as_str()),
                    ("experiment", experiment),
                    ("outcome", outcome),
                    ("team", team),
                ];
                self.add("interleaving_pair_sessions_total", &labels, 1.0);
            }
        }
    }

    pub(super) fn judgement(&mut self, search: &Search, event: &Value) {
        let name = |is_relevant: bool| {
            if is_relevant {
                "relevant"
            } else {
                "not_relevant"
            }
        };
        let value = event["value"].as_f64().expect("a grade");
        let level = if search.gold.is_some() { RELEVANT } else { 1.0 };
        let production = value >= level;
        let grade = search
            .gold
            .as_ref()
            .and_then(|gold| gold.get(&text(&event["object_id"])));
        let gold = grade.map(|grade| *grade >= RELEVANT);
        self.agreement.extend(gold.map(|gold| (gold, production)));
        let labels = [
            ("gold", gold.map_or("unjudged", name)),
            ("production", name(production)),
            ("variant", &search.variant),
        ];
        self.add("production_judgements_total", &labels, 1.0);
    }

    /// Adds the values derived from the sums.
    pub(super) fn finish(mut self, min_samples: u64) -> Totals {
        let fewest = f64::from(u32::try_from(min_samples).expect("a small number"));
        for (experiment, wins) in std::mem::take(&mut self.interleaved) {
            let all: f64 = wins.values().sum();
            let ties = wins.get(TIE).copied().unwrap_or(0.0);
            for (team, won) in wins {
                let labels = [("experiment", experiment.as_str()), ("team", &team)];
                self.add("interleaving_wins_total", &labels, won);
                if team != TIE {
                    let delta = (won + ties / 2.0) / all - 0.5;
                    self.add("interleaving_delta", &labels, delta);
                }
            }
        }
        if let Some(kappa) = kappa(&self.agreement) {
            let labels = [("evaluator", "__people__"), ("version", "")];
            self.add("evaluator_kappa", &labels, kappa);
        }
        for (measure, pairs) in std::mem::take(&mut self.pairs) {
            let labels = [("measure", measure)];
            let number = count(pairs.len());
            self.add("satisfaction_correlation_samples", &labels, number);
            if let Some(correlation) = spearman(&pairs).filter(|_| number >= fewest) {
                self.add("satisfaction_correlation", &labels, correlation);
            }
        }
        // The rolling window contains all records.
        let counted: Vec<(String, f64)> = self
            .totals
            .iter()
            .filter_map(|(name, n)| Some((name.strip_prefix("score_count_total")?.to_owned(), *n)))
            .collect();
        for (labels, number) in counted {
            let sum = self.totals[&format!("score_sum_total{labels}")];
            let is_ranked = ["P@1", "R@5", "nDCG@5", "RR"]
                .iter()
                .any(|measure| labels.contains(&format!("measure={measure:?}")));
            let labels = format!(
                "{},window={DAY_IN_ONE_WINDOW:?}}}",
                labels.trim_end_matches('}')
            );
            if is_ranked || number >= fewest {
                self.totals.insert(format!("score{labels}"), sum / number);
            }
            if !is_ranked {
                self.totals.insert(format!("score_samples{labels}"), number);
            }
        }
        self.totals
    }
}

/// Name of a sample. Labels are in the order of their names.
fn sample(name: &str, labels: &[(&str, &str)]) -> String {
    let labels: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    format!("{name}{{{}}}", labels.join(","))
}

/// Spearman's correlation, from the rank of each value.
fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let rank = |all: &[f64], value: f64| {
        let below = all
            .iter()
            .filter(|other| other.total_cmp(&value).is_lt())
            .count();
        let same = all
            .iter()
            .filter(|other| other.total_cmp(&value).is_eq())
            .count();
        count(below) + f64::midpoint(count(same), 1.0)
    };
    let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let xs: Vec<f64> = xs.iter().map(|x| rank(&xs, *x)).collect();
    let ys: Vec<f64> = ys.iter().map(|y| rank(&ys, *y)).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count(values.len());
    let (x_mean, y_mean) = (mean(&xs), mean(&ys));
    let both = xs.iter().zip(&ys);
    let together: f64 = both.map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let spread =
        |values: &[f64], mean: f64| -> f64 { values.iter().map(|it| (it - mean).powi(2)).sum() };
    let alone = spread(&xs, x_mean) * spread(&ys, y_mean);
    (alone > 0.0).then(|| together / alone.sqrt())
}

/// Cohen's kappa of the answers of two raters.
fn kappa(answers: &[(bool, bool)]) -> Option<f64> {
    let all = count(answers.len());
    let share =
        |which: fn(&&(bool, bool)) -> bool| count(answers.iter().filter(which).count()) / all;
    let agreed = share(|(one, other)| one == other);
    let (one, other) = (share(|it| it.0), share(|it| it.1));
    let by_chance = one * other + (1.0 - one) * (1.0 - other);
    (!answers.is_empty() && by_chance < 1.0).then(|| (agreed - by_chance) / (1.0 - by_chance))
}
