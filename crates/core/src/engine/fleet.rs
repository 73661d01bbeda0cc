//! Values that the workers of a fleet share, with names instead of numbers.
//!
//! Baselines are sums of disjoint searches. A worker shares what it learned itself, and inherits the
//! sums of the others: a worker without saved state continues with the baselines of the fleet. The sums
//! of a variant follow its last reset, and those from before a later reset are not inherited.

mod log_evidence;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

use crate::detection::{LearnedSeries, QuerySums, minute_of};
use crate::engine::incidents::{Deployed, Incident, SharedReference};
use crate::time::WallTime;

pub(super) use log_evidence::rounded;
pub use log_evidence::{CombinedEvidence, FleetEvidence, SharedEvidence};
pub(crate) use log_evidence::{SharedTest, TestEvidence, TestName, test_name};

/// Maximum number of variants whose resets are kept.
const MAX_VARIANTS: usize = 1_000;

/// Time after the newest search of the fleet after which the baselines of a variant without searches
/// are not inherited, in minutes. An idle variant is retired as early as then.
const IDLE_MINUTES: i64 = 24 * 60;

/// Baselines of one variant and measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedBaselines {
    /// Gold set that judged the searches; empty for measures of user behaviour.
    pub gold: Box<str>,
    /// Name of the variant.
    pub variant: Box<str>,
    /// Name of the measure.
    pub measure: Box<str>,
    /// Time of the last reset of the variant before the searches; 0 without one.
    pub reset_at: WallTime,
    /// Newest minute of event time of a search.
    pub newest: i64,
    /// Sums by key of the query, in the order of the keys.
    pub queries: Vec<(Box<str>, QuerySums)>,
    /// Ids of the workers whose sums are folded into these, until their records are removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folded: Vec<u64>,
}

/// Series of a measure: gold set (empty if none judges), measure, variant, slice and value.
pub(crate) type SeriesName = [Box<str>; 5];

/// Variation of the hours of one series, and its season, as one worker learned them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedLearned {
    /// Name of the series.
    pub name: SeriesName,
    /// Time of the last reset of the variant; 0 without one.
    pub reset_at: WallTime,
    /// Newest minute of event time of a search.
    pub newest: i64,
    /// Learned values.
    pub learned: LearnedSeries,
}

impl SharedLearned {
    /// Returns true if numbers and lengths are possible. `now` is the newest possible time.
    pub fn is_possible(&self, max_name: usize, now: WallTime) -> bool {
        let now = minute_of(now.0);
        self.name.iter().all(|it| it.len() <= max_name)
            && (0..=now).contains(&self.newest)
            && (0..=now).contains(&self.learned.warm_up_since())
            && self.learned.is_possible()
    }

    /// Returns true if both differ at most in the season and in the newest search.
    pub fn has_equal_variation(&self, other: &Self) -> bool {
        let of = |it: &Self| {
            (
                it.name.clone(),
                it.reset_at,
                it.learned.clone().without_season(),
            )
        };
        of(self) == of(other)
    }

    /// Order of the records of one series: the longest learned is first, then the newest.
    fn rank(&self) -> impl Ord + use<> {
        (self.learned.warm_up_since(), std::cmp::Reverse(self.newest))
    }
}

/// Share of a worker in an incident, with what the others need to follow it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedIncident {
    /// Gold set that judges its ranking measures; empty without one.
    pub gold: Box<str>,
    /// Share of the worker.
    pub incident: Incident,
    /// References of the queries, by measure. Empty after the end.
    pub references: Vec<(Box<str>, Vec<SharedReference>)>,
}

impl SharedIncident {
    /// References of a measure.
    pub(super) fn references_of(&self, measure: &str) -> Option<&[SharedReference]> {
        let mut references = self.references.iter();
        let found = references.find(|(it, _)| **it == *measure)?;
        (!found.1.is_empty()).then_some(&found.1)
    }

    /// Returns true if numbers and lengths are possible.
    pub fn is_possible(&self, max_name: usize, max_query: usize) -> bool {
        let is_query = |(query, mean, _): &SharedReference| {
            query.len() <= max_query && (0.0..=1.0).contains(mean)
        };
        self.gold.len() <= max_name
            && self.incident.is_possible(max_name, max_query)
            && self.references.len() <= MAX_REFERENCES
            && (self.references.iter())
                .all(|(measure, queries)| measure.len() <= max_name && queries.iter().all(is_query))
    }
}

/// Maximum number of measures with references.
const MAX_REFERENCES: usize = 64;

/// Own values of one worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// Ids under which the worker shared them: its own, and those of workers whose saved state it
    /// continues.
    pub ids: Vec<u64>,
    /// Baselines with scores.
    pub baselines: Vec<SharedBaselines>,
    /// Incidents: the open ones, and the last that ended.
    pub incidents: Vec<SharedIncident>,
    /// Variation of the hours, and seasons.
    pub learned: Vec<SharedLearned>,
}

/// Sums of the baselines of several workers, by gold set, variant and measure, and what they learned of
/// series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetBaselines {
    groups: BTreeMap<[Box<str>; 3], Group>,
    learned: BTreeMap<SeriesName, SharedLearned>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Group {
    reset_at: WallTime,
    newest: i64,
    queries: BTreeMap<Box<str>, QuerySums>,
}

impl FleetBaselines {
    /// Adds the baselines of a worker. Of two resets of a variant, the sums from before the later one
    /// are left out.
    pub fn add(&mut self, shared: &SharedBaselines) {
        let name = [&shared.gold, &shared.variant, &shared.measure].map(Clone::clone);
        let group = self.groups.entry(name).or_default();
        if shared.reset_at > group.reset_at {
            *group = Group {
                reset_at: shared.reset_at,
                ..Group::default()
            };
        }
        if shared.reset_at < group.reset_at {
            return;
        }
        group.newest = group.newest.max(shared.newest);
        for (query, sums) in &shared.queries {
            group.queries.entry(query.clone()).or_default().merge(sums);
        }
    }

    /// Adds what a worker learned of a series. Of several workers, that with the oldest warm-up counts: the
    /// values include what it inherited, so they do not add.
    pub fn add_learned(&mut self, shared: &SharedLearned) {
        let known = self.learned.get(&shared.name);
        if known.is_none_or(|known| shared.rank() < known.rank()) {
            self.learned.insert(shared.name.clone(), shared.clone());
        }
    }

    /// Learned values of the workers, by series.
    pub(super) fn learned(&self) -> &BTreeMap<SeriesName, SharedLearned> {
        &self.learned
    }

    /// Returns true without any sums.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Baselines of variants with searches on the last day of the fleet.
    pub(super) fn current(&self) -> impl Iterator<Item = SharedBaselines> {
        let newest = self.groups.values().map(|it| it.newest).max();
        let oldest = newest.unwrap_or_default().saturating_sub(IDLE_MINUTES);
        self.shared().filter(move |it| it.newest >= oldest)
    }

    /// The sums, as a worker would share them.
    pub fn shared(&self) -> impl Iterator<Item = SharedBaselines> {
        self.groups
            .iter()
            .map(|([gold, variant, measure], it)| SharedBaselines {
                gold: gold.clone(),
                variant: variant.clone(),
                measure: measure.clone(),
                reset_at: it.reset_at,
                newest: it.newest,
                queries: (it.queries.iter())
                    .map(|(query, sums)| (query.clone(), *sums))
                    .collect(),
                folded: Vec::new(),
            })
    }
}

/// Last resets of baselines, by the times at which they were reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Resets {
    /// Reset of all variants.
    all: WallTime,
    /// Deployments, by name of the variant.
    variants: BTreeMap<Box<str>, Reset>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Reset {
    at: WallTime,
    version: Option<Box<str>>,
}

impl Resets {
    /// Notes a reset of all variants. Returns true if it is new.
    pub(super) fn reset(&mut self, at: WallTime) -> bool {
        let is_new = at > self.all;
        self.all = self.all.max(at);
        is_new
    }

    /// Notes a deployment. Returns true if it is new: it is not known, and later than the last one of
    /// the variant. The same version, reported at almost the same time, is one deployment.
    pub(super) fn deploy(&mut self, variant: &str, version: Option<&str>, at: WallTime) -> bool {
        let version: Option<Box<str>> = version.map(Into::into);
        let is_full = self.variants.len() >= MAX_VARIANTS;
        match self.variants.entry(variant.into()) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                let is_near = known.at.0.abs_diff(at.0) < Deployed::MIN_INTERVAL.0.unsigned_abs();
                if known.version == version && version.is_some() && is_near {
                    known.at = known.at.min(at);
                    return false;
                }
                if at <= known.at {
                    return false;
                }
                *known = Reset { at, version };
            }
            Entry::Vacant(_) if is_full => {}
            Entry::Vacant(new) => {
                new.insert(Reset { at, version });
            }
        }
        true
    }

    /// Time of the last reset of all variants; 0 without one.
    pub(super) fn of_all(&self) -> WallTime {
        self.all
    }

    /// Time of the last reset of a variant; 0 without one.
    pub(super) fn of(&self, variant: &str) -> WallTime {
        let deployed = self.variants.get(variant).map_or(WallTime(0), |it| it.at);
        deployed.max(self.all)
    }

    /// Adds the resets of another worker.
    pub(super) fn merge(&mut self, other: &Self) {
        self.all = self.all.max(other.all);
        for (variant, theirs) in &other.variants {
            let known = self.variants.get(variant);
            if known.is_none_or(|known| known.at < theirs.at) {
                self.variants.insert(variant.clone(), theirs.clone());
            }
        }
    }
}
