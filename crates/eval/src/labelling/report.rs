//! Estimates from the labels of a sample, with the intervals to look at once and at any time.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::draw::{Draw, QUANTILE, Target};
use super::interval::any_time;
use super::sequence::{Control, Estimate, Rows, estimate, sequence, two_phase};
use super::sheet::{Agreement, Label};
use rankgauge_core::labelling::LabelMeasure;
use rankgauge_core::statistics::kappa;

/// Score of a judge, a line of its file.
#[derive(Debug, Deserialize)]
struct ScoreLine {
    query: String,
    document: String,
    score: f64,
    #[serde(default)]
    judge: Option<String>,
}

/// Scores of a judge in the order of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Judge {
    /// Name of the judge.
    pub id: Option<String>,
    /// Scores from 0 to 1 of the first rows, at least of those that are labelled.
    pub scores: Vec<f64>,
}

/// Scores that do not fit a sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum JudgeError {
    #[error(
        "line {line}: {problem}; a line is {{\"query\": …, \"document\": …, \"score\": 0 to 1}}"
    )]
    Line { line: usize, problem: String },
    #[error(
        "line {line}: the score of the document `{document}` of the query `{query}` is not a number from 0 to 1"
    )]
    Score {
        line: usize,
        query: String,
        document: String,
    },
    #[error(
        "line {line}: the document `{document}` of the query `{query}` is no row of the sample; remove the line, or use the scores of this sample"
    )]
    Unknown {
        line: usize,
        query: String,
        document: String,
    },
    #[error("line {line}: row {row} has a score already")]
    Repeated { line: usize, row: usize },
    #[error(
        "row {row}, the document `{document}` of the query `{query}`, has no score, but row {next} has one: score the rows in their order without a gap"
    )]
    Gap {
        row: usize,
        next: usize,
        query: String,
        document: String,
    },
    #[error(
        "row {row} is labelled, but the judge scored the first {scored} rows only; score all labelled rows"
    )]
    TooFew { row: usize, scored: usize },
}

impl Judge {
    /// Reads JSON Lines with `query`, `document`, `score` and optionally the name of the `judge`.
    ///
    /// # Errors
    /// The line or the row that is wrong.
    pub fn parse(draw: &Draw, labels: usize, text: &str) -> Result<Self, JudgeError> {
        let rows = draw.rows.iter().enumerate();
        let rows: FxHashMap<(&str, &str), usize> = rows
            .map(|(at, row)| ((row.query.as_str(), row.document.as_str()), at))
            .collect();
        let mut id = None;
        let mut scores: Vec<Option<f64>> = vec![None; draw.rows.len()];
        for (index, text) in text.lines().enumerate() {
            if text.trim().is_empty() {
                continue;
            }
            let line = index + 1;
            let ScoreLine {
                query,
                document,
                score,
                judge,
            } = serde_json::from_str(text).map_err(|error| JudgeError::Line {
                line,
                problem: error.to_string(),
            })?;
            let Some(row) = rows.get(&(query.as_str(), document.as_str())).copied() else {
                return Err(JudgeError::Unknown {
                    line,
                    query,
                    document,
                });
            };
            if !(0.0..=1.0).contains(&score) {
                return Err(JudgeError::Score {
                    line,
                    query,
                    document,
                });
            }
            id = id.or(judge);
            if let Some(slot) = scores.get_mut(row)
                && slot.replace(score).is_some()
            {
                return Err(JudgeError::Repeated { line, row: row + 1 });
            }
        }
        let first: Vec<f64> = scores.iter().map_while(|score| *score).collect();
        let next = scores.iter().skip(first.len()).position(Option::is_some);
        if let (Some(next), Some(row)) = (next, draw.rows.get(first.len())) {
            return Err(JudgeError::Gap {
                row: first.len() + 1,
                next: first.len() + next + 1,
                query: row.query.clone(),
                document: row.document.clone(),
            });
        }
        if first.len() < labels {
            return Err(JudgeError::TooFew {
                row: first.len() + 1,
                scored: first.len(),
            });
        }
        Ok(Self { id, scores: first })
    }
}

/// Kind of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Mean of a variant.
    Level,
    /// Difference of two variants.
    Difference,
}

/// Estimate of one value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelEstimate {
    /// Name of the measure.
    pub measure: String,
    /// Mean or difference.
    pub kind: Kind,
    /// Variant whose mean, or whose difference from `against`, is estimated.
    pub variant: String,
    /// Variant whose mean is subtracted.
    pub against: Option<String>,
    /// Estimated mean or difference.
    pub estimate: f64,
    /// Standard error. `None` for a single label.
    pub standard_error: Option<f64>,
    /// Interval of 95 % if it is looked at once.
    pub once: [f64; 2],
    /// Interval of 95 % that may be looked at after each label.
    pub any_time: [f64; 2],
    /// Labels that the estimate is computed from.
    pub labels: usize,
    /// Number of planned rows.
    pub rows: usize,
    /// Labels that were skipped: each counts as 0 and as 1, and the intervals include both.
    pub skipped: usize,
}

/// Agreement of a judge with the labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgeReport {
    /// Name of the judge.
    pub id: String,
    /// Cohen's kappa of relevant or not. `None` if it is undefined.
    pub kappa: Option<f64>,
    /// Error of the judge alone, by variant, or of the difference.
    pub error: BTreeMap<String, f64>,
}

/// All estimates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelReport {
    /// Estimates.
    pub estimates: Vec<LabelEstimate>,
    /// Agreement of the judge. `None` without a judge.
    pub judge: Option<JudgeReport>,
    /// Agreement of two annotators. `None` without rows that both graded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotators: Option<Agreement>,
}

/// Result of one set of gains.
struct Ends {
    estimate: Estimate,
    once: [f64; 2],
    any_time: [f64; 2],
}

/// Labels of the first rows of a sample, with the predictions of all rows.
struct Labelled<'a> {
    draw: &'a Draw,
    measure: &'a LabelMeasure,
    labels: &'a [Label],
    /// Judge of the first rows only.
    in_two_phases: Option<&'a Judge>,
    order: Vec<usize>,
    size: Vec<f64>,
    prediction: Vec<f64>,
}

impl<'a> Labelled<'a> {
    fn new(
        draw: &'a Draw,
        measure: &'a LabelMeasure,
        labels: &'a [Label],
        judge: Option<&'a Judge>,
    ) -> Self {
        let rows = &draw.rows;
        let is_complete = |judge: &&Judge| judge.scores.len() == rows.len();
        let prediction = match judge.filter(is_complete) {
            Some(judge) => judge.scores.clone(),
            None => rows
                .iter()
                .map(|row| row.prediction.unwrap_or(0.0))
                .collect(),
        };
        Self {
            draw,
            measure,
            labels,
            in_two_phases: judge.filter(|judge| !is_complete(judge)),
            order: (0..rows.len()).collect(),
            size: rows.iter().map(|row| row.size).collect(),
            prediction,
        }
    }

    /// Gain of a label; of a skipped one as given.
    fn gain(&self, label: Label, skipped: f64) -> f64 {
        match label {
            Label::Grade(grade) => self.measure.gain(grade, self.draw.scale_max),
            Label::Skipped => skipped,
        }
    }

    fn rows<'r>(&'r self, coefficient: &'r [f64]) -> Rows<'r> {
        Rows {
            coefficient,
            prediction: &self.prediction,
            size: &self.size,
        }
    }

    fn ends(&self, coefficient: &[f64], gains: &[f64]) -> Option<Ends> {
        let rows = self.rows(coefficient);
        let steps = sequence(rows, &self.order, gains, Control::Regression);
        let range = (
            coefficient.iter().map(|a| a.min(0.0)).sum(),
            coefficient.iter().map(|a| a.max(0.0)).sum(),
        );
        if gains.len() == coefficient.len() {
            // All rows are labelled: nothing is left to chance.
            let exact = coefficient.iter().zip(gains).map(|(a, g)| a * g).sum();
            return Some(Ends {
                estimate: Estimate {
                    value: exact,
                    standard_error: 0.0,
                },
                once: [exact, exact],
                any_time: [exact, exact],
            });
        }
        let estimate = match self.in_two_phases {
            Some(judge) => two_phase(rows, &self.order, &judge.scores, gains)?,
            None => estimate(&steps)?,
        };
        let half = QUANTILE * estimate.standard_error;
        Some(Ends {
            once: if half.is_finite() {
                [estimate.value - half, estimate.value + half]
            } else {
                [range.0, range.1]
            },
            any_time: any_time(&steps, range, self.draw.planned),
            estimate,
        })
    }

    fn estimate(&self, target: Target) -> Option<(LabelEstimate, Vec<f64>)> {
        let draw = self.draw;
        let rows = draw.rows.iter();
        let coefficient: Vec<f64> = rows
            .map(|row| target.coefficient(&row.levels, row.difference))
            .collect();
        let gains = |raised: bool| -> Vec<f64> {
            let labelled = self.labels.iter().zip(&coefficient);
            let skipped = |a: f64| f64::from(u8::from((a > 0.0) == raised));
            let gains = labelled.map(|(label, a)| self.gain(*label, skipped(*a)));
            gains.collect()
        };
        let low = self.ends(&coefficient, &gains(false))?;
        let high = self.ends(&coefficient, &gains(true))?;
        let both = |low: [f64; 2], high: [f64; 2]| [low[0].min(high[0]), low[1].max(high[1])];
        let error = low
            .estimate
            .standard_error
            .max(high.estimate.standard_error);
        let (kind, variant, against) = match target {
            Target::Level(variant) => (Kind::Level, variant, None),
            Target::Difference => (Kind::Difference, 1, draw.variants.first().cloned()),
        };
        let skipped = self.labels.iter();
        let estimate = LabelEstimate {
            measure: draw.measure.clone(),
            kind,
            variant: draw.variants.get(variant).cloned().unwrap_or_default(),
            against,
            estimate: f64::midpoint(low.estimate.value, high.estimate.value),
            standard_error: error.is_finite().then_some(error),
            once: both(low.once, high.once),
            any_time: both(low.any_time, high.any_time),
            labels: self.labels.len(),
            rows: draw.planned,
            skipped: skipped.filter(|label| **label == Label::Skipped).count(),
        };
        Some((estimate, coefficient))
    }

    /// Value according to the judge alone.
    fn judge_alone(&self, coefficient: &[f64]) -> Option<f64> {
        match self.in_two_phases {
            None => {
                let products = coefficient.iter().zip(&self.prediction);
                Some(products.map(|(a, f)| a * f).sum())
            }
            Some(judge) => {
                let rows = self.rows(coefficient);
                let steps = sequence(rows, &self.order, &judge.scores, Control::Nothing);
                estimate(&steps).map(|it| it.value)
            }
        }
    }

    /// Cohen's kappa of the labels and the scores of a judge: relevant or not.
    fn kappa(&self, judge: &Judge) -> Option<f64> {
        let graded = self.labels.iter().zip(&judge.scores);
        let graded = graded.filter(|(label, _)| **label != Label::Skipped);
        kappa(graded.map(|(label, score)| (self.gain(*label, 0.0) >= 0.5, *score >= 0.5, 1)))
    }
}

/// Estimates all values of a sample from the labels of its first rows. `None` without a label.
pub fn report(
    draw: &Draw,
    measure: &LabelMeasure,
    labels: &[Label],
    judge: Option<&Judge>,
) -> Option<LabelReport> {
    if labels.is_empty() {
        return None;
    }
    let labelled = Labelled::new(draw, measure, labels, judge);
    let mut estimates = Vec::new();
    let mut error = BTreeMap::new();
    for target in &draw.targets {
        let (estimate, coefficient) = labelled.estimate(*target)?;
        if judge.is_some() {
            let name = match estimate.kind {
                Kind::Level => estimate.variant.clone(),
                Kind::Difference => "difference".to_owned(),
            };
            error.insert(
                name,
                labelled.judge_alone(&coefficient)? - estimate.estimate,
            );
        }
        estimates.push(estimate);
    }
    let judge = judge.map(|judge| JudgeReport {
        id: judge.id.clone().unwrap_or_else(|| "judge".to_owned()),
        kappa: labelled.kappa(judge),
        error,
    });
    Some(LabelReport {
        estimates,
        judge,
        annotators: None,
    })
}
