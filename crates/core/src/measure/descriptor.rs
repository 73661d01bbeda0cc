//! Descriptor of a measure: every fact about it but its formula.

use std::fmt;

use super::arguments::Arguments;
use super::catalogue::{Measure, find};
use super::direction::Direction;
use super::grammar::MeasureError;

/// Facts about one measure, an entry of the [catalogue](super::catalogue()).
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// Canonical name: the text before the `(` and the `@`.
    pub name: &'static str,
    /// Other accepted names. An alias that ends in `_k` or `_r` includes the cutoff or the recall
    /// level: with `recall_k`, `recall_100` is read as `R@100`. Names and aliases are accepted in
    /// any case.
    pub aliases: &'static [&'static str],
    /// Unnamed first argument, in the parentheses.
    pub(super) argument: Argument,
    /// Named parameters, by the field that reads them.
    pub(super) parameters: &'static [&'static [Parameter]],
    /// Rule for the value after the `@`.
    pub(super) cutoff: CutoffRule,
    /// Range of the scores.
    pub range: Range,
    /// Direction in which the measure improves.
    pub direction: Direction,
    /// Combination of the scores of several queries.
    pub mean: Mean,
    /// Measured object.
    pub subject: Subject,
    /// Origin of the definition.
    pub source: Source,
    /// Definition in one line, without a full stop.
    pub description: &'static str,
    /// Constructor of the measure from a parsed spelling.
    pub(super) build: fn(&Arguments<'_>) -> Result<Measure, MeasureError>,
}

/// Unnamed first argument of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// No argument.
    None,
    /// Name of a component.
    Component,
    /// Name of a facet.
    Facet,
    /// Facet and its value, `facet=value` or `facet!=value`.
    Condition,
    /// Variant of ROUGE: 1, 2 or L.
    Rouge,
}

/// Rule for the value after the `@` of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutoffRule {
    /// No value.
    None,
    /// Optional number of results; by default all.
    Optional,
    /// Required number of results.
    Required,
    /// Required recall level from 0 to 1.
    RecallLevel,
    /// Required multiple of the number of relevant documents.
    Multiple,
}

/// Combination of the scores of the queries of a run into one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mean {
    /// Arithmetic mean.
    Arithmetic,
    /// Geometric mean. No score is 0.
    Geometric,
    /// Sum, for counts.
    Sum,
    /// Score of the summed counts of all queries, as the corpus score of sacrebleu.
    Corpus,
}

/// Mean of a measure: the arithmetic mean unless another is stated.
pub(super) const fn mean_of(stated: &[Mean]) -> Mean {
    match stated {
        [mean, ..] => *mean,
        [] => Mean::Arithmetic,
    }
}

/// Named parameter of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name, the text before the `=`.
    pub name: &'static str,
    /// Valid values, as the end of a sentence that begins with "it is".
    pub values: &'static str,
    /// Value of an omitted parameter.
    pub(super) default: ParameterDefault,
}

impl Parameter {
    /// Fixed value of an omitted parameter, as it is spelled. `None` if the gold set defines the value, if every
    /// spelling states it, or if an omitted parameter has no effect.
    pub fn fixed_default(&self) -> Option<&'static str> {
        match self.default {
            ParameterDefault::Value(value) => Some(value),
            ParameterDefault::GoldSet | ParameterDefault::Required(_) | ParameterDefault::None => {
                None
            }
        }
    }
}

/// Value of an omitted parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterDefault {
    /// Fixed value, as it is spelled.
    Value(&'static str),
    /// Value that the gold set defines.
    GoldSet,
    /// Every spelling states the parameter, for example with this value.
    Required(&'static str),
    /// No value: the parameter has no effect.
    None,
}

/// Range of the scores of a measure, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lowest score.
    pub min: f64,
    /// Highest score.
    pub max: f64,
}

/// Object that a measure describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Ranking, compared with the judgements. The score exists as soon as the search does.
    Ranking,
    /// Answer that a model gave from the results, compared with what is expected of it. The score exists as
    /// soon as the search does.
    Answer,
    /// Behaviour of the users. The score exists when the feedback window has passed.
    Users,
}

impl Subject {
    /// Returns the subject of a measure by its name; `None` if the measure is unknown.
    pub fn of(measure: &str) -> Option<Self> {
        let name = measure.split(['(', '@']).next().unwrap_or(measure);
        find(name).map(|named| named.descriptor.subject)
    }

    /// Name: `ranking`, `answer`, `users`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ranking => "ranking",
            Self::Answer => "answer",
            Self::Users => "users",
        }
    }
}

/// Origin of the definition of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// trec_eval, under this name.
    TrecEval(&'static str),
    /// ir_measures, under this name.
    IrMeasures(&'static str),
    /// Another tool, with its name of the measure.
    Tool(&'static str),
    /// Publication: authors and year.
    Paper(&'static str),
    /// rankgauge itself.
    Rankgauge,
}

impl Descriptor {
    /// Named parameters, in alphabetical order.
    pub fn parameters(&self) -> impl Iterator<Item = &'static Parameter> + Clone {
        self.parameters.iter().copied().flatten()
    }

    /// Returns true if the measure has an unnamed first argument: a component, a facet, a condition or a variant.
    pub fn has_argument(&self) -> bool {
        self.argument != Argument::None
    }

    /// Returns the form of a spelling without named parameters: `P@k`, `RR[@k]`, `IPrec@r`,
    /// `Discovery(component)`.
    pub fn syntax(&self) -> String {
        let argument = match self.argument {
            Argument::None => "",
            Argument::Rouge => "(variant)",
            argument => &format!("({})", argument.placeholder()),
        };
        let cutoff = match self.cutoff {
            CutoffRule::None => "",
            CutoffRule::Optional => "[@k]",
            CutoffRule::Required => "@k",
            CutoffRule::RecallLevel => "@r",
            CutoffRule::Multiple => "@x",
        };
        format!("{}{argument}{cutoff}", self.name)
    }

    /// Returns the match of `name` with the name or an alias of the measure, in any case.
    pub(super) fn find_name<'a>(&'static self, name: &'a str) -> Option<Named<'a>> {
        let named = |cutoff| Named {
            descriptor: self,
            cutoff,
        };
        if self.name.eq_ignore_ascii_case(name) {
            return Some(named(None));
        }
        let is_number = |text: &str| {
            let mut chars = text.chars();
            !text.is_empty() && chars.all(|c| c.is_ascii_digit() || c == '.')
        };
        let numbered = name.rsplit_once('_').filter(|(_, end)| is_number(end));
        self.aliases
            .iter()
            .find_map(|alias| match alias_stem(alias) {
                (known, false) => known.eq_ignore_ascii_case(name).then(|| named(None)),
                (known, true) => {
                    let (stem, cutoff) = numbered?;
                    let is_known = known.eq_ignore_ascii_case(stem);
                    is_known.then(|| named(Some(cutoff)))
                }
            })
    }

    /// Returns the aliases, without the cutoff that an alias includes.
    pub(super) fn alias_stems(&self) -> impl Iterator<Item = &'static str> {
        self.aliases.iter().map(|alias| alias_stem(alias).0)
    }
}

/// Returns an alias without the cutoff that it includes, and true if it includes one.
fn alias_stem(alias: &'static str) -> (&'static str, bool) {
    let stem = ["_k", "_r"].iter().find_map(|end| alias.strip_suffix(end));
    stem.map_or((alias, false), |stem| (stem, true))
}

/// Measure found by a name or an alias.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) descriptor: &'static Descriptor,
    /// Cutoff that the alias includes: the `100` of `recall_100`.
    pub(super) cutoff: Option<&'a str>,
}

impl Argument {
    /// Argument of a spelling that only shows the form; empty without an argument.
    pub(super) fn placeholder(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Component => "component",
            Self::Facet => "facet",
            Self::Condition => "facet=value",
            Self::Rouge => "L",
        }
    }
}

impl Range {
    /// From 0 to 1: a share, a probability or a yes-or-no value.
    pub const UNIT: Self = Self { min: 0.0, max: 1.0 };
    /// From 0 to 100: a score in percent, as in the package that defines it.
    pub const PERCENT: Self = Self {
        min: 0.0,
        max: 100.0,
    };
    /// From 0 upwards: a count, a distance or an amount of information.
    pub const NON_NEGATIVE: Self = Self {
        min: 0.0,
        max: f64::INFINITY,
    };
    /// Any number: a difference of two counts.
    pub const UNBOUNDED: Self = Self {
        min: f64::NEG_INFINITY,
        max: f64::INFINITY,
    };
    /// Up to 1: a relative reduction.
    pub const AT_MOST_ONE: Self = Self {
        min: f64::NEG_INFINITY,
        max: 1.0,
    };
    /// From -1 to 1: a difference of two shares.
    pub const DIFFERENCE: Self = Self {
        min: -1.0,
        max: 1.0,
    };

    /// Returns true if a score can be negative.
    pub fn is_signed(self) -> bool {
        self.min < 0.0
    }

    /// Returns true if all scores lie from 0 to 1.
    pub fn is_share(self) -> bool {
        self.min >= 0.0 && self.max <= 1.0
    }

    /// Returns true if the range contains `score`.
    pub fn contains(self, score: f64) -> bool {
        (self.min..=self.max).contains(&score)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min.is_finite(), self.max.is_finite()) {
            (true, true) => write!(f, "{} to {}", self.min, self.max),
            (true, false) => write!(f, "at least {}", self.min),
            (false, true) => write!(f, "at most {}", self.max),
            (false, false) => f.write_str("any number"),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TrecEval(name) => write!(f, "trec_eval, {name}"),
            Self::IrMeasures(name) => write!(f, "ir_measures, {name}"),
            Self::Paper(title) | Self::Tool(title) => f.write_str(title),
            Self::Rankgauge => f.write_str("rankgauge"),
        }
    }
}
