//! Random traffic: records of both topics, in order of arrival.

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::event::Kind;
use serde_json::{Value, json};

use super::{FEEDBACK_WINDOW, OUT_OF_ORDERNESS, START};

/// Record and its arrival, in milliseconds of wall time after [`START`].
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub kind: Kind,
    pub partition: i32,
    /// Event time after [`START`].
    pub time: i64,
    /// Time of reading, on the scale of event time. It determines the order of a log.
    pub arrival: i64,
    pub payload: String,
}

/// Content of a search before it is serialised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft {
    pub query: u8,
    pub results: [u8; 3],
    pub served: u8,
    pub variant: u8,
    pub device: u8,
    pub latency: u16,
    /// Number of its session; 0 for none.
    pub session: u8,
}

pub(crate) fn draft() -> impl Strategy<Value = Draft> {
    (
        0..5_u8,
        any::<[u8; 3]>(),
        0..4_u8,
        0..3_u8,
        0..3_u8,
        0..2_000_u16,
        0..5_u8,
    )
        .prop_map(
            |(query, results, served, variant, device, latency, session)| Draft {
                query,
                results: results.map(|result| result % 7),
                served,
                variant,
                device,
                latency,
                session,
            },
        )
}

impl Draft {
    /// Search as written to the log.
    pub(crate) fn write(&self, id: &str, time: i64) -> String {
        let teams = self.latency.is_multiple_of(3);
        let served = self.results.iter().take(usize::from(self.served));
        let results: Vec<_> = served
            .enumerate()
            .map(|(place, result)| {
                let mut hit = json!({"id": format!("d{result}")});
                if teams {
                    hit["team"] = json!(["A", "B"][place % 2]);
                }
                hit
            })
            .collect();
        let mut event = json!({
            "query_id": id,
            "ts": START + time,
            "query_key": format!("g{}", self.query),
            "results": results,
            "labels": {"device": format!("device-{}", self.device)},
            "latency_ms": f64::from(self.latency) / 3.0,
            "stages": [{"name": "vector", "latency_ms": f64::from(self.latency) / 7.0}],
            "cost": {"amount": f64::from(self.latency) * 1e-6, "currency": "KRW"},
        });
        if self.variant > 0 {
            event["variant"] = json!(format!("V{}", self.variant));
        }
        if self.session > 0 {
            event["session_id"] = json!(format!("s{}", self.session));
        }
        if self.latency.is_multiple_of(10) {
            event["error_type"] = json!("timeout");
        }
        event.to_string()
    }
}

/// Feedback event of type number `action`, as written to the log.
pub(crate) fn write_feedback(event: &str, query: &str, time: i64, action: u8) -> String {
    let mut feedback = json!({"event_id": event, "ts": START + time, "query_id": query});
    let fields = match action % 12 {
        0 | 1 => json!({"type": "click", "position": 1 + action % 4}),
        2 => json!({"type": "impression"}),
        3 => json!({"type": "conversion"}),
        4 => json!({"type": "thumbs", "value": action > 100}),
        5 | 6 => json!({"type": "click", "object_id": format!("d{}", action % 7)}),
        7 => json!({"type": "dwell", "dwell_ms": 100 * i64::from(action)}),
        8 => json!({"type": "dwell", "dwell_ms": 2_500, "position": 1 + action % 3}),
        9 => json!({"type": "rating", "value": 1 + action % 5}),
        10 => json!({"type": "judgment", "object_id": format!("d{}", action % 7), "value": 2}),
        _ => json!({"type": "reformulation"}),
    };
    merge(&mut feedback, fields);
    feedback.to_string()
}

/// Feedback about a whole session, as written to the log.
pub(crate) fn write_opinion(event: &str, session: u8, time: i64, value: u8) -> String {
    let session = format!("s{session}");
    let mut feedback = json!({"event_id": event, "ts": START + time, "session_id": session});
    let fields = match value % 2 {
        0 => json!({"type": "thumbs", "value": value > 100}),
        _ => json!({"type": "rating", "value": value % 11, "min": 0, "max": 10}),
    };
    merge(&mut feedback, fields);
    feedback.to_string()
}

pub(crate) fn merge(event: &mut Value, fields: Value) {
    let (Value::Object(event), Value::Object(fields)) = (event, fields) else {
        unreachable!("both are objects");
    };
    event.extend(fields);
}

/// Limits of the distances between records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub partitions: i32,
    pub searches: usize,
    /// Range of event times of the searches.
    pub span: i64,
    /// Earliest and latest feedback, relative to its search.
    pub feedback: (i64, i64),
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            partitions: 3,
            searches: 40,
            span: 120_000,
            feedback: (-3_000, FEEDBACK_WINDOW),
        }
    }
}

/// Traffic in which no record arrives more than [`OUT_OF_ORDERNESS`] behind a newer one of its
/// topic, sorted by arrival: searches, feedback for them, orphans, duplicates of both, and records
/// that cannot be decoded.
pub(crate) fn in_order(shape: Shape) -> impl Strategy<Value = Vec<Record>> {
    let jitter = || 0..OUT_OF_ORDERNESS;
    let (earliest, latest) = shape.feedback;
    let reaction = (
        earliest..=latest,
        any::<u8>(),
        jitter(),
        prop::option::weighted(0.2, jitter()),
    );
    let search = (
        0..shape.partitions,
        0..shape.span,
        draft(),
        jitter(),
        prop::option::weighted(0.1, jitter()),
        vec(reaction, 0..4),
        0..12_u8,
    );
    vec(search, 1..=shape.searches).prop_map(|searches| {
        let mut records = Vec::new();
        let mut add = |kind, partition, time, late: i64, payload: &str| {
            records.push(Record {
                kind,
                partition,
                time,
                arrival: time + late,
                payload: payload.to_owned(),
            });
        };
        for (number, search) in searches.into_iter().enumerate() {
            let (partition, time, draft, jitter, again, reactions, odd) = search;
            let id = format!("q{number}");
            // One search in twelve never arrives, one is not JSON: its feedback is orphaned.
            match odd {
                0 => {}
                1 => add(Kind::Search, partition, time, jitter, "{"),
                _ => {
                    let payload = draft.write(&id, time);
                    add(Kind::Search, partition, time, jitter, &payload);
                    if let Some(jitter) = again {
                        add(Kind::Search, partition, time, jitter, &payload);
                    }
                }
            }
            for (index, (delay, action, jitter, again)) in reactions.into_iter().enumerate() {
                let time = time + delay;
                let event = format!("e{number}-{index}");
                let payload = if action > 220 {
                    write_opinion(&event, draft.session, time, action)
                } else {
                    write_feedback(&event, &id, time, action)
                };
                add(Kind::Feedback, partition, time, jitter, &payload);
                if let Some(jitter) = again {
                    add(Kind::Feedback, partition, time, jitter, &payload);
                }
            }
        }
        records.sort_by_key(|record| record.arrival);
        records
    })
}
