//! Feedback records of one partition: fixed-size entries, each in the list of its search or of the
//! searches that have not yet arrived.

use std::collections::BTreeMap;

use hashbrown::HashTable;

use super::by_id::{ById, SLOT_BYTES};
use super::pool::{Number, Pool};
use super::reading::Reading;
use super::seconds::Second;
use crate::engine::evaluators::EvaluatorKey;
use crate::engine::fixed::Nano;
use crate::engine::id::Id;
use crate::event::{self, Action, Amount};
use crate::measure::Currency;
use crate::measure::user::{Rating, Worth};
use crate::time::EventTime;

/// User action as far as the measures need it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reaction {
    /// Opened result.
    Click,
    /// Time spent on a result, in milliseconds.
    Dwell(f64),
    /// Conversion, with its value.
    Conversion(Option<Worth>),
    /// Thumbs; true for thumbs up.
    Thumbs(bool),
    Rating(Rating),
    /// Grade given to a document in production.
    Judgment(f64),
    /// Judgment with an evaluator, and its value: from 0 to 1, or a grade.
    Evaluation(EvaluatorKey, f64),
    /// Query repeated in other words.
    Reformulation,
    /// Action that is only counted.
    Other,
}

impl Reaction {
    /// Returns the reaction of an event.
    pub(crate) fn of(feedback: &event::Feedback<'_>) -> Self {
        if let (Some(evaluation), Action::Judgment { grade }) =
            (&feedback.evaluation, feedback.action)
        {
            let value = evaluation.rescaled(grade);
            return Self::Evaluation(EvaluatorKey::of(evaluation), value);
        }
        match feedback.action {
            Action::Click => Self::Click,
            Action::Dwell { dwell_ms } => Self::Dwell(dwell_ms),
            Action::Conversion { amount } => Self::Conversion(amount.and_then(worth)),
            Action::Thumbs { up } => Self::Thumbs(up),
            Action::Rating { value, min, max } => Self::Rating(Rating::new(value, min, max)),
            Action::Judgment { grade } => Self::Judgment(grade),
            Action::Reformulation => Self::Reformulation,
            Action::Impression | Action::Comment | Action::Custom => Self::Other,
        }
    }

    /// Returns true for a positive thumb or rating.
    pub(super) fn is_positive(self) -> bool {
        match self {
            Self::Thumbs(up) => up,
            Self::Rating(rating) => rating.is_positive(),
            _ => false,
        }
    }

    /// Returns true if the action is a user interaction at its time. A dwell event describes the
    /// time before it, and may be sent whenever the user leaves a page.
    fn is_interaction(self) -> bool {
        !matches!(self, Self::Dwell(_))
    }
}

/// Value of a conversion.
fn worth(amount: Amount) -> Option<Worth> {
    Some(Worth {
        currency: Currency::new(&amount.currency)?,
        nanos: u64::try_from(Nano::from_f64(amount.value).get()).ok()?,
    })
}

/// Adds a value to those in other currencies.
pub(super) fn add_worth(values: &mut Vec<Worth>, added: Worth) {
    if let Some(known) = values.iter_mut().find(|it| it.currency == added.currency) {
        known.nanos = known.nanos.saturating_add(added.nanos);
        return;
    }
    values.push(added);
    values.sort_unstable_by_key(|it| it.currency);
}

/// Result that a record refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The record names neither a document nor a position.
    NotStated,
    /// The document or the position was not served.
    NotServed,
    /// Index of the result, from 0 on.
    Result(u32),
}

/// Facts about a feedback event that the join keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Hash of the event id.
    pub(super) event: u64,
    pub(super) ts: EventTime,
    /// Hash of the document id that the event states, or of the result that it refers to; 0 if
    /// neither is known.
    pub(super) document: u64,
    /// Position that the event states, from 1 on; 0 if it states none.
    pub(super) position: u32,
    /// Position of the action in `Action::NAMES`.
    pub(super) action: u8,
    pub(super) reading: Reading,
    pub(super) reaction: Reaction,
}

impl Facts {
    /// Returns true if the event is a user interaction at its time.
    pub(super) fn is_interaction(&self) -> bool {
        self.reaction.is_interaction()
    }
}

/// Feedback event in a list.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) facts: Facts,
    pub(super) target: Target,
    owner: Owner,
    /// Neighbours in the list of the owner.
    previous: Number,
    next: Number,
    /// True if the record is in the table by event.
    pub(super) is_indexed: bool,
}

/// Owner of a list of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Search(Number),
    /// Searches with one id that have not arrived, by the number of the [`Waiting`].
    Waiting(Number),
}

impl Record {
    /// Hash of the document of the result that the record refers to; `None` if it was not served.
    pub(super) fn clicked_document(&self) -> Option<u64> {
        matches!(self.target, Target::Result(_)).then_some(self.facts.document)
    }
}

/// Head and length of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) head: Number,
    pub(super) len: u32,
}

impl Default for List {
    fn default() -> Self {
        Self {
            head: Number::NONE,
            len: 0,
        }
    }
}

/// Number of events, by whether they are read for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repeats {
    pub(super) new: u64,
    pub(super) again: u64,
}

/// Feedback on searches with one id that have not arrived.
#[derive(Debug)]
pub(super) struct Waiting {
    id: Id,
    pub(super) list: List,
    /// Events beyond the limit of a search, by second and action. They are counted, and not kept
    /// one by one.
    #[allow(
        clippy::box_collection,
        reason = "almost always absent, and a map takes three times the space"
    )]
    pub(super) beyond: Option<Box<BTreeMap<(Second, u8), Repeats>>>,
}

/// Position of a conversion in `Action::NAMES`.
const CONVERSION: u8 = 3;
const _: () = assert!(matches!(
    Action::NAMES[CONVERSION as usize].as_bytes(),
    b"conversion"
));

/// Length of a list from which on its records are in the table by event. Shorter lists are searched
/// one by one.
const INDEXED_LENGTH: u32 = 8;

/// Approximate bytes of a record, with its share of the table.
pub(super) const RECORD_BYTES: usize = size_of::<Record>() + 16;
/// Approximate bytes of an id that records wait for.
const WAITING_BYTES: usize = size_of::<Waiting>() + SLOT_BYTES + 8;
/// Approximate bytes of a number of events beyond the limit.
const BEYOND_BYTES: usize = 64;

/// All feedback records of a partition.
#[derive(Debug, Default)]
pub(super) struct Feedback {
    pub(super) records: Pool<Record>,
    /// Records of long lists, by owner and event.
    by_event: HashTable<Number>,
    pub(super) waiting: Pool<Waiting>,
    /// Lists of [`Waiting`] by id.
    pub(super) by_id: ById,
    /// Number of events that wait and are not yet counted.
    pub(super) pending: usize,
    bytes: usize,
}

/// Result of the addition of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// The record is kept.
    Kept(Number),
    /// The owner has reached the limit; the record is not kept.
    BeyondLimit,
    /// The owner has a record of the same event.
    Duplicate,
}

impl Feedback {
    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the records of a list, newest addition first.
    pub(super) fn of(&self, list: List) -> impl Iterator<Item = &Record> + Clone {
        let first = list.head.some().and_then(|head| self.records.get(head));
        std::iter::successors(first, |record| {
            record.next.some().and_then(|next| self.records.get(next))
        })
    }

    /// Adds a record to the list of a search.
    pub(super) fn add_to_search(
        &mut self,
        search: Number,
        list: &mut List,
        facts: Facts,
        target: Target,
        limit: u32,
    ) -> Added {
        self.add(Owner::Search(search), list, facts, target, limit)
    }

    fn add(
        &mut self,
        owner: Owner,
        list: &mut List,
        facts: Facts,
        target: Target,
        limit: u32,
    ) -> Added {
        if self.is_known(*list, owner, facts.event) {
            return Added::Duplicate;
        }
        if list.len >= limit {
            return Added::BeyondLimit;
        }
        let number = self.records.insert(Record {
            facts,
            target,
            owner,
            previous: Number::NONE,
            next: list.head,
            is_indexed: false,
        });
        self.bytes += RECORD_BYTES;
        if let Some(next) = list.head.some().and_then(|head| self.records.get_mut(head)) {
            next.previous = number;
        }
        list.head = number;
        list.len += 1;
        if list.len > INDEXED_LENGTH {
            self.index(number);
        } else if list.len == INDEXED_LENGTH {
            let mut at = list.head;
            while let Some(record) = at.some().and_then(|it| self.records.get(it)) {
                let (this, next) = (at, record.next);
                self.index(this);
                at = next;
            }
        }
        Added::Kept(number)
    }

    /// Adds a record to the table by event.
    fn index(&mut self, number: Number) {
        let records = &mut self.records;
        let Some(record) = records.get_mut(number).filter(|it| !it.is_indexed) else {
            return;
        };
        record.is_indexed = true;
        let slot = slot_of(records, number);
        self.by_event
            .insert_unique(slot, number, |number| slot_of(records, *number));
    }

    fn is_known(&self, list: List, owner: Owner, event: u64) -> bool {
        if list.len < INDEXED_LENGTH {
            return self.of(list).any(|record| record.facts.event == event);
        }
        let slot = slot(owner, event);
        let is_same = |number: &Number| {
            let record = self.records.get(*number);
            record.is_some_and(|record| record.owner == owner && record.facts.event == event)
        };
        self.by_event.find(slot, is_same).is_some()
    }

    /// Removes a record from its list and from the tables.
    fn remove(&mut self, number: Number, list: &mut List) -> Option<Facts> {
        let record = self.records.remove(number)?;
        if record.is_indexed {
            let slot = slot(record.owner, record.facts.event);
            if let Ok(entry) = self.by_event.find_entry(slot, |it| *it == number) {
                entry.remove();
            }
        }
        let (previous, next) = (record.previous, record.next);
        match previous.some().and_then(|it| self.records.get_mut(it)) {
            Some(previous) => previous.next = next,
            None => list.head = next,
        }
        if let Some(after) = next.some().and_then(|it| self.records.get_mut(it)) {
            after.previous = previous;
        }
        list.len -= 1;
        self.bytes -= RECORD_BYTES;
        Some(record.facts)
    }

    /// Removes all records of a list.
    pub(super) fn clear(&mut self, list: &mut List) {
        while let Some(head) = list.head.some() {
            if self.remove(head, list).is_none() {
                break;
            }
        }
        *list = List::default();
    }

    /// Adds a record that waits for a search with this id.
    pub(super) fn add_waiting(&mut self, id: Id, facts: Facts, limit: u32) -> Added {
        let number = self.waiting_for(id).unwrap_or_else(|| {
            let number = self.waiting.insert(Waiting {
                id,
                list: List::default(),
                beyond: None,
            });
            self.bytes += WAITING_BYTES;
            let waiting = &self.waiting;
            let id_of = |number| waiting.get(number).map(|it| it.id);
            self.by_id.insert(id, number, id_of);
            number
        });
        let Some(mut list) = self.waiting.get(number).map(|it| it.list) else {
            return Added::Duplicate;
        };
        let owner = Owner::Waiting(number);
        let added = self.add(owner, &mut list, facts, Target::NotStated, limit);
        if added == Added::Duplicate {
            return added;
        }
        self.pending += usize::from(facts.reading != Reading::AlreadyCounted);
        if let Some(waiting) = self.waiting.get_mut(number) {
            waiting.list = list;
        }
        added
    }

    /// Counts an event beyond the limit that waits for a search with this id, in a second. Returns
    /// true if it is the first of this id, second and action.
    pub(super) fn count_beyond(&mut self, id: Id, second: Second, facts: &Facts) -> bool {
        let number = self.waiting_for(id);
        let Some(waiting) = number.and_then(|it| self.waiting.get_mut(it)) else {
            return false;
        };
        let beyond = waiting.beyond.get_or_insert_default();
        let mut is_first = false;
        let repeats = beyond.entry((second, facts.action)).or_insert_with(|| {
            is_first = true;
            Repeats::default()
        });
        match facts.reading {
            Reading::New => repeats.new += 1,
            Reading::Again => repeats.again += 1,
            Reading::AlreadyCounted => {}
        }
        if is_first {
            self.bytes += BEYOND_BYTES;
        }
        is_first
    }

    fn waiting_for(&self, id: Id) -> Option<Number> {
        let is_same = |number| self.waiting.get(number).is_some_and(|it| it.id == id);
        self.by_id.find(id, is_same)
    }

    /// Takes the records that wait for a search with this id, in the order of their addition, and
    /// the numbers of those beyond the limit, as far as `belongs` accepts their times. It also states
    /// whether an event is a conversion.
    pub(super) fn take_waiting(
        &mut self,
        id: Id,
        belongs: impl Fn(EventTime, bool) -> bool,
    ) -> (Vec<Facts>, Vec<(u8, Repeats)>) {
        let Some(number) = self.waiting_for(id) else {
            return (Vec::new(), Vec::new());
        };
        let Some(mut list) = self.waiting.get(number).map(|it| it.list) else {
            return (Vec::new(), Vec::new());
        };
        let mut taken = Vec::new();
        let mut at = list.head;
        while let Some(record) = at.some().and_then(|it| self.records.get(it)) {
            let (this, next) = (at, record.next);
            let facts = &record.facts;
            if belongs(facts.ts, facts.action == CONVERSION) {
                taken.extend(self.remove(this, &mut list));
            }
            at = next;
        }
        taken.reverse();
        let counted = taken.iter();
        self.pending -= counted
            .filter(|it| it.reading != Reading::AlreadyCounted)
            .count();
        let beyond = self.take_beyond(number, |second, action| {
            belongs(EventTime(second.0 * 1_000), action == CONVERSION)
        });
        self.set_list(number, list);
        (taken, beyond)
    }

    /// Removes a record whose second is closed, if it still waits. Returns it with the id of its search if
    /// it is thereby counted.
    pub(super) fn expire(&mut self, number: Number, second: Second) -> Option<(Id, Facts)> {
        let record = self.records.get(number)?;
        let Owner::Waiting(owner) = record.owner else {
            return None;
        };
        if Second::of(record.facts.ts) > second {
            return None;
        }
        let waiting = self.waiting.get(owner)?;
        let (id, mut list) = (waiting.id, waiting.list);
        let facts = self.remove(number, &mut list);
        self.set_list(owner, list);
        let facts = facts.filter(|it| it.reading != Reading::AlreadyCounted)?;
        self.pending -= 1;
        Some((id, facts))
    }

    /// Removes the events beyond the limit whose second is closed. Returns their number.
    pub(super) fn expire_beyond(&mut self, id: Id, second: Second) -> u64 {
        let Some(number) = self.waiting_for(id) else {
            return 0;
        };
        let beyond = self.take_beyond(number, |it, _| it <= second);
        if let Some(list) = self.waiting.get(number).map(|it| it.list) {
            self.set_list(number, list);
        }
        beyond.iter().map(|(_, it)| it.new + it.again).sum()
    }

    fn take_beyond(
        &mut self,
        number: Number,
        is_taken: impl Fn(Second, u8) -> bool,
    ) -> Vec<(u8, Repeats)> {
        let waiting = self.waiting.get_mut(number);
        let Some(beyond) = waiting.and_then(|it| it.beyond.as_mut()) else {
            return Vec::new();
        };
        let taken = beyond.extract_if(.., |(second, action), _| is_taken(*second, *action));
        let taken: Vec<_> = taken
            .map(|((_, action), repeats)| (action, repeats))
            .collect();
        self.bytes -= taken.len() * BEYOND_BYTES;
        let all: u64 = taken.iter().map(|(_, it)| it.new + it.again).sum();
        self.pending -= usize::try_from(all).unwrap_or(usize::MAX);
        taken
    }

    /// Replaces the list of a [`Waiting`]; removes it if nothing waits any more.
    fn set_list(&mut self, number: Number, list: List) {
        let Some(waiting) = self.waiting.get_mut(number) else {
            return;
        };
        waiting.list = list;
        let has_beyond = waiting.beyond.as_ref().is_some_and(|it| !it.is_empty());
        if list.len > 0 || has_beyond {
            return;
        }
        self.by_id.remove(waiting.id, number);
        self.waiting.remove(number);
        self.bytes -= WAITING_BYTES;
    }
}

fn slot_of(records: &Pool<Record>, number: Number) -> u64 {
    let record = records.get(number);
    record.map_or(0, |record| slot(record.owner, record.facts.event))
}

/// Position of a record in the table by event. Event ids are unique only within a search.
fn slot(owner: Owner, event: u64) -> u64 {
    let (number, offset) = match owner {
        Owner::Search(number) => (number, 1),
        Owner::Waiting(number) => (number, 2),
    };
    // Multiplication by an odd number far from a power of two spreads neighbouring numbers.
    event ^ (number.spread() + offset).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
