//! Recorded scores, one JSON object per line: `{"ts": ms, "query": id, "score": x}`,
//! `{"score": x}`, `{"score": x, "baseline": b}` or `{"tick": true}`. Other fields are ignored: a
//! log can be used unchanged.

use std::fmt;
use std::io::{BufRead, Read as _};
use std::rc::Rc;

use anyhow::anyhow;
use serde::Deserialize;
use serde_json::Value;

use crate::cli::failure::Failure;

/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Tolerance below 0 and above 1 for rounding errors.
const ROUNDING_TOLERANCE: f64 = 1e-9;

/// Description of a valid line for error messages.
const EXPECTED: &str = r#"{"ts": 1763337600000, "query": "17", "score": 0.8}, {"score": 0.8}, {"score": 0.8, "baseline": 0.9} or {"tick": true} is expected"#;

/// Record on one line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Record {
    /// Score of a search with its query and its event time, as the sidecar has it.
    Search {
        /// Score, from 0 to 1.
        score: f64,
        /// Event time in milliseconds since 1970.
        ts: i64,
        /// Id of the query.
        query: Box<str>,
    },
    /// Score of a search, and the baseline of its query if known.
    Score {
        /// Score, from 0 to 1.
        score: f64,
        /// Baseline, from 0 to 1.
        baseline: Option<f64>,
    },
    /// Passage of one minute.
    Tick,
}

#[derive(Deserialize)]
struct Line {
    score: Option<f64>,
    baseline: Option<f64>,
    tick: Option<bool>,
    ts: Option<Value>,
    query: Option<Value>,
}

impl Line {
    /// Returns the event time and the id of the query, if the line has both.
    fn search(&self) -> Option<Result<(i64, Box<str>), &'static str>> {
        let (ts, query) = self.ts.as_ref().zip(self.query.as_ref())?;
        let query = match query {
            Value::String(id) => Some(id.as_str().into()),
            Value::Number(id) => Some(id.to_string().into()),
            _ => None,
        };
        Some(match (whole_millis(ts), query) {
            (None, _) => Err("`ts` is not a time in milliseconds since 1970"),
            (_, None) => Err("`query` is not the id of a query: write a string or a number"),
            (Some(ts), Some(query)) => Ok((ts, query)),
        })
    }
}

/// Returns a time in whole milliseconds. Fractions of a millisecond are dropped.
fn whole_millis(ts: &Value) -> Option<i64> {
    ts.as_i64().or_else(|| {
        let whole = ts.as_f64()?.floor();
        // Exact for every whole number that a float holds without a fraction.
        format!("{whole:.0}").parse().ok()
    })
}

/// Record with its place and time.
#[derive(Clone, Debug)]
pub(super) struct PlacedRecord {
    pub(super) record: Record,
    pub(super) place: Place,
    /// Event time in milliseconds since 1970, if known.
    pub(super) ts: Option<i64>,
}

/// Place of a record: file and line.
#[derive(Clone, Debug)]
pub(super) struct Place {
    file: Rc<str>,
    line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Place {
    /// Place of a line in a file.
    pub(super) fn new(file: &Rc<str>, line: u64) -> Self {
        let file = Rc::clone(file);
        Self { file, line }
    }

    /// Failure of the command because of an error at this place.
    pub(super) fn wrong(&self, what: &str) -> Failure {
        Failure::Usage(anyhow!("{self}: {what}"))
    }
}

/// Iterator over the records of an input. It ends after the first error.
pub(super) struct Records<R> {
    input: R,
    place: Place,
    line: Vec<u8>,
    ended: bool,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(file: &str, input: R) -> Self {
        Self {
            input,
            place: Place::new(&Rc::from(file), 0),
            line: Vec::new(),
            ended: false,
        }
    }

    /// Reads the next line that is not empty. Returns false at the end of the input.
    fn next_line(&mut self) -> Result<bool, Failure> {
        loop {
            self.line.clear();
            self.place.line += 1;
            let mut input = self.input.by_ref().take(MAX_LINE_BYTES);
            let read = input.read_until(b'\n', &mut self.line).map_err(|problem| {
                Failure::Running(anyhow!("{} cannot be read: {problem}", self.place.file))
            })?;
            if read == 0 {
                return Ok(false);
            }
            if u64::try_from(read).unwrap_or(u64::MAX) == MAX_LINE_BYTES
                && !self.line.ends_with(b"\n")
            {
                return Err(self
                    .place
                    .wrong("a line longer than 1 MiB; give one object per line"));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn record(&self) -> Result<Record, Failure> {
        let wrong = |what: &str| Err(self.place.wrong(what));
        if !self.line.trim_ascii_start().starts_with(b"{") {
            return wrong(&format!("not a JSON object; {EXPECTED}"));
        }
        let line: Line = match serde_json::from_slice(&self.line) {
            Ok(line) => line,
            Err(error) => {
                let error = error.to_string();
                // serde_json sees one line at a time, so its line number is always 1.
                let what = error.split(" at line ").next().unwrap_or_default();
                return wrong(&format!("{what}; {EXPECTED}"));
            }
        };
        if let (Some(score), None, None | Some(false)) = (line.score, line.baseline, line.tick)
            && let Some(search) = line.search()
        {
            return match search {
                Ok((ts, query)) => Ok(Record::Search {
                    score: self.part(score, "score")?,
                    ts,
                    query,
                }),
                Err(what) => wrong(&format!("{what}; {EXPECTED}")),
            };
        }
        match (line.score, line.baseline, line.tick) {
            (Some(score), baseline, None | Some(false)) => Ok(Record::Score {
                score: self.part(score, "score")?,
                baseline: baseline.map(|it| self.part(it, "baseline")).transpose()?,
            }),
            (None, None, Some(true)) => Ok(Record::Tick),
            (Some(_), _, Some(true)) => wrong("both a score and a tick; write two lines"),
            (None, Some(_), _) => wrong("a baseline without a score"),
            (None, None, None | Some(false)) => {
                wrong(&format!("neither a score nor a tick; {EXPECTED}"))
            }
        }
    }

    /// Returns a number from 0 to 1. Accepts rounding errors up to [`ROUNDING_TOLERANCE`].
    fn part(&self, number: f64, name: &str) -> Result<f64, Failure> {
        let clamped = number.clamp(0.0, 1.0);
        if (number - clamped).abs() <= ROUNDING_TOLERANCE {
            return Ok(clamped);
        }
        Err(self.place.wrong(&format!(
            "{name} {number} is not from 0 to 1; rescale the measure first"
        )))
    }
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = Result<PlacedRecord, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let found = match self.next_line() {
            Ok(false) => {
                self.ended = true;
                return None;
            }
            Ok(true) => self.record(),
            Err(wrong) => Err(wrong),
        };
        self.ended = found.is_err();
        Some(found.map(|record| PlacedRecord {
            ts: match record {
                Record::Search { ts, .. } => Some(ts),
                Record::Score { .. } | Record::Tick => None,
            },
            record,
            place: self.place.clone(),
        }))
    }
}
