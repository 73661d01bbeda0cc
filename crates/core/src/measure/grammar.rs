//! Grammar of measure names, `Name(param=value,…)@cutoff`: parser and printer.
//!
//! The module knows the places of a name, a parameter and a cutoff, and every possible error. It
//! does not know which names and parameters exist; the catalogue defines them.

use std::fmt;

fn advice(nearest: Option<&str>) -> String {
    nearest.map_or_else(
        || "docs/measures.md lists the measures".to_owned(),
        |nearest| format!("did you mean `{nearest}`?"),
    )
}

/// Error in the spelling of a measure, with a correction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// The text does not have the form of a measure.
    #[error(
        "`{text}` is not written as a measure: {fault}; write `Name(param=value,…)@cutoff`, for \
         example `{nearest}`"
    )]
    Malformed {
        /// Given text.
        text: String,
        /// Error in the form.
        fault: &'static str,
        /// Nearest valid spelling.
        nearest: String,
    },
    /// No measure has this name.
    #[error("no measure is called `{name}` (in `{text}`); {}", advice(nearest.as_deref()))]
    UnknownName {
        /// Given text.
        text: String,
        /// Unknown name.
        name: String,
        /// Nearest valid spelling, if the name is a misspelling.
        nearest: Option<String>,
    },
    /// No tool has this name.
    #[error("no tool is called `{tool}` (in `{text}`); the names of these tools are read: {known}")]
    UnknownTool {
        /// Given text.
        text: String,
        /// Unknown tool.
        tool: String,
        /// Known tools.
        known: String,
    },
    /// A tool has no measure with this name.
    #[error("`{text}` names no measure of {tool} that is read; they are {known}")]
    UnknownForeign {
        /// Given text.
        text: String,
        /// Name of the tool.
        tool: String,
        /// Measures of the tool.
        known: String,
    },
    /// The spelling stands for several measures where one is needed.
    #[error(
        "`{text}` stands for {count} measures, and one is needed here; name one of them: `{first}`"
    )]
    Several {
        /// Given text.
        text: String,
        /// Number of measures.
        count: usize,
        /// First of the measures.
        first: String,
    },
    /// The measure has no such parameter.
    #[error("{measure} has no parameter `{parameter}` (in `{text}`); {advice}")]
    UnknownParameter {
        /// Given text.
        text: String,
        /// Name of the measure.
        measure: &'static str,
        /// Unknown parameter.
        parameter: String,
        /// Nearest parameter, or a note that there is none.
        advice: String,
    },
    /// A parameter is given twice.
    #[error("the parameter `{parameter}` is given twice in `{text}`; keep one")]
    RepeatedParameter {
        /// Given text.
        text: String,
        /// Name of the parameter.
        parameter: String,
    },
    /// A parameter cannot have this value.
    #[error("`{parameter}` cannot be `{value}` (in `{text}`); it is {expected}")]
    BadValue {
        /// Given text.
        text: String,
        /// Name of the parameter.
        parameter: &'static str,
        /// Given value.
        value: String,
        /// Valid values.
        expected: &'static str,
    },
    /// A parameter has no effect in combination with the others.
    #[error("`{parameter}` has no meaning in `{text}`: {reason}")]
    Meaningless {
        /// Given text.
        text: String,
        /// Name of the parameter.
        parameter: &'static str,
        /// Condition for the parameter to have an effect.
        reason: &'static str,
    },
    /// The unnamed first argument is missing or unexpected.
    #[error("{measure} {fault} (in `{text}`); write `{nearest}`")]
    BadArgument {
        /// Given text.
        text: String,
        /// Name of the measure.
        measure: &'static str,
        /// Error in the argument.
        fault: &'static str,
        /// Nearest valid spelling.
        nearest: String,
    },
    /// The cutoff is missing, invalid or unexpected.
    #[error("{measure} {fault} (in `{text}`); write `{nearest}`")]
    BadCutoff {
        /// Given text.
        text: String,
        /// Name of the measure.
        measure: &'static str,
        /// Error in the cutoff.
        fault: &'static str,
        /// Nearest valid spelling.
        nearest: String,
    },
}

/// Errors in a list of measures. At least one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct MeasureErrors(pub Vec<MeasureError>);

/// Measure split into its parts, which are not yet interpreted.
#[derive(Clone, Debug)]
pub(super) struct Spelling<'a> {
    /// Complete text.
    pub(super) text: &'a str,
    /// Text before the parentheses and the `@`.
    pub(super) name: &'a str,
    /// Text between the parentheses, unmodified.
    pub(super) inside: &'a str,
    /// Unnamed first argument in the parentheses: the component of `Discovery(rne)`.
    pub(super) argument: Option<&'a str>,
    /// Other arguments as pairs of name and value.
    pub(super) parameters: Vec<(&'a str, &'a str)>,
    /// Text after the `@`.
    pub(super) cutoff: Option<&'a str>,
}

impl<'a> Spelling<'a> {
    /// Splits `text` into its parts; the error describes the invalid form.
    pub(super) fn read(text: &'a str) -> Result<Self, &'static str> {
        let (name, inside, cutoff) = match text.split_once('(') {
            None => match text.split_once('@') {
                None => (text, "", None),
                Some((name, cutoff)) => (name, "", Some(cutoff)),
            },
            Some((name, rest)) => {
                let (inside, after) = rest.split_once(')').ok_or("a `)` is missing")?;
                let cutoff = match after.trim_start().strip_prefix('@') {
                    None if after.trim().is_empty() => None,
                    None => return Err("only `@cutoff` may follow the `)`"),
                    Some(cutoff) => Some(cutoff),
                };
                (name, inside, cutoff)
            }
        };
        let name = name.trim();
        if name.is_empty() {
            return Err("the name is missing");
        }
        if name.contains([')', '@']) {
            return Err("the name holds a `)` or an `@`");
        }
        let inside = inside.trim();
        let mut argument = None;
        let mut parameters = Vec::new();
        if !inside.is_empty() {
            for (position, piece) in split_outside(inside, |c| c == ',').enumerate() {
                match piece.split_once('=') {
                    Some((name, value)) => parameters.push((name.trim(), value.trim())),
                    None if position == 0 && !piece.trim().is_empty() => {
                        argument = Some(piece.trim());
                    }
                    None => return Err("a parameter is not written as `param=value`"),
                }
            }
        }
        Ok(Self {
            text,
            name,
            inside,
            argument,
            parameters,
            cutoff: cutoff.map(str::trim),
        })
    }
}

/// Splits a list of measures at white space and commas outside parentheses.
pub(super) fn split(list: &str) -> impl Iterator<Item = &str> {
    split_outside(list, |c| c == ',' || c.is_whitespace()).filter(|piece| !piece.is_empty())
}

/// Splits a list of measures at white space outside parentheses.
pub(super) fn split_at_blanks(list: &str) -> impl Iterator<Item = &str> {
    split_outside(list, char::is_whitespace).filter(|piece| !piece.is_empty())
}

/// Splits a text at separators outside parentheses and braces.
fn split_outside(text: &str, is_separator: fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |c: char| {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is_separator(c)
    })
}

/// Measure in its canonical form: parameters in alphabetical order, without defaults.
pub(super) struct Canonical {
    name: &'static str,
    argument: Option<String>,
    parameters: Vec<(&'static str, String)>,
    cutoff: Option<String>,
}

impl Canonical {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            argument: None,
            parameters: Vec::new(),
            cutoff: None,
        }
    }

    /// Sets the unnamed argument.
    pub(super) fn argument(&mut self, argument: &str) {
        self.argument = Some(argument.to_owned());
    }

    /// Adds a parameter unless it has no value.
    pub(super) fn parameter(&mut self, name: &'static str, value: Option<&impl fmt::Display>) {
        let value = value.map(|value| (name, value.to_string()));
        self.parameters.extend(value);
        self.parameters.sort_unstable_by_key(|(name, _)| *name);
    }

    /// Sets the value after the `@` unless there is none.
    pub(super) fn cutoff(&mut self, cutoff: Option<&impl fmt::Display>) {
        self.cutoff = cutoff.map(ToString::to_string);
    }
}

impl fmt::Display for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        let parameters = self.parameters.iter();
        let parameters = parameters.map(|(name, value)| format!("{name}={value}"));
        let inside: Vec<String> = self.argument.iter().cloned().chain(parameters).collect();
        if !inside.is_empty() {
            write!(f, "({})", inside.join(","))?;
        }
        self.cutoff
            .as_ref()
            .map_or(Ok(()), |cutoff| write!(f, "@{cutoff}"))
    }
}
