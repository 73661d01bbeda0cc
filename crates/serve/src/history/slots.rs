//! Score history of a fleet: sums of disjoint searches by slot of wall-clock time, measure and variant.
//!
//! A process adds the searches that it counts to the slot of the moment, once in each span. It shares its
//! own sums, and adds those of the other processes, so that all have the same points. Depends on no clock.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};

use rankgauge_core::engine::scores::Cell;
use rankgauge_core::time::{Millis, WallTime};

/// Time by which the clock of another replica can be ahead.
pub const MAX_SKEW: Millis = Millis(10 * 60_000);

/// Maximum number of series of a record, so that any possible numbers fit into it.
const MAX_SHARED: usize = 64;

/// Maximum number of slots of a span beside its closed ones: the open one, and those of a clock that is
/// ahead by [`MAX_SKEW`].
const MAX_OPEN: usize = 12;

/// Maximum number of searches in a slot, and maximum absolute score in units of 10⁻⁹.
const MAX_COUNT: u64 = 1 << 40;
const MAX_SCORE: u128 = 1_000_000_000_000_000;

/// Span of a history, with slots of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistorySpan {
    /// The last hour, by minute.
    Hour,
    /// The last day, by quarter of an hour.
    Day,
    /// The last week, by hour.
    Week,
}

impl HistorySpan {
    /// All spans, shortest first.
    pub const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    /// Length of a slot: one minute, 15 minutes, or one hour.
    pub fn slot_length(self) -> Millis {
        Millis(match self {
            Self::Hour => 60_000,
            Self::Day => 15 * 60_000,
            Self::Week => 60 * 60_000,
        })
    }

    /// Number of closed slots that are kept.
    pub fn slots(self) -> usize {
        match self {
            Self::Hour => 60,
            Self::Day => 96,
            Self::Week => 168,
        }
    }

    /// Number of the slot of a moment.
    pub fn slot_at(self, at: WallTime) -> i64 {
        at.0.div_euclid(self.slot_length().0)
    }

    /// End of a slot.
    pub fn end_of(self, slot: i64) -> WallTime {
        WallTime(slot.saturating_add(1).saturating_mul(self.slot_length().0))
    }

    /// Slots of the span that have ended.
    pub fn closed(self, now: WallTime) -> Range<i64> {
        let open = self.slot_at(now);
        let slots = i64::try_from(self.slots()).unwrap_or(i64::MAX);
        open.saturating_sub(slots)..open
    }

    /// Slots that are kept: the closed ones, and those that other clocks can have begun.
    fn kept(self, now: WallTime) -> RangeInclusive<i64> {
        let ahead = WallTime(now.0.saturating_add(MAX_SKEW.0));
        self.closed(now).start..=self.slot_at(ahead)
    }
}

/// Measure and variant of a series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ScoreName {
    /// Name of the measure.
    pub measure: Box<str>,
    /// Name of the variant.
    pub variant: Box<str>,
}

/// Slots with searches, oldest first.
type Slots = Vec<(i64, Cell)>;

/// Score history of one process, or of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScoreHistory(BTreeMap<ScoreName, [Slots; HistorySpan::ALL.len()]>);

/// Slot in a record: its number, the number of searches, and the sum of their scores in units of 10⁻⁹.
type SharedSlot = (i64, u64, i128);

/// Series of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SharedScores {
    name: ScoreName,
    /// Slots of each span, oldest first.
    spans: [Vec<SharedSlot>; HistorySpan::ALL.len()],
}

/// Part of the score history of a process, as it is shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedHistory(Vec<SharedScores>);

impl SharedHistory {
    /// Returns true if numbers, lengths and orders are possible.
    pub fn is_possible(&self, max_name: usize, now: WallTime) -> bool {
        let is_slot = |&(_, count, sum): &SharedSlot| {
            (1..=MAX_COUNT).contains(&count) && sum.unsigned_abs() <= u128::from(count) * MAX_SCORE
        };
        let are_slots = |(span, slots): (HistorySpan, &Vec<SharedSlot>)| {
            slots.len() <= span.slots() + MAX_OPEN
                && slots.is_sorted_by(|one, next| one.0 < next.0)
                && slots.first().is_none_or(|first| first.0 >= 0)
                && slots
                    .last()
                    .is_none_or(|last| last.0 <= *span.kept(now).end())
                && slots.iter().all(is_slot)
        };
        self.0.len() <= MAX_SHARED
            && self.0.is_sorted_by(|one, next| one.name < next.name)
            && self.0.iter().all(|SharedScores { name, spans }| {
                [&name.measure, &name.variant]
                    .iter()
                    .all(|it| it.len() <= max_name)
                    && HistorySpan::ALL.into_iter().zip(spans).all(are_slots)
            })
    }
}

impl ScoreHistory {
    /// Maximum number of series. Of more, those with the first names are kept.
    pub const MAX_SERIES: usize = 400;

    /// History of one process from its parts, the newest first: a series that is in two of them has moved
    /// to the newer one. Slots that are not kept any more are left out.
    pub fn of_parts<'a>(parts: impl Iterator<Item = &'a SharedHistory>, now: WallTime) -> Self {
        let mut history = Self::default();
        for SharedScores { name, spans } in parts.flat_map(|it| &it.0) {
            if history.0.contains_key(name) {
                continue;
            }
            for (span, slots) in HistorySpan::ALL.into_iter().zip(spans) {
                let kept = span.kept(now);
                for &(slot, count, sum) in slots.iter().filter(|it| kept.contains(&it.0)) {
                    history.add_to(span, name, (slot, Cell { count, sum }));
                }
            }
        }
        history
    }

    /// Parts that fit into records.
    pub fn parts(&self) -> Vec<SharedHistory> {
        let shared = |slots: &Slots| {
            slots
                .iter()
                .map(|(slot, it)| (*slot, it.count, it.sum))
                .collect()
        };
        let series = self.0.iter().map(|(name, spans)| SharedScores {
            name: name.clone(),
            spans: spans.each_ref().map(shared),
        });
        let series: Vec<SharedScores> = series.collect();
        series
            .chunks(MAX_SHARED)
            .map(|it| SharedHistory(it.to_vec()))
            .collect()
    }

    /// Adds searches that were counted at a moment.
    pub fn add(&mut self, name: &ScoreName, at: WallTime, sums: Cell) {
        for span in HistorySpan::ALL {
            self.add_to(span, name, (span.slot_at(at), sums));
        }
    }

    /// Adds the searches of another process.
    pub fn merge(&mut self, other: &Self) {
        for (name, spans) in &other.0 {
            for (span, slots) in HistorySpan::ALL.into_iter().zip(spans) {
                for slot in slots {
                    self.add_to(span, name, *slot);
                }
            }
        }
    }

    /// Drops the slots that are not kept any more, and series without a slot.
    pub fn advance_to(&mut self, now: WallTime) {
        self.0.retain(|_, spans| {
            for (span, slots) in HistorySpan::ALL.into_iter().zip(&mut *spans) {
                let kept = span.kept(now);
                slots.retain(|(slot, _)| kept.contains(slot));
            }
            spans.iter().any(|slots| !slots.is_empty())
        });
    }

    /// Series with their slots in a span.
    pub fn series(&self, span: HistorySpan) -> impl Iterator<Item = (&ScoreName, &Slots)> {
        self.0
            .iter()
            .map(move |(name, spans)| (name, &spans[span as usize]))
    }

    fn add_to(&mut self, span: HistorySpan, name: &ScoreName, (slot, sums): (i64, Cell)) {
        if sums.count == 0 {
            return;
        }
        if !self.0.contains_key(name) {
            self.0.insert(name.clone(), Default::default());
            // The set of names does not depend on the order in which they come.
            if self.0.len() > Self::MAX_SERIES {
                self.0.pop_last();
            }
        }
        let Some(spans) = self.0.get_mut(name) else {
            return;
        };
        let slots = &mut spans[span as usize];
        match slots.binary_search_by_key(&slot, |(slot, _)| *slot) {
            Ok(place) => slots[place].1.merge(&sums),
            Err(place) => slots.insert(place, (slot, sums)),
        }
    }
}
