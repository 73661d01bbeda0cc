//! Urgency of an incident.

/// Urgency of an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// All searches of a variant are worse.
    Critical,
    /// Some searches are worse, or more results are unjudged.
    Warning,
}

impl Severity {
    /// Both severities.
    pub const ALL: [Self; 2] = [Self::Critical, Self::Warning];

    /// Name: `critical`, `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
        }
    }
}
