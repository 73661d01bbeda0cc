//! Failure patterns of one answer. They follow from the answer and its judgements, never from names
//! of components or domains.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};

use super::errors::QueryErrors;
use rankgauge_core::gold::composed;
use rankgauge_core::ranking::{JudgeBy, Judged};

/// Failure pattern of a query.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// The run does not answer the query.
    NotAnswered,
    /// The answer has no results.
    NothingReturned,
    /// The answer has results, and none is relevant.
    NothingRelevant,
    /// A relevant document is among the results, below the cutoff.
    BelowCutoff,
    /// A relevant document is not among the results.
    NotRetrieved,
    /// The id of a result differs from that of a relevant document only in Unicode normalisation.
    OtherNormalForm,
    /// All results down to the cutoff state another domain than that of the query.
    OtherDomains,
    /// The search was routed to another domain than that of the query.
    WrongDomain,
    /// A relation of the gold graph leads from a result to a relevant document that is not among
    /// the results.
    OneHopShort,
    /// The gold set states that a component is needed, and it did not run.
    NotTriggered(String),
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAnswered => "not answered",
            Self::NothingReturned => "nothing returned",
            Self::NothingRelevant => "nothing relevant returned",
            Self::BelowCutoff => "relevant document below the cutoff",
            Self::NotRetrieved => "relevant document not retrieved",
            Self::OtherNormalForm => {
                "id of a relevant document in another Unicode form (--normalise-ids nfc)"
            }
            Self::OtherDomains => "only results of other domains",
            Self::WrongDomain => "routed to another domain",
            Self::OneHopShort => "relevant document one hop from a result",
            Self::NotTriggered(component) => {
                return write!(f, "needed component did not run: {component}");
            }
        })
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Returns the patterns of an answer with these errors among the first `cutoff` results.
pub(super) fn patterns(
    judged: &Judged<'_>,
    judge_by: JudgeBy,
    errors: &QueryErrors,
    cutoff: usize,
) -> Vec<Pattern> {
    let results = &judged.search.results;
    if results.is_empty() {
        return vec![Pattern::NothingReturned];
    }
    let mut patterns = Vec::new();
    let level = judged.query.judgements.level();
    let is_relevant = |grade: &Option<rankgauge_core::gold::Grade>| {
        grade.is_some_and(|grade| grade.is_relevant_at(level))
    };
    if !judged.ranking.grades().iter().any(is_relevant) {
        patterns.push(Pattern::NothingRelevant);
    }
    if errors.missed.iter().any(|missed| missed.rank.is_some()) {
        patterns.push(Pattern::BelowCutoff);
    }
    if errors.missed.iter().any(|missed| missed.rank.is_none()) {
        patterns.push(Pattern::NotRetrieved);
    }
    let forms = errors.missed.iter().filter(|missed| missed.rank.is_none());
    let forms: BTreeSet<Cow<'_, str>> = forms
        .map(|missed| composed((&*missed.document).into()))
        .filter(|form| !form.is_ascii())
        .collect();
    let mut documents = results.iter().map(|hit| judge_by.document(hit));
    if !forms.is_empty() && documents.any(|document| forms.contains(&composed(document.into()))) {
        patterns.push(Pattern::OtherNormalForm);
    }
    if let Some(expected) = judged.expected_domain() {
        let shown = results.len().min(cutoff);
        let domains = (0..shown).map(|at| judged.facet(at, "domain"));
        let domains: Option<Vec<_>> = domains.collect();
        if domains.is_some_and(|it| it.iter().all(|domain| domain != expected)) {
            patterns.push(Pattern::OtherDomains);
        }
        if judged.selected_domain().is_some_and(|it| it != expected) {
            patterns.push(Pattern::WrongDomain);
        }
    }
    if let Some(graph) = &judged.query.graph {
        let found: BTreeSet<&str> = results.iter().map(|hit| judge_by.document(hit)).collect();
        let lost = errors.missed.iter().filter(|missed| missed.rank.is_none());
        let lost: BTreeSet<&str> = lost.map(|missed| missed.document.as_str()).collect();
        let leads = |from: &str, to: &str| found.contains(from) && lost.contains(to);
        let mut edges = graph.edges().iter();
        if edges.any(|edge| leads(&edge.from, &edge.to) || leads(&edge.to, &edge.from)) {
            patterns.push(Pattern::OneHopShort);
        }
    }
    let silent = judged
        .parts()
        .filter(|part| part.needed == Some(true) && !part.fired);
    patterns.extend(silent.map(|part| Pattern::NotTriggered(part.component.name.clone())));
    patterns
}
