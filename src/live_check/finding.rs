//! Result of one check.

use rankgauge_core::text::escape_controls;
use serde::Serialize;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The check passed.
    Ok,
    /// Metrics are incomplete, or the check was not possible.
    Warning,
    /// The sidecar cannot work, or its metrics are wrong.
    Error,
}

impl Severity {
    /// Name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the check: `connection`, `topics`, `permissions`, `group`, `state`, `memory`, `registry`, `records`, `ids`, `keys`, `clock`,
    /// `eligibility`, `gold`, `capacity` or `detection`.
    pub check: &'static str,
    /// Severity.
    pub severity: Severity,
    /// Result, in one line.
    pub message: String,
    /// Action that solves the problem; `None` without a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self {
            check,
            severity: Severity::Ok,
            message: message.into(),
            remedy: None,
        }
    }

    pub(super) fn warning(
        check: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Warning,
            remedy: Some(remedy.into()),
            ..Self::ok(check, message)
        }
    }

    pub(super) fn error(
        check: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Error,
            ..Self::warning(check, message, remedy)
        }
    }

    /// The finding as one line: severity, check, result and remedy.
    pub fn line(&self) -> String {
        let severity = self.severity.name();
        let remedy = self.remedy.as_ref();
        let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
        let line = format!("{severity:<8}{}: {}{remedy}", self.check, self.message);
        // Messages quote ids and broker errors, which may contain line breaks.
        escape_controls(&line.replace(['\n', '\r'], " "))
    }
}

/// Share for users: `12.5 %`.
pub(super) fn percent(part: usize, whole: usize) -> String {
    let per_mille = part.saturating_mul(1_000) / whole.max(1);
    if part > 0 && per_mille == 0 {
        return "less than 0.1 %".to_owned();
    }
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

/// Time span for users, in the unit that fits: `250 ms`, `42 s`, `3.5 h`.
pub(super) fn span(millis: i64) -> String {
    let tenths = |unit: i64, name: &str| {
        let tenths = millis.saturating_mul(10) / unit;
        if tenths % 10 == 0 {
            format!("{} {name}", tenths / 10)
        } else {
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
    };
    match millis {
        ..1_000 => format!("{millis} ms"),
        1_000..120_000 => tenths(1_000, "s"),
        120_000..7_200_000 => tenths(60_000, "min"),
        7_200_000..172_800_000 => tenths(3_600_000, "h"),
        _ => tenths(86_400_000, "days"),
    }
}
