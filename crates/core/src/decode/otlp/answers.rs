//! Answers in the spans of a record, and the searches that they belong to.
//!
//! An answer is the output of a span whose name the mapping selects, usually the root of the trace. It
//! belongs to the last search of its trace that ended before it did, as feedback on a trace does. Both have
//! to be in the same record: no record is kept for a later one, so the memory is bounded by the record, and
//! reading it again gives the same events.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::keys::Attribute;
use super::mapping::Mapping;
use super::search;
use super::span::{Attributes, Resource, Span};
use super::value::{Any, Raw, utf8};
use crate::event::{Answer, Text};

/// Members of a JSON output that can be the answer, in order of precedence.
const MEMBERS: [&str; 7] = [
    "answer",
    "output",
    "result",
    "response",
    "content",
    "text",
    "output_text",
];

type Trace = [u8; 16];
type SpanId = [u8; 8];

/// Span with an answer.
#[derive(Debug)]
struct Output<'a> {
    end: u64,
    text: Option<Raw<'a>>,
    messages: Option<Raw<'a>>,
    first_message: Option<Raw<'a>>,
    langfuse: Option<Raw<'a>>,
    models: [Option<Raw<'a>>; 3],
}

/// Answers of a record.
#[derive(Debug, Default)]
pub(super) struct Answers<'a> {
    /// Outermost span with an answer, by trace.
    outputs: FxHashMap<Trace, Output<'a>>,
    /// Ends of the searches of a trace with their spans.
    searches: FxHashMap<Trace, Vec<(u64, SpanId)>>,
}

impl<'a> Answers<'a> {
    /// Notes a span: an answer, or a search.
    pub(super) fn note(
        &mut self,
        span: &Span<'a>,
        attributes: &Attributes<'a>,
        (resource, mapping): (&Resource<'a>, &Mapping),
    ) {
        let (Some(trace), Some(id)) = (span.trace_id, span.span_id) else {
            return;
        };
        if search::is_selected(span, attributes, mapping) {
            if resource.is_selected {
                self.searches.entry(trace).or_default().push((span.end, id));
            }
            return;
        }
        let name = utf8(&span.name).unwrap_or_default();
        if !mapping.selects_answer(name) {
            return;
        }
        let output = Output {
            end: span.end,
            text: attributes.raw(Attribute::Output),
            messages: attributes.raw(Attribute::GenAiOutputMessages),
            first_message: attributes.raw(Attribute::LlmOutputMessage),
            langfuse: attributes.raw(Attribute::LangfuseOutput),
            models: [
                Attribute::LlmModel,
                Attribute::ResponseModel,
                Attribute::RequestModel,
            ]
            .map(|it| attributes.raw(it)),
        };
        let is_later = |known: &Output<'a>| known.end < output.end;
        if self.outputs.get(&trace).is_none_or(is_later) {
            self.outputs.insert(trace, output);
        }
    }

    /// Number of traces with an answer and without a search in this record.
    pub(super) fn without_search(&self) -> u64 {
        let outputs = self.outputs.iter();
        let alone = outputs.filter(|(trace, output)| self.last(trace, output.end).is_none());
        u64::try_from(alone.count()).unwrap_or(u64::MAX)
    }

    /// Last search of a trace that ended before its answer.
    fn last(&self, trace: &Trace, end: u64) -> Option<SpanId> {
        let searches = self.searches.get(trace)?.iter();
        let before = searches.filter(|(at, _)| *at <= end);
        before.max().map(|(_, id)| *id)
    }

    /// Answer of a search. `None` without one, or if its text cannot be read.
    pub(super) fn of(&self, span: &Span<'_>) -> Option<Answer<'a>> {
        let (trace, id) = (span.trace_id?, span.span_id?);
        let output = self.outputs.get(&trace)?;
        if self.last(&trace, output.end) != Some(id) {
            return None;
        }
        let text = output.answer()?;
        let models = output.models.iter().flatten();
        let model = models.copied().find_map(|raw| raw.decode().ok()?.text());
        Some(Answer {
            text: Some(Text(text)),
            model: model.map(Text),
            ..Answer::default()
        })
    }
}

impl<'a> Output<'a> {
    /// Text of the answer, by the first convention that states one.
    fn answer(&self) -> Option<Cow<'a, str>> {
        let text = |raw: &Option<Raw<'a>>| (*raw)?.decode().ok()?.text();
        let output = || text_of(text(&self.text)?);
        let message = || text(&self.first_message);
        let messages = || last_message((self.messages)?.decode().ok()?);
        let langfuse = || text_of(text(&self.langfuse)?);
        let found = output()
            .or_else(message)
            .or_else(messages)
            .or_else(langfuse);
        found.filter(|text| !text.trim().is_empty())
    }
}

/// Text of an output: itself, or a member of a JSON object.
fn text_of(output: Cow<'_, str>) -> Option<Cow<'_, str>> {
    if !output.starts_with(['{', '"']) {
        return Some(output);
    }
    match Any::of_json(output.clone()) {
        Ok(Any::Text(text)) => Any::Text(text).text(),
        Ok(mut object @ Any::Map(_)) => {
            let mut members = MEMBERS.iter();
            members.find_map(|member| object.take(member).and_then(Any::text))
        }
        Ok(_) => None,
        Err(_) => Some(output),
    }
}

/// Text of the last message of `gen_ai.output.messages`: its parts of the type `text`.
fn last_message(messages: Any<'_>) -> Option<Cow<'_, str>> {
    let messages = match messages {
        Any::Text(text) => Any::of_json(text).ok()?,
        structured => structured,
    };
    let Any::List(messages) = messages else {
        return None;
    };
    let mut message = messages.into_iter().next_back()?;
    let Any::List(parts) = message.take("parts")? else {
        return None;
    };
    let texts = parts.into_iter().filter_map(|mut part| {
        let kind = part.take("type").and_then(Any::text);
        let is_text = kind.as_deref().is_none_or(|kind| kind == "text");
        part.take("content").and_then(Any::text).filter(|_| is_text)
    });
    let texts: Vec<Cow<'_, str>> = texts.collect();
    (!texts.is_empty()).then(|| Cow::Owned(texts.concat()))
}
