//! Events of a body: their decoding, and the records that they become.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memchr_iter, memchr2};
use rankgauge_core::decode::otlp::Mapping;
use rankgauge_core::decode::{EventRef, Format, Formats};
use rankgauge_core::event::{
    Acceptance, Feedback, Kind, Reason, RecordCounts, Rejection, Search, SpanOutcome, Text,
};
use serde::de::{DeserializeSeed, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::answer::{Refusal, RejectedEvent};
use crate::memory::Memory;
use crate::routes::Reading;
use crate::settings::{KeyBy, Settings};
use rankgauge_serve::gateway::Route;

/// Memory of a JSON object of OpenTelemetry while its message is read, at most. An object can have two bytes.
const OBJECT_BYTES: usize = 256;

/// Record of an event.
pub(crate) struct Record<'a> {
    /// Number of the event in the request.
    pub(crate) index: usize,
    pub(crate) kind: Kind,
    pub(crate) key: &'a str,
    pub(crate) payload: &'a [u8],
}

/// Receiver of records. An error ends the reading of the request.
pub(crate) trait Sink {
    fn record(&mut self, record: &Record<'_>) -> Result<(), Refusal>;
}

/// Reader of the events of a request.
pub(crate) struct Reader<'r, S> {
    pub(crate) key: KeyBy,
    pub(crate) acceptance: Acceptance,
    pub(crate) sink: &'r mut S,
    pub(crate) rejected: Vec<RejectedEvent>,
    /// Number of events that are not selected.
    pub(crate) ignored: usize,
    buffer: Vec<u8>,
}

impl<'r, S: Sink> Reader<'r, S> {
    pub(crate) fn new(key: KeyBy, acceptance: Acceptance, sink: &'r mut S) -> Self {
        Self {
            key,
            acceptance,
            sink,
            rejected: Vec::new(),
            ignored: 0,
            buffer: Vec::new(),
        }
    }

    /// Reads one element of a body, which holds one event, or several with a mapping.
    pub(crate) fn read(
        &mut self,
        index: usize,
        kind: Kind,
        formats: &Formats,
        element: &[u8],
    ) -> Result<(), Refusal> {
        let acceptance = self.acceptance;
        match self.decode(index, kind, formats, element, &acceptance)? {
            Ok(counts) => self.ignored += whole(counts.ignored),
            Err(rejection) => self.reject(index, &rejection),
        }
        Ok(())
    }

    /// Reads the spans of a message of OpenTelemetry that are searches, and its evaluations. Limits of
    /// the configuration apply to each event, `limit` to the message.
    pub(crate) fn read_otlp(
        &mut self,
        formats: &Formats,
        has_traces: bool,
        message: &[u8],
        limit: usize,
    ) -> Result<(), Refusal> {
        let mut acceptance = self.acceptance;
        acceptance.limits.record_bytes = limit;
        let mut kinds = Vec::with_capacity(2);
        if has_traces {
            kinds.push(Kind::Search);
        }
        // Without a configured name, no evaluation is feedback.
        if !has_traces || !formats.otlp.feedback.is_empty() {
            kinds.push(Kind::Feedback);
        }
        for kind in kinds {
            // An empty message of Protocol Buffers is a message without spans.
            if message.is_empty() && formats.of(kind) == Format::OtlpProto {
                continue;
            }
            let counts = match self.decode(0, kind, formats, message, &acceptance)? {
                Ok(counts) => counts,
                Err(rejection) if rejection.reason == Reason::TooLarge => {
                    return Err(Refusal::TooManyEvents(Mapping::MAX_SPANS));
                }
                Err(_) => {
                    return Err(Refusal::Invalid(
                        "the body is not an export request of OpenTelemetry in the encoding that \
                         Content-Type states",
                    ));
                }
            };
            let used = counts[SpanOutcome::Search] + counts[SpanOutcome::Invalid];
            self.ignored += whole(counts.spans() - used);
            // Spans without an evaluation are counted as spans already.
            if !has_traces {
                self.ignored += whole(counts.ignored_evaluations + counts.without_evaluation);
            }
        }
        Ok(())
    }

    /// Decodes a record, and passes its events on.
    fn decode(
        &mut self,
        index: usize,
        kind: Kind,
        formats: &Formats,
        record: &[u8],
        acceptance: &Acceptance,
    ) -> Result<Result<RecordCounts, Rejection>, Refusal> {
        let is_native = formats.of(kind) == Format::Native;
        let mut ended = Ok(());
        let counts = formats.events(kind, record, acceptance, &mut |event| {
            if ended.is_err() {
                return;
            }
            ended = match event {
                Ok(event) => self.event(index, event, is_native.then_some(record)),
                Err(rejection) => {
                    self.reject(index, &rejection);
                    Ok(())
                }
            };
        });
        ended?;
        Ok(counts)
    }

    fn reject(&mut self, index: usize, rejection: &Rejection) {
        self.rejected.push(RejectedEvent::new(index, rejection));
    }

    /// Passes an event on: as it is, or written as native JSON.
    fn event(
        &mut self,
        index: usize,
        event: EventRef<'_>,
        native: Option<&[u8]>,
    ) -> Result<(), Refusal> {
        let (kind, key) = match event {
            EventRef::Search(search) => (Kind::Search, Ok(search_key(search, self.key))),
            EventRef::Feedback(feedback) => (Kind::Feedback, feedback_key(feedback, self.key)),
        };
        let key = match key {
            Ok(key) => key,
            Err(field) => {
                let rejected = RejectedEvent::of_field(index, Reason::MissingField, field);
                self.rejected.push(rejected);
                return Ok(());
            }
        };
        let payload = if let Some(element) = native {
            one_line(element)
        } else {
            self.buffer.clear();
            let written = match event {
                // A search of UBI can lack both, a native one cannot. An empty text is unjudged as well.
                EventRef::Search(search)
                    if search.query.is_none() && search.query_key.is_none() =>
                {
                    let query = Some(Text::default());
                    let search = Search {
                        query,
                        ..search.clone()
                    };
                    serde_json::to_writer(&mut self.buffer, &search)
                }
                EventRef::Search(search) => serde_json::to_writer(&mut self.buffer, search),
                EventRef::Feedback(feedback) => serde_json::to_writer(&mut self.buffer, feedback),
            };
            let limit = self.acceptance.limits.record_bytes;
            if written.is_err() || self.buffer.len() > limit {
                let rejection = Rejection::new(Reason::TooLarge, "");
                self.rejected.push(RejectedEvent::new(index, &rejection));
                return Ok(());
            }
            Cow::Borrowed(self.buffer.as_slice())
        };
        self.sink.record(&Record {
            index,
            kind,
            key,
            payload: &payload,
        })
    }
}

/// Reads the events of a body.
pub(crate) fn read_body<S: Sink>(
    reader: &mut Reader<'_, S>,
    (route, reading): (Route, Reading<'_>),
    is_lines: bool,
    body: &[u8],
    (settings, memory): (&Settings, &Memory),
) -> Result<(), Refusal> {
    match reading {
        Reading::Values(kind, formats) => {
            let elements = elements(body, is_lines, settings.max_events)?;
            if elements.is_empty() {
                return Err(Refusal::Invalid(
                    "the body has no event; send one JSON event, an array of events, or one event a line",
                ));
            }
            for (index, element) in elements.into_iter().enumerate() {
                reader.read(index, kind, formats, element)?;
            }
            Ok(())
        }
        Reading::Otlp(formats) => {
            let mut parsed = memory.reservation();
            if formats.search == Format::OtlpJson {
                let objects = memchr_iter(b'{', body).count();
                let bytes = objects.saturating_mul(OBJECT_BYTES);
                if bytes > settings.memory {
                    return Err(Refusal::TooManyObjects);
                }
                parsed.grow(bytes)?;
            }
            let limit = settings.max_decompressed.max(settings.max_body);
            reader.read_otlp(formats, route == Route::Traces, body, limit)
        }
    }
}

fn whole(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Key of a search: a search without a session is keyed by its id.
fn search_key<'e>(search: &'e Search<'_>, by: KeyBy) -> &'e str {
    match by {
        KeyBy::QueryId => &search.query_id,
        KeyBy::SessionId => search.session_id.as_deref().unwrap_or(&search.query_id),
    }
}

/// Key of feedback; the missing field if it cannot reach the partition of its search.
fn feedback_key<'e>(feedback: &'e Feedback<'_>, by: KeyBy) -> Result<&'e str, &'static str> {
    match by {
        KeyBy::QueryId => feedback.query_id.as_deref().ok_or("query_id"),
        KeyBy::SessionId => feedback.session_id.as_deref().ok_or("session_id"),
    }
}

/// JSON on one line, as records are. Line ends stand only between its tokens.
fn one_line(json: &[u8]) -> Cow<'_, [u8]> {
    let json = json.trim_ascii();
    if memchr2(b'\n', b'\r', json).is_none() {
        return Cow::Borrowed(json);
    }
    let spaced = json.iter().map(|byte| match byte {
        b'\n' | b'\r' => b' ',
        other => *other,
    });
    Cow::Owned(spaced.collect())
}

/// Elements of a JSON body: the elements of an array, the lines of NDJSON, or the body itself.
fn elements(body: &[u8], is_lines: bool, limit: usize) -> Result<Vec<&[u8]>, Refusal> {
    let body = body.trim_ascii();
    if body.is_empty() {
        return Ok(Vec::new());
    }
    if !is_lines {
        if body.starts_with(b"[") {
            return array(body, limit);
        }
        // Several values, one a line, need no media type.
        if memchr(b'\n', body).is_none() || serde_json::from_slice::<&RawValue>(body).is_ok() {
            return Ok(vec![body]);
        }
    }
    let mut lines = Vec::new();
    for line in body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.is_empty() {
            continue;
        }
        if lines.len() == limit {
            return Err(Refusal::TooManyEvents(limit));
        }
        lines.push(line);
    }
    Ok(lines)
}

/// Elements of a JSON array.
fn array(body: &[u8], limit: usize) -> Result<Vec<&[u8]>, Refusal> {
    struct Elements(usize);

    impl<'de> DeserializeSeed<'de> for Elements {
        type Value = Option<Vec<&'de [u8]>>;

        fn deserialize<D: serde::Deserializer<'de>>(
            self,
            deserializer: D,
        ) -> Result<Self::Value, D::Error> {
            deserializer.deserialize_seq(self)
        }
    }

    impl<'de> Visitor<'de> for Elements {
        type Value = Option<Vec<&'de [u8]>>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut elements = Vec::new();
            while let Some(element) = seq.next_element::<&'de RawValue>()? {
                if elements.len() == self.0 {
                    // The rest is not read: the visitor ends with an error of the parser otherwise.
                    while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                    return Ok(None);
                }
                elements.push(element.get().as_bytes());
            }
            Ok(Some(elements))
        }
    }

    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let elements = Elements(limit).deserialize(&mut deserializer);
    match elements {
        Ok(Some(elements)) if deserializer.end().is_ok() => Ok(elements),
        Ok(None) => Err(Refusal::TooManyEvents(limit)),
        Ok(Some(_)) | Err(_) => Err(Refusal::Invalid("the body is not a JSON array")),
    }
}
