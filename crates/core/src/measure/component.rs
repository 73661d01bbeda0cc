//! Measures of the components of a ranking: the contribution of graph expansion, another agent or
//! another domain.
//!
//! C is the set of the component's results, *only C* those that nothing else found, B the rest, and
//! R the relevant documents. [`Judged::part`] assigns results to components; this module contains
//! no component name.

use std::fmt;

use super::catalogue::Measure;
use super::descriptor::{Descriptor, Source};
use super::family::measures;
use super::field::{ABSENT, AT_K, AT_OPTIONAL_K, REL, WHEN};
use super::list::{List, ratio};
use super::parameter::{Absent, Cutoff, Denominator, Gain, Ideal, When};
use crate::gold::Grade;
use crate::number::{indicator, real_length};
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

measures! {
    /// Measured aspect of a component.
    pub enum Aspect;
    subject: Ranking;
    argument: Component;
    build: |arguments, aspect| Ok(Measure::Component(ComponentMeasure {
        component: arguments.name(),
        aspect,
        rel: (REL.read)(arguments, REL.parameters)?,
        when: (WHEN.read)(arguments, WHEN.parameters)?,
    }));
    fn of(found: &Found<'_>) -> Option<f64>;

    "Discovery" [] Discovery with [REL, WHEN]
        : UNIT, Up, Source::Rankgauge,
        "Relevant documents that only the component found, divided by all relevant documents"
        => Some(found.of_relevant(found.discovered()));

    "DiscoveryCount" [] DiscoveryCount with [REL, WHEN]
        : NON_NEGATIVE, Up, Source::Rankgauge,
        "Number of relevant documents that only the component found"
        => Some(real_length(found.discovered()));

    "ComponentCount" [] Count { cutoff: Option<Cutoff> = AT_OPTIONAL_K } with [WHEN]
        : NON_NEGATIVE, Neither, Source::Rankgauge, "Number of results of the component"
        => Some(real_length(found.results_within(*cutoff)));

    "ComponentP" [] Precision { absent: Absent = ABSENT } with [REL, WHEN]
        : UNIT, Up, Source::Rankgauge,
        "Relevant results of the component, divided by the results of the component"
        => {
            let precision = found.precision_where(Membership::belongs);
            match absent {
                Absent::Skip => precision,
                Absent::Zero => Some(precision.unwrap_or(0.0)),
            }
        };

    "BaseP" [] BasePrecision with [REL, WHEN]
        : UNIT, Up, Source::Rankgauge,
        "Relevant results outside the component, divided by the results outside it"
        => found.precision_where(|membership| !membership.belongs());

    "RecallGain" [] RecallGain { cutoff: Option<Cutoff> = AT_OPTIONAL_K } with [REL, WHEN]
        : DIFFERENCE, Up, Source::Rankgauge,
        "Recall, minus the recall of the ranking without the component's own results"
        => Some(found.gain(|list| list.recall_within(*cutoff, found.rel)));

    "RecallDelta" [] RecallDelta with [REL, WHEN]
        : DIFFERENCE, Up, Source::Rankgauge,
        "Share of the relevant documents in the component, minus the share outside it"
        => Some(
            found.of_relevant(found.relevant_where(Membership::belongs))
                - found.of_relevant(found.relevant_where(|membership| !membership.belongs())),
        );

    "PGain" [] PrecisionGain { cutoff: Cutoff = AT_K } with [REL, WHEN]
        : DIFFERENCE, Up, Source::Rankgauge,
        "Precision, minus the precision of the ranking without the component's own results"
        => Some(found.gain(|list| list.precision(*cutoff, found.rel, Denominator::Cutoff)));

    "nDCGGain" [] NdcgGain { cutoff: Option<Cutoff> = AT_OPTIONAL_K } with [WHEN]
        : DIFFERENCE, Up, Source::Rankgauge,
        "nDCG, minus the nDCG of the ranking without the component's own results"
        => Some(found.gain(|list| list.ndcg(*cutoff, &Gain::Linear, Ideal::Judged)));

    "Share" [] Share { cutoff: Cutoff = AT_K } with [WHEN]
        : UNIT, Neither, Source::Rankgauge,
        "Results of the component among the first k, divided by k"
        => {
            let own = found.results_within(Some(*cutoff));
            Some(real_length(own) / f64::from(cutoff.get()))
        };

    /// Results whose distance is not known do not count.
    "Hops" [] Hops with [WHEN]
        : NON_NEGATIVE, Neither, Source::Rankgauge,
        "Mean hop distance of the results of the component"
        => {
            let (mut sum, mut known) = (0.0, 0);
            for hops in found.part.hops(&found.judged.search.results) {
                sum += f64::from(hops);
                known += 1;
            }
            (known > 0).then(|| sum / real_length(known))
        };

    "Fired" [] Fired with [WHEN]
        : UNIT, Neither, Source::Rankgauge, "1 if the component ran; its mean is the trigger rate"
        => Some(indicator(found.part.fired));

    "Trigger" [] Trigger with [WHEN]
        : UNIT, Up, Source::Rankgauge,
        "1 if the component ran exactly when it was needed; its mean is the trigger accuracy"
        => {
            let needed = found.part.needed?;
            Some(indicator(needed == found.part.fired))
        };
}

impl ComponentMeasure {
    /// Returns the facts about the measure.
    pub(super) fn descriptor(&self) -> &'static Descriptor {
        self.aspect.descriptor()
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
        let found = Found {
            judged,
            part,
            rel: self.rel,
        };
        is_counted.then(|| self.aspect.of(&found))?
    }
}

impl fmt::Display for ComponentMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut canonical = self.aspect.canonical();
        canonical.argument(&self.component);
        (REL.write)(&self.rel, &mut canonical, REL.parameters);
        (WHEN.write)(&self.when, &mut canonical, WHEN.parameters);
        canonical.fmt(f)
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

    /// Number of results of the component in the top k, or in the whole list.
    fn results_within(&self, cutoff: Option<Cutoff>) -> usize {
        let length = cutoff.map_or(usize::MAX, Cutoff::length);
        let top = self.part.memberships.iter().take(length);
        top.filter(|membership| membership.belongs()).count()
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
        (all > 0).then(|| real_length(self.relevant_where(counts)) / real_length(all))
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
        ratio(real_length(count), real_length(relevant))
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
