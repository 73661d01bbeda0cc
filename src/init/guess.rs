//! Mapping proposed for records of an unknown shape.
//!
//! Fields are chosen by their names and by what their values look like; ids that a search and its feedback
//! share decide before names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::events::{Events, Shape, is_ids};
use super::leaves::{Time, Unit, Values, names, values};
use super::missing::SOURCE;
use super::vocabulary::{
    EVENT_IDS, FEEDBACK_QUERY_IDS, FILTERS, HIT_LISTS, Meaning, NUMBERS, OBJECT_IDS, OFFSETS,
    POSITIONS, QUERIES, QUERY_IDS, QUERY_KEYS, RELEVANCE, SESSIONS, SORTS, TIMES, USERS, VARIANTS,
    meaning, place,
};
use rankgauge_core::decode::mapped::Term;
use rankgauge_core::event::Kind;

/// Maximum number of different values of a label, and of an attribute.
const MAX_WORDS: usize = 20;

/// Fewest events from which labels and attributes are proposed.
const MIN_FOR_LABELS: usize = 20;

/// Proposed mapping.
#[derive(Clone, Debug, Default)]
pub(super) struct Guess {
    /// Sections `search` and `feedback`.
    pub(super) sections: Vec<(String, Term)>,
    /// Sentences about what was not found.
    pub(super) gaps: Vec<String>,
    /// Sentences about what was left out.
    pub(super) notes: Vec<String>,
}

/// List that looks like the results of a search.
struct Hits {
    pointer: String,
    /// Values of the members of results, relative to one; empty for a list of ids.
    members: BTreeMap<String, Values>,
    is_of_objects: bool,
}

impl Hits {
    /// Section `hits`. `clicked` is the member that feedback names.
    fn section(&self, clicked: Option<&(String, String)>) -> Section {
        let mut list = vec![("list".to_owned(), term(&self.pointer))];
        if !self.is_of_objects {
            return list;
        }
        let members = &self.members;
        let total = members.values().map(|values| values.present).max();
        let total = total.unwrap_or_default();
        let id = match clicked {
            Some((member, _)) => vec![member.clone()],
            None => choose(members, OBJECT_IDS, total, &|_, values| {
                values.is_in_nearly_all(total)
            }),
        };
        put_or_mark(&mut list, "id", id);
        for (field, known) in [("score", "score relevance similarity"), ("rank", POSITIONS)] {
            put(
                &mut list,
                field,
                choose(members, known, total, &|_, values| values.is_number()),
            );
        }
        let attributes = few_values(members.iter(), &format!("{list:?}"), 3);
        if !attributes.is_empty() {
            list.push(("attributes".to_owned(), Term::Section(attributes)));
        }
        list
    }

    /// Returns true if the ranks of the section begin at 0.
    fn counts_from_zero(&self, section: &Section) -> bool {
        section.iter().any(|(key, source)| match source {
            Term::Text(rank) if key == "rank" => self
                .members
                .get(rank)
                .is_some_and(|values| values.least == Some(0.0)),
            _ => false,
        })
    }
}

/// Returns true for the segment of a pointer that names an element of a list.
fn is_index(segment: &str) -> bool {
    !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit())
}

fn hits(searches: &[Unit]) -> Option<Hits> {
    let mut lists: BTreeMap<&str, (usize, usize, bool)> = BTreeMap::new();
    for unit in searches {
        for (pointer, elements) in &unit.lists {
            let is_of_objects = elements.iter().all(Value::is_object);
            if elements.is_empty() || !(is_of_objects || is_ids(elements)) {
                continue;
            }
            let (present, length, _) = lists.entry(pointer).or_insert((0, 0, is_of_objects));
            *present += 1;
            *length += elements.len();
        }
    }
    let in_hit = |pointer: &str| pointer.split('/').any(is_index);
    let best = lists
        .into_iter()
        // A list within an element of another list belongs to a result.
        .filter(|(pointer, _)| !in_hit(pointer))
        .max_by_key(|(pointer, (present, length, is_of_objects))| {
            (
                place(pointer, HIT_LISTS).is_some(),
                *present,
                *is_of_objects,
                *length,
            )
        })?;
    let (pointer, (_, _, is_of_objects)) = best;
    let mut elements: Vec<Unit> = Vec::new();
    if is_of_objects {
        for unit in searches {
            for element in unit.lists.get(pointer).into_iter().flatten() {
                let mut hit = Unit::default();
                hit.add("", element);
                elements.push(hit);
            }
        }
    }
    Some(Hits {
        pointer: pointer.to_owned(),
        members: values(elements.iter()),
        is_of_objects,
    })
}

/// Sources whose names are known and whose values pass, the best first: by the order of the names, then the
/// shortest. A second one is added if the first is absent in some events.
fn choose(
    all: &BTreeMap<String, Values>,
    known: &str,
    total: usize,
    passes: &dyn Fn(&str, &Values) -> bool,
) -> Vec<String> {
    let mut found: Vec<(usize, usize, &String, &Values)> = all
        .iter()
        .filter_map(|(source, values)| {
            let order = (place(source, known)?, source.len(), source, values);
            passes(source, values).then_some(order)
        })
        .collect();
    // What nearly every event has comes before what few have.
    found.sort_by_key(|(place, length, source, values)| {
        (
            values.present * 2 < total,
            *place,
            *length,
            (*source).clone(),
        )
    });
    let Some((_, _, first, values)) = found.first() else {
        return Vec::new();
    };
    let mut chosen = vec![(*first).clone()];
    if values.present < total
        && let Some((_, _, second, _)) = found.get(1)
    {
        chosen.push((*second).clone());
    }
    chosen
}

/// Leaf of searches and leaf of feedback that share most values.
fn shared(
    of_searches: &BTreeMap<String, BTreeSet<String>>,
    feedback: &BTreeMap<String, Values>,
    known: &str,
    least: f64,
) -> Option<(String, String)> {
    let place = |source: &str| place(source, known).unwrap_or(known.len());
    let mut best: Option<((usize, usize), (String, String))> = None;
    for (search, ids) in of_searches {
        for (source, values) in feedback {
            if values.distinct.len() < 2 && ids.len() > 1 && values.present > 1 {
                continue;
            }
            let common = values
                .distinct
                .iter()
                .filter(|id| ids.contains(*id))
                .count();
            #[allow(clippy::cast_precision_loss, reason = "counts of a sample")]
            let share = common as f64 / values.distinct.len().max(1) as f64;
            if common == 0 || share < least || values.time().is_some() {
                continue;
            }
            let order = (common, usize::MAX - place(search) - place(source));
            if best.as_ref().is_none_or(|(known, _)| *known < order) {
                best = Some((order, (search.clone(), source.clone())));
            }
        }
    }
    best.map(|(_, pair)| pair)
}

fn term(text: impl Into<String>) -> Term {
    Term::Text(text.into())
}

fn sources(mut chosen: Vec<String>) -> Option<Term> {
    match chosen.len() {
        0 => None,
        1 => chosen.pop().map(Term::Text),
        _ => Some(Term::List(chosen.into_iter().map(Term::Text).collect())),
    }
}

/// Fields of the offset, the filters and the order of searches, outside of their results at `within`. Adds notes on what
/// is mapped to an offset, and on what looks like one of the others and is not mapped.
fn others(
    all: &BTreeMap<String, Values>,
    total: usize,
    (within, has_no_page): (&str, bool),
    notes: &mut Vec<String>,
) -> Section {
    let mut fields = Vec::new();
    if has_no_page {
        let offset = choose(all, OFFSETS, total, &|source, values| {
            !source.starts_with(within) && values.is_offset()
        });
        if let Some(source) = offset.first() {
            notes.push(format!(
                "{source} is mapped to offset, the number of results before the first one: searches \
                 beyond 0 are further pages."
            ));
        }
        put(&mut fields, "offset", offset);
    }
    let outside = all.iter().filter(|it| !it.0.starts_with(within));
    let mut filters = outside.filter_map(|(it, values)| Some((list_named(it, FILTERS)?, values)));
    if let Some((source, values)) = filters.next() {
        if values.is_in_nearly_all(total) {
            notes.push(format!(
                "{source} looks like filters, and is not mapped, because nearly all searches have some: a search \
                 with filters is not judged."
            ));
        } else {
            put(&mut fields, "filters", vec![source]);
        }
    }
    let sort = choose(all, SORTS, total, &|source, values| {
        !source.starts_with(within) && values.is_word()
    });
    if let Some((source, values)) = sort.first().and_then(|it| Some((it, all.get(it)?))) {
        if values.distinct.contains(RELEVANCE) {
            put(&mut fields, "sort", sort);
        } else {
            let examples = values.distinct.iter().take(3);
            let examples: Vec<&str> = examples.map(String::as_str).collect();
            notes.push(format!(
                "{source} looks like the order of the results ({}), and is not mapped to sort, because no value is \
                 relevance: searches in another order are judged as well. Exclude them with gold.judge_when.",
                examples.join(", ")
            ));
        }
    }
    fields
}

/// Adds a note if events of several names are searches.
fn note_names(searched: &BTreeSet<String>, notes: &mut Vec<String>) {
    if searched.len() > 1 {
        let listed: Vec<&str> = searched.iter().map(String::as_str).collect();
        notes.push(format!(
            "Searches are events of {} names ({}). Remove from `when` those that no user waits for, such as suggestions \
                 while a query is typed: each counts as a search.",
            listed.len(),
            listed.join(", ")
            ));
    }
}

/// Source of a list or an object with one of these names that a source lies in.
fn list_named(source: &str, known: &str) -> Option<String> {
    let ends = source.match_indices('/').map(|(at, _)| at).skip(1);
    let mut lists = ends.map(|end| &source[..end]);
    let named = lists.find(|list| place(list, known).is_some());
    named.map(str::to_owned)
}

/// Pushes a key with its sources, if there are any.
fn put(section: &mut Vec<(String, Term)>, key: &str, chosen: Vec<String>) {
    if let Some(chosen) = sources(chosen) {
        section.push((key.to_owned(), chosen));
    }
}

/// Pushes a key with its sources, else with the mark of a missing one.
fn put_or_mark(section: &mut Section, key: &str, chosen: Vec<String>) {
    let source = sources(chosen).unwrap_or_else(|| term(SOURCE));
    section.push((key.to_owned(), source));
}

/// Time of events, and its unit: by the names of times, else by their size, where every event has such a value.
fn time(all: &BTreeMap<String, Values>, total: usize) -> Option<(Vec<String>, Time)> {
    let first = choose(all, TIMES, total, &|_, values| values.time().is_some());
    let Some(first) = first.first() else {
        return time_by_size(all, total);
    };
    let unit = all.get(first)?.time()?;
    let same = choose(all, TIMES, total, &|_, values| values.time() == Some(unit));
    Some((same, unit))
}

/// The shallowest source, the first by its name, whose values are times in all events. Ids and elements of lists
/// are none.
fn time_by_size(all: &BTreeMap<String, Values>, total: usize) -> Option<(Vec<String>, Time)> {
    let times = all.iter().filter_map(|(source, values)| {
        let is_other =
            names(source)[0].ends_with("id") || source.split('/').any(is_index) || source == "key";
        let unit = values.time().filter(|_| !is_other)?;
        (values.present == total).then_some((source, unit))
    });
    let (source, unit) = times.min_by_key(|(source, _)| source.matches('/').count())?;
    Some((vec![source.clone()], unit))
}

/// Returns true if the name of a source states that its numbers are milliseconds.
fn states_millis(source: &str) -> bool {
    let [name, _] = names(source);
    name.ends_with("ms") || name.contains("milli")
}

/// Labels, or attributes: texts with few values that nothing else uses.
fn few_values<'a>(
    all: impl Iterator<Item = (&'a String, &'a Values)>,
    used: &str,
    most: usize,
) -> Vec<(String, Term)> {
    let mut labels: Vec<(String, Term)> = Vec::new();
    for (source, values) in all {
        let name = source.rsplit('/').next().unwrap_or_default();
        let is_id = names(source)[0].ends_with("id");
        let is_name = !is_id
            && name.starts_with(|it: char| it.is_ascii_alphabetic())
            && name
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || it == b'_');
        let has_few = (2..=MAX_WORDS).contains(&values.distinct.len());
        let is_new = labels.iter().all(|(known, _)| known != name);
        let is_used = used.contains(&format!("\"{source}\""));
        let is_element = source.split('/').any(|part| part == "0");
        let is_often =
            values.present >= MIN_FOR_LABELS && values.distinct.len() * 3 <= values.present;
        if is_name
            && has_few
            && is_new
            && !is_used
            && is_often
            && !is_element
            && values.is_word()
            && values.time().is_none()
            && source.starts_with('/')
            && labels.len() < most
        {
            labels.push((name.to_owned(), term(source)));
        }
    }
    labels
}

/// Ids of which both kinds hold some: ids of searches, and of results.
fn ids_of(searches: &[Unit], all: &BTreeMap<String, Values>) -> BTreeMap<String, BTreeSet<String>> {
    let ids = all.iter().filter(|(_, values)| {
        values.is_in_nearly_all(searches.len()) && values.is_unique() && values.time().is_none()
    });
    ids.map(|(source, values)| (source.clone(), values.distinct.clone()))
        .collect()
}

impl Hits {
    /// Ids of results, by the member that holds them; an empty name for a list of ids.
    fn ids(&self, searches: &[Unit]) -> BTreeMap<String, BTreeSet<String>> {
        if self.is_of_objects {
            let members = self.members.iter();
            let ids = members.map(|(member, values)| (member.clone(), values.distinct.clone()));
            return ids.collect();
        }
        let lists = searches
            .iter()
            .filter_map(|unit| unit.lists.get(&self.pointer));
        [(String::new(), lists.flatten().map(text_of).collect())].into()
    }
}

/// Text of an id.
fn text_of(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

/// Proposes a mapping.
pub(super) fn guess(shapes: &[Shape]) -> Guess {
    let events = Events::of(shapes);
    let all = events.units.each_ref().map(|units| values(units.iter()));
    let [searches, feedback] = &events.units;
    let hits = hits(searches);
    let join = shared(&ids_of(searches, &all[0]), &all[1], QUERY_IDS, 0.3);
    let clicked = hits
        .as_ref()
        .and_then(|hits| shared(&hits.ids(searches), &all[1], OBJECT_IDS, 0.5));
    let mut found = Found {
        events: &events,
        all: &all,
        join,
        clicked,
        hits,
        gaps: Vec::new(),
        notes: Vec::new(),
    };
    let mut sections = Vec::new();
    let search = if searches.is_empty() {
        None
    } else {
        found.search()
    };
    let feedback = if feedback.is_empty() {
        None
    } else {
        found.feedback()
    };
    for (kind, what, section) in [
        ("search", "searches", search),
        ("feedback", "feedback", feedback),
    ] {
        match section {
            Some(section) => sections.push((kind.to_owned(), Term::Section(section))),
            None => found.gaps.push(format!(
                "the sample shows no {what} that can be mapped: add a file or topic with them"
            )),
        }
    }
    Guess {
        sections,
        gaps: found.gaps,
        notes: found.notes,
    }
}

/// Section of a mapping.
type Section = Vec<(String, Term)>;

/// Context of both kinds of events.
struct Found<'a> {
    events: &'a Events,
    /// Values of the leaves of searches, and of feedback.
    all: &'a [BTreeMap<String, Values>; 2],
    /// Id of a search: in the search, and in its feedback.
    join: Option<(String, String)>,
    /// Id of an object: in a result, and in the feedback.
    clicked: Option<(String, String)>,
    hits: Option<Hits>,
    gaps: Vec<String>,
    notes: Vec<String>,
}

impl Found<'_> {
    fn miss(&mut self, gap: &str) {
        self.gaps.push(gap.to_owned());
    }

    /// Time of the events of a kind, else the time that Kafka states.
    fn time_or_of_kafka(&mut self, kind: Kind) -> (Vec<String>, Option<Time>) {
        let total = self.events.units[kind.index()].len();
        if let Some((at, unit)) = time(&self.all[kind.index()], total) {
            return (at, Some(unit));
        }
        let events = match kind {
            Kind::Search => "searches",
            Kind::Feedback => "feedback",
        };
        self.gaps.push(format!(
            "no time was found in the {events}, ISO 8601 with an offset or a number since 1970: ts is mapped to \
             the time that Kafka states, if the records have one"
        ));
        (vec!["timestamp".to_owned()], None)
    }

    /// Conditions of a kind: the names of its events, and the operations of a table.
    fn when(&self, kind: Kind) -> Option<Term> {
        let all = &self.all[kind.index()];
        let total = self.events.units[kind.index()].len();
        let names_of_kind = &self.events.names[kind.index()];
        let mut conditions = Vec::new();
        if let Some(name) = self.events.name[kind.index()]
            .as_ref()
            .filter(|_| !names_of_kind.is_empty())
        {
            // `type: track` beside the name of the event.
            let same = all.iter().filter(|(source, values)| {
                names(source)[0] == "type"
                    && *source != name
                    && source.matches('/').count() == 1
                    && values.present == total
                    && values.distinct.len() == 1
                    && values.is_word()
            });
            let same = same.filter_map(|(source, values)| {
                Some((source.clone(), term(values.distinct.first()?)))
            });
            conditions.extend(same);
            let listed = names_of_kind.iter().map(term).collect();
            conditions.push((name.clone(), Term::List(listed)));
        }
        // Debezium: c creates a row, r reads it in a snapshot, u and d change and delete it.
        let operations = all.iter().find(|(source, values)| {
            let mut texts = values.distinct.iter();
            names(source)[0] == "op" && texts.all(|text| matches!(&**text, "c" | "r" | "u" | "d"))
        });
        if let Some((source, _)) = operations {
            let kept = ["c", "r"].map(term).to_vec();
            conditions.push((source.clone(), Term::List(kept)));
        }
        let is_named = self.events.name[kind.index()].is_some();
        if !is_named && self.events.are_mixed() {
            conditions.extend(self.absent(kind));
        }
        (!conditions.is_empty()).then_some(Term::Section(conditions))
    }

    /// Condition that separates events without names: a source that all events of the other kind have, and none of
    /// this kind has.
    fn absent(&self, kind: Kind) -> Option<(String, Term)> {
        let all = &self.all[kind.index()];
        let other = kind.other().index();
        let total = self.events.units[other].len();
        let of_other = self.all[other].iter().filter(|(source, values)| {
            let is_element = source.split('/').any(is_index);
            source.starts_with('/')
                && !is_element
                && values.present == total
                && !all.contains_key(*source)
        });
        let shallowest = of_other.min_by_key(|(source, _)| source.matches('/').count());
        shallowest.map(|(source, _)| (source.clone(), Term::Nothing))
    }

    /// Beginning of a section: what holds for all its events.
    fn begin(&self, kind: Kind, time: Option<Time>, is_from_zero: bool) -> Section {
        let each = self.events.each.as_ref().map(term);
        let time = time.map(|time| term(time.word()));
        let base = is_from_zero.then(|| term("0"));
        let keys = [
            ("each", each),
            ("when", self.when(kind)),
            ("time", time),
            ("position_base", base),
        ];
        let written = keys.into_iter();
        written
            .filter_map(|(key, value)| Some((key.to_owned(), value?)))
            .collect()
    }

    fn search(&mut self) -> Option<Section> {
        let Some(hits) = self.hits.take() else {
            self.miss("no list of results with ids was found in the searches");
            return None;
        };
        let all = &self.all[Kind::Search.index()];
        let total = self.events.units[Kind::Search.index()].len();
        let within = format!("{}/", hits.pointer);
        let pick = |known: &str, passes: &dyn Fn(&str, &Values) -> bool| {
            choose(all, known, total, &|source, values| {
                !source.starts_with(&within) && passes(source, values)
            })
        };
        let query_id = match &self.join {
            Some((id, _)) => vec![id.clone()],
            None => pick(QUERY_IDS, &|_, values| values.is_unique()),
        };
        let (at, unit) = self.time_or_of_kafka(Kind::Search);
        let query = pick(QUERIES, &|_, values| {
            values.is_text() && values.time().is_none()
        });
        let session = pick(SESSIONS, &|source, _| {
            !query_id.iter().any(|it| it == source)
        });
        let person = pick(USERS, &|source, _| !session.iter().any(|it| it == source));
        let key = pick(QUERY_KEYS, &|_, values| values.time().is_none());
        let has_query = !(query.is_empty() && key.is_empty());
        let has_id = !query_id.is_empty();
        let mut fields = Vec::new();
        put_or_mark(&mut fields, "query_id", query_id);
        put(&mut fields, "ts", at);
        put(&mut fields, "query", query);
        put(&mut fields, "query_key", key);
        if !has_query {
            put_or_mark(&mut fields, "query_key", Vec::new());
        }
        put(&mut fields, "session_id", session);
        put(&mut fields, "user_id", person);
        let variant = pick(VARIANTS, &|_, values| values.distinct.len() <= MAX_WORDS);
        put(&mut fields, "variant", variant);
        let mut pages = Vec::new();
        for (field, known) in NUMBERS {
            let is_in_seconds = |source: &str, values: &Values| {
                field == "latency_ms" && !states_millis(source) && values.is_seconds()
            };
            let chosen = pick(known, &|source, values| {
                values.is_number()
                    && !is_in_seconds(source, values)
                    && (field != "page_size" || values.least >= Some(1.0))
            });
            let left_out = pick(known, &is_in_seconds);
            if let (true, Some(source)) = (chosen.is_empty(), left_out.first()) {
                self.notes.push(format!(
                    "{source} is not mapped to {field}: its values look like seconds, and a mapping does not \
                     convert them."
                ));
            }
            if field == "page" {
                pages.clone_from(&chosen);
            }
            put(&mut fields, field, chosen);
        }
        let place = (&*within, pages.is_empty());
        fields.extend(others(all, total, place, &mut self.notes));
        let pages_from_zero = pages.iter().any(|source| {
            all.get(source)
                .is_some_and(|values| values.least == Some(0.0))
        });
        let list = hits.section(self.clicked.as_ref());
        let is_from_zero = hits.counts_from_zero(&list);
        let mut section = self.begin(Kind::Search, unit, is_from_zero);
        if pages_from_zero {
            section.push(("page_base".to_owned(), term("0")));
        }
        note_names(&self.events.names[Kind::Search.index()], &mut self.notes);
        let name = self.events.name[Kind::Search.index()].as_ref().map(term);
        let used = format!("{section:?} {fields:?} {name:?}");
        let outside = all
            .iter()
            .filter(|(source, _)| !source.starts_with(&within));
        let labels = few_values(outside, &used, 5);
        section.push(("fields".to_owned(), Term::Section(fields)));
        let has_result_id = list.iter().all(|(_, source)| *source != term(SOURCE));
        section.push(("hits".to_owned(), Term::Section(list)));
        if !labels.is_empty() {
            section.push(("labels".to_owned(), Term::Section(labels)));
        }
        if !has_query {
            self.miss("no text of a query was found in the searches");
        }
        if !has_id {
            self.miss("no id of a search was found: an id that occurs once");
        }
        if !has_result_id {
            self.gaps
                .push(format!("no id of a result was found in {}", hits.pointer));
        }
        self.hits = Some(hits);
        Some(section)
    }

    fn feedback(&mut self) -> Option<Section> {
        let all = &self.all[1];
        let total = self.events.units[1].len();
        let query_id = match &self.join {
            Some((_, id)) => vec![id.clone()],
            None => choose(all, FEEDBACK_QUERY_IDS, total, &|_, _| true),
        };
        let is_query_id = |source: &str| query_id.iter().any(|it| it == source);
        let event_id = choose(all, EVENT_IDS, total, &|source, values| {
            !is_query_id(source) && values.is_in_nearly_all(total) && values.is_unique()
        });
        let (at, unit) = self.time_or_of_kafka(Kind::Feedback);
        let session = choose(all, SESSIONS, total, &|source, _| !is_query_id(source));
        let object = match &self.clicked {
            Some((_, object)) => vec![object.clone()],
            None => choose(all, OBJECT_IDS, total, &|source, _| {
                !is_query_id(source) && !event_id.iter().chain(&session).any(|it| it == source)
            }),
        };
        let position = choose(all, POSITIONS, total, &|_, values| {
            values.is_number() && values.least >= Some(0.0) && values.largest < Some(10_000.0)
        });
        let base = match (object.first(), position.first(), query_id.first()) {
            (Some(object), Some(position), Some(query_id)) => {
                self.positions_from_zero([query_id, object, position])
            }
            _ => None,
        };
        let least = position
            .first()
            .and_then(|position| all.get(position)?.least);
        let (has_search, has_session) = (!query_id.is_empty(), !session.is_empty());
        let has_name = self.events.name[Kind::Feedback.index()].is_some();
        let mut fields = Vec::new();
        put(&mut fields, "event_id", event_id);
        put(&mut fields, "ts", at);
        let action = self.events.name[Kind::Feedback.index()].clone();
        put(
            &mut fields,
            "type",
            vec![action.unwrap_or_else(|| "=click".to_owned())],
        );
        if has_session {
            put(&mut fields, "query_id", query_id);
        } else {
            put_or_mark(&mut fields, "query_id", query_id);
        }
        put(&mut fields, "session_id", session);
        put(&mut fields, "object_id", object);
        put(&mut fields, "position", position);
        let mut section = self.begin(Kind::Feedback, unit, base.unwrap_or(least == Some(0.0)));
        let actions = self.events.names[1]
            .iter()
            .filter_map(|text| match meaning(text) {
                Meaning::Feedback(action) => Some((text.clone(), term(action))),
                Meaning::Search | Meaning::Unknown => None,
            });
        let actions: Section = actions.collect();
        if !actions.is_empty() {
            section.push(("actions".to_owned(), Term::Section(actions)));
        }
        section.push(("fields".to_owned(), Term::Section(fields)));
        if !has_name {
            self.miss(
                "no name of an action was found in the feedback: every record is taken as a click",
            );
        }
        if !has_search {
            self.miss(if has_session {
                "no id of the search was found in the feedback: it counts for whole sessions only"
            } else {
                "no id of the search or session was found in the feedback"
            });
        }
        // Records without a name can be anything.
        (has_search || has_session || has_name).then_some(section)
    }

    /// Compares positions with the places of the clicked objects. `None` if none can be compared.
    fn positions_from_zero(&self, [query_id, object, position]: [&String; 3]) -> Option<bool> {
        let (id, _) = self.join.as_ref()?;
        let (member, _) = self.clicked.as_ref()?;
        let hits = self.hits.as_ref()?;
        let [searches, feedback] = &self.events.units;
        let served = searches.iter().filter_map(|unit| {
            let list = unit.lists.get(&hits.pointer)?;
            Some((unit.leaves.get(id)?.text.as_str(), list))
        });
        let served: BTreeMap<&str, &Vec<Value>> = served.collect();
        let (mut from_zero, mut from_one) = (0, 0);
        for unit in feedback {
            let text = |source: &String| unit.leaves.get(source).map(|leaf| leaf.text.as_str());
            let (Some(of), Some(object)) = (text(query_id), text(object)) else {
                continue;
            };
            let place = served.get(of).and_then(|list| {
                list.iter()
                    .position(|hit| hit.pointer(member).map(text_of).as_deref() == Some(object))
            });
            let stated = text(position).and_then(|text| text.parse::<usize>().ok());
            if let (Some(place), Some(stated)) = (place, stated) {
                from_zero += usize::from(stated == place);
                from_one += usize::from(stated == place + 1);
            }
        }
        (from_zero + from_one > 0).then_some(from_zero > from_one)
    }
}
