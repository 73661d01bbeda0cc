//! Score history for charts, and the time of the last search.
//!
//! For the last minutes, the means of the shortest window are sampled at a fixed interval. For the last
//! hour, day and week, a point is the mean of the searches that were counted in a slot of wall-clock time: of
//! this process and, with a state topic, of the others. The memory is bounded: [`MAX_SERIES`] pairs of measure
//! and variant with the points of the last minutes, 2 MiB, as many of latencies and of costs, and
//! [`ScoreHistory::MAX_SERIES`] with the sums of the other spans, 7 MiB for this process and 7 MiB for the
//! others. The last minutes of a process begin empty, as do its other spans without a state topic.

mod slots;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::collect::Names;
use rankgauge_core::engine::read_model::{ReadModel, ScoreSeries};
use rankgauge_core::engine::scores::Cell;
use rankgauge_core::engine::series;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::Kind;
use rankgauge_core::time::{Millis, WallTime};

pub use slots::{HistorySpan, MAX_SKEW, ScoreHistory, ScoreName, SharedHistory};

/// Interval between two points of the last minutes.
pub const SAMPLE_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of points of a series of the last minutes.
const MAX_POINTS: usize = 120;

/// Maximum number of series of the last minutes. Further ones have no history.
pub const MAX_SERIES: usize = 2_000;

/// Length of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// The last ten minutes.
    #[default]
    Minutes,
    /// The last hour.
    Hour,
    /// The last day.
    Day,
    /// The last week.
    Week,
}

impl Span {
    /// All spans, shortest first.
    pub const ALL: [Self; 4] = [Self::Minutes, Self::Hour, Self::Day, Self::Week];

    /// Names, in the order of [`Span::ALL`].
    pub const NAMES: [&'static str; 4] = ["10m", "1h", "1d", "1w"];

    /// Name: `10m`, `1h`, `1d` or `1w`.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Span with this name; the last minutes for any other.
    pub fn named(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        found.unwrap_or_default()
    }

    /// Interval between two points.
    pub fn interval(self) -> Duration {
        self.slots().map_or(SAMPLE_INTERVAL, |it| {
            Duration::from_millis(it.slot_length().0.unsigned_abs())
        })
    }

    /// Slots of the span; `None` for the last minutes.
    fn slots(self) -> Option<HistorySpan> {
        match self {
            Self::Minutes => None,
            Self::Hour => Some(HistorySpan::Hour),
            Self::Day => Some(HistorySpan::Day),
            Self::Week => Some(HistorySpan::Week),
        }
    }
}

/// Quantity of searches beside their scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// 95th percentile of the latency in seconds, by stage.
    Latency,
    /// Mean cost of 1,000 searches, by currency.
    Cost,
}

impl Operation {
    /// All quantities.
    pub const ALL: [Self; 2] = [Self::Latency, Self::Cost];

    /// Current values by stage or currency, and variant.
    fn values(self, model: &ReadModel<'_>) -> BTreeMap<Key, f64> {
        let of_variant = |of: ScoreSeries<'_>| {
            let variant = move |name: &str| (name.to_owned(), of.variant.to_owned());
            let values: Vec<(Key, Option<f64>)> = match self {
                Self::Latency => {
                    let all = model.latencies(0).filter(|it| it.variant == of.label);
                    all.map(|it| (variant(it.stage), it.seconds(0.95)))
                        .collect()
                }
                Self::Cost => {
                    let all = model.costs(0).filter(|it| it.variant == of.label);
                    let thousand = |mean: f64| mean * 1_000.0;
                    all.map(|it| (variant(it.currency), it.cost.mean().map(thousand)))
                        .collect()
                }
            };
            values
        };
        let values = model.variants().flat_map(of_variant);
        values.filter_map(|(key, it)| Some((key, it?))).collect()
    }
}

/// Score history.
#[derive(Debug, Default)]
pub struct History(Mutex<Spans>);

#[derive(Debug, Default)]
struct Spans {
    /// Searches received, and the time at which they were seen to change.
    searches: Option<(u64, WallTime)>,
    /// Last minutes of the scores.
    minutes: Points,
    /// Last minutes of the other quantities, in the order of [`Operation::ALL`].
    operations: [Points; Operation::ALL.len()],
    sums: Sums,
}

/// Longer spans of the scores.
#[derive(Debug, Default)]
struct Sums {
    /// Number of searches from which a mean is shown, by watched measure.
    least: BTreeMap<Box<str>, u64>,
    /// Sums since the start, as they were added last.
    known: Option<BTreeMap<ScoreName, Cell>>,
    /// Time at which they were added.
    at: WallTime,
    /// Searches of this process.
    own: ScoreHistory,
    /// Searches of other processes.
    others: ScoreHistory,
}

/// Measure and variant.
type Key = (String, String);

#[derive(Debug, Default)]
struct Points {
    /// Times of the points, oldest first.
    times: VecDeque<WallTime>,
    /// Means by measure and variant, as many as there are times; `None` without a search.
    series: BTreeMap<Key, VecDeque<Option<f64>>>,
}

/// Means of one measure and variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the measure, stage or currency.
    pub measure: String,
    /// Name of the variant.
    pub variant: String,
    /// Mean at each time; `None` without a search.
    pub means: Vec<Option<f64>>,
}

impl History {
    /// Adds the current means of all searches by variant.
    pub fn sample(&self, snapshot: &Snapshot, names: &Names, now: WallTime) {
        let model = names.read(snapshot);
        self.since_last_search(&model, now);
        let mut spans = self.spans();
        let Spans {
            minutes,
            operations,
            sums,
            ..
        } = &mut *spans;
        if !names.settings.windows.is_empty() {
            let means = by_key(&model, |index, series| model.mean(index, series, 0));
            minutes.add(now, &means);
            for (of, points) in Operation::ALL.into_iter().zip(operations) {
                points.add(now, &of.values(&model));
            }
        }
        let watched = &names.settings.detection.measures;
        let is_headline =
            |index: usize| watched.is_empty() || watched.iter().any(|it| it.index == index);
        let measures = names.settings.measures.iter().zip(model.measures());
        let headline = measures
            .enumerate()
            .filter(|(index, _)| is_headline(*index));
        sums.least = headline
            .map(|(_, (measure, name))| {
                let is_of_users = measure.is_user_measure();
                let least = if is_of_users {
                    names.settings.min_samples
                } else {
                    1
                };
                (name.as_str().into(), least)
            })
            .collect();
        let since_start = by_key(&model, |index, series| {
            let tally = model.tally(index, series).filter(|_| is_headline(index))?;
            Some(Cell {
                count: tally.count,
                sum: tally.sum,
            })
        });
        let since_start = since_start.into_iter().map(|((measure, variant), sums)| {
            let name = ScoreName {
                measure: measure.into(),
                variant: variant.into(),
            };
            (name, sums)
        });
        sums.add(since_start.collect(), now);
    }

    /// Score history of the searches of this process.
    pub fn own(&self) -> ScoreHistory {
        self.spans().sums.own.clone()
    }

    /// Adds the history of an earlier process that this one continues, and replaces that of the others.
    pub fn inherit(&self, former: &ScoreHistory, others: ScoreHistory) {
        let sums = &mut self.spans().sums;
        sums.own.merge(former);
        sums.others = others;
    }

    /// Replaces the history of the other processes.
    pub fn set_others(&self, others: ScoreHistory) {
        self.spans().sums.others = others;
    }

    /// Time since a search was last received, as far as the calls of this function tell; `None` before
    /// the first search.
    pub fn since_last_search(&self, model: &ReadModel<'_>, now: WallTime) -> Option<Millis> {
        let outcomes = model.outcomes(Kind::Search).into_iter();
        let received =
            outcomes.map(|(_, events)| events).sum::<u64>() + model.pending(Kind::Search);
        let mut points = self.spans();
        match points.searches {
            _ if received == 0 => None,
            Some((known, at)) if known == received => Some(now.since(at)),
            _ => {
                points.searches = Some((received, now));
                Some(Millis(0))
            }
        }
    }

    /// Times of the points of a span, and the series that `is_selected` selects by measure and variant.
    pub fn series(
        &self,
        span: Span,
        is_selected: impl Fn(&str, &str) -> bool,
    ) -> (Vec<WallTime>, Vec<Series>) {
        let spans = self.spans();
        match span.slots() {
            None => spans.minutes.selected(is_selected),
            Some(span) => spans.sums.selected(span, is_selected),
        }
    }

    /// Times of the points of the last minutes, and the series of a quantity for a variant, by stage or
    /// currency.
    pub fn operations(&self, of: Operation, variant: &str) -> (Vec<WallTime>, Vec<Series>) {
        self.spans().operations[of as usize].selected(|_, it| it == variant)
    }

    /// Adds values of a quantity, by stage or currency and variant.
    #[cfg(test)]
    pub(crate) fn add_operations(&self, of: Operation, at: WallTime, values: &BTreeMap<Key, f64>) {
        self.spans().operations[of as usize].add(at, values);
    }

    fn spans(&self) -> MutexGuard<'_, Spans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Values by measure and variant.
fn by_key<T>(
    model: &ReadModel<'_>,
    value: impl Fn(usize, series::Series) -> Option<T>,
) -> BTreeMap<Key, T> {
    let mut values = BTreeMap::new();
    for it in model.variants() {
        for (index, measure) in model.measures().iter().enumerate() {
            if let Some(value) = value(index, it.series) {
                values.insert((measure.clone(), it.variant.to_owned()), value);
            }
        }
    }
    values
}

impl Points {
    /// Times, and the series that `is_selected` selects by name and variant.
    fn selected(&self, is_selected: impl Fn(&str, &str) -> bool) -> (Vec<WallTime>, Vec<Series>) {
        let series = self.series.iter();
        let series = series.filter(|((name, variant), _)| is_selected(name, variant));
        let series = series.map(|((name, variant), means)| Series {
            measure: name.clone(),
            variant: variant.clone(),
            means: means.iter().copied().collect(),
        });
        (self.times.iter().copied().collect(), series.collect())
    }

    fn add(&mut self, now: WallTime, means: &BTreeMap<Key, f64>) {
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

impl Sums {
    /// Adds the searches since the last call. `since_start` are the sums of this process. Those of the first
    /// call are of an earlier process, or none.
    fn add(&mut self, since_start: BTreeMap<ScoreName, Cell>, now: WallTime) {
        if let Some(known) = &self.known {
            for (name, sums) in &since_start {
                let before = known.get(name).copied().unwrap_or_default();
                // The sums of a variant that was retired begin again.
                let since = match sums.count.checked_sub(before.count) {
                    Some(count) => Cell {
                        count,
                        sum: sums.sum - before.sum,
                    },
                    None => *sums,
                };
                self.own.add(name, now, since);
            }
        }
        self.own.advance_to(now);
        self.known = Some(since_start);
        self.at = now;
    }

    /// Ends of the closed slots since the first one with searches, and the means of the series that
    /// `is_selected` selects by measure and variant.
    fn selected(
        &self,
        span: HistorySpan,
        is_selected: impl Fn(&str, &str) -> bool,
    ) -> (Vec<WallTime>, Vec<Series>) {
        let mut all = self.own.clone();
        all.merge(&self.others);
        let closed = span.closed(self.at);
        let shown = |measure: &str| self.least.get(measure).copied();
        let series = all.series(span).filter_map(|(name, slots)| {
            let least = shown(&name.measure)?;
            let shown = slots
                .iter()
                .filter(|(slot, it)| closed.contains(slot) && it.count >= least);
            let means = shown.filter_map(|(slot, it)| Some((*slot, it.mean()?)));
            Some((name, means.collect::<BTreeMap<i64, f64>>()))
        });
        let series: Vec<(&ScoreName, BTreeMap<i64, f64>)> = series.collect();
        let first = series.iter().filter_map(|(_, means)| means.keys().next());
        let slots = first.min().map_or(0..0, |first| *first..closed.end);
        let series = series
            .iter()
            .filter(|(name, means)| !means.is_empty() && is_selected(&name.measure, &name.variant));
        let series = series.map(|(name, means)| Series {
            measure: name.measure.to_string(),
            variant: name.variant.to_string(),
            means: slots
                .clone()
                .map(|slot| means.get(&slot).copied())
                .collect(),
        });
        let series = series.collect();
        (slots.map(|slot| span.end_of(slot)).collect(), series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NANO: i128 = 1_000_000_000;
    const MINUTE: i64 = 60_000;

    fn name() -> ScoreName {
        ScoreName {
            measure: "nDCG@10".into(),
            variant: "V5".into(),
        }
    }

    fn cell(count: u64, sum: i128) -> Cell {
        Cell {
            count,
            sum: sum * NANO,
        }
    }

    fn sums() -> Sums {
        Sums {
            least: BTreeMap::from([("nDCG@10".into(), 2)]),
            ..Sums::default()
        }
    }

    fn add(sums: &mut Sums, minute: i64, count: u64, sum: i128) {
        let since_start = BTreeMap::from([(name(), cell(count, sum))]);
        sums.add(since_start, WallTime(minute * MINUTE));
    }

    fn hour(sums: &Sums) -> (Vec<WallTime>, Vec<Option<f64>>) {
        let (times, series) = sums.selected(HistorySpan::Hour, |_, _| true);
        (times, series.into_iter().flat_map(|it| it.means).collect())
    }

    #[test]
    fn a_point_is_the_mean_of_the_searches_of_a_slot_that_has_ended() {
        let mut sums = sums();
        add(&mut sums, 10, 100, 90);
        assert_eq!(
            hour(&sums),
            (Vec::new(), Vec::new()),
            "of an earlier process"
        );
        add(&mut sums, 11, 104, 91);
        assert_eq!(
            hour(&sums),
            (Vec::new(), Vec::new()),
            "the minute has not ended"
        );
        add(&mut sums, 12, 105, 92);
        // The variant was retired, and has come back.
        add(&mut sums, 13, 4, 3);
        add(&mut sums, 14, 4, 3);
        let times = [12, 13, 14].map(|minute| WallTime(minute * MINUTE));
        let means = vec![Some(0.25), None, Some(0.75)];
        assert_eq!(hour(&sums), (times.to_vec(), means));
    }

    #[test]
    fn points_are_those_of_all_processes_and_a_restart_continues_them() {
        let history = History::default();
        let slot = |count, sum| {
            let mut of = ScoreHistory::default();
            of.add(&name(), WallTime(11 * MINUTE), cell(count, sum));
            of
        };
        *history.spans() = Spans {
            sums: sums(),
            ..Spans::default()
        };
        let add_at = |minute, count, sum| add(&mut history.spans().sums, minute, count, sum);
        let shown = || history.series(Span::Hour, |_, _| true).1;
        add_at(11, 0, 0);
        add_at(12, 0, 0);
        assert!(shown().is_empty());
        // What an earlier process shared under the id of this one is that of another until the id is known.
        let mut others = slot(4, 1);
        others.merge(&slot(4, 3));
        history.set_others(others);
        assert_eq!(shown()[0].means, [Some(0.5)]);
        history.inherit(&slot(4, 1), slot(4, 3));
        assert_eq!(shown()[0].means, [Some(0.5)]);
        assert_eq!(history.own(), slot(4, 1));
    }

    #[test]
    fn points_and_series_of_the_last_minutes_are_limited() {
        let mut points = Points::default();
        let names = (0..MAX_SERIES + 10).map(|number| number.to_string());
        let all: BTreeMap<Key, f64> = names.map(|name| ((name, String::new()), 0.5)).collect();
        for number in 0..i64::try_from(MAX_POINTS).expect("a small number") + 3 {
            points.add(WallTime(number), &all);
        }
        assert_eq!(points.series.len(), MAX_SERIES);
        assert_eq!(points.times.len(), MAX_POINTS);
        assert!(points.series.values().all(|it| it.len() == MAX_POINTS));
        for span in Span::ALL {
            assert_eq!(Span::named(span.name()), span);
        }
    }
}
