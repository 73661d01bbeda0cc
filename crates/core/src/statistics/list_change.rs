//! Change of result lists between two versions, without labels.
//!
//! It has no direction: a changed list can be better or worse. An index that is not deterministic
//! changes lists without a new version, so the change is measured against the agreement of each version
//! with itself.

use std::hash::Hash;

use rustc_hash::FxHashSet;

use crate::number::{indicator, real_length};

/// Persistence of [`rbo`] in a [`ListChange`]: the probability with which a user reads the next result.
const PERSISTENCE: f64 = 0.9;

/// Half width of a 95 % interval in standard errors.
const NORMAL_95: f64 = 1.96;

/// Excess churn from which a change is reported, and from which one query counts as changed.
const MIN_CHURN: f64 = 0.01;

/// Share of common results among the first `k` of each list, 0 to 1. Results within a list are distinct.
fn overlap<T: Eq + Hash>(one: &[T], other: &[T], k: usize) -> f64 {
    if k == 0 {
        return 0.0;
    }
    let first: FxHashSet<&T> = one.iter().take(k).collect();
    let common = other.iter().take(k).filter(|id| first.contains(id)).count();
    real_length(common) / real_length(k)
}

/// Rank-biased overlap with persistence `p` (0 < p < 1), extrapolated from the visible ranks, 0 to 1:
/// Webber, Moffat and Zobel (2010), equation 32. 1 for two empty lists, 0 if one of them is empty.
/// Results within a list are distinct.
fn rbo<T: Eq + Hash>(one: &[T], other: &[T], p: f64) -> f64 {
    let (short, long) = if one.len() > other.len() {
        (other, one)
    } else {
        (one, other)
    };
    if short.is_empty() {
        return if long.is_empty() { 1.0 } else { 0.0 };
    }
    let (length, full) = (real_length(short.len()), real_length(long.len()));
    let (mut of_short, mut of_long) = (FxHashSet::default(), FxHashSet::default());
    let (mut common, mut sum, mut weight) = (0.0, 0.0, 1.0);
    let mut common_of_short = 0.0;
    for (index, id) in long.iter().enumerate() {
        let depth = real_length(index + 1);
        weight *= p;
        if let Some(paired) = short.get(index) {
            if paired == id {
                common += 1.0;
            } else {
                common += indicator(of_long.contains(paired));
                common += indicator(of_short.contains(id));
            }
            of_short.insert(paired);
            common_of_short = common;
        } else {
            common += indicator(of_short.contains(id));
            sum += common_of_short * (depth - length) / (depth * length) * weight;
        }
        of_long.insert(id);
        sum += common / depth * weight;
    }
    let rest = (common - common_of_short) / full + common_of_short / length;
    (1.0 - p) / p * sum + rest * weight
}

/// Two lists of a query by the earlier version, and two by the later one, each in the order of time.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'a, T> {
    /// Lists of the earlier version.
    pub before: [&'a [T]; 2],
    /// Lists of the later version.
    pub after: [&'a [T]; 2],
}

impl<T: Eq + Hash> Lists<'_, T> {
    /// Agreement of each version with itself beyond that of the versions with each other, -1 to 1: 0 is
    /// expected if nothing changed.
    pub fn excess_churn(&self) -> f64 {
        let rbo = |[one, other]: [&[T]; 2]| rbo(one, other, PERSISTENCE);
        let within = f64::midpoint(rbo(self.before), rbo(self.after));
        within - rbo([self.before[0], self.after[0]])
    }

    /// Rank-biased overlap of the first list of each version.
    pub fn rbo(&self) -> f64 {
        rbo(self.before[0], self.after[0], PERSISTENCE)
    }

    /// Share of common results of the first list of each version, of the longer of them.
    pub fn overlap(&self) -> f64 {
        let [one, other] = [self.before[0], self.after[0]];
        match one.len().max(other.len()) {
            0 => 1.0,
            k => overlap(one, other, k),
        }
    }
}

/// Mean over queries, with its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueryMean {
    /// Mean.
    pub mean: f64,
    /// Standard error of the mean; 0 for fewer than two queries.
    pub standard_error: f64,
}

impl QueryMean {
    fn of(values: &[f64]) -> Self {
        let n = real_length(values.len());
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
        let variance = if values.len() < 2 {
            0.0
        } else {
            squares / (n - 1.0)
        };
        Self {
            mean,
            standard_error: (variance / n).sqrt(),
        }
    }

    /// Lower and upper end of the 95 % interval of a quantity between `lowest` and 1.
    pub fn interval(self, lowest: f64) -> [f64; 2] {
        let width = NORMAL_95 * self.standard_error;
        [self.mean - width, self.mean + width].map(|end| end.clamp(lowest, 1.0))
    }
}

/// Change of the lists of several queries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ListChange {
    /// Number of compared queries.
    pub queries: usize,
    /// Estimated share of the queries whose list changed, beyond the noise of the index; its mean is at
    /// least 0.
    pub changed: QueryMean,
    /// Share of common results.
    pub overlap: QueryMean,
    /// Rank-biased overlap.
    pub rbo: QueryMean,
    /// Excess churn.
    pub churn: QueryMean,
}

impl ListChange {
    /// Number of queries from which a change is reported.
    pub const MIN_QUERIES: usize = 50;

    /// Change over these queries; `None` without queries.
    pub fn of<'a, T: Eq + Hash + 'a>(
        queries: impl IntoIterator<Item = Lists<'a, T>>,
    ) -> Option<Self> {
        let mut values: [Vec<f64>; 4] = Default::default();
        for lists in queries {
            let churn = lists.excess_churn();
            // Without a change, churn is as often below as above 0.
            let changed = indicator(churn > MIN_CHURN) - indicator(churn < -MIN_CHURN);
            let of_query = [changed, lists.overlap(), lists.rbo(), churn];
            for (values, value) in values.iter_mut().zip(of_query) {
                values.push(value);
            }
        }
        let queries = values[0].len();
        if queries == 0 {
            return None;
        }
        let [mut changed, overlap, rbo, churn] = values.map(|it| QueryMean::of(&it));
        changed.mean = changed.mean.max(0.0);
        Some(Self {
            queries,
            changed,
            overlap,
            rbo,
            churn,
        })
    }

    /// True if the lists changed: at least [`Self::MIN_QUERIES`] queries, and churn above `MIN_CHURN` and above
    /// three standard errors.
    pub fn is_reported(&self) -> bool {
        let QueryMean {
            mean,
            standard_error,
        } = self.churn;
        self.queries >= Self::MIN_QUERIES && mean > MIN_CHURN.max(3.0 * standard_error)
    }
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn overlap_is_the_share_of_common_results_of_the_first() {
        assert!((overlap(b"abcde", b"bacfd", 3) - 1.0).abs() < 1e-9);
        assert!((overlap(b"abc", b"abdce", 5) - 0.6).abs() < 1e-9);
    }
}
