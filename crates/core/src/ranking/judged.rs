//! Judged search: a search with its gold query, the input of every measure.

use std::borrow::Cow;
use std::sync::OnceLock;

use smallvec::SmallVec;

use super::answer::{AnswerForms, JudgedAnswer, Reference};
use super::component::{Component, Membership};
use super::eligibility::Eligibility;
use super::list::{JudgeBy, Ranking};
use super::text::TextMatch;
use crate::event::{Hit, Search};
use crate::gold::{GoldQuery, Grade, hash_document};

/// Judging rules. Two judges with equal rules give equal results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Field of a result that names the judged document.
    pub judge_by: JudgeBy,
    /// Matching of results to gold texts, for gold queries without document ids.
    pub text: TextMatch,
    /// Documents that the text of an answer names, for answers without a list of citations.
    pub references: Vec<Reference>,
    /// Components of a ranking that measures distinguish.
    pub components: Vec<Component>,
    /// Searches that are judged.
    pub eligibility: Eligibility,
}

/// Judges searches one after the other, in reused buffers.
#[derive(Debug, Default)]
pub struct Judge {
    rules: Rules,
    ranking: Ranking,
    /// Hashes of the ids of the results.
    hashes: Vec<u64>,
    /// Memberships by component, then by result.
    memberships: Vec<Membership>,
    /// By component: true if it ran.
    fired: Vec<bool>,
    /// By component: what [`Contribution::needed`] says.
    needed: Vec<Option<bool>>,
    repetitions: Repetitions,
    /// Forms of the answer; `None` for a search without one.
    answer: Option<Box<AnswerForms>>,
}

/// Numbers of repeated ids. Several measures read them, and many configurations do not.
#[derive(Debug, Default)]
struct Repetitions {
    before: OnceLock<Option<usize>>,
    after: OnceLock<usize>,
}

impl Judge {
    /// Judge with these rules.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            ..Self::default()
        }
    }

    /// Rules of this judge.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Hashes of the ids of the results that were judged or hashed last.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Judges the results that `search` served for `query`, in their order.
    pub fn judge<'a>(&'a mut self, search: &'a Search<'a>, query: &'a GoldQuery) -> Judged<'a> {
        self.hash(search);
        if query.by_text {
            self.rules
                .text
                .judge(&mut self.ranking, &search.results, query);
        } else {
            let results = search.results.iter().zip(&self.hashes);
            let judge_by = self.rules.judge_by;
            let hashes = results.map(|(hit, hash)| match judge_by {
                JudgeBy::Id => *hash,
                JudgeBy::GroupId => hash_document(judge_by.document(hit)),
            });
            self.ranking.judge_hashes(hashes, &query.judgements);
        }
        self.repetitions = Repetitions::default();
        self.answer = search.answer.is_some().then(Box::default);
        self.memberships.clear();
        self.fired.clear();
        self.needed.clear();
        for component in &self.rules.components {
            let hits = search.results.iter();
            let first = self.memberships.len();
            self.memberships
                .extend(hits.map(|hit| component.membership(hit, search)));
            let stated = search.fired.as_ref().and_then(|fired| {
                let label = fired.label(&component.name)?;
                label.parse().ok()
            });
            let not_empty = || self.memberships[first..].iter().any(|it| it.belongs());
            self.fired.push(stated.unwrap_or_else(not_empty));
            let needed = query.needs.get(&component.name);
            self.needed.push(needed.copied());
        }
        self.judged(search, query)
    }

    /// Hashes the ids of the results that `search` served, for [`Judge::hashes`].
    pub fn hash(&mut self, search: &Search<'_>) {
        self.hashes.clear();
        let ids = search.results.iter().map(|hit| hash_document(&hit.id));
        self.hashes.extend(ids);
    }

    /// The search that was [judged](Judge::judge) last.
    pub fn judged<'a>(&'a self, search: &'a Search<'a>, query: &'a GoldQuery) -> Judged<'a> {
        Judged {
            search,
            query,
            ranking: &self.ranking,
            hashes: &self.hashes,
            rules: &self.rules,
            memberships: &self.memberships,
            fired: &self.fired,
            needed: &self.needed,
            repetitions: &self.repetitions,
            answer: self.answer.as_deref(),
        }
    }
}

/// Search that was judged.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// Judged search.
    pub search: &'a Search<'a>,
    /// Gold query of the search.
    pub query: &'a GoldQuery,
    /// Grades of the results.
    pub ranking: &'a Ranking,
    hashes: &'a [u64],
    rules: &'a Rules,
    memberships: &'a [Membership],
    fired: &'a [bool],
    needed: &'a [Option<bool>],
    repetitions: &'a Repetitions,
    answer: Option<&'a AnswerForms>,
}

impl<'a> Judged<'a> {
    /// Rules by which the search was judged.
    pub(super) fn rules(&self) -> &'a Rules {
        self.rules
    }

    /// Answer of the search, if it has one.
    pub fn answer(&self) -> Option<JudgedAnswer<'a>> {
        JudgedAnswer::new(*self, self.answer?)
    }

    /// Returns the judged documents in served order with their grades; `None` for an unjudged document.
    pub fn documents(&self) -> impl Iterator<Item = (&'a str, Option<Grade>)> + use<'a> {
        let judge_by = self.rules.judge_by;
        let hits = self.search.results.iter();
        let documents = hits.map(move |hit| judge_by.document(hit));
        documents.zip(self.ranking.grades().iter().copied())
    }

    /// Returns the contribution of a component to the search, by its name; `None` if no component
    /// has this name.
    pub fn part(&self, component: &str) -> Option<Contribution<'a>> {
        let mut components = self.rules.components.iter();
        let index = components.position(|known| known.name == component)?;
        self.part_at(index)
    }

    /// Returns the contribution of every component to the search, in the order of the rules.
    pub fn parts(&self) -> impl Iterator<Item = Contribution<'a>> {
        let judged = *self;
        (0..self.rules.components.len()).filter_map(move |index| judged.part_at(index))
    }

    fn part_at(&self, index: usize) -> Option<Contribution<'a>> {
        let component = self.rules.components.get(index)?;
        let results = self.search.results.len();
        let memberships = self.memberships.get(index * results..)?.get(..results)?;
        Some(Contribution {
            component,
            memberships,
            needed: *self.needed.get(index)?,
            fired: *self.fired.get(index)?,
        })
    }

    /// Hashes of the ids of the results.
    pub fn hashes(&self) -> &'a [u64] {
        self.hashes
    }

    /// Number of ids before deduplication that repeat an earlier one. `None` if the search does not
    /// state the ids.
    pub fn repetitions_before(&self) -> Option<usize> {
        *self.repetitions.before.get_or_init(|| {
            let before = self.search.merged_from.as_ref()?;
            Some(repetitions(before.iter().map(|id| hash_document(id))))
        })
    }

    /// Number of results that repeat an earlier one.
    pub fn repetitions_after(&self) -> usize {
        let after = &self.repetitions.after;
        *after.get_or_init(|| repetitions(self.hashes.iter().copied()))
    }

    /// Returns a facet of the result at `position` (from 0): its attribute, else the facet of the
    /// document in the gold set.
    pub fn facet(&self, position: usize, name: &str) -> Option<Cow<'a, str>> {
        let hit = self.search.results.get(position)?;
        let attributes = hit.details().attrs.as_ref();
        let stated = attributes.and_then(|attributes| attributes.label(name));
        stated.or_else(|| {
            let number = (*self.ranking.documents().get(position)?)?;
            let value = self.query.details.facet(name)?.value(number)?;
            Some(value.into())
        })
    }

    /// Domain that answers the query, according to the gold set.
    pub fn expected_domain(&self) -> Option<&'a str> {
        self.query.domain()
    }

    /// Domain that was selected: the domain that the search states, else the first that it
    /// considered.
    pub fn selected_domain(&self) -> Option<&'a str> {
        let considered = || self.search.routing.as_ref()?.first();
        let chosen = self.search.domain.as_ref().or_else(considered);
        chosen.map(|domain| &**domain)
    }
}

/// Returns how many ids repeat an earlier one, by their hashes.
fn repetitions(hashes: impl Iterator<Item = u64>) -> usize {
    let mut hashes: SmallVec<[u64; 32]> = hashes.collect();
    // Few ids are compared faster than sorted.
    if hashes.len() <= 16 {
        let repeats = |index: &usize| hashes[..*index].contains(&hashes[*index]);
        return (1..hashes.len()).filter(repeats).count();
    }
    let all = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    all - hashes.len()
}

/// Contribution of one component to one search.
#[derive(Clone, Copy, Debug)]
pub struct Contribution<'a> {
    /// Component that contributed.
    pub component: &'a Component,
    /// Membership of each result in the component.
    pub memberships: &'a [Membership],
    /// True if the query needs the component according to the gold set; `None` if the gold set does
    /// not state it.
    pub needed: Option<bool>,
    /// True if the component ran, as stated by the search. If the search does not state it, true if
    /// the component has any results.
    pub fired: bool,
}

impl Contribution<'_> {
    /// Returns the known hop distances of the component's results.
    pub fn hops<'h>(&'h self, results: &'h [Hit<'_>]) -> impl Iterator<Item = u32> + 'h {
        results
            .iter()
            .zip(self.memberships)
            .filter(|(_, membership)| membership.belongs())
            .filter_map(|(hit, _)| self.component.hops(hit))
    }
}
