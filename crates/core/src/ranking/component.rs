//! Components of a ranking, such as graph expansion, agents and other domains, and the assignment
//! of results to them.
//!
//! The configuration defines the components; the code contains no component name.

use std::collections::BTreeMap;

use crate::event::{Hit, Search};

/// Part of the ranking that came from one mechanism. A result belongs to it if any of the given
/// rules applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// Name, as in `Discovery(rne)`.
    pub name: String,
    /// Prefixes of stage names. A result belongs to the component if one of its stages starts with
    /// one of them.
    pub stages: Vec<String>,
    /// Attributes of results, with the value that assigns a result to the component.
    pub attributes: BTreeMap<String, String>,
    /// Attribute that assigns a result to the component by differing from the search.
    pub differs: Option<Difference>,
}

/// Comparison of a result's attribute with a field of its search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the attribute in `results[].attrs`.
    pub attribute: String,
    /// Field of the search to compare with.
    pub field: SearchField,
}

/// Fields of a search that a result's attribute can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchField {
    /// `domain`: the domain that the search was routed to.
    Domain,
    /// `application`: the program that sent the search.
    Application,
}

/// Membership of a result in a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// Not a result of the component.
    Outside,
    /// Found by the component and by another stage.
    Shared,
    /// Found by the component alone.
    Exclusive,
}

impl Membership {
    /// Returns true if the result belongs to the component, alone or shared.
    pub fn belongs(self) -> bool {
        self != Self::Outside
    }
}

impl Component {
    /// Returns the membership of `hit`, served by `search`, in this component. An attribute applies
    /// to the whole result. A stage applies only to itself, so a result that another stage also
    /// found is shared.
    pub fn membership(&self, hit: &Hit<'_>, search: &Search<'_>) -> Membership {
        if self.attribute_applies(hit, search) {
            return Membership::Exclusive;
        }
        let stages = hit.details().stages.as_deref().unwrap_or_default();
        let own = stages.iter().filter(|stage| self.owns(stage)).count();
        match own {
            0 => Membership::Outside,
            own if own == stages.len() => Membership::Exclusive,
            _ => Membership::Shared,
        }
    }

    fn attribute_applies(&self, hit: &Hit<'_>, search: &Search<'_>) -> bool {
        let Some(attributes) = &hit.details().attrs else {
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
            // A value that is not stated differs from nothing.
            Some(attributes.label(&difference.attribute)? != of_search?)
        };
        equal || differs().unwrap_or(false)
    }

    fn owns(&self, stage: &str) -> bool {
        self.stages.iter().any(|prefix| stage.starts_with(prefix))
    }

    /// Returns the hop distance of a result of this component from the start of the search: `hops`,
    /// else that of the nearest stage of the component that states one (`rne_2hop`).
    pub fn hops(&self, hit: &Hit<'_>) -> Option<u32> {
        let details = hit.details();
        details.hops.or_else(|| {
            let stages = details.stages.iter().flatten();
            let own = stages.filter(|stage| self.stages.is_empty() || self.owns(stage));
            own.filter_map(|stage| hops_of(stage)).min()
        })
    }
}

/// Parses the hop distance in a stage name: 2 for `rne_2hop` and `rne_2hops`.
fn hops_of(stage: &str) -> Option<u32> {
    let stem = stage
        .strip_suffix("hops")
        .or_else(|| stage.strip_suffix("hop"))?;
    let stem = stem.strip_suffix(['_', '-']).unwrap_or(stem);
    let digits = stem.len() - stem.bytes().rev().take_while(u8::is_ascii_digit).count();
    stem.get(digits..)?.parse().ok()
}
