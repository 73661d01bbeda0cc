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
    fn add(&mut self, difference: f64) {
        if self.count < MAX_COMPARISONS {
            self.count += 1;
            self.sum += difference;
        }
    }
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

/// Means by hour of the week and of the day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Season {
    week: Vec<Cell>,
    day: Vec<Cell>,
}

impl Default for Season {
    fn default() -> Self {
        Self {
            week: vec![Cell::default(); HOURS_OF_WEEK],
            day: vec![Cell::default(); HOURS_OF_DAY],
        }
    }
}

/// Position of an hour (since 1970) in a period.
fn place(hour: i64, period: usize) -> usize {
    let period = i64::try_from(period).unwrap_or(1);
    usize::try_from(hour.rem_euclid(period)).unwrap_or_default()
}

impl Season {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + (self.week.len() + self.day.len()) * size_of::<Cell>()
    }

    /// Returns true if differences from -1 to 1 can have these sums.
    pub(super) fn is_possible(&self) -> bool {
        let is_cell = |it: &Cell| {
            let most = f64::from(it.count) + 1.0;
            it.count <= MAX_COMPARISONS && (-most..=most).contains(&it.sum)
        };
        self.week.len() == HOURS_OF_WEEK
            && self.day.len() == HOURS_OF_DAY
            && self.week.iter().chain(&self.day).all(is_cell)
    }

    /// Expected difference in an hour. `has_query` is false for a session without a gold query.
    pub(super) fn expected(&self, hour: i64, has_query: bool) -> Expected {
        let week = self.week.get(place(hour, HOURS_OF_WEEK));
        let day = self.day.get(place(hour, HOURS_OF_DAY));
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

    /// Adds a difference from the baseline. `of_week` is false while the baselines of the queries
    /// are younger than a day.
    pub(super) fn add(&mut self, hour: i64, difference: f64, of_week: bool) {
        if of_week && let Some(cell) = self.week.get_mut(place(hour, HOURS_OF_WEEK)) {
            if cell.count == 0 {
                cell.first = i32::try_from(hour).unwrap_or(i32::MAX);
            }
            cell.add(difference);
        }
        if let Some(cell) = self.day.get_mut(place(hour, HOURS_OF_DAY)) {
            cell.add(difference);
        }
    }
}
