//! `rankgauge backtest`: a regression test on recorded scores, or a simulation of the test on
//! similar scores.

mod arguments;
mod events;
mod promise;
mod record;
mod sidecar;
mod simulation;
mod step;
mod units;

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;

use super::failure::Failure;
use super::input;
use super::output::{Format, stdout};
use arguments::{Test, TestArguments};
use rankgauge_core::detection::{DropClass, Part, ScoreTest};
use record::{PlacedRecord, Record, Records};
use sidecar::SidecarTest;
use step::{Step, Summary, finished, line};

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
    let test = arguments.test_arguments.test;
    if arguments.clamp && test != Test::Drop {
        return Err(Failure::Usage(anyhow!(
            "--clamp is for --test drop: the evidence of other tests is reset instead"
        )));
    }
    let is_of_units = !matches!(test, Test::Target | Test::Drop);
    if is_of_units && arguments.events.has_files() {
        return Err(Failure::Usage(anyhow!(
            "--search is for --test drop or target: give the events of other tests on standard input"
        )));
    }
    let standard_input = Path::new("-");
    let mut output = BufWriter::new(stdout());
    let done = if is_of_units {
        units::run(
            input::open(standard_input)?,
            &arguments.test_arguments,
            &mut output,
        )
    } else if arguments.events.has_files() {
        let recorded = arguments.events.records(&arguments.test_arguments)?;
        replay(recorded.into_iter().map(Ok), arguments, &mut output)
    } else {
        let records = Records::new("standard input", input::open(standard_input)?);
        replay(records, arguments, &mut output)
    };
    // Results before an invalid line are printed.
    let flushed = finished(output.flush());
    done.and(flushed)
}

/// Keys of the summary of a drop test.
#[derive(Serialize)]
struct DropSummary {
    #[serde(flatten)]
    summary: Summary,
    /// Part of the queries that the first alarm named.
    part: Option<Part>,
    /// Class of the drop at the end of the input.
    class: Option<DropClass>,
}

/// State of the test of searches with their query and time.
struct Searches {
    test: SidecarTest,
    /// Oldest and newest minute of a search.
    minutes: Option<(i64, i64)>,
}

impl Searches {
    /// Adds a search. Returns true if the test was evaluated.
    fn add(&mut self, search: &record::Search) -> bool {
        let minute = search.ts.div_euclid(60_000);
        let (first, newest) = self.minutes.unwrap_or((minute, minute));
        self.minutes = Some((first, newest.max(minute)));
        self.test.add(search)
    }

    /// Number of minutes from the first search to the newest.
    fn ticks(&self) -> u64 {
        self.minutes
            .map_or(0, |(first, newest)| newest.abs_diff(first))
    }
}

/// Runs the test on records. Prints a line for each score and a summary at the end.
fn replay(
    recorded: impl Iterator<Item = Result<PlacedRecord, Failure>>,
    arguments: &Backtest,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let test_arguments = &arguments.test_arguments;
    let ceiling = if arguments.clamp {
        test_arguments.false_alarms().ceiling()
    } else {
        f64::INFINITY
    };
    let mut test = match test_arguments.test {
        Test::Target => ScoreTest::target(),
        _ => ScoreTest::drop(ceiling),
    };
    let mut summary = Summary::new(test_arguments.test, test_arguments.threshold());
    let mut searches: Option<Searches> = None;
    for recorded in recorded {
        let recorded = recorded?;
        let is_search = matches!(recorded.record, Record::Search(_));
        if is_search && summary.scores + summary.ticks > 0 && searches.is_none()
            || !is_search && searches.is_some()
        {
            return Err(recorded.place.wrong(
                "lines with `ts` and `query` cannot be mixed with others; give both in every line",
            ));
        }
        let (log_evidence, is_evaluated) = match recorded.record {
            Record::Search(search) => {
                if search.query.is_none()
                    && test_arguments.test == Test::Drop
                    && !test_arguments.seasonal
                {
                    return Err(recorded.place.wrong(
                        "a session without a `query` is compared with its hour of the week; give \
                         --seasonal",
                    ));
                }
                if searches.is_none() {
                    let test = test_arguments.sidecar_test(&recorded.place)?;
                    let minutes = None;
                    searches = Some(Searches { test, minutes });
                }
                let Some(searches) = &mut searches else {
                    continue;
                };
                let is_evaluated = searches.add(&search);
                summary.ticks = searches.ticks();
                (searches.test.log_evidence(), is_evaluated)
            }
            Record::Score { score, baseline } => {
                match (baseline, test_arguments.m) {
                    (Some(baseline), _) => test.add(
                        ScoreTest::against_baseline(score, baseline),
                        ScoreTest::mean_after_drop(test_arguments.epsilon),
                    ),
                    (None, Some(mean)) => test.add(score, mean),
                    (None, None) => {
                        return Err(recorded.place.wrong(
                            "a score without a baseline; give its `baseline`, its `ts` and \
                             `query`, or the mean to test against with --m",
                        ));
                    }
                }
                (test.log_evidence(), true)
            }
            Record::Tick => {
                summary.ticks += 1;
                test.tick();
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
    let printed = if test_arguments.test == Test::Drop {
        let test = searches.as_ref().map(|searches| &searches.test);
        let summary = DropSummary {
            summary,
            part: test.and_then(SidecarTest::part),
            class: test.and_then(SidecarTest::class),
        };
        line(output, &BTreeMap::from([("summary", summary)]))
    } else {
        line(output, &BTreeMap::from([("summary", summary)]))
    };
    printed.map(|_| ())
}
