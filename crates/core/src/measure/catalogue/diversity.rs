//! Catalogue of the measures of coverage and diversity.

use super::{ABSENT, FROM, REL};
use crate::measure::descriptor::{Argument, CutoffRule, Descriptor, Range, Source, Subject};
use crate::measure::direction::Direction;
use crate::measure::grammar::MeasureError;
use crate::measure::{Diversity, FacetRecall, Measure};

/// Descriptors, in the order of the documentation.
pub(super) static TABLE: &[Descriptor] = &[
    Descriptor {
        name: "FacetR",
        aliases: &[],
        argument: Argument::Condition,
        parameters: &[FROM, REL],
        cutoff: CutoffRule::Optional,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 3.2"),
        description: "Recall of the relevant documents with a facet value",
        build: |a| {
            let (facet, value, equal) = a.condition().unwrap_or_default();
            diversity(Diversity::FacetRecall(FacetRecall {
                facet,
                value,
                equal,
                from: a.from()?,
                rel: a.rel()?,
                cutoff: a.optional_cutoff()?,
            }))
        },
    },
    Descriptor {
        name: "FacetCoverage",
        aliases: &[],
        argument: Argument::Facet,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("RAG metric design, section 3.2.1"),
        description: "Expected facet values among the results, divided by the expected values",
        build: |a| diversity(Diversity::FacetCoverage { facet: a.name() }),
    },
    Descriptor {
        name: "Entropy",
        aliases: &[],
        argument: Argument::Facet,
        parameters: &[],
        cutoff: CutoffRule::Optional,
        range: Range::NON_NEGATIVE,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("RAG metric design, section 3.2.2"),
        description: "Shannon entropy of the facet over the results, in bits",
        build: |a| {
            diversity(Diversity::Entropy {
                facet: a.name(),
                cutoff: a.optional_cutoff()?,
            })
        },
    },
    Descriptor {
        name: "DupBefore",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Down,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 4.4"),
        description: "Repeated ids, divided by all ids, before deduplication",
        build: |_| diversity(Diversity::DuplicatesBefore),
    },
    Descriptor {
        name: "DupAfter",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Down,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 4.4"),
        description: "Repeated ids, divided by all ids, of the results",
        build: |_| diversity(Diversity::DuplicatesAfter),
    },
    Descriptor {
        name: "DupRemoved",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNBOUNDED,
        direction: Direction::Neither,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 4.4"),
        description: "Number of repeated ids before deduplication, minus the number after it",
        build: |_| diversity(Diversity::DuplicatesRemoved),
    },
    Descriptor {
        name: "DedupEffect",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range {
            min: f64::NEG_INFINITY,
            max: 1.0,
        },
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 4.4"),
        description: "Reduction of the share of repeated ids by deduplication",
        build: |_| diversity(Diversity::DeduplicationEffect),
    },
    Descriptor {
        name: "ContextP",
        aliases: &[],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("RAG metric design, section 3.4.1"),
        description: "Relevant documents in the context, divided by the ids in it",
        build: |a| diversity(Diversity::ContextPrecision { rel: a.rel()? }),
    },
    Descriptor {
        name: "ContextR",
        aliases: &[],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("RAG metric design, section 3.4.2"),
        description: "Required documents in the context, divided by the required documents",
        build: |a| diversity(Diversity::ContextRecall { rel: a.rel()? }),
    },
    Descriptor {
        name: "NodeCoverage",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 3.3"),
        description: "Nodes of the gold graph among the results, divided by its nodes",
        build: |_| diversity(Diversity::NodeCoverage),
    },
    Descriptor {
        name: "EdgeCoverage",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 3.3"),
        description: "Edges of the gold graph on the paths of the results, divided by its edges",
        build: |_| diversity(Diversity::EdgeCoverage),
    },
    Descriptor {
        name: "MaxDepth",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::NON_NEGATIVE,
        direction: Direction::Neither,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 3.3"),
        description: "Largest graph depth of the results",
        build: |_| diversity(Diversity::MaxDepth),
    },
    Descriptor {
        name: "MeanDepth",
        aliases: &[],
        argument: Argument::None,
        parameters: &[ABSENT],
        cutoff: CutoffRule::None,
        range: Range::NON_NEGATIVE,
        direction: Direction::Neither,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 3.3"),
        description: "Mean graph depth of the results",
        build: |a| {
            diversity(Diversity::MeanDepth {
                absent: a.absent()?,
            })
        },
    },
];

#[allow(
    clippy::unnecessary_wraps,
    reason = "the last step of every entry's `build`"
)]
fn diversity(measure: Diversity) -> Result<Measure, MeasureError> {
    Ok(Measure::Diversity(measure))
}
