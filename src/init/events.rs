//! Events of records of an unknown shape, distinguished by their names (`product.clicked`), else by a list of
//! results.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::leaves::{Unit, values};
use super::vocabulary::{EVENT_LISTS, EVENT_NAMES, HIT_LISTS, Meaning, meaning, place};
use rankgauge_core::event::Kind;

/// Maximum number of different names of events.
const MAX_WORDS: usize = 20;

/// Record of an unknown shape.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Content.
    pub(super) value: Value,
    /// Key and headers, by source.
    pub(super) envelope: Vec<(String, String)>,
}

/// List of events that records hold, if they hold one.
fn each(shapes: &[Shape]) -> Option<String> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for shape in shapes {
        let members = shape.value.as_object().into_iter().flatten();
        for (name, member) in members {
            let is_list = member.as_array().is_some_and(|elements| {
                !elements.is_empty() && elements.iter().all(Value::is_object)
            });
            if is_list && place(name, EVENT_LISTS).is_some() {
                *found.entry(format!("/{name}")).or_default() += 1;
            }
        }
    }
    let (pointer, records) = found.into_iter().max_by_key(|(_, records)| *records)?;
    (records * 2 > shapes.len()).then_some(pointer)
}

/// Events of the records, with the sources that a mapping would use.
fn units(shapes: &[Shape], each: Option<&str>) -> Vec<Unit> {
    let mut units = Vec::new();
    for shape in shapes {
        let elements = each.and_then(|pointer| shape.value.pointer(pointer)?.as_array());
        let mut add = |mut unit: Unit| {
            for (source, text) in &shape.envelope {
                unit.add_text(source, text);
            }
            units.push(unit);
        };
        if let (Some(elements), Some(pointer)) = (elements, each) {
            for element in elements {
                let mut unit = Unit::default();
                unit.add("", element);
                unit.add_except("^", &shape.value, &format!("^{pointer}"));
                add(unit);
            }
        } else {
            let mut unit = Unit::default();
            unit.add("", &shape.value);
            add(unit);
        }
    }
    units
}

/// Sources of the names of searches and of feedback.
///
/// Each kind has its own: its records can come from another application. Heartbeats beside the searches
/// have the name of the searches' source, and say nothing about the feedback.
fn event_names(units: &[Unit]) -> [Option<String>; 2] {
    let with_results: Vec<&Unit> = units.iter().filter(|unit| has_results(unit)).collect();
    let search = event_name(&with_results, |it| it == Meaning::Search);
    // Feedback can have a list of objects, and searches without a name are no reason to miss its name.
    let can_be_feedback = |unit: &&Unit| match &search {
        None => !has_results(unit),
        Some(name) => unit
            .leaves
            .get(name)
            .is_none_or(|leaf| matches!(meaning(&leaf.text), Meaning::Feedback(_))),
    };
    let mut others: Vec<&Unit> = units.iter().filter(can_be_feedback).collect();
    if others.is_empty() {
        others = with_results;
    }
    let feedback = event_name(&others, |it| matches!(it, Meaning::Feedback(_)));
    [search, feedback]
}

/// Source of the names of events of which most have a name, and most names a wanted meaning.
fn event_name(units: &[&Unit], is_wanted: impl Fn(Meaning) -> bool) -> Option<String> {
    let all = values(units.iter().copied());
    let candidates = all.iter().filter_map(|(source, values)| {
        let place = place(source, EVENT_NAMES)?;
        let is_name = values.distinct.len() <= MAX_WORDS
            && values.is_text()
            && values.present * 2 >= units.len();
        let named = units.iter().filter_map(|unit| unit.leaves.get(source));
        let known = named.filter(|leaf| is_wanted(meaning(&leaf.text))).count();
        let order = (known, values.distinct.len(), usize::MAX - place);
        (is_name && known > 0).then_some((order, source))
    });
    let best = candidates.max_by_key(|(order, _)| *order);
    best.map(|(_, source)| source.clone())
}

/// Returns true for an event with a list of results.
fn has_results(unit: &Unit) -> bool {
    unit.lists.iter().any(|(pointer, elements)| {
        place(pointer, HIT_LISTS).is_some()
            && (elements.iter().all(Value::is_object) || is_ids(elements))
    })
}

/// Events of unknown records, by kind.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// List of events that each record holds.
    pub(super) each: Option<String>,
    /// Source of the names of the events of each kind.
    pub(super) name: [Option<String>; 2],
    /// Searches, then feedback.
    pub(super) units: [Vec<Unit>; 2],
    /// Names of the events of each kind.
    pub(super) names: [BTreeSet<String>; 2],
}

impl Events {
    /// Finds the events of the records. Those whose names mean neither kind are left out.
    pub(super) fn of(shapes: &[Shape]) -> Self {
        let each = each(shapes);
        let units = units(shapes, each.as_deref());
        let name = event_names(&units);
        let mut events = Self {
            each,
            name,
            ..Self::default()
        };
        for unit in units {
            let [search, feedback] = events.name.each_ref().map(|name| {
                let named = name.as_ref().and_then(|name| unit.leaves.get(name));
                named.map(|leaf| meaning(&leaf.text))
            });
            let kind = match (search, feedback) {
                (Some(Meaning::Search), _) | (None, None) if has_results(&unit) => Kind::Search,
                (_, Some(Meaning::Feedback(_))) => Kind::Feedback,
                // Feedback without a name, where other records have names, would be any record.
                (None, None) if events.name == [None, None] => Kind::Feedback,
                _ => continue,
            };
            let name = events.name[kind.index()].as_ref();
            let named = name.and_then(|name| unit.leaves.get(name));
            if let Some(leaf) = named {
                events.names[kind.index()].insert(leaf.text.clone());
            }
            events.units[kind.index()].push(unit);
        }
        events
    }
}

/// Returns true for a list of scalars that can be ids.
pub(super) fn is_ids(elements: &[Value]) -> bool {
    elements
        .iter()
        .all(|it| it.is_string() || it.is_u64() || it.is_i64())
}
