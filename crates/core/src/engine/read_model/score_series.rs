//! Scores and searches: sums since the start, and rolling means.

use super::model::ReadModel;
use crate::engine::family;
use crate::engine::score_column::{NOT_ELIGIBLE, SEARCHES, column_of};
use crate::engine::scores::{Cell, Tally};
use crate::engine::series::{Dimension, Label, Labels, Series};
use crate::engine::settings::Rolling;
use crate::event::Action;
use crate::measure::Cutoff;
use crate::measure::Documents;
use crate::number::real;

/// Series of scores: a variant, with all its searches or those with one value of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreSeries<'m> {
    /// Number of the series.
    pub series: Series,
    /// Number of the variant.
    pub label: Label,
    /// Name of the variant.
    pub variant: &'m str,
    /// Name of the slice;
    /// [`Settings::ALL_SEARCHES`](crate::engine::settings::Settings::ALL_SEARCHES) for all searches.
    pub slice: &'m str,
    /// Value of the slice; empty for all searches.
    pub value: &'m str,
    /// True for the series of all searches.
    pub is_whole: bool,
}

impl<'a> ReadModel<'a> {
    /// All series of scores, by number. Some have no searches.
    pub fn series(&self) -> impl Iterator<Item = ScoreSeries<'_>> {
        let keys = self.keys(&family::SCORE).iter().enumerate();
        keys.map(|(number, labels)| self.score_series(Series::at(number), labels))
    }

    /// Names of a series of scores; `None` for an unknown number.
    pub fn names(&self, series: Series) -> Option<ScoreSeries<'_>> {
        let labels = self.keys(&family::SCORE).get(series.index())?;
        Some(self.score_series(series, labels))
    }

    fn score_series(&self, series: Series, labels: &Labels) -> ScoreSeries<'_> {
        let [variant, slice, value, ..] = *labels;
        let position = slice.position();
        ScoreSeries {
            series,
            label: variant,
            variant: self.variant(variant),
            slice: position
                .and_then(|it| self.slice(it))
                .unwrap_or(Label::OTHER_NAME),
            value: if value == Label::EMPTY {
                ""
            } else {
                self.text(Dimension::SliceValue, value)
            },
            is_whole: position == Some(0),
        }
    }

    /// Series of scores with these names.
    pub fn find(&self, variant: &str, slice: &str, value: &str) -> Option<Series> {
        let is_named =
            |it: &ScoreSeries<'_>| (it.variant, it.slice, it.value) == (variant, slice, value);
        self.series().find(is_named).map(|it| it.series)
    }

    /// Series of all searches of each variant that has searches.
    pub fn variants(&self) -> impl Iterator<Item = ScoreSeries<'_>> {
        let whole = self.series().filter(|it| it.is_whole);
        whole.filter(|it| self.searches(it.series) > 0)
    }

    /// Searches since the start.
    pub fn searches(&self, series: Series) -> u64 {
        let row = self.tallies.get(series.index());
        row.map_or(0, |row| row[SEARCHES].count)
    }

    /// Sums of the scores of a measure since the start. `None` without a score.
    pub fn tally(&self, measure: usize, series: Series) -> Option<&'a Tally> {
        let tally = self.tallies.get(series.index())?.get(column_of(measure))?;
        (tally.count > 0).then_some(tally)
    }

    /// Absolute sum of the negative scores of a measure since the start, in units of 10⁻⁹. `None` for
    /// a measure that cannot be negative.
    pub fn negative_sum(&self, measure: usize, series: Series) -> Option<i128> {
        let scores = &self.snapshot.totals.scores;
        let position = scores.signed().binary_search(&column_of(measure)).ok()?;
        Some(scores.negative(series.index(), position))
    }

    /// Rolling sum of the scores of a measure. `None` for an empty window.
    pub fn rolling(&self, measure: usize, series: Series, window: usize) -> Option<&'a Cell> {
        self.cell(column_of(measure), series, window)
    }

    fn cell(&self, column: usize, series: Series, window: usize) -> Option<&'a Cell> {
        let row = (*self.rolling.get(window)?.get(series.index())?)?;
        row.get(column).filter(|cell| cell.count > 0)
    }

    /// Rolling mean of the scores of a measure. `None` for an empty window, and for a measure of user
    /// behaviour with fewer searches than `feedback.min_samples`: rates from few events are
    /// misleading.
    pub fn mean(&self, measure: usize, series: Series, window: usize) -> Option<f64> {
        let cell = self.rolling(measure, series, window)?;
        let is_of_users = self.settings.measures[measure].is_user_measure();
        let is_enough = !is_of_users || cell.count >= self.settings.min_samples;
        is_enough.then(|| cell.mean())?
    }

    /// Range of the rolling mean over all grades of the unjudged results: the mean, in which they are not
    /// relevant, and the mean if all of them were relevant. `None` where the mean is `None`, for a measure
    /// without a counted range, and for a series whose rolling scores are not exposed.
    pub fn range(&self, measure: usize, series: Series, window: usize) -> Option<[f64; 2]> {
        let is_counted = match self.settings.rolling {
            Rolling::All => true,
            Rolling::Whole => self.names(series).is_some_and(|it| it.is_whole),
            Rolling::None => false,
        };
        if !is_counted || !self.settings.has_range(measure) {
            return None;
        }
        let cell = self.rolling(measure, series, window)?;
        let rows = self.unjudged.get(window);
        let row = rows.and_then(|rows| *rows.get(series.index())?);
        let difference = row.and_then(|row| row.get(column_of(measure)));
        let relevant = Cell {
            count: cell.count,
            sum: cell.sum + difference.map_or(0, |cell| cell.sum),
        };
        let (mean, relevant) = (cell.mean()?, relevant.mean()?);
        Some([mean.min(relevant), mean.max(relevant)])
    }

    /// Searches per second of event time in a window. `None` without searches.
    pub fn searches_per_second(&self, series: Series, window: usize) -> Option<f64> {
        let cell = self.cell(SEARCHES, series, window)?;
        let length = self.settings.windows.get(window)?.length;
        Some(real(cell.count) / length.as_secs_f64())
    }

    /// Share of the eligible searches in a window whose query is in the gold set. `None` without
    /// eligible searches.
    pub fn gold_coverage(&self, series: Series, window: usize) -> Option<f64> {
        let all = self.cell(SEARCHES, series, window)?;
        let others = self.cell(NOT_ELIGIBLE, series, window);
        let eligible = Cell {
            count: all.count - others.map_or(0, |others| others.count),
            sum: all.sum,
        };
        eligible.mean()
    }

    /// Cutoffs at which documents are counted, ascending.
    pub fn cutoffs(&self) -> &'a [Cutoff] {
        self.snapshot.totals.scores.cutoffs()
    }

    /// Documents of judged searches by cutoff, for each series of scores. Trailing series may be
    /// missing.
    pub fn documents(&self) -> impl Iterator<Item = &'a [Documents]> {
        self.snapshot.totals.scores.document_rows()
    }

    /// Searches of a variant that reported an error, since the start.
    pub fn errors(&self, variant: Label) -> u64 {
        self.sum(&family::SEARCH_ERRORS, |[of, ..]| *of == variant)
    }

    /// Joined feedback events of a variant since the start, by action.
    pub fn feedback(&self, variant: Label) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.counts(&family::FEEDBACK);
        let counts = counts.filter(move |(_, [_, of, ..], _)| *of == variant);
        counts.filter_map(|(_, [action, ..], units)| {
            let name = Action::NAMES.get(action.position()?)?;
            Some((*name, u64::try_from(units).unwrap_or(u64::MAX)))
        })
    }
}
