//! Saved state of an engine, which outlives the process.
//!
//! Within a process, label values, series and measures are numbers. A [`State`] contains the names
//! of its numbers, so an engine with another registry and other settings can restore it. Names in
//! both continue their counts, new names start empty, and removed names are dropped.
//!
//! A [`State`] contains no partitions. Their positions are [`CommitPoint`](super::CommitPoint)s;
//! pending events are read again from the log, except for searches that only wait for conversions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::engine::events::EventCounts;
use crate::engine::family;
use crate::engine::join::PendingConversions;
use crate::engine::machine::Engine;
use crate::engine::observed_sessions::SavedSessions;
use crate::engine::remap::{IdRemap, Names};
use crate::engine::series::Dimension;
use crate::engine::settings::{Detection, Settings};
use crate::engine::totals::Totals;
use crate::engine::versions::Versions;
use crate::engine::window::Progress;
use crate::measure::Measure;
use crate::time::{Millis, WallTime};

/// Totals of an engine, with the names of their label values, series and measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    names: Names,
    wall: WallTime,
    /// Progress to which the windows were last advanced, and the wall time of that step.
    windows_at: Option<(Progress, WallTime)>,
    totals: Totals,
    versions: Versions,
    /// Searches that wait for conversions, by partition.
    conversions: BTreeMap<i32, PendingConversions>,
    observed_sessions: SavedSessions,
}

impl State {
    /// Wall time at which the state was captured.
    pub fn wall(&self) -> WallTime {
        self.wall
    }

    /// Canonical names of the measures with scores.
    pub fn measures(&self) -> &[String] {
        &self.names.measures
    }

    /// SHA-256 of the gold set that judged the last searches. `None` without judgements.
    pub fn gold_set(&self) -> Option<&str> {
        self.totals.evidence.gold_set()
    }

    /// Settings of an engine that restores all scores and incidents of `states`, for inspection: `base`
    /// with their measures and slices, with room for all their label values and series, and without detection.
    pub fn inspection_settings<'a>(
        states: impl Iterator<Item = &'a Self> + Clone,
        base: Settings,
    ) -> Settings {
        let mut settings = Settings {
            measures: Vec::new(),
            slices: Vec::new(),
            experiments: Vec::new(),
            detection: Detection::default(),
            series_per_family: usize::MAX,
            values_per_label: states.clone().map(|it| it.names.max_values()).sum(),
            ..base
        };
        for State { names, .. } in states {
            let measures = names
                .measures
                .iter()
                .filter_map(|it| it.parse::<Measure>().ok());
            settings.measures.extend(measures);
            settings.slices.extend_from_slice(&names.slices);
        }
        let mut known = BTreeSet::new();
        settings.measures.retain(|it| known.insert(it.to_string()));
        let mut known = BTreeSet::new();
        settings.slices.retain(|it| known.insert(it.clone()));
        settings
    }

    /// Record counts by outcome.
    pub fn events(&self) -> &EventCounts {
        &self.totals.events
    }

    /// Number of series, by name of the family that owns them.
    pub fn series(&self) -> impl Iterator<Item = (&str, usize)> {
        let families = self.names.families.iter();
        families.map(|(name, series)| (name.as_str(), series.len()))
    }

    /// Length and number of panes of each rolling window of scores.
    pub fn windows(&self) -> impl Iterator<Item = (Millis, usize)> {
        self.totals.scores.windows()
    }

    /// Event-time progress of the windows, if any.
    pub fn progress(&self) -> Option<Progress> {
        self.windows_at.map(|(progress, _)| progress)
    }
}

impl Engine {
    /// Returns a copy of the totals with their names.
    pub fn state(&self) -> State {
        State {
            wall: self.wall,
            windows_at: self.windows_at,
            totals: self.totals.flushed(),
            versions: self.versions.clone(),
            conversions: self.conversions(),
            observed_sessions: self.observed_sessions.saved(),
            // Must be last: the registry now contains every number above.
            names: Names::new(&self.settings, self.names.shared()),
        }
    }

    /// Searches that wait for conversions, by partition.
    fn conversions(&self) -> BTreeMap<i32, PendingConversions> {
        let mut all = self.parked.clone();
        for partition in &self.partitions {
            let pending = partition.join.waiting_for_conversions();
            if let Some(pending) = pending.filter(|it| !it.is_empty()) {
                all.insert(self.parking_place(partition.number), pending.clone());
            }
        }
        all
    }

    /// Adds the totals that an earlier process saved.
    pub fn restore(&mut self, saved: &State) {
        let ids = IdRemap::new(&saved.names, &self.settings, self.names.shared());
        let totals = saved.totals.remap(&ids);
        if self.totals == Totals::new(&self.settings) {
            self.totals = totals;
        } else {
            self.totals.merge(&totals);
        }
        self.versions.merge(&saved.versions);
        let column = |column: usize| ids.columns.get(column).copied().flatten();
        self.observed_sessions
            .restore(&saved.observed_sessions, column);
        let at = self.wall.as_event_time();
        self.totals.evidence.take_over_gold_sets(at, &self.settings);
        if self.settings.conversion_window.is_some() {
            for (place, pending) in &saved.conversions {
                let label = |label| ids.label(Dimension::Variant, label);
                let series = |series| ids.series(family::SCORE.table()?, series);
                let pending = pending.renumbered(label, series);
                self.parked.entry(*place).or_default().merge(&pending);
            }
        }
        let both = self.windows_at.into_iter().chain(saved.windows_at);
        self.windows_at = both.max_by_key(|(_, wall)| *wall);
    }
}
