//! Correlation of ranking measures with user satisfaction: the number of searches for each pair of
//! a measure level and a satisfaction level, over a rolling day.
//!
//! Levels are thousandths. Memory grows with the number of distinct pairs of levels, not with the
//! number of searches. Counts of pairs are additive over panes and workers; a correlation
//! coefficient is not.

use std::ops::Range;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::engine::remap::IdRemap;
use crate::engine::table;
use crate::engine::window::{Pane, Progress, Window};
use crate::measure::Measure;
use crate::time::{EventTime, Millis};

/// Length of the correlation window.
const DAY: Millis = Millis(86_400_000);

/// Number of panes in the window, of one hour each.
const PANES: i64 = 24;

/// A score or a satisfaction in thousandths. Scores beyond about ±32 saturate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Level(i16);

impl Level {
    /// Marker for the absence of a score.
    const NONE: Self = Self(i16::MIN);

    /// Highest level.
    const LIMIT: f64 = i16::MAX as f64;

    /// Rounds a score to its level. Levels beyond the range need not be distinguished.
    #[allow(clippy::cast_possible_truncation, reason = "the range is limited")]
    pub fn of(score: Option<f64>) -> Self {
        score.map_or(Self::NONE, |score| {
            let level = (score * 1e3).clamp(-Self::LIMIT, Self::LIMIT);
            Self((level + 0.5_f64.copysign(level)) as i16)
        })
    }

    /// Packs up to four levels into a word.
    pub(super) fn pack(levels: &[Self]) -> u64 {
        let mut bytes = [0; 8];
        for index in 0..4 {
            let level = levels.get(index).copied().unwrap_or(Self::NONE);
            bytes[2 * index..2 * index + 2].copy_from_slice(&level.0.to_le_bytes());
        }
        u64::from_le_bytes(bytes)
    }

    /// Returns the four levels of a word.
    pub(super) fn unpack(word: u64) -> [Self; 4] {
        let bytes = word.to_le_bytes();
        std::array::from_fn(|index| {
            Self(i16::from_le_bytes([bytes[2 * index], bytes[2 * index + 1]]))
        })
    }

    /// Level as a number, in thousandths.
    pub fn get(self) -> f64 {
        f64::from(self.0)
    }
}

/// Number of searches for each pair (measure level, satisfaction level), by measure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairs(Vec<FxHashMap<(Level, Level), u64>>);

impl Pairs {
    /// Returns the pairs of measure `index` as (measure level, satisfaction level, number of
    /// searches), in ascending order.
    pub fn of(&self, index: usize) -> impl Iterator<Item = (f64, f64, u64)> {
        let pairs = self.0.get(index).into_iter().flatten();
        let mut pairs: Vec<_> = pairs.map(|(pair, count)| (*pair, *count)).collect();
        // The sum of floating-point numbers depends on their order.
        pairs.sort_unstable();
        let pairs = pairs.into_iter();
        pairs.map(|((score, satisfaction), count)| (score.get(), satisfaction.get(), count))
    }

    fn at(&mut self, index: usize) -> &mut FxHashMap<(Level, Level), u64> {
        if self.0.len() <= index {
            self.0.resize_with(index + 1, FxHashMap::default);
        }
        &mut self.0[index]
    }
}

impl Pane for Pairs {
    fn merge(&mut self, other: &Self) {
        table::merge(&mut self.0, &other.0, |mine, theirs| {
            #[allow(
                clippy::iter_over_hash_type,
                reason = "integers are added in any order"
            )]
            for (pair, count) in theirs {
                *mine.entry(*pair).or_default() += count;
            }
        });
    }
}

/// Pairs of levels over a rolling day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlation {
    window: Window<Pairs>,
    /// Empty in a copy for exposition or for a checkpoint.
    #[serde(skip)]
    recent: Recent,
}

/// Maximum number of recent searches: a few dozen kilobytes.
const MAX_SEARCHES: usize = 1_024;

/// Recent searches: searches that are not yet added to the window. They are added measure by measure,
/// because the pairs of all measures are larger than the processor's caches.
#[derive(Clone, Debug, Default, PartialEq)]
struct Recent {
    searches: Vec<Search>,
    /// Measure levels of all searches, one after the other.
    levels: Vec<Level>,
}

#[derive(Clone, Debug, PartialEq)]
struct Search {
    at: EventTime,
    satisfaction: Level,
    levels: Range<usize>,
}

impl Default for Correlation {
    fn default() -> Self {
        Self::new()
    }
}

impl Correlation {
    /// Creates an empty window.
    pub(super) fn new() -> Self {
        Self::of(Window::new(DAY, PANES))
    }

    fn of(window: Window<Pairs>) -> Self {
        Self {
            window,
            recent: Recent::default(),
        }
    }

    /// Counts a search at time `at` with the measure levels `levels` and a user satisfaction from 0
    /// to 1.
    pub fn record(
        &mut self,
        at: EventTime,
        levels: impl Iterator<Item = Level>,
        satisfaction: f64,
    ) {
        if self.recent.searches.len() >= MAX_SEARCHES {
            self.flush();
        }
        let Recent {
            searches,
            levels: all,
        } = &mut self.recent;
        let first = all.len();
        all.extend(levels);
        searches.push(Search {
            at,
            satisfaction: Level::of(Some(satisfaction)),
            levels: first..all.len(),
        });
    }

    /// Adds the recent searches to the window.
    fn flush(&mut self) {
        let mut recent = std::mem::take(&mut self.recent);
        let window = &mut self.window;
        let pane = window.pane_length();
        let pane_of = |search: &Search| search.at.0.div_euclid(pane);
        let of_panes = recent.searches.chunk_by(|a, b| pane_of(a) == pane_of(b));
        for searches in of_panes {
            let measures = searches.iter().map(|search| search.levels.len()).max();
            window.record(searches[0].at, |pairs| {
                for measure in 0..measures.unwrap_or(0) {
                    let pairs = pairs.at(measure);
                    for search in searches {
                        let levels = recent.levels.get(search.levels.clone());
                        let level = levels.and_then(|levels| levels.get(measure));
                        if let Some(level) = level.filter(|level| **level != Level::NONE) {
                            *pairs.entry((*level, search.satisfaction)).or_default() += 1;
                        }
                    }
                }
            });
        }
        recent.searches.clear();
        recent.levels.clear();
        self.recent = recent;
    }

    /// Returns a copy for a checkpoint.
    pub(super) fn flushed(&self) -> Self {
        let mut copy = self.clone();
        copy.flush();
        copy
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let of_pane = |pairs: &Pairs| pairs.0.iter().map(FxHashMap::len).sum::<usize>() * 24;
        let recent = self.recent.searches.capacity() * size_of::<Search>()
            + self.recent.levels.capacity() * size_of::<Level>();
        self.window.bytes(of_pane) + recent
    }

    /// Advances the window to `progress`.
    pub(super) fn advance_to(&mut self, progress: Progress) {
        self.flush();
        self.window.advance_to(progress);
    }

    /// Pairs inside the window, without those of recent searches.
    pub fn pairs(&self) -> &Pairs {
        self.window.sum()
    }

    /// Returns a copy for exposition.
    pub(super) fn summed(&self) -> Self {
        if !self.recent.searches.is_empty() {
            return self.flushed().summed();
        }
        Self::of(self.window.summed())
    }

    /// Adds other pairs of the same measures.
    pub(super) fn merge(&mut self, other: &Self) {
        self.window.merge(&other.window);
    }

    /// Returns saved pairs with the positions of this process, for measures that are still
    /// configured.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        Self::of(self.window.map(|pane| {
            let mut pairs = Pairs::default();
            for (theirs, now) in pane.0.iter().zip(&ids.rankings) {
                if let Some(now) = now {
                    pairs.at(*now).clone_from(theirs);
                }
            }
            pairs
        }))
    }
}

/// Returns the positions in `measures` of the ranking measures. Measures of user behaviour are left
/// out.
pub(super) fn ranking_measures(measures: &[Measure]) -> impl Iterator<Item = usize> {
    let places = measures.iter().enumerate();
    places.filter_map(|(index, it)| (!it.is_user_measure()).then_some(index))
}
