//! What is wrong with a configuration, and where it was written.
//!
//! Knows nothing of keys and their meaning; it only carries findings to the person who reads them.

use std::fmt;

/// Where a value was written. Ordered as a reader would look: files first, top to bottom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Nowhere: the value is a built-in default.
    BuiltIn,
    /// In a file.
    File {
        /// Position of the file among those given, 0 first; orders problems, is not shown.
        order: usize,
        /// Line from 1, or `None` when the file as a whole is meant.
        line: Option<usize>,
        /// Path as it was given.
        name: String,
    },
    /// In an environment variable of this name.
    Environment(String),
    /// On the command line, under this key.
    CommandLine(String),
}

/// One thing to correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where the value was written.
    pub place: Place,
    /// Dotted key (`engine.feedback_window`, `targets[2].measure`), empty for a whole file.
    pub key: String,
    /// What is wrong and what to do. Never repeats the value of a librdkafka property.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::BuiltIn => {}
            Place::File { line, name, .. } => {
                write!(f, "{name}")?;
                if let Some(line) = line {
                    write!(f, ":{line}")?;
                }
                write!(f, ": ")?;
            }
            // A variable and a flag name their key themselves.
            Place::Environment(name) => return write!(f, "environment {name}: {}", self.text),
            Place::CommandLine(key) => return write!(f, "command line {key}: {}", self.text),
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}", self.text)
    }
}

/// A configuration that cannot be used, with everything that is wrong with it.
///
/// Its text is a heading followed by one line for each problem.
#[derive(Debug, thiserror::Error)]
#[error("the configuration is not valid:{}", lines(problems))]
pub struct ConfigError {
    /// At least one problem, in the order in which they stand in files, environment and flags.
    pub problems: Vec<Problem>,
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("\n  {problem}"))
        .collect();
    lines.concat()
}
