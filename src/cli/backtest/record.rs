//! Recorded scores, one JSON object per line: `{"ts": time, "query": id, "score": x}`,
//! `{"score": x}`, `{"score": x, "baseline": b}` or `{"tick": true}`. Other fields are ignored: a
//! log can be used unchanged.

use std::fmt;
use std::io::{BufRead, Read as _};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::anyhow;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cli::failure::Failure;
use rankgauge_core::event::deserialize_time;
use rankgauge_core::text;

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
    Search(Search),
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

/// Scores of a search with its query and its event time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Search {
    /// Event time in milliseconds since 1970.
    pub(super) ts: i64,
    /// Score, from 0 to 1.
    pub(super) score: f64,
    /// Score if every unjudged result was relevant.
    pub(super) high: Option<f64>,
    /// Share of judged results.
    pub(super) judged: Option<f64>,
    /// Id of the gold query. `None` for a session without one.
    pub(super) query: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct Line {
    score: Option<f64>,
    score_high: Option<f64>,
    judged: Option<f64>,
    baseline: Option<f64>,
    tick: Option<bool>,
    ts: Option<Value>,
    query: Option<Value>,
    session: Option<Value>,
}

/// Event time, and the id of the gold query if there is one.
type TimeAndQuery = (i64, Option<Arc<str>>);

impl Line {
    /// Returns the event time and the id of the query, if the line has a time, and a query or a
    /// session.
    fn search(&self) -> Option<Result<TimeAndQuery, String>> {
        let ts = self.ts.as_ref()?;
        let query = self.query.as_ref();
        let unit = query.or(self.session.as_ref())?;
        Some(millis_of(ts).and_then(|ts| {
            let id = id_of(unit).ok_or_else(|| {
                let name = if query.is_some() { "query" } else { "session" };
                format!("`{name}` is not the id of a {name}: write a string or a whole number")
            })?;
            Ok((ts, query.map(|_| id.into())))
        }))
    }
}

/// Returns an id that is a string or a whole number of 64 bits. Other numbers are rounded when they are parsed.
pub(super) fn id_of(value: &Value) -> Option<Box<str>> {
    match value {
        Value::String(id) => Some(id.as_str().into()),
        Value::Number(id) if id.is_u64() || id.is_i64() => Some(id.to_string().into()),
        _ => None,
    }
}

/// Returns the milliseconds of a time, which is read as in events. Fractions of a millisecond are dropped.
pub(super) fn millis_of(ts: &Value) -> Result<i64, String> {
    let fraction = ts.as_f64().filter(|_| ts.is_f64());
    // Exact for every whole number that a float holds without a fraction.
    let whole: Option<i64> = fraction.and_then(|it| format!("{:.0}", it.floor()).parse().ok());
    let whole = whole.map(Value::from);
    let time = deserialize_time(whole.as_ref().unwrap_or(ts));
    time.map(|time| time.0)
        .map_err(|error| format!("`ts`: {error}"))
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

/// Lines of an input.
pub(super) struct Lines<R> {
    input: R,
    place: Place,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(file: &str, input: R) -> Self {
        Self {
            input,
            place: Place::new(&Rc::from(file), 0),
            line: Vec::new(),
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
            if !text::without_mark(&self.line).trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// Returns the object of the next line that is not empty, with its place. `None` at the end of
    /// the input.
    pub(super) fn next_object<T: DeserializeOwned>(
        &mut self,
        expected: &str,
    ) -> Result<Option<(Place, T)>, Failure> {
        if !self.next_line()? {
            return Ok(None);
        }
        let wrong = |what: &str| Err(self.place.wrong(&format!("{what}; {expected}")));
        let text = match text::decode(&self.line) {
            Ok(text) => text.trim_start(),
            Err(error) => return wrong(&error.to_string()),
        };
        if !text.starts_with('{') {
            return wrong("not a JSON object");
        }
        match serde_json::from_str(text) {
            Ok(object) => Ok(Some((self.place.clone(), object))),
            Err(error) => {
                let error = error.to_string();
                // serde_json sees one line at a time, so its line number is always 1.
                wrong(error.split(" at line ").next().unwrap_or_default())
            }
        }
    }
}

/// Iterator over the records of an input. It ends after the first error.
pub(super) struct Records<R> {
    lines: Lines<R>,
    ended: bool,
}

/// Returns a number from 0 to 1. Accepts rounding errors up to [`ROUNDING_TOLERANCE`].
fn part(place: &Place, number: f64, name: &str) -> Result<f64, Failure> {
    let clamped = number.clamp(0.0, 1.0);
    if (number - clamped).abs() <= ROUNDING_TOLERANCE {
        return Ok(clamped);
    }
    Err(place.wrong(&format!(
        "{name} {number} is not from 0 to 1; rescale the measure first"
    )))
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(file: &str, input: R) -> Self {
        Self {
            lines: Lines::new(file, input),
            ended: false,
        }
    }

    fn record(place: &Place, line: &Line) -> Result<Record, Failure> {
        let wrong = |what: &str| Err(place.wrong(what));
        let part_of = |number: Option<f64>, name| {
            let part = number.map(|number| part(place, number, name));
            part.transpose()
        };
        if let (Some(score), None, None | Some(false)) = (line.score, line.baseline, line.tick)
            && let Some(search) = line.search()
        {
            return match search {
                Ok((ts, query)) => Ok(Record::Search(Search {
                    ts,
                    score: part(place, score, "score")?,
                    high: part_of(line.score_high, "score_high")?,
                    judged: part_of(line.judged, "judged")?,
                    query,
                })),
                Err(what) => wrong(&format!("{what}; {EXPECTED}")),
            };
        }
        match (line.score, line.baseline, line.tick) {
            (Some(score), baseline, None | Some(false)) => Ok(Record::Score {
                score: part(place, score, "score")?,
                baseline: part_of(baseline, "baseline")?,
            }),
            (None, None, Some(true)) => Ok(Record::Tick),
            (Some(_), _, Some(true)) => wrong("both a score and a tick; write two lines"),
            (None, Some(_), _) => wrong("a baseline without a score"),
            (None, None, None | Some(false)) => {
                wrong(&format!("neither a score nor a tick; {EXPECTED}"))
            }
        }
    }
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = Result<PlacedRecord, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let found = match self.lines.next_object::<Line>(EXPECTED) {
            Ok(None) => {
                self.ended = true;
                return None;
            }
            Ok(Some((place, line))) => Self::record(&place, &line).map(|record| PlacedRecord {
                ts: match &record {
                    Record::Search(search) => Some(search.ts),
                    Record::Score { .. } | Record::Tick => None,
                },
                record,
                place,
            }),
            Err(wrong) => Err(wrong),
        };
        self.ended = found.is_err();
        Some(found)
    }
}
