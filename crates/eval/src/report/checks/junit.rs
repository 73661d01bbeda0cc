//! Checks as JUnit XML: one test suite for each run, one test case for each check.

use std::fmt::Write as _;

use crate::gate::{Check, Outcome, count};
use crate::text_layout::escape_controls;

/// Writes the checks.
pub(crate) fn write(checks: &[Check]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let line = |out: &mut String, text: &str| {
        writeln!(out, "{text}").expect("invariant: a String takes all text");
    };
    line(
        &mut out,
        &format!("<testsuites name=\"rankgauge\"{}>", counts(checks)),
    );
    let mut runs: Vec<&str> = Vec::new();
    for check in checks {
        if !runs.contains(&check.run.as_str()) {
            runs.push(&check.run);
        }
    }
    for run in runs {
        let of_run: Vec<Check> = checks.iter().filter(|it| it.run == run).cloned().collect();
        let suite = format!("  <testsuite name=\"{}\"{}>", escape(run), counts(&of_run));
        line(&mut out, &suite);
        for check in &of_run {
            let case = format!(
                "    <testcase classname=\"{}\" name=\"{}\"",
                escape(run),
                escape(&check.condition)
            );
            let detail = escape(&check.detail);
            line(
                &mut out,
                &match check.outcome {
                    Outcome::Passed => {
                        format!("{case}><system-out>{detail}</system-out></testcase>")
                    }
                    Outcome::Failed => format!("{case}><failure message=\"{detail}\"/></testcase>"),
                    Outcome::Skipped => {
                        format!("{case}><skipped message=\"{detail}\"/></testcase>")
                    }
                },
            );
        }
        line(&mut out, "  </testsuite>");
    }
    line(&mut out, "</testsuites>");
    out
}

/// Attributes with the numbers of checks.
fn counts(checks: &[Check]) -> String {
    format!(
        " tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
        checks.len(),
        count(checks, Outcome::Failed),
        count(checks, Outcome::Skipped)
    )
}

/// Escapes markup, and the control characters that XML 1.0 does not allow.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in escape_controls(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no noncharacters.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
