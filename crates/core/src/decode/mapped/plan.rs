//! Compilation of a mapping: sources become slots of a trie, or constants.

use std::borrow::Cow;
use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::build::HitPlan;
use super::problem::Problem;
use super::scalar::Scalar;
use super::term::{Term, report};
use super::trie::{Elements, List, Node};
use crate::decode::ubi::Meaning;
use crate::event::{Kind, Reason, Rejection};
use crate::text::nearest;

/// Maximum number of sources of a mapping.
const MAX_SLOTS: usize = 500;

/// Maximum number of segments of a pointer.
const MAX_SEGMENTS: usize = 32;

/// Declares the fields of a kind with their names.
macro_rules! fields {
    ($(#[$about:meta])* $name:ident: $($field:ident = $text:literal,)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum $name { $($field),* }

        impl $name {
            /// Names in the mapping, in order.
            pub(super) const NAMES: &[&str] = &[$($text),*];
        }
    };
}

fields! {
    /// Field of a search with one source.
    SearchField:
    QueryId = "query_id",
    Ts = "ts",
    Query = "query",
    QueryKey = "query_key",
    Synthetic = "synthetic",
    LatencyMs = "latency_ms",
    Routing = "routing",
    Domain = "domain",
    MergedFrom = "merged_from",
    Context = "context",
    Experiment = "experiment",
    Variant = "variant",
    SessionId = "session_id",
    ClientId = "client_id",
    UserId = "user_id",
    TraceId = "trace_id",
    Application = "application",
    TotalHits = "total_hits",
    Page = "page",
    PageSize = "page_size",
    Offset = "offset",
    Filters = "filters",
    Sort = "sort",
    ErrorType = "error_type",
}

fields! {
    /// Field of feedback with one source.
    FeedbackField:
    EventId = "event_id",
    Ts = "ts",
    Type = "type",
    QueryId = "query_id",
    SessionId = "session_id",
    ObjectId = "object_id",
    Position = "position",
    Value = "value",
    Min = "min",
    Max = "max",
    DwellMs = "dwell_ms",
    Amount = "amount",
    Currency = "currency",
    Name = "name",
    Target = "target",
    Request = "request",
    Comment = "comment",
    ClientId = "client_id",
    UserId = "user_id",
    TraceId = "trace_id",
    Application = "application",
}

fields! {
    /// Field of the evaluator of a judgment.
    EvaluatorField:
    Id = "id",
    Version = "version",
    Kind = "kind",
}

fields! {
    /// Field of an edge of the path to a result.
    EdgeField:
    From = "from",
    To = "to",
}

/// Fields that hold a list of values.
const LIST_FIELDS: [&str; 5] = ["routing", "merged_from", "context", "citations", "stages"];

fields! {
    /// Field of a result.
    HitField:
    Id = "id",
    Rank = "rank",
    Score = "score",
    Group = "group",
    Stages = "stages",
    Text = "text",
    Team = "team",
    Hops = "hops",
    Depth = "depth",
}

fields! {
    /// Field of a step of a search.
    StageField:
    Name = "name",
    LatencyMs = "latency_ms",
    Hits = "hits",
    Error = "error",
}

fields! {
    /// Field of a model call.
    UsageField:
    Operation = "operation",
    Provider = "provider",
    Model = "model",
    InputTokens = "input_tokens",
    OutputTokens = "output_tokens",
    CacheReadInputTokens = "cache_read_input_tokens",
    ReasoningOutputTokens = "reasoning_output_tokens",
    Cost = "cost",
    Currency = "currency",
}

fields! {
    /// Field of the cost of a search.
    CostField:
    Amount = "amount",
    Currency = "currency",
}

fields! {
    /// Field of the answer of a search.
    AnswerField:
    Id = "id",
    Text = "text",
    Citations = "citations",
    Refused = "refused",
    Model = "model",
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    /// Milliseconds since the epoch.
    Millis,
    /// Seconds since the epoch.
    Seconds,
    /// Microseconds since the epoch.
    Micros,
    /// Nanoseconds since the epoch.
    Nanos,
    /// ISO 8601 with an offset.
    Rfc3339,
}

impl TimeUnit {
    /// Name of the unit that is `steps` smaller, each a thousandth.
    pub(super) fn smaller(self, steps: usize) -> Option<&'static str> {
        let names = ["seconds", "millis", "micros", "nanos"];
        let (name, _) = Self::NAMES.iter().find(|(_, unit)| *unit == self)?;
        let position = names.iter().position(|it| it == name)?;
        names.get(position + steps).copied()
    }

    /// Every unit with its name.
    pub(super) const NAMES: [(&str, Self); 5] = [
        ("millis", Self::Millis),
        ("seconds", Self::Seconds),
        ("micros", Self::Micros),
        ("nanos", Self::Nanos),
        ("rfc3339", Self::Rfc3339),
    ];
}

/// One source of a field.
#[derive(Clone, Debug)]
enum Source {
    /// Value that the record has there.
    Slot(usize),
    /// Text of the mapping.
    Constant(String),
}

/// Sources of a field: the first that is present applies.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    sources: SmallVec<[Source; 2]>,
    /// Sources as written, for rejections.
    pub(super) text: String,
}

impl Sources {
    /// Value of the first source that is present.
    pub(super) fn value<'s, 'a>(&'a self, slots: &'s [Scalar<'a>]) -> Cow<'s, Scalar<'a>> {
        let mut last = Scalar::Absent;
        for source in &self.sources {
            match source {
                Source::Slot(slot) => match slots.get(*slot) {
                    None | Some(Scalar::Absent) => {}
                    Some(Scalar::Unset) => last = Scalar::Unset,
                    Some(value) => return Cow::Borrowed(value),
                },
                Source::Constant(text) => return Cow::Owned(Scalar::Text(text.as_str().into())),
            }
        }
        Cow::Owned(last)
    }

    /// Rejection of a record in which none is present.
    #[cold]
    pub(super) fn missing(&self) -> Rejection {
        Rejection::new(
            Reason::MissingField,
            format_args!("{} is missing", self.text),
        )
    }

    fn only_slot(&self) -> Option<usize> {
        match self.sources.as_slice() {
            [Source::Slot(slot)] => Some(*slot),
            _ => None,
        }
    }
}

/// Sources by field of a table of fields.
pub(super) type FieldSources = Vec<Option<Sources>>;

/// Sources by names that the user chose.
pub(super) type NamedSources = Vec<(String, Sources)>;

/// Part of a record around its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Key as text.
    Key,
    /// Time that Kafka states.
    Timestamp,
    /// Value of the header of this name.
    Header(String),
}

/// Everything that is read of a record, or of an element of `each`.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Trie of the payload.
    pub(super) root: Node,
    /// Trie of a key in JSON, if it is read.
    pub(super) key: Option<Node>,
    /// Sources of the slots, as written.
    pub(super) slots: Vec<String>,
    pub(super) lists: Vec<List>,
    /// Slots of the parts around the payload.
    pub(super) envelope: Vec<(Origin, usize)>,
}

/// Records that hold a list of events.
#[derive(Clone, Debug)]
pub(super) struct Each {
    /// Everything that is read of the record: its first list holds the events.
    pub(super) record: Scope,
    /// Slots of the record that go to slots of each event.
    pub(super) copies: Vec<(usize, usize)>,
}

impl Each {
    /// Records whose list at a pointer holds events of a scope; `outer` are the pointers to the record,
    /// with their slots of an event.
    fn new(pointer: String, list: &[String], event: &Scope, outer: Vec<(String, usize)>) -> Self {
        let mut record = Scope::default();
        let mut copies = Vec::new();
        for (pointer, inner) in outer {
            let slot = record.slots.len();
            let segments = segments(&pointer).unwrap_or_default();
            record.root.at(&segments).set_slot(slot);
            record.slots.push(pointer);
            copies.push((slot, inner));
        }
        record.root.at(list).set_list(0);
        record.lists.push(List {
            pointer,
            root: event.root.clone(),
            slots: event.slots.clone(),
            lists: event.lists.clone(),
            elements: Elements::Rows,
        });
        Self { record, copies }
    }
}

/// List of objects that are no results.
#[derive(Clone, Debug)]
pub(super) struct RowPlan {
    /// Place of the list in [`Scope::lists`].
    pub(super) list: usize,
    /// Pointer of the list, for rejections.
    pub(super) pointer: String,
    /// Sources of the fields.
    pub(super) fields: FieldSources,
}

/// Compiled mapping of one kind.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) kind: Kind,
    /// Everything that is read of an event.
    pub(super) event: Scope,
    /// List of events, if a record holds several.
    pub(super) each: Option<Each>,
    /// Conditions on a record, and the values that meet each; `None` for an absent value.
    pub(super) when: Vec<(Sources, Vec<Option<String>>)>,
    pub(super) fields: FieldSources,
    pub(super) time: Option<TimeUnit>,
    pub(super) position_base: u32,
    pub(super) page_base: u32,
    pub(super) actions: BTreeMap<String, Meaning>,
    pub(super) labels: NamedSources,
    pub(super) attrs: NamedSources,
    pub(super) fired: NamedSources,
    pub(super) cost: Option<FieldSources>,
    pub(super) answer: Option<FieldSources>,
    pub(super) evaluator: Option<FieldSources>,
    pub(super) usage: Option<RowPlan>,
    pub(super) stages: Option<RowPlan>,
    /// Pointers of the list of results.
    pub(super) hits: Option<String>,
}

/// Scope that sources are added to.
struct Compiler<'p> {
    scope: Scope,
    /// Pointers to the record around an element of `each`, with their slots.
    outer: Vec<(String, usize)>,
    has_each: bool,
    /// True within an element of a list of results.
    is_element: bool,
    problems: &'p mut Vec<Problem>,
}

/// Reader of the keys of a section that are no fields: gets path, name and value.
type Others<'o> = &'o mut dyn FnMut(&mut Compiler<'_>, &str, &str, &Term);

/// Problem of a key that is none of `known`.
pub(super) fn unknown_key(name: &str, known: &[&str]) -> String {
    let list = known.join(", ");
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("unknown key; did you mean {near}? Known are {list}"),
        None => format!("unknown key; known are {list}"),
    }
}

/// Segments of a JSON pointer; `None` without the slash at its beginning.
fn segments(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let segments = pointer.strip_prefix('/')?.split('/');
    Some(
        segments
            .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
            .collect(),
    )
}

impl Compiler<'_> {
    fn report(&mut self, path: &str, text: impl Into<String>) {
        report(self.problems, path, text);
    }

    /// Slot of a source.
    fn slot(&mut self, source: &str) -> usize {
        let slots = &mut self.scope.slots;
        let place = slots.iter().position(|known| known == source);
        place.unwrap_or_else(|| {
            slots.push(source.to_owned());
            slots.len() - 1
        })
    }

    fn pointer(&mut self, path: &str, pointer: &str) -> Option<Vec<String>> {
        let found = segments(pointer).filter(|segments| segments.len() <= MAX_SEGMENTS);
        if found.is_none() {
            let text = format!("\"{pointer}\" has more than {MAX_SEGMENTS} segments");
            self.report(path, text);
        }
        found
    }

    fn source(&mut self, path: &str, text: &str) -> Option<Source> {
        if let Some(constant) = text.strip_prefix('=') {
            return Some(Source::Constant(constant.to_owned()));
        }
        if self.scope.slots.len() >= MAX_SLOTS {
            let text = format!("is one of more than {MAX_SLOTS} sources");
            self.report(path, text);
            return None;
        }
        if text.starts_with('/') {
            let segments = self.pointer(path, text)?;
            let slot = self.slot(text);
            self.scope.root.at(&segments).set_slot(slot);
            return Some(Source::Slot(slot));
        }
        if self.is_element {
            let text = format!(
                "\"{text}\" is no source within an element; /pointer, relative to the element, or \
                 =constant is expected"
            );
            self.report(path, text);
            return None;
        }
        if let Some(pointer) = text.strip_prefix("^/") {
            if !self.has_each {
                let text =
                    format!("\"{text}\" points to the record around `each`, which is missing");
                self.report(path, text);
                return None;
            }
            let slot = self.slot(text);
            let outer = (format!("/{pointer}"), slot);
            if !self.outer.contains(&outer) {
                self.outer.push(outer);
            }
            return Some(Source::Slot(slot));
        }
        if let Some(pointer) = text.strip_prefix("key/") {
            let segments = self.pointer(path, &format!("/{pointer}"))?;
            let slot = self.slot(text);
            let root = self.scope.key.get_or_insert_default();
            root.at(&segments).set_slot(slot);
            return Some(Source::Slot(slot));
        }
        let origin = match text {
            "key" => Origin::Key,
            "timestamp" => Origin::Timestamp,
            _ => match text.strip_prefix("header:") {
                Some(name) if !name.is_empty() => Origin::Header(name.to_owned()),
                _ => {
                    let text = format!(
                        "\"{text}\" is no source; /pointer, key, key/pointer, header:NAME, timestamp \
                         or =constant is expected"
                    );
                    self.report(path, text);
                    return None;
                }
            },
        };
        let slot = self.slot(text);
        if !self.scope.envelope.iter().any(|(_, known)| *known == slot) {
            self.scope.envelope.push((origin, slot));
        }
        Some(Source::Slot(slot))
    }

    /// Sources of a field; those of one that is a list can be sections.
    fn sources(&mut self, path: &str, written: &Term, is_list: bool) -> Option<Sources> {
        let mut sources = Sources::default();
        let elements = written.elements();
        if elements.is_empty() {
            self.report(path, "has no source; name one, or remove the key");
        }
        for (index, element) in elements.iter().enumerate() {
            let path = match written {
                Term::List(_) => format!("{path}[{index}]"),
                _ => path.to_owned(),
            };
            let (source, text) = match element {
                Term::Section(_) if is_list => self.values(&path, element)?,
                _ => {
                    let text = element.text(&path, self.problems)?;
                    (self.source(&path, text)?, text.to_owned())
                }
            };
            sources.sources.push(source);
            if !sources.text.is_empty() {
                sources.text.push_str(" or ");
            }
            sources.text.push_str(&text);
        }
        Some(sources)
    }

    /// Source of a list that holds one value of each element of a list. Returns it with its text.
    fn values(&mut self, path: &str, written: &Term) -> Option<(Source, String)> {
        let (pointers, scope, mut fields) =
            self.list(path, written, &["id"], (&[], &mut |_, _, _, _| {}))?;
        let sources = fields.pop().flatten()?;
        let text = format!("{} of {}", sources.text, pointers.join(" or "));
        let slot = self.slot(&text);
        let list = List {
            pointer: pointers.join(" or "),
            root: scope.root,
            slots: scope.slots,
            lists: scope.lists,
            elements: Elements::Values(slot, sources),
        };
        self.add_list(path, &pointers, list);
        Some((Source::Slot(slot), text))
    }

    fn named(&mut self, path: &str, written: &Term) -> NamedSources {
        let mut named = Vec::new();
        for (name, written) in written.section(path, self.problems) {
            let sources = self.sources(&format!("{path}.{name}"), written, false);
            named.extend(sources.map(|sources| (name.clone(), sources)));
        }
        named
    }

    /// Sources of the fields in a section, which can have other keys.
    fn fields(
        &mut self,
        path: &str,
        written: &Term,
        names: &[&str],
        (other_names, others): (&[&str], Others<'_>),
    ) -> FieldSources {
        let mut fields: FieldSources = vec![None; names.len()];
        for (name, written) in written.section(path, self.problems) {
            let path = format!("{path}.{name}");
            if let Some(index) = names.iter().position(|known| known == name) {
                fields[index] = self.sources(&path, written, LIST_FIELDS.contains(&&**name));
            } else if other_names.contains(&&**name) {
                others(self, &path, name, written);
            } else {
                let known = [other_names, names].concat();
                self.report(&path, unknown_key(name, &known));
            }
        }
        fields
    }

    /// List of elements with fields. Returns its pointers, the scope of an element and the fields.
    fn list(
        &mut self,
        path: &str,
        written: &Term,
        names: &[&str],
        (other_names, others): (&[&str], Others<'_>),
    ) -> Option<(Vec<String>, Scope, FieldSources)> {
        let mut pointers = Vec::new();
        let mut element = Compiler {
            scope: Scope::default(),
            outer: Vec::new(),
            has_each: false,
            is_element: true,
            problems: &mut *self.problems,
        };
        let other_names = [&["list"], other_names].concat();
        let mut read = |it: &mut Compiler<'_>, path: &str, name: &str, written: &Term| {
            if name != "list" {
                others(it, path, name, written);
                return;
            }
            for element in written.elements() {
                match element.text(path, it.problems) {
                    Some(pointer) if pointer.starts_with('/') => pointers.push(pointer.to_owned()),
                    Some(text) => {
                        let text = format!("\"{text}\" is no /pointer to a list");
                        it.report(path, text);
                    }
                    None => {}
                }
            }
        };
        let mut fields = element.fields(path, written, names, (&other_names, &mut read));
        let is_scalar = fields.iter().all(Option::is_none);
        if is_scalar && names.first() == Some(&"id") {
            // The elements are the ids.
            element.scope.slots.push("an element".to_owned());
            element.scope.root.set_slot(0);
            fields[0] = Some(Sources {
                sources: SmallVec::from_iter([Source::Slot(0)]),
                text: "the element".to_owned(),
            });
        }
        let scope = element.scope;
        if pointers.is_empty() {
            let path = format!("{path}.list");
            self.report(&path, "is missing; write the /pointer of the list");
            return None;
        }
        Some((pointers, scope, fields))
    }

    /// Adds a list at its pointers. Returns its place.
    fn add_list(&mut self, path: &str, pointers: &[String], list: List) -> usize {
        let place = self.scope.lists.len();
        self.scope.lists.push(list);
        for pointer in pointers {
            if let Some(segments) = self.pointer(path, pointer)
                && self.scope.root.at(&segments).set_list(place).is_some()
            {
                let text = format!("the list at {pointer} is mapped twice; a list has one use");
                self.report(path, text);
            }
        }
        place
    }

    fn rows(&mut self, path: &str, written: &Term, names: &[&str]) -> Option<RowPlan> {
        let (pointers, scope, fields) =
            self.list(path, written, names, (&[], &mut |_, _, _, _| {}))?;
        let pointer = pointers.join(" or ");
        let list = List {
            pointer: pointer.clone(),
            root: scope.root,
            slots: scope.slots,
            lists: scope.lists,
            elements: Elements::Rows,
        };
        let list = self.add_list(path, &pointers, list);
        Some(RowPlan {
            list,
            pointer,
            fields,
        })
    }

    /// Path to a result: a pointer to edges as in native events, or a section.
    fn path(&mut self, path: &str, written: &Term) -> Option<RowPlan> {
        let Term::Text(pointer) = written else {
            let plan = self.rows(path, written, EdgeField::NAMES)?;
            for (name, sources) in EdgeField::NAMES.iter().zip(&plan.fields) {
                if sources.is_none() {
                    self.report(&format!("{path}.{name}"), "is missing");
                }
            }
            return Some(plan);
        };
        let keys = [("list", pointer.as_str()), ("from", "/from"), ("to", "/to")];
        let keys = keys.map(|(name, text)| (name.to_owned(), Term::Text(text.to_owned())));
        self.rows(path, &Term::Section(keys.to_vec()), EdgeField::NAMES)
    }

    /// Adds the list of results. Returns its pointers.
    fn hits(&mut self, path: &str, written: &Term, position_base: u32) -> Option<String> {
        let mut attributes = Vec::new();
        let mut edges = None;
        let (pointers, scope, fields) = self.list(
            path,
            written,
            HitField::NAMES,
            (&["attributes", "path"], &mut |it, path, name, written| {
                if name == "attributes" {
                    attributes = it.named(path, written);
                } else {
                    edges = it.path(path, written);
                }
            }),
        )?;
        let text = pointers.join(" or ");
        if fields[HitField::Id as usize].is_none() {
            let path = format!("{path}.id");
            self.report(
                &path,
                "is missing; write the /pointer of the id in an element",
            );
        }
        let list = List {
            pointer: text.clone(),
            root: scope.root,
            slots: scope.slots,
            lists: scope.lists,
            elements: Elements::Hits(HitPlan {
                fields,
                attributes,
                path: edges,
                position_base,
            }),
        };
        self.add_list(path, &pointers, list);
        Some(text)
    }

    fn word<T: Copy>(&mut self, path: &str, written: &Term, words: &[(&str, T)]) -> Option<T> {
        let text = written.text(path, self.problems)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let text = format!("\"{text}\" is none of {}", words.join(", "));
            self.report(path, text);
        }
        found.map(|(_, value)| *value)
    }

    fn conditions(&mut self, path: &str, written: &Term) -> Vec<(Sources, Vec<Option<String>>)> {
        let mut conditions = Vec::new();
        for (source, wanted) in written.section(path, self.problems) {
            let path = format!("{path}.{source}");
            let Some(sources) = self.sources(&path, &Term::Text(source.clone()), false) else {
                continue;
            };
            let mut values = Vec::new();
            for element in wanted.elements() {
                match element {
                    Term::Nothing => values.push(None),
                    Term::Text(text) => values.push(Some(text.clone())),
                    Term::List(_) | Term::Section(_) => {
                        self.report(&path, "a value or a list of values is expected");
                    }
                }
            }
            if values.is_empty() {
                self.report(&path, "has no value; no record would be selected");
            }
            // A record with another value need not be read to its end.
            let all: Option<Vec<String>> = values.iter().cloned().collect();
            if let (false, true, Some(all)) = (self.has_each, source.starts_with('/'), all)
                && sources.only_slot().is_some()
                && let Some(segments) = segments(source)
            {
                self.scope.root.at(&segments).set_wanted(all);
            }
            conditions.push((sources, values));
        }
        conditions
    }
}

/// Keys of the mapping of a kind.
fn known_keys(kind: Kind) -> Vec<&'static str> {
    let keys = match kind {
        Kind::Search => {
            "when each fields hits time position_base page_base labels attrs fired cost answer usage stages"
        }
        Kind::Feedback => "when each fields time position_base actions evaluator cost labels attrs",
    };
    keys.split(' ').collect()
}

impl Plan {
    /// Compiles the mapping of one kind; reports its problems, and returns `None` if there are any.
    pub(super) fn compile(
        kind: Kind,
        written: &Term,
        path: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let before = problems.len();
        let keys = written.section(path, problems);
        let key = |name: &str| {
            let found = keys.iter().find(|(key, _)| key == name);
            found.map(|(_, term)| (format!("{path}.{name}"), term))
        };
        let known = known_keys(kind);
        for (name, _) in keys {
            if !known.contains(&name.as_str()) {
                report(
                    problems,
                    &format!("{path}.{name}"),
                    unknown_key(name, &known),
                );
            }
        }
        let mut it = Compiler {
            scope: Scope::default(),
            outer: Vec::new(),
            has_each: key("each").is_some(),
            is_element: false,
            problems,
        };
        let mut plan = Self::empty(kind);
        for (name, base) in [
            ("position_base", &mut plan.position_base),
            ("page_base", &mut plan.page_base),
        ] {
            if let Some((path, term)) = key(name) {
                *base = it.word(&path, term, &[("0", 0), ("1", 1)]).unwrap_or(1);
            }
        }
        if let Some((path, term)) = key("time") {
            plan.time = it.word(&path, term, &TimeUnit::NAMES);
        }
        if let Some((path, term)) = key("when") {
            plan.when = it.conditions(&path, term);
        }
        match key("fields") {
            Some((path, term)) => {
                plan.fields = it.fields(&path, term, plan.names(), (&[], &mut |_, _, _, _| {}));
                plan.check_required(&mut it, &path);
            }
            None => it.report(path, "has no `fields`"),
        }
        if let Some((path, term)) = key("actions") {
            for (name, term) in term.section(&path, it.problems) {
                let meanings: Vec<_> = Meaning::names().collect();
                let meaning = it.word(&format!("{path}.{name}"), term, &meanings);
                plan.actions
                    .extend(meaning.map(|meaning| (name.clone(), meaning)));
            }
        }
        for (name, target) in [("labels", &mut plan.labels), ("attrs", &mut plan.attrs)] {
            if let Some((path, term)) = key(name) {
                *target = it.named(&path, term);
            }
        }
        match kind {
            Kind::Search => plan.read_search(&mut it, path, &key),
            Kind::Feedback => {
                plan.read_evaluator(&mut it, &key);
                plan.read_cost(&mut it, &key);
            }
        }
        let each = key("each").and_then(|(path, term)| {
            let pointer = term.text(&path, it.problems)?;
            let Some(segments) = segments(pointer).filter(|it| it.len() <= MAX_SEGMENTS) else {
                let text = format!("\"{pointer}\" is no /pointer to a list of events");
                it.report(&path, text);
                return None;
            };
            Some((pointer.to_owned(), segments))
        });
        let (scope, outer) = (it.scope, it.outer);
        if problems.len() > before {
            return None;
        }
        plan.each = each.map(|(pointer, list)| Each::new(pointer, &list, &scope, outer));
        plan.event = scope;
        Some(plan)
    }

    /// Plan without sources.
    fn empty(kind: Kind) -> Self {
        Self {
            kind,
            event: Scope::default(),
            each: None,
            when: Vec::new(),
            fields: Vec::new(),
            time: None,
            position_base: 1,
            page_base: 1,
            actions: BTreeMap::new(),
            labels: Vec::new(),
            attrs: Vec::new(),
            fired: Vec::new(),
            cost: None,
            answer: None,
            evaluator: None,
            usage: None,
            stages: None,
            hits: None,
        }
    }

    /// Reads the keys that only searches have.
    fn read_search<'t>(
        &mut self,
        it: &mut Compiler<'_>,
        path: &str,
        key: &dyn Fn(&str) -> Option<(String, &'t Term)>,
    ) {
        match key("hits") {
            Some((path, term)) => self.hits = it.hits(&path, term, self.position_base),
            None => it.report(path, "has no `hits`; name the list of results"),
        }
        if let Some((path, term)) = key("fired") {
            self.fired = it.named(&path, term);
        }
        self.read_cost(it, key);
        if let Some((path, term)) = key("answer") {
            self.answer =
                Some(it.fields(&path, term, AnswerField::NAMES, (&[], &mut |_, _, _, _| {})));
        }
        if let Some((path, term)) = key("usage") {
            self.usage = it.rows(&path, term, UsageField::NAMES);
        }
        if let Some((path, term)) = key("stages") {
            self.stages = it.rows(&path, term, StageField::NAMES);
        }
    }

    /// Reads the cost of a search or of a judgment.
    fn read_cost<'t>(
        &mut self,
        it: &mut Compiler<'_>,
        key: &dyn Fn(&str) -> Option<(String, &'t Term)>,
    ) {
        if let Some((path, term)) = key("cost") {
            let cost = it.fields(&path, term, CostField::NAMES, (&[], &mut |_, _, _, _| {}));
            if cost[CostField::Amount as usize].is_none() {
                it.report(&format!("{path}.amount"), "is missing");
            }
            self.cost = Some(cost);
        }
    }

    /// Reads the evaluator of judgments.
    fn read_evaluator<'t>(
        &mut self,
        it: &mut Compiler<'_>,
        key: &dyn Fn(&str) -> Option<(String, &'t Term)>,
    ) {
        let Some((path, term)) = key("evaluator") else {
            return;
        };
        let fields = it.fields(
            &path,
            term,
            EvaluatorField::NAMES,
            (&[], &mut |_, _, _, _| {}),
        );
        for field in [EvaluatorField::Id, EvaluatorField::Kind] {
            if fields[field as usize].is_none() {
                let name = EvaluatorField::NAMES[field as usize];
                it.report(&format!("{path}.{name}"), "is missing");
            }
        }
        self.evaluator = Some(fields);
    }

    fn check_required(&self, compiler: &mut Compiler<'_>, path: &str) {
        let required: &[&[&str]] = match self.kind {
            Kind::Search => &[&["query_id"], &["ts"], &["query", "query_key"]],
            Kind::Feedback => &[&["ts"], &["type"], &["query_id", "session_id"]],
        };
        let names = self.names();
        for alternatives in required {
            let is_mapped = |name: &&str| {
                let mut fields = names.iter().zip(&self.fields);
                fields.any(|(known, sources)| known == name && sources.is_some())
            };
            // A source that cannot be used is reported already.
            if !alternatives.iter().any(is_mapped) && compiler.problems.is_empty() {
                let text = format!("maps no `{}`", alternatives.join("` or `"));
                compiler.report(path, text);
            }
        }
    }

    /// Names of the fields.
    pub(super) fn names(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Search => SearchField::NAMES,
            Kind::Feedback => FeedbackField::NAMES,
        }
    }
}
