//! Metric families of user behaviour: feedback, clicks, interleaving, production judgements, and
//! the correlation of ranking measures with user satisfaction.

use super::{ScoreLabels, Sink, SnapshotView, Value, bound_labels, bound_names, histogram};
use rankgauge_core::engine::correlation::ranking_measures;
use rankgauge_core::engine::family;
use rankgauge_core::engine::fixed::units_to_f64;
use rankgauge_core::engine::registry::{Label, TIE};
use rankgauge_core::engine::settings::FIRST_CLICK_BUCKETS;
use rankgauge_core::statistics::{kappa, spearman};

impl SnapshotView<'_> {
    pub(super) fn feedback(&self, labels: &ScoreLabels<'_>, sink: &mut dyn Sink) {
        self.samples(labels, sink);
        self.first_clicks(sink);
        self.interleaving(sink);
        self.agreement(sink);
        self.correlation(sink);
    }

    /// Writes the number of searches behind each rolling value of a user feedback measure.
    fn samples(&self, labels: &ScoreLabels<'_>, sink: &mut dyn Sink) {
        sink.family(&family::SCORE_SAMPLES);
        for (index, measure) in self.settings.measures.iter().enumerate() {
            if measure.is_user_measure() {
                self.rolling(index, labels, |labels, cell| {
                    if cell.count > 0 {
                        sink.write("", labels, Value::Count(cell.count));
                    }
                });
            }
        }
    }

    fn first_clicks(&self, sink: &mut dyn Sink) {
        sink.family(&family::TIME_TO_FIRST_CLICK);
        let series = self.series_of(&family::TIME_TO_FIRST_CLICK);
        let bounds = bound_names(&FIRST_CLICK_BUCKETS);
        let bounds = bound_labels(&bounds);
        let histograms = self.snapshot.totals.first_clicks.by_series();
        for (buckets, labels) in histograms.iter().zip(&series) {
            histogram(buckets, &bounds, labels, sink);
        }
    }

    /// Writes the preference for each team.
    fn interleaving(&self, sink: &mut dyn Sink) {
        let keys = self.registry.series_labels(&family::INTERLEAVING_WINS);
        let counts = &self.snapshot.totals.counters;
        let counts = counts.of(&family::INTERLEAVING_WINS);
        let wins: Vec<(Label, Label, f64)> = keys
            .iter()
            .zip(counts)
            .map(|([experiment, team, ..], count)| (*experiment, *team, units_to_f64(*count, 0)))
            .collect();
        let in_experiment = |of: Label| wins.iter().filter(move |win| win.0 == of);
        let series = self.series_of(&family::INTERLEAVING_WINS);
        sink.family(&family::INTERLEAVING_DELTA);
        for ((experiment, team, won), labels) in wins.iter().zip(&series) {
            let searches: f64 = in_experiment(*experiment).map(|win| win.2).sum();
            if *team == TIE || searches <= 0.0 {
                continue;
            }
            let tied = in_experiment(*experiment).find(|win| win.1 == TIE);
            let tied = tied.map_or(0.0, |win| win.2);
            let delta = (won + tied / 2.0) / searches - 0.5;
            sink.write("", &[labels], Value::Float(delta));
        }
    }

    /// Writes the agreement of production judgements with the gold set.
    fn agreement(&self, sink: &mut dyn Sink) {
        let mut both = Vec::new();
        let keys = self.registry.series_labels(&family::PRODUCTION_JUDGEMENTS);
        let counts = &self.snapshot.totals.counters;
        let counts = counts.of(&family::PRODUCTION_JUDGEMENTS);
        for ([in_gold, in_production, ..], count) in keys.iter().zip(counts) {
            if let (Some(gold @ 0..2), Some(production @ 0..2)) =
                (in_gold.position(), in_production.position())
            {
                let count = u64::try_from(*count).unwrap_or(u64::MAX);
                both.push((gold, production, count));
            }
        }
        sink.family(&family::PRODUCTION_AGREEMENT);
        if let Some(kappa) = kappa(both) {
            sink.sample(&[], Value::Float(kappa));
        }
    }

    fn correlation(&self, sink: &mut dyn Sink) {
        let pairs = self.snapshot.totals.correlation.pairs();
        let measures = ranking_measures(&self.settings.measures).enumerate();
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
                sink.sample(&[("measure", measure)], Value::Float(*correlation));
            }
        }
        sink.family(&family::SATISFACTION_SAMPLES);
        for (measure, count, _) in &seen {
            sink.sample(&[("measure", measure)], Value::Count(*count));
        }
    }
}
