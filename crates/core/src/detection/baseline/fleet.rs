//! Baselines of a fleet: what a worker learned itself, and what it inherited from the others.

use std::hash::Hash;

use super::{Baselines, MAX_QUERIES, QueryBaseline};
use crate::detection::comparison::Baseline;
use crate::detection::query_sums::{QuerySums, UNITS, changed, from_units, highest, to_units};
use rustc_hash::FxHashMap;

impl QueryBaseline {
    /// Replaces inherited sums by newer ones.
    fn inherit(&mut self, from: &QuerySums, to: &QuerySums) {
        let count = |scores: u32| scores.saturating_sub(from.scores).saturating_add(to.scores);
        self.scores = count(self.scores);
        self.sum = changed(self.sum, (from.sum, to.sum), self.scores);
        self.before_scores = count(self.before_scores);
        self.before_sum = changed(self.before_sum, (from.sum, to.sum), self.before_scores);
        self.own_scores = count(self.own_scores);
        self.own_sum = changed(self.own_sum, (from.sum, to.sum), self.own_scores);
        let most = highest(self.scores);
        let high = self.high_sum.saturating_sub(from.high_sum);
        self.high_sum = high.saturating_add(to.high_sum).clamp(-most, most);
        let shares = (from.unjudged_sum, to.unjudged_sum);
        self.unjudged_sum = changed(self.unjudged_sum, shares, self.scores);
    }
}

/// Part of a sum for `scores` of `all` scores.
#[allow(
    clippy::cast_possible_truncation,
    reason = "a part of a sum is not larger than the sum"
)]
fn part(sum: i64, scores: u32, all: u32) -> i64 {
    if scores == all || sum == 0 {
        return sum;
    }
    let units = from_units(i128::from(sum)) * f64::from(scores) / f64::from(all.max(1));
    (units * UNITS).round() as i64
}

impl<K: Eq + Hash + Ord + Clone> Baselines<K> {
    /// Sums that this worker learned itself, in the order of the keys. Scores from the minute `since`
    /// on, at which a drop may have begun, are left out. `frozen` has the baselines before an open
    /// incident.
    pub fn own_sums(
        &self,
        since: Option<i64>,
        frozen: impl Fn(&K) -> Option<Baseline>,
    ) -> Vec<(K, QuerySums)> {
        let own = self.queries.iter().filter_map(|(key, it)| {
            let inherited = self.inherited.get(key).copied().unwrap_or_default();
            let (sum, scores) = match (frozen(key), since) {
                (Some(before), _) => (
                    to_units(before.mean * f64::from(before.scores)),
                    before.scores,
                ),
                (None, Some(since)) if i64::from(it.last) >= since => {
                    (it.before_sum, it.before_scores)
                }
                (None, _) => (it.sum, it.scores),
            };
            let of_own = scores
                .checked_sub(inherited.scores)
                .filter(|own| *own > 0)?;
            let learned = it.scores.saturating_sub(inherited.scores);
            let part =
                |all: i64, inherited: i64| part(all.saturating_sub(inherited), of_own, learned);
            let sums = QuerySums {
                sum: changed(sum, (inherited.sum, 0), of_own),
                high_sum: part(it.high_sum, inherited.high_sum),
                unjudged_sum: part(it.unjudged_sum, inherited.unjudged_sum),
                scores: of_own,
            };
            Some((key.clone(), sums))
        });
        let mut own: Vec<(K, QuerySums)> = own.collect();
        own.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        own
    }

    /// Replaces what was inherited from other workers. Queries beyond the limit are left out.
    pub fn inherit(&mut self, sums: impl IntoIterator<Item = (K, QuerySums)>) {
        let mut before = std::mem::take(&mut self.inherited);
        let mut now = FxHashMap::default();
        for (key, sums) in sums {
            let known = before.remove(&key).unwrap_or_default();
            if self.replace_inherited(&key, &known, &sums) {
                now.insert(key, sums);
            }
        }
        #[allow(
            clippy::iter_over_hash_type,
            reason = "sums do not depend on the order"
        )]
        for (key, known) in before {
            self.replace_inherited(&key, &known, &QuerySums::default());
        }
        self.inherited = now;
    }

    /// Replaces inherited sums of a query. Returns true if the query has a baseline.
    fn replace_inherited(&mut self, key: &K, from: &QuerySums, to: &QuerySums) -> bool {
        if !self.queries.contains_key(key) {
            if to.scores == 0 || self.queries.len() >= MAX_QUERIES {
                return false;
            }
            // The worker itself has counted it never, and removes it first.
            let never = QueryBaseline {
                last: i32::MIN,
                own_last: i32::MIN,
                ..QueryBaseline::default()
            };
            self.queries.insert(key.clone(), never);
            self.number += 1;
        }
        let Some(known) = self.queries.get_mut(key) else {
            return false;
        };
        let (scores, sum) = (known.scores, known.sum);
        known.inherit(from, to);
        self.scores = self.scores - u64::from(scores) + u64::from(known.scores);
        self.sum += i128::from(known.sum) - i128::from(sum);
        if known.scores == 0 {
            self.queries.remove(key);
            self.number = self.number.saturating_sub(1);
            return false;
        }
        true
    }

    /// Number of queries with inherited sums.
    pub fn inherited_len(&self) -> usize {
        self.inherited.len()
    }
}
