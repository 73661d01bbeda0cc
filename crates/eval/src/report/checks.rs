//! Checks of a gate in every format: a section of a document, members of JSON, JUnit XML, and
//! annotations of GitHub.

pub(super) mod github;
pub(super) mod junit;

use serde::Serialize;

use super::document::Block;
use crate::gate::{Check, Outcome, count};
use crate::text_layout::{escape_controls, shorten};

/// Outcome of a gate in one sentence.
pub fn summary(checks: &[Check]) -> String {
    let [passed, failed, skipped] =
        [Outcome::Passed, Outcome::Failed, Outcome::Skipped].map(|it| count(checks, it));
    let all = match checks.len() {
        1 => "1 check".to_owned(),
        number => format!("{number} checks"),
    };
    if failed == 0 {
        format!("The gate passed: {all}, {passed} passed, {skipped} skipped.")
    } else {
        format!("The gate failed: {all}, {failed} failed, {passed} passed, {skipped} skipped.")
    }
}

/// Blocks of the section about a gate; empty without checks.
pub(super) fn blocks(checks: &[Check]) -> Vec<Block> {
    if checks.is_empty() {
        return Vec::new();
    }
    let outcomes = [Outcome::Failed, Outcome::Skipped, Outcome::Passed];
    let items = outcomes.into_iter().flat_map(|outcome| {
        let of_outcome = checks.iter().filter(move |check| check.outcome == outcome);
        of_outcome.map(|check| {
            format!(
                "{}: {}: {}; {}",
                check.outcome.name(),
                shorten(&escape_controls(&check.run), 40),
                escape_controls(&check.condition),
                escape_controls(&check.detail)
            )
        })
    });
    vec![
        Block::Paragraph(summary(checks)),
        Block::List(items.collect()),
    ]
}

/// Gate in JSON.
#[derive(Serialize)]
pub(super) struct GateOut<'a> {
    passed: bool,
    checks: Vec<CheckOut<'a>>,
}

#[derive(Serialize)]
struct CheckOut<'a> {
    run: &'a str,
    condition: &'a str,
    outcome: &'static str,
    detail: &'a str,
}

impl<'a> GateOut<'a> {
    /// Gate with these checks; `None` without checks.
    pub(super) fn of(checks: &'a [Check]) -> Option<Self> {
        let all = checks.iter().map(|check| CheckOut {
            run: &check.run,
            condition: &check.condition,
            outcome: check.outcome.name(),
            detail: &check.detail,
        });
        (!checks.is_empty()).then(|| Self {
            passed: count(checks, Outcome::Failed) == 0,
            checks: all.collect(),
        })
    }
}
