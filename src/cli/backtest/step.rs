//! Output lines of a backtest: the evidence after an event, and the summary.

use std::io::Write;

use serde::Serialize;

use super::arguments::Test;
use crate::cli::failure::Failure;
use crate::cli::output::printed;

/// Converts the result of a write. A closed pipe (`| head`) is not an error.
pub(super) fn finished(written: std::io::Result<()>) -> Result<(), Failure> {
    printed(written).map_err(Failure::Running)
}

/// Output line after a score.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Step {
    /// Number of scores so far, including this one.
    pub(super) n: u64,
    pub(super) log_evidence: f64,
    /// Time of the event, in milliseconds since 1970; only for recorded events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ts: Option<i64>,
}

/// Summary in the last output line.
#[derive(Serialize)]
pub(super) struct Summary {
    pub(super) test: Test,
    pub(super) scores: u64,
    pub(super) ticks: u64,
    /// Log evidence at which the test raises an alarm.
    pub(super) threshold: f64,
    /// Number of the score at which the evidence first reached the threshold.
    pub(super) crossed_at: Option<u64>,
    pub(super) maximum: Option<Step>,
}

impl Summary {
    pub(super) fn new(test: Test, threshold: f64) -> Self {
        Self {
            test,
            scores: 0,
            ticks: 0,
            threshold,
            crossed_at: None,
            maximum: None,
        }
    }

    pub(super) fn take(&mut self, step: &Step) {
        if step.log_evidence >= self.threshold && self.crossed_at.is_none() {
            self.crossed_at = Some(step.n);
        }
        self.take_maximum(step);
    }

    pub(super) fn take_maximum(&mut self, step: &Step) {
        let is_higher = |highest: Step| step.log_evidence > highest.log_evidence;
        if self.maximum.is_none_or(is_higher) {
            self.maximum = Some(*step);
        }
    }
}

/// Prints a line. Returns false if the reader has closed the pipe.
pub(super) fn line(output: &mut impl Write, value: &impl Serialize) -> Result<bool, Failure> {
    let text = serde_json::to_string(value).map_err(Failure::running)?;
    match writeln!(output, "{text}") {
        Err(problem) if problem.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        written => finished(written).map(|()| true),
    }
}
