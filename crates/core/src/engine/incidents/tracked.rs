//! Open incident with the numbers of its series and the references of its queries.

use serde::{Deserialize, Serialize};

use super::ending::{EndReason, Ending};
use super::measure::IncidentMeasure;
use super::record::{Incident, MAX_MEASURES};
use super::reference::{QueryReferences, TrackedScore};
use super::search_loss::SearchLoss;
use crate::detection::{Season, minute_of};
use crate::engine::series::{Label, Series};
use crate::engine::settings::MonitoredMeasure;

/// Open incident with the numbers of its series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tracked {
    pub(super) incident: Incident,
    pub(super) variant: Label,
    /// Gold set that judges its ranking measures; empty without one.
    pub(super) gold: Box<str>,
    pub(super) columns: Vec<TrackedMeasure>,
}

impl Tracked {
    /// Adds a measure and slice. `begin` is the minute of the beginning of its drop, `season` that of the series
    /// now.
    pub(super) fn add(
        &mut self,
        member: IncidentMeasure,
        (series, column): (Series, usize),
        (begin, season): (i64, Option<&Season>),
        references: impl FnOnce(i64) -> QueryReferences,
    ) {
        let place = self.incident.measures.len();
        if place >= MAX_MEASURES {
            return;
        }
        self.incident.measures.push(member);
        let of_series = TrackedSeries {
            series,
            place,
            season: season.map(|it| Box::new(it.before(begin))),
        };
        match self.columns.iter_mut().find(|it| it.column == column) {
            Some(known) => known.series.push(of_series),
            None => self.columns.push(TrackedMeasure {
                column,
                series: vec![of_series],
                queries: references(begin),
            }),
        }
    }

    /// Incident with the queries that lost most now in its primary measure.
    pub(super) fn summed(&self) -> Incident {
        self.with_queries(None)
    }

    /// Ended incident with the queries that lost most at its end.
    pub(super) fn ended(&self, ending: Ending) -> Incident {
        let is_recovered = ending.by == EndReason::Recovered;
        let since = self.incident.recovering_since();
        let mut incident = self.with_queries(since.filter(|_| is_recovered));
        incident.end(ending);
        incident
    }

    fn with_queries(&self, recovered_since: Option<i64>) -> Incident {
        let mut incident = self.incident.clone();
        let of_primary = |it: &&TrackedMeasure| it.series.iter().any(|it| it.place == 0);
        if let Some(primary) = self.columns.iter().find(of_primary) {
            incident.queries = primary.queries.largest_losses(recovered_since);
        }
        incident
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.incident.merge(&other.incident);
        // Other workers would refuse a record with more measures, and `Places` has no bits for them.
        self.incident.measures.truncate(MAX_MEASURES);
        if self.gold.is_empty() {
            self.gold.clone_from(&other.gold);
        }
        // The merged record has every measure of both, the own ones first.
        let places: Vec<usize> = (other.incident.measures.iter())
            .map(|it| self.incident.place_of(it.name()))
            .collect();
        let moved = |of: &TrackedSeries| {
            Some(TrackedSeries {
                place: *places.get(of.place)?,
                ..of.clone()
            })
        };
        for theirs in &other.columns {
            let queries = theirs.queries.with_places(&places);
            let Some(mine) = self
                .columns
                .iter_mut()
                .find(|it| it.column == theirs.column)
            else {
                let series = theirs.series.iter().filter_map(moved);
                self.columns.push(TrackedMeasure {
                    series: series.collect(),
                    column: theirs.column,
                    queries,
                });
                continue;
            };
            for of in &theirs.series {
                match mine.series.iter_mut().find(|it| it.series == of.series) {
                    Some(known) if known.season.is_none() => known.season.clone_from(&of.season),
                    Some(_) => {}
                    None => mine.series.extend(moved(of)),
                }
            }
            mine.queries.merge(&queries);
        }
    }
}

/// Measure of an open incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TrackedMeasure {
    pub(super) column: usize,
    pub(super) series: Vec<TrackedSeries>,
    pub(super) queries: QueryReferences,
}

impl TrackedMeasure {
    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let seasons = self.series.iter().filter_map(|it| it.season.as_ref());
        self.queries.bytes() + seasons.map(|it| it.bytes()).sum::<usize>()
    }
}

/// Series of a measure of an open incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TrackedSeries {
    pub(super) series: Series,
    /// Position among the measures of the incident.
    pub(super) place: usize,
    /// Season before the beginning of the drop, for measures that have one: later it learns the drop.
    pub(super) season: Option<Box<Season>>,
}

impl TrackedSeries {
    /// Compares a search of a query with the mean `mean`. `has_query` is false for the mean of an hour of the day.
    pub(super) fn compare(
        &self,
        score: &TrackedScore<'_>,
        (mean, has_query): (f64, bool),
        watched: &MonitoredMeasure,
    ) -> SearchLoss {
        let minute = minute_of(score.ts.0);
        let season = self.season.as_deref();
        let expected = season.map_or(mean, |it| it.expected_score(minute, mean, has_query));
        SearchLoss {
            place: self.place,
            expected,
            loss: expected - watched.upwards(score.value),
        }
    }
}
