//! Measures of routing: the rank of the domain that answers a search, among the domains considered.

use smallvec::SmallVec;
use std::borrow::Cow;

use super::catalogue::Measure;
use super::descriptor::Source;
use super::family::measures;
use super::field::AT_K;
use super::parameter::Cutoff;
use crate::number::{indicator, real_length};
use crate::ranking::Judged;

measures! {
    /// Measure of routing.
    pub enum Routing;
    subject: Ranking;
    argument: None;
    build: |arguments, measure| Ok(Measure::Routing(measure));
    /// Returns the score of one search, from 0 to 1. If a search lists no domains but states the
    /// selected one, that domain is the only one considered. `None` if the gold set or the search
    /// states no domain.
    pub fn score(judged: &Judged<'_>) -> Option<f64>;

    "Routing" [] Within { cutoff: Cutoff = AT_K }
        : UNIT, Up, Source::Rankgauge,
        "1 if the gold domain is among the first k domains considered"
        => {
            let rank = rank(judged)?;
            Some(indicator(rank.is_some_and(|rank| rank < cutoff.length())))
        };

    /// 0 if it is absent.
    "RoutingRR" [] ReciprocalRank
        : UNIT, Up, Source::Rankgauge,
        "Reciprocal rank of the gold domain among the domains considered"
        => Some(rank(judged)?.map_or(0.0, |rank| 1.0 / real_length(rank + 1)));
}

/// Returns the position, from 0, of the gold domain among the domains considered: `Some(None)` if it
/// is absent, `None` if nothing is stated.
fn rank(judged: &Judged<'_>) -> Option<Option<usize>> {
    let expected = judged.expected_domain()?;
    match (&judged.search.routing, &judged.search.domain) {
        (Some(considered), _) => Some(considered.iter().position(|domain| **domain == *expected)),
        (None, Some(chosen)) => Some((**chosen == *expected).then_some(0)),
        (None, None) => None,
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
