//! Metric families of scores and user behaviour: sums, rolling means, searches, documents, and
//! correlations.

use super::{Labels, Sink, Value, View, decimal, write_family};
use rankgauge_core::engine::family::{self, Family};
use rankgauge_core::engine::fixed::Nano;
use rankgauge_core::engine::scores::Tally;
use rankgauge_core::engine::series::Series;
use rankgauge_core::engine::settings::Rolling;

impl View<'_> {
    pub(super) fn scores(&self, sink: &mut dyn Sink) {
        // Counters must not decrease: negative scores have a separate counter.
        let negative = |measure, series| self.model.negative_sum(measure, series);
        self.sums(&family::SCORE_SUM, sink, |measure, series, tally| {
            let negative = negative(measure, series).unwrap_or(0);
            Some(decimal(tally.sum + negative, Nano::DECIMALS))
        });
        self.sums(&family::SCORE_NEGATIVE_SUM, sink, |measure, series, _| {
            Some(decimal(negative(measure, series)?, Nano::DECIMALS))
        });
        self.sums(&family::SCORE_COUNT, sink, |_, _, tally| {
            Some(tally.count.into())
        });
        self.sums(&family::SCORE_SQUARES, sink, |_, _, tally| {
            Some(decimal(tally.squares, 2 * Nano::DECIMALS))
        });
        self.rolling(&family::SCORE, sink, |measure, series, window| {
            self.model.mean(measure, series, window).map(Value::Float)
        });
        let bounds = ["lower", "upper"].map(|bound| Labels::new(&[("bound", bound)]));
        sink.family(&family::SCORE_RANGE);
        self.each_rolling(|[measure, window], series, labels| {
            if let Some(range) = self.model.range(measure, series, window) {
                let [name, of_series, window] = labels;
                for (bound, value) in bounds.iter().zip(range) {
                    sink.write("", &[name, of_series, window, bound], value.into());
                }
            }
        });
    }

    /// Writes one family of sums since the start. `value_of` returns `None` for a measure that has no
    /// such sum.
    fn sums(
        &self,
        family: &Family,
        sink: &mut dyn Sink,
        value_of: impl Fn(usize, Series, &Tally) -> Option<Value>,
    ) {
        sink.family(family);
        for (measure, name) in self.measures.iter().enumerate() {
            for (it, labels) in &self.series {
                let tally = self.model.tally(measure, it.series);
                if let Some(sum) = tally.and_then(|tally| value_of(measure, it.series, tally)) {
                    sink.write("", &[name, labels], sum);
                }
            }
        }
    }

    /// Writes one family of rolling values: window by window of each measure.
    fn rolling(
        &self,
        family: &Family,
        sink: &mut dyn Sink,
        value_of: impl Fn(usize, Series, usize) -> Option<Value>,
    ) {
        sink.family(family);
        self.each_rolling(|[measure, window], series, labels| {
            if let Some(value) = value_of(measure, series, window) {
                sink.write("", &labels, value);
            }
        });
    }

    /// Calls `write` with the measure, window and series of each exposed rolling value, and their labels.
    fn each_rolling(&self, mut write: impl FnMut([usize; 2], Series, [&Labels<'_>; 3])) {
        let (is_exposed, is_any_slice) = match self.settings.rolling {
            Rolling::All => (true, true),
            Rolling::Whole => (true, false),
            Rolling::None => (false, false),
        };
        for (measure, name) in self.measures.iter().enumerate().filter(|_| is_exposed) {
            for (window, window_name) in self.windows.iter().enumerate() {
                let series = self.series.iter();
                for (it, labels) in series.filter(|(it, _)| is_any_slice || it.is_whole) {
                    let position = [measure, window];
                    write(position, it.series, [name, labels, window_name]);
                }
            }
        }
    }

    pub(super) fn searches(&self, sink: &mut dyn Sink) {
        sink.family(&family::SEARCHES);
        for (it, labels) in &self.series {
            let searches = self.model.searches(it.series);
            if searches > 0 {
                sink.write("", &[labels], searches.into());
            }
        }
        self.of_windows(&family::SEARCHES_PER_SECOND, sink, |series, window| {
            self.model.searches_per_second(series, window)
        });
        self.of_windows(&family::GOLD_COVERAGE, sink, |series, window| {
            self.model.gold_coverage(series, window)
        });
    }

    /// Writes a value of all searches of each variant in each window.
    fn of_windows(
        &self,
        family: &Family,
        sink: &mut dyn Sink,
        value_of: impl Fn(Series, usize) -> Option<f64>,
    ) {
        let windows = self.settings.windows.iter().enumerate();
        let samples = windows.flat_map(|(number, window)| {
            let value_of = &value_of;
            let whole = self.series.iter().filter(|(it, _)| it.is_whole);
            whole.filter_map(move |(it, _)| {
                Some(([it.variant, &*window.name], value_of(it.series, number)?))
            })
        });
        write_family(family, samples, sink);
    }

    pub(super) fn documents(&self, sink: &mut dyn Sink) {
        sink.family(&family::DOCUMENTS);
        let cutoffs = self.model.cutoffs().iter().map(ToString::to_string);
        let cutoffs: Vec<String> = cutoffs.collect();
        let outcomes: Vec<[Labels<'_>; 3]> = cutoffs
            .iter()
            .map(|cutoff| {
                ["tp", "fp", "fn"]
                    .map(|outcome| Labels::new(&[("cutoff", cutoff), ("outcome", outcome)]))
            })
            .collect();
        for (row, (_, series)) in self.model.documents().zip(&self.series) {
            for (outcomes, documents) in outcomes.iter().zip(row) {
                let counts = [
                    documents.true_positives,
                    documents.false_positives,
                    documents.false_negatives,
                ];
                // A series without judged documents is not exposed.
                if counts == [0; 3] {
                    continue;
                }
                for (outcome, count) in outcomes.iter().zip(counts) {
                    sink.write("", &[outcome, series], count.into());
                }
            }
        }
    }

    pub(super) fn feedback(&self, sink: &mut dyn Sink) {
        let measures = &self.settings.measures;
        self.rolling(&family::SCORE_SAMPLES, sink, |measure, series, window| {
            let cell = || self.model.rolling(measure, series, window);
            let is_of_users = measures[measure].is_user_measure();
            is_of_users.then(cell)?.map(|cell| cell.count.into())
        });
        self.first_clicks(sink);
        let teams = self.series_of(&family::INTERLEAVING_WINS);
        sink.family(&family::INTERLEAVING_DELTA);
        for (number, preference) in self.model.preferences() {
            sink.write("", &[&teams[number]], preference.into());
        }
        let pairs = self.model.team_pairs();
        let evidence = pairs.iter().map(|it| {
            let [team, against] = it.teams;
            (
                [it.experiment, team, against],
                self.model.preference_evidence(it),
            )
        });
        write_family(&family::INTERLEAVING_LOG_EVIDENCE, evidence, sink);
        self.evaluators(sink);
        let names = self.model.measures();
        let correlations: Vec<_> = self.model.correlations().collect();
        let coefficients = correlations
            .iter()
            .filter_map(|it| Some(([names[it.measure].as_str()], it.coefficient?)));
        write_family(&family::SATISFACTION_CORRELATION, coefficients, sink);
        let searches = correlations.iter();
        let searches = searches.map(|it| ([names[it.measure].as_str()], it.searches));
        write_family(&family::SATISFACTION_SAMPLES, searches, sink);
    }

    fn evaluators(&self, sink: &mut dyn Sink) {
        let evaluators = self.model.evaluators();
        write_family(
            &family::EVALUATOR_KAPPA,
            self.model.evaluator_kappas(),
            sink,
        );
        let errors = evaluators
            .iter()
            .filter_map(|it| Some(([it.evaluator, it.version, it.variant], it.error()?)));
        write_family(&family::EVALUATOR_ERROR, errors, sink);
        let slices = self.model.evaluator_slices();
        let slices = slices.iter().map(|it| {
            let labels = [it.evaluator, it.version, it.variant, it.slice, it.value];
            (labels, it)
        });
        let errors = slices.clone().map(|(labels, it)| (labels, it.error));
        write_family(&family::EVALUATOR_SLICE_ERROR, errors, sink);
        let pairs = slices.clone().map(|(labels, it)| (labels, it.pairs));
        write_family(&family::EVALUATOR_SLICE_PAIRS, pairs, sink);
        let kappas = slices.filter_map(|(labels, it)| Some((labels, it.kappa?)));
        write_family(&family::EVALUATOR_SLICE_KAPPA, kappas, sink);
        let corrected = self.model.corrected_values();
        let corrected = corrected.iter().flat_map(|it| {
            let mean = it.mean.corrected;
            let bounds = [
                ("lower", mean.lower),
                ("estimate", mean.mean),
                ("upper", mean.upper),
            ];
            bounds.map(|(bound, value)| {
                (
                    [it.evaluator, it.version, it.variant, it.name, bound],
                    value,
                )
            })
        });
        write_family(&family::EVALUATOR_CORRECTED, corrected, sink);
        let drifts = self.model.evaluator_drifts();
        let compared = || drifts.iter().filter(|it| it.log_evidence.is_some());
        let evidence = drifts
            .iter()
            .filter_map(|it| Some(([it.evaluator, it.version], it.log_evidence?)));
        write_family(&family::EVALUATOR_DRIFT_LOG_EVIDENCE, evidence, sink);
        let alarms = compared().map(|it| ([it.evaluator, it.version], u64::from(it.has_alarm)));
        write_family(&family::EVALUATOR_DRIFT, alarms, sink);
        let alarmed = drifts.iter().filter(|it| it.has_alarm);
        let changes = alarmed.filter_map(|it| Some((it, it.change?)));
        let changes = changes.flat_map(|(it, change)| {
            let bounds = [
                ("lower", change.lower),
                ("estimate", change.estimate),
                ("upper", change.upper),
            ];
            bounds.map(|(bound, value)| ([it.evaluator, it.version, bound], value))
        });
        write_family(&family::EVALUATOR_DRIFT_CHANGE, changes, sink);
    }
}
