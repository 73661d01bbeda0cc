//! Tests of searches with their query and time, exactly as the sidecar runs them on one series.

use std::collections::HashMap;

use super::record::Search;
use rankgauge_core::detection::{
    BlockTest, Burst, DropClass, DropSeries, Part, QueryScores, SeriesRules,
};

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
    queries: HashMap<Box<str>, Scores>,
    score: DropSeries,
    high: DropSeries,
    judged: DropSeries,
    rules: SeriesRules,
    /// True if a search had an upper bound or a share of judged results.
    has_range: bool,
    /// Part that the first alarm named.
    part: Option<Part>,
}

/// Earlier scores of a query, by test.
#[derive(Default)]
struct Scores {
    score: QueryScores,
    high: QueryScores,
    judged: QueryScores,
}

impl DropTests {
    fn add(&mut self, search: &Search) -> bool {
        let Search {
            ts, score, query, ..
        } = search;
        let rules = self.rules;
        let high_rules = SeriesRules {
            has_local: false,
            ..rules
        };
        let mut scores = query.as_ref().map(|query| {
            if !self.queries.contains_key(query) {
                self.queries.insert(query.clone(), Scores::default());
            }
            self.queries.get_mut(query)
        });
        let mut scores = scores.as_mut().and_then(Option::as_mut);
        self.has_range |= search.high.is_some() || search.judged.is_some();
        let of = scores.as_deref_mut().map(|it| &mut it.high);
        let high = search.high.unwrap_or(*score);
        self.high.add(*ts, of, high, &high_rules);
        if let Some(judged) = search.judged {
            let of = scores.as_deref_mut().map(|it| &mut it.judged);
            self.judged.add(*ts, of, judged, &rules);
        }
        let of = scores.map(|it| &mut it.score);
        let is_compared = self.score.add(*ts, of, *score, &rules);
        if is_compared && self.part.is_none() && self.has_alarm(&self.score) {
            self.part = Some(self.score.part());
        }
        is_compared
    }

    fn has_alarm(&self, test: &DropSeries) -> bool {
        test.log_evidence() >= self.rules.threshold
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
        Self::Drop(Box::new(DropTests {
            queries: HashMap::new(),
            score: DropSeries::default(),
            high: DropSeries::default(),
            judged: DropSeries::default(),
            rules,
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
