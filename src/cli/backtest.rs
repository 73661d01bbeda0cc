//! `rankgauge backtest`: a regression test on recorded scores, or a simulation of the test on
//! similar scores.

mod arguments;
mod events;
mod promise;
mod record;
mod sidecar;
mod simulation;

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde::Serialize;

use super::failure::Failure;
use super::output::Format;
use arguments::{Test, TestArguments};
use rankgauge_core::detection::{
    DropDetector, Hypothesis, TargetTest, against_baseline, minute_of,
};
use record::{PlacedRecord, Record, Records};
use sidecar::SidecarTest;

/// Arguments of `backtest`.
#[derive(Debug, Args)]
pub(super) struct Backtest {
    #[command(flatten)]
    test_arguments: TestArguments,
    /// Limit the evidence of the drop detector to 3 above its threshold, as the sidecar does, for a
    /// fast recovery after a drop. Always on for searches with `ts` and `query`.
    #[arg(long, conflicts_with = "simulate")]
    clamp: bool,
    #[command(flatten)]
    events: events::EventArguments,
    /// Run the test on many synthetic streams instead of standard input, and report its false-alarm
    /// rate and its delay until a drop is found.
    #[arg(long)]
    simulate: bool,
    #[command(flatten)]
    simulation: simulation::SimulationArguments,
    /// Output format of a simulation.
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "simulate")]
    format: Format,
}

/// Runs the command.
pub(super) fn run(arguments: &Backtest) -> Result<(), Failure> {
    if arguments.simulate {
        return simulation::run(
            &arguments.simulation,
            &arguments.test_arguments,
            arguments.format,
        );
    }
    if arguments.clamp && arguments.test_arguments.test == Test::Target {
        return Err(Failure::Usage(anyhow!(
            "--clamp is for --test drop: the evidence of a target is reset instead"
        )));
    }
    let mut output = BufWriter::new(std::io::stdout().lock());
    let done = if arguments.events.has_files() {
        let recorded = arguments.events.records(&arguments.test_arguments)?;
        replay(recorded.into_iter().map(Ok), arguments, &mut output)
    } else {
        let records = Records::new("standard input", std::io::stdin().lock());
        replay(records, arguments, &mut output)
    };
    // Results before an invalid line are printed.
    let flushed = finished(output.flush());
    done.and(flushed)
}

/// Converts the result of a write. A closed pipe (`| head`) is not an error.
fn finished(written: std::io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(problem) if problem.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written
            .context("the result cannot be printed")
            .map_err(Failure::Running),
    }
}

/// Output line after a score.
#[derive(Clone, Copy, Serialize)]
struct Step {
    /// Number of scores so far, including this one.
    n: u64,
    log_evidence: f64,
    /// Time of the event, in milliseconds since 1970; only for recorded events.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<i64>,
}

/// Summary in the last output line.
#[derive(Serialize)]
struct Summary {
    test: Test,
    scores: u64,
    ticks: u64,
    /// Log evidence at which the test raises an alarm.
    threshold: f64,
    /// Number of the score at which the evidence first reached the threshold.
    crossed_at: Option<u64>,
    maximum: Option<Step>,
}

impl Summary {
    fn take(&mut self, step: &Step) {
        if step.log_evidence >= self.threshold && self.crossed_at.is_none() {
            self.crossed_at = Some(step.n);
        }
        self.take_maximum(step);
    }

    fn take_maximum(&mut self, step: &Step) {
        let is_higher = |highest: Step| step.log_evidence > highest.log_evidence;
        if self.maximum.is_none_or(is_higher) {
            self.maximum = Some(*step);
        }
    }
}

/// State of one of the two tests, for scores without a time.
enum Evidence {
    Target(TargetTest),
    Drop(DropDetector),
}

/// State of the test of searches with their query and time.
struct Searches {
    test: SidecarTest,
    /// Oldest and newest minute of a search.
    minutes: Option<(i64, i64)>,
}

impl Searches {
    /// Adds a search. Returns true if the test was evaluated.
    fn add(&mut self, ts: i64, query: &str, score: f64) -> bool {
        let minute = minute_of(ts);
        let (first, newest) = self.minutes.unwrap_or((minute, minute));
        self.minutes = Some((first, newest.max(minute)));
        self.test.add(ts, query, score)
    }

    /// Number of minutes from the first search to the newest.
    fn ticks(&self) -> u64 {
        self.minutes
            .map_or(0, |(first, newest)| newest.abs_diff(first))
    }
}

impl Evidence {
    fn of(test: Test) -> Self {
        match test {
            Test::Target => Self::Target(TargetTest::default()),
            Test::Drop => Self::Drop(DropDetector::default()),
        }
    }

    fn add(&mut self, value: f64, hypothesis: Hypothesis, ceiling: f64) {
        match self {
            Self::Target(test) => test.add(value, hypothesis),
            Self::Drop(detector) => {
                detector.add(value, hypothesis);
                detector.limit(ceiling);
            }
        }
    }

    fn tick(&mut self, ceiling: f64) {
        match self {
            // The target test uses scores only, not time.
            Self::Target(_) => {}
            Self::Drop(detector) => {
                detector.tick();
                detector.limit(ceiling);
            }
        }
    }

    fn log(&self) -> f64 {
        match self {
            Self::Target(test) => test.log_evidence(),
            Self::Drop(detector) => detector.log_evidence(),
        }
    }
}

/// Runs the test on records. Prints a line for each score and a summary at the end.
fn replay(
    recorded: impl Iterator<Item = Result<PlacedRecord, Failure>>,
    arguments: &Backtest,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let test_arguments = &arguments.test_arguments;
    let tolerance = test_arguments.tolerance()?;
    let ceiling = if arguments.clamp {
        test_arguments.false_alarms().ceiling()
    } else {
        f64::INFINITY
    };
    let mut evidence = Evidence::of(test_arguments.test);
    let mut summary = Summary {
        test: test_arguments.test,
        scores: 0,
        ticks: 0,
        threshold: test_arguments.threshold(),
        crossed_at: None,
        maximum: None,
    };
    let mut searches: Option<Searches> = None;
    for recorded in recorded {
        let recorded = recorded?;
        let is_search = matches!(recorded.record, Record::Search { .. });
        if is_search && summary.scores + summary.ticks > 0 && searches.is_none()
            || !is_search && searches.is_some()
        {
            return Err(recorded.place.wrong(
                "lines with `ts` and `query` cannot be mixed with others; give both in every line",
            ));
        }
        let (log_evidence, is_evaluated) = match recorded.record {
            Record::Search { score, ts, query } => {
                if searches.is_none() {
                    let test = test_arguments.sidecar_test(&recorded.place)?;
                    let minutes = None;
                    searches = Some(Searches { test, minutes });
                }
                let Some(searches) = &mut searches else {
                    continue;
                };
                let is_evaluated = searches.add(ts, &query, score);
                summary.ticks = searches.ticks();
                (searches.test.log_evidence(), is_evaluated)
            }
            Record::Score { score, baseline } => {
                match (baseline, test_arguments.mean()) {
                    (Some(base), _) => {
                        evidence.add(against_baseline(score, base), tolerance, ceiling);
                    }
                    (None, Some(mean)) => evidence.add(score, mean, ceiling),
                    (None, None) => {
                        return Err(recorded.place.wrong(
                            "a score without a baseline; give its `baseline`, its `ts` and \
                             `query`, or the mean to test against with --m",
                        ));
                    }
                }
                (evidence.log(), true)
            }
            Record::Tick => {
                summary.ticks += 1;
                evidence.tick(ceiling);
                continue;
            }
        };
        summary.scores += 1;
        let step = Step {
            n: summary.scores,
            log_evidence,
            ts: recorded.ts,
        };
        if is_evaluated {
            summary.take(&step);
        } else {
            summary.take_maximum(&step);
        }
        if !line(output, &step)? {
            return Ok(());
        }
    }
    line(output, &BTreeMap::from([("summary", summary)])).map(|_| ())
}

/// Prints a line. Returns false if the reader has closed the pipe.
fn line(output: &mut impl Write, value: &impl Serialize) -> Result<bool, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Running(error.into()))?;
    match writeln!(output, "{text}") {
        Err(problem) if problem.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        written => finished(written).map(|()| true),
    }
}
