//! Evaluators of the judgments that an engine has received.
//!
//! The join keeps an evaluator as a hash. This table has its names. It is filled again when records are read
//! again.

use rustc_hash::FxHashMap;

use super::id::short;
use crate::event::{Evaluation, EvaluatorKind};

/// Maximum number of evaluators and properties. Judgments of further ones are only joined.
const MAX_EVALUATORS: usize = 1_000;

/// Hash of an evaluator and of the property that it judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EvaluatorKey(u64);

impl EvaluatorKey {
    /// Key of an evaluation.
    pub(super) fn of(evaluation: &Evaluation<'_>) -> Self {
        let texts = [
            &*evaluation.name,
            &*evaluation.evaluator,
            &*evaluation.version,
        ];
        let flags = ((evaluation.kind as u64) << 1) | u64::from(evaluation.scale.is_some());
        let hash = texts.into_iter().fold(flags, |hash, text| {
            (hash.rotate_left(23) ^ short(text)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        Self(hash)
    }
}

/// Evaluator of one property.
#[derive(Clone, Debug)]
pub(super) struct Evaluator {
    /// Judged property; empty for relevance.
    pub(super) name: Box<str>,
    /// Id; empty for people without one.
    pub(super) id: Box<str>,
    /// Version; empty if not stated.
    pub(super) version: Box<str>,
    pub(super) kind: EvaluatorKind,
    /// True if its values lie from 0 to 1, false if they are grades.
    pub(super) is_rescaled: bool,
}

/// Evaluators by key.
#[derive(Debug, Default)]
pub(super) struct Evaluators(FxHashMap<EvaluatorKey, Evaluator>);

impl Evaluators {
    /// Adds the evaluator of an evaluation, unless there are too many.
    pub(super) fn add(&mut self, evaluation: &Evaluation<'_>) {
        let key = EvaluatorKey::of(evaluation);
        if self.0.len() >= MAX_EVALUATORS || self.0.contains_key(&key) {
            return;
        }
        let evaluator = Evaluator {
            name: (*evaluation.name).into(),
            id: (*evaluation.evaluator).into(),
            version: (*evaluation.version).into(),
            kind: evaluation.kind,
            is_rescaled: evaluation.scale.is_some(),
        };
        self.0.insert(key, evaluator);
    }

    /// Returns the evaluator of a key.
    pub(super) fn get(&self, key: EvaluatorKey) -> Option<&Evaluator> {
        self.0.get(&key)
    }
}
