//! Metric families of detection: regression evidence (log e-values), baselines, bounds of means,
//! and experiments.

use std::collections::{BTreeMap, BTreeSet};

use super::{Labels, Sink, Value, View, decimal, write_family};
use rankgauge_core::detection::SplitTest;
use rankgauge_core::engine::evidence::Test;
use rankgauge_core::engine::family::{self, Family};
use rankgauge_core::engine::incidents::{Incident, IncidentMeasure, Severity};
use rankgauge_core::engine::read_model::WatchedSeries;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::number::real_length;

impl View<'_> {
    pub(super) fn evidence(&self, sink: &mut dyn Sink) {
        let detection = &self.settings.detection;
        let is_on = !detection.measures.is_empty() || !detection.means.is_empty();
        let has_labels = self.settings.labelling.is_some();
        let has_experiments = !self.settings.experiments.is_empty();
        let has_teams = !self.model.team_pairs().is_empty();
        let mut drifts = self.model.evaluator_drifts().into_iter();
        let has_evaluators = drifts.any(|it| it.log_evidence.is_some());
        let thresholds = [
            (
                Test::Target.name(),
                detection.target_threshold,
                is_on || has_labels,
            ),
            (Test::Drop.name(), detection.drop_threshold, is_on),
            ("split", detection.split_threshold, has_experiments),
            ("interleaving", SplitTest::threshold(), has_teams),
            ("evaluator", detection.drop_threshold, has_evaluators),
        ];
        let thresholds = thresholds.into_iter().filter(|(_, _, is_used)| *is_used);
        let thresholds = thresholds.map(|(test, threshold, _)| ([test], threshold));
        write_family(&family::EVIDENCE_THRESHOLD, thresholds, sink);
        write_family(
            &family::DETECTION_REPLICAS,
            [([], detection.replicas.max(1))],
            sink,
        );
        self.watched(&self.model.watched(), sink);
        self.incidents(sink);
        let names = self.model.measures();
        let baselines = || {
            let baselines = self.model.baselines();
            baselines
                .map(|(measure, variant, it)| ([&*names[measure], self.model.variant(variant)], it))
        };
        let means = baselines().filter_map(|(labels, it)| Some((labels, it.mean()?)));
        write_family(&family::BASELINE_SCORE, means, sink);
        let searches = baselines().map(|(labels, it)| (labels, it.scores()));
        write_family(&family::BASELINE_SEARCHES, searches, sink);
        let queries = baselines().map(|(labels, it)| (labels, it.number()));
        write_family(&family::BASELINE_QUERIES, queries, sink);
    }

    fn watched(&self, watched: &[WatchedSeries], sink: &mut dyn Sink) {
        let families = [&family::TARGET_LOG_EVIDENCE, &family::DROP_LOG_EVIDENCE];
        for (test, family) in families.into_iter().enumerate() {
            let value_of = |it: &WatchedSeries| it.log_evidence[test].map(Value::Float);
            self.of_watched(family, watched, value_of, sink);
        }
        let families = [
            &family::UPPER_BOUND_LOG_EVIDENCE,
            &family::JUDGED_SHARE_LOG_EVIDENCE,
        ];
        for (place, family) in families.into_iter().enumerate() {
            let value_of =
                |it: &WatchedSeries| Some(Value::Float(it.unjudged_log_evidence?[place]));
            self.of_watched(family, watched, value_of, sink);
        }
        let tolerance_of = |it: &WatchedSeries| it.tolerance.map(Value::Float);
        self.of_watched(&family::DROP_TOLERANCE, watched, tolerance_of, sink);
        let warm_up_of = |it: &WatchedSeries| Some(decimal(i128::from(it.warm_up_until?) * 60, 0));
        let warm_up = &family::DROP_WARM_UP_END_TIMESTAMP;
        self.of_watched(warm_up, watched, warm_up_of, sink);
        let bounds_of = |it: &WatchedSeries| it.bounds;
        self.bounds(
            &family::SCORE_BOUND,
            watched,
            ["lower", "upper"],
            bounds_of,
            sink,
        );
        let searches_of = |it: &WatchedSeries| {
            it.bounds
                .map(|_| decimal(i128::from(it.bounded_searches), 0))
        };
        let searches = &family::SCORE_BOUND_SEARCHES;
        self.of_watched(searches, watched, searches_of, sink);
    }

    fn incidents(&self, sink: &mut dyn Sink) {
        let evidence = &self.model.snapshot().totals.evidence;
        let open: Vec<&Incident> = evidence
            .incidents()
            .filter(|it| it.ended.is_none())
            .collect();
        let variants = self.model.variants().map(|it| it.variant);
        let variants: BTreeSet<&str> = variants.chain(open.iter().map(|it| &*it.variant)).collect();
        let is_on = !self.settings.detection.measures.is_empty();
        let variants = variants.into_iter().filter(|_| is_on);
        let counts = variants.flat_map(|variant| {
            let of_variant = open.iter().filter(move |it| *it.variant == *variant);
            let of_variant: Vec<Severity> = of_variant.map(|it| it.severity()).collect();
            Severity::ALL.map(|severity| {
                let count = of_variant.iter().filter(|it| **it == severity).count();
                ([variant, severity.name()], real_length(count))
            })
        });
        write_family(&family::INCIDENTS, counts, sink);
        // Replicas that raise an alarm at once have two incidents until they exchange them: the earlier one
        // is exposed.
        let mut members: BTreeMap<[&str; 4], (&Incident, &IncidentMeasure)> = BTreeMap::new();
        for incident in open.iter().copied() {
            for it in &incident.measures {
                let (measure, slice, value) = it.name();
                let labels = [&*incident.variant, measure, slice, value];
                let known = members.entry(labels).or_insert((incident, it));
                if incident.started.at < known.0.started.at {
                    *known = (incident, it);
                }
            }
        }
        let members = || {
            members
                .iter()
                .map(|(labels, (incident, it))| (*labels, *incident, *it))
        };
        let losses = members().flat_map(|([variant, measure, slice, value], incident, it)| {
            let loss = incident.loss_now(it).into_iter();
            let bounds = loss.flat_map(|it| {
                [
                    ("lower", it.lower),
                    ("estimate", it.mean),
                    ("upper", it.upper),
                ]
            });
            bounds.map(move |(bound, loss)| ([variant, measure, slice, value, bound], loss))
        });
        write_family(&family::INCIDENT_LOSS, losses, sink);
        let starts = members()
            .map(|(labels, incident, _)| (labels, decimal(i128::from(incident.started.at), 3)));
        write_family(&family::INCIDENT_START_TIMESTAMP, starts, sink);
        let infos: Vec<([&str; 4], String, &str)> = members()
            .map(|(labels, incident, _)| (labels, incident.name(), incident.severity().name()))
            .collect();
        let infos = infos
            .iter()
            .map(|([variant, measure, slice, value], id, severity)| {
                (
                    [*variant, *measure, *slice, *value, id.as_str(), *severity],
                    1.0,
                )
            });
        write_family(&family::INCIDENT_INFO, infos, sink);
        let ended = evidence.ended_incidents();
        let ended = ended.map(|(variant, reason, count)| ([variant, reason.name()], count));
        write_family(&family::INCIDENTS_ENDED, ended, sink);
    }

    /// Labels of the measure and of the series.
    fn labels_of(&self, it: &WatchedSeries) -> [&Labels<'_>; 2] {
        [
            &self.measures[it.measure],
            &self.series[it.series.index()].1,
        ]
    }

    /// Writes a family with one sample for each watched series that has the value.
    fn of_watched(
        &self,
        family: &Family,
        watched: &[WatchedSeries],
        value_of: impl Fn(&WatchedSeries) -> Option<Value>,
        sink: &mut dyn Sink,
    ) {
        sink.family(family);
        for it in watched {
            if let Some(value) = value_of(it) {
                sink.write("", &self.labels_of(it), value);
            }
        }
    }

    /// Writes a family with one sample for each bound of each watched series that has bounds.
    fn bounds<const N: usize>(
        &self,
        family: &Family,
        watched: &[WatchedSeries],
        names: [&str; N],
        bounds_of: impl Fn(&WatchedSeries) -> Option<[f64; N]>,
        sink: &mut dyn Sink,
    ) {
        sink.family(family);
        let names = names.map(|bound| Labels::new(&[("bound", bound)]));
        for it in watched {
            let [measure, series] = self.labels_of(it);
            for (name, bound) in names.iter().zip(bounds_of(it).into_iter().flatten()) {
                sink.write("", &[measure, series, name], bound.into());
            }
        }
    }

    pub(super) fn experiments(&self, sink: &mut dyn Sink) {
        let experiments = self.settings.experiments.iter();
        let experiments: Vec<_> = experiments.map(|it| (it, self.model.arms(it))).collect();
        let splits = experiments.iter().flat_map(|(experiment, arms)| {
            let arms = arms.iter();
            arms.map(|arm| ([experiment.id.as_str(), arm.variant], arm.share))
        });
        write_family(&family::EXPERIMENT_SPLIT, splits, sink);
        let sessions = experiments.iter().flat_map(|(experiment, arms)| {
            let arms = arms.iter();
            arms.map(|arm| ([experiment.id.as_str(), arm.variant], arm.sessions))
        });
        write_family(&family::EXPERIMENT_SESSIONS, sessions, sink);
        let controls = experiments.iter();
        let controls = controls.map(|(it, _)| ([&*it.id, &*it.control], 1_u64));
        write_family(&family::EXPERIMENT_CONTROL, controls, sink);
        let evidence = experiments.iter().filter_map(|(experiment, _)| {
            Some((
                [experiment.id.as_str()],
                self.model.split_evidence(experiment)?,
            ))
        });
        write_family(&family::SPLIT_LOG_EVIDENCE, evidence, sink);
        let names = self.model.measures();
        let differences = experiments.iter().flat_map(|(experiment, arms)| {
            let pairs = (0..names.len())
                .flat_map(move |measure| arms.iter().map(move |arm| (measure, arm)));
            pairs.flat_map(move |(measure, arm)| {
                let found = self.model.difference(measure, arm, experiment);
                let bounds = found.map(|found| {
                    let [lower, upper] = found.interval;
                    [
                        ("lower", lower),
                        ("estimate", found.estimate),
                        ("upper", upper),
                    ]
                });
                bounds.into_iter().flatten().map(move |(bound, value)| {
                    (
                        [experiment.id.as_str(), &*names[measure], arm.variant, bound],
                        value,
                    )
                })
            })
        });
        write_family(&family::EXPERIMENT_DIFFERENCE, differences, sink);
        let evidence = experiments.iter().flat_map(|(experiment, arms)| {
            let measures = experiment.guardrails.iter();
            let pairs =
                measures.flat_map(move |measure| arms.iter().map(move |arm| (*measure, arm)));
            pairs.filter_map(move |(measure, arm)| {
                let found = self.model.difference(measure, arm, experiment)?;
                let labels = [experiment.id.as_str(), &*names[measure], arm.variant];
                Some((labels, found.log_evidence_worse?))
            })
        });
        write_family(&family::EXPERIMENT_LOG_EVIDENCE, evidence, sink);
        let alpha = self.settings.detection.alpha;
        let thresholds = experiments.iter();
        let thresholds = thresholds.map(|(it, _)| ([it.id.as_str()], it.threshold(alpha)));
        write_family(&family::EXPERIMENT_EVIDENCE_THRESHOLD, thresholds, sink);
        let guardrails = experiments.iter().flat_map(|(experiment, _)| {
            experiment.guardrails.iter().map(|&measure| {
                let sign = match self.settings.measures[measure].descriptor().direction {
                    Direction::Down => -1.0,
                    Direction::Up | Direction::Neither => 1.0,
                };
                ([experiment.id.as_str(), &*names[measure]], sign)
            })
        });
        write_family(&family::EXPERIMENT_GUARDRAIL, guardrails, sink);
    }
}
