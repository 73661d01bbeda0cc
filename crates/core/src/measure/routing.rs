//! Measures of routing: the rank of the domain that answers a search, among the domains considered.

use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt;

use super::catalogue::entry;
use super::descriptor::Descriptor;
use super::grammar::{shown, write_canonical};
use super::{Cutoff, indicator, real};
use crate::ranking::Judged;

/// Measure of routing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Routing {
    /// `Routing@k`: 1 if the gold domain is among the first k domains considered.
    Within(Cutoff),
    /// `RoutingRR`: 1 / the rank of the gold domain among the domains considered, 0 if it is
    /// absent.
    ReciprocalRank,
}

impl Routing {
    /// Returns the facts about the measure.
    pub(super) fn descriptor(&self) -> &'static Descriptor {
        match self {
            Self::Within(_) => const { entry("Routing") },
            Self::ReciprocalRank => const { entry("RoutingRR") },
        }
    }

    /// Returns the score of one search, from 0 to 1. If a search lists no domains but states the
    /// selected one, that domain is the only one considered. `None` if the gold set or the search
    /// states no domain.
    pub fn score(&self, judged: &Judged<'_>) -> Option<f64> {
        let expected = judged.expected_domain()?;
        let rank = match (&judged.search.routing, &judged.search.domain) {
            (Some(considered), _) => considered.iter().position(|domain| **domain == *expected),
            (None, Some(chosen)) => (**chosen == *expected).then_some(0),
            (None, None) => return None,
        };
        Some(match (self, rank) {
            (Self::Within(cutoff), Some(rank)) => indicator(rank < cutoff.length()),
            (Self::ReciprocalRank, Some(rank)) => 1.0 / real(rank + 1),
            (Self::Within(_) | Self::ReciprocalRank, None) => 0.0,
        })
    }
}

/// Returns the cell of the confusion matrix: the expected and the selected domain of a search.
/// `None` unless both are known.
pub fn confusion<'a>(judged: &Judged<'a>) -> Option<(&'a str, &'a str)> {
    // Most searches outside of a profile with domains have none, and the search is at hand.
    let selected = judged.selected_domain()?;
    Some((judged.expected_domain()?, selected))
}

/// Returns the cells of the collaboration matrix: the selected domain of a search (by default the
/// expected one), and each domain that contributed a relevant result. `None` without such a domain.
pub fn collaboration<'a>(judged: &Judged<'a>) -> Option<(&'a str, SmallVec<[Cow<'a, str>; 8]>)> {
    let contributors = contributors(judged);
    if contributors.is_empty() {
        return None;
    }
    let primary = judged.selected_domain();
    let primary = primary.or_else(|| judged.expected_domain())?;
    Some((primary, contributors))
}

/// Returns the domains that contributed a relevant result, each once.
pub fn contributors<'a>(judged: &Judged<'a>) -> SmallVec<[Cow<'a, str>; 8]> {
    let level = judged.query.judgements.level();
    let grades = judged.ranking.grades().iter();
    let contributors = grades
        .zip(&judged.search.results)
        .filter(|(grade, _)| grade.is_some_and(|grade| grade.is_relevant_at(level)))
        .filter_map(|(_, hit)| hit.details().attrs.as_ref()?.label("domain"));
    let mut domains: SmallVec<[_; 8]> = SmallVec::new();
    for domain in contributors {
        // Few domains contribute to most searches, and comparing them is faster than sorting.
        if !domains.iter().rev().take(8).any(|known| *known == domain) {
            domains.push(domain);
        }
    }
    domains.sort_unstable();
    domains.dedup();
    domains
}

impl fmt::Display for Routing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cutoff = match self {
            Self::Within(cutoff) => Some(cutoff),
            Self::ReciprocalRank => None,
        };
        write_canonical(f, self.descriptor().name, None, &[], shown(cutoff))
    }
}
