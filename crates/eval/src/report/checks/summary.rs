//! Outcome of a gate in one sentence.

use crate::gate::{Check, Outcome, count};

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
