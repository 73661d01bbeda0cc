//! Metric families of detection: regression evidence (log e-values), baselines, bounds of means,
//! and experiments.

use super::{Labels, ScoreLabels, Sink, SnapshotView, Value};
use rankgauge_core::detection::{Arm, difference, log_threshold, split_log_evidence};
use rankgauge_core::engine::evidence::{Detector, Test};
use rankgauge_core::engine::family;
use rankgauge_core::engine::fixed::{NANO_DECIMALS, units_to_f64};
use rankgauge_core::engine::scores::{SEARCHES, Tally, column_of};
use rankgauge_core::engine::settings::{EXPERIMENT, Experiment};
use rankgauge_core::measure::direction::Direction;

impl SnapshotView<'_> {
    pub(super) fn evidence(&self, labels: &ScoreLabels<'_>, sink: &mut dyn Sink) {
        let detection = &self.settings.detection;
        sink.family(&family::EVIDENCE_THRESHOLD);
        if !detection.measures.is_empty() || !detection.means.is_empty() {
            let thresholds = [
                (Test::Target.name(), detection.target_threshold),
                (Test::Drop.name(), detection.drop_threshold),
            ];
            for (test, threshold) in thresholds {
                sink.sample(&[("test", test)], Value::Float(threshold));
            }
        }
        if !self.settings.experiments.is_empty() {
            let thresholds = [
                ("split", detection.split_threshold),
                ("experiment", log_threshold(detection.alpha)),
            ];
            for (test, threshold) in thresholds {
                sink.sample(&[("test", test)], Value::Float(threshold));
            }
        }
        self.tests(labels, sink);
        self.baselines(sink);
        self.experiments(sink);
    }

    /// Calls `each` with the detectors of the watched measures and the labels of their series.
    fn each_detector(
        &self,
        labels: &ScoreLabels<'_>,
        mut each: impl FnMut(usize, [&Labels<'_>; 2], &Detector),
    ) {
        for watched in 0..self.settings.detection.measures.len() {
            let index = self.settings.detection.measures[watched].index;
            let detectors = self.snapshot.totals.evidence.detectors();
            let of_measure = detectors.filter(|(_, it, _)| *it == column_of(index));
            for (number, _, detector) in of_measure {
                if let Some(series) = labels.series.get(number.index()) {
                    each(watched, [&labels.measures[index], series], detector);
                }
            }
        }
    }

    /// Log evidence of a test, of all workers of this process together. `None` if the test has no
    /// reference: a target, or a baseline with which a search was compared.
    fn log_evidence(&self, watched: usize, detector: &Detector, test: Test) -> Option<f64> {
        let detection = &self.settings.detection;
        match test {
            Test::Target => {
                detector.target_log_evidence(&detection.measures[watched], detection.workers)
            }
            Test::Drop => detector.drop_log_evidence(),
        }
    }

    fn tests(&self, labels: &ScoreLabels<'_>, sink: &mut dyn Sink) {
        let detection = &self.settings.detection;
        let families = [&family::TARGET_LOG_EVIDENCE, &family::DROP_LOG_EVIDENCE];
        for (test, family) in Test::ALL.into_iter().zip(families) {
            sink.family(family);
            self.each_detector(labels, |watched, labels, detector| {
                if let Some(evidence) = self.log_evidence(watched, detector, test) {
                    sink.write("", &labels, Value::Float(evidence));
                }
            });
        }
        self.drops(labels, sink);
        sink.family(&family::REGRESSION);
        let thresholds = [
            detection.target_threshold_of_replica(),
            detection.drop_threshold,
        ];
        for (test, threshold) in Test::ALL.into_iter().zip(thresholds) {
            let name = Labels::new(&[("test", test.name())]);
            self.each_detector(labels, |watched, [measure, series], detector| {
                if let Some(evidence) = self.log_evidence(watched, detector, test) {
                    let is_one = evidence >= threshold;
                    let labels = [&name, measure, series];
                    sink.write("", &labels, Value::Count(u64::from(is_one)));
                }
            });
        }
        sink.family(&family::SCORE_BOUND);
        let names = ["lower", "upper"].map(|bound| Labels::new(&[("bound", bound)]));
        let threshold = detection.target_threshold_of_worker();
        self.each_detector(labels, |watched, [measure, series], detector| {
            let is_lower_better = detection.measures[watched].is_lower_better;
            let Some(bounds) = detector.bounds(threshold, is_lower_better) else {
                return;
            };
            for (name, at) in names.iter().zip([bounds.lower, bounds.upper]) {
                sink.write("", &[measure, series, name], Value::Float(at));
            }
        });
    }

    /// Writes the start and the size of drops.
    fn drops(&self, labels: &ScoreLabels<'_>, sink: &mut dyn Sink) {
        let detection = &self.settings.detection;
        let names = ["lower", "estimate", "upper"].map(|bound| Labels::new(&[("bound", bound)]));
        sink.family(&family::DROP_SIZE);
        self.each_detector(labels, |_, [measure, series], detector| {
            if let Some(drop) = detector.drop_extent(detection) {
                let sizes = [drop.lower, drop.estimate, drop.upper];
                for (name, size) in names.iter().zip(sizes) {
                    sink.write("", &[measure, series, name], Value::Float(size));
                }
            }
        });
        sink.family(&family::DROP_SEARCHES);
        self.each_detector(labels, |_, labels, detector| {
            if let Some(drop) = detector.drop_extent(detection) {
                sink.write("", &labels, Value::Count(drop.searches));
            }
        });
        sink.family(&family::DROP_START_TIMESTAMP);
        self.each_detector(labels, |_, labels, detector| {
            if let Some(drop) = detector.drop_extent(detection) {
                let start = Value::Decimal {
                    units: i128::from(drop.since) * 60,
                    decimals: 0,
                };
                sink.write("", &labels, start);
            }
        });
    }

    /// Writes the baselines.
    fn baselines(&self, sink: &mut dyn Sink) {
        let baselines = || {
            let baselines = self.snapshot.totals.evidence.baselines();
            baselines.filter_map(|(variant, column, state)| {
                let measure = self.measures.get(column.checked_sub(1)?)?;
                let variant = self.variant(variant);
                Some(([("measure", measure.as_str()), ("variant", variant)], state))
            })
        };
        sink.family(&family::BASELINE_SCORE);
        for (labels, baseline) in baselines() {
            if let Some(mean) = baseline.mean() {
                sink.sample(&labels, Value::Float(mean));
            }
        }
        sink.family(&family::BASELINE_SEARCHES);
        for (labels, baseline) in baselines() {
            sink.sample(&labels, Value::Count(baseline.scores()));
        }
        sink.family(&family::BASELINE_QUERIES);
        for (labels, baseline) in baselines() {
            sink.sample(&labels, Value::Count(baseline.number()));
        }
    }

    /// Sums of each arm of an experiment, in the order of its split.
    fn arms(&self, experiment: &Experiment) -> Vec<Option<&[Tally]>> {
        let series = &self.series;
        let rows: Vec<&[Tally]> = self.snapshot.totals.scores.rows().collect();
        let of_arm = |arm: &str| {
            let place = series.iter().position(|(variant, slice, value)| {
                (*variant, *slice, *value) == (arm, EXPERIMENT, experiment.id.as_str())
            });
            rows.get(place?).copied()
        };
        let arms = experiment.split.iter();
        arms.map(|(variant, _)| of_arm(variant)).collect()
    }

    fn experiments(&self, sink: &mut dyn Sink) {
        let experiments = &self.settings.experiments;
        sink.family(&family::EXPERIMENT_SPLIT);
        for experiment in experiments {
            for (variant, share) in &experiment.split {
                let labels = [("experiment", experiment.id.as_str()), ("variant", variant)];
                sink.sample(&labels, Value::Float(*share));
            }
        }
        sink.family(&family::EXPERIMENT_CONTROL);
        for experiment in experiments {
            let labels = [
                ("experiment", experiment.id.as_str()),
                ("variant", &experiment.control),
            ];
            sink.sample(&labels, Value::Count(1));
        }
        sink.family(&family::SPLIT_LOG_EVIDENCE);
        for experiment in experiments {
            let arms = self.arms(experiment);
            let searches = |arm: Option<&[Tally]>| arm.map_or(0, |row| row[SEARCHES].count);
            let counts: Vec<u64> = arms.into_iter().map(searches).collect();
            let shares: Vec<f64> = experiment.split.iter().map(|(_, share)| *share).collect();
            if let Some(evidence) = split_log_evidence(&counts, &shares) {
                let labels = [("experiment", experiment.id.as_str())];
                sink.sample(&labels, Value::Float(evidence));
            }
        }
        sink.family(&family::EXPERIMENT_DIFFERENCE);
        for experiment in experiments {
            self.differences(experiment, sink);
        }
        sink.family(&family::EXPERIMENT_GUARDRAIL);
        for experiment in experiments {
            for &index in &experiment.guardrails {
                let measure = &self.settings.measures[index];
                let sign = match measure.descriptor().direction {
                    Direction::Down => -1.0,
                    Direction::Up | Direction::Neither => 1.0,
                };
                let labels = [
                    ("experiment", experiment.id.as_str()),
                    ("measure", self.measures[index].as_str()),
                ];
                sink.sample(&labels, Value::Float(sign));
            }
        }
    }

    /// Writes the difference of each arm from the control, measure by measure.
    fn differences(&self, experiment: &Experiment, sink: &mut dyn Sink) {
        let arms = self.arms(experiment);
        let names: Vec<&str> = experiment
            .split
            .iter()
            .map(|(arm, _)| arm.as_str())
            .collect();
        let control = names.iter().position(|name| *name == experiment.control);
        let Some(control) = control.and_then(|place| arms[place]) else {
            return;
        };
        for (index, measure) in self.measures.iter().enumerate() {
            let arm = |row: &[Tally]| {
                let tally = row[column_of(index)];
                Arm {
                    count: tally.count,
                    sum: units_to_f64(tally.sum, NANO_DECIMALS),
                    squares: units_to_f64(tally.squares, 2 * NANO_DECIMALS),
                }
            };
            for (name, row) in names.iter().zip(&arms) {
                let Some(row) = row.filter(|_| *name != experiment.control) else {
                    continue;
                };
                let alpha = self.settings.detection.alpha;
                let Some(found) = difference(&arm(row), &arm(control), alpha) else {
                    continue;
                };
                let [lower, upper] = found.interval();
                let bounds = [
                    ("lower", lower),
                    ("estimate", found.difference),
                    ("upper", upper),
                ];
                for (bound, value) in bounds {
                    let labels = [
                        ("experiment", experiment.id.as_str()),
                        ("measure", measure),
                        ("variant", name),
                        ("bound", bound),
                    ];
                    sink.sample(&labels, Value::Float(value));
                }
            }
        }
    }
}
