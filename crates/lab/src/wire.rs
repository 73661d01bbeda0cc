//! Native JSON events, as borrowed structures that serialise without copies.
//!
//! Field names and meanings follow the event reference. The module is independent of the source of
//! the values.

use jiff::Timestamp;
use jiff::tz::Offset;
use serde::{Serialize, Serializer};

use super::graph::MAX_HOPS;
use rankgauge_core::time::EventTime;

/// One executed search.
#[derive(Serialize)]
pub(super) struct Search<'a> {
    pub(super) query_id: &'a str,
    pub(super) ts: Stamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) query: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) query_key: Option<&'a str>,
    pub(super) application: &'static str,
    pub(super) session_id: &'a str,
    pub(super) client_id: &'a str,
    pub(super) trace_id: &'a str,
    pub(super) experiment: Experiment,
    pub(super) results: &'a [Hit<'a>],
    pub(super) total_hits: usize,
    pub(super) latency_ms: f64,
    pub(super) stages: &'a [Stage],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) usage: &'a [Usage],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) routing: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) domain: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fired: Option<&'a Fired>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) merged_from: &'a [&'a str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) context: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<&'a Answer<'a>>,
    pub(super) labels: SearchLabels,
}

/// Answer of a model with the documents that it cites.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    pub(super) text: String,
    pub(super) citations: Vec<&'a str>,
    pub(super) refused: bool,
    pub(super) model: &'static str,
}

/// Arm that served a search.
#[derive(Serialize)]
pub(super) struct Experiment {
    pub(super) id: &'static str,
    pub(super) variant: &'static str,
}

/// One result.
#[derive(Serialize)]
pub(super) struct Hit<'a> {
    pub(super) id: &'a str,
    pub(super) rank: usize,
    pub(super) score: f64,
    pub(super) group_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) team: Option<&'static str>,
    pub(super) stages: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hops: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) depth: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<Path<'a>>,
    pub(super) attrs: HitAttributes,
}

/// Edges of the law graph that lead to a result, as `[{"from":…,"to":…}]`. Without heap memory,
/// because a search has several.
pub(super) struct Path<'a> {
    /// Ids on the path, ending with the result. Entries after `hops` are not part of it.
    pub(super) stops: [&'a str; MAX_HOPS + 1],
    pub(super) hops: usize,
}

#[derive(Serialize)]
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
}

impl Serialize for Path<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let edges = self.stops.iter().zip(self.stops.iter().skip(1));
        serializer.collect_seq(edges.take(self.hops).map(|(from, to)| Edge { from, to }))
    }
}

/// Facets of a result.
#[derive(Serialize)]
pub(super) struct HitAttributes {
    pub(super) law_type: &'static str,
    pub(super) doc_type: &'static str,
    pub(super) domain: &'static str,
    pub(super) source: &'static str,
}

/// Latency and results of one stage of a search.
#[derive(Serialize)]
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) latency_ms: f64,
    pub(super) hits: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<&'static str>,
}

/// One model call, in OpenTelemetry's GenAI names.
#[derive(Serialize)]
pub(super) struct Usage {
    pub(super) operation: &'static str,
    pub(super) provider: &'static str,
    pub(super) model: &'static str,
    pub(super) input_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_read_input_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<Cost>,
}

/// Cost as stated in an event.
#[derive(Serialize)]
pub(super) struct Cost {
    pub(super) amount: f64,
    pub(super) currency: &'static str,
}

/// Components that ran.
#[derive(Serialize)]
pub(super) struct Fired {
    pub(super) rne: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) a2a: Option<bool>,
}

#[derive(Serialize)]
pub(super) struct SearchLabels {
    pub(super) channel: &'static str,
}

/// One user action.
#[derive(Serialize)]
pub(super) struct Feedback<'a> {
    pub(super) event_id: &'a str,
    pub(super) ts: Stamp,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) query_id: Option<&'a str>,
    pub(super) session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) position: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dwell_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max: Option<u8>,
}

/// Value of a thumb, a rating or a grade.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
pub(super) enum Value {
    Thumb(bool),
    Sign(i8),
    Number(u8),
}

/// Time in one of the formats that events may use.
#[derive(Clone, Copy)]
pub(super) enum Stamp {
    /// Milliseconds since the epoch.
    Millis(EventTime),
    /// RFC 3339 in Korean time, `+09:00`.
    Seoul(EventTime),
    /// RFC 3339 in UTC, `Z`.
    Utc(EventTime),
}

impl Stamp {
    /// Format that depends on `number`: half of the times in milliseconds, three in ten in Korean
    /// time, two in ten in UTC.
    pub(super) fn varied(time: EventTime, number: u64) -> Self {
        match number % 10 {
            0..=4 => Self::Millis(time),
            5..=7 => Self::Seoul(time),
            _ => Self::Utc(time),
        }
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (Self::Millis(time) | Self::Seoul(time) | Self::Utc(time)) = *self;
        // A time outside the calendar (beyond the year 9999) has no text form and is written as a
        // number.
        let Ok(timestamp) = Timestamp::from_millisecond(time.0) else {
            return serializer.serialize_i64(time.0);
        };
        match self {
            Self::Millis(_) => serializer.serialize_i64(time.0),
            Self::Seoul(_) => {
                let seoul = timestamp.display_with_offset(Offset::constant(9));
                serializer.collect_str(&seoul)
            }
            Self::Utc(_) => serializer.collect_str(&timestamp),
        }
    }
}

/// Serialises an event as JSON.
pub(super) fn written(event: &impl serde::Serialize, capacity: usize) -> Vec<u8> {
    let mut payload = Vec::with_capacity(capacity);
    serde_json::to_writer(&mut payload, event)
        .expect("invariant: events have string keys only, and memory takes every write");
    payload
}
