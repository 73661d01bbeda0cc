//! Tests of experiments: a variant against its control, the split of the traffic, and interleaved
//! rankings. Each reads one JSON object per line, and prints the evidence after each and a summary.

use std::io::{BufRead, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{Assignment, Test, TestArguments};
use super::record::{Lines, Place, id_of, millis_of};
use super::step::{self, Summary, line};
use crate::cli::failure::Failure;
use rankgauge_core::detection::{Preference, SplitTest, VariantTest, log_threshold};

/// Milliseconds per hour.
const HOUR: i64 = 3_600_000;

/// Output line after an event.
#[derive(Serialize)]
struct Step {
    n: u64,
    /// `None` without evidence: an arm has fewer than 100 buckets in use.
    log_evidence: Option<f64>,
}

/// Summary of a test, with the keys of its own.
#[derive(Serialize)]
struct Report<T> {
    summary: WithOwn<T>,
}

#[derive(Serialize)]
struct WithOwn<T> {
    #[serde(flatten)]
    summary: Summary,
    #[serde(flatten)]
    own: T,
}

/// Test of events in their order.
trait UnitTest {
    /// Event of a line.
    type Line: DeserializeOwned;
    /// Keys of the summary.
    type Own: Serialize;
    /// Description of a valid line.
    const EXPECTED: &'static str;

    /// Adds an event. Returns the log evidence if there is any.
    fn add(&mut self, line: Self::Line) -> Result<Option<f64>, String>;

    /// Ends the input. Returns the log evidence if it changed.
    fn end(&mut self) -> Option<f64> {
        None
    }

    /// Takes the number of the first event with an alarm, and returns the keys of the summary.
    fn own(&self, crossed_at: Option<u64>) -> Self::Own;
}

/// Runs a test of events with units.
pub(super) fn run(
    input: impl BufRead,
    arguments: &TestArguments,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let shares = arguments.shares()?;
    match arguments.test {
        Test::Target | Test::Drop => Ok(()),
        Test::Experiment => replay(
            Experiment {
                test: VariantTest::default(),
                split: SplitTest::new(shares),
                counted: 0,
                alpha: arguments.alpha,
                assignment: arguments.assignment,
            },
            input,
            arguments,
            output,
        ),
        Test::Split => replay(SplitTest::new(shares), input, arguments, output),
        Test::Interleaving => replay(Interleaving::default(), input, arguments, output),
    }
}

fn replay<T: UnitTest>(
    mut test: T,
    input: impl BufRead,
    arguments: &TestArguments,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let mut summary = Summary::new(arguments.test, log_threshold(arguments.alpha));
    let mut lines = Lines::new("standard input", input);
    let mut last = None;
    while let Some((place, event)) = lines.next_object::<T::Line>(T::EXPECTED)? {
        let added = test.add(event).map_err(|what| wrong::<T>(&place, &what))?;
        last = added.or(last);
        summary.scores += 1;
        if let Some(log_evidence) = added {
            summary.take(&step::Step {
                n: summary.scores,
                log_evidence,
                ts: None,
            });
        }
        let step = Step {
            n: summary.scores,
            log_evidence: last,
        };
        if !line(output, &step)? {
            return Ok(());
        }
    }
    if let Some(log_evidence) = test.end() {
        summary.take(&step::Step {
            n: summary.scores,
            log_evidence,
            ts: None,
        });
    }
    let own = test.own(summary.crossed_at);
    let report = Report {
        summary: WithOwn { summary, own },
    };
    line(output, &report).map(|_| ())
}

fn wrong<T: UnitTest>(place: &Place, what: &str) -> Failure {
    place.wrong(&format!("{what}; {} is expected", T::EXPECTED))
}

fn unit_of(unit: &Value) -> Result<Box<str>, String> {
    let wrong = || "`unit` is not an id: write a string or a whole number".to_owned();
    id_of(unit).ok_or_else(wrong)
}

/// Variant (arm 1) against control (arm 0).
struct Experiment {
    test: VariantTest,
    split: SplitTest,
    counted: u64,
    alpha: f64,
    assignment: Assignment,
}

#[derive(Deserialize)]
struct ExperimentLine {
    ts: Value,
    unit: Value,
    arm: usize,
    score: f64,
}

#[derive(Serialize)]
struct ExperimentSummary {
    assignment: Assignment,
    worse_at: Option<u64>,
    difference: Option<f64>,
    variance: Option<f64>,
    interval: Option<[f64; 2]>,
    counted: u64,
    split: f64,
}

impl UnitTest for Experiment {
    type Line = ExperimentLine;
    type Own = ExperimentSummary;
    const EXPECTED: &'static str =
        r#"{"ts": 1763337600000, "unit": "user-42", "arm": 1, "score": 0.8}"#;

    fn add(&mut self, line: ExperimentLine) -> Result<Option<f64>, String> {
        let ts = millis_of(&line.ts)?;
        let unit = unit_of(&line.unit)?;
        if line.arm > 1 {
            return Err(format!("arm {} is neither 0 (the control) nor 1", line.arm));
        }
        if !(0.0..=1.0).contains(&line.score) {
            return Err(format!("score {} is not from 0 to 1", line.score));
        }
        let hour = ts.div_euclid(HOUR);
        let is_counted = self.test.add(hour, &unit, line.arm, line.score);
        self.counted += u64::from(is_counted);
        self.split.add(&unit, line.arm);
        let difference = self.test.difference();
        Ok(difference.map(|it| it.log_evidence_worse(false)))
    }

    fn own(&self, crossed_at: Option<u64>) -> ExperimentSummary {
        let difference = self.test.difference();
        ExperimentSummary {
            assignment: self.assignment,
            worse_at: crossed_at,
            difference: difference.map(|it| it.difference),
            variance: difference.map(|it| it.variance),
            interval: difference.map(|it| it.interval(self.alpha)),
            counted: self.counted,
            split: self.split.log_evidence(),
        }
    }
}

#[derive(Deserialize)]
struct SplitLine {
    unit: Value,
    arm: usize,
}

#[derive(Serialize)]
struct SplitSummary {
    counted: u64,
    by_arm: Vec<u64>,
}

/// Units of the arms against their declared shares.
impl UnitTest for SplitTest {
    type Line = SplitLine;
    type Own = SplitSummary;
    const EXPECTED: &'static str = r#"{"unit": "user-42", "arm": 1}"#;

    fn add(&mut self, line: SplitLine) -> Result<Option<f64>, String> {
        let arms = self.counts().len();
        if line.arm >= arms {
            let arm = line.arm;
            return Err(format!(
                "arm {arm} has no share: --shares has {arms}, for the arms 0 to {}",
                arms - 1
            ));
        }
        Self::add(self, &unit_of(&line.unit)?, line.arm);
        Ok(Some(self.log_evidence()))
    }

    fn own(&self, _crossed_at: Option<u64>) -> SplitSummary {
        SplitSummary {
            counted: self.counts().iter().sum(),
            by_arm: self.counts().to_vec(),
        }
    }
}

/// Two interleaved rankings, A and B.
#[derive(Default)]
struct Interleaving {
    /// Session of the last line, and its credit so far.
    open: Option<(String, [u64; 2])>,
    preference: Preference,
}

#[derive(Deserialize)]
struct InterleavingLine {
    session: Value,
    teams: String,
    #[serde(default)]
    clicks: Vec<Value>,
    results: Vec<Value>,
}

#[derive(Serialize)]
struct InterleavingSummary {
    wins: u64,
    losses: u64,
    ties: u64,
    delta: f64,
}

impl InterleavingLine {
    fn credit(&self) -> Result<[u64; 2], String> {
        let teams: Vec<char> = self.teams.chars().collect();
        if teams.iter().any(|team| !team.is_ascii_uppercase()) {
            return Err(format!(
                "`teams` \"{}\" is not a letter from A to Z for each result",
                self.teams
            ));
        }
        if teams.len() != self.results.len() {
            let (letters, results) = (teams.len(), self.results.len());
            return Err(format!(
                "`teams` has {letters} letters for {results} `results`; give one for each"
            ));
        }
        let results = ids(&self.results, "results")?;
        let clicks = ids(&self.clicks, "clicks")?;
        let results = results.iter().map(|id| &**id).zip(teams);
        Ok(Preference::credit(
            results,
            clicks.iter().map(|id| &**id),
            ['A', 'B'],
        ))
    }
}

fn ids(values: &[Value], name: &str) -> Result<Vec<Box<str>>, String> {
    let ids = values.iter().map(|value| {
        id_of(value)
            .ok_or_else(|| format!("`{name}` has an id that is not a string or a whole number"))
    });
    ids.collect()
}

impl UnitTest for Interleaving {
    type Line = InterleavingLine;
    type Own = InterleavingSummary;
    const EXPECTED: &'static str = r#"{"session": "s1", "search": "1", "teams": "AB", "clicks": ["d1"], "results": ["d0", "d1"]}"#;

    fn add(&mut self, line: InterleavingLine) -> Result<Option<f64>, String> {
        let session = id_of(&line.session)
            .ok_or("`session` is not an id: write a string or a whole number")?;
        let credit = line.credit()?;
        let ended = match &mut self.open {
            Some((open, sum)) if **open == *session => {
                for (sum, more) in sum.iter_mut().zip(credit) {
                    *sum = sum.saturating_add(more);
                }
                None
            }
            _ => {
                let ended = self.end();
                self.open = Some((session.into(), credit));
                ended
            }
        };
        Ok(ended.or_else(|| Some(self.preference.log_evidence())))
    }

    fn end(&mut self) -> Option<f64> {
        let (_, credit) = self.open.take()?;
        self.preference.add(credit);
        Some(self.preference.log_evidence())
    }

    fn own(&self, _crossed_at: Option<u64>) -> InterleavingSummary {
        InterleavingSummary {
            wins: self.preference.wins,
            losses: self.preference.losses,
            ties: self.preference.ties,
            delta: self.preference.delta(),
        }
    }
}
