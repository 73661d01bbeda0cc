//! Whether measures of the ranking tell how satisfied people are: how often each level of a measure
//! met each level of satisfaction, over a rolling day.
//!
//! Levels are thousandths. What is kept grows with the number of different pairs of levels, and not
//! with the number of searches; and it can be added up over panes and over workers, which a
//! coefficient cannot.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::state::Renumbering;
use crate::engine::table;
use crate::engine::window::{Pane, Progress, Window};
use crate::measure::Measure;
use crate::time::{EventTime, Millis};

/// What the correlation is over.
const DAY: Millis = Millis(86_400_000);

/// Panes of an hour.
const PANES: i64 = 24;

/// A score or a satisfaction in thousandths; scores beyond ±32 stay there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Level(i16);

impl Level {
    /// No score.
    const NONE: Self = Self(i16::MIN);

    /// The level of a score.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "`as` saturates, and levels beyond the range need no telling apart"
    )]
    pub fn of(score: Option<f64>) -> Self {
        score.map_or(Self::NONE, |score| {
            Self(((score * 1e3).round() as i16).max(-i16::MAX))
        })
    }

    /// The level as a number, in thousandths.
    pub fn get(self) -> f64 {
        f64::from(self.0)
    }
}

/// How often each pair of levels, of a measure and of satisfaction, was seen: by measure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairs(Vec<BTreeMap<(Level, Level), u64>>);

impl Pairs {
    /// Pairs of the levels of measure `index` and of satisfaction, and how often each was seen.
    pub fn of(&self, index: usize) -> impl Iterator<Item = (f64, f64, u64)> {
        let pairs = self.0.get(index).into_iter().flatten();
        pairs.map(|((score, satisfaction), count)| (score.get(), satisfaction.get(), *count))
    }

    fn at(&mut self, index: usize) -> &mut BTreeMap<(Level, Level), u64> {
        if self.0.len() <= index {
            self.0.resize_with(index + 1, BTreeMap::new);
        }
        &mut self.0[index]
    }
}

impl Pane for Pairs {
    fn merge(&mut self, other: &Self) {
        table::merge(&mut self.0, &other.0, |mine, theirs| {
            for (pair, count) in theirs {
                *mine.entry(*pair).or_default() += count;
            }
        });
    }
}

/// The pairs of one worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Correlation(Window<Pairs>);

impl Default for Correlation {
    /// No pairs yet.
    fn default() -> Self {
        Self(Window::new(DAY, PANES))
    }
}

impl Correlation {
    /// A search whose measures had these `levels` satisfied people so much, from 0 to 1.
    pub fn record(&mut self, at: EventTime, levels: &[Level], satisfaction: f64) {
        let satisfaction = Level::of(Some(satisfaction));
        self.0.record(at, |pairs| {
            for (index, level) in levels.iter().enumerate() {
                if *level != Level::NONE {
                    *pairs.at(index).entry((*level, satisfaction)).or_default() += 1;
                }
            }
        });
    }

    /// Moves the window to where time is.
    pub fn follow(&mut self, progress: Progress) {
        self.0.follow(progress);
    }

    /// What is exposed.
    pub fn total(&self) -> Pairs {
        self.0.total()
    }

    /// Adds what an earlier process counted, of the measures that there still are.
    pub(super) fn restore(&mut self, saved: &Self, renumbering: &Renumbering) {
        self.0.restore(&saved.0, |pane| {
            let mut pairs = Pairs::default();
            for (theirs, now) in pane.0.iter().zip(&renumbering.rankings) {
                if let Some(now) = now {
                    pairs.at(*now).clone_from(theirs);
                }
            }
            pairs
        });
    }
}

/// The measures whose levels are kept, by their place among `measures`: all but those of people.
pub fn correlated(measures: &[Measure]) -> impl Iterator<Item = usize> {
    let places = measures.iter().enumerate();
    places.filter_map(|(index, it)| (!it.is_of_people()).then_some(index))
}
