//! Baselines of queries that are compared first and learned second.
//!
//! A score is compared with the mean of the earlier scores of its query, and then joins that mean.
//! The differences are recursive residuals: uncorrelated in any order of the queries. For normal
//! noise they are independent, so that bets on them keep their expectation together with the error
//! of the baseline. There is no learning phase: a query is compared from its second counted score.

mod fleet;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::hash::Hash;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize, Serializer};

use super::bets::within;
use super::comparison::{Baseline, LOCAL_WINDOWS};
use super::drop_series::SeriesRules;
use super::local::LocalBets;
use super::query_sums::{QuerySums, from_units, to_units};
use super::unjudged::Unjudged;
use crate::number::real;

/// Maximum number of queries with a baseline, for one variant and measure. If a new query exceeds
/// it, the quarter of the queries that were counted longest ago is removed. A query takes 96 bytes,
/// its key, and its place in the map: at most 240 bytes with a key of up to 32 bytes.
pub(super) const MAX_QUERIES: usize = 32_768;

/// Length in scores of the moving mean of a query. The mean is for display only.
const RECENT_SCORES: u8 = 4;

/// Baseline of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryBaseline {
    /// Sum of the scores, in units of 2⁻⁴⁴.
    sum: i64,
    /// Sum of the scores of the local part, in units of 2⁻⁴⁴.
    own_sum: i64,
    /// Sum of the scores before the drop that is being looked at, in units of 2⁻⁴⁴.
    before_sum: i64,
    /// Sum of the differences of the scores from their upper bounds, in units of 2⁻⁴⁴.
    high_sum: i64,
    /// Sum of the shares of unjudged results, in units of 2⁻⁴⁴.
    unjudged_sum: i64,
    /// Local bets on a drop of the query.
    bets: LocalBets,
    /// Number of scores in the sum before the drop.
    before_scores: u32,
    /// Number of scores in the sum of the local part.
    own_scores: u32,
    /// Last minute that the local part counted.
    own_last: i32,
    /// Moving mean of the last compared scores.
    recent: f32,
    /// Last counted minute.
    last: i32,
    /// Number of scores in the sum.
    scores: u32,
    /// Number of compared scores, up to [`RECENT_SCORES`].
    compared: u8,
}

impl QueryBaseline {
    /// Mean of the scores. `None` without scores.
    pub fn mean(&self) -> Option<f64> {
        (self.scores > 0).then(|| from_units(i128::from(self.sum)) / f64::from(self.scores))
    }

    /// Moving mean of the last four compared scores. `None` without comparisons.
    pub fn recent(&self) -> Option<f64> {
        (self.compared > 0).then(|| f64::from(self.recent))
    }

    /// Local evidence (an e-value) that the scores of the query dropped; 1 without comparisons.
    pub fn evidence(&self) -> f64 {
        self.bets.evidence()
    }

    /// Baseline of the scores that were counted before a minute from which on the scores are lower.
    /// `None` without such scores.
    pub fn before(&self, minute: i64) -> Option<Baseline> {
        let (sum, scores) = if i64::from(self.last) < minute {
            (self.sum, self.scores)
        } else {
            (self.before_sum, self.before_scores)
        };
        (scores > 0).then(|| Baseline {
            mean: from_units(i128::from(sum)) / f64::from(scores),
            scores,
        })
    }

    /// Baseline of the scores that were counted from a minute on, where [`before`](Self::before) has the
    /// earlier ones. `None` without such scores.
    pub fn since(&self, minute: i64) -> Option<Baseline> {
        let scores = self.scores.saturating_sub(self.before_scores);
        if i64::from(self.last) < minute || scores == 0 {
            return None;
        }
        let sum = self.sum.saturating_sub(self.before_sum);
        Some(Baseline {
            mean: from_units(i128::from(sum)) / f64::from(scores),
            scores,
        })
    }

    /// Means of the unjudged results of the scores.
    fn unjudged(&self) -> Unjudged {
        if (self.high_sum, self.unjudged_sum) == (0, 0) {
            return Unjudged::default();
        }
        let mean = |sum: i64| from_units(i128::from(sum)) / f64::from(self.scores.max(1));
        Unjudged {
            difference: mean(self.high_sum),
            share: mean(self.unjudged_sum),
        }
    }

    fn learn_unjudged(&mut self, unjudged: Unjudged) {
        if unjudged == Unjudged::default() {
            return;
        }
        self.high_sum = self.high_sum.saturating_add(to_units(unjudged.difference));
        self.unjudged_sum = self.unjudged_sum.saturating_add(to_units(unjudged.share));
    }

    fn baseline(&self) -> Option<Baseline> {
        let scores = self.scores;
        self.mean().map(|mean| Baseline { mean, scores })
    }

    /// Returns true if the local part counts the query in this minute.
    fn is_apart(&self, minute: i32, window: i64) -> bool {
        self.own_scores == 0 || i64::from(minute) - i64::from(self.own_last) >= window
    }

    fn own_baseline(&self) -> Option<Baseline> {
        (self.own_scores > 0).then(|| Baseline {
            mean: from_units(i128::from(self.own_sum)) / f64::from(self.own_scores),
            scores: self.own_scores,
        })
    }

    fn learn_own(&mut self, units: i64, minute: i32) {
        self.own_scores = self.own_scores.saturating_add(1);
        self.own_sum = self.own_sum.saturating_add(units);
        self.own_last = minute;
    }

    fn update_recent(&mut self, score: f64) {
        self.compared = (self.compared + 1).min(RECENT_SCORES);
        let weight = f64::from(self.compared).recip();
        let recent = f64::from(self.recent);
        self.recent = single(recent + weight * (score - recent));
    }
}

/// Baselines with which a score is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Baseline of the query.
    pub baseline: Baseline,
    /// Baseline of the query in the local part. `None` if the local part does not count the score.
    pub own: Option<Baseline>,
    /// Means of the unjudged results in the baseline of the query.
    pub unjudged: Unjudged,
}

/// Query whose score was added, with the baselines that the score is compared with.
#[derive(Debug)]
pub struct Compared<'a> {
    /// Baselines before the score.
    pub comparison: Comparison,
    query: &'a mut QueryBaseline,
    previous: (i64, u32, i32),
}

impl Compared<'_> {
    /// Baseline of the query before the drop that began at `minute`.
    pub fn before(&self, minute: i64) -> Baseline {
        let counted = i64::from(self.previous.2);
        if counted < minute {
            return self.comparison.baseline;
        }
        self.query
            .before(minute)
            .unwrap_or(self.comparison.baseline)
    }

    /// Local bets on the query.
    pub fn bets(&mut self) -> &mut LocalBets {
        &mut self.query.bets
    }

    /// Keeps the scores before the drop that began at `since`, a minute; before this score if there
    /// is none. Later scores of the drop do not change what is kept.
    pub fn keep_before(&mut self, since: Option<i64>) {
        let (sum, scores, last) = self.previous;
        if since.is_none_or(|since| i64::from(last) < since) {
            (self.query.before_sum, self.query.before_scores) = (sum, scores);
        }
    }
}

/// Baselines of the queries of one variant and measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "K: Ord + Serialize"))]
pub struct Baselines<K: Eq + Hash> {
    /// Saved in the order of the keys, so that equal states have equal checkpoints.
    #[serde(serialize_with = "serialize_sorted")]
    queries: FxHashMap<K, QueryBaseline>,
    /// Part of the sums that other workers of the fleet learned.
    #[serde(serialize_with = "serialize_sorted")]
    inherited: FxHashMap<K, QuerySums>,
    scores: u64,
    /// Sum of the scores in the baselines, in units of 2⁻⁴⁴.
    sum: i128,
    number: u64,
}

impl<K: Eq + Hash> Default for Baselines<K> {
    fn default() -> Self {
        Self {
            queries: FxHashMap::default(),
            inherited: FxHashMap::default(),
            scores: 0,
            sum: 0,
            number: 0,
        }
    }
}

impl<K: Eq + Hash + Ord + Clone> Baselines<K> {
    /// Adds a score of a query in a minute of event time. Returns the baseline with which it is
    /// compared: the mean before this score. `None` for the first score of a query, for a score
    /// within the repeat window of the last counted score, and for NaN. The local part compares a
    /// query at most once in two repeat windows. `key` makes the key of a new query.
    pub fn add<Q>(
        &mut self,
        query: &Q,
        key: impl FnOnce(&Q) -> K,
        (score, minute): (f64, i64),
        repeat_window: i64,
    ) -> Option<Compared<'_>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.add_bounded(
            query,
            key,
            (score, Unjudged::default(), minute),
            repeat_window,
        )
    }

    /// The same for a score with unjudged results.
    pub fn add_bounded<Q>(
        &mut self,
        query: &Q,
        key: impl FnOnce(&Q) -> K,
        (score, unjudged, minute): (f64, Unjudged, i64),
        repeat_window: i64,
    ) -> Option<Compared<'_>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let score = within(score)?;
        let minute = i32::try_from(minute).unwrap_or(if minute < 0 { i32::MIN } else { i32::MAX });
        let Some(known) = self.queries.get(query) else {
            self.make_room();
            let mut first = QueryBaseline {
                sum: to_units(score),
                last: minute,
                scores: 1,
                own_sum: to_units(score),
                own_scores: 1,
                own_last: minute,
                ..QueryBaseline::default()
            };
            first.learn_unjudged(unjudged);
            self.queries.insert(key(query), first);
            self.scores += 1;
            self.sum += i128::from(first.sum);
            self.number += 1;
            return None;
        };
        let passed = i64::from(minute) - i64::from(known.last);
        if passed < repeat_window {
            return None;
        }
        let known = self.queries.get_mut(query)?;
        let previous = (known.sum, known.scores, known.last);
        known.last = known.last.max(minute);
        let baseline = known.baseline()?;
        let expected = known.unjudged();
        known.update_recent(score);
        let units = to_units(score);
        let window = repeat_window.saturating_mul(LOCAL_WINDOWS);
        let own = known.own_baseline();
        let own = own.filter(|_| known.is_apart(minute, window));
        if known.is_apart(minute, window) {
            known.learn_own(units, minute);
        }
        if known.scores < SeriesRules::BASELINE_SCORES {
            known.scores += 1;
            known.sum = known.sum.saturating_add(units);
            known.learn_unjudged(unjudged);
            self.scores += 1;
            self.sum += i128::from(units);
        }
        Some(Compared {
            comparison: Comparison {
                baseline,
                own,
                unjudged: expected,
            },
            query: known,
            previous,
        })
    }

    /// Replaces the baseline of a query by `scores` scores with a mean, for example those before a drop
    /// that has ended.
    pub fn set<Q>(&mut self, query: &Q, key: impl FnOnce(&Q) -> K, baseline: Baseline)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if !self.queries.contains_key(query) {
            self.make_room();
            self.queries.insert(key(query), QueryBaseline::default());
            self.number += 1;
        }
        let Some(known) = self.queries.get_mut(query) else {
            return;
        };
        let scores = baseline.scores.clamp(1, SeriesRules::BASELINE_SCORES);
        let sum = to_units(baseline.mean.clamp(0.0, 1.0) * f64::from(scores));
        self.scores = self.scores - u64::from(known.scores) + u64::from(scores);
        self.sum += i128::from(sum) - i128::from(known.sum);
        *known = QueryBaseline {
            sum,
            scores,
            own_sum: sum,
            own_scores: scores,
            own_last: known.own_last,
            // A drop of another slice that began earlier lasts: its scores are not in the baseline.
            before_sum: sum,
            before_scores: scores,
            last: known.last,
            recent: known.recent,
            compared: known.compared,
            ..QueryBaseline::default()
        };
    }

    /// Removes the queries that were counted longest ago if there is no room for another one.
    fn make_room(&mut self) {
        if self.queries.len() < MAX_QUERIES {
            return;
        }
        let mut ages: Vec<(i32, K)> = self
            .queries
            .iter()
            .map(|(query, it)| (it.last, query.clone()))
            .collect();
        ages.sort_unstable();
        for (_, query) in ages.into_iter().take(MAX_QUERIES / 4) {
            self.remove(&query);
        }
    }

    fn remove(&mut self, query: &K) {
        self.inherited.remove(query);
        if let Some(removed) = self.queries.remove(query) {
            self.scores = self.scores.saturating_sub(u64::from(removed.scores));
            self.sum -= i128::from(removed.sum);
            self.number = self.number.saturating_sub(1);
        }
    }

    /// Removes the queries for which `is_kept` returns false.
    pub fn retain(&mut self, is_kept: impl Fn(&K) -> bool) {
        let removed: Vec<K> = (self.queries.keys())
            .filter(|query| !is_kept(query))
            .cloned()
            .collect();
        for query in removed {
            self.remove(&query);
        }
    }

    /// Number of queries with a baseline. In merged copies for exposition, a query counts once for each worker.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Number of queries that are held. 0 in a copy for exposition.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Returns true if no query is held.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Number of scores in the baselines.
    pub fn scores(&self) -> u64 {
        self.scores
    }

    /// Mean of the scores in the baselines. `None` without scores.
    pub fn mean(&self) -> Option<f64> {
        (self.scores > 0).then(|| from_units(self.sum) / real(self.scores))
    }

    /// Queries with their baselines, in any order.
    pub fn queries(&self) -> impl Iterator<Item = (&K, &QueryBaseline)> {
        self.queries.iter()
    }

    /// Adds the baselines of another part of the traffic. Counts and sums of a query add, so the
    /// result is exact and independent of order. The minute of the last count and the moving mean
    /// are those of the part that counted the query last.
    pub fn merge(&mut self, other: &Self) {
        self.scores += other.scores;
        self.sum += other.sum;
        self.number += other.number;
        #[allow(
            clippy::iter_over_hash_type,
            reason = "sums do not depend on the order"
        )]
        for (query, theirs) in &other.inherited {
            self.inherited
                .entry(query.clone())
                .or_default()
                .merge(theirs);
        }
        #[allow(
            clippy::iter_over_hash_type,
            reason = "sums and maxima do not depend on the order"
        )]
        for (query, theirs) in &other.queries {
            let Some(mine) = self.queries.get_mut(query) else {
                self.queries.insert(query.clone(), *theirs);
                continue;
            };
            self.number = self.number.saturating_sub(1);
            let display = |it: &QueryBaseline| (it.last, it.compared, it.recent.to_bits());
            if display(theirs) > display(mine) {
                (mine.last, mine.compared, mine.recent) =
                    (theirs.last, theirs.compared, theirs.recent);
            }
            mine.before_scores = mine.before_scores.saturating_add(theirs.before_scores);
            mine.before_sum = mine.before_sum.saturating_add(theirs.before_sum);
            mine.high_sum = mine.high_sum.saturating_add(theirs.high_sum);
            mine.unjudged_sum = mine.unjudged_sum.saturating_add(theirs.unjudged_sum);
            mine.own_scores = mine.own_scores.saturating_add(theirs.own_scores);
            mine.own_sum = mine.own_sum.saturating_add(theirs.own_sum);
            mine.own_last = mine.own_last.max(theirs.own_last);
            mine.scores = mine.scores.saturating_add(theirs.scores);
            mine.sum = mine.sum.saturating_add(theirs.sum);
        }
    }

    /// Returns a copy without single queries, for exposition.
    #[must_use]
    pub fn total(&self) -> Self {
        Self {
            queries: FxHashMap::default(),
            inherited: FxHashMap::default(),
            ..*self
        }
    }
}

/// Serializes a map in the order of its keys.
pub(crate) fn serialize_sorted<K: Ord + Serialize, V: Serialize, S: Serializer>(
    map: &FxHashMap<K, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let sorted: BTreeMap<&K, &V> = map.iter().collect();
    sorted.serialize(serializer)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a mean for display needs seven digits"
)]
fn single(number: f64) -> f32 {
    number as f32
}
