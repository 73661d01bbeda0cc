//! Tests of searches with their query and time, exactly as the sidecar runs them on one series.

use std::sync::Arc;

use super::record::Search;
use rankgauge_core::detection::{BlockTest, Burst, DropClass, DropTest, Part, SeriesRules};

/// One of the two tests, with its state.
pub(super) enum SidecarTest {
    /// Blocks against the target.
    Target {
        /// State of the test.
        test: BlockTest,
        /// Target.
        m: f64,
        /// Length of a block in milliseconds.
        block: i64,
    },
    /// Searches against the earlier searches of their query.
    Drop(Box<DropTests>),
}

/// Drop tests of the score, of its upper bound and of the share of judged results.
pub(super) struct DropTests {
    score: DropTest<Arc<str>>,
    high: DropTest<Arc<str>>,
    judged: DropTest<Arc<str>>,
    threshold: f64,
    /// True if a search had an upper bound or a share of judged results.
    has_range: bool,
    /// Part that the first alarm named.
    part: Option<Part>,
}

impl DropTests {
    fn add(&mut self, search: &Search) -> bool {
        let Search { ts, score, .. } = *search;
        let query = || search.query.clone();
        self.has_range |= search.high.is_some() || search.judged.is_some();
        self.high.add(ts, query(), search.high.unwrap_or(score));
        if let Some(judged) = search.judged {
            self.judged.add(ts, query(), judged);
        }
        let is_compared = self.score.add(ts, query(), score);
        if is_compared && self.part.is_none() && self.has_alarm(&self.score) {
            self.part = Some(self.score.part());
        }
        is_compared
    }

    fn has_alarm(&self, test: &DropTest<Arc<str>>) -> bool {
        test.reaches(self.threshold)
    }

    fn class(&self) -> Option<DropClass> {
        (self.has_range && self.has_alarm(&self.score))
            .then(|| DropClass::of(self.has_alarm(&self.high), self.has_alarm(&self.judged)))
    }
}

impl SidecarTest {
    /// Test of the mean against the target `m`.
    pub(super) fn target(m: f64, burst: Burst) -> Self {
        Self::Target {
            test: BlockTest::new(m),
            m,
            block: burst.block(),
        }
    }

    /// Test for a drop.
    pub(super) fn drop(rules: SeriesRules) -> Self {
        let high_rules = SeriesRules {
            has_local: false,
            ..rules
        };
        Self::Drop(Box::new(DropTests {
            score: DropTest::new(rules),
            high: DropTest::new(high_rules),
            judged: DropTest::new(rules),
            threshold: rules.threshold,
            has_range: false,
            part: None,
        }))
    }

    /// Adds a search. Returns true if the test was evaluated: a block was closed, or the search was
    /// compared. Only then, it can raise an alarm.
    pub(super) fn add(&mut self, search: &Search) -> bool {
        match self {
            Self::Target { test, block, .. } => test.add(search.ts, search.score, *block),
            Self::Drop(tests) => tests.add(search),
        }
    }

    /// Log evidence after the last search.
    pub(super) fn log_evidence(&self) -> f64 {
        match self {
            Self::Target { test, m, .. } => test.log_evidence(*m),
            Self::Drop(tests) => tests.score.log_evidence(),
        }
    }

    /// Part of the queries that the first alarm of the drop test named.
    pub(super) fn part(&self) -> Option<Part> {
        match self {
            Self::Target { .. } => None,
            Self::Drop(tests) => tests.part,
        }
    }

    /// Class of the drop after the last search. `None` without an alarm, and for searches without
    /// bounds of unjudged results.
    pub(super) fn class(&self) -> Option<DropClass> {
        match self {
            Self::Target { .. } => None,
            Self::Drop(tests) => tests.class(),
        }
    }
}
