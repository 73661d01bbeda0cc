//! Metric families of user behaviour: feedback, clicks, interleaving, production judgements, and
//! the correlation of ranking measures with user satisfaction.

use super::{Scope, Sink, Value, histogram, named};
use crate::expose::{Family, family};
use rankgauge_core::engine::correlation::correlated;
use rankgauge_core::engine::fixed::{NANO_DECIMALS, count_to_f64};
use rankgauge_core::engine::registry::{Dimension, Family as Table, Label, OTHER, TIE};
use rankgauge_core::engine::settings::FIRST_CLICK_BUCKETS;
use rankgauge_core::event::Action;
use rankgauge_core::statistics::{kappa, spearman};

/// Names of judgements, in the order of their labels' positions.
const JUDGEMENTS: [&str; 3] = ["not_relevant", "relevant", "unjudged"];

/// Team label of a tie.
const NOBODY: &str = "__tie__";

impl Scope<'_> {
    pub(super) fn people(&self, sink: &mut dyn Sink) {
        self.samples(sink);
        sink.family(&family::FEEDBACK);
        self.counts(
            Table::Feedback,
            self.snapshot.counts.of(Table::Feedback),
            |[action, variant, _], count| {
                let action = action
                    .position()
                    .and_then(|position| Action::NAMES.get(position));
                let labels = [
                    ("type", *action.unwrap_or(&OTHER)),
                    ("variant", named(self.variants, variant)),
                ];
                sink.sample("", &labels, Value::Count(count));
            },
        );
        self.clicks(sink);
        self.interleaving(sink);
        self.judgements(sink);
        self.correlation(sink);
    }

    /// Writes the number of searches behind each rolling value of a user feedback measure.
    fn samples(&self, sink: &mut dyn Sink) {
        sink.family(&family::SCORE_SAMPLES);
        for (index, measure) in self.settings.measures.iter().enumerate() {
            if measure.is_of_people() {
                self.rolling(index, |labels, cell| {
                    if cell.count > 0 {
                        sink.sample("", labels, Value::Count(cell.count));
                    }
                });
            }
        }
    }

    fn clicks(&self, sink: &mut dyn Sink) {
        let whole = |count| Value::Count(count);
        let nano = |count| Value::Decimal {
            units: i128::from(count),
            decimals: NANO_DECIMALS,
        };
        self.by_variant(&family::CLICKS, Table::Clicks, whole, sink);
        self.by_variant(&family::EXPECTED_CLICKS, Table::ExpectedClicks, nano, sink);
        self.by_variant(&family::UNSERVED_CLICKS, Table::UnservedClicks, whole, sink);
        sink.family(&family::TIME_TO_FIRST_CLICK);
        let members = self.registry.members(Table::FirstClick);
        for (buckets, [variant, ..]) in self.snapshot.first_clicks.iter().zip(members) {
            let labels = [("variant", named(self.variants, variant))];
            histogram(buckets, &FIRST_CLICK_BUCKETS, &labels, sink);
        }
    }

    fn by_variant(
        &self,
        family: &Family,
        table: Table,
        value: impl Fn(u64) -> Value,
        sink: &mut dyn Sink,
    ) {
        sink.family(family);
        let counts = self.snapshot.counts.of(table);
        self.counts(table, counts, |[variant, ..], count| {
            let labels = [("variant", named(self.variants, variant))];
            sink.sample("", &labels, value(count));
        });
    }

    /// Writes the wins of each team, and the delta of each team.
    fn interleaving(&self, sink: &mut dyn Sink) {
        let experiments = self.registry.values(Dimension::Experiment);
        let teams = self.registry.values(Dimension::Team);
        let team = |label: Label| match label {
            TIE => NOBODY,
            label => named(&teams, label),
        };
        // Includes teams without a win: `counts` skips series with a count of 0.
        let members = self.registry.members(Table::Interleaving);
        let counts = self.snapshot.counts.of(Table::Interleaving);
        let wins: Vec<(Label, Label, u64)> = members
            .iter()
            .zip(counts)
            .map(|([experiment, team, _], count)| (*experiment, *team, *count))
            .collect();
        let in_experiment = |of: Label| wins.iter().filter(move |win| win.0 == of);
        let searches = |of: Label| in_experiment(of).map(|win| win.2).sum::<u64>();
        let shown = || wins.iter().filter(|win| searches(win.0) > 0);
        sink.family(&family::INTERLEAVING_WINS);
        for (experiment, winner, count) in shown() {
            let labels = [
                ("experiment", named(&experiments, *experiment)),
                ("team", team(*winner)),
            ];
            sink.sample("", &labels, Value::Count(*count));
        }
        sink.family(&family::INTERLEAVING_DELTA);
        for (experiment, winner, count) in shown().filter(|win| win.1 != TIE) {
            let tied = in_experiment(*experiment).find(|win| win.1 == TIE);
            let tied = count_to_f64(tied.map_or(0, |win| win.2));
            let all = count_to_f64(searches(*experiment));
            let delta = (count_to_f64(*count) + tied / 2.0) / all - 0.5;
            let labels = [
                ("experiment", named(&experiments, *experiment)),
                ("team", team(*winner)),
            ];
            sink.sample("", &labels, Value::Float(delta));
        }
    }

    /// Writes the production grades against the grades of the gold set.
    fn judgements(&self, sink: &mut dyn Sink) {
        let name = |label: Label| {
            let name = label.position().and_then(|it| JUDGEMENTS.get(it));
            *name.unwrap_or(&OTHER)
        };
        let mut both = [[0; 2]; 2];
        sink.family(&family::PRODUCTION_JUDGEMENTS);
        let counts = self.snapshot.counts.of(Table::Judgements);
        self.counts(Table::Judgements, counts, |labels, count| {
            let [in_gold, in_production, variant] = labels;
            if let (Some(gold @ 0..2), Some(production @ 0..2)) =
                (in_gold.position(), in_production.position())
            {
                both[gold][production] += count;
            }
            let labels = [
                ("gold", name(in_gold)),
                ("production", name(in_production)),
                ("variant", named(self.variants, variant)),
            ];
            sink.sample("", &labels, Value::Count(count));
        });
        sink.family(&family::PRODUCTION_AGREEMENT);
        if let Some(kappa) = kappa(both) {
            sink.sample("", &[], Value::Float(kappa));
        }
    }

    fn correlation(&self, sink: &mut dyn Sink) {
        let pairs = &self.snapshot.correlation;
        let measures = correlated(&self.settings.measures).enumerate();
        let seen: Vec<(&str, u64, Option<f64>)> = measures
            .map(|(place, index)| {
                let pairs: Vec<_> = pairs.of(place).collect();
                let count = pairs.iter().map(|pair| pair.2).sum();
                (self.measures[index].as_str(), count, spearman(&pairs))
            })
            .filter(|(_, count, _)| *count > 0)
            .collect();
        sink.family(&family::SATISFACTION_CORRELATION);
        for (measure, count, correlation) in &seen {
            if let Some(correlation) = correlation
                && *count >= self.settings.min_samples
            {
                sink.sample("", &[("measure", measure)], Value::Float(*correlation));
            }
        }
        sink.family(&family::SATISFACTION_SAMPLES);
        for (measure, count, _) in &seen {
            sink.sample("", &[("measure", measure)], Value::Count(*count));
        }
    }
}
