//! Per-query scores of one run: from an evaluation, or from lines as `trec_eval -q` prints them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufRead, Read as _};

use super::{CompareError, listed};
use crate::evaluate::RunEvaluation;

/// What every query of one run scored.
#[derive(Clone, Debug, PartialEq)]
pub struct RunScores {
    /// The run's name.
    pub name: String,
    /// Its measures.
    pub measures: Vec<String>,
    /// Scores by measure, by query id; `None` where a query has no score.
    pub queries: BTreeMap<String, Vec<Option<f64>>>,
}

/// What is wrong with a file of scores, and where.
#[derive(Debug, thiserror::Error)]
#[error("{file}{}: {problem}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ScoreFileError {
    /// The file.
    pub file: String,
    /// The line, from 1; `None` where it is the whole file.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: ScoreFileProblem,
}

/// What can be wrong with a file of scores.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum ScoreFileProblem {
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("the file is empty; it takes lines of `measure query score`, as `trec_eval -q` prints")]
    Empty,
    #[error(
        "there are only `all` lines, and means cannot be paired; write the file with `trec_eval -q`"
    )]
    OnlySummaries,
    #[error("the line is longer than {LONGEST_LINE} bytes; is this a file of scores?")]
    LongLine,
    #[error("not UTF-8; is this a file of scores?")]
    NotUtf8,
    #[error(
        "{found} columns where there are three, `measure query score`, separated by white space"
    )]
    Columns { found: usize },
    #[error("the score `{0}` is not a finite number")]
    NotANumber(String),
    #[error("`{measure}` of query `{query}` already stands on line {first}; remove one")]
    Repeated {
        measure: String,
        query: String,
        first: u64,
    },
}

/// Longer lines than this are refused. Names and ids are far shorter, and memory stays bounded.
const LONGEST_LINE: u64 = 64 * 1024;

/// What trec_eval writes in the place of a query on lines that are about all of them.
const ALL: &str = "all";

/// The one line of trec_eval that says no number.
const RUN_ID: &str = "runid";

impl RunScores {
    /// Those of an evaluated run, whose `measures` are the evaluation's.
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

    /// Reads lines of `measure query score`. Lines about `all` queries and empty lines are skipped,
    /// and so is `runid`. `file` is for messages.
    ///
    /// # Errors
    /// The first line that is wrong.
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
                .take(LONGEST_LINE + 1)
                .read_until(b'\n', &mut line);
            // A file that cannot be read has no line to blame.
            let read = read.map_err(|problem| ScoreFileError {
                line: None,
                ..wrong(problem.into())
            })?;
            if read == 0 {
                break;
            }
            if u64::try_from(read).is_ok_and(|read| read > LONGEST_LINE) {
                return Err(wrong(ScoreFileProblem::LongLine));
            }
            reader.line(number, &line).map_err(wrong)?;
        }
        let empty = |problem| ScoreFileError {
            file: file.to_owned(),
            line: None,
            problem,
        };
        if reader.lines_of.is_empty() {
            return Err(empty(if reader.summaries {
                ScoreFileProblem::OnlySummaries
            } else {
                ScoreFileProblem::Empty
            }));
        }
        Ok(reader.scores(name))
    }

    /// Brings the columns into the order of `names`, all of which are measures of this run, and
    /// forgets queries that have no score left.
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

/// Lines read so far.
#[derive(Default)]
struct Reader {
    measures: Vec<String>,
    columns: HashMap<String, usize>,
    queries: BTreeMap<String, Vec<Option<f64>>>,
    /// The lines of the scores, in the same places.
    lines_of: BTreeMap<String, Vec<u64>>,
    /// Whether there was a line about all queries.
    summaries: bool,
}

impl Reader {
    fn line(&mut self, number: u64, line: &[u8]) -> Result<(), ScoreFileProblem> {
        let text = std::str::from_utf8(line).map_err(|_| ScoreFileProblem::NotUtf8)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // As in C: an ideographic space is part of an id.
        let columns: Vec<&str> = text.split_ascii_whitespace().collect();
        let (measure, query, score) = match columns.as_slice() {
            [_, ALL, ..] => {
                self.summaries = true;
                return Ok(());
            }
            [] | [RUN_ID, ..] => return Ok(()),
            [measure, query, score] => (*measure, *query, *score),
            other => return Err(ScoreFileProblem::Columns { found: other.len() }),
        };
        let value: Option<f64> = score.parse().ok();
        let value = value.filter(|value| value.is_finite());
        let value = value.ok_or_else(|| ScoreFileProblem::NotANumber(excerpt(score)))?;
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

/// The beginning of a text, for a message.
fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Gives runs of one name a number each, so that a name says which run: `bm25`, `bm25 (2)`.
pub(super) fn make_names_different(runs: &mut [RunScores]) {
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

/// Keeps the measures that all runs have, in the order of the first, and says in a sentence each
/// what that leaves out.
pub(super) fn keep_common_measures(
    runs: &mut [RunScores],
) -> Result<(Vec<String>, Vec<String>), CompareError> {
    let sets: Vec<BTreeSet<String>> = runs
        .iter()
        .map(|run| run.measures.iter().cloned().collect())
        .collect();
    let in_all = |measure: &&String| sets.iter().all(|set| set.contains(*measure));
    let common: Vec<String> = runs[0].measures.iter().filter(in_all).cloned().collect();
    if common.is_empty() {
        // One run that shares nothing with the first is to blame, or all of them together.
        let blamed = sets.iter().position(|set| set.is_disjoint(&sets[0]));
        let other = &runs[blamed.unwrap_or(1)];
        return Err(CompareError::NoCommonMeasure {
            a: runs[0].name.clone(),
            b: other.name.clone(),
            of_a: runs[0].measures.clone(),
            of_b: other.measures.clone(),
        });
    }
    let mut warnings = Vec::new();
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
