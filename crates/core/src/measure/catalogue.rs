//! Every measure of rankgauge, and the catalogue of their descriptors.

use std::fmt;

use super::answer::AnswerMeasure;
use super::arguments;
use super::component::{Aspect, ComponentMeasure};
use super::descriptor::{Descriptor, Mean, Named, Subject};
use super::diversity::Diversity;
use super::grammar::{MeasureError, MeasureErrors};
use super::novelty::Novelty;
use super::ranked::Ranked;
use super::retrieval::Retrieval;
use super::routing::Routing;
use super::tool::{self, Compat};
use super::user::UserMeasure;
use crate::gold::Judgements;
use crate::ranking::{Judged, Ranking};

/// Measure with all its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Quality of the ranking according to the judgements. Available as soon as the search is.
    Ranked(Ranked),
    /// Further measure of the ranking according to the judgements.
    Retrieval(Retrieval),
    /// Contribution of one component to the ranking.
    Component(ComponentMeasure),
    /// Coverage and diversity of the list, in addition to its relevance.
    Diversity(Diversity),
    /// Novelty and diversity over the subtopics of the query.
    Novelty(Novelty),
    /// Correctness of the domain that the search was routed to.
    Routing(Routing),
    /// Quality of the answer that a model gave from the ranking.
    Answer(AnswerMeasure),
    /// User behaviour on the ranking. Available when the search is finalised.
    User(UserMeasure),
}

impl Measure {
    /// Parses measures separated by white space or by commas (outside parentheses), in order. A name of
    /// trec_eval may stand for several: `all_trec`, `P`, `ndcg_cut.5,10`.
    ///
    /// # Errors
    /// All spellings that are not measures, each with the nearest valid one.
    pub fn parse_list(list: &str) -> Result<Vec<Self>, MeasureErrors> {
        Self::parse_list_as(list, Compat::default())
    }

    /// Does what [`Measure::parse_list`] does, with the definitions of a version of trec_eval.
    ///
    /// # Errors
    /// As [`Measure::parse_list`].
    pub fn parse_list_as(list: &str, compat: Compat) -> Result<Vec<Self>, MeasureErrors> {
        let mut measures = Vec::new();
        let mut errors = Vec::new();
        for text in tool::split(list) {
            match tool::parse(&text, compat) {
                Ok(parsed) => measures.extend(parsed),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(measures)
        } else {
            Err(MeasureErrors(errors))
        }
    }

    /// Returns the score of a judged search. `None` if the search has no data for the measure, and
    /// for measures of user behaviour, which are not yet known.
    pub fn score(&self, judged: &Judged<'_>) -> Option<f64> {
        match self {
            Self::Ranked(measure) => measure.score(judged.ranking, &judged.query.judgements),
            Self::Retrieval(measure) => measure.score(judged.ranking, &judged.query.judgements),
            Self::Component(measure) => measure.score(judged),
            Self::Diversity(measure) => measure.score(judged),
            Self::Novelty(measure) => Some(measure.score(judged)),
            Self::Routing(measure) => measure.score(judged),
            Self::Answer(measure) => measure.score(judged),
            Self::User(_) => None,
        }
    }

    /// Returns the score of a list by its grades alone. `None` if the list has no data for the measure, or if
    /// the measure needs more than the grades.
    pub fn score_of_grades(&self, ranking: &Ranking, judgements: &Judgements) -> Option<f64> {
        match self {
            Self::Ranked(measure) => measure.score(ranking, judgements),
            Self::Retrieval(measure) => measure.score(ranking, judgements),
            Self::Component(_)
            | Self::Diversity(_)
            | Self::Novelty(_)
            | Self::Routing(_)
            | Self::Answer(_)
            | Self::User(_) => None,
        }
    }

    /// Returns true if the score depends on the grades of the results alone.
    pub fn needs_only_grades(&self) -> bool {
        match self {
            Self::Ranked(_) | Self::Retrieval(_) => true,
            Self::Component(_)
            | Self::Diversity(_)
            | Self::Novelty(_)
            | Self::Routing(_)
            | Self::Answer(_)
            | Self::User(_) => false,
        }
    }

    /// Returns true if the score, or the [score if unjudged results are relevant](Self::score_if_relevant), depends on
    /// the highest grade of the scale, which is that of all queries of a gold set.
    pub fn depends_on_scale(&self) -> bool {
        match self {
            Self::Ranked(measure) => measure.depends_on_scale(),
            Self::Retrieval(measure) => measure.depends_on_scale(),
            Self::Component(_)
            | Self::Diversity(_)
            | Self::Novelty(_)
            | Self::Routing(_)
            | Self::Answer(_)
            | Self::User(_) => false,
        }
    }

    /// Returns the facts about the measure.
    pub fn descriptor(&self) -> &'static Descriptor {
        match self {
            Self::Ranked(measure) => measure.descriptor(),
            Self::Retrieval(measure) => measure.descriptor(),
            Self::Component(measure) => measure.descriptor(),
            Self::Diversity(measure) => measure.descriptor(),
            Self::Novelty(measure) => measure.descriptor(),
            Self::Routing(measure) => measure.descriptor(),
            Self::Answer(measure) => measure.descriptor(),
            Self::User(measure) => measure.descriptor(),
        }
    }

    /// Returns true if a score can be negative.
    pub fn is_signed(&self) -> bool {
        self.descriptor().range.is_signed()
    }

    /// Returns true if all scores of the measure lie from 0 to 1.
    pub fn is_share(&self) -> bool {
        self.descriptor().range.is_share()
    }

    /// Returns true if the measure is about user behaviour rather than about the ranking.
    pub fn is_user_measure(&self) -> bool {
        self.descriptor().subject == Subject::Users
    }

    /// Component that the measure is about, by its name in the configuration.
    pub fn component(&self) -> Option<&str> {
        match self {
            Self::Component(measure) => Some(&measure.component),
            Self::Ranked(_)
            | Self::Retrieval(_)
            | Self::Diversity(_)
            | Self::Novelty(_)
            | Self::Routing(_)
            | Self::Answer(_)
            | Self::User(_) => None,
        }
    }
}

impl std::str::FromStr for Measure {
    type Err = MeasureError;

    fn from_str(text: &str) -> Result<Self, MeasureError> {
        // The error of a family of measures states the missing cutoff.
        let parsed = tool::parse(text, Compat::default())?;
        match <[Self; 1]>::try_from(parsed) {
            Ok([measure]) => Ok(measure),
            Err(several) => match arguments::parse(text) {
                Err(MeasureError::UnknownName { text, .. }) => Err(MeasureError::Several {
                    text,
                    count: several.len(),
                    first: several
                        .first()
                        .map_or_else(String::new, ToString::to_string),
                }),
                parsed => parsed,
            },
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ranked(measure) => measure.canonical().fmt(f),
            Self::Retrieval(measure) => measure.canonical().fmt(f),
            Self::Component(measure) => measure.fmt(f),
            Self::Diversity(measure) => measure.canonical().fmt(f),
            Self::Novelty(measure) => measure.canonical().fmt(f),
            Self::Routing(measure) => measure.canonical().fmt(f),
            Self::Answer(measure) => measure.canonical().fmt(f),
            Self::User(measure) => measure.canonical().fmt(f),
        }
    }
}

/// Tables of all families.
static FAMILIES: [&[Descriptor]; 8] = [
    Ranked::TABLE,
    Retrieval::TABLE,
    Aspect::TABLE,
    Diversity::TABLE,
    Novelty::TABLE,
    Routing::TABLE,
    AnswerMeasure::TABLE,
    UserMeasure::TABLE,
];

/// Returns the descriptors of all measures, family by family.
pub fn catalogue() -> impl Iterator<Item = &'static Descriptor> + Clone {
    FAMILIES.iter().copied().flatten()
}

/// Returns the measure with this name or alias, in any case.
pub(super) fn find(name: &str) -> Option<Named<'_>> {
    catalogue().find_map(|descriptor| descriptor.find_name(name))
}

impl Mean {
    /// Returns the mean of a measure by its name, canonical or alias; arithmetic for an unknown one. The
    /// counts of preferences are not in the catalogue.
    pub fn of(measure: &str) -> Self {
        let name = measure.split(['(', '@']).next().unwrap_or(measure);
        match find(name) {
            Some(named) => named.descriptor.mean,
            None if name.starts_with("prefs_num_") => Self::Sum,
            None => Self::Arithmetic,
        }
    }
}

/// Returns the descriptor with this canonical name. Call it in a `const` block, where a name that
/// the catalogue does not contain is a compilation error.
#[allow(clippy::panic, reason = "evaluated at compile time only")]
pub(super) const fn entry(name: &str) -> &'static Descriptor {
    let mut family = 0;
    while family < FAMILIES.len() {
        let table = FAMILIES[family];
        let mut position = 0;
        while position < table.len() {
            if is_same(table[position].name.as_bytes(), name.as_bytes()) {
                return &table[position];
            }
            position += 1;
        }
        family += 1;
    }
    panic!("the catalogue contains no measure with this name")
}

/// Returns true if two texts are equal. `==` cannot be used in a `const fn`.
const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut position = 0;
    while position < a.len() && position < b.len() && a[position] == b[position] {
        position += 1;
    }
    position == a.len() && position == b.len()
}
