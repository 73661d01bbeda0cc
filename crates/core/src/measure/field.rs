//! Fields of measures: the place of a value in a spelling, its parser and its printer.

use std::fmt;
use std::num::NonZeroUsize;

use super::arguments::Arguments;
use super::descriptor::{Argument, CutoffRule, Parameter, ParameterDefault};
use super::grammar::{Canonical, MeasureError};
use super::parameter::{
    Absent, Currency, Cutoff, Denominator, EvaluatedBy, Fraction, Gain, Gains, Ideal, Number,
    RecallBase, Rounding, Weighting, When,
};
use super::user::{REFORMULATION, SATISFYING_DWELL};
use crate::gold::Grade;
use crate::overlap::{Rouge, Unit};

/// Field with values of type `T`.
pub(super) struct Field<T: 'static> {
    /// Unnamed first argument that the field reads.
    pub(super) argument: Argument,
    /// Named parameters that the field reads, passed to its functions.
    pub(super) parameters: &'static [Parameter],
    /// Rule for the value after the `@`, if the field reads it.
    pub(super) cutoff: CutoffRule,
    pub(super) read: fn(&Arguments<'_>, &'static [Parameter]) -> Result<T, MeasureError>,
    pub(super) write: fn(&T, &mut Canonical, &'static [Parameter]),
}

/// Argument of a measure: the last one that is stated.
pub(super) const fn argument_of(stated: &[Argument]) -> Argument {
    let mut argument = Argument::None;
    let mut position = 0;
    while position < stated.len() {
        if !matches!(stated[position], Argument::None) {
            argument = stated[position];
        }
        position += 1;
    }
    argument
}

/// Rule for the cutoff of a measure: the last one that is stated.
pub(super) const fn cutoff_of(stated: &[CutoffRule]) -> CutoffRule {
    let mut rule = CutoffRule::None;
    let mut position = 0;
    while position < stated.len() {
        if !matches!(stated[position], CutoffRule::None) {
            rule = stated[position];
        }
        position += 1;
    }
    rule
}

/// Number of first results.
pub(super) const AT_K: Field<Cutoff> = Field {
    argument: Argument::None,
    parameters: &[],
    cutoff: CutoffRule::Required,
    read: |arguments, _| arguments.cutoff(),
    write: |cutoff, canonical, _| canonical.cutoff(Some(cutoff)),
};

/// Number of first results, by default all.
pub(super) const AT_OPTIONAL_K: Field<Option<Cutoff>> = Field {
    argument: Argument::None,
    parameters: &[],
    cutoff: CutoffRule::Optional,
    read: |arguments, _| arguments.optional_cutoff(),
    write: |cutoff, canonical, _| canonical.cutoff(cutoff.as_ref()),
};

/// Level of recall.
pub(super) const AT_RECALL: Field<Fraction> = Field {
    argument: Argument::None,
    parameters: &[],
    cutoff: CutoffRule::RecallLevel,
    read: |arguments, _| arguments.recall(),
    write: |recall, canonical, _| canonical.cutoff(Some(recall)),
};

/// Multiple of the number of relevant documents.
pub(super) const AT_MULTIPLE: Field<Number> = Field {
    argument: Argument::None,
    parameters: &[],
    cutoff: CutoffRule::Multiple,
    read: |arguments, _| arguments.multiple(),
    write: |multiple, canonical, _| canonical.cutoff(Some(multiple)),
};

/// Name of a facet.
pub(super) const FACET: Field<Box<str>> = Field {
    argument: Argument::Facet,
    parameters: &[],
    cutoff: CutoffRule::None,
    read: |arguments, _| Ok(arguments.name()),
    write: |facet, canonical, _| canonical.argument(facet),
};

/// Variant of ROUGE.
pub(super) const ROUGE: Field<Rouge> = Field {
    argument: Argument::Rouge,
    parameters: &[],
    cutoff: CutoffRule::None,
    read: |arguments, _| Ok(arguments.rouge().unwrap_or_default()),
    write: |rouge, canonical, _| {
        canonical.argument(match rouge {
            Rouge::One => "1",
            Rouge::Two => "2",
            Rouge::L => "L",
        });
    },
};

/// Number of words that are compared together.
pub(super) const WORDS: Field<NonZeroUsize> = parameter(
    &[stated("n", "a whole number from 1 to 10", "3")],
    |arguments, parameters| {
        let words = arguments.value(&parameters[0], |value| {
            value
                .parse()
                .ok()
                .filter(|it: &NonZeroUsize| it.get() <= 10)
        })?;
        Ok(words.unwrap_or(DEFAULT_WORDS))
    },
    |words, canonical, parameters| write_unless(&DEFAULT_WORDS, words, canonical, parameters),
);

const DEFAULT_WORDS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// Parameter with a fixed default.
const fn stated(name: &'static str, values: &'static str, default: &'static str) -> Parameter {
    Parameter {
        name,
        values,
        default: ParameterDefault::Value(default),
    }
}

/// Field with one parameter.
const fn parameter<T>(
    parameters: &'static [Parameter],
    read: fn(&Arguments<'_>, &'static [Parameter]) -> Result<T, MeasureError>,
    write: fn(&T, &mut Canonical, &'static [Parameter]),
) -> Field<T> {
    Field {
        argument: Argument::None,
        parameters,
        cutoff: CutoffRule::None,
        read,
        write,
    }
}

/// Prints a value unless it is the default.
fn write_unless<T: PartialEq + fmt::Display>(
    default: &T,
    value: &T,
    canonical: &mut Canonical,
    parameters: &[Parameter],
) {
    canonical.parameter(parameters[0].name, Some(value).filter(|it| *it != default));
}

/// Prints the word of a value unless it is the first one, the default.
fn write_word<T: PartialEq>(
    words: &[(&'static str, T)],
    value: &T,
    canonical: &mut Canonical,
    parameters: &[Parameter],
) {
    let mut others = words.iter().skip(1);
    let word = others.find(|(_, known)| known == value);
    canonical.parameter(parameters[0].name, word.map(|(word, _)| word));
}

/// Defines fields with a word: the name, the valid words as they are documented, and the words with their values, of
/// which the first is the default.
macro_rules! words {
    ($(
        $(#[$about:meta])*
        $field:ident: $kind:ty = $name:literal, $values:literal,
        [$default_word:literal $default:expr $(, $word:literal $value:expr)*];
    )*) => {$(
        $(#[$about])*
        pub(super) const $field: Field<$kind> = {
            const WORDS: &[(&str, $kind)] = &[($default_word, $default) $(, ($word, $value))*];
            parameter(
                &[stated($name, $values, $default_word)],
                |arguments, parameters| {
                    Ok(arguments.word(&parameters[0], WORDS)?.unwrap_or($default))
                },
                |value, canonical, parameters| write_word(WORDS, value, canonical, parameters),
            )
        };
    )*};
}

words! {
    /// Unit in which texts are compared.
    UNIT: Unit = "unit", "`word` (the default) or `char`",
        ["word" Unit::Word, "char" Unit::Char];
    /// Treatment of absent values.
    ABSENT: Absent = "absent", "`skip` (the default) or `zero`",
        ["skip" Absent::Skip, "zero" Absent::Zero];
    /// Denominator of `P@k` and of the precision in `F1@k`.
    DENOMINATOR: Denominator = "denominator", "`cutoff` (the default), `retrieved` or `judged`",
        ["cutoff" Denominator::Cutoff, "retrieved" Denominator::Retrieved, "judged" Denominator::Judged];
    /// Denominator of `AP`.
    RECALL_BASE: RecallBase = "denominator", "`relevant` (the default) or `found`",
        ["relevant" RecallBase::Relevant, "found" RecallBase::Found];
    /// Ideal ranking of nDCG.
    IDEAL: Ideal = "ideal", "`judged` (the default), `retrieved`, `shown` or `uncut`",
        ["judged" Ideal::Judged, "retrieved" Ideal::Retrieved, "shown" Ideal::Shown, "uncut" Ideal::Uncut];
    /// Rounding of the number of documents that a level of recall requires.
    ROUNDING: Rounding = "rounding", "`up` (the default) or `nearest`",
        ["up" Rounding::Up, "nearest" Rounding::Nearest];
    /// Division by the best possible score.
    NORMALIZE: bool = "normalize", "`true` (the default) or `false`",
        ["true" true, "false" false];
}

/// Relevance level; by default that of the gold set.
pub(super) const REL: Field<Option<Grade>> = parameter(
    &[Parameter {
        name: "rel",
        values: "a grade from 0 to 1000",
        default: ParameterDefault::GoldSet,
    }],
    |arguments, parameters| {
        arguments.value(&parameters[0], |value| {
            Grade::new(value.parse().ok()?).filter(|grade| grade.get() >= 0.0)
        })
    },
    |rel, canonical, parameters| canonical.parameter(parameters[0].name, rel.as_ref()),
);

/// Highest grade of ERR; by default that of the scale.
pub(super) const MAX: Field<Option<Grade>> = parameter(
    &[Parameter {
        name: "max",
        values: "a grade above 0, up to 1000",
        default: ParameterDefault::GoldSet,
    }],
    |arguments, parameters| {
        arguments.value(&parameters[0], |value| {
            Grade::new(value.parse().ok()?).filter(|grade| grade.get() > 0.0)
        })
    },
    |max, canonical, parameters| canonical.parameter(parameters[0].name, max.as_ref()),
);

const WHEN_WORDS: [(&str, When); 2] = [("fired", When::Fired), ("needed", When::Needed)];

/// Restriction to searches in which the component fired.
pub(super) const WHEN: Field<Option<When>> = parameter(
    &[Parameter {
        name: "when",
        values: "`fired` or `needed`",
        default: ParameterDefault::None,
    }],
    |arguments, parameters| arguments.word(&parameters[0], &WHEN_WORDS),
    |when, canonical, parameters| {
        let mut words = WHEN_WORDS.iter();
        let word = when.and_then(|when| words.find(|(_, known)| *known == when));
        canonical.parameter(parameters[0].name, word.map(|(word, _)| word));
    },
);

/// Gain of a grade in nDCG, with the relevance level of a binary gain.
pub(super) const GAIN: Field<Gain> = parameter(
    &[
        stated(
            "gain",
            "`linear` (the default), `exp` or `binary`",
            "linear",
        ),
        Parameter {
            name: "gains",
            values: "gains by grade, such as `1:3;2:9`, none of which is negative",
            default: ParameterDefault::None,
        },
    ],
    |arguments, parameters| {
        let rel = (REL.read)(arguments, REL.parameters)?;
        let words = [
            ("linear", Gain::Linear),
            ("exp", Gain::Exponential),
            ("binary", Gain::Binary { rel }),
        ];
        let gain = arguments.word(&parameters[0], &words)?;
        if let Some(gains) = arguments.value(&parameters[1], Gains::read)? {
            if gain.is_some_and(|gain| gain != Gain::Linear) {
                let reason = "gains= states the gain of each grade";
                return Err(arguments.meaningless(&parameters[0], reason));
            }
            if rel.is_some() {
                let reason = "gains= states the gain of each grade";
                return Err(arguments.meaningless(&REL.parameters[0], reason));
            }
            return Ok(Gain::Table(gains));
        }
        let gain = gain.unwrap_or(Gain::Linear);
        if rel.is_some() && !matches!(gain, Gain::Binary { .. }) {
            let reason = "only gain=binary uses a relevance level";
            return Err(arguments.meaningless(&REL.parameters[0], reason));
        }
        Ok(gain)
    },
    |gain, canonical, parameters| {
        let (word, rel) = match gain {
            Gain::Linear => (None, &None),
            Gain::Exponential => (Some(&"exp"), &None),
            Gain::Binary { rel } => (Some(&"binary"), rel),
            Gain::Table(gains) => {
                canonical.parameter(parameters[1].name, Some(gains));
                (None, &None)
            }
        };
        canonical.parameter(parameters[0].name, word);
        (REL.write)(rel, canonical, REL.parameters);
    },
);

/// Gain by grade in RBP, with the relevance level of a binary gain.
pub(super) const GRADED: Field<Weighting> = parameter(
    &[stated(
        "graded",
        "`false` (the default), `true` or `query`",
        "false",
    )],
    |arguments, parameters| {
        let rel = (REL.read)(arguments, REL.parameters)?;
        let words = [
            ("false", Weighting::Binary { rel }),
            ("true", Weighting::Graded),
            ("query", Weighting::OfQuery),
        ];
        let weighting = arguments.word(&parameters[0], &words)?;
        let weighting = weighting.unwrap_or(Weighting::Binary { rel });
        if rel.is_some() && !matches!(weighting, Weighting::Binary { .. }) {
            let reason = "graded gains use the grade itself";
            return Err(arguments.meaningless(&REL.parameters[0], reason));
        }
        Ok(weighting)
    },
    |weighting, canonical, parameters| match weighting {
        Weighting::Binary { rel } => (REL.write)(rel, canonical, REL.parameters),
        Weighting::Graded => canonical.parameter(parameters[0].name, Some(&"true")),
        Weighting::OfQuery => canonical.parameter(parameters[0].name, Some(&"query")),
    },
);

/// Restriction to judged results, as `judged_only` of ir_measures.
pub(super) const JUDGED_ONLY: Field<bool> = parameter(
    &[stated(
        "judged_only",
        "`false` (the default) or `true`",
        "false",
    )],
    |arguments, parameters| {
        let words = [
            ("true", true),
            ("True", true),
            ("false", false),
            ("False", false),
        ];
        let judged_only = arguments.word(&parameters[0], &words)?;
        Ok(judged_only.unwrap_or(false))
    },
    |judged_only, canonical, parameters| {
        canonical.parameter(parameters[0].name, judged_only.then_some(&"true"));
    },
);

/// Persistence of RBP.
pub(super) const PERSISTENCE: Field<Fraction> = parameter(
    &[stated("p", "a number from 0 to 1, below 1", "0.8")],
    |arguments, parameters| {
        let persistence = arguments.value(&parameters[0], |value| {
            Fraction::new(value.parse().ok()?).filter(|p| p.get() < 1.0)
        })?;
        Ok(persistence.unwrap_or(Fraction::PERSISTENCE))
    },
    |persistence, canonical, parameters| {
        write_unless(&Fraction::PERSISTENCE, persistence, canonical, parameters);
    },
);

/// Defines fields with a number: its name, the default as it is documented and as a number, and the
/// valid values.
macro_rules! numbers {
    ($(
        $(#[$about:meta])*
        $field:ident: $name:literal = $text:literal $default:literal, $values:literal, $is_valid:expr;
    )*) => {$(
        $(#[$about])*
        pub(super) const $field: Field<Number> = parameter(
            &[stated($name, $values, $text)],
            |arguments, parameters| {
                let number = arguments.value(&parameters[0], |text| {
                    let is_valid: fn(&f64) -> bool = $is_valid;
                    Number::new(text.parse().ok().filter(is_valid)?)
                })?;
                Ok(number.unwrap_or(Number::constant($default)))
            },
            |number, canonical, parameters| {
                write_unless(&Number::constant($default), number, canonical, parameters);
            },
        );
    )*};
}

numbers! {
    /// Weight of recall against precision.
    BETA: "beta" = "1" 1.0, "a number from 0 to 1000", |it| (0.0..=1000.0).contains(it);
    /// Persistence of trec_eval 10 and of NERR10.
    PERSISTENCE_90: "p" = "0.9" 0.9, "a number from 0 to 1, below 1", |it| (0.0..1.0).contains(it);
    /// Persistence of Compat.
    PERSISTENCE_95: "p" = "0.95" 0.95, "a number from 0 to 1, below 1", |it| (0.0..1.0).contains(it);
    /// Intolerance of repeated subtopics.
    ALPHA: "alpha" = "0.5" 0.5, "a number from 0 to 1", |it| (0.0..=1.0).contains(it);
    /// Probability that a user of NRBP continues.
    PATIENCE: "beta" = "0.5" 0.5, "a number from 0 to 1, below 1", |it| (0.0..1.0).contains(it);
    /// Desired gain of a user.
    GOAL: "T" = "1" 1.0, "a number above 0, up to 1000", |it| *it > 0.0 && *it <= 1000.0;
    /// Grade without gain.
    MIN_REL: "min_rel" = "0" 0.0, "a grade from -1000 to 1000", |it| (-1000.0..=1000.0).contains(it);
    /// Weight of a relevant result.
    UTILITY_A: "a" = "1" 1.0, "a number from -1000 to 1000", |it| (-1000.0..=1000.0).contains(it);
    /// Weight of a result that is not relevant.
    UTILITY_B: "b" = "-1" -1.0, "a number from -1000 to 1000", |it| (-1000.0..=1000.0).contains(it);
    /// Weight of a relevant document that was not retrieved.
    UTILITY_C: "c" = "0" 0.0, "a number from -1000 to 1000", |it| (-1000.0..=1000.0).contains(it);
    /// Weight of a document that is neither relevant nor retrieved.
    UTILITY_D: "d" = "0" 0.0, "a number from -1000 to 1000", |it| (-1000.0..=1000.0).contains(it);
    /// Number of documents of the collection.
    DOCUMENTS: "docs" = "0" 0.0, "a number of documents, up to 1e12",
        |it| (0.0..=1e12).contains(it) && it.fract() <= 0.0;
}

/// Grade with the highest gain; by default the highest of the scale.
pub(super) const MAX_REL: Field<Option<Grade>> = parameter(
    &[Parameter {
        name: "max_rel",
        values: "a grade from -1000 to 1000, above min_rel",
        default: ParameterDefault::GoldSet,
    }],
    |arguments, parameters| {
        let min = (MIN_REL.read)(arguments, MIN_REL.parameters)?;
        arguments.value(&parameters[0], |value| {
            Grade::new(value.parse().ok()?).filter(|grade| grade.get() > min.get())
        })
    },
    |max, canonical, parameters| canonical.parameter(parameters[0].name, max.as_ref()),
);

/// Minimum dwell time of a satisfying click.
pub(super) const DWELL: Field<u32> = parameter(
    &[stated("dwell", "whole seconds from 1 to 3600", "30")],
    |arguments, parameters| {
        let dwell = arguments.seconds(&parameters[0])?;
        Ok(dwell.unwrap_or(SATISFYING_DWELL))
    },
    |dwell, canonical, parameters| write_unless(&SATISFYING_DWELL, dwell, canonical, parameters),
);

/// Maximum time to a reformulation.
pub(super) const WITHIN: Field<u32> = parameter(
    &[stated("within", "whole seconds from 1 to 3600", "60")],
    |arguments, parameters| {
        let within = arguments.seconds(&parameters[0])?;
        Ok(within.unwrap_or(REFORMULATION))
    },
    |within, canonical, parameters| write_unless(&REFORMULATION, within, canonical, parameters),
);

/// Currency of amounts. It is always printed, because the score has its unit.
pub(super) const CURRENCY: Field<Currency> = parameter(
    &[stated("currency", "a code of three capital letters", "USD")],
    |arguments, parameters| {
        let currency = arguments.value(&parameters[0], |value| Currency::new(value.as_bytes()))?;
        Ok(currency.unwrap_or(Currency::USD))
    },
    |currency, canonical, parameters| canonical.parameter(parameters[0].name, Some(currency)),
);

/// Property and evaluator. Both are required.
pub(super) const EVALUATED_BY: Field<EvaluatedBy> = parameter(
    &[
        Parameter {
            name: "evaluator",
            values: "the id of an evaluator; every spelling states it",
            default: ParameterDefault::Required("judge"),
        },
        Parameter {
            name: "name",
            values: "a judged property, such as `faithfulness`; every spelling states it",
            default: ParameterDefault::Required("faithfulness"),
        },
    ],
    |arguments, parameters| {
        let text = |parameter| {
            arguments.value(parameter, |value| {
                (!value.is_empty()).then(|| Box::<str>::from(value))
            })
        };
        let (evaluator, name) = (text(&parameters[0])?, text(&parameters[1])?);
        Ok(EvaluatedBy {
            evaluator: evaluator.ok_or_else(|| arguments.missing(&parameters[0]))?,
            name: name.ok_or_else(|| arguments.missing(&parameters[1]))?,
        })
    },
    |of, canonical, parameters| {
        canonical.parameter(parameters[0].name, Some(&of.evaluator));
        canonical.parameter(parameters[1].name, Some(&of.name));
    },
);
