//! Frozen means of the queries of an incident, and their losses since.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::measure::merged;
use super::query::{IncidentQuery, MAX_QUERIES};
use super::search_loss::SearchLoss;
use crate::detection::{Baseline, Losses, minute_of, serialize_sorted};
use crate::engine::series::{Label, Series};
use crate::engine::settings::MonitoredMeasure;
use crate::time::EventTime;

/// Number of searches of a query after which a block of its current searches ends.
const BLOCK_SEARCHES: u64 = 8;

/// Minimum number of queries for a loss of all queries.
const MIN_QUERIES: usize = 20;

/// Maximum number of queries of a measure whose references are shared.
const MAX_SHARED: usize = 2_048;

/// Approximate bytes of a query, with a key of 16 bytes and its place in the map.
const BYTES_PER_QUERY: usize = size_of::<(Box<str>, QueryReference)>() + 40;

/// Mean of a query before an incident: key, mean and number of scores.
pub(in crate::engine) type SharedReference = (Box<str>, f64, u32);

/// Search that is compared with the references of open incidents.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct TrackedScore<'a> {
    pub(in crate::engine) ts: EventTime,
    pub(in crate::engine) variant: Label,
    pub(in crate::engine) series: &'a [Series],
    pub(in crate::engine) key: &'a str,
    pub(in crate::engine) value: f64,
    /// Minutes in which a query counts once.
    pub(in crate::engine) repeat_window: i64,
}

/// Frozen means of queries, by key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::engine) struct QueryReferences {
    /// Saved in the order of the keys, so that equal states have equal checkpoints.
    #[serde(serialize_with = "serialize_sorted")]
    queries: FxHashMap<Box<str>, QueryReference>,
    is_lower_better: bool,
}

/// Mean of a query before the beginning of an incident, and the losses of its last searches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct QueryReference {
    mean: f64,
    scores: u32,
    /// Last counted minute.
    last: Option<i32>,
    /// True for an hour of the day, which stands for sessions without a query.
    is_hour: bool,
    blocks: [Losses; 2],
    /// Start of the recovery of the incident, and the blocks before it.
    until_recovery: Option<(i64, [Losses; 2])>,
    /// Measures of the incident in which it was compared.
    measures: Places,
}

/// Positions of measures of an incident, as bits. A worker has at most 32 measures (`MAX_MEASURES`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Places(u32);

impl Places {
    fn add(&mut self, place: usize) {
        let place = u32::try_from(place).ok();
        self.0 |= place.and_then(|it| 1_u32.checked_shl(it)).unwrap_or(0);
    }

    /// Returns true if the positions contain this one.
    pub(super) fn has(self, place: usize) -> bool {
        let mut only = Self::default();
        only.add(place);
        self.0 & only.0 != 0
    }
}

impl FromIterator<usize> for Places {
    fn from_iter<T: IntoIterator<Item = usize>>(places: T) -> Self {
        let mut all = Self::default();
        places.into_iter().for_each(|it| all.add(it));
        all
    }
}

impl QueryReferences {
    /// Creates the references. Each query has its mean before the beginning, and the losses since then,
    /// if there were searches.
    pub(in crate::engine) fn new(
        queries: impl Iterator<Item = (Box<str>, Baseline, Option<Baseline>)>,
        is_lower_better: bool,
        is_hour: impl Fn(&str) -> bool,
    ) -> Self {
        let queries = queries.map(|(query, before, since)| {
            let mut losses = Losses::default();
            if let Some(since) = since {
                let loss = before.mean - since.mean;
                let loss = if is_lower_better { -loss } else { loss };
                for _ in 0..since.scores {
                    losses.add(loss);
                }
            }
            let reference = QueryReference {
                mean: before.mean,
                scores: before.scores,
                last: None,
                is_hour: is_hour(&query),
                blocks: [losses, Losses::default()],
                until_recovery: None,
                measures: Places::default(),
            };
            (query, reference)
        });
        Self {
            queries: queries.collect(),
            is_lower_better,
        }
    }

    /// References that another worker shared.
    pub(in crate::engine) fn shared(
        queries: &[SharedReference],
        is_lower_better: bool,
        is_hour: impl Fn(&str) -> bool,
    ) -> Self {
        let queries = queries.iter().map(|(query, mean, scores)| {
            let (mean, scores) = (mean.clamp(0.0, 1.0), *scores);
            (query.clone(), Baseline { mean, scores }, None)
        });
        Self::new(queries, is_lower_better, is_hour)
    }

    /// References to share: those with the most scores.
    pub(super) fn to_share(&self) -> Vec<SharedReference> {
        let mut queries: Vec<_> = (self.queries.iter())
            .map(|(query, it)| (query.clone(), it.mean, it.scores))
            .collect();
        queries.sort_by(|one, other| other.2.cmp(&one.2).then_with(|| one.0.cmp(&other.0)));
        queries.truncate(MAX_SHARED);
        queries
    }

    /// Counts a search. Returns the mean of its query, where higher scores are better, and false if that is the
    /// mean of an hour of the day. `None` for an unknown query, and within the repeat window of the last counted
    /// search.
    pub(super) fn count(
        &mut self,
        score: &TrackedScore<'_>,
        watched: &MonitoredMeasure,
    ) -> Option<(f64, bool)> {
        let known = self.queries.get_mut(score.key)?;
        let minute = i32::try_from(minute_of(score.ts.0)).ok()?;
        let passed = known.last.map(|last| i64::from(minute) - i64::from(last));
        if passed.is_some_and(|passed| passed < score.repeat_window) {
            return None;
        }
        known.last = Some(minute);
        Some((watched.upwards(known.mean), !known.is_hour))
    }

    /// Adds a search to those of its query: its loss is the first of its losses in measures of the incident.
    /// `recovering_since` is the start of the recovery of the incident, if the search is one of it.
    pub(super) fn add(
        &mut self,
        query: &str,
        losses: &[SearchLoss],
        recovering_since: Option<i64>,
    ) {
        let (Some(known), Some(first)) = (self.queries.get_mut(query), losses.first()) else {
            return;
        };
        for of in losses {
            known.measures.add(of.place);
        }
        let started = known.until_recovery.map(|it| it.0);
        if started != recovering_since {
            known.until_recovery = recovering_since.map(|since| (since, known.blocks));
        }
        if known.blocks[0].searches >= BLOCK_SEARCHES {
            known.blocks = [Losses::default(), known.blocks[0]];
        }
        known.blocks[0].add(first.loss);
    }

    /// Returns true if not only some queries are worse: without the quarter of the queries that lost most, the mean
    /// loss of a query, each with the same weight, is above `tolerance`. The interval has twice the width of one of
    /// 95 %, because it is examined in every minute. `None` if there are few queries.
    pub(super) fn is_loss_of_all(&self, tolerance: f64) -> Option<bool> {
        let queries = self.queries.values().filter(|it| !it.is_hour);
        if queries.clone().count() < MIN_QUERIES {
            return None;
        }
        let mut losses: Vec<f64> = queries
            .filter_map(|it| {
                let [mut losses, previous] = it.blocks;
                losses.merge(&previous);
                losses.mean()
            })
            .collect();
        if losses.len() < MIN_QUERIES {
            return Some(false);
        }
        // Sorted, so that the sum does not depend on the order of the map.
        losses.sort_by(f64::total_cmp);
        let kept = losses.len() - losses.len() / 4;
        let mut rest = Losses::default();
        losses[..kept].iter().for_each(|it| rest.add(*it));
        let rest = rest.interval()?;
        Some(2.0 * rest.lower - rest.mean > tolerance)
    }

    /// Queries that lost most, with their losses; those before the start of a recovery, if one is given.
    pub(super) fn largest_losses(&self, recovered_since: Option<i64>) -> Vec<IncidentQuery> {
        let queries = self.queries.iter().filter(|(_, it)| !it.is_hour);
        let mut lost: Vec<(f64, &Box<str>, Losses, &QueryReference)> = queries
            .filter_map(|(query, it)| {
                let before = it
                    .until_recovery
                    .filter(|(since, _)| Some(*since) == recovered_since);
                let [mut losses, previous] = before.map_or(it.blocks, |(_, blocks)| blocks);
                losses.merge(&previous);
                let lower = losses.interval_to(it.scores)?.lower;
                Some((lower, query, losses, it))
            })
            .collect();
        lost.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1)));
        lost.truncate(MAX_QUERIES);
        let lost = lost
            .into_iter()
            .map(|(_, query, losses, it)| IncidentQuery {
                query: query.clone(),
                before_sum: it.mean * f64::from(it.scores),
                before_scores: it.scores,
                losses,
                is_lower_better: self.is_lower_better,
            });
        lost.collect()
    }

    /// Means before the beginning, by query.
    pub(super) fn baselines(&self) -> Vec<(Box<str>, Baseline)> {
        let sorted: BTreeMap<_, _> = self.queries.iter().collect();
        let baselines = sorted.into_iter().map(|(query, it)| {
            let (mean, scores) = (it.mean, it.scores);
            (query.clone(), Baseline { mean, scores })
        });
        baselines.collect()
    }

    /// The same with other positions of the measures of the incident.
    pub(super) fn with_places(&self, places: &[usize]) -> Self {
        let moved = |measures: Places| -> Places {
            let known = places.iter().enumerate();
            let known = known.filter(|(place, _)| measures.has(*place));
            known.map(|(_, place)| *place).collect()
        };
        let queries = self.queries.iter().map(|(query, it)| {
            let measures = moved(it.measures);
            (query.clone(), QueryReference { measures, ..*it })
        });
        Self {
            queries: queries.collect(),
            is_lower_better: self.is_lower_better,
        }
    }

    /// Adds the references of another worker.
    pub(super) fn merge(&mut self, other: &Self) {
        let sorted: BTreeMap<_, _> = other.queries.iter().collect();
        for (query, theirs) in sorted {
            let Some(mine) = self.queries.get_mut(query) else {
                self.queries.insert(query.clone(), *theirs);
                continue;
            };
            let scores = mine.scores.saturating_add(theirs.scores).max(1);
            let sum = mine.mean * f64::from(mine.scores) + theirs.mean * f64::from(theirs.scores);
            (mine.mean, mine.scores) = (sum / f64::from(scores), scores);
            mine.last = mine.last.max(theirs.last);
            mine.until_recovery = match (mine.until_recovery, theirs.until_recovery) {
                (Some((since, mine)), Some((other, theirs))) if since == other => {
                    Some((since, merged(mine, &theirs)))
                }
                _ => None,
            };
            mine.blocks = merged(mine.blocks, &theirs.blocks);
            mine.measures.0 |= theirs.measures.0;
        }
    }

    /// Removes the references of the queries for which `is_kept` returns false. Returns the measures of the incident
    /// that have no other compared query.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) -> Places {
        let before = self.compared();
        self.queries.retain(|query, _| is_kept(query));
        Places(before.0 & !self.compared().0)
    }

    /// Measures of the incident in which any query was compared.
    fn compared(&self) -> Places {
        let queries = self.queries.values();
        Places(queries.fold(0, |all, it| all | it.measures.0))
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.queries.len() * BYTES_PER_QUERY
    }
}

#[cfg(test)]
mod tests {
    use super::{QueryReferences, SearchLoss, SharedReference};

    /// References of `queries` queries, of which the first `worse` have `searches` searches with a loss of 0.4, and
    /// the others two without one.
    fn references(queries: u32, (worse, searches): (u32, u32)) -> QueryReferences {
        let shared = (0..queries).map(|it| (format!("q{it}").into(), 0.8, 100));
        let shared: Vec<SharedReference> = shared.collect();
        let mut references = QueryReferences::shared(&shared, false, |_| false);
        for (number, (query, ..)) in (0..).zip(&shared) {
            let (loss, times) = if number < worse {
                (0.4, searches)
            } else {
                (0.0, 2)
            };
            let search = SearchLoss {
                place: 0,
                expected: 0.8,
                loss,
            };
            (0..times).for_each(|_| references.add(query, &[search], None));
        }
        references
    }

    #[test]
    fn a_loss_of_all_queries_is_not_that_of_a_few_with_many_searches() {
        let of_all =
            |queries, worse, tolerance| references(queries, worse).is_loss_of_all(tolerance);
        assert_eq!(of_all(100, (100, 2), 0.03), Some(true));
        assert_eq!(of_all(100, (60, 2), 0.03), Some(true));
        assert_eq!(of_all(100, (25, 1_000), 0.03), Some(false));
        assert_eq!(of_all(100, (5, 1_000), 0.03), Some(false));
        assert_eq!(of_all(100, (100, 2), 0.4), Some(false));
        assert_eq!(of_all(100, (100, 0), 0.03), Some(false));
        assert_eq!(of_all(19, (19, 1_000), 0.03), None);
    }
}
