//! Events of records of an unknown shape: searches have a list of results, and feedback has a name that means
//! an action (`product.clicked`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::leaves::{Unit, values};
use super::vocabulary::{EVENT_LISTS, EVENT_NAMES, HIT_LISTS, Meaning, QUERIES, meaning, place};
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
    /// Number of the file or topic.
    pub(super) file: usize,
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
            unit.file = shape.file;
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

/// Source of the names of searches with the names that are searches, and source of the names of feedback.
///
/// Each kind has its own: its records can come from another application. Heartbeats beside the searches
/// have the name of the searches' source, and say nothing about the feedback.
fn event_names(units: &[Unit]) -> (Option<Names>, Option<String>) {
    let search = names_of_searches(units);
    // Feedback can have a list of objects, and searches without a name are no reason to miss its name.
    let can_be_feedback = |unit: &&Unit| match &search {
        None => !has_results(unit),
        Some(names) => unit.leaves.get(&names.source).is_none_or(|leaf| {
            !names.searches.contains(&leaf.text)
                && matches!(meaning(&leaf.text), Meaning::Feedback(_))
        }),
    };
    let mut others: Vec<&Unit> = units.iter().filter(can_be_feedback).collect();
    if others.is_empty() && search.is_none() {
        others = units.iter().collect();
    }
    let feedback = name_of_feedback(&others, search.as_ref());
    (search, feedback)
}

/// Source of the names of events, with those of searches.
#[derive(Debug)]
struct Names {
    source: String,
    searches: BTreeSet<String>,
}

/// Source of the names of searches: of texts with few values, of which some belong to events with results, and
/// the others to events without. A source that does not separate these is chosen only by its name and what its
/// values mean.
fn names_of_searches(units: &[Unit]) -> Option<Names> {
    let with_results: Vec<&Unit> = units.iter().filter(|unit| has_results(unit)).collect();
    // Beside searches of the same file or topic: elsewhere no name has to separate them.
    let files: BTreeSet<usize> = with_results.iter().map(|unit| unit.file).collect();
    let is_beside = |unit: &&Unit| files.contains(&unit.file) && !has_results(unit);
    let beside: Vec<&Unit> = units.iter().filter(is_beside).collect();
    let all = values(with_results.iter().copied());
    let candidates = all.iter().filter_map(|(source, values)| {
        let is_name = values.distinct.len() <= MAX_WORDS
            && values.is_text()
            && values.present * 2 >= with_results.len();
        if !is_name {
            return None;
        }
        let searches = searches_of(source, &values.distinct, &with_results);
        let texts = beside.iter().map(|unit| unit.leaves.get(source));
        let (mut others, mut same) = (0, 0);
        for leaf in texts.flatten() {
            if searches.contains(&leaf.text) {
                same += 1;
            } else {
                others += 1;
            }
        }
        let separates = others * 4 > beside.len() && same * 20 <= others;
        let place = place(source, EVENT_NAMES);
        let named = with_results
            .iter()
            .filter_map(|unit| unit.leaves.get(source));
        let known = named.filter(|leaf| {
            searches.contains(&leaf.text) && meaning(&leaf.text) != Meaning::Unknown
        });
        let known = place.map_or(0, |_| known.count());
        let depth = usize::MAX - source.matches('/').count();
        let place = usize::MAX - place.unwrap_or(usize::MAX);
        let order = (separates, known, place, depth);
        let is_useful = !searches.is_empty() && (separates || known > 0);
        let source = source.clone();
        is_useful.then_some((order, Names { source, searches }))
    });
    let best = candidates.max_by_key(|(order, _)| *order);
    best.map(|(_, names)| names)
}

/// Names of `source` whose events are searches: those of events with results, except clicks and conversions with
/// a list of their objects. Impressions of results are searches where they state the query and nothing else does.
fn searches_of(source: &str, names: &BTreeSet<String>, with_results: &[&Unit]) -> BTreeSet<String> {
    let of = |is_search: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
        let names = names.iter().filter(|name| is_search(name));
        names.cloned().collect()
    };
    let events_of = |name: &str| {
        let name = name.to_owned();
        let events = with_results.iter();
        events.filter(move |unit| {
            let leaf = unit.leaves.get(source);
            leaf.is_some_and(|leaf| leaf.text == name)
        })
    };
    let certain = of(&|name| meaning(name) == Meaning::Search);
    // A basket beside the searches has a list, too, but another one.
    let searches = certain.iter().flat_map(|name| events_of(name));
    let known: BTreeSet<&String> = searches.flat_map(|unit| lists_of_results(unit)).collect();
    let found = of(&|name| match meaning(name) {
        Meaning::Search => true,
        Meaning::Feedback(_) => false,
        Meaning::Unknown => {
            let mut lists = events_of(name).flat_map(|unit| lists_of_results(unit));
            known.is_empty() || lists.any(|list| known.contains(list))
        }
    });
    if !found.is_empty() {
        return found;
    }
    let has_query = |unit: &Unit| unit.leaves.keys().any(|it| place(it, QUERIES).is_some());
    of(&|name| {
        meaning(name) == Meaning::Feedback("impression")
            && events_of(name).all(|unit| has_query(unit))
    })
}

/// Source of the names of feedback, of which most events have a name that means an action: by the name of the
/// source, or the source of the names of searches.
fn name_of_feedback(units: &[&Unit], search: Option<&Names>) -> Option<String> {
    let all = values(units.iter().copied());
    let candidates = all.iter().filter_map(|(source, values)| {
        let is_of_searches = search.is_some_and(|names| names.source == *source);
        let place = match place(source, EVENT_NAMES) {
            None if is_of_searches => EVENT_NAMES.len(),
            place => place?,
        };
        let is_name = values.distinct.len() <= MAX_WORDS
            && values.is_text()
            && values.present * 2 >= units.len();
        let named = units.iter().filter_map(|unit| unit.leaves.get(source));
        let known = named.filter(|leaf| matches!(meaning(&leaf.text), Meaning::Feedback(_)));
        let known = known.count();
        let order = (known, values.distinct.len(), usize::MAX - place);
        (is_name && known > 0).then_some((order, source))
    });
    let best = candidates.max_by_key(|(order, _)| *order);
    best.map(|(_, source)| source.clone())
}

/// Pointers of the lists of an event that can be its results.
fn lists_of_results(unit: &Unit) -> impl Iterator<Item = &String> {
    let lists = unit.lists.iter().filter(|(pointer, elements)| {
        place(pointer, HIT_LISTS).is_some()
            && (elements.iter().all(Value::is_object) || is_ids(elements))
    });
    lists.map(|(pointer, _)| pointer)
}

/// Returns true for an event with a list of results.
fn has_results(unit: &Unit) -> bool {
    lists_of_results(unit).next().is_some()
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
        let (search, feedback) = event_names(&units);
        let mut events = Self {
            each,
            name: [search.as_ref().map(|it| it.source.clone()), feedback],
            ..Self::default()
        };
        let [_, action] = &events.name;
        for unit in units {
            let text = |source: &String| unit.leaves.get(source).map(|leaf| leaf.text.clone());
            let name = search.as_ref().and_then(|names| text(&names.source));
            let is_search = match (&search, &name) {
                (Some(names), Some(name)) => names.searches.contains(name),
                (Some(_), None) => false,
                (None, _) => {
                    let action = action.as_ref().and_then(text);
                    !action.is_some_and(|it| matches!(meaning(&it), Meaning::Feedback(_)))
                }
            };
            let (kind, name) = if is_search && has_results(&unit) {
                (Kind::Search, name)
            } else if is_search && search.is_some() {
                continue;
            } else {
                let action_of_unit = action.as_ref().and_then(text);
                let is_action = action_of_unit
                    .as_ref()
                    .is_some_and(|it| matches!(meaning(it), Meaning::Feedback(_)));
                // Feedback without a name, where other records have names, would be any record.
                if !is_action && (search.is_some() || action.is_some()) {
                    continue;
                }
                (Kind::Feedback, action_of_unit)
            };
            events.names[kind.index()].extend(name);
            events.units[kind.index()].push(unit);
        }
        events
    }

    /// Returns true if some file or topic has events of both kinds.
    pub(super) fn are_mixed(&self) -> bool {
        let [searches, feedback] = &self.units;
        let files: BTreeSet<usize> = searches.iter().map(|unit| unit.file).collect();
        feedback.iter().any(|unit| files.contains(&unit.file))
    }
}

/// Returns true for a list of scalars that can be ids.
pub(super) fn is_ids(elements: &[Value]) -> bool {
    elements
        .iter()
        .all(|it| it.is_string() || it.is_u64() || it.is_i64())
}
