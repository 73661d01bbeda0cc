//! Per-query scores of one run: from an evaluation, or from lines as `trec_eval -q` and `ir_measures -q`
//! print them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufRead, Read as _};

use super::error::{CompareError, listed};
use crate::evaluate::RunEvaluation;
use rankgauge_core::measure::{Mean, Measure};
use rankgauge_core::text::{self, TextError};

/// Scores of one run by query.
#[derive(Clone, Debug, PartialEq)]
pub struct RunScores {
    /// Name of the run.
    pub name: String,
    /// Names of the measures.
    pub measures: Vec<String>,
    /// Scores by query id, each in the order of the measures; `None` if a query has no score.
    pub queries: BTreeMap<String, Vec<Option<f64>>>,
}

/// Scores by one measure of each query that all runs have a score for, one of each run.
pub(super) fn rows_in_all(runs: &[RunScores], measure: usize) -> Vec<Vec<f64>> {
    let queries = runs.first().into_iter().flat_map(|run| run.queries.keys());
    let row = |query: &String| -> Option<Vec<f64>> {
        let scores = runs.iter().map(|run| {
            let scores = run.queries.get(query)?;
            scores.get(measure).copied()?
        });
        scores.collect()
    };
    queries.filter_map(row).collect()
}

/// Error in a file of scores, with its place.
#[derive(Debug, thiserror::Error)]
#[error("{file}{}: {problem}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ScoreFileError {
    /// Path of the file.
    pub file: String,
    /// Line number, from 1; `None` if the error concerns the whole file.
    pub line: Option<u64>,
    /// Description of the error.
    pub problem: ScoreFileProblem,
}

/// Kinds of errors in a file of scores.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum ScoreFileProblem {
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error(
        "the file is empty; expected lines of `measure query score`, as `trec_eval -q` prints, or of \
         `query measure score`, as `ir_measures -q`"
    )]
    Empty,
    #[error(
        "there are only `all` lines, and means cannot be paired; write the file with `trec_eval -q` or \
         `ir_measures -q`"
    )]
    OnlySummaries,
    #[error("the line is longer than {MAX_LINE_BYTES} bytes; is this a file of scores?")]
    LongLine,
    #[error("{0}")]
    NotUtf8(TextError),
    #[error("{found} columns instead of three: `measure query score`, separated by white space")]
    Columns { found: usize },
    #[error("not a JSON line of ir_measures, with query_id, measure and value: {0}")]
    Json(serde_json::Error),
    #[error("the score `{0}` is not a finite number")]
    NotANumber(String),
    #[error("`{measure}` of query `{query}` is already on line {first}; remove one")]
    Repeated {
        measure: String,
        query: String,
        first: u64,
    },
}

/// Maximum length of a line in bytes. Longer lines are rejected. Names and ids are far shorter, and
/// the limit bounds memory.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// Query id on lines about all queries.
const ALL: &str = "all";

/// Lines of trec_eval without a number.
const WITHOUT_NUMBER: [&str; 2] = ["runid", "relstring"];

/// Order of the columns before the score.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// As trec_eval: `measure query`.
    MeasureFirst,
    /// As ir_measures: `query measure`.
    QueryFirst,
}

impl Layout {
    /// Recognises the layout by a line: the other column is no measure, or is about all queries.
    fn of(first: &str, second: &str) -> Self {
        let is_measure = |name: &str| Measure::parse_list(name).is_ok();
        let is_query_first = second != ALL && !is_measure(first) && is_measure(second);
        if is_query_first {
            Self::QueryFirst
        } else {
            Self::MeasureFirst
        }
    }
}

/// Line of `ir_measures --output_format jsonl`.
#[derive(serde::Deserialize)]
struct JsonLine<'a> {
    #[serde(borrow)]
    query_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    measure: Cow<'a, str>,
    value: f64,
}

impl RunScores {
    /// Scores of an evaluated run. `measures` are the measures of the evaluation.
    pub fn of(run: &RunEvaluation, measures: &[String]) -> Self {
        let queries = run.queries.iter();
        Self {
            name: run.name.clone(),
            measures: measures.to_vec(),
            queries: queries
                .map(|query| (query.key.clone(), query.scores.clone()))
                .collect(),
        }
    }

    /// Reads lines of `measure query score` or `query measure score`, or JSON lines of ir_measures. Empty
    /// lines and those without a number are skipped, as is the last score of a measure about `all`
    /// queries: one before it belongs to a query of this name. `file` is the name used in errors.
    ///
    /// # Errors
    /// Returns the first invalid line.
    pub fn read(name: &str, file: &str, mut source: impl BufRead) -> Result<Self, ScoreFileError> {
        let mut reader = Reader::default();
        let mut line = Vec::new();
        let mut number = 0;
        loop {
            number += 1;
            line.clear();
            let wrong = |problem| ScoreFileError {
                file: file.to_owned(),
                line: Some(number),
                problem,
            };
            let read = source
                .by_ref()
                .take(MAX_LINE_BYTES + 1)
                .read_until(b'\n', &mut line);
            // A read error has no line number.
            let read = read.map_err(|problem| ScoreFileError {
                line: None,
                ..wrong(problem.into())
            })?;
            if read == 0 {
                break;
            }
            if u64::try_from(read).is_ok_and(|read| read > MAX_LINE_BYTES) {
                return Err(wrong(ScoreFileProblem::LongLine));
            }
            reader.line(number, &line).map_err(wrong)?;
        }
        let empty = |problem| ScoreFileError {
            file: file.to_owned(),
            line: None,
            problem,
        };
        let is_summarised = !reader.summaries.is_empty();
        reader
            .add_query_named_all()
            .map_err(|problem| ScoreFileError {
                file: file.to_owned(),
                line: None,
                problem,
            })?;
        if reader.lines_of.is_empty() {
            return Err(empty(if is_summarised {
                ScoreFileProblem::OnlySummaries
            } else {
                ScoreFileProblem::Empty
            }));
        }
        Ok(reader.scores(name))
    }

    /// Reorders the columns to `names`, all of which are measures of this run, and removes queries
    /// that have no score left.
    fn keep(&mut self, names: &[String]) {
        let place = |name: &String| self.measures.iter().position(|known| known == name);
        let columns: Vec<usize> = names.iter().filter_map(place).collect();
        self.queries.retain(|_, scores| {
            *scores = columns.iter().map(|column| scores[*column]).collect();
            scores.iter().any(Option::is_some)
        });
        self.measures = names.to_vec();
    }
}

/// Parser state: the lines read so far.
#[derive(Default)]
struct Reader {
    measures: Vec<String>,
    columns: HashMap<String, usize>,
    queries: BTreeMap<String, Vec<Option<f64>>>,
    /// Line numbers of the scores, at the same positions as the scores.
    lines_of: BTreeMap<String, Vec<u64>>,
    layout: Option<Layout>,
    /// Last scores about all queries by measure, with their lines.
    summaries: BTreeMap<String, (u64, f64)>,
    /// Scores that such scores follow: of a query that is called so.
    of_query_named_all: Vec<(u64, String, f64)>,
}

impl Reader {
    fn line(&mut self, number: u64, line: &[u8]) -> Result<(), ScoreFileProblem> {
        let text = text::decode(line).map_err(ScoreFileProblem::NotUtf8)?;
        let tabbed: Vec<&str> = text.split('\t').map(str::trim_ascii).collect();
        // Two tabs separate the columns, as trec_eval writes them, and a key can contain blanks. Other
        // lines are split at ASCII white space as in C: an ideographic space is part of an id.
        let columns = match tabbed.as_slice() {
            [measure, query, score] if ![measure, query, score].iter().any(|it| it.is_empty()) => {
                tabbed
            }
            _ => text.split_ascii_whitespace().collect(),
        };
        if text.trim_start().starts_with('{') {
            let line: JsonLine<'_> = serde_json::from_str(text).map_err(ScoreFileProblem::Json)?;
            let query = line.query_id.as_deref().unwrap_or(ALL);
            return self.add(number, &line.measure, query, line.value);
        }
        let (first, second, score) = match columns.as_slice() {
            [] => return Ok(()),
            [first, ..] if WITHOUT_NUMBER.contains(first) => return Ok(()),
            [first, second, score] => (*first, *second, *score),
            other => return Err(ScoreFileProblem::Columns { found: other.len() }),
        };
        let value: Option<f64> = score.parse().ok();
        let value = value.filter(|value| value.is_finite());
        let value = value.ok_or_else(|| ScoreFileProblem::NotANumber(excerpt(score)))?;
        match *self.layout.get_or_insert_with(|| Layout::of(first, second)) {
            Layout::MeasureFirst => self.add(number, first, second, value),
            Layout::QueryFirst => self.add(number, second, first, value),
        }
    }

    /// Adds a score, or replaces that about all queries.
    fn add(
        &mut self,
        number: u64,
        measure: &str,
        query: &str,
        value: f64,
    ) -> Result<(), ScoreFileProblem> {
        if query != ALL {
            return self.insert(number, measure, query, value);
        }
        if let Some((line, before)) = self.summaries.insert(measure.to_owned(), (number, value)) {
            let measure = measure.to_owned();
            self.of_query_named_all.push((line, measure, before));
        }
        Ok(())
    }

    /// Adds the scores of the query that is called `all`.
    fn add_query_named_all(&mut self) -> Result<(), ScoreFileProblem> {
        for (line, measure, value) in std::mem::take(&mut self.of_query_named_all) {
            self.insert(line, &measure, ALL, value)?;
        }
        Ok(())
    }

    fn insert(
        &mut self,
        number: u64,
        measure: &str,
        query: &str,
        value: f64,
    ) -> Result<(), ScoreFileProblem> {
        let column = if let Some(column) = self.columns.get(measure) {
            *column
        } else {
            self.columns.insert(measure.to_owned(), self.measures.len());
            self.measures.push(measure.to_owned());
            self.measures.len() - 1
        };
        let lines = self.lines_of.entry(query.to_owned()).or_default();
        let scores = self.queries.entry(query.to_owned()).or_default();
        if column >= scores.len() {
            scores.resize(column + 1, None);
            lines.resize(column + 1, 0);
        }
        if scores[column].is_some() {
            return Err(ScoreFileProblem::Repeated {
                measure: measure.to_owned(),
                query: query.to_owned(),
                first: lines[column],
            });
        }
        scores[column] = Some(value);
        lines[column] = number;
        Ok(())
    }

    fn scores(mut self, name: &str) -> RunScores {
        for scores in self.queries.values_mut() {
            scores.resize(self.measures.len(), None);
        }
        RunScores {
            name: name.to_owned(),
            measures: self.measures,
            queries: self.queries,
        }
    }
}

/// First characters of a text, for an error message.
fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Splits off the measures whose value of a run is another number than the mean of the scores: the tests
/// are about that mean. Returns the other measures, and one sentence for each reason.
pub(crate) fn testable(measures: Vec<String>) -> (Vec<String>, Vec<String>) {
    let (counts, others): (Vec<String>, Vec<String>) = measures
        .into_iter()
        .partition(|it| Mean::of(it) == Mean::Sum);
    let (geometric, tested): (Vec<String>, Vec<String>) = others
        .into_iter()
        .partition(|it| Mean::of(it) == Mean::Geometric);
    let mut reasons = Vec::new();
    if !counts.is_empty() {
        let counts = listed(&counts);
        reasons.push(format!(
            "counts are not measures, and are not compared: {counts}"
        ));
    }
    if !geometric.is_empty() {
        reasons.push(format!(
            "geometric means are not compared, because the tests are about arithmetic means: {}",
            listed(&geometric)
        ));
    }
    (tested, reasons)
}

/// Numbers runs that share a name, which makes names unique: `bm25`, `bm25 (2)`.
pub(super) fn make_names_unique(runs: &mut [RunScores]) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for run in runs {
        let first = run.name.clone();
        let mut number = 2_u32;
        while !taken.insert(run.name.clone()) {
            run.name = format!("{first} ({number})");
            number += 1;
        }
    }
}

/// Keeps the measures that all runs have, in the order of the first run. Returns these and one
/// sentence for each reason for which measures are left out.
pub(super) fn keep_common_measures(
    runs: &mut [RunScores],
) -> Result<(Vec<String>, Vec<String>), CompareError> {
    let sets: Vec<BTreeSet<String>> = runs
        .iter()
        .map(|run| run.measures.iter().cloned().collect())
        .collect();
    let in_all = |measure: &&String| sets.iter().all(|set| set.contains(*measure));
    let in_all_runs = runs[0].measures.iter().filter(in_all).cloned();
    let in_all_runs: Vec<String> = in_all_runs.collect();
    if in_all_runs.is_empty() {
        // The cause is a run that shares no measure with the first, else all runs together.
        let disjoint = sets.iter().position(|set| set.is_disjoint(&sets[0]));
        let other = &runs[disjoint.unwrap_or(1)];
        return Err(CompareError::NoCommonMeasure {
            a: runs[0].name.clone(),
            b: other.name.clone(),
            of_a: runs[0].measures.clone(),
            of_b: other.measures.clone(),
        });
    }
    let (common, mut warnings) = testable(in_all_runs);
    if common.is_empty() {
        return Err(CompareError::NothingToTest { reasons: warnings });
    }
    for run in runs.iter_mut() {
        let left_out = run.measures.iter().filter(|measure| !in_all(measure));
        let left_out: Vec<String> = left_out.cloned().collect();
        if !left_out.is_empty() {
            warnings.push(format!(
                "measures of `{}` that not all runs have are left out: {}",
                run.name,
                listed(&left_out)
            ));
        }
        run.keep(&common);
    }
    Ok((common, warnings))
}
