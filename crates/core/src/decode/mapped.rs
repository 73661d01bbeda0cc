//! Decoder of records in a team's own format, described by a mapping: pointers into a record become the
//! fields of events.
//!
//! A mapping is compiled once to a trie of its pointers (`trie`). A record is read along the trie,
//! in any encoding, without a tree of its values; then the fields are set from what was found.
//! The events are checked as native events are.

mod build;
mod plan;
mod scalar;
mod term;
mod trie;

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeSeed as _;

use super::framing::{self, Compression, Framing};
use super::json::{not_json, text_of_any};
use super::{Decoded, Encoded, Event, EventRef};
use crate::event::{Kind, Limits, Reason, RecordCounts, Rejection};
use plan::{Each, Origin, Plan, Scope};
use scalar::Scalar;
use trie::{Found, Node, Stop, Walk};

pub use term::Term;

/// Encoding of the records of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// JSON, UTF-8.
    Json,
}

impl Encoding {
    /// Every encoding with its name in the configuration.
    pub const NAMES: [(&str, Self); 1] = [("json", Self::Json)];
}

/// Form of the records of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Encoding.
    pub encoding: Encoding,
    /// Framing around the encoding.
    pub framing: Framing,
    /// Compression of the whole payload.
    pub compression: Compression,
}

impl Form {
    /// Form of the lines of files.
    const OF_LINES: Self = Self {
        encoding: Encoding::Json,
        framing: Framing::None,
        compression: Compression::None,
    };

    /// Returns the content of a payload without compression.
    fn content(self, payload: &[u8]) -> Result<&[u8], Rejection> {
        match self.framing {
            Framing::None => Ok(payload),
            Framing::Confluent if payload.is_empty() => Ok(payload),
            Framing::Confluent => framing::unframed(payload)
                .map(|(_, content)| content)
                .ok_or_else(|| {
                    Rejection::new(
                        Reason::NotJson,
                        "the record is not framed for a schema registry: it begins with another byte \
                         than 0; set framing: none",
                    )
                }),
        }
    }
}

/// Problem of a mapping, with its path in it (`.search.fields.ts`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path within the mapping.
    pub path: String,
    /// Problem and remedy.
    pub text: String,
}

/// Compiled mapping with the form of its records.
#[derive(Clone)]
pub struct Mapped {
    name: String,
    form: Form,
    term: Term,
    search: Option<Plan>,
    feedback: Option<Plan>,
}

impl PartialEq for Mapped {
    fn eq(&self, other: &Self) -> bool {
        // The plans follow from the term.
        self.name == other.name && self.form == other.form && self.term == other.term
    }
}

impl Eq for Mapped {}

impl fmt::Debug for Mapped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut mapped = formatter.debug_struct("Mapped");
        mapped.field("name", &self.name);
        mapped.field("form", &self.form);
        mapped.field("term", &self.term).finish_non_exhaustive()
    }
}

impl Mapped {
    /// Compiles the mapping of the format `name`.
    ///
    /// # Errors
    /// All problems of the mapping, with their paths.
    pub fn compile(name: &str, form: Form, term: Term) -> Result<Self, Vec<Problem>> {
        let (mut search, mut feedback, mut problems) = (None, None, Vec::new());
        let kinds = term.section("", &mut problems);
        for (kind, written) in kinds {
            let path = format!(".{kind}");
            match kind.as_str() {
                "search" => search = Plan::compile(Kind::Search, written, &path, &mut problems),
                "feedback" => {
                    feedback = Plan::compile(Kind::Feedback, written, &path, &mut problems);
                }
                _ => problems.push(Problem {
                    path,
                    text: "unknown key; search and feedback are known".to_owned(),
                }),
            }
        }
        if kinds.is_empty() && problems.is_empty() {
            problems.push(Problem {
                path: String::new(),
                text: "maps neither search nor feedback".to_owned(),
            });
        }
        if problems.is_empty() {
            let name = name.to_owned();
            Ok(Self {
                name,
                form,
                term,
                search,
                feedback,
            })
        } else {
            Err(problems)
        }
    }

    /// Name of the format in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if the mapping has events of a kind.
    pub fn maps(&self, kind: Kind) -> bool {
        self.plan(kind).is_some()
    }

    /// Format of the same records as lines of a file.
    #[must_use]
    pub(super) fn of_lines(&self) -> Self {
        Self {
            form: Form::OF_LINES,
            ..self.clone()
        }
    }

    fn plan(&self, kind: Kind) -> Option<&Plan> {
        match kind {
            Kind::Search => self.search.as_ref(),
            Kind::Feedback => self.feedback.as_ref(),
        }
    }

    fn plan_of(&self, kind: Kind) -> Result<&Plan, Rejection> {
        self.plan(kind).ok_or_else(|| {
            Rejection::new(
                Reason::BadValue,
                format_args!(
                    "formats.{} has no mapping of {} events",
                    self.name,
                    kind.name()
                ),
            )
        })
    }

    /// Decodes a record that holds a single event.
    pub(super) fn event<'a>(
        &'a self,
        kind: Kind,
        record: Encoded<'a>,
        limits: &Limits,
    ) -> Result<Decoded<'a>, Rejection> {
        let plan = self.plan_of(kind)?;
        // What is decompressed does not outlive the decoding.
        if plan.each.is_some() || self.form.compression != Compression::None {
            return Ok(Decoded::Several);
        }
        let record = Encoded {
            payload: self.form.content(record.payload)?,
            ..record
        };
        let event = plan.single(record, limits)?;
        Ok(event.map_or(Decoded::Ignored, Decoded::Event))
    }

    /// Decodes a record, and passes its events to `visit`. Returns the counts of its events.
    ///
    /// # Errors
    /// The record cannot be decoded. Nothing is visited then.
    pub(super) fn events(
        &self,
        kind: Kind,
        record: Encoded<'_>,
        limits: &Limits,
        visit: &mut dyn FnMut(Result<EventRef<'_>, Rejection>),
    ) -> Result<RecordCounts, Rejection> {
        let plan = self.plan_of(kind)?;
        let mut counts = RecordCounts::default();
        let inflated = self.form.compression.inflated(record.payload, limits)?;
        let record = Encoded {
            payload: self.form.content(&inflated)?,
            ..record
        };
        match &plan.each {
            Some(each) => plan.several(each, record, limits, &mut counts, visit)?,
            None => match plan.single(record, limits)? {
                Some(event) => visit(Ok(event.as_ref())),
                None => counts.ignored += 1,
            },
        }
        Ok(counts)
    }
}

impl Plan {
    /// Decodes a record of one event; `None` if the mapping does not select it.
    fn single<'a>(
        &'a self,
        record: Encoded<'a>,
        limits: &Limits,
    ) -> Result<Option<Event<'a>>, Rejection> {
        let text = text_of_any(record.payload, limits)?;
        let mut found = self.event.found();
        match self.event.read(text, record, limits, &mut found)? {
            None => self.build(found, limits),
            Some(()) => Ok(None),
        }
    }

    /// Decodes a record that holds a list of events.
    fn several<'a>(
        &'a self,
        each: &'a Each,
        record: Encoded<'a>,
        limits: &Limits,
        counts: &mut RecordCounts,
        visit: &mut dyn FnMut(Result<EventRef<'_>, Rejection>),
    ) -> Result<(), Rejection> {
        let text = text_of_any(record.payload, limits)?;
        let mut outer = each.record.found();
        each.record.read(text, record, limits, &mut outer)?;
        let events = outer.rows.pop().unwrap_or_default();
        for (index, mut found) in events.into_iter().enumerate() {
            for (from, to) in &each.copies {
                if let (Some(from), Some(to)) = (outer.slots.get(*from), found.slots.get_mut(*to)) {
                    to.clone_from(from);
                }
            }
            let built = self
                .event
                .read_envelope(record, limits, &mut found)
                .and_then(|()| self.build(found, limits));
            match built {
                Ok(Some(event)) => visit(Ok(event.as_ref())),
                Ok(None) => counts.ignored += 1,
                Err(rejection) => {
                    let place = format!("{}/{index}", self.each_pointer());
                    visit(Err(rejection.placed_at(&place).of_one_event()));
                }
            }
        }
        Ok(())
    }

    fn each_pointer(&self) -> &str {
        let list = self
            .each
            .as_ref()
            .and_then(|each| each.record.lists.first());
        list.map_or("", |list| &list.pointer)
    }
}

impl Scope {
    fn found<'a>(&self) -> Found<'a> {
        Found::new(self.slots.len(), self.lists.len())
    }

    /// Reads the values of a record. Returns a value if the mapping does not select it.
    fn read<'a>(
        &'a self,
        text: &'a str,
        record: Encoded<'a>,
        limits: &Limits,
        found: &mut Found<'a>,
    ) -> Result<Option<()>, Rejection> {
        self.read_envelope(record, limits, found)?;
        if let Err(error) = self.read_json(&self.root, text, limits, found) {
            return match found.stop.take() {
                Some(Stop::Ignored) => Ok(Some(())),
                Some(Stop::Rejected(rejection)) => Err(rejection),
                None => Err(not_json(text, &error)),
            };
        }
        Ok(None)
    }

    /// Reads the values around the payload.
    fn read_envelope<'a>(
        &'a self,
        record: Encoded<'a>,
        limits: &Limits,
        found: &mut Found<'a>,
    ) -> Result<(), Rejection> {
        let Some(envelope) = record.envelope else {
            return Ok(());
        };
        let text = |bytes: Option<&'a [u8]>| match bytes {
            None => Scalar::Absent,
            Some(bytes) => std::str::from_utf8(bytes)
                .map_or(Scalar::Other("bytes"), |text| Scalar::Text(text.into())),
        };
        for (origin, slot) in &self.envelope {
            let value = match origin {
                Origin::Key => text(envelope.key()),
                Origin::Header(name) => text(envelope.header(name)),
                Origin::Timestamp => envelope.timestamp().map_or(Scalar::Absent, Scalar::Time),
            };
            if let Some(slot) = found.slots.get_mut(*slot) {
                *slot = value;
            }
        }
        if let (Some(root), Scalar::Text(Cow::Borrowed(key))) = (&self.key, text(envelope.key()))
            && let Err(error) = self.read_json(root, key, limits, found)
        {
            found.stop = None;
            return Err(Rejection::new(
                Reason::NotJson,
                format_args!("key: {}", not_json(key, &error).detail),
            ));
        }
        Ok(())
    }

    fn read_json<'a>(
        &'a self,
        root: &'a Node,
        text: &'a str,
        limits: &Limits,
        found: &mut Found<'a>,
    ) -> Result<(), serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let walk = Walk {
            node: root,
            lists: &self.lists,
            found,
            limits,
        };
        walk.deserialize(&mut deserializer)?;
        deserializer.end()
    }
}
