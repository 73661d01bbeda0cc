//! Search event of a probe, in the native format of `docs/events.md`.

use serde::Serialize;
use serde_json::{Map, Value};

use super::answer::{Answer, Hit};
use rankgauge_core::gold::GoldQuery;
use rankgauge_core::time::EventTime;

/// Cause of a failed search, the `error_type` of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorType {
    /// No complete answer within the time limit.
    Timeout,
    /// The connection failed or was closed.
    Connection,
    /// Status other than 200.
    Status(u16),
    /// The answer exceeds the size limit.
    TooLarge,
    /// The answer is not what the target describes.
    Malformed,
    /// The engine marks the answer as partial.
    Partial,
}

impl std::fmt::Display for ErrorType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Timeout => formatter.write_str("timeout"),
            Self::Connection => formatter.write_str("connection"),
            Self::Status(status) => write!(formatter, "http_{status}"),
            Self::TooLarge => formatter.write_str("answer_too_large"),
            Self::Malformed => formatter.write_str("answer_malformed"),
            Self::Partial => formatter.write_str("answer_partial"),
        }
    }
}

pub(super) struct EventParts<'a> {
    pub(super) query_id: &'a str,
    pub(super) ts: EventTime,
    pub(super) query: &'a GoldQuery,
    pub(super) variant: &'a str,
    /// Empty for a failed search.
    pub(super) answer: &'a Answer,
    pub(super) latency_ms: f64,
    pub(super) error: Option<ErrorType>,
}

#[derive(Serialize)]
struct EventWire<'a> {
    query_id: &'a str,
    ts: i64,
    synthetic: bool,
    query_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<&'a str>,
    variant: &'a str,
    results: Vec<HitWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_hits: Option<u64>,
    latency_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<String>,
}

#[derive(Serialize)]
struct HitWire<'a> {
    id: &'a str,
    rank: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    attrs: &'a Map<String, Value>,
}

/// Serialises an event as one line of JSON.
pub(super) fn write(parts: &EventParts<'_>) -> String {
    let hits = (1..).zip(&parts.answer.hits);
    let event = EventWire {
        query_id: parts.query_id,
        ts: parts.ts.0,
        synthetic: true,
        query_key: &parts.query.key,
        query: parts.query.text.as_deref(),
        variant: parts.variant,
        results: hits.map(HitWire::new).collect(),
        total_hits: parts.answer.total,
        latency_ms: parts.latency_ms,
        error_type: parts.error.map(|error| error.to_string()),
    };
    serde_json::to_string(&event)
        .expect("invariant: an event has text keys and no value that JSON cannot hold")
}

impl<'a> HitWire<'a> {
    fn new((rank, hit): (usize, &'a Hit)) -> Self {
        Self {
            id: &hit.id,
            rank,
            score: hit.score,
            group_id: hit.group.as_deref(),
            attrs: &hit.attributes,
        }
    }
}
