//! Mean of a measure with its interval, and the loss below another mean.

use crate::detection::MeanInterval;

/// Mean of a measure with its interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Mean.
    pub mean: f64,
    /// Lower bound.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
    /// Searches behind the mean.
    pub searches: u64,
}

/// Level that is a loss below a mean.
pub(super) fn level(before: f64, loss: Level, is_lower_better: bool) -> Level {
    let [mean, lower, upper] = if is_lower_better {
        [loss.mean, loss.lower, loss.upper].map(|it| before + it)
    } else {
        [loss.mean, loss.upper, loss.lower].map(|it| before - it)
    };
    Level {
        mean: mean.clamp(0.0, 1.0),
        lower: lower.clamp(0.0, 1.0),
        upper: upper.clamp(0.0, 1.0),
        searches: loss.searches,
    }
}

/// Lowest and highest loss against a mean, so that the level is from 0 to 1. The queries of the current
/// searches can have had a higher mean than all searches before the beginning.
pub(super) fn possible_losses(before: Option<f64>, is_lower_better: bool) -> [f64; 2] {
    match before {
        None => [-1.0, 1.0],
        Some(before) if is_lower_better => [-before, 1.0 - before],
        Some(before) => [before - 1.0, before],
    }
}

pub(super) fn loss_level(
    interval: MeanInterval,
    searches: u64,
    [lowest, highest]: [f64; 2],
) -> Level {
    let bounded = |loss: f64| loss.max(lowest).min(highest);
    Level {
        mean: bounded(interval.mean),
        lower: bounded(interval.lower),
        upper: bounded(interval.upper),
        searches,
    }
}
