//! Problems of a configuration, with the places where they were written.
//!
//! This module must not know keys and their meaning; it only carries problems to the user.

use std::fmt;

use rankgauge_core::text::escape_controls;

/// Place where a value was written. The order is that of reading: files first, top to bottom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// No place: the value is a built-in default.
    BuiltIn,
    /// In a file.
    File {
        /// Position of the file among those given, from 0; used to order problems, not displayed.
        order: usize,
        /// Line from 1, or `None` for the file as a whole.
        line: Option<usize>,
        /// Path as it was given.
        name: String,
    },
    /// In an environment variable of this name.
    Environment(String),
    /// On the command line, under this key.
    CommandLine(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("default"),
            Self::File { line, name, .. } => {
                f.write_str(&escape_controls(name))?;
                line.map_or(Ok(()), |line| write!(f, ":{line}"))
            }
            Self::Environment(name) => write!(f, "environment {}", escape_controls(name)),
            Self::CommandLine(key) => write!(f, "command line {}", escape_controls(key)),
        }
    }
}

/// A problem of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Place where the value was written.
    pub place: Place,
    /// Dotted key (`engine.feedback_window`, `targets[2].measure`), empty for a whole file.
    pub key: String,
    /// Problem and remedy. Never contains the value of a librdkafka property.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::BuiltIn => {}
            Place::File { .. } => write!(f, "{}: ", self.place)?,
            // The name of a variable or flag already contains the key.
            Place::Environment(_) | Place::CommandLine(_) => {
                return write!(f, "{}: {}", self.place, self.text);
            }
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", escape_controls(&self.key))?;
        }
        write!(f, "{}", self.text)
    }
}

/// All problems of an invalid configuration.
///
/// The error text is a heading followed by one line for each problem.
#[derive(Debug, thiserror::Error)]
#[error("the configuration is not valid:{}", lines(problems))]
pub struct ConfigError {
    /// At least one problem, in the order of their places in files, environment and flags.
    pub problems: Vec<Problem>,
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("\n  {problem}"))
        .collect();
    lines.concat()
}
