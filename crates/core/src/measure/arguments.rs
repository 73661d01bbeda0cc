//! Parser of measure spellings: reads a measure of the catalogue parameter by parameter, and finds
//! the nearest valid spelling for an invalid one.

use super::catalogue::{Measure, catalogue, find};
use super::descriptor::{Argument, CutoffRule, Descriptor, Named, Parameter, ParameterDefault};
use super::grammar::{MeasureError, Spelling};
use super::parameter::{Cutoff, Fraction, Number};
use crate::overlap::Rouge;
use crate::text::{is_near, nearest};

/// Parses one measure.
pub(super) fn parse(text: &str) -> Result<Measure, MeasureError> {
    let text = text.trim();
    let mut spelling = Spelling::read(text).map_err(|fault| MeasureError::Malformed {
        text: text.to_owned(),
        fault,
        nearest: nearest_to(text.split(['(', ')', '@']).next().unwrap_or(text), None).0,
    })?;
    // A spelling cannot have two cutoffs.
    let is_valid = |named: &Named<'_>| named.cutoff.is_none() || spelling.cutoff.is_none();
    let Some(Named { descriptor, cutoff }) = find(spelling.name).filter(is_valid) else {
        let (nearest, is_near) = nearest_to(spelling.name, Some(&spelling));
        return Err(MeasureError::UnknownName {
            text: text.to_owned(),
            name: spelling.name.to_owned(),
            nearest: is_near.then_some(nearest),
        });
    };
    spelling.cutoff = spelling.cutoff.or(cutoff);
    let arguments = Arguments {
        spelling,
        descriptor,
    };
    arguments.check_parameters()?;
    arguments.check_argument()?;
    let measure = (descriptor.build)(&arguments)?;
    if descriptor.cutoff == CutoffRule::None && arguments.spelling.cutoff.is_some() {
        return Err(arguments.bad_cutoff("takes no cutoff"));
    }
    Ok(measure)
}

/// Spelling with a known name, whose parameters are read one by one.
pub(super) struct Arguments<'a> {
    spelling: Spelling<'a>,
    descriptor: &'static Descriptor,
}

impl Arguments<'_> {
    fn check_parameters(&self) -> Result<(), MeasureError> {
        let mut read = Vec::new();
        let condition = self.stated_condition().map(|(parameter, _)| parameter);
        for (parameter, _) in &self.spelling.parameters {
            if Some(*parameter) == condition && !read.contains(parameter) {
                read.push(*parameter);
                continue;
            }
            if !self.has_parameter(parameter) {
                let known = || self.descriptor.parameters().map(|known| known.name);
                let nearest = nearest(parameter, known());
                let list = known().collect::<Vec<_>>().join(", ");
                return Err(MeasureError::UnknownParameter {
                    text: self.spelling.text.to_owned(),
                    measure: self.descriptor.name,
                    parameter: (*parameter).to_owned(),
                    advice: match nearest {
                        Some(nearest) => format!("did you mean `{nearest}`? It has {list}"),
                        None if !list.is_empty() => format!("it has {list}"),
                        None => format!(
                            "it has none: write `{}`",
                            valid_spelling(self.descriptor, "", self.spelling.cutoff)
                        ),
                    },
                });
            }
            if read.contains(parameter) {
                return Err(MeasureError::RepeatedParameter {
                    text: self.spelling.text.to_owned(),
                    parameter: (*parameter).to_owned(),
                });
            }
            read.push(*parameter);
        }
        Ok(())
    }

    /// Returns true if the measure has a parameter with this name.
    fn has_parameter(&self, name: &str) -> bool {
        let mut parameters = self.descriptor.parameters();
        parameters.any(|parameter| parameter.name == name)
    }

    /// Checks that the unnamed argument is present if it is required, and absent otherwise.
    fn check_argument(&self) -> Result<(), MeasureError> {
        let named = self.spelling.argument;
        let fault = match self.descriptor.argument {
            Argument::None if named.is_some() => "takes only parameters, written as `param=value`",
            Argument::Component if named.is_none() => "needs the name of a component",
            Argument::Facet if named.is_none() => "needs the name of a facet",
            Argument::Condition if self.condition().is_none() || named.is_some() => {
                "needs a facet and its value, `facet=value` or `facet!=value`"
            }
            Argument::Rouge if self.rouge().is_none() => "needs its variant: 1, 2 or L",
            Argument::None
            | Argument::Component
            | Argument::Facet
            | Argument::Condition
            | Argument::Rouge => {
                return Ok(());
            }
        };
        Err(MeasureError::BadArgument {
            text: self.spelling.text.to_owned(),
            measure: self.descriptor.name,
            fault,
            nearest: valid_spelling(self.descriptor, "", self.spelling.cutoff),
        })
    }

    /// Variant of ROUGE.
    pub(super) fn rouge(&self) -> Option<Rouge> {
        match self.spelling.argument? {
            "1" => Some(Rouge::One),
            "2" => Some(Rouge::Two),
            "L" | "l" => Some(Rouge::L),
            _ => None,
        }
    }

    /// Component or facet that the measure is about.
    pub(super) fn name(&self) -> Box<str> {
        self.spelling.argument.unwrap_or_default().into()
    }

    /// Returns the first parameter that the descriptor does not define: the facet of a condition.
    fn stated_condition(&self) -> Option<(&str, &str)> {
        let mut parameters = self.spelling.parameters.iter();
        let found = parameters.find(|(name, _)| !self.has_parameter(name));
        found
            .copied()
            .filter(|_| self.descriptor.argument == Argument::Condition)
    }

    /// Returns the condition of a facet: its name, its value, and true if the two must be equal.
    pub(super) fn condition(&self) -> Option<(Box<str>, Box<str>, bool)> {
        let (name, value) = self.stated_condition()?;
        let (name, equal) = match name.strip_suffix('!') {
            Some(name) => (name.trim_end(), false),
            None => (name, true),
        };
        let complete = !name.is_empty() && !value.is_empty();
        complete.then(|| (name.into(), value.into(), equal))
    }

    /// Returns the value of a parameter, parsed by `read`; `None` if the parameter is omitted.
    pub(super) fn value<T>(
        &self,
        parameter: &Parameter,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, MeasureError> {
        let given = self
            .spelling
            .parameters
            .iter()
            .find(|(name, _)| *name == parameter.name);
        let Some((_, value)) = given else {
            return Ok(None);
        };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(MeasureError::BadValue {
                text: self.spelling.text.to_owned(),
                parameter: parameter.name,
                value: (*value).to_owned(),
                expected: parameter.values,
            }),
        }
    }

    /// Returns the value of a parameter that has a fixed set of words.
    pub(super) fn word<T: Clone>(
        &self,
        parameter: &Parameter,
        words: &[(&str, T)],
    ) -> Result<Option<T>, MeasureError> {
        self.value(parameter, |value| {
            words
                .iter()
                .find(|(word, _)| word.eq_ignore_ascii_case(value))
                .map(|(_, meaning)| meaning.clone())
        })
    }

    /// Returns a number of seconds, at most an hour.
    pub(super) fn seconds(&self, parameter: &Parameter) -> Result<Option<u32>, MeasureError> {
        self.value(parameter, |value| {
            let seconds = value.parse().ok()?;
            (1..=3_600).contains(&seconds).then_some(seconds)
        })
    }

    /// Error of a parameter that every spelling states.
    pub(super) fn missing(&self, parameter: &'static Parameter) -> MeasureError {
        MeasureError::BadValue {
            text: self.spelling.text.to_owned(),
            parameter: parameter.name,
            value: String::new(),
            expected: parameter.values,
        }
    }

    pub(super) fn meaningless(&self, parameter: &Parameter, reason: &'static str) -> MeasureError {
        MeasureError::Meaningless {
            text: self.spelling.text.to_owned(),
            parameter: parameter.name,
            reason,
        }
    }

    pub(super) fn cutoff(&self) -> Result<Cutoff, MeasureError> {
        self.optional_cutoff()?
            .ok_or_else(|| self.bad_cutoff("needs a cutoff"))
    }

    pub(super) fn optional_cutoff(&self) -> Result<Option<Cutoff>, MeasureError> {
        let Some(cutoff) = self.spelling.cutoff else {
            return Ok(None);
        };
        match read_cutoff(cutoff) {
            Some(cutoff) => Ok(Some(cutoff)),
            None => Err(self.bad_cutoff("needs a whole number from 1 to 4294967295 as its cutoff")),
        }
    }

    pub(super) fn recall(&self) -> Result<Fraction, MeasureError> {
        self.spelling
            .cutoff
            .and_then(read_recall)
            .ok_or_else(|| self.bad_cutoff("needs a recall level from 0 to 1 after the `@`"))
    }

    pub(super) fn multiple(&self) -> Result<Number, MeasureError> {
        self.spelling
            .cutoff
            .and_then(read_multiple)
            .ok_or_else(|| self.bad_cutoff("needs a multiple of R, from 0 to 1000, after the `@`"))
    }

    fn bad_cutoff(&self, fault: &'static str) -> MeasureError {
        MeasureError::BadCutoff {
            text: self.spelling.text.to_owned(),
            measure: self.descriptor.name,
            fault,
            nearest: valid_spelling(self.descriptor, self.spelling.inside, self.spelling.cutoff),
        }
    }
}

fn read_cutoff(text: &str) -> Option<Cutoff> {
    Cutoff::new(text.parse().ok()?)
}

fn read_recall(text: &str) -> Option<Fraction> {
    Fraction::new(text.parse().ok()?)
}

fn read_multiple(text: &str) -> Option<Number> {
    Number::new(text.parse().ok()?).filter(|it| (0.0..=1000.0).contains(&it.get()))
}

/// Returns a valid spelling of a measure with `inside`, which must be valid, and with `cutoff` as
/// far as it is valid.
fn valid_spelling(descriptor: &Descriptor, inside: &str, cutoff: Option<&str>) -> String {
    let cutoff = match (descriptor.cutoff, cutoff) {
        (CutoffRule::None, _) | (CutoffRule::Optional, None) => None,
        (CutoffRule::RecallLevel, cutoff) => {
            Some(cutoff.filter(|c| read_recall(c).is_some()).unwrap_or("0.1"))
        }
        (CutoffRule::Multiple, cutoff) => {
            Some(cutoff.filter(|c| read_multiple(c).is_some()).unwrap_or("1"))
        }
        (_, Some("0")) => Some("1"),
        (_, cutoff) => Some(cutoff.filter(|c| read_cutoff(c).is_some()).unwrap_or("10")),
    };
    let inside = if inside.is_empty() {
        let required = descriptor.parameters().filter_map(|it| match it.default {
            ParameterDefault::Required(example) => Some(format!("{}={example}", it.name)),
            ParameterDefault::Value(_) | ParameterDefault::GoldSet | ParameterDefault::None => None,
        });
        let argument = descriptor.argument.placeholder();
        let argument = (!argument.is_empty()).then(|| argument.to_owned());
        argument
            .into_iter()
            .chain(required)
            .collect::<Vec<_>>()
            .join(",")
    } else {
        inside.to_owned()
    };
    let parameters = if inside.is_empty() {
        String::new()
    } else {
        format!("({inside})")
    };
    let cutoff = cutoff.map_or_else(String::new, |cutoff| format!("@{cutoff}"));
    format!("{}{parameters}{cutoff}", descriptor.name)
}

/// Returns the valid spelling nearest to one whose name is unknown: `nDGC@10`, `P5`, `mrr_10`; and true if the
/// name is probably a misspelling of it.
fn nearest_to(name: &str, spelling: Option<&Spelling<'_>>) -> (String, bool) {
    // The limit is longer than any name. Further characters cannot make one name nearer than
    // another.
    let lower = name.chars().take(40).collect::<String>().to_lowercase();
    // Other tools append the cutoff directly to the name.
    let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = lower.get(stem.len()..).filter(|digits| !digits.is_empty());
    let stem = stem.trim_end_matches(['_', '.', '-', '@']);
    let names = catalogue().map(|descriptor| (descriptor, descriptor.name));
    let aliases = catalogue().flat_map(|descriptor| {
        let stems = descriptor.alias_stems();
        stems.map(move |alias| (descriptor, alias))
    });
    // A tie goes to the name.
    let nearest = names
        .chain(aliases)
        .flat_map(|(descriptor, known)| {
            let known = known.to_lowercase();
            let whole = strsim::damerau_levenshtein(&known, &lower);
            let glued = strsim::damerau_levenshtein(&known, stem);
            [
                (whole, is_near(&known, &lower), None, descriptor),
                (glued, is_near(&known, stem), digits, descriptor),
            ]
        })
        .min_by_key(|(distance, ..)| *distance);
    // Unreachable: the catalogue is not empty.
    let Some((_, is_near, digits, descriptor)) = nearest else {
        return (name.to_owned(), false);
    };
    let cutoff = spelling.and_then(|spelling| spelling.cutoff).or(digits);
    let inside = spelling.map_or("", |spelling| spelling.inside);
    let kept = valid_spelling(descriptor, inside, cutoff);
    // The nearest measure may not have the given parameters.
    let fits = Spelling::read(&kept).is_ok_and(|spelling| {
        let arguments = Arguments {
            spelling,
            descriptor,
        };
        arguments.check_parameters().is_ok()
            && arguments.check_argument().is_ok()
            && (descriptor.build)(&arguments).is_ok()
    });
    let spelling = if fits {
        kept
    } else {
        valid_spelling(descriptor, "", cutoff)
    };
    (spelling, is_near)
}
