//! One search beside its gold query: what measures look at.

use std::borrow::Cow;

use super::{Component, JudgeBy, Membership, Ranking, TextMatch};
use crate::event::{Hit, Search};
use crate::gold::GoldQuery;

/// How searches are judged. Two judges with equal rules see the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Which field of a result names the judged document.
    pub judge_by: JudgeBy,
    /// How results are matched to gold texts, where the gold query has no document ids.
    pub text: TextMatch,
    /// Parts of a ranking that measures tell apart.
    pub components: Vec<Component>,
}

/// Judges searches one after the other, in buffers that are used anew for each.
#[derive(Debug, Default)]
pub struct Judge {
    rules: Rules,
    ranking: Ranking,
    /// By component, then by result.
    memberships: Vec<Membership>,
}

impl Judge {
    /// A judge by these rules.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            ..Self::default()
        }
    }

    /// How this judge judges.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Looks at what `search` served for `query`, in the order of its results.
    pub fn judge<'a>(&'a mut self, search: &'a Search<'a>, query: &'a GoldQuery) -> Judged<'a> {
        if query.by_text {
            self.rules
                .text
                .judge(&mut self.ranking, &search.results, query);
        } else {
            let judge_by = self.rules.judge_by;
            let documents = search.results.iter().map(|hit| judge_by.document(hit));
            self.ranking.judge(documents, &query.judgements);
        }
        self.memberships.clear();
        for component in &self.rules.components {
            let hits = search.results.iter();
            self.memberships
                .extend(hits.map(|hit| component.membership(hit, search)));
        }
        Judged {
            search,
            query,
            ranking: &self.ranking,
            rules: &self.rules,
            memberships: &self.memberships,
        }
    }
}

/// A search that was judged.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// The search.
    pub search: &'a Search<'a>,
    /// Its gold query.
    pub query: &'a GoldQuery,
    /// The grades of its results.
    pub ranking: &'a Ranking,
    rules: &'a Rules,
    memberships: &'a [Membership],
}

impl<'a> Judged<'a> {
    /// What one component had to do with the search, by its name; `None` when none is called so.
    pub fn part(&self, component: &str) -> Option<Part<'a>> {
        let mut components = self.rules.components.iter();
        let index = components.position(|known| known.name == component)?;
        self.part_at(index)
    }

    /// What every component had to do with the search, in the order of the rules.
    pub fn parts(&self) -> impl Iterator<Item = Part<'a>> {
        let judged = *self;
        (0..self.rules.components.len()).filter_map(move |index| judged.part_at(index))
    }

    fn part_at(&self, index: usize) -> Option<Part<'a>> {
        let component = self.rules.components.get(index)?;
        let results = self.search.results.len();
        let memberships = self.memberships.get(index * results..)?.get(..results)?;
        let stated = self.search.fired.as_ref().and_then(|fired| {
            let label = fired.label(&component.name)?;
            label.parse().ok()
        });
        let not_empty = || memberships.iter().any(|membership| membership.belongs());
        Some(Part {
            component,
            memberships,
            needed: self.query.needs.get(&component.name).copied(),
            fired: stated.unwrap_or_else(not_empty),
        })
    }

    /// A facet of the result at `position` (from 0): its attribute, else what the gold set says of
    /// the document.
    pub fn facet(&self, position: usize, name: &str) -> Option<Cow<'a, str>> {
        let hit = self.search.results.get(position)?;
        let stated = hit
            .attrs
            .as_ref()
            .and_then(|attributes| attributes.label(name));
        stated.or_else(|| {
            let number = (*self.ranking.documents().get(position)?)?;
            let detail = self.query.details.get(number)?;
            detail.facets.get(name).map(|value| value.as_str().into())
        })
    }

    /// The domain that answers the query, according to the gold set.
    pub fn expected_domain(&self) -> Option<&'a str> {
        self.query.labels.get(PRIMARY_DOMAIN).map(String::as_str)
    }

    /// The domain that was chosen: what the search says, else the first that it considered.
    pub fn selected_domain(&self) -> Option<&'a str> {
        let considered = || self.search.routing.as_ref()?.first();
        let chosen = self.search.domain.as_ref().or_else(considered);
        chosen.map(|domain| &**domain)
    }
}

/// The label of a gold query that names its domain.
const PRIMARY_DOMAIN: &str = "primary_domain";

/// What one component had to do with one search.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The component.
    pub component: &'a Component,
    /// Whether each result is its own.
    pub memberships: &'a [Membership],
    /// Whether the gold set says that the query needs it; `None` when it does not say.
    pub needed: Option<bool>,
    /// Whether it ran: as the search says, else whether it has any results.
    pub fired: bool,
}

impl Part<'_> {
    /// The hop distances of the component's results, as far as they are known.
    pub fn hops<'h>(&'h self, results: &'h [Hit<'_>]) -> impl Iterator<Item = u32> + 'h {
        results
            .iter()
            .zip(self.memberships)
            .filter(|(_, membership)| membership.belongs())
            .filter_map(|(hit, _)| self.component.hops(hit))
    }
}
