//! Decoder of OpenTelemetry traces (OTLP), as the Collector's Kafka exporter writes them: each span
//! of a selected kind is one search.
//!
//! Attributes follow the conventions OpenInference, OpenTelemetry GenAI or Langfuse. A record is
//! checked as a whole first; a damaged record yields no events. A span whose documents are
//! incomplete is rejected, because a truncated list must not be judged as a short one.

mod answers;
mod documents;
mod feedback;
mod items;
mod json;
mod keys;
mod mapping;
mod proto;
mod search;
mod span;
mod value;

use super::json::check_size;
use crate::event::{Acceptance, Limits, Reason, RecordCounts, Rejection, Search, SpanOutcome};

use answers::Answers;
pub use feedback::FeedbackAction;
use feedback::VisitFeedback;
pub use mapping::{DocumentSource, Mapping, Session, Source, SpanKind};
use search::{Classified, Context, classify};
use span::{Attributes, Resource, Span};

/// Receiver of the searches of a record, in their order.
pub(super) type Visit<'v> = dyn FnMut(Result<&Search<'_>, Rejection>) + 'v;

/// Decodes a record in the wire format of Protocol Buffers.
///
/// # Errors
/// The record cannot be decoded. Nothing is visited then.
pub(super) fn proto(
    record: &[u8],
    acceptance: &Acceptance,
    mapping: &Mapping,
    visit: &mut Visit<'_>,
) -> Result<RecordCounts, Rejection> {
    check_size(record, &acceptance.limits)?;
    let malformed = |problem| {
        Rejection::new(
            Reason::NotProtobuf,
            format_args!("not an ExportTraceServiceRequest: {problem}"),
        )
    };
    check_spans(proto::check(record).map_err(malformed)?)?;
    let mut answers = Answers::default();
    if !mapping.answers.is_empty() {
        proto::walk(record, mapping, &mut |span, attributes, resource| {
            answers.note(span, attributes, (resource, mapping));
        })
        .map_err(malformed)?;
    }
    let mut reader = Reader::new(acceptance, mapping, answers);
    proto::walk(record, mapping, &mut |span, attributes, resource| {
        reader.read(span, attributes, resource, visit);
    })
    .map_err(malformed)?;
    Ok(reader.counts)
}

/// Decodes a record in JSON.
///
/// # Errors
/// The record cannot be decoded. Nothing is visited then.
pub(super) fn json(
    record: &[u8],
    acceptance: &Acceptance,
    mapping: &Mapping,
    visit: &mut Visit<'_>,
) -> Result<RecordCounts, Rejection> {
    let traces: json::Traces<'_> = super::json::parse(record, &acceptance.limits)?;
    check_spans(traces.len())?;
    let mut answers = Answers::default();
    if !mapping.answers.is_empty() {
        traces.walk(mapping, &mut |span, attributes, resource| {
            answers.note(span, attributes, (resource, mapping));
        });
    }
    let mut reader = Reader::new(acceptance, mapping, answers);
    traces.walk(mapping, &mut |span, attributes, resource| {
        reader.read(span, attributes, resource, visit);
    });
    Ok(reader.counts)
}

/// Decodes a record of log records or spans with feedback, in the wire format of Protocol Buffers.
///
/// # Errors
/// The record cannot be decoded. Nothing is visited then.
pub(super) fn feedback_proto(
    record: &[u8],
    limits: &Limits,
    mapping: &Mapping,
    visit: &mut VisitFeedback<'_>,
) -> Result<RecordCounts, Rejection> {
    check_size(record, limits)?;
    let malformed = |problem| {
        let detail = format_args!("neither logs nor spans of OpenTelemetry: {problem}");
        Rejection::new(Reason::NotProtobuf, detail)
    };
    let mut items = 0;
    proto::walk_items(record, &mut |_, _, _| items += 1).map_err(malformed)?;
    check_spans(items)?;
    let mut counts = RecordCounts::default();
    proto::walk_items(record, &mut |item, scope, attributes| {
        feedback::read((item, scope), attributes, mapping, &mut counts, visit);
    })
    .map_err(malformed)?;
    Ok(counts)
}

/// Decodes a record of log records or spans with feedback, in JSON.
///
/// # Errors
/// The record cannot be decoded. Nothing is visited then.
pub(super) fn feedback_json(
    record: &[u8],
    limits: &Limits,
    mapping: &Mapping,
    visit: &mut VisitFeedback<'_>,
) -> Result<RecordCounts, Rejection> {
    let items: items::Items<'_> = super::json::parse(record, limits)?;
    check_spans(items.len())?;
    let mut counts = RecordCounts::default();
    items.walk(&mut |item, scope, attributes| {
        feedback::read((item, scope), attributes, mapping, &mut counts, visit);
    });
    Ok(counts)
}

fn check_spans(spans: usize) -> Result<(), Rejection> {
    if spans <= Mapping::MAX_SPANS {
        return Ok(());
    }
    Err(Rejection::new(
        Reason::TooLarge,
        format_args!(
            "{spans} spans or log records, at most {} are read from a record",
            Mapping::MAX_SPANS
        ),
    ))
}

/// Reader of the spans of one record.
struct Reader<'r, 'a> {
    acceptance: &'r Acceptance,
    mapping: &'r Mapping,
    answers: Answers<'a>,
    counts: RecordCounts,
}

impl<'r, 'a> Reader<'r, 'a> {
    fn new(acceptance: &'r Acceptance, mapping: &'r Mapping, answers: Answers<'a>) -> Self {
        let mut reader = Self {
            acceptance,
            mapping,
            answers,
            counts: RecordCounts::default(),
        };
        reader.counts.answers_without_search = reader.answers.without_search();
        reader
    }

    fn read(
        &mut self,
        span: &Span<'a>,
        attributes: &mut Attributes<'a>,
        resource: &Resource<'a>,
        visit: &mut Visit<'_>,
    ) {
        let context = Context {
            span,
            resource,
            mapping: self.mapping,
        };
        let outcome = match classify(&context, attributes, self.acceptance, &mut self.counts) {
            Classified::Search(mut search) => {
                search.answer = self.answers.of(span).map(Box::new);
                visit(Ok(&search));
                SpanOutcome::Search
            }
            Classified::Invalid(rejection) => {
                visit(Err(rejection.placed_at(&context.place()).of_one_event()));
                SpanOutcome::Invalid
            }
            Classified::NoEvent(outcome) => outcome,
        };
        self.counts[outcome] += 1;
    }
}
