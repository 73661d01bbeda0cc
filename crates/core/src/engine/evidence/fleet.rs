//! Baselines that a worker shares with the others of its fleet, and those that it inherits.

use std::collections::{BTreeMap, BTreeSet};

use super::detector::{Alarm, Detector};
use super::worker::{Evidence, Judged, VariantColumn};
use crate::detection::summed;
use crate::engine::family;
use crate::engine::fleet::{
    CombinedEvidence, FleetBaselines, Share, SharedBaselines, SharedIncident, SharedLearned,
    SharedTest, TestName, rounded, test_name,
};
use crate::engine::incidents::{Incident, names_of};
use crate::engine::registry::Registry;
use crate::engine::score_column::column_of;
use crate::engine::series::{Dimension, Label, Series};
use crate::engine::settings::{MonitoredMeasure, Settings};
use crate::time::{EventTime, WallTime};

/// Log evidence below the threshold from which on a worker can have a part in an alarm of the fleet:
/// ln of a thousand workers.
const MAX_MISSING: f64 = 7.0;

/// Log evidence of the drops that a worker suspects, with the last reset of the variant.
type DropEvidence = BTreeMap<TestName, (WallTime, f64)>;

impl Evidence {
    /// Sets the id under which this worker shares its values, unless saved state has one.
    pub(in crate::engine) fn identify(&mut self, id: u64) {
        if self.ids.is_empty() {
            self.ids.push(id);
        }
    }

    /// Values that this worker learned itself. Searches that may be part of a drop are left out.
    pub(in crate::engine) fn share(&self, settings: &Settings, registry: &Registry) -> Share {
        let variants = registry.values(Dimension::Variant);
        let measures: BTreeMap<usize, Box<str>> = (settings.detection.measures.iter())
            .filter_map(|it| {
                let name = settings.measures.get(it.index)?.to_string();
                Some((column_of(it.index), name.into()))
            })
            .collect();
        let labels = registry.series_labels(&family::SCORE);
        let variant_of = |series: Series| labels.get(series.index()).map(|labels| labels[0]);
        let is_reset = |it: &Incident| self.resets.of(&it.variant).0 > it.alarmed_at.0;
        let frozen = self.incidents.frozen_baselines(is_reset);
        let mut baselines = Vec::new();
        let rankings = self.rankings.get_key_value(&self.gold);
        let of_rankings = rankings.map(|(gold, judged)| (gold.clone(), judged));
        let judged = std::iter::once((Box::default(), &self.users)).chain(of_rankings);
        for (gold, judged) in judged {
            for (of, learned) in judged.baselines.iter() {
                let known = variants.get(of.0.index()).zip(measures.get(&of.1));
                let Some((variant, measure)) = known.filter(|_| of.0.position().is_some()) else {
                    continue;
                };
                let detectors: Vec<&Detector> = judged.detectors_of(of, variant_of).collect();
                let newest = detectors.iter().filter_map(|it| it.drop_series().minute());
                let newest = newest.max().unwrap_or_default();
                let since = detectors.iter().filter_map(|it| it.suspected_since()).min();
                let frozen = frozen.get(&of);
                let queries = learned.own_sums(since, |query| frozen?.get(query).copied());
                if queries.is_empty() {
                    continue;
                }
                baselines.push(SharedBaselines {
                    gold: gold.clone(),
                    variant: variant.clone(),
                    measure: measure.clone(),
                    reset_at: self.resets.of(variant),
                    newest,
                    queries,
                    folded: Vec::new(),
                });
            }
        }
        Share {
            ids: self.ids.clone(),
            baselines,
            incidents: (self.incidents).to_share(|column| measures.get(&column).cloned()),
            learned: self.learned(settings, registry),
        }
    }

    /// Learned values of the series of this worker, with those that it inherited and continued.
    fn learned(&self, settings: &Settings, registry: &Registry) -> Vec<SharedLearned> {
        let mut shared = Vec::new();
        for watched in &settings.detection.measures {
            let Some(measure) = settings.measures.get(watched.index) else {
                continue;
            };
            let measure = measure.to_string();
            let (judged, gold) = self.judged_of(watched);
            let column = column_of(watched.index);
            let detectors = judged.into_iter().flat_map(|it| it.detectors.iter());
            for ((series, _), detector) in detectors.filter(|((_, of), _)| *of == column) {
                let test = detector.drop_series();
                let names = names_of(series, settings, registry);
                let Some((learned, [variant, slice, value])) = test.learned().zip(names) else {
                    continue;
                };
                shared.push(SharedLearned {
                    reset_at: self.resets.of(&variant),
                    newest: test.minute().unwrap_or_default(),
                    name: [gold.into(), measure.as_str().into(), variant, slice, value],
                    learned,
                });
            }
        }
        shared
    }

    /// Evidence of a measure, with the gold set that judges it; empty if none does.
    fn judged_of(&self, watched: &MonitoredMeasure) -> (Option<&Judged>, &str) {
        if watched.is_user_measure {
            (Some(&self.users), "")
        } else {
            (self.rankings.get(&self.gold), &self.gold)
        }
    }

    /// Adds the shares that workers of other processes have in incidents, for exposition.
    pub fn add_incidents<'a>(&mut self, shares: impl Iterator<Item = &'a Incident>) {
        self.incidents.add_shares(shares);
    }

    /// Gold set of the rankings to expose.
    pub(in crate::engine) fn exposed_gold(&self) -> &str {
        self.most_workers().unwrap_or(&self.gold)
    }

    /// Time of the last reset of a variant; 0 without one.
    pub(in crate::engine) fn reset_of(&self, variant: &str) -> WallTime {
        self.resets.of(variant)
    }

    /// Evidence of the drops that this worker suspects: those that can raise an alarm together with that of
    /// other workers.
    fn suspected_drops(&self, settings: &Settings, registry: &Registry) -> DropEvidence {
        let mut drops = DropEvidence::new();
        let least = settings.detection.drop_threshold - MAX_MISSING;
        for watched in &settings.detection.measures {
            let Some(measure) = settings.measures.get(watched.index) else {
                continue;
            };
            let (judged, gold) = self.judged_of(watched);
            let column = column_of(watched.index);
            let detectors = judged.into_iter().flat_map(|it| it.detectors.iter());
            for ((series, _), detector) in detectors.filter(|((_, of), _)| *of == column) {
                if detector.drop_series().highest_log() < least {
                    continue;
                }
                let names = names_of(series, settings, registry);
                let Some((log, [variant, slice, value])) = detector.drop_log_evidence().zip(names)
                else {
                    continue;
                };
                let labels = [&*measure.to_string(), &*variant, &*slice, &*value];
                let name = test_name(SharedTest::Drop, gold, &labels);
                drops.insert(name, (self.resets.of(&variant), log));
            }
        }
        drops
    }

    /// Opens the incidents of drops that no worker shows alone, but all workers together. `fleet` is the
    /// evidence of the other processes, `workers` that of the other workers of this process. The worker
    /// with the largest evidence opens the incident, and the others follow it.
    pub(in crate::engine) fn open_of_fleet(
        &mut self,
        (fleet, workers): (&CombinedEvidence, &[&Self]),
        now: EventTime,
        (settings, registry): (&Settings, &Registry),
    ) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        let threshold = settings.detection.drop_threshold;
        let workers = workers.iter();
        let workers = workers.map(|it| it.suspected_drops(settings, registry));
        let workers: Vec<DropEvidence> = workers.collect();
        for (name, (reset_at, own)) in self.suspected_drops(settings, registry) {
            let of_process = workers.iter().filter_map(|it| it.get(&name));
            let of_process = of_process.filter(|(at, _)| *at == reset_at);
            let others: Vec<f64> = of_process.map(|(_, log)| *log).collect();
            let is_largest = others.iter().all(|log| own >= *log);
            // As the others see it: equal evidence is equal for all.
            let process = rounded(summed(&[&others[..], &[own]].concat()));
            let (of_fleet, largest) = fleet
                .sum_and_largest(&name, reset_at)
                .unwrap_or((f64::NEG_INFINITY, f64::NEG_INFINITY));
            let all = summed(&[process, of_fleet]);
            if all < threshold || !is_largest || process < largest {
                continue;
            }
            alarms.extend(self.open_named(&name, all, now, (settings, registry)));
        }
        alarms
    }

    /// Opens the incident of the drop with this name.
    fn open_named(
        &mut self,
        (_, labels): &TestName,
        log_evidence: f64,
        now: EventTime,
        (settings, registry): (&Settings, &Registry),
    ) -> Option<Alarm> {
        let [_, measure, variant, slice, value] = labels.as_slice() else {
            return None;
        };
        if self.incidents.has_open(variant, (measure, slice, value)) {
            return None;
        }
        let watched = settings.monitored(measure)?;
        let label = registry.exposed_label(Dimension::Variant, variant);
        let column = column_of(watched.index);
        let judged = if watched.is_user_measure {
            &mut self.users
        } else {
            self.rankings.get_mut(&self.gold)?
        };
        let is_named = |series: Series| {
            let names = names_of(series, settings, registry);
            names.is_some_and(|it| [&it[0], &it[1], &it[2]] == [variant, slice, value])
        };
        let mut places = judged.detectors.iter().map(|(place, _)| place);
        let place = places.find(|(series, of)| *of == column && is_named(*series))?;
        drop(places);
        let detector = judged.detectors.get_mut(&place)?;
        let mut alarm =
            detector.fleet_alarm((place.0, watched), log_evidence, &settings.detection)?;
        let incidents = (&*self.gold, &mut self.incidents);
        judged.open(
            &mut alarm,
            (watched, label),
            now,
            incidents,
            (settings, registry),
        );
        Some(alarm)
    }

    /// Returns true if this worker shares its values with a fleet.
    pub(in crate::engine) fn is_shared(&self) -> bool {
        !self.ids.is_empty()
    }

    /// Incidents of other processes that concern this worker: those that its gold set judges, and that
    /// began after the last reset of all baselines.
    pub(super) fn concerns(&self, shared: &SharedIncident) -> bool {
        let is_of_gold = shared.gold.is_empty() || shared.gold == self.gold;
        let is_ended = shared.incident.ended.is_some();
        is_ended || is_of_gold && shared.incident.alarmed_at.0 >= self.resets.of_all().0
    }

    /// Replaces what this worker inherited by the baselines of the others.
    pub(in crate::engine) fn inherit(
        &mut self,
        fleet: &FleetBaselines,
        settings: &Settings,
        registry: &Registry,
    ) {
        self.inherited.clone_from(fleet.learned());
        let mut inherited = BTreeSet::new();
        for shared in fleet.current() {
            let Some(watched) = settings.monitored(&shared.measure) else {
                continue;
            };
            let is_other_gold = !watched.is_user_measure && *shared.gold != *self.gold;
            if is_other_gold || shared.reset_at < self.resets.of(&shared.variant) {
                continue;
            }
            let label = registry.exposed_label(Dimension::Variant, &shared.variant);
            if label == Label::OTHER {
                continue;
            }
            let of = (label, column_of(watched.index));
            let judged = if watched.is_user_measure {
                &mut self.users
            } else {
                self.rankings.entry(self.gold.clone()).or_default()
            };
            let baselines = judged.baselines.get_or_default(of);
            baselines.inherit(shared.queries);
            inherited.insert((watched.is_user_measure, of));
        }
        let others = [
            (true, Some(&mut self.users)),
            (false, self.rankings.get_mut(&self.gold)),
        ];
        for (is_of_users, judged) in others {
            let baselines = judged.into_iter().flat_map(|it| it.baselines.iter_mut());
            for (of, baselines) in baselines {
                if !inherited.contains(&(is_of_users, of)) {
                    baselines.inherit([]);
                }
            }
        }
    }
}

impl Judged {
    /// Detectors of a variant and a measure.
    fn detectors_of(
        &self,
        (variant, column): VariantColumn,
        variant_of: impl Fn(Series) -> Option<Label>,
    ) -> impl Iterator<Item = &Detector> {
        let of_variant = self
            .detectors
            .iter()
            .filter(move |((series, of), _)| *of == column && variant_of(*series) == Some(variant));
        of_variant.map(|(_, it)| it)
    }
}
