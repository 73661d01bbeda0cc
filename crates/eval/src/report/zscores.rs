//! Normalised scores, as trec_eval prints them with `-Z`: differences from the mean of reference runs in their
//! standard deviations.

use std::collections::HashMap;

use crate::text_layout::escape_controls;
use rankgauge_core::text::{self, TextError};

/// Score of trec_eval in place of one that cannot be normalised.
const MISSING: f64 = -1_000_000.0;

/// Means and standard deviations of reference runs, by query and measure.
#[derive(Clone, Debug, PartialEq)]
pub struct ZScores(HashMap<(String, String), (f64, f64), rustc_hash::FxBuildHasher>);

/// Error in a file of means and standard deviations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {problem}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ZScoresError {
    /// Name of the file.
    pub file: String,
    /// Line number, from 1; `None` if the error concerns the whole file.
    pub line: Option<usize>,
    /// Description of the error.
    pub problem: ZScoresProblem,
}

/// Kinds of errors in a file of means and standard deviations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum ZScoresProblem {
    #[error("{0}")]
    NotUtf8(TextError),
    #[error("the file is empty; give it lines of `query measure mean deviation`")]
    Empty,
    #[error(
        "{0} columns instead of four: `query measure mean deviation`, separated by white space"
    )]
    Columns(usize),
    #[error("`{}` is not a finite number", escape_controls(.0))]
    NotANumber(String),
    #[error("the standard deviation `{}` is negative", escape_controls(.0))]
    Negative(String),
    #[error("`{}` of query `{}` is on an earlier line too; remove one", escape_controls(.measure), escape_controls(.query))]
    Repeated { query: String, measure: String },
}

impl ZScores {
    /// Parses lines of `query measure mean deviation`. Measures have the names of trec_eval. `file` is used in
    /// messages.
    ///
    /// # Errors
    /// The first wrong line.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, ZScoresError> {
        let failed = |line: Option<usize>, problem: ZScoresProblem| ZScoresError {
            file: escape_controls(file),
            line,
            problem,
        };
        let text = text::decode(bytes)
            .map_err(|error| failed(Some(error.line), ZScoresProblem::NotUtf8(error)))?;
        let mut all: HashMap<_, _, rustc_hash::FxBuildHasher> = HashMap::default();
        for (line, content) in (1..).zip(text.lines()) {
            if content.trim().is_empty() {
                continue;
            }
            let columns: Vec<&str> = text::columns(content).take(6).collect();
            let [query, measure, mean, deviation] = columns[..] else {
                return Err(failed(Some(line), ZScoresProblem::Columns(columns.len())));
            };
            let number = |text: &str| {
                let number = text.parse().ok().filter(|number: &f64| number.is_finite());
                number
                    .ok_or_else(|| failed(Some(line), ZScoresProblem::NotANumber(text.to_owned())))
            };
            let (mean, spread) = (number(mean)?, number(deviation)?);
            if spread < 0.0 {
                return Err(failed(
                    Some(line),
                    ZScoresProblem::Negative(deviation.to_owned()),
                ));
            }
            let key = (query.to_owned(), measure.to_owned());
            if all.insert(key, (mean, spread)).is_some() {
                let (query, measure) = (query.to_owned(), measure.to_owned());
                return Err(failed(
                    Some(line),
                    ZScoresProblem::Repeated { query, measure },
                ));
            }
        }
        if all.is_empty() {
            return Err(failed(None, ZScoresProblem::Empty));
        }
        Ok(Self(all))
    }

    /// Normalised score; `None` without a mean, and for another score than the mean if all reference runs have the
    /// same.
    fn of(&self, query: &str, measure: &str, score: f64) -> Option<f64> {
        let (mean, deviation) = *self.0.get(&(query.to_owned(), measure.to_owned()))?;
        let difference = score - mean;
        if deviation > 0.0 {
            Some(difference / deviation)
        } else {
            (difference.abs() <= 0.0).then_some(0.0)
        }
    }
}

/// Normalisation of the scores of a report, which counts those that it cannot normalise.
pub(super) struct Normalisation<'z> {
    scores: &'z ZScores,
    pub(super) missing: usize,
}

impl<'z> Normalisation<'z> {
    pub(super) fn new(scores: &'z ZScores) -> Self {
        Self { scores, missing: 0 }
    }

    /// Normalised score, as trec_eval prints it.
    pub(super) fn of(&mut self, query: &str, measure: &str, score: f64) -> f64 {
        self.scores.of(query, measure, score).unwrap_or_else(|| {
            self.missing += 1;
            MISSING
        })
    }
}
