//! Score history for charts, and the time of the last search.
//!
//! For the last minutes, the means of the shortest window are sampled at a fixed interval. For the last
//! hour, day and week, a point is the mean of the searches that were counted since the point before. The
//! memory is bounded: [`MAX_SERIES`] pairs of measure and variant with the points of the last minutes, 2 MiB,
//! as many of latencies and of costs, and [`MAX_LONG_SERIES`] with those of the other spans, 3 MiB. A restart
//! begins with none.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::collect::Names;
use rankgauge_core::engine::read_model::{ReadModel, ScoreSeries};
use rankgauge_core::engine::registry;
use rankgauge_core::engine::scores::Cell;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::Kind;
use rankgauge_core::time::{Millis, WallTime};

/// Interval between two points of the last minutes.
pub const SAMPLE_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of series of the last minutes. Further ones have no history.
pub const MAX_SERIES: usize = 2_000;

/// Maximum number of series of the longer spans.
pub const MAX_LONG_SERIES: usize = 400;

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

    /// Name.
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
        match self {
            Self::Minutes => SAMPLE_INTERVAL,
            Self::Hour => Duration::from_mins(1),
            Self::Day => Duration::from_mins(15),
            Self::Week => Duration::from_hours(1),
        }
    }

    /// Maximum number of points of a series.
    pub fn points(self) -> usize {
        match self {
            Self::Minutes => 120,
            Self::Hour => 60,
            Self::Day => 96,
            Self::Week => 168,
        }
    }

    fn series(self) -> usize {
        match self {
            Self::Minutes => MAX_SERIES,
            Self::Hour | Self::Day | Self::Week => MAX_LONG_SERIES,
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
    scores: [Points; Span::ALL.len()],
    /// Last minutes of the other quantities, in the order of [`Operation::ALL`].
    operations: [Points; Operation::ALL.len()],
}

/// Measure and variant.
type Key = (String, String);

#[derive(Debug, Default)]
struct Points {
    /// Times of the points, oldest first.
    times: VecDeque<WallTime>,
    /// Means by measure and variant, as many as there are times; `None` without a search.
    series: BTreeMap<Key, VecDeque<Option<f64>>>,
    /// Interval of the last point of a longer span, by its number, and the sums since the start then.
    known: Option<(i64, BTreeMap<Key, Cell>)>,
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
            scores: [minutes, ..],
            operations,
            ..
        } = &mut *spans;
        if !names.settings.windows.is_empty() {
            let means = by_key(&model, |index, series| model.mean(index, series, 0));
            minutes.add(Span::Minutes, now, &means);
            for (of, points) in Operation::ALL.into_iter().zip(operations) {
                points.add(Span::Minutes, now, &of.values(&model));
            }
        }
        let watched = &names.settings.detection.measures;
        let is_headline =
            |index: usize| watched.is_empty() || watched.iter().any(|it| it.index == index);
        let longer = Span::ALL.into_iter().zip(&mut spans.scores).skip(1);
        for (span, points) in longer {
            let length = i64::try_from(span.interval().as_millis()).unwrap_or(i64::MAX);
            let number = now.as_event_time().0.div_euclid(length);
            let is_new = points.known.as_ref().is_none_or(|(at, _)| *at < number);
            if is_new {
                let least = |measure: usize| {
                    let is_of_users = names.settings.measures[measure].is_user_measure();
                    if is_of_users {
                        names.settings.min_samples
                    } else {
                        1
                    }
                };
                let sums = by_key(&model, |index, series| {
                    let tally = model.tally(index, series).filter(|_| is_headline(index))?;
                    let sum = Cell {
                        count: tally.count,
                        sum: tally.sum,
                    };
                    Some((sum, least(index)))
                });
                points.close(span, now, (number, sums));
            }
        }
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
        self.spans().scores[span as usize].selected(is_selected)
    }

    /// Times of the points of the last minutes, and the series of a quantity for a variant, by stage or
    /// currency.
    pub fn operations(&self, of: Operation, variant: &str) -> (Vec<WallTime>, Vec<Series>) {
        self.spans().operations[of as usize].selected(|_, it| it == variant)
    }

    /// Adds values of a quantity, by stage or currency and variant.
    #[cfg(test)]
    pub(crate) fn add_operations(&self, of: Operation, at: WallTime, values: &BTreeMap<Key, f64>) {
        self.spans().operations[of as usize].add(Span::Minutes, at, values);
    }

    fn spans(&self) -> MutexGuard<'_, Spans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Values by measure and variant.
fn by_key<T>(
    model: &ReadModel<'_>,
    value: impl Fn(usize, registry::Series) -> Option<T>,
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

    /// Adds the means of the searches since the point before, if there is one.
    /// `sums` are those since the start, with the number of searches from which a mean is shown.
    fn close(
        &mut self,
        span: Span,
        now: WallTime,
        (number, sums): (i64, BTreeMap<Key, (Cell, u64)>),
    ) {
        if let Some((_, before)) = &self.known {
            let means = sums.iter().filter_map(|(key, (sum, least))| {
                let before = before.get(key).copied().unwrap_or_default();
                // The sums of a variant that was retired begin again.
                let since = match sum.count.checked_sub(before.count) {
                    Some(count) => Cell {
                        count,
                        sum: sum.sum - before.sum,
                    },
                    None => *sum,
                };
                let mean = since.mean().filter(|_| since.count >= *least);
                Some((key.clone(), mean?))
            });
            let means = means.collect();
            self.add(span, now, &means);
        }
        let kept = sums.into_iter().take(span.series());
        self.known = Some((number, kept.map(|(key, (sum, _))| (key, sum)).collect()));
    }

    fn add(&mut self, span: Span, now: WallTime, means: &BTreeMap<Key, f64>) {
        self.times.push_back(now);
        if self.times.len() > span.points() {
            self.times.pop_front();
        }
        let points = self.times.len();
        for key in means.keys() {
            if self.series.len() >= span.series() && !self.series.contains_key(key) {
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

#[cfg(test)]
mod tests {
    use super::*;

    const NANO: i128 = 1_000_000_000;

    fn sums(count: u64, sum: i128) -> BTreeMap<Key, (Cell, u64)> {
        let sum = sum * NANO;
        let key = ("nDCG@10".to_owned(), "V5".to_owned());
        BTreeMap::from([(key, (Cell { count, sum }, 2))])
    }

    fn means(points: &Points) -> Vec<Option<f64>> {
        points.series.values().flatten().copied().collect()
    }

    #[test]
    fn a_point_is_the_mean_of_the_searches_since_the_one_before() {
        let mut points = Points::default();
        let close = |points: &mut Points, number: i64, count, sum| {
            let now = WallTime(number * 60_000);
            points.close(Span::Hour, now, (number, sums(count, sum)));
        };
        close(&mut points, 0, 100, 90);
        assert!(
            means(&points).is_empty(),
            "nothing is known of the time before"
        );
        close(&mut points, 1, 104, 91);
        close(&mut points, 2, 105, 92);
        // The variant was retired, and has come back.
        close(&mut points, 3, 4, 3);
        assert_eq!(means(&points), [Some(0.25), None, Some(0.75)]);
    }

    #[test]
    fn points_and_series_of_each_span_are_limited() {
        for span in Span::ALL {
            let mut points = Points::default();
            let names = (0..span.series() + 10).map(|number| number.to_string());
            let all: BTreeMap<Key, f64> = names.map(|name| ((name, String::new()), 0.5)).collect();
            for number in 0..i64::try_from(span.points()).expect("a small number") + 3 {
                points.add(span, WallTime(number), &all);
            }
            assert_eq!(points.series.len(), span.series());
            assert_eq!(points.times.len(), span.points());
            assert!(points.series.values().all(|it| it.len() == span.points()));
            assert_eq!(Span::named(span.name()), span);
        }
    }
}
