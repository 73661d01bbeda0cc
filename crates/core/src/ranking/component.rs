//! Components of a ranking: graph expansion, agents, other domains, and which results are theirs.
//!
//! Which components there are is configuration; no name of one stands in the code.

use std::collections::BTreeMap;

use crate::event::{Hit, Search};

/// A part of the ranking that came from one mechanism. A result belongs to it when any of the
/// rules given applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// Name, as in `Discovery(rne)`.
    pub name: String,
    /// Prefixes of stage names: a result belongs when one of its stages begins with one of them.
    pub stages: Vec<String>,
    /// Attributes of results and the value that makes a result belong.
    pub attributes: BTreeMap<String, String>,
    /// An attribute that makes a result belong by differing from the search.
    pub differs: Option<Difference>,
}

/// A result's attribute compared with a field of its search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the attribute in `results[].attrs`.
    pub attribute: String,
    /// Field of the search that it is compared with.
    pub field: SearchField,
}

/// Fields of a search that a result's attribute can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchField {
    /// `domain`: the domain that the search was routed to.
    Domain,
    /// `application`: the program that asked.
    Application,
}

/// Whether a result is a component's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// It is not.
    Outside,
    /// It is, and another stage found it as well.
    Shared,
    /// It is the component's alone.
    Alone,
}

impl Membership {
    /// Whether the result belongs to the component, alone or not.
    pub fn belongs(self) -> bool {
        self != Self::Outside
    }
}

impl Component {
    /// Whether `hit`, served by `search`, is this component's. An attribute speaks for the whole
    /// result; a stage only for itself, so that a result of which another stage exists is shared.
    pub fn membership(&self, hit: &Hit<'_>, search: &Search<'_>) -> Membership {
        if self.attribute_applies(hit, search) {
            return Membership::Alone;
        }
        let stages = hit.stages.as_deref().unwrap_or_default();
        let own = stages.iter().filter(|stage| self.owns(stage)).count();
        match own {
            0 => Membership::Outside,
            own if own == stages.len() => Membership::Alone,
            _ => Membership::Shared,
        }
    }

    fn attribute_applies(&self, hit: &Hit<'_>, search: &Search<'_>) -> bool {
        let Some(attributes) = &hit.attrs else {
            return false;
        };
        let equal = self
            .attributes
            .iter()
            .any(|(name, value)| attributes.label(name).is_some_and(|label| label == *value));
        let differs = || {
            let difference = self.differs.as_ref()?;
            let of_search = match difference.field {
                SearchField::Domain => search.domain.as_deref(),
                SearchField::Application => search.application.as_deref(),
            };
            // What is not stated differs from nothing.
            Some(attributes.label(&difference.attribute)? != of_search?)
        };
        equal || differs().unwrap_or(false)
    }

    fn owns(&self, stage: &str) -> bool {
        self.stages.iter().any(|prefix| stage.starts_with(prefix))
    }

    /// How many hops away from where the search began a result of this component was found:
    /// `hops`, else the nearest stage of the component that says so (`rne_2hop`).
    pub fn hops(&self, hit: &Hit<'_>) -> Option<u32> {
        hit.hops.or_else(|| {
            let stages = hit.stages.iter().flatten();
            let own = stages.filter(|stage| self.stages.is_empty() || self.owns(stage));
            own.filter_map(|stage| hops_of(stage)).min()
        })
    }
}

/// The 2 of `rne_2hop` and of `rne_2hops`.
fn hops_of(stage: &str) -> Option<u32> {
    let stem = stage
        .strip_suffix("hops")
        .or_else(|| stage.strip_suffix("hop"))?;
    let stem = stem.strip_suffix(['_', '-']).unwrap_or(stem);
    let digits = stem.len() - stem.bytes().rev().take_while(u8::is_ascii_digit).count();
    stem.get(digits..)?.parse().ok()
}
