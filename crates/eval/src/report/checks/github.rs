//! Checks as workflow commands of GitHub Actions: an error for each failed check, a warning for
//! each skipped one, and a notice with the summary.

use std::fmt::Write as _;

use super::summary;
use crate::gate::{Check, Outcome};
use crate::text_layout::escape_controls;

/// Writes the checks. Failed checks are first, because GitHub shows the first ten annotations of a
/// step.
pub(crate) fn write(checks: &[Check]) -> String {
    let mut out = String::new();
    let kinds = [(Outcome::Failed, "error"), (Outcome::Skipped, "warning")];
    for (outcome, command) in kinds {
        for check in checks.iter().filter(|check| check.outcome == outcome) {
            annotate(
                &mut out,
                command,
                &format!("{}: {}", check.run, check.condition),
                &check.detail,
            );
        }
    }
    annotate(&mut out, "notice", "rankgauge", &summary(checks));
    out
}

fn annotate(out: &mut String, command: &str, title: &str, message: &str) {
    writeln!(
        out,
        "::{command} title={}::{}",
        property(title),
        data(message)
    )
    .expect("invariant: a String takes all text");
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    // A line feed would end the command.
    escape_controls(text).replace('%', "%25")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
