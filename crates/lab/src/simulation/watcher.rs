//! Monitors of a simulated stream: the sequential tests of this library, and two common rules that
//! are not sequential tests.

use std::collections::VecDeque;

use rankgauge_core::detection::ScoreTest;

/// Monitor that evaluates every score of a stream.
pub(super) trait Monitor {
    /// Adds the value of a search, if it has one. `minute_ends` is true for the last search of a
    /// minute. Returns true to raise an alarm.
    fn see(&mut self, value: Option<f64>, minute_ends: bool) -> bool;
}

/// Sequential test of this library.
pub(super) struct Sequential {
    pub(super) test: ScoreTest,
    /// Mean under the null hypothesis.
    pub(super) mean: f64,
    /// Log evidence of an alarm.
    pub(super) threshold: f64,
}

impl Monitor for Sequential {
    fn see(&mut self, value: Option<f64>, minute_ends: bool) -> bool {
        if let Some(value) = value {
            self.test.add(value, self.mean);
        }
        if minute_ends {
            self.test.tick();
        }
        self.test.log_evidence() >= self.threshold
    }
}

/// Sums of the values of one minute, or of several minutes.
#[derive(Clone, Copy, Default)]
struct Minute {
    count: f64,
    sum: f64,
    squares: f64,
}

/// Rolling window of the last minutes.
struct Minutes {
    most: usize,
    now: Minute,
    kept: VecDeque<Minute>,
}

impl Minutes {
    fn last(most: usize) -> Self {
        Self {
            most,
            now: Minute::default(),
            kept: VecDeque::with_capacity(most + 1),
        }
    }

    fn add(&mut self, value: f64) {
        self.now.count += 1.0;
        self.now.sum += value;
        self.now.squares += value * value;
    }

    /// Ends the minute. Returns the sums over the window when the window is full.
    fn end(&mut self) -> Option<Minute> {
        self.kept.push_back(std::mem::take(&mut self.now));
        if self.kept.len() > self.most {
            self.kept.pop_front();
        }
        (self.kept.len() == self.most).then(|| {
            self.kept
                .iter()
                .fold(Minute::default(), |all, minute| Minute {
                    count: all.count + minute.count,
                    sum: all.sum + minute.sum,
                    squares: all.squares + minute.squares,
                })
        })
    }
}

/// `avg_over_time(…[5m]) < reference` with `for: 5m`, evaluated every minute.
pub(super) struct FixedThreshold {
    reference: f64,
    minutes: Minutes,
    /// Number of consecutive evaluations with a mean below the reference.
    below: u32,
}

impl FixedThreshold {
    /// Number of evaluations from the first mean below the reference to the evaluation five minutes
    /// later.
    const EVALUATIONS: u32 = 6;

    pub(super) fn below(reference: f64) -> Self {
        Self {
            reference,
            minutes: Minutes::last(5),
            below: 0,
        }
    }
}

impl Monitor for FixedThreshold {
    fn see(&mut self, value: Option<f64>, minute_ends: bool) -> bool {
        if let Some(value) = value {
            self.minutes.add(value);
        }
        if minute_ends {
            let all = self.minutes.end();
            let is_below = all.is_some_and(|all| all.sum < self.reference * all.count);
            self.below = if is_below { self.below + 1 } else { 0 };
        }
        self.below >= Self::EVALUATIONS
    }
}

/// Z-test of the mean of the last hour against the reference, evaluated every minute.
pub(super) struct PeekingZTest {
    reference: f64,
    minutes: Minutes,
}

impl PeekingZTest {
    /// 5 % quantile of the standard normal distribution.
    const CRITICAL: f64 = -1.644_853_626_951_472_7;

    pub(super) fn below(reference: f64) -> Self {
        Self {
            reference,
            minutes: Minutes::last(60),
        }
    }
}

impl Monitor for PeekingZTest {
    fn see(&mut self, value: Option<f64>, minute_ends: bool) -> bool {
        if let Some(value) = value {
            self.minutes.add(value);
        }
        let Some(all) = minute_ends.then(|| self.minutes.end()).flatten() else {
            return false;
        };
        let mean = all.sum / all.count;
        let variance = all.squares / all.count - mean * mean;
        // Without values or variance, the quotient is NaN or infinite. Both compare correctly: NaN
        // raises no alarm.
        (mean - self.reference) / (variance / all.count).sqrt() < Self::CRITICAL
    }
}
