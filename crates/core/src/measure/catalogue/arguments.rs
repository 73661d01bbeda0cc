//! Parser of measure spellings: reads a measure of the catalogue parameter by parameter, and finds
//! the nearest valid spelling for an invalid one.

use super::{About, After, CATALOGUE, ELSEWHERE, Entry};
use crate::gold::Grade;
use crate::measure::grammar::{MeasureError, Spelling};
use crate::measure::{Cutoff, Denominator, Fraction, Gain, Ideal, Measure, Weighting};

/// Parses one measure.
pub(in crate::measure) fn parse(text: &str) -> Result<Measure, MeasureError> {
    let text = text.trim();
    let spelling = Spelling::read(text).map_err(|fault| MeasureError::Malformed {
        text: text.to_owned(),
        fault,
        nearest: nearest_to(text.split(['(', ')', '@']).next().unwrap_or(text), None),
    })?;
    let Some(entry) = CATALOGUE.iter().find(|entry| entry.name == spelling.name) else {
        return Err(MeasureError::UnknownName {
            text: text.to_owned(),
            name: spelling.name.to_owned(),
            nearest: nearest_to(spelling.name, Some(&spelling)),
        });
    };
    let arguments = Arguments { spelling, entry };
    arguments.check_parameters()?;
    arguments.check_argument()?;
    let measure = (entry.build)(&arguments)?;
    if matches!(entry.after, After::Nothing) && arguments.spelling.cutoff.is_some() {
        return Err(arguments.bad_cutoff("takes no cutoff"));
    }
    Ok(measure)
}

/// Spelling with a known name, whose parameters are read one by one.
pub(super) struct Arguments<'a> {
    spelling: Spelling<'a>,
    entry: &'static Entry,
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
            if !self.entry.parameters.contains(parameter) {
                let known = self.entry.parameters.iter();
                let nearest =
                    known.min_by_key(|known| strsim::damerau_levenshtein(known, parameter));
                return Err(MeasureError::UnknownParameter {
                    text: self.spelling.text.to_owned(),
                    measure: self.entry.name,
                    parameter: (*parameter).to_owned(),
                    advice: match nearest {
                        Some(nearest) => format!(
                            "did you mean `{nearest}`? It has {}",
                            self.entry.parameters.join(", ")
                        ),
                        None => format!(
                            "it has none: write `{}`",
                            valid_spelling(self.entry, "", self.spelling.cutoff)
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

    /// Checks that the unnamed argument is present if it is required, and absent otherwise.
    fn check_argument(&self) -> Result<(), MeasureError> {
        let named = self.spelling.argument;
        let fault = match self.entry.about {
            About::Nothing if named.is_some() => "takes only parameters, written as `param=value`",
            About::Component if named.is_none() => "needs the name of a component",
            About::Facet if named.is_none() => "needs the name of a facet",
            About::Condition if self.condition().is_none() || named.is_some() => {
                "needs a facet and its value, `facet=value` or `facet!=value`"
            }
            About::Nothing | About::Component | About::Facet | About::Condition => return Ok(()),
        };
        Err(MeasureError::BadArgument {
            text: self.spelling.text.to_owned(),
            measure: self.entry.name,
            fault,
            nearest: valid_spelling(self.entry, "", self.spelling.cutoff),
        })
    }

    /// Component or facet that the measure is about.
    pub(super) fn name(&self) -> Box<str> {
        self.spelling.argument.unwrap_or_default().into()
    }

    /// Returns the first parameter that the entry does not define: the facet of a condition.
    fn stated_condition(&self) -> Option<(&str, &str)> {
        let mut parameters = self.spelling.parameters.iter();
        let is_own = |name: &str| !self.entry.parameters.contains(&name);
        let found = parameters.find(|(name, _)| is_own(name)).copied();
        found.filter(|_| matches!(self.entry.about, About::Condition))
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

    /// Returns true if `when=fired` is given.
    pub(super) fn when_fired(&self) -> Result<bool, MeasureError> {
        Ok(self.word("when", "`fired`", &[("fired", true)])?.is_some())
    }

    /// Returns the value of a parameter, parsed by `read`; `None` if the parameter is omitted.
    fn value<T>(
        &self,
        parameter: &'static str,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, MeasureError> {
        let given = self
            .spelling
            .parameters
            .iter()
            .find(|(name, _)| *name == parameter);
        let Some((_, value)) = given else {
            return Ok(None);
        };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(MeasureError::BadValue {
                text: self.spelling.text.to_owned(),
                parameter,
                value: (*value).to_owned(),
                expected,
            }),
        }
    }

    /// Returns the value of a parameter that has a fixed set of words.
    fn word<T: Copy>(
        &self,
        parameter: &'static str,
        expected: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, MeasureError> {
        self.value(parameter, expected, |value| {
            words
                .iter()
                .find(|(word, _)| *word == value)
                .map(|(_, meaning)| *meaning)
        })
    }

    pub(super) fn level(&self, parameter: &'static str) -> Result<Option<Grade>, MeasureError> {
        self.value(parameter, "a grade from 0 to 1000", |value| {
            Grade::new(value.parse().ok()?).filter(|grade| grade.get() >= 0.0)
        })
    }

    /// Returns a number of seconds, at most an hour.
    pub(super) fn seconds(&self, parameter: &'static str) -> Result<Option<u32>, MeasureError> {
        self.value(parameter, "whole seconds from 1 to 3600", |value| {
            let seconds = value.parse().ok()?;
            (1..=3_600).contains(&seconds).then_some(seconds)
        })
    }

    pub(super) fn max(&self) -> Result<Option<Grade>, MeasureError> {
        self.value("max", "a grade above 0, up to 1000", |value| {
            Grade::new(value.parse().ok()?).filter(|grade| grade.get() > 0.0)
        })
    }

    pub(super) fn denominator(&self) -> Result<Denominator, MeasureError> {
        let words = [
            ("cutoff", Denominator::Cutoff),
            ("retrieved", Denominator::Retrieved),
        ];
        let denominator = self.word(
            "denominator",
            "`cutoff` (the default) or `retrieved`",
            &words,
        )?;
        Ok(denominator.unwrap_or(Denominator::Cutoff))
    }

    pub(super) fn gain(&self) -> Result<Gain, MeasureError> {
        let rel = self.level("rel")?;
        let words = [
            ("linear", Gain::Linear),
            ("exp", Gain::Exponential),
            ("binary", Gain::Binary { rel }),
        ];
        let gain = self.word("gain", "`linear` (the default), `exp` or `binary`", &words)?;
        let gain = gain.unwrap_or(Gain::Linear);
        if rel.is_some() && !matches!(gain, Gain::Binary { .. }) {
            return Err(self.meaningless("rel", "only gain=binary uses a relevance level"));
        }
        Ok(gain)
    }

    pub(super) fn ideal(&self) -> Result<Ideal, MeasureError> {
        let words = [("judged", Ideal::Judged), ("retrieved", Ideal::Retrieved)];
        let ideal = self.word("ideal", "`judged` (the default) or `retrieved`", &words)?;
        Ok(ideal.unwrap_or(Ideal::Judged))
    }

    pub(super) fn persistence(&self) -> Result<Fraction, MeasureError> {
        let persistence = self.value("p", "a number from 0 to 1, below 1", |value| {
            Fraction::new(value.parse().ok()?).filter(|p| p.get() < 1.0)
        })?;
        Ok(persistence.unwrap_or(Fraction::PERSISTENCE))
    }

    pub(super) fn weighting(&self) -> Result<Weighting, MeasureError> {
        let rel = self.level("rel")?;
        let words = [
            ("false", Weighting::Binary { rel }),
            ("true", Weighting::Graded),
        ];
        let weighting = self.word("graded", "`false` (the default) or `true`", &words)?;
        let weighting = weighting.unwrap_or(Weighting::Binary { rel });
        if rel.is_some() && matches!(weighting, Weighting::Graded) {
            return Err(self.meaningless("rel", "graded=true uses the grade itself"));
        }
        Ok(weighting)
    }

    fn meaningless(&self, parameter: &'static str, reason: &'static str) -> MeasureError {
        MeasureError::Meaningless {
            text: self.spelling.text.to_owned(),
            parameter,
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

    fn bad_cutoff(&self, fault: &'static str) -> MeasureError {
        MeasureError::BadCutoff {
            text: self.spelling.text.to_owned(),
            measure: self.entry.name,
            fault,
            nearest: valid_spelling(self.entry, self.spelling.inside, self.spelling.cutoff),
        }
    }
}

fn read_cutoff(text: &str) -> Option<Cutoff> {
    Cutoff::new(text.parse().ok()?)
}

fn read_recall(text: &str) -> Option<Fraction> {
    Fraction::new(text.parse().ok()?)
}

/// Returns a valid spelling of `entry` with `inside`, which must be valid, and with `cutoff` as far
/// as it is valid.
fn valid_spelling(entry: &Entry, inside: &str, cutoff: Option<&str>) -> String {
    let after = match (entry.after, cutoff) {
        (After::Nothing, _) | (After::OptionalCutoff, None) => None,
        (After::Recall, cutoff) => {
            Some(cutoff.filter(|c| read_recall(c).is_some()).unwrap_or("0.1"))
        }
        (_, Some("0")) => Some("1"),
        (_, cutoff) => Some(cutoff.filter(|c| read_cutoff(c).is_some()).unwrap_or("10")),
    };
    let about = match entry.about {
        About::Nothing => "",
        About::Component => "component",
        About::Facet => "facet",
        About::Condition => "facet=value",
    };
    let inside = if inside.is_empty() { about } else { inside };
    let parameters = if inside.is_empty() {
        String::new()
    } else {
        format!("({inside})")
    };
    let after = after.map_or_else(String::new, |after| format!("@{after}"));
    format!("{}{parameters}{after}", entry.name)
}

/// Returns the valid spelling nearest to one whose name is unknown: `ndcg@10`, `MRR`, `P5`,
/// `recall_10`.
fn nearest_to(name: &str, spelling: Option<&Spelling<'_>>) -> String {
    // The limit is longer than any name. Further characters cannot make one name nearer than
    // another.
    let lower = name.chars().take(40).collect::<String>().to_lowercase();
    // Other tools append the cutoff directly to the name.
    let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = lower.get(stem.len()..).filter(|digits| !digits.is_empty());
    let stem = stem.trim_end_matches(['_', '.', '-', '@']);
    let names = CATALOGUE
        .iter()
        .map(|entry| (entry.name.to_lowercase(), entry));
    let aliases = ELSEWHERE.iter().filter_map(|(alias, name)| {
        let entry = CATALOGUE.iter().find(|entry| entry.name == *name)?;
        Some(((*alias).to_owned(), entry))
    });
    let nearest = names
        .chain(aliases)
        .flat_map(|(known, entry)| {
            let whole = strsim::damerau_levenshtein(&known, &lower);
            let glued = strsim::damerau_levenshtein(&known, stem);
            [(whole, None, entry), (glued, digits, entry)]
        })
        .min_by_key(|(distance, _, _)| *distance);
    // Unreachable: the catalogue is not empty.
    let Some((_, digits, entry)) = nearest else {
        return name.to_owned();
    };
    let cutoff = spelling.and_then(|spelling| spelling.cutoff).or(digits);
    let inside = spelling.map_or("", |spelling| spelling.inside);
    let kept = valid_spelling(entry, inside, cutoff);
    // The nearest measure may not have the given parameters.
    let fits = Spelling::read(&kept).is_ok_and(|spelling| {
        let arguments = Arguments { spelling, entry };
        arguments.check_parameters().is_ok()
            && arguments.check_argument().is_ok()
            && (entry.build)(&arguments).is_ok()
    });
    if fits {
        kept
    } else {
        valid_spelling(entry, "", cutoff)
    }
}
