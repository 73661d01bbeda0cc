//! Metric families of detection: regression evidence (log e-values), baselines, bounds of means,
//! and experiments.

use super::{Labels, ScoreLabels, Sink, SnapshotView, Value};
use rankgauge_core::detection::{Arm, DropExtent, difference, log_threshold, split_log_evidence};
use rankgauge_core::engine::evidence::{Detector, Test};
use rankgauge_core::engine::family::{self, LabelName};
use rankgauge_core::engine::fixed::{NANO_DECIMALS, units_to_f64};
use rankgauge_core::engine::scores::{Tally, column_of};
use rankgauge_core::engine::settings::{EXPERIMENT, Experiment, MonitoredMeasure};
use rankgauge_core::measure::direction::Direction;

/// Detector of a watched measure, with the values that several families expose.
struct Watched<'l> {
    measure: &'l MonitoredMeasure,
    detector: &'l Detector,
    /// Labels of the measure and of the series.
    labels: [&'l Labels<'l>; 2],
    /// Log evidence by test, in the order of [`Test::ALL`], of all workers of this process together.
    /// `None` if the test has no reference: a target, or a baseline with which a search was
    /// compared.
    log_evidence: [Option<f64>; 2],
    drop: Option<DropExtent>,
}

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

    /// Detectors of the watched measures, in the order of the measures.
    fn detectors<'l>(&'l self, labels: &'l ScoreLabels<'l>) -> Vec<Watched<'l>> {
        let detection = &self.settings.detection;
        let mut places = vec![None; self.measures.len()];
        for (place, measure) in detection.measures.iter().enumerate() {
            places[measure.index] = Some(place);
        }
        let found = self.snapshot.totals.evidence.detectors();
        let found = found.filter_map(|(series, column, detector)| {
            let index = column.checked_sub(column_of(0))?;
            let place = (*places.get(index)?)?;
            let measure = &detection.measures[place];
            let watched = Watched {
                labels: [&labels.measures[index], labels.series.get(series.index())?],
                log_evidence: [
                    detector.target_log_evidence(measure, detection.workers),
                    detector.drop_log_evidence(),
                ],
                drop: detector.drop_extent(detection),
                measure,
                detector,
            };
            Some((place, watched))
        });
        let mut found: Vec<(usize, Watched<'_>)> = found.collect();
        found.sort_by_key(|(place, _)| *place);
        found.into_iter().map(|(_, watched)| watched).collect()
    }

    fn tests(&self, labels: &ScoreLabels<'_>, sink: &mut dyn Sink) {
        let detection = &self.settings.detection;
        let detectors = self.detectors(labels);
        let families = [&family::TARGET_LOG_EVIDENCE, &family::DROP_LOG_EVIDENCE];
        for (test, family) in families.into_iter().enumerate() {
            sink.family(family);
            for watched in &detectors {
                if let Some(evidence) = watched.log_evidence[test] {
                    sink.write("", &watched.labels, Value::Float(evidence));
                }
            }
        }
        drops(&detectors, sink);
        sink.family(&family::REGRESSION);
        let thresholds = [
            detection.target_threshold_of_replica(),
            detection.drop_threshold,
        ];
        for (test, threshold) in thresholds.into_iter().enumerate() {
            let name = Labels::new(&[("test", Test::ALL[test].name())]);
            for watched in &detectors {
                if let Some(evidence) = watched.log_evidence[test] {
                    let [measure, series] = watched.labels;
                    let is_one = evidence >= threshold;
                    let labels = [&name, measure, series];
                    sink.write("", &labels, Value::Count(u64::from(is_one)));
                }
            }
        }
        sink.family(&family::SCORE_BOUND);
        let names = ["lower", "upper"].map(|bound| Labels::new(&[("bound", bound)]));
        let threshold = detection.target_threshold_of_worker();
        for watched in &detectors {
            let is_lower_better = watched.measure.is_lower_better;
            let Some(bounds) = watched.detector.bounds(threshold, is_lower_better) else {
                continue;
            };
            let [measure, series] = watched.labels;
            for (name, at) in names.iter().zip([bounds.lower, bounds.upper]) {
                sink.write("", &[measure, series, name], Value::Float(at));
            }
        }
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

    /// Sessions of each arm of an experiment, in the order of its split. Services assign sessions to
    /// arms, and a session of a worse arm has more searches.
    fn sessions(&self, experiment: &Experiment) -> Vec<u64> {
        let series = self.registry.series_labels(&family::EXPERIMENT_SESSIONS);
        let keys: Vec<&LabelName> = family::EXPERIMENT_SESSIONS.keys().collect();
        let counts = &self.snapshot.totals.counters;
        let counts = counts.of(&family::EXPERIMENT_SESSIONS);
        let of_arm = |arm: &str| {
            let mut found = series.iter().zip(counts).filter(|(labels, _)| {
                let names = keys.iter().zip(*labels);
                names
                    .map(|(key, label)| self.value(key, *label))
                    .eq([&*experiment.id, arm])
            });
            let count = found.next().map_or(0, |(_, count)| *count);
            u64::try_from(count).unwrap_or(u64::MAX)
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
            let sessions = self.sessions(experiment);
            let shares: Vec<f64> = experiment.split.iter().map(|(_, share)| *share).collect();
            if let Some(evidence) = split_log_evidence(&sessions, &shares) {
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

/// Writes the start and the size of drops.
fn drops(detectors: &[Watched<'_>], sink: &mut dyn Sink) {
    let names = ["lower", "estimate", "upper"].map(|bound| Labels::new(&[("bound", bound)]));
    let drops = || {
        let detectors = detectors.iter();
        detectors.filter_map(|watched| Some((watched.labels, watched.drop.as_ref()?)))
    };
    sink.family(&family::DROP_SIZE);
    for ([measure, series], drop) in drops() {
        let sizes = [drop.lower, drop.estimate, drop.upper];
        for (name, size) in names.iter().zip(sizes) {
            sink.write("", &[measure, series, name], Value::Float(size));
        }
    }
    sink.family(&family::DROP_SEARCHES);
    for (labels, drop) in drops() {
        sink.write("", &labels, Value::Count(drop.searches));
    }
    sink.family(&family::DROP_START_TIMESTAMP);
    for (labels, drop) in drops() {
        let start = Value::Decimal {
            units: i128::from(drop.since) * 60,
            decimals: 0,
        };
        sink.write("", &labels, start);
    }
}
