//! Evidence of a fleet: that of each replica, and that of all replicas together.
//!
//! E-values of a drop add. Those of the other tests are averaged over the configured number of
//! replicas, or over the largest number that had evidence together within a day, if that is more: a
//! replica that is missing counts 0. A record of a replica replaces its earlier one, so nothing
//! counts twice. The result is a function of the records: all replicas compute the same numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detection::summed;
use crate::number::real;
use crate::time::{Millis, WallTime};

/// Time by which a record is older than the newest one from which on its evidence does not count. It
/// exceeds the renewal by more than clocks of replicas can differ.
const MAX_SILENCE: Millis = Millis(20 * 60_000);

/// Time for which the largest number of replicas is kept.
const TOGETHER_FOR: Millis = Millis(24 * 3_600_000);

/// Unit of the time of the largest number of replicas, so that a record without new evidence stays
/// equal.
const HOUR: i64 = 3_600_000;

/// Units of log evidence: integers are equal on all replicas.
const UNITS: f64 = 1e6;

/// Largest log evidence.
const MAX_LOG: f64 = 1e6;

/// Maximum number of tests in a record, and of records of a replica.
const MAX_TESTS: usize = 2_048;
const MAX_PARTS: usize = 8;

/// Maximum number of label values of a test, with the gold set.
const MAX_LABELS: usize = 5;

/// Test whose evidence replicas share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedTest {
    /// Scores fell below the baseline.
    Drop,
    /// The mean misses its target.
    Target,
    /// A latency, a cost or a share misses its objective.
    Objective,
    /// An arm is worse than its control.
    Difference,
    /// Units are not split as declared.
    Split,
    /// Users prefer one of two teams.
    Preference,
}

/// Name of a test: its kind, and the gold set (empty if none judges) with the values of its labels.
pub(crate) type TestName = (SharedTest, Vec<Box<str>>);

/// Evidence of one replica in one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestEvidence {
    test: SharedTest,
    labels: Vec<Box<str>>,
    reset_at: WallTime,
    /// Log evidence in millionths.
    log: i64,
}

/// Evidence of one replica, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedEvidence {
    together: Together,
    tests: Vec<TestEvidence>,
}

/// Largest number of replicas with evidence at one time, and the hour at which it was seen last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Together {
    replicas: u32,
    at: WallTime,
}

/// Name of a test, from the gold set that judges and its label values.
pub(crate) fn test_name(test: SharedTest, gold: &str, labels: &[&str]) -> TestName {
    let parts = std::iter::once(gold).chain(labels.iter().copied());
    (test, parts.map(Into::into).collect())
}

impl TestEvidence {
    /// Log evidence (ln) in a test since the last reset of its variant, 0 without one.
    pub fn new((test, labels): TestName, reset_at: WallTime, log: f64) -> Self {
        Self {
            test,
            labels,
            reset_at,
            log: to_units(log),
        }
    }
}

impl SharedEvidence {
    /// Time after which an unchanged record is written again. A live replica is never silent for longer.
    pub const RENEWAL: Millis = Millis(5 * 60_000);

    /// Evidence of a replica in parts that fit into records. `fleet` is what the replica knows of all.
    pub fn parts(tests: &[TestEvidence], fleet: &FleetEvidence) -> Vec<Self> {
        let together = fleet.together();
        let parts = tests.chunks(MAX_TESTS).take(MAX_PARTS);
        let parts = parts.map(|tests| Self {
            together,
            tests: tests.to_vec(),
        });
        parts.collect()
    }

    /// Returns true if numbers and lengths are possible.
    pub fn is_possible(&self, max_name: usize) -> bool {
        let most = to_units(MAX_LOG);
        self.tests.len() <= MAX_TESTS
            && self.tests.iter().all(|it| {
                it.labels.len() <= MAX_LABELS
                    && it.labels.iter().all(|label| label.len() <= max_name)
                    && (-most..=most).contains(&it.log)
            })
    }

    /// Latest time that the record states.
    pub fn latest(&self) -> WallTime {
        let resets = self.tests.iter().map(|it| it.reset_at);
        resets.chain([self.together.at]).max().unwrap_or_default()
    }
}

/// Records of the replicas of a fleet, by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetEvidence(BTreeMap<u64, Replica>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Replica {
    written: WallTime,
    together: Together,
    tests: BTreeMap<TestName, (WallTime, i64)>,
}

impl FleetEvidence {
    /// Replaces the record of a replica.
    pub fn put<'a>(
        &mut self,
        id: u64,
        written: WallTime,
        parts: impl IntoIterator<Item = &'a SharedEvidence>,
    ) {
        self.remove(id);
        parts.into_iter().for_each(|it| self.add(id, written, it));
    }

    /// Adds a part of the record of a replica. Of two parts with one test, that which was written later
    /// counts.
    pub fn add(&mut self, id: u64, written: WallTime, part: &SharedEvidence) {
        let replica = self.0.entry(id).or_default();
        let is_newer = written >= replica.written;
        replica.written = replica.written.max(written);
        replica.together = replica.together.max(part.together);
        for it in &part.tests {
            let name = (it.test, it.labels.clone());
            if is_newer || !replica.tests.contains_key(&name) {
                replica.tests.insert(name, (it.reset_at, it.log));
            }
        }
    }

    /// Removes a replica.
    pub fn remove(&mut self, id: u64) {
        self.0.remove(&id);
    }

    fn newest(&self) -> WallTime {
        let written = self.0.values().map(|it| it.written);
        written.max().unwrap_or_default()
    }

    fn live(&self) -> impl Iterator<Item = &Replica> {
        let newest = self.newest();
        let replicas = self.0.values();
        replicas.filter(move |it| newest.since(it.written) <= MAX_SILENCE)
    }

    fn together(&self) -> Together {
        let newest = self.newest();
        let live = Together {
            replicas: u32::try_from(self.live().count()).unwrap_or(u32::MAX),
            at: WallTime(newest.0.div_euclid(HOUR).saturating_mul(HOUR)),
        };
        let known = self.0.values().map(|it| it.together);
        let known = known.filter(|it| newest.since(it.at) <= TOGETHER_FOR);
        known.fold(live, Together::max)
    }

    /// Evidence of all replicas together, if `replicas` are configured. Of two resets of a variant, the
    /// evidence from before the later one is left out.
    pub fn combined(&self, replicas: u64) -> CombinedEvidence {
        let mut logs: BTreeMap<TestName, (WallTime, Vec<f64>)> = BTreeMap::new();
        for (name, (reset_at, log)) in self.live().flat_map(|it| &it.tests) {
            let of_test = logs.entry(name.clone()).or_default();
            if *reset_at > of_test.0 {
                *of_test = (*reset_at, Vec::new());
            }
            if *reset_at == of_test.0 {
                of_test.1.push(from_units(*log));
            }
        }
        let tests = logs.into_iter().map(|(name, (reset_at, logs))| {
            let of_test = OfTest {
                reset_at,
                sum: summed(&logs),
                largest: logs.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            };
            (name, of_test)
        });
        CombinedEvidence {
            replicas: u64::from(self.together().replicas).max(replicas).max(1),
            tests: tests.collect(),
        }
    }
}

/// Evidence of several replicas together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CombinedEvidence {
    /// Divisor of a mean over replicas.
    replicas: u64,
    tests: BTreeMap<TestName, OfTest>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct OfTest {
    reset_at: WallTime,
    /// ln of the sum of the e-values.
    sum: f64,
    largest: f64,
}

impl CombinedEvidence {
    /// Log evidence (ln) in a test. `reset_at` is the last reset of its variant that the reader knows.
    /// `None` without evidence since then.
    pub fn log_evidence(&self, name: &TestName, reset_at: WallTime) -> Option<f64> {
        let found = self.since(name, reset_at)?;
        Some(self.of_sum(name.0, found.sum))
    }

    /// Log evidence (ln) of all if one replica has `log`, and the others none.
    pub fn of_sum(&self, test: SharedTest, log: f64) -> f64 {
        match test {
            SharedTest::Drop => log,
            SharedTest::Target
            | SharedTest::Objective
            | SharedTest::Difference
            | SharedTest::Split
            | SharedTest::Preference => log - real(self.replicas.max(1)).ln(),
        }
    }

    /// ln of the sum of the e-values in a test, and ln of the largest of them.
    pub(in crate::engine) fn sum_and_largest(
        &self,
        name: &TestName,
        reset_at: WallTime,
    ) -> Option<(f64, f64)> {
        let found = self.since(name, reset_at)?;
        Some((found.sum, found.largest))
    }

    fn since(&self, name: &TestName, reset_at: WallTime) -> Option<&OfTest> {
        let found = self.tests.get(name)?;
        (found.reset_at >= reset_at).then_some(found)
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "the logarithm is limited to a million"
)]
fn to_units(log: f64) -> i64 {
    (log.clamp(-MAX_LOG, MAX_LOG) * UNITS).round() as i64
}

/// Log evidence as it is shared.
pub(in crate::engine) fn rounded(log: f64) -> f64 {
    from_units(to_units(log))
}

fn from_units(units: i64) -> f64 {
    crate::engine::fixed::units_to_f64(i128::from(units), 6)
}

#[cfg(test)]
mod tests;
