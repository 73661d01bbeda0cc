//! Answers to requests: what was accepted, or why the request was refused. No answer repeats a part of a
//! request.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use rankgauge_core::event::{Reason, Rejection};
use rankgauge_serve::gateway::RequestOutcome;
use rankgauge_serve::server::{HttpResponse, response};
use serde::Serialize;

use crate::memory::Full;

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/x-protobuf";

/// Seconds after which a client should send a refused request again.
const RETRY_SECONDS: u64 = 1;

/// Remedy of a request that can succeed later. It does not count events twice, because they have ids.
const REPEAT: &str = "repeat the whole request after the seconds of Retry-After and with growing waits; \
                      repeated events count once";

/// Names of the fields of events. Other parts of a path are names of the client's.
const FIELDS: &str = "action amount application attrs client_id context cost currency depth domain dwell_ms \
    error error_type event_attributes event_id experiment filters fired from group_id hits hops id input_tokens \
    labels latency_ms max merged_from message min model name object_id operation output_tokens page page_size path \
    position provider query query_id query_key query_response_hit_ids query_response_objects_ids rank results \
    routing score session_id sort stages synthetic team text timestamp to total_hits trace_id ts type usage \
    user_id user_query value variant cache_read_input_tokens reasoning_output_tokens comment action_name object";

fn is_field(name: &str) -> bool {
    FIELDS.split(' ').any(|field| field == name)
}

/// Answer to a request with events.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Answer {
    /// Number of accepted events.
    pub(crate) accepted: usize,
    /// Number of events that the mapping does not select.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) ignored: usize,
    /// All other events.
    pub(crate) rejected: Vec<RejectedEvent>,
    /// True if the events are log records of OpenTelemetry.
    #[serde(skip)]
    pub(crate) is_logs: bool,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RejectedEvent {
    /// Number of the event in the request, from 0.
    pub(crate) index: usize,
    /// Reason, as in `rankgauge_invalid_events_total`.
    pub(crate) reason: &'static str,
    /// Wrong field, if it is one.
    pub(crate) field: Option<String>,
}

impl RejectedEvent {
    pub(crate) fn new(index: usize, rejection: &Rejection) -> Self {
        Self {
            index,
            reason: rejection.reason.name(),
            // The place of a syntax error is where the reader was, not a wrong field.
            field: (rejection.reason != Reason::NotJson)
                .then(|| field_of(&rejection.detail))
                .flatten(),
        }
    }

    pub(crate) fn of_field(index: usize, reason: Reason, field: &str) -> Self {
        Self {
            index,
            reason: reason.name(),
            field: Some(field.to_owned()),
        }
    }
}

/// Field that a rejection names, as far as its name is not the client's. A mapping names its sources.
fn field_of(detail: &str) -> Option<String> {
    if detail.starts_with('/') {
        let (source, _) = detail.split_once(": ")?;
        return Some(source.to_owned());
    }
    let quoted = |text: &str| Some(text.split_once('`')?.1.split_once('`')?.0.to_owned());
    let (before, rest) = match detail.split_once(": ") {
        Some((path, rest)) if !path.contains(' ') => (Some(path), rest),
        _ => (None, detail),
    };
    let mut path = String::new();
    for segment in before.into_iter().flat_map(|path| path.split('.')) {
        let name = segment.split('[').next().unwrap_or_default();
        if !is_field(name) {
            break;
        }
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(segment);
    }
    if before.is_none() || rest.starts_with("missing field") {
        let missing = quoted(rest).filter(|name| is_field(name));
        if let Some(missing) = missing {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&missing);
        }
    }
    (!path.is_empty()).then_some(path)
}

impl Answer {
    /// Outcome of the request for the metrics.
    pub(crate) fn outcome(&self) -> RequestOutcome {
        match (self.accepted, self.rejected.is_empty()) {
            // A whole application exports its spans, of which few are searches.
            (_, true) => RequestOutcome::Ok,
            (0, false) => RequestOutcome::Rejected,
            (_, false) => RequestOutcome::Partial,
        }
    }

    pub(crate) fn into_response(self, form: Form) -> HttpResponse {
        let rejected = self.rejected.len();
        match form {
            Form::Events => {
                let status = match self.outcome() {
                    RequestOutcome::Rejected => StatusCode::BAD_REQUEST,
                    _ => StatusCode::OK,
                };
                response(status, JSON, serde_json::to_vec(&self).unwrap_or_default())
            }
            Form::OtlpJson => {
                let body = match rejected {
                    0 => serde_json::json!({}),
                    // 64-bit integers are strings in the JSON of Protocol Buffers.
                    _ => serde_json::json!({"partialSuccess": {
                        self.rejected_of(): rejected.to_string(),
                        "errorMessage": self.reasons(),
                    }}),
                };
                response(StatusCode::OK, JSON, body.to_string())
            }
            Form::OtlpProto => {
                let mut body = Vec::new();
                if rejected > 0 {
                    let mut partial = vec![1 << 3];
                    varint(rejected, &mut partial);
                    text_field(2, &self.reasons(), &mut partial);
                    body.push(1 << 3 | LENGTH_DELIMITED);
                    varint(partial.len(), &mut body);
                    body.extend(partial);
                }
                response(StatusCode::OK, PROTOBUF, body)
            }
        }
    }

    fn rejected_of(&self) -> &'static str {
        if self.is_logs {
            "rejectedLogRecords"
        } else {
            "rejectedSpans"
        }
    }

    /// Number of rejected events by reason and field.
    fn reasons(&self) -> String {
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for event in &self.rejected {
            let field = event.field.as_deref().unwrap_or_default();
            *counts.entry((event.reason, field)).or_default() += 1;
        }
        let counts = counts
            .into_iter()
            .map(|((reason, field), count)| match field {
                "" => format!("{count} {reason}"),
                field => format!("{count} {reason} ({field})"),
            });
        counts.collect::<Vec<_>>().join(", ")
    }
}

/// Form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// JSON with the rejected events.
    Events,
    /// Response of OpenTelemetry in Protocol Buffers.
    OtlpProto,
    /// Response of OpenTelemetry in JSON.
    OtlpJson,
}

/// Wire type of texts and messages.
const LENGTH_DELIMITED: u8 = 2;

fn text_field(number: u8, text: &str, message: &mut Vec<u8>) {
    message.push(number << 3 | LENGTH_DELIMITED);
    varint(text.len(), message);
    message.extend(text.as_bytes());
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "seven bits of the number at a time"
)]
fn varint(mut number: usize, message: &mut Vec<u8>) {
    while number >= 0x80 {
        message.push(number as u8 | 0x80);
        number >>= 7;
    }
    message.push(number as u8);
}

/// Reason for which a request is refused as a whole. None of its events is confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No route has this path.
    NotFound,
    /// The route accepts another method.
    Method(&'static str),
    /// The page has an origin that is not configured.
    Origin,
    /// The request has no valid token.
    Unauthorised,
    /// The application has used its rate limit; it is free after this time.
    Limited(Duration),
    /// The request cannot be read.
    Invalid(&'static str),
    /// The body is longer than a limit.
    TooLarge { limit: usize, key: &'static str },
    /// The request has more events than `gateway.max_events`.
    TooManyEvents(usize),
    /// The JSON objects of the body need more than `gateway.memory`.
    TooManyObjects,
    /// The content is of another type.
    Unsupported(&'static str),
    /// The body did not arrive in time.
    SlowBody(Duration),
    /// The body ended early.
    BrokenBody,
    /// No memory is left.
    Full,
    /// The topics have not answered since the start.
    Unconnected,
    /// The broker did not confirm the events. Some of them can be stored.
    Unconfirmed,
}

impl From<Full> for Refusal {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Origin => StatusCode::FORBIDDEN,
            Self::Unauthorised => StatusCode::UNAUTHORIZED,
            Self::Limited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Invalid(_) | Self::BrokenBody => StatusCode::BAD_REQUEST,
            Self::TooLarge { .. } | Self::TooManyEvents(_) | Self::TooManyObjects => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Self::Unsupported(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::SlowBody(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Full | Self::Unconnected | Self::Unconfirmed => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::NotFound => "not found; use POST /v1/searches, /v1/feedback, /v1/traces, /v1/logs, /v1/ubi/queries or \
                               /v1/ubi/events".to_owned(),
            Self::Method(allowed) => format!("only {allowed} is allowed"),
            Self::Origin => {
                "pages of this origin cannot send events; add it to gateway.cors_origins".to_owned()
            }
            Self::Unauthorised => "the token is missing or wrong; send the header Authorization: Bearer TOKEN".to_owned(),
            Self::Limited(_) => "the application has used its rate limit; repeat the request after the seconds of \
                                 Retry-After".to_owned(),
            Self::Invalid(text) | Self::Unsupported(text) => (*text).to_owned(),
            Self::TooLarge { limit, key } => {
                format!("the body has more than {limit} bytes ({key}); send less at once")
            }
            Self::TooManyEvents(limit) => {
                format!(
                    "the request has more than {limit} events (gateway.max_events); send less at once"
                )
            }
            Self::TooManyObjects => {
                "the body has more JSON objects than gateway.memory can hold; send less at once, or Protocol Buffers".to_owned()
            }
            Self::SlowBody(limit) => {
                format!("the body did not arrive within {} s", limit.as_secs())
            }
            Self::BrokenBody => "the body ended early".to_owned(),
            Self::Full => format!("the memory of the gateway (gateway.memory) is in use, and no event is confirmed; {REPEAT}"),
            Self::Unconnected => {
                format!("the gateway has not reached Kafka yet, and no event was stored; {REPEAT}")
            }
            Self::Unconfirmed => format!(
                "Kafka did not confirm the events within gateway.timeout, and none counts as stored; {REPEAT}"
            ),
        }
    }

    /// Outcome of the request for the metrics.
    pub(crate) fn outcome(&self) -> RequestOutcome {
        match self {
            Self::Full | Self::Unconnected | Self::Unconfirmed => RequestOutcome::Unavailable,
            Self::Unauthorised => RequestOutcome::Unauthorised,
            Self::Limited(_) => RequestOutcome::Limited,
            _ => RequestOutcome::Invalid,
        }
    }

    pub(crate) fn into_response(self, form: Form) -> HttpResponse {
        let (status, text) = (self.status(), self.text());
        let mut response = match form {
            Form::Events => error(status, &text),
            Form::OtlpJson => {
                let body = serde_json::json!({ "message": text });
                response(status, JSON, body.to_string())
            }
            Form::OtlpProto => {
                let mut body = Vec::new();
                text_field(2, &text, &mut body);
                response(status, PROTOBUF, body)
            }
        };
        let headers = response.headers_mut();
        match self {
            Self::Method(allowed) => {
                headers.insert(ALLOW, HeaderValue::from_static(allowed));
            }
            Self::Full | Self::Unconnected | Self::Unconfirmed => {
                headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
            }
            Self::Limited(wait) => {
                let seconds = wait.as_secs().saturating_add(RETRY_SECONDS);
                headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
            }
            Self::Unauthorised => {
                let challenge = HeaderValue::from_static("Bearer realm=\"rankgauge\"");
                headers.insert(WWW_AUTHENTICATE, challenge);
            }
            _ => {}
        }
        response
    }
}

/// Response with a reason.
pub(crate) fn error(status: StatusCode, text: &str) -> HttpResponse {
    let body = serde_json::json!({ "error": text });
    response(status, JSON, body.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Refusal, field_of};

    #[test]
    fn a_refusal_that_can_succeed_later_states_what_is_stored_and_when_to_repeat() {
        for (refusal, stored) in [
            (Refusal::Unconnected, "no event was stored"),
            (Refusal::Unconfirmed, "none counts as stored"),
            (Refusal::Full, "no event is confirmed"),
        ] {
            let text = refusal.text();
            assert!(text.contains(stored), "{text}");
            assert!(text.contains("repeat the whole request"), "{text}");
            assert!(text.contains("Retry-After"), "{text}");
        }
    }

    #[test]
    fn a_field_has_no_name_of_the_client() {
        for (detail, field) in [
            ("missing field `ts`", Some("ts")),
            ("results[2]: missing field `id`", Some("results[2].id")),
            (
                "results[].rank: ranks are counted from 1",
                Some("results[].rank"),
            ),
            ("labels.<script>: invalid type: null", Some("labels")),
            ("unknown variant `<b>`, expected `click`", None),
            (
                "type: unknown variant `<b>`, expected `click`",
                Some("type"),
            ),
            ("one of `query` and `query_key` is required", Some("query")),
            ("expected value at column 1", None),
            ("/meta/ts: the time is out of range", Some("/meta/ts")),
            ("/ts or /at: a whole number is expected", Some("/ts or /at")),
        ] {
            assert_eq!(field_of(detail).as_deref(), field, "{detail}");
        }
    }
}
