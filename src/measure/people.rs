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
    /// Clicked positions as far as they are known: 1-based, in any order, repeats allowed.
    pub click_positions: &'a [u32],
    /// All clicks, with those whose position is not known.
    pub clicks: u32,
    /// Purchases, downloads and whatever else counts as a conversion.
    pub conversions: u32,
    /// Positive thumbs.
    pub thumbs_up: u32,
    /// Negative thumbs.
    pub thumbs_down: u32,
    /// Ratings above the middle of their scale.
    pub positive_ratings: u32,
}

impl Reaction<'_> {
    fn clicked(&self) -> bool {
        self.clicks > 0 || !self.click_positions.is_empty()
    }

    /// The highest clicked position, the smallest number.
    fn best_position(&self) -> Option<u32> {
        self.click_positions
            .iter()
            .copied()
            .filter(|position| *position > 0)
            .min()
    }

    /// Whether there were clicks of which nobody knows where.
    fn clicked_somewhere(&self) -> bool {
        let known = self
            .click_positions
            .iter()
            .filter(|position| **position > 0)
            .count();
        usize::try_from(self.clicks).map_or(true, |clicks| clicks > known)
            || known < self.click_positions.len()
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
    /// `Abandoned`: 1 if results were shown and nobody clicked, converted or rated positively.
    Abandoned,
    /// `ThumbsUp`: positive thumbs / all thumbs.
    ThumbsUp,
    /// `ZeroResult`: 1 if nothing was found.
    ZeroResult,
}

impl People {
    /// The score of one search, from 0 to 1.
    ///
    /// `None`, which is no score and not a 0, where the search says nothing about the measure:
    /// without results nobody can click or abandon; without thumbs nobody rated; a click at an
    /// unknown position leaves `CTR@k` open unless another one is known to be within k, and
    /// `ClickRR` unless any position is known.
    pub fn score(&self, reaction: &Reaction<'_>) -> Option<f64> {
        let shown = reaction.results > 0;
        match self {
            Self::ClickThrough { cutoff: None } => shown.then(|| indicator(reaction.clicked())),
            Self::ClickThrough {
                cutoff: Some(cutoff),
            } => {
                let within = reaction
                    .best_position()
                    .is_some_and(|position| cutoff.admits(position));
                let decided = within || !reaction.clicked_somewhere();
                (shown && decided).then(|| indicator(within))
            }
            Self::ClickReciprocalRank => {
                let score = match reaction.best_position() {
                    Some(position) => Some(1.0 / f64::from(position)),
                    None => (!reaction.clicked()).then_some(0.0),
                };
                score.filter(|_| shown)
            }
            Self::Abandoned => shown.then(|| {
                let pleased = reaction.thumbs_up > 0 || reaction.positive_ratings > 0;
                indicator(!reaction.clicked() && reaction.conversions == 0 && !pleased)
            }),
            Self::ThumbsUp => {
                let up = f64::from(reaction.thumbs_up);
                let all = up + f64::from(reaction.thumbs_down);
                (all > 0.0).then(|| up / all)
            }
            Self::ZeroResult => Some(indicator(!shown)),
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
            Self::Abandoned => f.write_str("Abandoned"),
            Self::ThumbsUp => f.write_str("ThumbsUp"),
            Self::ZeroResult => f.write_str("ZeroResult"),
        }
    }
}
