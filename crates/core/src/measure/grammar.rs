//! The shape of measure names, `Name(param=value,…)@cutoff`, read and written.
//!
//! It knows where a name, a parameter and a cutoff stand, and every error there can be; not which
//! of them exist, which the catalogue says.

use std::fmt;

/// Why a spelling names no measure, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// The text does not have the shape of a measure.
    #[error(
        "`{text}` is not written as a measure: {fault}; write `Name(param=value,…)@cutoff`, for \
         example `{nearest}`"
    )]
    Malformed {
        /// What was given.
        text: String,
        /// What is wrong with its shape.
        fault: &'static str,
        /// A valid spelling near it.
        nearest: String,
    },
    /// No measure has this name.
    #[error("no measure is called `{name}` (in `{text}`); did you mean `{nearest}`?")]
    UnknownName {
        /// What was given.
        text: String,
        /// The name in it.
        name: String,
        /// The nearest valid spelling.
        nearest: String,
    },
    /// The measure has no such parameter.
    #[error("{measure} has no parameter `{parameter}` (in `{text}`); {advice}")]
    UnknownParameter {
        /// What was given.
        text: String,
        /// The measure's name.
        measure: &'static str,
        /// The parameter it does not have.
        parameter: String,
        /// Which one is nearest, or that there is none.
        advice: String,
    },
    /// A parameter is given twice.
    #[error("the parameter `{parameter}` is given twice in `{text}`; keep one")]
    RepeatedParameter {
        /// What was given.
        text: String,
        /// The parameter's name.
        parameter: String,
    },
    /// A parameter cannot have this value.
    #[error("`{parameter}` cannot be `{value}` (in `{text}`); it is {expected}")]
    BadValue {
        /// What was given.
        text: String,
        /// The parameter's name.
        parameter: &'static str,
        /// The value in it.
        value: String,
        /// Which values there are.
        expected: &'static str,
    },
    /// A parameter says nothing beside the others.
    #[error("`{parameter}` has no meaning in `{text}`: {reason}")]
    Meaningless {
        /// What was given.
        text: String,
        /// The parameter's name.
        parameter: &'static str,
        /// What it depends on.
        reason: &'static str,
    },
    /// What stands first in the parentheses is missing, or it should not be there.
    #[error("{measure} {fault} (in `{text}`); write `{nearest}`")]
    BadArgument {
        /// What was given.
        text: String,
        /// The measure's name.
        measure: &'static str,
        /// What is wrong.
        fault: &'static str,
        /// A valid spelling near it.
        nearest: String,
    },
    /// The cutoff is missing, or it is not one, or the measure takes none.
    #[error("{measure} {fault} (in `{text}`); write `{nearest}`")]
    BadCutoff {
        /// What was given.
        text: String,
        /// The measure's name.
        measure: &'static str,
        /// What is wrong with the cutoff.
        fault: &'static str,
        /// A valid spelling near it.
        nearest: String,
    },
}

/// A measure taken apart, not yet understood.
#[derive(Clone, Debug)]
pub(super) struct Spelling<'a> {
    /// All of it.
    pub(super) text: &'a str,
    /// What stands before the parentheses and the `@`.
    pub(super) name: &'a str,
    /// What stands between the parentheses, as it is.
    pub(super) inside: &'a str,
    /// What stands first in the parentheses and has no name: the component of `Discovery(rne)`.
    pub(super) argument: Option<&'a str>,
    /// The rest as pairs.
    pub(super) parameters: Vec<(&'a str, &'a str)>,
    /// What stands behind the `@`.
    pub(super) cutoff: Option<&'a str>,
}

impl<'a> Spelling<'a> {
    /// Takes `text` apart; the error says what is wrong with its shape.
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
            for (position, piece) in inside.split(',').enumerate() {
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

/// The pieces of a list of measures: separated by white space or commas, outside parentheses.
pub(super) fn split(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    list.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    })
    .filter(|piece| !piece.is_empty())
}

/// A parameter's name, and its value unless that is the default.
pub(super) type Parameter<'a> = (&'static str, Option<&'a dyn fmt::Display>);

/// Some value, or none, as something to print.
pub(super) fn shown<T: fmt::Display>(value: Option<&T>) -> Option<&dyn fmt::Display> {
    value.map(|value| value as &dyn fmt::Display)
}

/// Writes a measure in its canonical form: what it is about, if anything, before the
/// `parameters`, which are sorted by name.
pub(super) fn write_canonical(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    argument: Option<&dyn fmt::Display>,
    parameters: &[Parameter<'_>],
    cutoff: Option<&dyn fmt::Display>,
) -> fmt::Result {
    f.write_str(name)?;
    let mut separator = "(";
    if let Some(argument) = argument {
        write!(f, "{separator}{argument}")?;
        separator = ",";
    }
    for (parameter, value) in parameters {
        if let Some(value) = value {
            write!(f, "{separator}{parameter}={value}")?;
            separator = ",";
        }
    }
    if separator == "," {
        f.write_str(")")?;
    }
    cutoff.map_or(Ok(()), |cutoff| write!(f, "@{cutoff}"))
}
