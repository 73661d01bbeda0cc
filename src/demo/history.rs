//! History of the demo: scores of the last minutes by variant, the mean before the planned drop, and
//! the time until the drop was found.
//!
//! Positions in time come from the snapshots; this module reads no clock.

use std::collections::{BTreeMap, VecDeque};

use super::setting::Scenario;
use super::view::{IncidentLine, ScoreTotal, Times, View};
use rankgauge_core::number::real;
use rankgauge_core::text::count_of;
use rankgauge_core::time::{EventTime, Millis, WallTime};

/// Length of the sparklines.
pub(super) const SPARKLINE_SPAN: Millis = Millis(120_000);

/// Age of the samples that are kept: the span of the sparklines and the window of the results.
const KEPT: Millis = Millis(180_000);

/// Window of the results, which a baseline must precede.
const WINDOW: Millis = Millis(60_000);

/// Maximum number of kept samples. At two views a second, it is never reached.
const MAX_SAMPLES: usize = 2_000;

/// Totals of all variants at one moment.
#[derive(Clone, Debug)]
struct Sample {
    times: Times,
    variants: BTreeMap<String, (ScoreTotal, u64)>,
}

impl Sample {
    fn scores(&self, variant: &str) -> ScoreTotal {
        self.variants
            .get(variant)
            .map_or_else(ScoreTotal::default, |(scores, _)| *scores)
    }

    fn searches(&self, variant: &str) -> f64 {
        self.variants
            .get(variant)
            .map_or(0.0, |(_, searches)| real(*searches))
    }
}

/// Detection of the planned drop.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its incident, as it is now.
    pub incident: IncidentLine,
    /// Number of searches of the variant from the drop to the alarm.
    pub searches: u64,
    /// Time from the drop to the alarm.
    pub delay: Millis,
}

impl Found {
    /// The drop and its detection in one sentence, with the keys of the queries that lost most now.
    pub fn sentence(&self) -> String {
        let searches = count_of(self.searches, "search", "searches");
        let seconds = count_of(self.delay.0 / 1_000, "second", "seconds");
        let queries = self.incident.queries.iter();
        let queries: Vec<&str> = queries.map(|it| it.query.as_str()).collect();
        let queries = if queries.is_empty() {
            String::new()
        } else {
            format!("; most affected queries {}", queries.join(", "))
        };
        let title = &self.incident.title;
        format!("{title}: found after {searches}, {seconds}{queries}")
    }
}

/// State of the planned drop.
#[derive(Clone, Debug, PartialEq)]
pub enum Story {
    /// No drop is planned.
    Unplanned,
    /// The change happens after this time.
    Planned(PlannedDrop, Millis),
    /// The change happened, and no alarm was raised yet.
    Undetected {
        /// The change.
        planned: PlannedDrop,
        /// Time since the drop.
        since: Millis,
        /// Number of searches of the variant since the drop.
        searches: u64,
        /// Time since the end of the change; `None` before it.
        since_end: Option<Millis>,
    },
    /// The drop was found.
    Found(Box<Found>),
}

/// Time of the planned drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedDrop {
    /// Wall time.
    pub wall: WallTime,
    /// Wall time of the end of the change, if it is planned.
    pub end: Option<WallTime>,
    /// Event time of the first search that is worse. While the sidecar catches up, it is counted later
    /// than at the wall time.
    pub event: EventTime,
    /// Scenario of the demo.
    pub scenario: Scenario,
    /// System that changes.
    pub system: &'static str,
}

/// Results of the last minutes.
#[derive(Debug, Default)]
pub struct History {
    samples: VecDeque<Sample>,
    planned: Option<PlannedDrop>,
    /// Last sample before the drop.
    before_drop: Option<Sample>,
    /// Number of searches of the regressing variant at the drop.
    searches_at_drop: Option<f64>,
    found: Option<Found>,
}

impl History {
    /// Empty history with the planned drop, if any.
    pub fn new(planned: Option<PlannedDrop>) -> Self {
        Self {
            planned,
            ..Self::default()
        }
    }

    /// Sets the planned drop when its time is known.
    pub(super) fn plan(&mut self, planned: Option<PlannedDrop>) {
        self.planned = planned;
    }

    /// Adds a view.
    pub fn add(&mut self, view: &View) {
        let Some(times) = view.times else { return };
        let variants = view.variants.iter();
        let sample = Sample {
            times,
            variants: variants
                .map(|(name, variant)| (name.clone(), (variant.headline, variant.searches)))
                .collect(),
        };
        let has_dropped = self.planned.map(|it| times.newest >= it.event);
        if has_dropped == Some(false) {
            self.before_drop = Some(sample.clone());
        }
        self.samples.push_back(sample);
        if let Some(planned) = self.planned.filter(|_| has_dropped == Some(true)) {
            let at_drop = self.searches_at_event(planned.event);
            self.searches_at_drop.get_or_insert(at_drop);
        }
        let newest = times.newest;
        let is_old = |sample: &Sample| newest.since(sample.times.newest) > KEPT;
        // The sample before the span is needed for the values at its start.
        while self.samples.len() > MAX_SAMPLES || self.samples.get(1).is_some_and(is_old) {
            self.samples.pop_front();
        }
        self.find(view);
    }

    /// Keeps the first incident of the regressing variant after the drop, with its current state.
    fn find(&mut self, view: &View) {
        let mut incidents = view.incidents.iter();
        if let Some(found) = &mut self.found {
            if let Some(now) = incidents.find(|it| it.id == found.incident.id) {
                found.incident.clone_from(now);
            }
            return;
        }
        let Some(planned) = self.planned else { return };
        let is_later =
            |it: &&IncidentLine| it.variant == planned.system && it.alarmed_at >= planned.event;
        let first = incidents.filter(is_later).min_by_key(|it| it.alarmed_at);
        self.found = first.map(|incident| Found {
            incident: incident.clone(),
            searches: self.searches_from_drop(self.searches_at_event(incident.alarmed_at)),
            delay: incident.alarmed_at.since(planned.event),
        });
    }

    /// State of the planned drop.
    pub fn story(&self) -> Story {
        let (Some(planned), Some(last)) = (self.planned, self.samples.back()) else {
            return Story::Unplanned;
        };
        if let Some(found) = &self.found {
            return Story::Found(Box::new(found.clone()));
        }
        let since = last.times.wall.since(planned.wall);
        if since.0 < 0 {
            return Story::Planned(planned, Millis(-since.0));
        }
        let searches = self.searches_from_drop(self.searches_at(last.times.wall));
        let since_end = planned.end.map(|end| last.times.wall.since(end));
        Story::Undetected {
            planned,
            since,
            searches,
            since_end: since_end.filter(|it| it.0 >= 0),
        }
    }

    /// System that changes.
    fn system(&self) -> &'static str {
        self.planned.map_or("", |it| it.system)
    }

    /// Number of searches of the regressing variant from the drop until there are `number`.
    fn searches_from_drop(&self, number: f64) -> u64 {
        let Some(at_drop) = self.searches_at_drop else {
            return 0;
        };
        let count = number - at_drop;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "invariant: a difference of counts, not negative"
        )]
        let count = count.round().max(0.0) as u64;
        count
    }

    /// Number of searches of the regressing variant at a time.
    fn searches_at(&self, WallTime(time): WallTime) -> f64 {
        let value = |sample: &Sample| sample.searches(self.system());
        self.interpolated(time, |sample| sample.times.wall.0, value)
    }

    /// Number of searches of the regressing variant up to an event time.
    fn searches_at_event(&self, EventTime(time): EventTime) -> f64 {
        let value = |sample: &Sample| sample.searches(self.system());
        self.interpolated(time, |sample| sample.times.newest.0, value)
    }

    /// A value that grows with `time`, at `at`; the nearest one outside of the samples.
    fn interpolated(
        &self,
        at: i64,
        time: impl Fn(&Sample) -> i64,
        value: impl Fn(&Sample) -> f64,
    ) -> f64 {
        let later = self.samples.partition_point(|sample| time(sample) < at);
        let after = self.samples.get(later);
        let before = later
            .checked_sub(1)
            .and_then(|place| self.samples.get(place));
        match (before, after) {
            (Some(before), Some(after)) => {
                let span = to_f64(time(after) - time(before));
                let share = to_f64(at - time(before)) / span;
                value(before) + (value(after) - value(before)) * share
            }
            (Some(only), None) | (None, Some(only)) => value(only),
            (None, None) => 0.0,
        }
    }

    /// Mean of the headline measure before the drop, or before the last minute if no drop happened.
    pub(super) fn baseline(&self, variant: &str) -> Option<f64> {
        let last = self.samples.back()?;
        let has_dropped = self.planned.is_some_and(|it| last.times.newest >= it.event);
        let sample = if has_dropped {
            self.before_drop.as_ref()?
        } else {
            let is_earlier = |it: &&Sample| last.times.newest.since(it.times.newest) >= WINDOW;
            self.samples.iter().rev().find(is_earlier)?
        };
        let ScoreTotal { count, sum } = sample.scores(variant);
        (count > 0.0).then(|| sum / count)
    }

    /// Means of the headline measure in `cells` equal parts of the last two minutes, oldest first.
    pub(super) fn sparkline(&self, variant: &str, cells: u16) -> Vec<Option<f64>> {
        let Some(last) = self.samples.back() else {
            return Vec::new();
        };
        let start = last.times.newest.minus(SPARKLINE_SPAN);
        let total_at = |border: u16| {
            let passed = SPARKLINE_SPAN.0 * i64::from(border) / i64::from(cells.max(1));
            let EventTime(at) = start.plus(Millis(passed));
            let time = |sample: &Sample| sample.times.newest.0;
            ScoreTotal {
                count: self.interpolated(at, time, |sample| sample.scores(variant).count),
                sum: self.interpolated(at, time, |sample| sample.scores(variant).sum),
            }
        };
        let totals: Vec<ScoreTotal> = (0..=cells).map(total_at).collect();
        let parts = totals.windows(2).map(|pair| {
            let count = pair[1].count - pair[0].count;
            (count >= 1.0).then(|| (pair[1].sum - pair[0].sum) / count)
        });
        parts.collect()
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "invariant: differences of times within minutes"
)]
fn to_f64(millis: i64) -> f64 {
    millis as f64
}
