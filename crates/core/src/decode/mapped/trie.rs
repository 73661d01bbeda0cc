//! Trie of the pointers of a mapping, along which a record is read.
//!
//! A value at a pointer goes to its slot; the elements of a list are read along a trie of their own.
//! Everything else in a record is skipped.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use smallvec::SmallVec;

use super::build::HitPlan;
use super::plan::Sources;
use super::scalar::{EMPTY_OBJECT, Scalar};
use crate::event::{Hit, Limits, Reason, Rejection};
use crate::time::EventTime;

/// Maximum number of scalars of a list at a pointer. No event field has more.
const MAX_SCALARS: usize = 10_000;

/// Node of a trie.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    children: Vec<(Box<str>, Node)>,
    /// Slot of the value.
    slot: Option<usize>,
    /// List whose elements are read.
    list: Option<usize>,
    /// Values that select a record; the rest of any other record is not read.
    wanted: Option<Vec<String>>,
}

impl Node {
    /// Returns the node at a pointer, which it adds if necessary.
    pub(super) fn at<'n>(&'n mut self, segments: &[String]) -> &'n mut Self {
        let Some((first, rest)) = segments.split_first() else {
            return self;
        };
        let place = self.children.iter().position(|(name, _)| **name == **first);
        let place = place.unwrap_or_else(|| {
            let name = first.clone().into_boxed_str();
            self.children.push((name, Self::default()));
            self.children.len() - 1
        });
        self.children[place].1.at(rest)
    }

    /// Sets the slot of the value.
    pub(super) fn set_slot(&mut self, slot: usize) {
        self.slot = Some(slot);
    }

    /// Sets the list whose elements are read. Returns the list that it replaces.
    pub(super) fn set_list(&mut self, list: usize) -> Option<usize> {
        self.list.replace(list)
    }

    /// Sets the values that select a record.
    pub(super) fn set_wanted(&mut self, values: Vec<String>) {
        self.wanted = Some(values);
    }

    fn child(&self, name: &str) -> Option<&Self> {
        let mut children = self.children.iter();
        children
            .find(|(known, _)| known.len() == name.len() && **known == *name)
            .map(|(_, child)| child)
    }

    fn element(&self, index: usize) -> Option<&Self> {
        let mut children = self.children.iter();
        children
            .find(|(name, _)| name.parse() == Ok(index))
            .map(|(_, child)| child)
    }
}

/// List whose elements are read.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// Pointer, for rejections.
    pub(super) pointer: String,
    /// Trie of an element.
    pub(super) root: Node,
    /// Pointers of the slots of an element.
    pub(super) slots: Vec<String>,
    /// Lists of an element.
    pub(super) lists: Vec<List>,
    /// Use of the elements.
    pub(super) elements: Elements,
}

/// Use of the elements of a list.
#[derive(Clone, Debug)]
pub(super) enum Elements {
    /// Results of a search.
    Hits(HitPlan),
    /// Objects, which are kept as they were found.
    Rows,
    /// One value each: the list of them goes to a slot.
    Values(usize, Sources),
}

/// Values that were found in a record, or in an element of a list.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    /// Values by slot.
    pub(super) slots: SmallVec<[Scalar<'a>; 16]>,
    /// Results of the search; `None` without a list.
    pub(super) hits: Option<Vec<Hit<'a>>>,
    /// Elements of each other list.
    pub(super) rows: Vec<Vec<Found<'a>>>,
    /// End of the read before the end of the record.
    pub(super) stop: Option<Stop>,
}

impl Found<'_> {
    /// Nothing yet, of this number of slots and lists.
    pub(super) fn new(slots: usize, lists: usize) -> Self {
        let mut found = Self::default();
        found.slots.resize(slots, Scalar::Absent);
        if lists > 0 {
            found.rows.resize_with(lists, Vec::new);
        }
        found
    }

    fn clear(&mut self) {
        for slot in &mut self.slots {
            *slot = Scalar::Absent;
        }
        for rows in &mut self.rows {
            rows.clear();
        }
    }
}

/// Cause of the end of a read.
#[derive(Debug)]
pub(super) enum Stop {
    /// The mapping does not select the record.
    Ignored,
    /// A value cannot be used.
    Rejected(Rejection),
}

/// Walk through a value along a node.
pub(super) struct Walk<'f, 'a> {
    pub(super) node: &'a Node,
    pub(super) lists: &'a [List],
    pub(super) found: &'f mut Found<'a>,
    pub(super) limits: &'f Limits,
}

impl<'a> Walk<'_, 'a> {
    fn capture<E: Error>(self, value: Scalar<'a>) -> Result<(), E> {
        if let Some(wanted) = &self.node.wanted
            && !wanted.iter().any(|wanted| value.is(wanted))
        {
            self.found.stop = Some(Stop::Ignored);
            return Err(E::custom(""));
        }
        if let Some(slot) = self.node.slot
            && let Some(slot) = self.found.slots.get_mut(slot)
        {
            *slot = value;
        }
        if let Some(list) = self.node.list.and_then(|list| self.lists.get(list))
            && self.node.slot.is_none()
        {
            // A value in place of a list. Null is the same as none.
            return Err(reject(
                self.found,
                Reason::WrongType,
                format_args!("{}: a list is expected", list.pointer),
            ));
        }
        Ok(())
    }

    /// Reads the next element of a list. Returns false after the last one.
    fn element<'de: 'a, A: SeqAccess<'de>>(
        &mut self,
        list: &'a List,
        index: usize,
        element: &mut Found<'a>,
        seq: &mut A,
    ) -> Result<bool, A::Error> {
        let next = seq.next_element_seed(Walk {
            node: &list.root,
            lists: &list.lists,
            found: &mut *element,
            limits: self.limits,
        });
        if let Some(stop) = element.stop.take() {
            self.found.stop = Some(match stop {
                Stop::Ignored => Stop::Ignored,
                Stop::Rejected(rejection) => Stop::Rejected(list.placed(index, rejection)),
            });
        }
        Ok(next?.is_some())
    }

    fn elements<'de: 'a, A: SeqAccess<'de>>(
        self,
        list: &'a List,
        index: usize,
        seq: A,
    ) -> Result<(), A::Error> {
        match &list.elements {
            Elements::Hits(plan) => self.hits(list, plan, seq),
            Elements::Rows => self.rows(list, index, seq),
            Elements::Values(slot, sources) => self.values(list, *slot, sources, seq),
        }
    }

    fn rows<'de: 'a, A: SeqAccess<'de>>(
        mut self,
        list: &'a List,
        index: usize,
        mut seq: A,
    ) -> Result<(), A::Error> {
        let limit = self.limits.results_per_search;
        let mut count = 0;
        loop {
            let mut element = Found::new(list.slots.len(), list.lists.len());
            if !self.element(list, count, &mut element, &mut seq)? {
                return Ok(());
            }
            let Some(rows) = self.found.rows.get_mut(index) else {
                return Ok(());
            };
            if rows.len() >= limit {
                return Err(too_many(self.found, list, limit));
            }
            rows.push(element);
            count += 1;
        }
    }

    fn values<'de: 'a, A: SeqAccess<'de>>(
        mut self,
        list: &'a List,
        slot: usize,
        sources: &'a Sources,
        mut seq: A,
    ) -> Result<(), A::Error> {
        let mut values = Vec::new();
        let mut element = Found::new(list.slots.len(), 0);
        while self.element(list, values.len(), &mut element, &mut seq)? {
            if values.len() >= MAX_SCALARS {
                return Err(too_many_values());
            }
            let value = sources.value(&element.slots).into_owned();
            if value == Scalar::Absent {
                let missing = list.placed(values.len(), sources.missing());
                self.found.stop = Some(Stop::Rejected(missing));
                return Err(A::Error::custom(""));
            }
            values.push(value);
            element.clear();
        }
        if let Some(slot) = self.found.slots.get_mut(slot) {
            *slot = Scalar::List(values);
        }
        Ok(())
    }

    fn hits<'de: 'a, A: SeqAccess<'de>>(
        mut self,
        list: &'a List,
        plan: &'a HitPlan,
        mut seq: A,
    ) -> Result<(), A::Error> {
        // Several pointers can name the list: the first one with elements applies.
        let mut hits = match self.found.hits.take() {
            Some(hits) if !hits.is_empty() => {
                self.found.hits = Some(hits);
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(());
            }
            Some(hits) => hits,
            None => Vec::new(),
        };
        let limit = self.limits.results_per_search;
        let mut element = Found::new(list.slots.len(), list.lists.len());
        while self.element(list, hits.len(), &mut element, &mut seq)? {
            if hits.len() >= limit {
                return Err(too_many(self.found, list, limit));
            }
            if hits.capacity() == 0 {
                // A page of results, as the decoder of native events reserves.
                hits.reserve(12);
            }
            match plan.hit(&element) {
                Ok(hit) => hits.push(hit),
                Err(rejection) => {
                    let rejection = list.placed(hits.len(), rejection);
                    self.found.stop = Some(Stop::Rejected(rejection));
                    return Err(A::Error::custom(""));
                }
            }
            element.clear();
        }
        self.found.hits = Some(hits);
        Ok(())
    }
}

impl List {
    /// Rejection of the element at an index.
    #[cold]
    fn placed(&self, index: usize, rejection: Rejection) -> Rejection {
        rejection.placed_at(&format!("{}/{index}", self.pointer))
    }
}

fn too_many_values<E: Error>() -> E {
    E::custom(format_args!("a list of more than {MAX_SCALARS} values"))
}

fn too_many<E: Error>(found: &mut Found<'_>, list: &List, limit: usize) -> E {
    reject(
        found,
        Reason::TooManyResults,
        format_args!(
            "{}: more than {limit} elements, limits.results_per_search is {limit}",
            list.pointer
        ),
    )
}

fn reject<E: Error>(found: &mut Found<'_>, reason: Reason, detail: fmt::Arguments<'_>) -> E {
    found.stop = Some(Stop::Rejected(Rejection::new(reason, detail)));
    E::custom("")
}

/// Visits of values without members or elements, which `$take` of the visitor takes.
macro_rules! visit_scalars {
    ($take:ident) => {
        fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<(), E> {
            self.$take(Scalar::Text(Cow::Borrowed(text)))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
            self.$take(Scalar::Text(Cow::Owned(text.to_owned())))
        }

        fn visit_bool<E: Error>(self, truth: bool) -> Result<(), E> {
            self.$take(Scalar::Bool(truth))
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
            self.$take(Scalar::Int(number))
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
            self.$take(Scalar::Uint(number))
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
            self.$take(Scalar::Float(number))
        }

        fn visit_bytes<E: Error>(self, _: &[u8]) -> Result<(), E> {
            self.$take(Scalar::Other("bytes"))
        }
    };
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Walk<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Walk<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    visit_scalars!(capture);

    /// Times of encodings that state their unit, in milliseconds.
    fn visit_i128<E: Error>(self, millis: i128) -> Result<(), E> {
        let time = i64::try_from(millis).map(|millis| Scalar::Time(EventTime(millis)));
        self.capture(time.unwrap_or(Scalar::Other("a time out of range")))
    }

    /// Numbers that Protocol Buffers leave out.
    fn visit_u128<E: Error>(self, _: u128) -> Result<(), E> {
        self.capture(Scalar::Unset)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.node.list.is_some() {
            return Ok(());
        }
        self.capture(Scalar::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let node = self.node;
        if let Some((index, list)) = node
            .list
            .and_then(|index| Some((index, self.lists.get(index)?)))
        {
            return self.elements(list, index, seq);
        }
        let (lists, limits) = (self.lists, self.limits);
        let mut values = Vec::new();
        let mut index = 0;
        loop {
            let next = match node.element(index) {
                Some(child) => seq.next_element_seed(Walk {
                    node: child,
                    lists,
                    found: &mut *self.found,
                    limits,
                })?,
                None if node.slot.is_some() => seq.next_element_seed(OfList(&mut values))?,
                None => seq.next_element::<IgnoredAny>()?.map(|_| ()),
            };
            if next.is_none() {
                break;
            }
            index += 1;
        }
        if node.slot.is_some() {
            return self.capture(Scalar::List(values));
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let node = self.node;
        let (lists, limits) = (self.lists, self.limits);
        let mut kind = EMPTY_OBJECT;
        while let Some(child) = map.next_key_seed(Name(node))? {
            kind = "an object";
            match child {
                Some(child) => map.next_value_seed(Walk {
                    node: child,
                    lists,
                    found: &mut *self.found,
                    limits,
                })?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if node.slot.is_some() || node.list.is_some() {
            return self.capture(Scalar::Other(kind));
        }
        Ok(())
    }
}

/// Name of a member, as the child of a node.
struct Name<'p>(&'p Node);

impl<'de, 'p> DeserializeSeed<'de> for Name<'p> {
    type Value = Option<&'p Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'p> Visitor<'_> for Name<'p> {
    type Value = Option<&'p Node>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.child(name))
    }
}

/// Element of a list of scalars.
struct OfList<'f, 'a>(&'f mut Vec<Scalar<'a>>);

impl<'a> OfList<'_, 'a> {
    fn push<E: Error>(self, value: Scalar<'a>) -> Result<(), E> {
        if self.0.len() >= MAX_SCALARS {
            return Err(too_many_values());
        }
        self.0.push(value);
        Ok(())
    }
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for OfList<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for OfList<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    visit_scalars!(push);

    fn visit_i128<E: Error>(self, _: i128) -> Result<(), E> {
        self.push(Scalar::Other("a time"))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.push(Scalar::Other("null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.push(Scalar::Other("a list"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.push(Scalar::Other("an object"))
    }
}
