//! Totals of an engine: everything that it counts.
//!
//! The same type serves three readers. The engine counts in it, a snapshot shows it with its
//! windows summed, and a checkpoint stores it. `merge`, `remap` and `summed` name every field, so a
//! forgotten field is a compile error.

use serde::{Deserialize, Serialize};

use crate::engine::bias::Biases;
use crate::engine::correlation::Correlation;
use crate::engine::cost::CostPerQuery;
use crate::engine::counters::Counters;
use crate::engine::events::EventCounts;
use crate::engine::evidence::Evidence;
use crate::engine::family::{self, Family};
use crate::engine::latency::{BucketHistograms, Latency};
use crate::engine::means::Means;
use crate::engine::quality::Quality;
use crate::engine::remap::IdRemap;
use crate::engine::retirement::Retired;
use crate::engine::scores::Scores;
use crate::engine::settings::Settings;
use crate::engine::table;
use crate::engine::units::{OpenSessions, Units};
use crate::engine::window::Progress;

/// Everything that an engine counts. Additive over workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Records by outcome.
    pub events: EventCounts,
    /// Recorded counters.
    pub counters: Counters,
    /// Number of samples in overflow series, by position of the table's owner in the catalogue.
    overflow: Vec<u64>,
    /// Scores.
    pub scores: Scores,
    /// Latencies.
    pub latency: Latency,
    /// Rolling cost per query.
    pub cost_per_query: CostPerQuery,
    /// Time to the first click.
    pub first_clicks: BucketHistograms,
    /// Ranking scores and user satisfaction over a rolling day.
    pub correlation: Correlation,
    /// Baselines and regression evidence.
    pub evidence: Evidence,
    /// Evidence about means of latency and cost.
    pub means: Means,
    /// Estimate of quality from labels.
    pub quality: Quality,
    /// Bias of evaluators, and the evidence that it changed.
    pub biases: Biases,
    /// Units of experiments.
    pub units: Units,
    /// Sessions with interleaved rankings that are not finished.
    pub(super) open_sessions: OpenSessions,
}

impl Totals {
    /// Creates empty totals.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            events: EventCounts::default(),
            counters: Counters::default(),
            overflow: Vec::new(),
            scores: Scores::new(settings),
            latency: Latency::new(settings),
            cost_per_query: CostPerQuery::new(settings),
            first_clicks: BucketHistograms::new(&Settings::FIRST_CLICK_BUCKETS),
            correlation: Correlation::new(),
            evidence: Evidence::default(),
            means: Means::default(),
            quality: Quality::new(settings.labelling.as_ref()),
            biases: Biases::default(),
            units: Units::new(settings),
            open_sessions: OpenSessions::default(),
        }
    }

    /// Adds other totals with the same numbers.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            events,
            counters,
            overflow,
            scores,
            latency,
            cost_per_query,
            first_clicks,
            correlation,
            evidence,
            means,
            quality,
            biases,
            units,
            open_sessions,
        } = other;
        self.events.merge(events);
        self.counters.merge(counters);
        table::add(&mut self.overflow, overflow);
        self.scores.merge(scores);
        self.latency.merge(latency);
        self.cost_per_query.merge(cost_per_query);
        self.first_clicks.merge(first_clicks);
        self.correlation.merge(correlation);
        self.evidence.merge(evidence);
        self.means.merge(means);
        self.quality.merge(quality);
        self.biases.merge(biases);
        self.units.merge(units);
        self.open_sessions.merge(open_sessions);
    }

    /// Returns saved totals with the numbers of this process. Names that no longer exist are
    /// dropped.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let mut overflow = vec![0; family::ALL.len()];
        for (saved, family) in self.overflow.iter().zip(ids.families()) {
            if let Some(family) = family {
                overflow[family.index()] += saved;
            }
        }
        Self {
            events: self.events.clone(),
            counters: self.counters.remap(ids),
            overflow,
            scores: self.scores.remap(ids),
            latency: self.latency.remap(ids),
            cost_per_query: self.cost_per_query.remap(ids),
            first_clicks: self.first_clicks.remap(
                ids,
                &Settings::FIRST_CLICK_BUCKETS,
                &family::TIME_TO_FIRST_CLICK,
            ),
            correlation: self.correlation.remap(ids),
            evidence: self.evidence.remap(ids),
            means: self.means.remap(ids),
            quality: self.quality.remap(ids),
            biases: self.biases.remap(ids),
            units: self.units.remap(ids),
            open_sessions: self.open_sessions.remap(ids),
        }
    }

    /// Returns a copy for exposition: windows are reduced to their sums, and baselines to the
    /// baselines of variants.
    pub(super) fn summed(&self) -> Self {
        Self {
            events: self.events.clone(),
            counters: self.counters.clone(),
            overflow: self.overflow.clone(),
            scores: self.scores.summed(),
            latency: self.latency.summed(),
            cost_per_query: self.cost_per_query.summed(),
            first_clicks: self.first_clicks.clone(),
            correlation: self.correlation.summed(),
            evidence: self.evidence.summed(),
            means: self.means.clone(),
            quality: self.quality.clone(),
            biases: self.biases.clone(),
            units: self.units.summed(),
            open_sessions: OpenSessions::default(),
        }
    }

    /// Returns a copy for a checkpoint.
    pub(super) fn flushed(&self) -> Self {
        Self {
            scores: self.scores.flushed(),
            latency: self.latency.flushed(),
            correlation: self.correlation.flushed(),
            ..self.clone()
        }
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.scores.bytes()
            + self.latency.bytes()
            + self.cost_per_query.bytes()
            + self.correlation.bytes()
            + self.evidence.bytes()
            + self.means.bytes()
            + self.quality.bytes()
            + self.biases.bytes()
            + self.units.bytes()
            + self.open_sessions.bytes()
    }

    /// Drops what was counted of a retired variant.
    pub(super) fn retire(&mut self, retired: &Retired) {
        let Retired { variant, series } = retired;
        self.counters.retire(series);
        self.scores.retire(series);
        self.latency.retire(series);
        self.first_clicks
            .retire(&family::TIME_TO_FIRST_CLICK, series);
        self.evidence.retire(*variant, series);
        self.means.retire(*variant);
        self.quality.retire(*variant);
        self.biases.retire(retired);
    }

    /// Advances all windows to `progress`.
    pub(super) fn advance_to(&mut self, progress: Progress) {
        self.scores.advance_to(progress);
        self.latency.advance_to(progress);
        self.cost_per_query.advance_to(progress);
        self.correlation.advance_to(progress);
    }

    /// Counts a sample in an overflow series of `owner`.
    pub(super) fn count_overflow(&mut self, owner: &Family) {
        self.count_overflow_by(owner, 1);
    }

    /// Counts `number` samples in overflow series of `owner`.
    pub(super) fn count_overflow_by(&mut self, owner: &Family, number: u64) {
        if number == 0 {
            return;
        }
        if self.overflow.len() <= owner.index() {
            self.overflow.resize(family::ALL.len(), 0);
        }
        self.overflow[owner.index()] += number;
    }

    /// Number of samples in overflow series of `owner`.
    pub fn overflow(&self, owner: &Family) -> u64 {
        self.overflow.get(owner.index()).copied().unwrap_or(0)
    }
}
