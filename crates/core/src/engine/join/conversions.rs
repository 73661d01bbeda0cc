//! Searches that wait for conversions after their feedback window has passed.
//!
//! Conversions follow a search hours later. All else that a search needs is dropped by then: a compact entry
//! remains. The entries are part of the saved state of an engine, and are not rebuilt from the log: the
//! offsets that a join needs do not depend on them. They are in groups of a minute of event time, which
//! copies of the state share until they change.
//!
//! Whether a conversion belongs to a search is decided when its own second is closed, as for feedback whose
//! search never arrives. It therefore follows from ids and times alone, and is counted once by all owners.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::closing::Work;
use super::effect::Effect;
use super::feedback::{Facts, Reaction, add_worth};
use super::searches::Place;
use super::seconds::Second;
use super::summary::FeedbackSummary;
use crate::engine::id::Id;
use crate::engine::segment::Segment;
use crate::engine::series::{Label, Series};
use crate::measure::user::Worth;
use crate::time::{EventTime, Millis};

/// Milliseconds of a group.
const MINUTE: i64 = 60_000;

/// Search that waits. Half of its id is kept: of ten million entries, two have an equal one with a
/// probability of 3 in a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    id: u64,
    /// Position of the segment in [`Pending::segments`].
    segment: u32,
    /// Milliseconds after the start of the minute.
    at: u16,
}

/// Approximate bytes of an entry, with its share of the table.
const ENTRY_BYTES: usize = size_of::<Entry>() + size_of::<Slot>() + 4;

/// Searches of a minute, in the order in which their feedback windows have passed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Group(Arc<Vec<Entry>>);

impl Serialize for Group {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Group {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(|entries| Self(Arc::new(entries)))
    }
}

/// Minute of an entry since 1970, and its position in the group.
type Slot = (u32, u32);

/// Conversions of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Converted {
    number: u32,
    values: Vec<Worth>,
    /// Hashes of the event ids.
    events: Vec<u64>,
}

impl Converted {
    /// Approximate bytes held.
    fn bytes(&self) -> usize {
        size_of::<(Slot, Self)>()
            + 16
            + self.values.capacity() * size_of::<Worth>()
            + self.events.capacity() * size_of::<u64>()
    }
}

/// Series that count the conversions of searches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct WaitingSegment {
    /// System version that served the searches.
    pub variant: Label,
    /// Series of their scores.
    pub series: Box<[Series]>,
}

/// Searches that wait for conversions, as saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pending {
    segments: Vec<WaitingSegment>,
    minutes: BTreeMap<u32, Group>,
    converted: BTreeMap<Slot, Converted>,
    /// Number of entries of the first minute that are counted.
    done: u32,
}

impl Pending {
    /// Number of searches that wait.
    pub(crate) fn len(&self) -> usize {
        let all: usize = self.minutes.values().map(|group| group.0.len()).sum();
        all.saturating_sub(self.done as usize)
    }

    /// Returns true if no search waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.minutes.is_empty()
    }

    /// Removes the searches before a time. Returns their number.
    pub(crate) fn drop_before(&mut self, at: EventTime) -> usize {
        let before = self.len();
        while let Some(entry) = self.minutes.first_entry() {
            if end_of(*entry.key()) > at.0 {
                break;
            }
            let minute = *entry.key();
            entry.remove();
            self.done = 0;
            self.converted.retain(|(of, _), _| *of != minute);
        }
        before - self.len()
    }

    /// Replaces the numbers of variants and series, which are those of one process.
    pub(in crate::engine) fn renumbered(
        &self,
        label: impl Fn(Label) -> Label,
        series: impl Fn(Series) -> Option<Series>,
    ) -> Self {
        let segment = |saved: &WaitingSegment| WaitingSegment {
            variant: label(saved.variant),
            series: saved.series.iter().filter_map(|it| series(*it)).collect(),
        };
        Self {
            segments: self.segments.iter().map(segment).collect(),
            ..self.clone()
        }
    }

    /// Adds the searches of another state.
    pub(in crate::engine) fn merge(&mut self, other: &Self) {
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        let offset = u32::try_from(self.segments.len()).unwrap_or(u32::MAX);
        self.segments.extend(other.segments.iter().cloned());
        let first = other.minutes.keys().next().copied();
        for (minute, group) in &other.minutes {
            let mine = Arc::make_mut(&mut self.minutes.entry(*minute).or_default().0);
            let skipped = if Some(*minute) == first {
                other.done
            } else {
                0
            };
            let start = u32::try_from(mine.len()).unwrap_or(u32::MAX);
            mine.extend(group.0.iter().skip(skipped as usize).map(|entry| Entry {
                segment: entry.segment.saturating_add(offset),
                ..*entry
            }));
            let of_minute = other
                .converted
                .range((*minute, skipped)..=(*minute, u32::MAX));
            self.converted.extend(
                of_minute.map(|((_, index), it)| ((*minute, index - skipped + start), it.clone())),
            );
        }
    }

    fn entry(&self, (minute, index): Slot) -> Option<&Entry> {
        self.minutes.get(&minute)?.0.get(index as usize)
    }

    fn time_of(&self, slot: Slot) -> Option<EventTime> {
        let entry = self.entry(slot)?;
        Some(EventTime(i64::from(slot.0) * MINUTE + i64::from(entry.at)))
    }
}

/// First millisecond after a minute.
fn end_of(minute: u32) -> i64 {
    (i64::from(minute) + 1) * MINUTE
}

/// Search whose time for conversions has passed.
#[derive(Debug)]
pub(crate) struct Conversions {
    /// Its series.
    pub segment: WaitingSegment,
    /// Time at which the results were served.
    pub ts: EventTime,
    /// Number of conversions.
    pub number: u32,
    /// Their values.
    pub values: Vec<Worth>,
}

/// Result of the addition of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// It is counted with a search of this variant.
    Counted(Label),
    /// It is counted with a search of this variant, which has reached its limit.
    BeyondLimit(Label),
    /// It was counted before.
    Duplicate,
}

/// Searches of a partition that wait for conversions.
#[derive(Debug)]
pub(super) struct Waiting {
    window: Millis,
    limit: usize,
    pending: Pending,
    by_id: HashTable<Slot>,
    known: FxHashMap<WaitingSegment, u32>,
    bytes: usize,
}

impl Waiting {
    /// Searches that wait for `window`. At most `limit` conversions of one are kept one by one.
    pub(super) fn new(window: Millis, limit: usize, pending: Pending) -> Self {
        let mut by_id = HashTable::new();
        let mut waiting = Self {
            window,
            limit,
            known: FxHashMap::default(),
            bytes: pending.converted.values().map(Converted::bytes).sum(),
            by_id: HashTable::new(),
            pending,
        };
        let pending = &waiting.pending;
        let slot_of = |slot: &Slot| pending.entry(*slot).map_or(0, |entry| entry.id);
        for (minute, group) in &pending.minutes {
            for (index, entry) in (0..).zip(group.0.iter()) {
                by_id.insert_unique(entry.id, (*minute, index), slot_of);
            }
            waiting.bytes += group.0.len() * ENTRY_BYTES;
        }
        waiting.by_id = by_id;
        for (number, segment) in (0..).zip(&waiting.pending.segments) {
            waiting.known.insert(segment.clone(), number);
        }
        waiting
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Searches that wait.
    pub(super) fn pending(&self) -> &Pending {
        &self.pending
    }

    /// Adds a search whose feedback window has passed, with its conversions so far.
    pub(super) fn add(
        &mut self,
        place: &Place,
        segment: &Segment,
        summary: &FeedbackSummary,
        events: impl Iterator<Item = u64>,
    ) {
        let Ok(minute) = u32::try_from(place.ts.0.div_euclid(MINUTE)) else {
            return;
        };
        let segment = WaitingSegment {
            variant: segment.variant,
            series: segment.series.clone(),
        };
        let known = self.known.get(&segment).copied();
        let segment = known.unwrap_or_else(|| {
            let next = u32::try_from(self.pending.segments.len()).unwrap_or(u32::MAX);
            self.pending.segments.push(segment.clone());
            self.known.insert(segment, next);
            next
        });
        let entry = Entry {
            id: place.id().slot(),
            segment,
            at: u16::try_from(place.ts.0.rem_euclid(MINUTE)).unwrap_or(0),
        };
        let group = Arc::make_mut(&mut self.pending.minutes.entry(minute).or_default().0);
        let slot = (minute, u32::try_from(group.len()).unwrap_or(u32::MAX));
        group.push(entry);
        let pending = &self.pending;
        let slot_of = |slot: &Slot| pending.entry(*slot).map_or(0, |entry| entry.id);
        self.by_id.insert_unique(entry.id, slot, slot_of);
        self.bytes += ENTRY_BYTES;
        if summary.conversions > 0 {
            let converted = Converted {
                number: summary.conversions,
                values: summary.values.clone(),
                events: events.take(self.limit).collect(),
            };
            self.bytes += converted.bytes();
            self.pending.converted.insert(slot, converted);
        }
    }

    /// Last search with this id before a time, within the window.
    fn find(&self, id: Id, ts: EventTime) -> Option<Slot> {
        let of_id = self.by_id.iter_hash(id.slot()).copied();
        let is_meant = |slot: &Slot| {
            let is_same = self
                .pending
                .entry(*slot)
                .is_some_and(|it| it.id == id.slot());
            let time = self.pending.time_of(*slot).filter(|_| is_same);
            time.is_some_and(|time| time <= ts && ts.since(time) <= self.window)
        };
        of_id
            .filter(is_meant)
            .max_by_key(|slot| self.pending.time_of(*slot))
    }

    /// Returns true if a search waits for a conversion.
    pub(super) fn is_meant(&self, id: Id, facts: &Facts) -> bool {
        matches!(facts.reaction, Reaction::Conversion(_)) && self.find(id, facts.ts).is_some()
    }

    /// Returns true if a search has counted a conversion, or as many as are kept.
    pub(super) fn has_counted(&self, id: Id, facts: &Facts) -> bool {
        let found = self.find(id, facts.ts);
        let converted = found.and_then(|slot| self.pending.converted.get(&slot));
        converted
            .is_some_and(|it| it.events.contains(&facts.event) || it.events.len() >= self.limit)
    }

    /// Adds a conversion to the search that waits for it, if there is one.
    pub(super) fn join(&mut self, id: Id, facts: &Facts) -> Option<Joined> {
        let Reaction::Conversion(worth) = facts.reaction else {
            return None;
        };
        let slot = self.find(id, facts.ts)?;
        let segment = self.pending.entry(slot)?.segment as usize;
        let variant = self.pending.segments.get(segment)?.variant;
        let converted = self.pending.converted.entry(slot).or_default();
        if converted.events.contains(&facts.event) {
            return Some(Joined::Duplicate);
        }
        if converted.events.len() >= self.limit {
            return Some(Joined::BeyondLimit(variant));
        }
        let before = if converted.number == 0 {
            0
        } else {
            converted.bytes()
        };
        converted.number = converted.number.saturating_add(1);
        converted.events.push(facts.event);
        if let Some(worth) = worth {
            add_worth(&mut converted.values, worth);
        }
        self.bytes = self.bytes + converted.bytes() - before;
        Some(Joined::Counted(variant))
    }

    /// Returns true if the time of a search has passed when every second before `frontier` is closed.
    pub(super) fn has_closed(&self, frontier: Second) -> bool {
        let first = self.pending.minutes.keys().next();
        let end = |minute: u32| end_of(minute).saturating_add(self.window.0);
        first.is_some_and(|minute| end(*minute) <= frontier.0.saturating_mul(1_000))
    }

    /// Returns the searches whose time has passed, as far as `work` allows. Returns true if none is left.
    pub(super) fn close_some(
        &mut self,
        frontier: Second,
        work: &mut Work,
        effects: &mut Vec<Effect>,
    ) -> bool {
        while self.has_closed(frontier) {
            if work.is_done() {
                return false;
            }
            self.close_next(work, effects);
        }
        true
    }

    /// Returns the searches of the oldest minute before their time has passed. Returns their number.
    pub(super) fn close_oldest(&mut self, effects: &mut Vec<Effect>) -> usize {
        let Some(oldest) = self.pending.minutes.keys().next().copied() else {
            return 0;
        };
        let before = effects.len();
        let mut work = Work::STEP;
        while self.pending.minutes.contains_key(&oldest) {
            self.close_next(&mut work, effects);
        }
        effects.len() - before
    }

    /// Returns the next search of the oldest minute, or removes the minute.
    fn close_next(&mut self, work: &mut Work, effects: &mut Vec<Effect>) {
        let Some((minute, group)) = self.pending.minutes.first_key_value() else {
            return;
        };
        let slot = (*minute, self.pending.done);
        let Some(entry) = group.0.get(self.pending.done as usize).copied() else {
            self.pending.minutes.remove(&slot.0);
            self.pending.done = 0;
            return;
        };
        work.spend(4);
        self.pending.done += 1;
        self.bytes -= ENTRY_BYTES;
        if let Ok(found) = self.by_id.find_entry(entry.id, |it| *it == slot) {
            found.remove();
        }
        let converted = self.pending.converted.remove(&slot).unwrap_or_default();
        if converted.number > 0 {
            self.bytes -= converted.bytes();
        }
        let segment = self.pending.segments.get(entry.segment as usize);
        effects.extend(segment.map(|segment| {
            Effect::Conversions(Conversions {
                segment: segment.clone(),
                ts: EventTime(i64::from(slot.0) * MINUTE + i64::from(entry.at)),
                number: converted.number,
                values: converted.values,
            })
        }));
    }
}
