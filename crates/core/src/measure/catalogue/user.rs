//! Catalogue of the measures of user behaviour.

use super::{DWELL, WITHIN};
use crate::measure::descriptor::{Argument, CutoffRule, Descriptor, Range, Source, Subject};
use crate::measure::direction::Direction;
use crate::measure::grammar::MeasureError;
use crate::measure::user::{REFORMULATION, SATISFYING_DWELL};
use crate::measure::{Measure, UserMeasure};

/// Descriptors, in the order of the documentation.
pub(super) static TABLE: &[Descriptor] = &[
    Descriptor {
        name: "CTR",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::Optional,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Users,
        source: Source::Rankgauge,
        description: "Click-through rate: 1 if any result, or any of the first k, was clicked",
        build: |a| {
            user(UserMeasure::ClickThrough {
                cutoff: a.optional_cutoff()?,
            })
        },
    },
    Descriptor {
        name: "ClickRR",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Users,
        source: Source::Paper("Radlinski, Kurup and Joachims 2008"),
        description: "Reciprocal rank of the highest click",
        build: |_| user(UserMeasure::ClickReciprocalRank),
    },
    Descriptor {
        name: "MeanClickRR",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Users,
        source: Source::Paper("Radlinski, Kurup and Joachims 2008"),
        description: "Mean reciprocal rank of the clicks",
        build: |_| user(UserMeasure::MeanClickReciprocalRank),
    },
    Descriptor {
        name: "IPWClicks",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::NON_NEGATIVE,
        direction: Direction::Up,
        subject: Subject::Users,
        source: Source::Paper("Joachims, Swaminathan and Schnabel 2017"),
        description: "Number of clicked results, weighted by inverse propensity",
        build: |_| user(UserMeasure::WeightedClicks),
    },
    Descriptor {
        name: "Abandoned",
        aliases: &["abandonment"],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Down,
        subject: Subject::Users,
        source: Source::Paper("Radlinski, Kurup and Joachims 2008"),
        description: "1 if results were shown without a click, a conversion or a positive rating",
        build: |_| user(UserMeasure::Abandoned),
    },
    Descriptor {
        name: "ZeroResult",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Down,
        subject: Subject::Users,
        source: Source::Rankgauge,
        description: "1 if the search has no results",
        build: |_| user(UserMeasure::ZeroResult),
    },
    Descriptor {
        name: "SAT",
        aliases: &[],
        argument: Argument::None,
        parameters: &[DWELL],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Users,
        source: Source::Paper("Fox et al. 2005"),
        description: "1 if a click has a satisfying dwell time",
        build: |a| {
            let dwell = a.seconds(&DWELL)?.unwrap_or(SATISFYING_DWELL);
            user(UserMeasure::SatisfyingClick { dwell })
        },
    },
    Descriptor {
        name: "Converted",
        aliases: &["conversion"],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Users,
        source: Source::Rankgauge,
        description: "1 if there was a conversion",
        build: |_| user(UserMeasure::Converted),
    },
    Descriptor {
        name: "Reformulated",
        aliases: &["reformulation"],
        argument: Argument::None,
        parameters: &[WITHIN],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Down,
        subject: Subject::Users,
        source: Source::Paper("Radlinski, Kurup and Joachims 2008"),
        description: "1 if another query follows in the session soon after the search",
        build: |a| {
            let within = a.seconds(&WITHIN)?.unwrap_or(REFORMULATION);
            user(UserMeasure::Reformulated { within })
        },
    },
    Descriptor {
        name: "ThumbsUp",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Users,
        source: Source::Rankgauge,
        description: "Positive thumbs, divided by all thumbs",
        build: |_| user(UserMeasure::ThumbsUp),
    },
    Descriptor {
        name: "Satisfied",
        aliases: &["CSAT"],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Users,
        source: Source::Rankgauge,
        description: "Customer satisfaction: share of the ratings in the top two of their scale",
        build: |_| user(UserMeasure::Satisfied),
    },
    Descriptor {
        name: "Rating",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Users,
        source: Source::Rankgauge,
        description: "Mean rating on a scale from 0 to 1",
        build: |_| user(UserMeasure::Rating),
    },
    Descriptor {
        name: "SessionSuccess",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Users,
        source: Source::Rankgauge,
        description: "1 if the session ended with a satisfying click, a conversion or a positive rating",
        build: |_| user(UserMeasure::SessionSuccess),
    },
];

#[allow(
    clippy::unnecessary_wraps,
    reason = "the last step of every entry's `build`"
)]
fn user(measure: UserMeasure) -> Result<Measure, MeasureError> {
    Ok(Measure::User(measure))
}
