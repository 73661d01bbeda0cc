//! Catalogue of measures: every name, its parameters, and the value after its `@`.
//!
//! The catalogue contains no formulas. The submodule `arguments` parses spellings.

mod arguments;

pub(super) use arguments::parse;

use super::grammar::MeasureError;
use super::people::{REFORMULATION, SATISFYING_DWELL};
use super::{Aspect, Diversity, Measure, OfComponent, People, Ranked, Routing};
use arguments::Arguments;

/// Value after the `@` of a measure.
#[derive(Clone, Copy)]
enum After {
    /// Required number of results.
    Cutoff,
    /// Optional number of results.
    OptionalCutoff,
    /// Required recall level.
    Recall,
    /// No value.
    Nothing,
}

/// Unnamed first argument of a measure, in its parentheses.
#[derive(Clone, Copy)]
enum About {
    /// No argument.
    Nothing,
    /// Name of a component.
    Component,
    /// Name of a facet.
    Facet,
    /// Facet and its value, `facet=value` or `facet!=value`.
    Condition,
}

/// Constructor of a measure from a parsed spelling.
type Build = fn(&Arguments<'_>) -> Result<Measure, MeasureError>;

/// Entry of the catalogue: one name.
struct Entry {
    name: &'static str,
    about: About,
    parameters: &'static [&'static str],
    after: After,
    build: Build,
}

impl Entry {
    /// Sets the unnamed argument of an entry.
    const fn about(mut self, about: About) -> Self {
        self.about = about;
        self
    }
}

const fn entry(
    name: &'static str,
    parameters: &'static [&'static str],
    after: After,
    build: Build,
) -> Entry {
    Entry {
        name,
        about: About::Nothing,
        parameters,
        after,
        build,
    }
}

/// Entry of a component measure with the parameters `rel` and `when`.
const fn component(name: &'static str, after: After, build: Build) -> Entry {
    entry(name, &["rel", "when"], after, build).about(About::Component)
}

/// All measure names. Parameters are read before the cutoff, so that the spelling which an error
/// about the cutoff proposes is valid.
static CATALOGUE: &[Entry] = &[
    entry("P", &["denominator", "rel"], After::Cutoff, |a| {
        let (rel, denominator) = (a.level("rel")?, a.denominator()?);
        ranked(Ranked::Precision {
            cutoff: a.cutoff()?,
            rel,
            denominator,
        })
    }),
    entry("R", &["rel"], After::Cutoff, |a| {
        ranked(Ranked::Recall {
            rel: a.level("rel")?,
            cutoff: a.cutoff()?,
        })
    }),
    entry("F1", &["rel"], After::Cutoff, |a| {
        ranked(Ranked::F1 {
            rel: a.level("rel")?,
            cutoff: a.cutoff()?,
        })
    }),
    entry("Success", &["rel"], After::Cutoff, |a| {
        ranked(Ranked::Success {
            rel: a.level("rel")?,
            cutoff: a.cutoff()?,
        })
    }),
    entry("AllHit", &["rel"], After::Cutoff, |a| {
        ranked(Ranked::AllHit {
            rel: a.level("rel")?,
            cutoff: a.cutoff()?,
        })
    }),
    entry("RR", &["rel"], After::OptionalCutoff, |a| {
        ranked(Ranked::ReciprocalRank {
            rel: a.level("rel")?,
            cutoff: a.optional_cutoff()?,
        })
    }),
    entry("AP", &["rel"], After::OptionalCutoff, |a| {
        ranked(Ranked::AveragePrecision {
            rel: a.level("rel")?,
            cutoff: a.optional_cutoff()?,
        })
    }),
    entry(
        "nDCG",
        &["gain", "ideal", "rel"],
        After::OptionalCutoff,
        |a| {
            let (gain, ideal) = (a.gain()?, a.ideal()?);
            ranked(Ranked::Ndcg {
                cutoff: a.optional_cutoff()?,
                gain,
                ideal,
            })
        },
    ),
    entry("Judged", &[], After::Cutoff, |a| {
        ranked(Ranked::Judged {
            cutoff: a.cutoff()?,
        })
    }),
    entry("Bpref", &["rel"], After::Nothing, |a| {
        ranked(Ranked::Bpref {
            rel: a.level("rel")?,
        })
    }),
    entry("RBP", &["graded", "p", "rel"], After::Nothing, |a| {
        let (persistence, weighting) = (a.persistence()?, a.weighting()?);
        ranked(Ranked::RankBiasedPrecision {
            persistence,
            weighting,
        })
    }),
    entry("ERR", &["max"], After::Cutoff, |a| {
        ranked(Ranked::ExpectedReciprocalRank {
            max: a.max()?,
            cutoff: a.cutoff()?,
        })
    }),
    entry("IPrec", &["rel"], After::Recall, |a| {
        ranked(Ranked::InterpolatedPrecision {
            rel: a.level("rel")?,
            recall: a.recall()?,
        })
    }),
    entry("TP", &["rel"], After::Cutoff, |a| {
        ranked(Ranked::TruePositives {
            rel: a.level("rel")?,
            cutoff: a.cutoff()?,
        })
    }),
    entry("FP", &["rel"], After::Cutoff, |a| {
        ranked(Ranked::FalsePositives {
            rel: a.level("rel")?,
            cutoff: a.cutoff()?,
        })
    }),
    entry("FN", &["rel"], After::Cutoff, |a| {
        ranked(Ranked::FalseNegatives {
            rel: a.level("rel")?,
            cutoff: a.cutoff()?,
        })
    }),
    component("Discovery", After::Nothing, |a| {
        of_component(a, Aspect::Discovery)
    }),
    component("ComponentP", After::Nothing, |a| {
        of_component(a, Aspect::Precision)
    }),
    component("BaseP", After::Nothing, |a| {
        of_component(a, Aspect::BasePrecision)
    }),
    component("RecallGain", After::OptionalCutoff, |a| {
        of_component(a, Aspect::RecallGain(a.optional_cutoff()?))
    }),
    component("RecallDelta", After::Nothing, |a| {
        of_component(a, Aspect::RecallDelta)
    }),
    component("PGain", After::Cutoff, |a| {
        of_component(a, Aspect::PrecisionGain(a.cutoff()?))
    }),
    entry("nDCGGain", &["when"], After::OptionalCutoff, |a| {
        of_component(a, Aspect::NdcgGain(a.optional_cutoff()?))
    })
    .about(About::Component),
    entry("Share", &["when"], After::Cutoff, |a| {
        of_component(a, Aspect::Share(a.cutoff()?))
    })
    .about(About::Component),
    entry("Hops", &["when"], After::Nothing, |a| {
        of_component(a, Aspect::Hops)
    })
    .about(About::Component),
    entry("Fired", &["when"], After::Nothing, |a| {
        of_component(a, Aspect::Fired)
    })
    .about(About::Component),
    entry("Trigger", &["when"], After::Nothing, |a| {
        of_component(a, Aspect::Trigger)
    })
    .about(About::Component),
    entry("FacetR", &["rel"], After::OptionalCutoff, |a| {
        let (facet, value, equal) = a.condition().unwrap_or_default();
        diversity(Diversity::FacetRecall {
            facet,
            value,
            equal,
            rel: a.level("rel")?,
            cutoff: a.optional_cutoff()?,
        })
    })
    .about(About::Condition),
    entry("FacetCoverage", &[], After::Nothing, |a| {
        diversity(Diversity::FacetCoverage { facet: a.name() })
    })
    .about(About::Facet),
    entry("Entropy", &[], After::OptionalCutoff, |a| {
        diversity(Diversity::Entropy {
            facet: a.name(),
            cutoff: a.optional_cutoff()?,
        })
    })
    .about(About::Facet),
    entry("DupBefore", &[], After::Nothing, |_| {
        diversity(Diversity::DuplicatesBefore)
    }),
    entry("DupAfter", &[], After::Nothing, |_| {
        diversity(Diversity::DuplicatesAfter)
    }),
    entry("DedupEffect", &[], After::Nothing, |_| {
        diversity(Diversity::DeduplicationEffect)
    }),
    entry("ContextP", &["rel"], After::Nothing, |a| {
        diversity(Diversity::ContextPrecision {
            rel: a.level("rel")?,
        })
    }),
    entry("ContextR", &["rel"], After::Nothing, |a| {
        diversity(Diversity::ContextRecall {
            rel: a.level("rel")?,
        })
    }),
    entry("NodeCoverage", &[], After::Nothing, |_| {
        diversity(Diversity::NodeCoverage)
    }),
    entry("EdgeCoverage", &[], After::Nothing, |_| {
        diversity(Diversity::EdgeCoverage)
    }),
    entry("MaxDepth", &[], After::Nothing, |_| {
        diversity(Diversity::MaxDepth)
    }),
    entry("MeanDepth", &[], After::Nothing, |_| {
        diversity(Diversity::MeanDepth)
    }),
    entry("Routing", &[], After::Cutoff, |a| {
        Ok(Measure::Routing(Routing::Within(a.cutoff()?)))
    }),
    entry("RoutingRR", &[], After::Nothing, |_| {
        Ok(Measure::Routing(Routing::ReciprocalRank))
    }),
    entry("CTR", &[], After::OptionalCutoff, |a| {
        people(People::ClickThrough {
            cutoff: a.optional_cutoff()?,
        })
    }),
    entry("ClickRR", &[], After::Nothing, |_| {
        people(People::ClickReciprocalRank)
    }),
    entry("MeanClickRR", &[], After::Nothing, |_| {
        people(People::MeanClickReciprocalRank)
    }),
    entry("IPWClicks", &[], After::Nothing, |_| {
        people(People::WeightedClicks)
    }),
    entry("Abandoned", &[], After::Nothing, |_| {
        people(People::Abandoned)
    }),
    entry("ZeroResult", &[], After::Nothing, |_| {
        people(People::ZeroResult)
    }),
    entry("SAT", &["dwell"], After::Nothing, |a| {
        people(People::SatisfyingClick {
            dwell: a.seconds("dwell")?.unwrap_or(SATISFYING_DWELL),
        })
    }),
    entry("Converted", &[], After::Nothing, |_| {
        people(People::Converted)
    }),
    entry("Reformulated", &["within"], After::Nothing, |a| {
        people(People::Reformulated {
            within: a.seconds("within")?.unwrap_or(REFORMULATION),
        })
    }),
    entry("ThumbsUp", &[], After::Nothing, |_| {
        people(People::ThumbsUp)
    }),
    entry("Satisfied", &[], After::Nothing, |_| {
        people(People::Satisfied)
    }),
    entry("Rating", &[], After::Nothing, |_| people(People::Rating)),
    entry("SessionSuccess", &[], After::Nothing, |_| {
        people(People::SessionSuccess)
    }),
];

/// Names of these measures in other tools, in lower case.
const ELSEWHERE: &[(&str, &str)] = &[
    ("precision", "P"),
    ("prec", "P"),
    ("recall", "R"),
    ("hit", "Success"),
    ("hits", "Success"),
    ("hitrate", "Success"),
    ("hit_rate", "Success"),
    ("mrr", "RR"),
    ("recip_rank", "RR"),
    ("map", "AP"),
    ("map_cut", "AP"),
    ("ndcg_cut", "nDCG"),
    ("iprec_at_recall", "IPrec"),
    ("csat", "Satisfied"),
    ("conversion", "Converted"),
    ("reformulation", "Reformulated"),
    ("abandonment", "Abandoned"),
];

#[allow(
    clippy::unnecessary_wraps,
    reason = "the last step of every entry's `build`"
)]
fn ranked(measure: Ranked) -> Result<Measure, MeasureError> {
    Ok(Measure::Ranked(measure))
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "the last step of every entry's `build`"
)]
fn people(measure: People) -> Result<Measure, MeasureError> {
    Ok(Measure::People(measure))
}

/// Last step of every component measure: reads the shared parameters.
fn of_component(arguments: &Arguments<'_>, aspect: Aspect) -> Result<Measure, MeasureError> {
    Ok(Measure::Component(OfComponent {
        component: arguments.name(),
        aspect,
        rel: arguments.level("rel")?,
        when_fired: arguments.when_fired()?,
    }))
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "the last step of every entry's `build`"
)]
fn diversity(measure: Diversity) -> Result<Measure, MeasureError> {
    Ok(Measure::Diversity(measure))
}
