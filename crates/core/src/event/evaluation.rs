//! Evaluations: judgments with their evaluator, on results, answers and searches.

use super::cost::Cost;
use super::text::{Id, Text};

/// Object that a judgment is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JudgmentTarget {
    /// A result of the search.
    #[default]
    Result,
    /// The answer of the search.
    Answer,
    /// The search as a whole.
    Search,
}

impl JudgmentTarget {
    /// Names, in the order of the variants.
    pub const NAMES: [&'static str; 3] = ["result", "answer", "search"];

    /// Returns the target with this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "result" => Some(Self::Result),
            "answer" => Some(Self::Answer),
            "search" => Some(Self::Search),
            _ => None,
        }
    }
}

/// Kind of an evaluator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EvaluatorKind {
    /// A person.
    #[default]
    Human,
    /// A model.
    Model,
    /// A rule without a model.
    Rule,
}

impl EvaluatorKind {
    /// Names, in the order of the variants.
    pub const NAMES: [&'static str; 3] = ["human", "model", "rule"];

    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "human" => Some(Self::Human),
            "model" => Some(Self::Model),
            "rule" => Some(Self::Rule),
            _ => None,
        }
    }
}

/// Origin and subject of a judgment. A grade of a result by a person without an id has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation<'a> {
    /// Judged object.
    pub target: JudgmentTarget,
    /// Judged property, such as `faithfulness`; empty for relevance.
    pub name: Text<'a>,
    /// Id of the evaluator; empty for people without one.
    pub evaluator: Id<'a>,
    /// Version of the evaluator; empty if not stated.
    pub version: Id<'a>,
    /// Kind of the evaluator.
    pub kind: EvaluatorKind,
    /// Request for a label that the judgment answers, as it was sent.
    pub request: Option<Text<'a>>,
    /// Scale of the value; `None` for a grade on the scale of the gold set.
    pub scale: Option<(f64, f64)>,
    /// Cost of the judgment.
    pub cost: Option<Cost<'a>>,
}

impl Evaluation<'_> {
    /// Converts a value to one from 0 to 1, unless it is a grade.
    pub fn rescaled(&self, value: f64) -> f64 {
        self.scale
            .map_or(value, |(min, max)| (value - min) / (max - min))
    }
}
