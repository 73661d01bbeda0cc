//! Search that a selected span describes.

use std::borrow::Cow;

use super::documents::{self, unreadable};
use super::keys::Attribute;
use super::mapping::{Mapping, Session, Source, SpanKind};
use super::span::{Attributes, ExceptionType, Resource, Span, hex};
use super::value::{Any, Raw, Unreadable, utf8};
use crate::decode::action::MAX_DURATION_MS;
use crate::event::{
    self, Acceptance, Cost, Id, Reason, RecordCounts, Rejection, Search, SpanOutcome, Text, Usage,
    Value,
};
use crate::time::EventTime;

/// Classification of a span.
pub(super) enum Classified<'a> {
    /// It is a search.
    Search(Box<Search<'a>>),
    /// It is a search that cannot be used.
    Invalid(Rejection),
    /// It is no event.
    NoEvent(SpanOutcome),
}

/// Span with all that belongs to it.
pub(super) struct Context<'r, 'a> {
    pub(super) span: &'r Span<'a>,
    pub(super) resource: &'r Resource<'a>,
    pub(super) mapping: &'r Mapping,
}

/// Returns true if a span is selected as a search, whether or not it can be used.
pub(super) fn is_selected(span: &Span<'_>, attributes: &Attributes<'_>, mapping: &Mapping) -> bool {
    let is_named = || utf8(&span.name).is_ok_and(|name| mapping.selects_name(name));
    selected(span, attributes, mapping).is_some() && is_named()
}

/// Kind of a span whose kind is selected.
fn selected(span: &Span<'_>, attributes: &Attributes<'_>, mapping: &Mapping) -> Option<SpanKind> {
    match kind(attributes) {
        Ok(Some(Kind::Search(kind))) => mapping.search_spans.contains(&kind).then_some(kind),
        Ok(Some(Kind::Other)) | Err(_) => None,
        // The attribute with the kind can be among those that the process dropped.
        Ok(None) => (span.dropped > 0
            && attributes.has_retrieved_documents()
            && mapping.search_spans.contains(&SpanKind::Retriever))
        .then_some(SpanKind::Retriever),
    }
}

/// Classifies a span, and counts what it lost.
pub(super) fn classify<'a>(
    context: &Context<'_, 'a>,
    attributes: &mut Attributes<'a>,
    acceptance: &Acceptance,
    counts: &mut RecordCounts,
) -> Classified<'a> {
    let (span, mapping) = (context.span, context.mapping);
    let Some(kind) = selected(span, attributes, mapping) else {
        return Classified::NoEvent(SpanOutcome::Other);
    };
    let name = match utf8(&span.name) {
        Ok(name) => name,
        Err(problem) => return Classified::Invalid(unreadable("name", &problem)),
    };
    if !context.resource.is_selected || !mapping.selects_name(name) {
        return Classified::NoEvent(SpanOutcome::Ignored);
    }
    counts.dropped_attributes += span.dropped;
    let limit = acceptance.limits.results_per_search;
    let documents = match documents::read(kind, span, attributes, mapping, limit) {
        Ok(Some(documents)) => documents,
        Ok(None) => return Classified::NoEvent(SpanOutcome::WithoutDocuments),
        Err(rejection) => return Classified::Invalid(rejection),
    };
    counts.documents_without_id += documents.without_id;
    match context.search(kind, attributes, documents, acceptance) {
        Ok(search) => Classified::Search(Box::new(search)),
        Err(rejection) => Classified::Invalid(rejection),
    }
}

/// Kind of a span.
enum Kind {
    Search(SpanKind),
    Other,
}

/// Returns the kind of a span by the first convention that states one.
fn kind(attributes: &Attributes<'_>) -> Result<Option<Kind>, Unreadable> {
    for (attribute, retriever, reranker) in [
        (Attribute::SpanKind, "RETRIEVER", "RERANKER"),
        (Attribute::Operation, "retrieval", ""),
        (Attribute::Observation, "retriever", ""),
    ] {
        if let Some(stated) = attributes.get(attribute)?.text() {
            return Ok(Some(if stated.eq_ignore_ascii_case(retriever) {
                Kind::Search(SpanKind::Retriever)
            } else if !reranker.is_empty() && stated.eq_ignore_ascii_case(reranker) {
                Kind::Search(SpanKind::Reranker)
            } else {
                Kind::Other
            }));
        }
    }
    Ok(None)
}

/// Reads an attribute as text.
fn text<'a>(
    attributes: &Attributes<'a>,
    attribute: Attribute,
) -> Result<Option<Cow<'a, str>>, Rejection> {
    let value = attributes.get(attribute);
    let value = value.map_err(|problem| unreadable(attribute.name(), &problem))?;
    Ok(value.text())
}

/// Reads the first of several attributes as text.
fn first_text<'a>(
    attributes: &Attributes<'a>,
    candidates: &[Attribute],
) -> Result<Option<Text<'a>>, Rejection> {
    for attribute in candidates {
        if let Some(text) = text(attributes, *attribute)? {
            return Ok(Some(Text(text)));
        }
    }
    Ok(None)
}

impl<'a> Context<'_, 'a> {
    fn search(
        &self,
        kind: SpanKind,
        attributes: &Attributes<'a>,
        documents: documents::Documents<'a>,
        acceptance: &Acceptance,
    ) -> Result<Search<'a>, Rejection> {
        let span = self.span;
        let (Some(trace_id), Some(span_id)) = (span.trace_id, span.span_id) else {
            return Err(Rejection::new(
                Reason::BadValue,
                "traceId, spanId: 16 and 8 bytes that are not all zero are expected",
            ));
        };
        let missing = |detail: &str| Rejection::new(Reason::MissingField, detail);
        if span.end == 0 {
            return Err(missing("missing field `endTimeUnixNano`"));
        }
        let metadata = metadata(attributes)?;
        let values = Values {
            context: self,
            kind,
            attributes,
            metadata,
        };
        let query = self.query(attributes)?;
        let query_key = values.first(&self.mapping.query_key)?;
        if query.is_none() && query_key.is_none() {
            return Err(missing(
                "no query: one of reranker.query, input.value, gen_ai.retrieval.query.text, \
                 langfuse.observation.input and otlp.query_key is required",
            ));
        }
        if let Some(position) = documents.first_without_id
            && !acceptance.has_gold_texts
        {
            return Err(Rejection::new(
                Reason::MissingField,
                format_args!(
                    "document {position} has no id; set otlp.document_id to a key of its metadata, \
                     or judge by text with gold texts"
                ),
            ));
        }
        let mut trace = String::with_capacity(32);
        hex(&trace_id, &mut trace);
        let mut query_id = String::with_capacity(49);
        query_id.push_str(&trace);
        query_id.push('/');
        hex(&span_id, &mut query_id);
        let session_id = match self.mapping.session {
            Session::Trace => Some(Id(Cow::Owned(trace.clone()))),
            Session::SessionId => {
                let candidates = [Attribute::SessionId, Attribute::Conversation];
                let id = first_text(attributes, &candidates)?.map(|text| Id(text.0));
                if let Some(id) = &id {
                    crate::decode::json::check_id("session_id", id)?;
                }
                id
            }
        };
        let labels = values.labels()?;
        let variant = values.first(&self.mapping.variant)?.map(Text);
        let (usage, cost) = usage(kind, attributes)?;
        let mut search = Search::of_documents(Id(Cow::Owned(query_id)), std::iter::empty());
        search.ts = EventTime(i64::try_from(span.end / 1_000_000).unwrap_or(i64::MAX));
        search.latency_ms = self.latency();
        search.query = query.map(Text);
        search.query_key = query_key.map(Id);
        search.results = documents.hits;
        search.usage = usage.map(|usage| vec![usage]);
        search.cost = cost;
        search.variant = variant;
        search.session_id = session_id;
        search.user_id = text(attributes, Attribute::UserId)?.map(Id);
        search.trace_id = Some(Id(Cow::Owned(trace)));
        search.application = self.application()?.map(Text);
        search.error_type = self.error_type(attributes)?.map(Text);
        search.labels = Some(labels);
        Ok(search)
    }

    /// Duration in milliseconds; `None` if the clock of the process was set back, or if the span
    /// has no start.
    fn latency(&self) -> Option<f64> {
        let duration = self.span.end.checked_sub(self.span.start)?;
        if self.span.start == 0 {
            return None;
        }
        #[allow(
            clippy::cast_precision_loss,
            reason = "durations of up to 100 days are exact to the nanosecond"
        )]
        let latency = duration as f64 / 1e6;
        (latency <= MAX_DURATION_MS).then_some(latency)
    }

    /// Returns the query of the first convention that states one.
    fn query(&self, attributes: &Attributes<'a>) -> Result<Option<Cow<'a, str>>, Rejection> {
        if let Some(query) = text(attributes, Attribute::RerankerQuery)? {
            return Ok(Some(query));
        }
        if let Some(input) = text(attributes, Attribute::Input)? {
            let media_type = text(attributes, Attribute::InputType)?;
            let is_json = media_type.as_deref() == Some("application/json");
            if let Some(query) = self.query_of(input, is_json, Attribute::Input)? {
                return Ok(Some(query));
            }
        }
        if let Some(query) = text(attributes, Attribute::GenAiQuery)? {
            return Ok(Some(query));
        }
        match text(attributes, Attribute::LangfuseInput)? {
            Some(input) => self.query_of(input, false, Attribute::LangfuseInput),
            None => Ok(None),
        }
    }

    /// Returns the query in an input: a text, or a member of a JSON object.
    fn query_of(
        &self,
        input: Cow<'a, str>,
        is_json: bool,
        attribute: Attribute,
    ) -> Result<Option<Cow<'a, str>>, Rejection> {
        let looks_like_json = input.starts_with(['{', '"']);
        if !is_json && !looks_like_json {
            return Ok(Some(input));
        }
        match Any::of_json(input.clone()) {
            Ok(Any::Text(text)) => Ok(Any::Text(text).text()),
            Ok(mut object @ Any::Map(_)) => {
                let mut fields = self.mapping.query_fields.iter();
                Ok(fields.find_map(|field| object.take(field).and_then(Any::text)))
            }
            Ok(_) => Ok(None),
            Err(_) if is_json => Err(Rejection::new(
                Reason::BadValue,
                format_args!("{}: not JSON, or truncated JSON", attribute.name()),
            )),
            Err(_) => Ok(Some(input)),
        }
    }

    fn application(&self) -> Result<Option<Cow<'a, str>>, Rejection> {
        match self.resource.service_name {
            Some(value) => Ok(decode("service.name", value)?.text()),
            None => Ok(None),
        }
    }

    fn error_type(&self, attributes: &Attributes<'a>) -> Result<Option<Cow<'a, str>>, Rejection> {
        if !self.span.is_error {
            return Ok(None);
        }
        if let Some(stated) = text(attributes, Attribute::ErrorType)? {
            return Ok(Some(stated));
        }
        let exception = match self.span.exception {
            ExceptionType::Value(value) => decode("exception.type", value)?.text(),
            ExceptionType::Absent => None,
        };
        Ok(Some(exception.unwrap_or(Cow::Borrowed("error"))))
    }

    /// Describes the span for an error message.
    pub(super) fn place(&self) -> String {
        let mut place = String::from("span ");
        if let (Some(trace), Some(span)) = (self.span.trace_id, self.span.span_id) {
            hex(&trace, &mut place);
            place.push('/');
            hex(&span, &mut place);
            place.push(' ');
        }
        place.extend(self.name().chars().take(100));
        place
    }

    fn name(&self) -> Text<'a> {
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Text(match &self.span.name {
            Cow::Borrowed(name) => match std::str::from_utf8(name) {
                Ok(name) => Cow::Borrowed(name),
                Err(_) => Cow::Owned(lossy(name)),
            },
            Cow::Owned(name) => Cow::Owned(lossy(name)),
        })
    }
}

/// Reads the metadata of the span.
fn metadata<'a>(attributes: &Attributes<'a>) -> Result<Any<'a>, Rejection> {
    let attribute = Attribute::Metadata;
    let value = attributes.get(attribute);
    let value = value.map_err(|problem| unreadable(attribute.name(), &problem))?;
    Ok(match value {
        Any::Text(text) if documents::NO_JSON.contains(&&*text) => Any::Empty,
        Any::Text(text) => {
            Any::of_json(text).map_err(|problem| unreadable(attribute.name(), &problem))?
        }
        value => value,
    })
}

fn decode<'a>(name: &str, value: Raw<'a>) -> Result<Any<'a>, Rejection> {
    value.decode().map_err(|problem| unreadable(name, &problem))
}

/// Values that the configuration names.
struct Values<'r, 'a> {
    context: &'r Context<'r, 'a>,
    kind: SpanKind,
    attributes: &'r Attributes<'a>,
    metadata: Any<'a>,
}

impl<'a> Values<'_, 'a> {
    /// Value of the first source that the span has.
    fn first(&self, sources: &[Source]) -> Result<Option<Cow<'a, str>>, Rejection> {
        for source in sources {
            if let Some(value) = self.get(source)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn get(&self, source: &Source) -> Result<Option<Cow<'a, str>>, Rejection> {
        let raw = |value: Option<&Option<Raw<'a>>>, list: &[String], position: usize| {
            let Some(Some(value)) = value else {
                return Ok(None);
            };
            let name = list.get(position).map_or("", String::as_str);
            Ok(decode(name, *value)?.scalar())
        };
        let mapping = self.context.mapping;
        match source {
            Source::SpanKind => Ok(Some(Cow::Borrowed(self.kind.name()))),
            Source::SpanName => Ok(Some(self.context.name().0)),
            Source::Metadata(key, attribute) => {
                if let Any::Map(members) = &self.metadata
                    && let Some((_, value)) = members.iter().find(|(name, _)| name == key)
                    && let Some(value) = value.clone().scalar()
                {
                    return Ok(Some(value));
                }
                let value = self.attributes.configured.get(*attribute);
                raw(value, &mapping.span_attributes, *attribute)
            }
            Source::Resource(position) => {
                let value = self.context.resource.configured.get(*position);
                raw(value, &mapping.resource_attributes, *position)
            }
            Source::Attribute(position) => {
                let value = self.attributes.configured.get(*position);
                raw(value, &mapping.span_attributes, *position)
            }
        }
    }

    fn labels(&self) -> Result<event::Attributes<'a>, Rejection> {
        let label =
            |name: &'static str, value| (Text(Cow::Borrowed(name)), Value::Text(Text(value)));
        let mut labels = vec![
            label("span_kind", Cow::Borrowed(self.kind.name())),
            label("span_name", self.context.name().0),
        ];
        if let Some(source) = text(self.attributes, Attribute::DataSource)? {
            labels.push(label(Attribute::DataSource.name(), source));
        }
        for (name, source) in &self.context.mapping.labels {
            if let Some(value) = self.get(source)? {
                let name = Text(Cow::Owned(name.clone()));
                labels.push((name, Value::Text(Text(value))));
            }
        }
        Ok(event::Attributes(labels))
    }
}

/// Reads the tokens and the cost that the span itself states.
fn usage<'a>(
    kind: SpanKind,
    attributes: &Attributes<'a>,
) -> Result<(Option<Usage<'a>>, Option<Cost<'a>>), Rejection> {
    let get = |attribute: Attribute| {
        let value = attributes.get(attribute);
        value.map_err(|problem| unreadable(attribute.name(), &problem))
    };
    let object = |attribute: Attribute| {
        let object = text(attributes, attribute)?.and_then(|text| Any::of_json(text).ok());
        Ok::<_, Rejection>(object.unwrap_or_default())
    };
    let mut details = object(Attribute::LangfuseUsage)?;
    let mut count = |openinference, gen_ai, langfuse: &str| {
        let mut value = None;
        for attribute in [openinference, gen_ai] {
            value = value.or(get(attribute)?.count());
        }
        let value = value.or_else(|| details.take(langfuse)?.count());
        Ok::<_, Rejection>(
            value.filter(|count| *count <= crate::decode::native::MAX_TOKENS_PER_CALL),
        )
    };
    let usage = Usage {
        input_tokens: count(
            Attribute::PromptTokens,
            Attribute::GenAiInputTokens,
            "input",
        )?,
        output_tokens: count(
            Attribute::CompletionTokens,
            Attribute::GenAiOutputTokens,
            "output",
        )?,
        cache_read_input_tokens: count(
            Attribute::CacheReadTokens,
            Attribute::GenAiCacheReadTokens,
            "cache_read_input_tokens",
        )?,
        reasoning_output_tokens: count(
            Attribute::ReasoningTokens,
            Attribute::GenAiReasoningTokens,
            "reasoning_tokens",
        )?,
        operation: Some(Text(Cow::Borrowed(match kind {
            SpanKind::Retriever => "retrieval",
            SpanKind::Reranker => "rerank",
        }))),
        provider: None,
        model: None,
        cost: None,
    };
    let cost = get(Attribute::LlmCost)?.number();
    let cost = match cost {
        Some(cost) => Some(cost),
        None => object(Attribute::LangfuseCost)?
            .take("total")
            .and_then(|total| total.number()),
    };
    let cost = cost.filter(|amount| (0.0..=1e9).contains(amount));
    let cost = cost.map(|amount| Cost {
        amount,
        currency: None,
    });
    let has_tokens = usage.input_tokens.is_some()
        || usage.output_tokens.is_some()
        || usage.cache_read_input_tokens.is_some()
        || usage.reasoning_output_tokens.is_some();
    if !has_tokens {
        return Ok((None, cost));
    }
    let models = [
        Attribute::RerankerModel,
        Attribute::EmbeddingModel,
        Attribute::LlmModel,
        Attribute::ResponseModel,
        Attribute::RequestModel,
        Attribute::LangfuseModel,
    ];
    let providers = [Attribute::LlmProvider, Attribute::GenAiProvider];
    let usage = Usage {
        model: first_text(attributes, &models)?,
        provider: first_text(attributes, &providers)?,
        ..usage
    };
    Ok((Some(usage), cost))
}
