//! Measures of user behaviour on the results of one search.
//!
//! Each measure gives one value per search, counted once when the search is finalised. The measures
//! know nothing of judgements or of single feedback events: the join aggregates those in a
//! [`UserResponse`].

use serde::{Deserialize, Serialize};

use super::catalogue::Measure;
use super::descriptor::Source;
use super::family::measures;
use super::field::{AT_OPTIONAL_K, CURRENCY, DWELL, EVALUATED_BY, WITHIN};
use super::parameter::{Currency, Cutoff, EvaluatedBy};
use crate::number::{indicator, real, real_length};

/// User response to one search, up to its finalisation.
#[derive(Clone, Copy, Debug, Default)]
pub struct UserResponse<'a> {
    /// Number of served results.
    pub results: usize,
    /// Clicks on served results, earliest first.
    pub clicks: &'a [Click],
    /// Number of conversions: purchases, downloads and similar actions.
    pub conversions: u32,
    /// Values of the conversions, one for each currency.
    pub values: &'a [Worth],
    /// Number of positive thumbs.
    pub thumbs_up: u32,
    /// Number of negative thumbs.
    pub thumbs_down: u32,
    /// Ratings, each on its own scale.
    pub ratings: &'a [Rating],
    /// Data from the session of the search; `None` for a search without a session.
    pub session: Option<SessionContext>,
    /// Weights of clicks at positions 1, 2, … that correct position bias: 1 / propensity, clipped.
    /// The last weight applies to all later positions; empty if propensities are not known.
    pub click_weights: &'a [f64],
    /// Values that evaluators gave to the search, its answer or its results.
    pub evaluations: &'a [Evaluated<'a>],
}

/// Value from an evaluator, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluated<'a> {
    /// Judged property.
    pub name: &'a str,
    /// Id of the evaluator.
    pub evaluator: &'a str,
    /// Value from 0 to 1.
    pub value: f64,
}

/// Click on a served result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Click {
    /// 1-based position of the result.
    pub position: u32,
    /// Seconds from the search to the click, not negative.
    pub after: f64,
    /// Lower bound of the dwell time in seconds; `None` if unknown.
    pub dwell: Option<f64>,
}

/// Value of conversions in one currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worth {
    /// Currency of the value.
    pub currency: Currency,
    /// Value in units of 10⁻⁹ of the currency.
    pub nanos: u64,
}

/// Rating, independent of its scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    share: f64,
    is_positive: bool,
    is_top_two: bool,
}

/// Context of one search in its session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionContext {
    /// Seconds until the next search of the session with another query that shares no click with
    /// this search; 0 if feedback states a reformulation, `None` if neither happened.
    pub reformulated_after: Option<f64>,
    /// True if no other search of the session followed.
    pub is_last: bool,
    /// True if the session as a whole was rated positively after this search.
    pub is_praised: bool,
}

impl Rating {
    /// Converts a rating of `value` on a scale from `min` to `max`, which is above `min`.
    ///
    /// The two highest values of a scale of up to eleven whole numbers (1 to 5, 0 to 10) have steps
    /// of 1. Any other scale is treated as five equal steps, of which the upper two begin at 3/4.
    pub fn new(value: f64, min: f64, max: f64) -> Self {
        let share = (value - min) / (max - min);
        let steps = max - min;
        let is_whole = [min, max].iter().all(|end| end.fract() == 0.0);
        let is_positive = value > f64::midpoint(min, max);
        let is_high = if is_whole && (2.0..=10.0).contains(&steps) {
            value > max - 2.0
        } else {
            share >= 0.75
        };
        Self {
            share,
            is_positive,
            is_top_two: is_high && is_positive,
        }
    }

    /// Returns the rating on a scale from 0 to 1.
    pub fn rescaled(&self) -> f64 {
        self.share
    }

    /// Returns true if the rating is above the middle of its scale.
    pub fn is_positive(&self) -> bool {
        self.is_positive
    }

    /// Returns true if the rating is positive and one of the two highest values of its scale.
    pub fn is_top_two(&self) -> bool {
        self.is_top_two
    }
}

/// Minimum dwell time of a satisfying click, in seconds: Fox et al. 2005, "Evaluating implicit
/// measures to improve web search".
pub(super) const SATISFYING_DWELL: u32 = 30;

/// Default time in seconds within which another query is a reformulation.
pub(super) const REFORMULATION: u32 = 60;

impl UserResponse<'_> {
    fn has_results(&self) -> bool {
        self.results > 0
    }

    /// Returns the highest clicked position, which is the smallest number.
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

    /// Returns the mean of `value` over the ratings; `None` without ratings.
    fn mean_rating(&self, value: impl Fn(&Rating) -> f64) -> Option<f64> {
        let number = real_length(self.ratings.len());
        let sum: f64 = self.ratings.iter().map(value).sum();
        (number > 0.0).then(|| sum / number)
    }

    /// Returns the user satisfaction from 0 to 1; `None` without feedback that indicates it.
    /// Explicit feedback takes precedence over implicit feedback: the mean of ratings and thumbs,
    /// else 1 for a conversion or a click with a satisfying dwell time, else 0 for other clicks.
    pub fn satisfaction(&self) -> Option<f64> {
        let thumbs = f64::from(self.thumbs_up) + f64::from(self.thumbs_down);
        let ratings = real_length(self.ratings.len());
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

measures! {
    /// Measure of user behaviour. Times are in seconds.
    pub enum UserMeasure;
    subject: Users;
    argument: None;
    build: |arguments, measure| Ok(Measure::User(measure));
    /// Returns the score of one search, from 0 to 1 (`IPWClicks`: at least 0).
    ///
    /// The score is `None`, which differs from 0, if the search has no data for the measure:
    /// without results there can be no click and no abandonment, without thumbs there is no share
    /// of positive ones, and without a session the next search is unknown.
    pub fn score(response: &UserResponse<'_>) -> Option<f64>;

    "CTR" [] ClickThrough { cutoff: Option<Cutoff> = AT_OPTIONAL_K }
        : UNIT, Up, Source::Rankgauge,
        "Click-through rate: 1 if any result, or any of the first k, was clicked"
        => response.has_results().then(|| {
            let counts = |position| cutoff.is_none_or(|cutoff| cutoff.admits(position));
            indicator(response.best_position().is_some_and(counts))
        });

    /// 0 without a click.
    "ClickRR" [] ClickReciprocalRank
        : UNIT, Up, Source::Paper("Radlinski, Kurup and Joachims 2008"),
        "Reciprocal rank of the highest click"
        => response
            .has_results()
            .then(|| response.best_position().map_or(0.0, reciprocal));

    /// 0 without a click. "How does clickthrough data reflect retrieval quality?".
    "MeanClickRR" [] MeanClickReciprocalRank
        : UNIT, Up, Source::Paper("Radlinski, Kurup and Joachims 2008"),
        "Mean reciprocal rank of the clicks"
        => response.has_results().then(|| {
            let clicks = response.clicks.iter();
            let sum: f64 = clicks.map(|it| reciprocal(it.position)).sum();
            sum / real_length(response.clicks.len()).max(1.0)
        });

    /// Each click is weighted by 1 / propensity of its position, clipped. "Unbiased learning-to-rank
    /// with biased feedback".
    "IPWClicks" [] WeightedClicks
        : NON_NEGATIVE, Up, Source::Paper("Joachims, Swaminathan and Schnabel 2017"),
        "Number of clicked results, weighted by inverse propensity"
        => {
            let last = response.click_weights.last();
            let last = last.filter(|_| response.has_results())?;
            let weight = |position: u32| {
                let index = usize::try_from(position).unwrap_or(usize::MAX) - 1;
                response.click_weights.get(index).unwrap_or(last)
            };
            let mut clicked: Vec<u32> = response.clicks.iter().map(|it| it.position).collect();
            clicked.sort_unstable();
            clicked.dedup();
            Some(clicked.into_iter().map(weight).sum())
        };

    "Abandoned" ["abandonment"] Abandoned
        : UNIT, Down, Source::Paper("Radlinski, Kurup and Joachims 2008"),
        "1 if results were shown without a click, a conversion or a positive rating"
        => response.has_results().then(|| {
            let is_satisfied = response.conversions > 0 || response.is_rated_positively();
            indicator(response.clicks.is_empty() && !is_satisfied)
        });

    "ZeroResult" [] ZeroResult
        : UNIT, Down, Source::Rankgauge, "1 if the search has no results"
        => Some(indicator(!response.has_results()));

    "SAT" [] SatisfyingClick { dwell: u32 = DWELL }
        : UNIT, Up, Source::Paper("Fox et al. 2005"), "1 if a click has a satisfying dwell time"
        => response
            .has_results()
            .then(|| indicator(response.has_satisfying_click(*dwell)));

    "Converted" ["conversion"] Converted
        : UNIT, Up, Source::Rankgauge, "1 if there was a conversion"
        => Some(indicator(response.conversions > 0));

    /// In units of the currency. Amounts in other currencies do not count. 0 without a conversion.
    "ConversionValue" [] ConversionValue { currency: Currency = CURRENCY }
        : NON_NEGATIVE, Up, Source::Rankgauge, "Value of the conversions in the currency"
        => {
            let values = response.values.iter();
            let in_currency = values.filter(|it| it.currency == *currency);
            let nanos: u64 = in_currency.map(|it| it.nanos).fold(0, u64::saturating_add);
            Some(real(nanos) / 1e9)
        };

    "Reformulated" ["reformulation"] Reformulated { within: u32 = WITHIN }
        : UNIT, Down, Source::Paper("Radlinski, Kurup and Joachims 2008"),
        "1 if another query follows in the session soon after the search"
        => {
            let after = response.session?.reformulated_after;
            Some(indicator(
                after.is_some_and(|after| after <= f64::from(*within)),
            ))
        };

    "ThumbsUp" [] ThumbsUp
        : UNIT, Up, Source::Rankgauge, "Positive thumbs, divided by all thumbs"
        => {
            let up = f64::from(response.thumbs_up);
            let all = up + f64::from(response.thumbs_down);
            (all > 0.0).then(|| up / all)
        };

    "Satisfied" ["CSAT"] Satisfied
        : UNIT, Up, Source::Rankgauge,
        "Customer satisfaction: share of the ratings in the top two of their scale"
        => response.mean_rating(|rating| indicator(rating.is_top_two()));

    "Rating" [] Rating
        : UNIT, Up, Source::Rankgauge, "Mean rating on a scale from 0 to 1"
        => response.mean_rating(Rating::rescaled);

    /// The value is on its stated scale, rescaled to 0 to 1. It is never mixed with the grades of the gold set.
    "Evaluation" [] Evaluation { of: EvaluatedBy = EVALUATED_BY }
        : UNIT, Up, Source::Rankgauge,
        "Mean value that an evaluator gave to a property of the answer, the search or its results"
        => {
            let values = response.evaluations.iter();
            let values = values.filter(|it| it.evaluator == &*of.evaluator && it.name == &*of.name);
            let (count, sum) = values.fold((0, 0.0), |(count, sum), it| (count + 1, sum + it.value));
            (count > 0).then(|| sum / real_length(count))
        };

    "SessionSuccess" [] SessionSuccess
        : UNIT, Up, Source::Rankgauge,
        "1 if the session ended with a satisfying click, a conversion or a positive rating"
        => {
            let session = response.session.filter(|session| session.is_last)?;
            let succeeded = session.is_praised
                || response.conversions > 0
                || response.is_rated_positively()
                || response.has_satisfying_click(SATISFYING_DWELL);
            Some(indicator(succeeded))
        };
}

fn reciprocal(position: u32) -> f64 {
    1.0 / f64::from(position)
}

impl UserMeasure {
    /// Returns true if the measure is about explicit feedback or judgments rather than behaviour. Such feedback
    /// can also apply to a whole session.
    pub fn is_opinion(&self) -> bool {
        matches!(
            self,
            Self::ThumbsUp | Self::Satisfied | Self::Rating | Self::Evaluation { .. }
        )
    }

    /// Returns true if the measure is about conversions, which can have a feedback window of their own.
    pub fn is_of_conversions(&self) -> bool {
        matches!(self, Self::Converted | Self::ConversionValue { .. })
    }

    /// Returns true if the measure compares the queries of a session with each other.
    pub fn compares_queries(&self) -> bool {
        matches!(self, Self::Reformulated { .. })
    }

    /// Returns true if the measure follows from feedback, and not from searches alone.
    pub fn needs_feedback(&self) -> bool {
        !matches!(self, Self::Reformulated { .. } | Self::ZeroResult)
    }

    /// Seconds after a search, or after a click on it, for which the measure needs feedback.
    pub fn horizon(&self) -> Option<u32> {
        match self {
            Self::SatisfyingClick { dwell } => Some(*dwell),
            Self::Reformulated { within } => Some(*within),
            Self::SessionSuccess => Some(SATISFYING_DWELL),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
