//! Catalogue of the measures of routing.

use crate::measure::descriptor::{Argument, CutoffRule, Descriptor, Range, Source, Subject};
use crate::measure::direction::Direction;
use crate::measure::{Measure, Routing};

/// Descriptors, in the order of the documentation.
pub(super) static TABLE: &[Descriptor] = &[
    Descriptor {
        name: "Routing",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::Required,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 4.1"),
        description: "1 if the gold domain is among the first k domains considered",
        build: |a| Ok(Measure::Routing(Routing::Within(a.cutoff()?))),
    },
    Descriptor {
        name: "RoutingRR",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 4.1"),
        description: "Reciprocal rank of the gold domain among the domains considered",
        build: |_| Ok(Measure::Routing(Routing::ReciprocalRank)),
    },
];
