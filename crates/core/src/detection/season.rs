//! Season of a series: mean differences of the hours of the week and of the hours of the day.

use serde::{Deserialize, Serialize};

/// Hours of the week and of the day.
const HOURS_OF_WEEK: usize = 168;
const HOURS_OF_DAY: usize = 24;

/// Number of comparisons from which the mean of a cell is fixed.
const MAX_COMPARISONS: u32 = 25_600;

/// Tolerance of a comparison in an hour of the week without a mean.
const UNKNOWN_TOLERANCE: f64 = 0.1;

/// Comparisons in an hour of the week or of the day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Cell {
    sum: f64,
    count: u32,
    /// Hour (since 1970) of the first comparison, if there is one.
    first: i32,
}

impl Cell {
    /// Adds a difference, also to what its hour added.
    fn add(&mut self, difference: f64, of_hour: &mut Self) {
        if self.count < MAX_COMPARISONS {
            for it in [self, of_hour] {
                it.count += 1;
                it.sum += difference;
            }
        }
    }

    fn subtract(&mut self, of_hour: &Self) {
        self.count = self.count.saturating_sub(of_hour.count);
        self.sum -= of_hour.sum;
    }
}

/// Comparisons that one hour added to its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct RecentHour {
    hour: i64,
    week: Cell,
    day: Cell,
}

/// Expected difference of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expected {
    /// Expected difference from the baseline.
    pub(super) difference: f64,
    /// Factor of the bets, by the number of comparisons in the cell.
    pub(super) trust: f64,
    /// Minimum tolerance.
    pub(super) tolerance: f64,
    /// True if the hour of the week has a mean of an earlier week.
    pub(super) is_known: bool,
}

/// Means by hour of the week and of the day. Sessions with a gold query differ from the mean of their query,
/// those without from 0: each kind has means of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Season {
    with_query: Cells,
    without_query: Cells,
}

/// Means of one kind of sessions; empty before the first one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Cells {
    week: Vec<Cell>,
    day: Vec<Cell>,
    /// Last hours, oldest first, at most a week of them. Empty while no drop is suspected.
    #[serde(default)]
    recent: Vec<RecentHour>,
}

impl Cells {
    /// Bytes held.
    fn bytes(&self) -> usize {
        (self.week.len() + self.day.len()) * size_of::<Cell>()
            + self.recent.capacity() * size_of::<RecentHour>()
    }

    fn add(&mut self, hour: i64, difference: f64, is_week_added: bool) {
        self.week.resize(HOURS_OF_WEEK, Cell::default());
        self.day.resize(HOURS_OF_DAY, Cell::default());
        if self.recent.last().is_none_or(|it| it.hour != hour) {
            if self.recent.len() >= HOURS_OF_WEEK {
                self.recent.remove(0);
            }
            self.recent.push(RecentHour {
                hour,
                ..RecentHour::default()
            });
        }
        let Some(recent) = self.recent.last_mut() else {
            return;
        };
        if is_week_added && let Some(cell) = self.week.get_mut(place(hour, HOURS_OF_WEEK)) {
            if cell.count == 0 {
                cell.first = i32::try_from(hour).unwrap_or(i32::MAX);
            }
            cell.add(difference, &mut recent.week);
        }
        if let Some(cell) = self.day.get_mut(place(hour, HOURS_OF_DAY)) {
            cell.add(difference, &mut recent.day);
        }
    }

    /// Means without what the recent hours from `hour` on added.
    fn before(&self, hour: i64) -> Self {
        let mut before = Self {
            week: self.week.clone(),
            day: self.day.clone(),
            recent: Vec::new(),
        };
        for recent in self.recent.iter().filter(|it| it.hour >= hour) {
            if let Some(cell) = before.week.get_mut(place(recent.hour, HOURS_OF_WEEK)) {
                cell.subtract(&recent.week);
            }
            if let Some(cell) = before.day.get_mut(place(recent.hour, HOURS_OF_DAY)) {
                cell.subtract(&recent.day);
            }
        }
        before
    }

    /// Returns true if differences from -1 to 1 can have these sums. Recent hours are not shared.
    fn is_possible(&self) -> bool {
        let is_cell = |it: &Cell| {
            let most = f64::from(it.count) + 1.0;
            it.count <= MAX_COMPARISONS && (-most..=most).contains(&it.sum)
        };
        matches!(
            (self.week.len(), self.day.len()),
            (0, 0) | (HOURS_OF_WEEK, HOURS_OF_DAY)
        ) && self.week.iter().chain(&self.day).all(is_cell)
            && self.recent.is_empty()
    }
}

/// Position of an hour (since 1970) in a period.
fn place(hour: i64, period: usize) -> usize {
    let period = i64::try_from(period).unwrap_or(1);
    usize::try_from(hour.rem_euclid(period)).unwrap_or_default()
}

impl Season {
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.with_query.bytes() + self.without_query.bytes()
    }

    /// Returns true if differences from -1 to 1 can have these sums.
    pub(super) fn is_possible(&self) -> bool {
        self.with_query.is_possible() && self.without_query.is_possible()
    }

    fn cells(&self, has_query: bool) -> &Cells {
        if has_query {
            &self.with_query
        } else {
            &self.without_query
        }
    }

    /// Expected difference in an hour. `has_query` is false for a session without a gold query.
    pub(super) fn expected(&self, hour: i64, has_query: bool) -> Expected {
        let cells = self.cells(has_query);
        let week = cells.week.get(place(hour, HOURS_OF_WEEK));
        let day = cells.day.get(place(hour, HOURS_OF_DAY));
        let (week, day) = (
            week.copied().unwrap_or_default(),
            day.copied().unwrap_or_default(),
        );
        let is_known = week.count > 0 && i64::from(week.first) < hour;
        let cell = if is_known { week } else { day };
        let count = f64::from(cell.count);
        Expected {
            difference: if cell.count > 0 {
                cell.sum / count
            } else {
                0.0
            },
            trust: if cell.count > 0 || !has_query {
                count / (count + 1.0)
            } else {
                1.0
            },
            tolerance: if is_known { 0.0 } else { UNKNOWN_TOLERANCE },
            is_known,
        }
    }

    /// Expected score in a minute, where higher scores are better. `mean` is that of the query. A session without
    /// a gold query is compared with its hour alone, and with `mean` if nothing is known of the hour.
    pub(crate) fn expected_score(&self, minute: i64, mean: f64, has_query: bool) -> f64 {
        let expected = self.expected(minute.div_euclid(60), has_query);
        let score = match (has_query, expected.trust > 0.0) {
            (true, _) => mean - expected.difference,
            (false, true) => -expected.difference,
            (false, false) => mean,
        };
        score.clamp(0.0, 1.0)
    }

    /// Adds a difference from the baseline, or from 0 for a session without a gold query. `has_old_baselines`
    /// is false while the baselines of the queries are younger than a day.
    pub(super) fn add(
        &mut self,
        hour: i64,
        difference: f64,
        has_query: bool,
        has_old_baselines: bool,
    ) {
        let cells = if has_query {
            &mut self.with_query
        } else {
            &mut self.without_query
        };
        cells.add(hour, difference, !has_query || has_old_baselines);
    }

    /// Season before a drop that began in a minute since the last call of [`clear_recent`](Self::clear_recent), and at
    /// most a week ago: without the hour of that minute and the later ones.
    pub(crate) fn before(&self, minute: i64) -> Self {
        let hour = minute.div_euclid(60);
        Self {
            with_query: self.with_query.before(hour),
            without_query: self.without_query.before(hour),
        }
    }

    /// States that no drop is suspected: the means up to now are those before a later drop.
    pub(super) fn clear_recent(&mut self) {
        self.with_query.recent.clear();
        self.without_query.recent.clear();
    }
}
