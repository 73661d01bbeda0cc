//! Tests of searches with their query and time, exactly as the sidecar runs them on one series.

use rankgauge_core::detection::{
    BaselineRules, Baselines, BlockTest, Burst, DropTest, Hypothesis, against_baseline, minute_of,
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
    Drop {
        /// Baselines of the queries.
        baselines: Baselines<Box<str>>,
        /// State of the test.
        test: DropTest,
        /// Rules of the baselines.
        rules: BaselineRules,
        /// Tolerated drop.
        hypothesis: Hypothesis,
        /// Maximum evidence.
        ceiling: f64,
    },
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

    /// Test for a drop of more than `hypothesis` tolerates.
    pub(super) fn drop(hypothesis: Hypothesis, ceiling: f64, burst: Burst) -> Self {
        Self::Drop {
            baselines: Baselines::default(),
            test: DropTest::default(),
            rules: BaselineRules::of_query(burst),
            hypothesis,
            ceiling,
        }
    }

    /// Adds a search. Returns true if the test was evaluated: a block was closed, or the search was
    /// compared. Only then, it can raise an alarm.
    pub(super) fn add(&mut self, ts: i64, query: &str, score: f64) -> bool {
        match self {
            Self::Target { test, block, .. } => test.add(ts, score, *block),
            Self::Drop {
                baselines,
                test,
                rules,
                hypothesis,
                ceiling,
            } => {
                let minute = minute_of(ts);
                let key = |query: &str| query.into();
                let baseline = baselines.add(query, key, (score, minute), *rules);
                let difference = baseline.map(|baseline| against_baseline(score, baseline));
                test.add(minute, difference, *hypothesis, *ceiling);
                difference.is_some()
            }
        }
    }

    /// Log evidence after the last search.
    pub(super) fn log_evidence(&self) -> f64 {
        match self {
            Self::Target { test, m, .. } => test.log_evidence(*m),
            Self::Drop { test, .. } => test.log_evidence(),
        }
    }
}
