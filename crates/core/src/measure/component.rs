//! Measures of the components of a ranking: the contribution of graph expansion, another agent or
//! another domain.
//!
//! C is the set of the component's results, *only C* those that nothing else found, B the rest, and
//! R the relevant documents. [`Judged::part`] assigns results to components; this module contains
//! no component name.

use std::fmt;

use super::catalogue::entry;
use super::descriptor::Descriptor;
use super::grammar::{shown, write_canonical};
use super::ranked::{List, ratio};
use super::{Cutoff, Denominator, Gain, Ideal, indicator, real};
use crate::gold::Grade;
use crate::ranking::{Contribution, Judged, Membership};

/// Measure of one component.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ComponentMeasure {
    /// Name of the component in the configuration.
    pub component: Box<str>,
    /// Measured aspect.
    pub aspect: Aspect,
    /// Lowest relevant grade; by default the relevance level of the gold set.
    pub rel: Option<Grade>,
    /// Searches that have a score; all without a condition.
    pub when: Option<When>,
}

/// Condition on a search, by which searches without it have no score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// The component ran (`when=fired`).
    Fired,
    /// The gold set states that the component is needed (`when=needed`).
    Needed,
}

/// Treatment of absent values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Absent {
    /// An absent value is left out.
    Skip,
    /// An absent value is 0.
    Zero,
}

/// Measured aspect of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aspect {
    /// `Discovery(c)`: relevant documents that only the component found / |R|.
    Discovery,
    /// `DiscoveryCount(c)`: relevant documents that only the component found.
    DiscoveryCount,
    /// `ComponentCount(c)@k`: results of C in the top k.
    Count(Option<Cutoff>),
    /// `ComponentP(c)`: relevant in C / |C|.
    Precision(Absent),
    /// `BaseP(c)`: relevant in B / |B|.
    BasePrecision,
    /// `RecallGain(c)@k`: recall, minus the recall of the ranking without the only-C results.
    RecallGain(Option<Cutoff>),
    /// `RecallDelta(c)`: relevant in C / |R| - relevant in B / |R|.
    RecallDelta,
    /// `PGain(c)@k`: the same difference for precision.
    PrecisionGain(Cutoff),
    /// `nDCGGain(c)@k`: the same difference for nDCG.
    NdcgGain(Option<Cutoff>),
    /// `Share(c)@k`: results of C in the top k / k.
    Share(Cutoff),
    /// `Hops(c)`: mean hop distance of the results of C whose distance is known.
    Hops,
    /// `Fired(c)`: 1 if the component ran.
    Fired,
    /// `Trigger(c)`: 1 if the component ran exactly when it was needed according to the gold set.
    /// Its mean is the accuracy of the trigger.
    Trigger,
}

impl ComponentMeasure {
    /// Returns the facts about the measure.
    pub(super) fn descriptor(&self) -> &'static Descriptor {
        match self.aspect {
            Aspect::Discovery => const { entry("Discovery") },
            Aspect::DiscoveryCount => const { entry("DiscoveryCount") },
            Aspect::Count(_) => const { entry("ComponentCount") },
            Aspect::Precision(_) => const { entry("ComponentP") },
            Aspect::BasePrecision => const { entry("BaseP") },
            Aspect::RecallGain(_) => const { entry("RecallGain") },
            Aspect::RecallDelta => const { entry("RecallDelta") },
            Aspect::PrecisionGain(_) => const { entry("PGain") },
            Aspect::NdcgGain(_) => const { entry("nDCGGain") },
            Aspect::Share(_) => const { entry("Share") },
            Aspect::Hops => const { entry("Hops") },
            Aspect::Fired => const { entry("Fired") },
            Aspect::Trigger => const { entry("Trigger") },
        }
    }

    /// Returns the score of one search.
    ///
    /// If the denominator is |R| or k, every judged search has a score (0 without a relevant
    /// document). A mean over the component's own results is `None` if it has no results, unless an
    /// absent value is 0. `Trigger`
    /// is `None` if the gold set does not state whether the component is needed. All measures of a
    /// component that is not configured are `None`.
    pub fn score(&self, judged: &Judged<'_>) -> Option<f64> {
        let part = judged.part(&self.component)?;
        let is_counted = match self.when {
            None => true,
            Some(When::Fired) => part.fired,
            Some(When::Needed) => part.needed == Some(true),
        };
        if !is_counted {
            return None;
        }
        let found = Found {
            judged,
            part,
            rel: self.rel,
        };
        match self.aspect {
            Aspect::Discovery => Some(found.of_relevant(found.discovered())),
            Aspect::DiscoveryCount => Some(real(found.discovered())),
            Aspect::Count(cutoff) => {
                let length = cutoff.map_or(usize::MAX, Cutoff::length);
                let top = found.part.memberships.iter().take(length);
                Some(real(top.filter(|membership| membership.belongs()).count()))
            }
            Aspect::Precision(absent) => {
                let precision = found.precision_where(Membership::belongs);
                match absent {
                    Absent::Skip => precision,
                    Absent::Zero => Some(precision.unwrap_or(0.0)),
                }
            }
            Aspect::BasePrecision => found.precision_where(|membership| !membership.belongs()),
            Aspect::RecallDelta => Some(
                found.of_relevant(found.relevant_where(Membership::belongs))
                    - found.of_relevant(found.relevant_where(|membership| !membership.belongs())),
            ),
            Aspect::RecallGain(cutoff) => {
                Some(found.gain(|list| list.recall_within(cutoff, self.rel)))
            }
            Aspect::PrecisionGain(cutoff) => {
                Some(found.gain(|list| list.precision(cutoff, self.rel, Denominator::Cutoff)))
            }
            Aspect::NdcgGain(cutoff) => {
                Some(found.gain(|list| list.ndcg(cutoff, Gain::Linear, Ideal::Judged)))
            }
            Aspect::Share(cutoff) => {
                let top = found.part.memberships.iter().take(cutoff.length());
                let own = top.filter(|membership| membership.belongs()).count();
                Some(real(own) / f64::from(cutoff.get()))
            }
            Aspect::Hops => {
                let (mut sum, mut known) = (0.0, 0);
                for hops in found.part.hops(&judged.search.results) {
                    sum += f64::from(hops);
                    known += 1;
                }
                (known > 0).then(|| sum / real(known))
            }
            Aspect::Fired => Some(indicator(found.part.fired)),
            Aspect::Trigger => {
                let needed = found.part.needed?;
                Some(indicator(needed == found.part.fired))
            }
        }
    }
}

/// Results of one component in one search.
struct Found<'a> {
    judged: &'a Judged<'a>,
    part: Contribution<'a>,
    rel: Option<Grade>,
}

impl Found<'_> {
    fn level(&self) -> Grade {
        self.rel.unwrap_or(self.judged.query.judgements.level())
    }

    /// Returns the positions, from 0, of relevant results; of a repeated document only the first.
    fn relevant(&self) -> impl Iterator<Item = usize> {
        let level = self.level();
        let grades = self.judged.ranking.grades().iter().enumerate();
        grades.filter_map(move |(position, grade)| {
            grade
                .is_some_and(|grade| grade.is_relevant_at(level))
                .then_some(position)
        })
    }

    fn membership(&self, position: usize) -> Membership {
        let membership = self.part.memberships.get(position);
        membership.copied().unwrap_or(Membership::Outside)
    }

    fn relevant_where(&self, counts: impl Fn(Membership) -> bool) -> usize {
        self.relevant()
            .filter(|position| counts(self.membership(*position)))
            .count()
    }

    fn precision_where(&self, counts: impl Fn(Membership) -> bool) -> Option<f64> {
        let memberships = self.part.memberships.iter();
        let all = memberships
            .filter(|membership| counts(**membership))
            .count();
        (all > 0).then(|| real(self.relevant_where(counts)) / real(all))
    }

    /// Counts the relevant documents of which every occurrence was found by the component alone.
    fn discovered(&self) -> usize {
        let documents = self.judged.ranking.documents();
        let is_exclusive = |position: usize| self.membership(position) == Membership::Exclusive;
        self.relevant()
            .filter(|position| is_exclusive(*position))
            .filter(|position| {
                let document = documents.get(*position);
                let mut occurrences = documents.iter().enumerate();
                occurrences.all(|(other, found)| Some(found) != document || is_exclusive(other))
            })
            .count()
    }

    fn of_relevant(&self, count: usize) -> f64 {
        let relevant = self.judged.query.judgements.relevant(self.rel);
        ratio(real(count), real(relevant))
    }

    /// Returns the part of `measure` that comes from the results found by the component alone.
    fn gain(&self, measure: impl Fn(&List<'_>) -> f64) -> f64 {
        if !self.part.memberships.contains(&Membership::Exclusive) {
            return 0.0;
        }
        let judgements = &self.judged.query.judgements;
        let alone = |position| self.membership(position) == Membership::Exclusive;
        let rest = self.judged.ranking.without(alone, judgements);
        let with = measure(&List::new(self.judged.ranking, judgements));
        with - measure(&List::new(&rest, judgements))
    }
}

impl fmt::Display for ComponentMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cutoff = match &self.aspect {
            Aspect::RecallGain(cutoff) | Aspect::NdcgGain(cutoff) | Aspect::Count(cutoff) => {
                cutoff.as_ref()
            }
            Aspect::PrecisionGain(cutoff) | Aspect::Share(cutoff) => Some(cutoff),
            Aspect::Discovery
            | Aspect::DiscoveryCount
            | Aspect::Precision(_)
            | Aspect::BasePrecision
            | Aspect::RecallDelta
            | Aspect::Hops
            | Aspect::Fired
            | Aspect::Trigger => None,
        };
        let when = self.when.map(|when| match when {
            When::Fired => "fired",
            When::Needed => "needed",
        });
        let absent = matches!(self.aspect, Aspect::Precision(Absent::Zero)).then_some("zero");
        let parameters = [
            ("absent", shown(absent.as_ref())),
            ("rel", shown(self.rel.as_ref())),
            ("when", shown(when.as_ref())),
        ];
        let name = self.descriptor().name;
        write_canonical(f, name, Some(&self.component), &parameters, shown(cutoff))
    }
}
