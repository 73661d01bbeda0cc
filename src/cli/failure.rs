//! Failures of commands.

use std::fmt;

use rankgauge_eval::text_layout::escape_lines;

/// Failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// Wrong arguments or configuration.
    Usage(anyhow::Error),
    /// Error while the command ran.
    Running(anyhow::Error),
    /// The runs were judged, and do not meet the conditions of the gate.
    Gate(anyhow::Error),
}

impl Failure {
    /// Failure because of wrong arguments or configuration.
    pub(super) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
    }

    /// Failure while the command ran.
    pub(super) fn running(error: impl Into<anyhow::Error>) -> Self {
        Self::Running(error.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(error) | Self::Running(error) | Self::Gate(error) => {
                let mut text = error.to_string();
                for cause in error.chain().skip(1).map(ToString::to_string) {
                    // Libraries differ in whether an error repeats its cause.
                    if !text.contains(&cause) {
                        text = format!("{text}: {cause}");
                    }
                }
                // Names of files and runs, and what files contain, are not trusted.
                formatter.write_str(&escape_lines(&text))
            }
        }
    }
}
