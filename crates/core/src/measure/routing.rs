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
        => by_position(judged, |position| indicator(position < cutoff.length()));

    /// 0 if it is absent.
    "RoutingRR" [] ReciprocalRank
        : UNIT, Up, Source::Rankgauge,
        "Reciprocal rank of the gold domain among the domains considered"
        => by_position(judged, |position| 1.0 / real_length(position + 1));
}

/// Returns `score` of the position, from 0, of the gold domain among the domains considered: 0 if it
/// is absent. `None` if nothing is stated.
fn by_position(judged: &Judged<'_>, score: impl Fn(usize) -> f64) -> Option<f64> {
    let expected = judged.expected_domain()?;
    let position = match (&judged.search.routing, &judged.search.domain) {
        (Some(considered), _) => considered.iter().position(|domain| **domain == *expected),
        (None, Some(chosen)) => (**chosen == *expected).then_some(0),
        (None, None) => return None,
    };
    Some(position.map_or(0.0, score))
}

impl<'a> Judged<'a> {
    /// Returns the domains that contributed a relevant result, each once.
    pub fn contributing_domains(&self) -> SmallVec<[Cow<'a, str>; 8]> {
        let level = self.query.judgements.level();
        let grades = self.ranking.grades().iter();
        let contributors = grades
            .zip(&self.search.results)
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
}
