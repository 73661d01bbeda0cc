//! Cause of a drop where results are unjudged: worse results, or more unjudged ones.
//!
//! The quality lies between the score, in which unjudged results are not relevant, and its upper bound,
//! in which they are. Both and the share of judged results have drop tests. A drop of the upper bound is
//! a drop of the quality, for any grades of the unjudged results.

use serde::{Deserialize, Serialize};

use super::comparison::Baseline;
use super::drop_series::{DropClass, DropSeries, SeriesRules};

/// Difference of a score from its upper bound, and share of unjudged results.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Unjudged {
    /// Score if every unjudged result was relevant, minus the score.
    pub difference: f64,
    /// Share of unjudged results.
    pub share: f64,
}

/// Drop tests of the upper bound of a score and of the share of judged results. They may begin at any
/// time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct UnjudgedTests {
    high: DropSeries,
    judged: DropSeries,
}

impl UnjudgedTests {
    /// Creates the tests beside that of the score, with its clock and its tolerance.
    pub(crate) fn beside(score: &DropSeries) -> Self {
        Self {
            high: score.without_evidence(),
            judged: score.without_evidence(),
        }
    }

    /// Compares a search: its score and the baseline, for both of which higher is better, with its
    /// unjudged results and those of the baseline. Without a baseline, only the clock advances.
    pub(crate) fn compare(
        &mut self,
        minute: i64,
        score: (f64, Unjudged),
        baseline: Option<(Baseline, Unjudged)>,
        rules: &SeriesRules,
    ) {
        let rules = SeriesRules {
            has_local: false,
            ..*rules
        };
        let judged_rules = SeriesRules {
            is_seasonal: false,
            ..rules
        };
        self.high.advance(minute, &rules);
        self.judged.advance(minute, &judged_rules);
        let Some((baseline, expected)) = baseline else {
            return;
        };
        let (score, unjudged) = score;
        let high = Baseline {
            mean: baseline.mean + expected.difference,
            ..baseline
        };
        let judged = Baseline {
            mean: 1.0 - expected.share,
            ..baseline
        };
        self.high
            .compare(score + unjudged.difference, Some(high), &rules);
        self.judged
            .compare(1.0 - unjudged.share, Some(judged), &judged_rules);
    }

    /// Log evidence of a drop of the upper bound, and of the share of judged results.
    pub(crate) fn log_evidence(&self) -> [f64; 2] {
        [self.high.log_evidence(), self.judged.log_evidence()]
    }

    /// Class of a drop of the score that has an alarm at `threshold`.
    pub(crate) fn class(&self, threshold: f64) -> DropClass {
        let [high, judged] = self.log_evidence().map(|it| it >= threshold);
        DropClass::of(high, judged)
    }

    /// Adds the tests of another part of the traffic.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.high.merge(&other.high);
        self.judged.merge(&other.judged);
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.high.bytes() + self.judged.bytes()
    }
}
