//! Score history of the last minutes, for sparklines, and the time of the last search.
//!
//! The means of the shortest window are sampled at a fixed interval. The memory is bounded:
//! [`MAX_POINTS`] values for each of at most [`MAX_SERIES`] pairs of measure and variant, 2 MiB in
//! total.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::collect::Names;
use rankgauge_core::engine::read_model::ReadModel;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::Kind;
use rankgauge_core::time::{Millis, WallTime};

/// Interval between two points.
pub const SAMPLE_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of points of a series: ten minutes.
pub const MAX_POINTS: usize = 120;

/// Maximum number of series. Further ones have no history.
pub const MAX_SERIES: usize = 2_000;

/// Score history.
#[derive(Debug, Default)]
pub struct History(Mutex<Points>);

#[derive(Debug, Default)]
struct Points {
    /// Times of the points, oldest first.
    times: VecDeque<WallTime>,
    /// Searches received, and the time at which they were seen to change.
    searches: Option<(u64, WallTime)>,
    /// Means by measure and variant, as many as there are times; `None` for an empty window.
    series: BTreeMap<(String, String), VecDeque<Option<f64>>>,
}

/// Means of one measure and variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the measure.
    pub measure: String,
    /// Name of the variant.
    pub variant: String,
    /// Mean at each time; `None` for an empty window.
    pub means: Vec<Option<f64>>,
}

impl History {
    /// Adds the current means of all searches by variant.
    pub fn sample(&self, snapshot: &Snapshot, names: &Names, now: WallTime) {
        let model = names.read(snapshot);
        self.since_last_search(&model, now);
        if names.settings.windows.is_empty() {
            return;
        }
        let mut means = BTreeMap::new();
        for it in model.variants() {
            for (index, measure) in model.measures().iter().enumerate() {
                if let Some(mean) = model.mean(index, it.series, 0) {
                    means.insert((measure.clone(), it.variant.to_owned()), mean);
                }
            }
        }
        self.points().add(now, &means);
    }

    /// Time since a search was last received, as far as the calls of this function tell; `None` before
    /// the first search.
    pub fn since_last_search(&self, model: &ReadModel<'_>, now: WallTime) -> Option<Millis> {
        let outcomes = model.outcomes(Kind::Search).into_iter();
        let received =
            outcomes.map(|(_, events)| events).sum::<u64>() + model.pending(Kind::Search);
        let mut points = self.points();
        match points.searches {
            _ if received == 0 => None,
            Some((known, at)) if known == received => Some(now.since(at)),
            _ => {
                points.searches = Some((received, now));
                Some(Millis(0))
            }
        }
    }

    /// Times of the points, and the series that `is_selected` selects by measure and variant.
    pub fn series(&self, is_selected: impl Fn(&str, &str) -> bool) -> (Vec<WallTime>, Vec<Series>) {
        let points = self.points();
        let series = points.series.iter();
        let series = series.filter(|((measure, variant), _)| is_selected(measure, variant));
        let series = series.map(|((measure, variant), means)| Series {
            measure: measure.clone(),
            variant: variant.clone(),
            means: means.iter().copied().collect(),
        });
        let series = series.collect();
        (points.times.iter().copied().collect(), series)
    }

    fn points(&self) -> MutexGuard<'_, Points> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Points {
    fn add(&mut self, now: WallTime, means: &BTreeMap<(String, String), f64>) {
        self.times.push_back(now);
        if self.times.len() > MAX_POINTS {
            self.times.pop_front();
        }
        let points = self.times.len();
        for key in means.keys() {
            if self.series.len() >= MAX_SERIES && !self.series.contains_key(key) {
                continue;
            }
            let missing = || std::iter::repeat_n(None, points - 1).collect();
            self.series.entry(key.clone()).or_insert_with(missing);
        }
        self.series.retain(|key, series| {
            while series.len() >= points {
                series.pop_front();
            }
            series.push_back(means.get(key).copied());
            series.iter().any(Option::is_some)
        });
    }
}
