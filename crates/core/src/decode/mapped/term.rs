//! Mapping as it is written: texts, lists and sections.

use super::problem::Problem;

/// Part of a written mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// Scalar.
    Text(String),
    /// Terms in their order.
    List(Vec<Term>),
    /// Keys with their values.
    Section(Vec<(String, Term)>),
    /// Key without a value.
    Nothing,
}

impl Term {
    /// Keys of a section; reports any other term.
    pub(super) fn section(&self, path: &str, problems: &mut Vec<Problem>) -> &[(String, Self)] {
        match self {
            Self::Section(keys) => keys,
            Self::Text(_) | Self::List(_) | Self::Nothing => {
                report(problems, path, "is not a section of keys with values");
                &[]
            }
        }
    }

    /// Text; reports any other term.
    pub(super) fn text(&self, path: &str, problems: &mut Vec<Problem>) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Section(_) | Self::List(_) | Self::Nothing => {
                report(problems, path, "one value is expected");
                None
            }
        }
    }

    /// Elements of a list, or the only value.
    pub(super) fn elements(&self) -> &[Self] {
        match self {
            Self::List(elements) => elements,
            Self::Text(_) | Self::Section(_) | Self::Nothing => std::slice::from_ref(self),
        }
    }
}

/// Adds a problem.
pub(super) fn report(problems: &mut Vec<Problem>, path: &str, text: impl Into<String>) {
    problems.push(Problem {
        path: path.to_owned(),
        text: text.into(),
    });
}
