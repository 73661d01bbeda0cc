//! What an engine has counted, as a value that outlives the process.
//!
//! Within a process, label values, series and measures are numbers. A [`State`] says what its
//! numbers stand for, so that it can be taken in by an engine with another registry and other
//! settings: what has the same name goes on, what is new starts empty, what is gone is left out.
//!
//! Partitions are not in it. Where they stand travels as [`CommitPoint`](super::CommitPoint)s, and
//! what waits in them is read again from the log.

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

/// Panes in a window of scores: a rolling mean is right to one part in 60 of its window.
const SCORE_PANES: i64 = 60;

/// Panes in a window of histograms, which are a thousand times larger than a score.
const HISTOGRAM_PANES: i64 = 12;

/// What an engine has counted, with the names that its numbers stand for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    names: Names,
    wall: WallTime,
    counted: Counted,
}

/// What an engine has counted: all that a [`State`] takes along.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Counted {
    pub(super) events: EventCounts,
    pub(super) finalised_early: u64,
    pub(super) gaps: [u64; 2],
    /// Searches whose session had too many to be anybody's.
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
    /// Where the windows were last moved to, and when.
    pub(super) windows_at: Option<(Progress, WallTime)>,
}

impl Counted {
    /// Nothing yet.
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

    /// Adds what an earlier process has counted.
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

/// What the numbers of a [`State`] stand for.
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
    /// When it was taken.
    pub fn wall(&self) -> WallTime {
        self.wall
    }

    /// Measures that scores were counted of, by their canonical names.
    pub fn measures(&self) -> &[String] {
        &self.names.measures
    }

    /// Records by what became of them.
    pub fn events(&self) -> &EventCounts {
        &self.counted.events
    }

    /// How many series each family has.
    pub fn series(&self) -> impl Iterator<Item = (Family, usize)> {
        Family::ALL
            .into_iter()
            .zip(self.names.series.iter().map(Vec::len))
    }

    /// The rolling windows: what each spans, and how many of its panes hold anything.
    pub fn windows(&self) -> impl Iterator<Item = (Millis, usize)> {
        self.counted.scores.windows()
    }

    /// How far event time had come in the windows.
    pub fn progress(&self) -> Option<Progress> {
        self.counted.windows_at.map(|(progress, _)| progress)
    }
}

impl Engine {
    /// A copy of what was counted.
    pub fn state(&self) -> State {
        State {
            wall: self.wall,
            counted: self.counted.clone(),
            // Last: every number above is known to the registry by now.
            names: Names::new(&self.settings, &self.registry),
        }
    }

    /// Adds what an earlier process has counted.
    pub fn restore(&mut self, saved: &State) {
        let renumbering = Renumbering::new(&saved.names, &self.settings, &self.registry);
        self.counted.restore(&saved.counted, &renumbering);
    }
}

/// From the numbers of a saved state to those of this process.
#[derive(Debug)]
pub(super) struct Renumbering {
    series: [Vec<Option<Series>>; Family::ALL.len()],
    labels: [Vec<Label>; Dimension::ALL.len()],
    /// By saved column of scores, the column now.
    pub(super) columns: Vec<Option<usize>>,
    /// By the saved place of a measure among those of the ranking, its place now.
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
        // `__other__` and the empty value have the same numbers everywhere.
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

    /// The number now of what was a label of `dimension`.
    pub(super) fn label(&self, dimension: Dimension, label: Label) -> Label {
        let now = self.labels[dimension as usize].get(label.index());
        now.copied().unwrap_or(Label::OTHER)
    }

    /// The number now of what was a series of `family`; `None` when it is gone.
    pub(super) fn series(&self, family: Family, series: Series) -> Option<Series> {
        *self.series[family as usize].get(series.index())?
    }

    /// Merges `theirs`, a table with one entry a series of `family`, into `mine`.
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

/// Pairs of windows of the same length, of this process and saved.
pub(super) fn same_windows<'a, P: Pane>(
    mine: &'a mut [Window<P>],
    saved: &'a [Window<P>],
) -> impl Iterator<Item = (&'a mut Window<P>, &'a Window<P>)> {
    mine.iter_mut().filter_map(|mine| {
        let same = saved.iter().find(|saved| saved.length() == mine.length());
        Some((mine, same?))
    })
}

/// A [`Renumbering`] of tables with several columns a series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a> {
    pub(super) renumbering: &'a Renumbering,
    pub(super) family: Family,
    /// Columns now.
    pub(super) width: usize,
    /// By saved column, the column now.
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
