//! Measures of what users did with the results of one search.
//!
//! Each gives one value a search, counted once when the search is finalised. They know nothing of
//! judgements, and nothing of single feedback events: who joins those fills a [`Reaction`].

use std::fmt;

use super::grammar::{shown, write_canonical};
use super::{Cutoff, indicator};

/// Everything users did with one search by the time it was finalised.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reaction<'a> {
    /// Results that were served.
    pub results: usize,
    /// Clicks on served results, first one first.
    pub clicks: &'a [Click],
    /// Purchases, downloads and whatever else counts as a conversion.
    pub conversions: u32,
    /// Positive thumbs.
    pub thumbs_up: u32,
    /// Negative thumbs.
    pub thumbs_down: u32,
    /// Ratings, each on its own scale.
    pub ratings: &'a [Rating],
    /// What the search's session tells; `None` for a search without one.
    pub session: Option<InSession>,
    /// What a click at position 1, 2, … weighs against the position's bias: 1 / propensity, clipped.
    /// The last weight holds for all positions after it; empty when propensities are not known.
    pub click_weights: &'a [f64],
}

/// A click on a served result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Click {
    /// Position of the result, from 1 on.
    pub position: u32,
    /// Seconds from the search to the click, not negative.
    pub after: f64,
    /// For how many seconds the result was looked at for certain; `None` where nothing tells.
    pub dwell: Option<f64>,
}

/// A rating on a scale from `min` to `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// The rating, within the scale.
    pub value: f64,
    /// Lowest value of the scale.
    pub min: f64,
    /// Highest value of the scale, above `min`.
    pub max: f64,
}

/// What other searches of the session tell about one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InSession {
    /// Seconds until the next search of the session for something else that shares no click with
    /// this one; 0 where users said that they reformulated, `None` when neither happened.
    pub reformulated_after: Option<f64>,
    /// Whether no other search of the session followed.
    pub is_last: bool,
    /// Whether the session as a whole was rated positively after this search.
    pub is_praised: bool,
}

impl Rating {
    /// The rating on a scale from 0 to 1.
    pub fn rescaled(&self) -> f64 {
        (self.value - self.min) / (self.max - self.min)
    }

    /// Whether it is above the middle of its scale.
    pub fn is_positive(&self) -> bool {
        self.value > f64::midpoint(self.min, self.max)
    }

    /// Whether it is positive and one of the two highest values of its scale. A scale of up to
    /// eleven whole numbers (1 to 5, 0 to 10) has steps of 1; any other is taken as five equal
    /// steps, of which the upper two begin at 3/4.
    pub fn is_top_two(&self) -> bool {
        let steps = self.max - self.min;
        let whole = [self.min, self.max].iter().all(|end| end.fract() == 0.0);
        let top = if whole && (2.0..=10.0).contains(&steps) {
            self.value > self.max - 2.0
        } else {
            self.rescaled() >= 0.75
        };
        top && self.is_positive()
    }
}

/// Seconds that a result must be looked at to satisfy: Fox et al. 2005, "Evaluating implicit
/// measures to improve web search".
pub const SATISFYING_DWELL: u32 = 30;

/// Seconds within which another query is a reformulation.
pub const REFORMULATION: u32 = 60;

impl Reaction<'_> {
    /// The highest clicked position, the smallest number.
    fn best_position(&self) -> Option<u32> {
        self.clicks.iter().map(|click| click.position).min()
    }

    fn has_satisfying_click(&self, dwell: u32) -> bool {
        let long = |click: &Click| click.dwell.is_some_and(|known| known >= f64::from(dwell));
        self.clicks.iter().any(long)
    }

    fn is_rated_positively(&self) -> bool {
        self.thumbs_up > 0 || self.ratings.iter().any(Rating::is_positive)
    }

    /// The mean of `value` over the ratings; `None` without any.
    fn mean_rating(&self, value: impl Fn(&Rating) -> f64) -> Option<f64> {
        let number = f64::from(u32::try_from(self.ratings.len()).unwrap_or(u32::MAX));
        let sum: f64 = self.ratings.iter().map(value).sum();
        (number > 0.0).then(|| sum / number)
    }

    /// How satisfied the users were, from 0 to 1; `None` where they did nothing that tells. What
    /// they said goes before what they did: the mean of ratings and thumbs, else 1 for a conversion
    /// or a click with a satisfying dwell, else 0 for other clicks.
    pub fn satisfaction(&self) -> Option<f64> {
        let thumbs = f64::from(self.thumbs_up) + f64::from(self.thumbs_down);
        let ratings = f64::from(u32::try_from(self.ratings.len()).unwrap_or(u32::MAX));
        if thumbs + ratings > 0.0 {
            let rated: f64 = self.ratings.iter().map(Rating::rescaled).sum();
            return Some((rated + f64::from(self.thumbs_up)) / (thumbs + ratings));
        }
        if self.conversions > 0 || self.has_satisfying_click(SATISFYING_DWELL) {
            return Some(1.0);
        }
        (!self.clicks.is_empty()).then_some(0.0)
    }
}

/// A measure of user behaviour.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum People {
    /// `CTR`, `CTR@k`: 1 if any result was clicked (among the first k), else 0.
    ClickThrough {
        /// How many of the first results count; all without it.
        cutoff: Option<Cutoff>,
    },
    /// `ClickRR`: 1 / highest clicked position, 0 without a click.
    ClickReciprocalRank,
    /// `MeanClickRR`: mean of 1 / position over the clicks, 0 without a click. Radlinski, Kurup and
    /// Joachims 2008, "How does clickthrough data reflect retrieval quality?".
    MeanClickReciprocalRank,
    /// `IPWClicks`: clicked results, each weighed by 1 / propensity of its position, clipped.
    /// Joachims, Swaminathan and Schnabel 2017, "Unbiased learning-to-rank with biased feedback".
    WeightedClicks,
    /// `Abandoned`: 1 if results were shown and nobody clicked, converted or rated positively.
    Abandoned,
    /// `ZeroResult`: 1 if nothing was found.
    ZeroResult,
    /// `SAT`: 1 if a clicked result is known to have been looked at long enough.
    SatisfyingClick {
        /// How long that is, in seconds.
        dwell: u32,
    },
    /// `Converted`: 1 if there was a conversion.
    Converted,
    /// `Reformulated`: 1 if something else was searched in the same session soon after.
    Reformulated {
        /// How soon, in seconds.
        within: u32,
    },
    /// `ThumbsUp`: positive thumbs / all thumbs.
    ThumbsUp,
    /// `Satisfied`: the share of ratings in the top two of their scale.
    Satisfied,
    /// `Rating`: the mean rating, on a scale from 0 to 1.
    Rating,
    /// `SessionSuccess`: for the last search of a session, 1 if it ended with a satisfying click, a
    /// conversion or a positive rating.
    SessionSuccess,
}

impl People {
    /// The score of one search, from 0 to 1 (`IPWClicks`: from 0 on).
    ///
    /// `None`, which is no score and not a 0, where the search says nothing about the measure:
    /// without results nobody can click or abandon; without thumbs nobody pointed them anywhere;
    /// without a session nobody knows what was searched next.
    pub fn score(&self, reaction: &Reaction<'_>) -> Option<f64> {
        let shown = reaction.results > 0;
        let reciprocal = |position: u32| 1.0 / f64::from(position);
        match self {
            Self::ClickThrough { cutoff } => shown.then(|| {
                let counts = |position| cutoff.is_none_or(|cutoff| cutoff.admits(position));
                indicator(reaction.best_position().is_some_and(counts))
            }),
            Self::ClickReciprocalRank => {
                shown.then(|| reaction.best_position().map_or(0.0, reciprocal))
            }
            Self::MeanClickReciprocalRank => shown.then(|| {
                let sum: f64 = reaction
                    .clicks
                    .iter()
                    .map(|it| reciprocal(it.position))
                    .sum();
                sum / super::real(reaction.clicks.len()).max(1.0)
            }),
            Self::WeightedClicks => {
                let last = reaction.click_weights.last().filter(|_| shown)?;
                let weight = |position: u32| {
                    let index = usize::try_from(position).unwrap_or(usize::MAX) - 1;
                    reaction.click_weights.get(index).unwrap_or(last)
                };
                let mut clicked: Vec<u32> = reaction.clicks.iter().map(|it| it.position).collect();
                clicked.sort_unstable();
                clicked.dedup();
                Some(clicked.into_iter().map(weight).sum())
            }
            Self::Abandoned => shown.then(|| {
                let is_pleased = reaction.conversions > 0 || reaction.is_rated_positively();
                indicator(reaction.clicks.is_empty() && !is_pleased)
            }),
            Self::ZeroResult => Some(indicator(!shown)),
            Self::SatisfyingClick { dwell } => {
                shown.then(|| indicator(reaction.has_satisfying_click(*dwell)))
            }
            Self::Converted => Some(indicator(reaction.conversions > 0)),
            Self::Reformulated { within } => {
                let after = reaction.session?.reformulated_after;
                Some(indicator(
                    after.is_some_and(|after| after <= f64::from(*within)),
                ))
            }
            Self::ThumbsUp => {
                let up = f64::from(reaction.thumbs_up);
                let all = up + f64::from(reaction.thumbs_down);
                (all > 0.0).then(|| up / all)
            }
            Self::Satisfied => reaction.mean_rating(|rating| indicator(rating.is_top_two())),
            Self::Rating => reaction.mean_rating(Rating::rescaled),
            Self::SessionSuccess => {
                let session = reaction.session.filter(|session| session.is_last)?;
                let succeeded = session.is_praised
                    || reaction.conversions > 0
                    || reaction.is_rated_positively()
                    || reaction.has_satisfying_click(SATISFYING_DWELL);
                Some(indicator(succeeded))
            }
        }
    }

    /// Whether it is about what users said, and not about what they did: then it can be said of a
    /// whole session as well.
    pub fn is_opinion(&self) -> bool {
        matches!(self, Self::ThumbsUp | Self::Satisfied | Self::Rating)
    }

    /// How many seconds after a search, or after a click of it, the measure wants to know of.
    pub fn horizon(&self) -> Option<u32> {
        match self {
            Self::SatisfyingClick { dwell } => Some(*dwell),
            Self::Reformulated { within } => Some(*within),
            Self::SessionSuccess => Some(SATISFYING_DWELL),
            _ => None,
        }
    }
}

impl fmt::Display for People {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClickThrough { cutoff } => {
                write_canonical(f, "CTR", None, &[], shown(cutoff.as_ref()))
            }
            Self::ClickReciprocalRank => f.write_str("ClickRR"),
            Self::MeanClickReciprocalRank => f.write_str("MeanClickRR"),
            Self::WeightedClicks => f.write_str("IPWClicks"),
            Self::Abandoned => f.write_str("Abandoned"),
            Self::ZeroResult => f.write_str("ZeroResult"),
            Self::SatisfyingClick { dwell } => {
                let stated = (*dwell != SATISFYING_DWELL).then_some(dwell);
                write_canonical(f, "SAT", None, &[("dwell", shown(stated))], None)
            }
            Self::Converted => f.write_str("Converted"),
            Self::Reformulated { within } => {
                let stated = (*within != REFORMULATION).then_some(within);
                write_canonical(f, "Reformulated", None, &[("within", shown(stated))], None)
            }
            Self::ThumbsUp => f.write_str("ThumbsUp"),
            Self::Satisfied => f.write_str("Satisfied"),
            Self::Rating => f.write_str("Rating"),
            Self::SessionSuccess => f.write_str("SessionSuccess"),
        }
    }
}
