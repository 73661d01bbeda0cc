//! Serialisable counters of an engine, which outlive the process.
//!
//! Within a process, label values, series and measures are numbers. A [`State`] contains the names
//! of its numbers, so an engine with another registry and other settings can restore it. Names in
//! both continue their counts, new names start empty, and removed names are dropped.
//!
//! A [`State`] contains no partitions. Their positions are [`CommitPoint`](super::CommitPoint)s;
//! pending events are read again from the log.

pub mod version_1;

use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::engine::correlation::Correlation;
use crate::engine::cost::Costs;
use crate::engine::counts::Counts;
use crate::engine::evidence::Evidence;
use crate::engine::latency::{Cumulative, Latency};
use crate::engine::registry::{Axis, Dimension, Family, Label, Labels, Registry, Series};
use crate::engine::scores::{SEARCHES, Scores, column_of};
use crate::engine::settings::{FIRST_CLICK_BUCKETS, Settings};
use crate::engine::snapshot::EventCounts;
use crate::engine::table::{self, by_family, entry};
use crate::engine::window::{Pane, Progress, Window};
use crate::measure::Measure;
use crate::time::{Millis, WallTime};

/// Panes in a window of scores. The time resolution of a rolling mean is 1/60 of the window.
const SCORE_PANES: i64 = 60;

/// Panes in a window of histograms. A histogram is a thousand times larger than a score.
const HISTOGRAM_PANES: i64 = 12;

/// Counters of an engine, with the names of their label values, series and measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    names: Names,
    wall: WallTime,
    counted: Counted,
}

/// Counters of an engine that a [`State`] saves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Counted {
    pub(super) events: EventCounts,
    pub(super) finalised_early: u64,
    pub(super) gaps: [u64; 2],
    /// Searches in sessions over their search limit.
    pub(super) crowded: u64,
    pub(super) scores: Scores,
    pub(super) latency: Latency,
    pub(super) costs: Costs,
    pub(super) counts: Counts,
    #[serde(with = "by_family")]
    pub(super) dropped: [u64; Family::ALL.len()],
    pub(super) first_clicks: Cumulative,
    pub(super) correlation: Correlation,
    pub(super) evidence: Evidence,
    /// Progress to which the windows were last advanced, and the wall time of that step.
    pub(super) windows_at: Option<(Progress, WallTime)>,
}

impl Counted {
    /// Creates empty counters.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            events: EventCounts::default(),
            finalised_early: 0,
            gaps: [0; 2],
            crowded: 0,
            scores: Scores::new(&settings.measures, windows(settings, SCORE_PANES)),
            latency: Latency::new(
                &settings.latency_buckets,
                windows(settings, HISTOGRAM_PANES),
            ),
            costs: Costs::new(windows(settings, HISTOGRAM_PANES)),
            counts: Counts::default(),
            first_clicks: Cumulative::new(&FIRST_CLICK_BUCKETS),
            correlation: Correlation::default(),
            evidence: Evidence::default(),
            dropped: [0; Family::ALL.len()],
            windows_at: None,
        }
    }

    /// Adds the counts that an earlier process saved.
    fn restore(&mut self, saved: &Self, renumbering: &Renumbering) {
        self.events.merge(&saved.events);
        self.finalised_early += saved.finalised_early;
        table::add_array(&mut self.gaps, &saved.gaps);
        self.crowded += saved.crowded;
        table::add_array(&mut self.dropped, &saved.dropped);
        self.scores.restore(&saved.scores, renumbering);
        self.latency.restore(&saved.latency, renumbering);
        self.costs.restore(&saved.costs, renumbering);
        self.counts.restore(&saved.counts, renumbering);
        self.first_clicks
            .restore(&saved.first_clicks, renumbering, Family::FirstClick);
        self.correlation.restore(&saved.correlation, renumbering);
        self.evidence.restore(&saved.evidence, renumbering);
        let later = |at: &(Progress, WallTime)| at.1;
        let both = self.windows_at.into_iter().chain(saved.windows_at);
        self.windows_at = both.max_by_key(later);
    }
}

fn windows<P: Pane>(settings: &Settings, panes: i64) -> Vec<Window<P>> {
    settings
        .windows
        .iter()
        .map(|window| Window::new(window.length.into(), panes))
        .collect()
}

/// Names of the numbers in a [`State`].
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Names {
    measures: Vec<String>,
    slices: Vec<String>,
    components: Vec<String>,
    #[serde(with = "by_family")]
    labels: [Vec<Box<str>>; Dimension::ALL.len()],
    #[serde(with = "by_family")]
    series: [Vec<Labels>; Family::ALL.len()],
}

impl Names {
    fn new(settings: &Settings, registry: &Registry) -> Self {
        let components = settings.judging.components.iter();
        Self {
            measures: settings.measures.iter().map(ToString::to_string).collect(),
            slices: settings.slices.clone(),
            components: components.map(|known| known.name.clone()).collect(),
            labels: Dimension::ALL.map(|dimension| registry.values(dimension)),
            series: Family::ALL.map(|family| registry.members(family)),
        }
    }
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

    /// Record counts by outcome.
    pub fn events(&self) -> &EventCounts {
        &self.counted.events
    }

    /// Number of series in each family.
    pub fn series(&self) -> impl Iterator<Item = (Family, usize)> {
        Family::ALL
            .into_iter()
            .zip(self.names.series.iter().map(Vec::len))
    }

    /// Length and number of panes of each rolling window of scores.
    pub fn windows(&self) -> impl Iterator<Item = (Millis, usize)> {
        self.counted.scores.windows()
    }

    /// Event-time progress of the windows, if any.
    pub fn progress(&self) -> Option<Progress> {
        self.counted.windows_at.map(|(progress, _)| progress)
    }
}

impl Engine {
    /// Returns a copy of the counters.
    pub fn state(&self) -> State {
        State {
            wall: self.wall,
            counted: self.counted.clone(),
            // Must be last: the registry now contains every number above.
            names: Names::new(&self.settings, &self.registry),
        }
    }

    /// Adds the counts that an earlier process saved.
    pub fn restore(&mut self, saved: &State) {
        let renumbering = Renumbering::new(&saved.names, &self.settings, &self.registry);
        self.counted.restore(&saved.counted, &renumbering);
    }
}

/// Mapping from the numbers of a saved state to the numbers of this process.
#[derive(Debug)]
pub(super) struct Renumbering {
    series: [Vec<Option<Series>>; Family::ALL.len()],
    labels: [Vec<Label>; Dimension::ALL.len()],
    /// Current score column, by saved column.
    pub(super) columns: Vec<Option<usize>>,
    /// Current position of a measure among the ranking measures, by saved position.
    pub(super) rankings: Vec<Option<usize>>,
}

impl Renumbering {
    fn new(saved: &Names, settings: &Settings, registry: &Registry) -> Self {
        let now = Names::new(settings, registry);
        let position = |names: &[String], name: &String| names.iter().position(|it| it == name);
        let slices: Vec<_> = saved
            .slices
            .iter()
            .map(|slice| position(&now.slices, slice))
            .collect();
        let components: Vec<_> = saved
            .components
            .iter()
            .map(|component| position(&now.components, component))
            .collect();
        // `__other__` and the empty value have the same numbers in every process.
        let labels = Dimension::ALL.map(|dimension| -> Vec<Label> {
            let values = &saved.labels[dimension as usize];
            let values = values.iter().map(|value| &**value);
            values
                .map(|value| registry.label(dimension, value))
                .collect()
        });
        let label = |axis: Axis, label: Label| -> Option<Label> {
            let Some(position) = label.position() else {
                return Some(label);
            };
            match axis {
                Axis::Named(dimension) => labels[dimension as usize].get(label.index()).copied(),
                Axis::Slice => match position.checked_sub(1) {
                    None => Some(label),
                    Some(slice) => Some(Label::from_position((*slices.get(slice)?)? + 1)),
                },
                Axis::Component => Some(Label::from_position((*components.get(position)?)?)),
                Axis::Fixed => Some(label),
            }
        };
        let series = Family::ALL.map(|family| {
            let [first, second, third] = family.axes();
            let series = |&[a, b, c]: &Labels| {
                let labels = [label(first, a)?, label(second, b)?, label(third, c)?];
                Some(registry.series(family, labels).series)
            };
            saved.series[family as usize].iter().map(series).collect()
        });
        let column = |measure| position(&now.measures, measure).map(column_of);
        let columns = saved.measures.iter().map(column);
        let of_ranking = |names: &[String]| -> Vec<String> {
            let is_of_ranking = |name: &&String| {
                let measure = name.parse::<Measure>();
                measure.is_ok_and(|measure| !measure.is_of_people())
            };
            names.iter().filter(is_of_ranking).cloned().collect()
        };
        let rankings = of_ranking(&now.measures);
        let before = of_ranking(&saved.measures);
        Self {
            series,
            labels,
            columns: std::iter::once(Some(SEARCHES)).chain(columns).collect(),
            rankings: before.iter().map(|it| position(&rankings, it)).collect(),
        }
    }

    /// Returns the current number of a saved label of `dimension`.
    pub(super) fn label(&self, dimension: Dimension, label: Label) -> Label {
        let now = self.labels[dimension as usize].get(label.index());
        now.copied().unwrap_or(Label::OTHER)
    }

    /// Returns the current number of a saved series of `family`, or `None` if the series no longer
    /// exists.
    pub(super) fn series(&self, family: Family, series: Series) -> Option<Series> {
        *self.series[family as usize].get(series.index())?
    }

    /// Merges `theirs`, a saved table with one entry for each series of `family`, into `mine`.
    pub(super) fn add<T: Clone + Default>(
        &self,
        family: Family,
        mine: &mut Vec<T>,
        theirs: &[T],
        merge: impl Fn(&mut T, &T),
    ) {
        for (series, theirs) in self.series[family as usize].iter().zip(theirs) {
            if let Some(series) = series {
                merge(entry(mine, *series), theirs);
            }
        }
    }
}

/// Returns the pairs of a current and a saved window with the same length.
pub(super) fn same_windows<'a, P: Pane>(
    mine: &'a mut [Window<P>],
    saved: &'a [Window<P>],
) -> impl Iterator<Item = (&'a mut Window<P>, &'a Window<P>)> {
    mine.iter_mut().filter_map(|mine| {
        let same = saved.iter().find(|saved| saved.length() == mine.length());
        Some((mine, same?))
    })
}

/// [`Renumbering`] of tables with several columns for each series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a> {
    pub(super) renumbering: &'a Renumbering,
    pub(super) family: Family,
    /// Current number of columns.
    pub(super) width: usize,
    /// Current column, by saved column.
    pub(super) columns: &'a [Option<usize>],
}

impl Rows<'_> {
    /// Merges `theirs` into `mine`, row by row and column by column.
    pub(super) fn add<T: Clone + Default>(
        self,
        mine: &mut Vec<T>,
        theirs: &[T],
        merge: impl Fn(&mut T, &T),
    ) {
        let rows = theirs.chunks(self.columns.len().max(1));
        for (series, theirs) in self.renumbering.series[self.family as usize]
            .iter()
            .zip(rows)
        {
            let Some(series) = series else { continue };
            let mine = table::row(mine, *series, self.width);
            for (column, theirs) in self.columns.iter().zip(theirs) {
                if let Some(mine) = column.and_then(|column| mine.get_mut(column)) {
                    merge(mine, theirs);
                }
            }
        }
    }
}
