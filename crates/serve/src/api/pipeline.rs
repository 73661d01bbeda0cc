//! Pipeline: records by outcome, rejected records, and memory against its limit.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::timestamp::Timestamp;
use crate::http::Exposition;
use rankgauge_core::event::Kind;

/// State of the pipeline.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Pipeline {
    /// Received records by kind. Outcomes and pending records add up to those received.
    pub(crate) events: BTreeMap<&'static str, KindStatus>,
    /// Searches finalised before the end of their feedback window.
    pub(crate) finalised_early: u64,
    pub(crate) memory: Memory,
    /// Samples in overflow series, by family; families without any are omitted.
    pub(crate) overflow: BTreeMap<&'static str, u64>,
}

/// Records of one kind.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KindStatus {
    pub(crate) topic: String,
    pub(crate) received: u64,
    /// Records by outcome, in the order of the pipeline; `pending` is the last.
    pub(crate) outcomes: Vec<OutcomeCount>,
    /// Rejected records by reason. Reasons without records are omitted.
    pub(crate) rejected: Vec<RejectedCount>,
    /// Records sent to the dead-letter topic; null without such a topic.
    pub(crate) dead_letters: Option<DeadLetters>,
}

/// Number of records with an outcome.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OutcomeCount {
    pub(crate) outcome: &'static str,
    pub(crate) count: u64,
}

/// Rejected records of one reason.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RejectedCount {
    pub(crate) reason: &'static str,
    pub(crate) count: u64,
    /// Last rejected record; null if it was rejected before the last start.
    pub(crate) last: Option<RejectedRecord>,
}

/// A rejected record.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RejectedRecord {
    pub(crate) time: Timestamp,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    /// Field and cause. It may quote the record.
    pub(crate) detail: String,
}

/// Dead-letter records.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeadLetters {
    pub(crate) delivered: u64,
    pub(crate) failed: u64,
}

/// Memory of all workers in bytes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Memory {
    /// Searches, feedback and sessions of the join.
    pub(crate) joins: u64,
    /// Series, windows and histograms.
    pub(crate) totals: u64,
    /// `engine.memory` for each worker.
    pub(crate) limit: u64,
}

/// Returns the state of the pipeline.
pub(crate) fn of(exposition: &Exposition) -> Pipeline {
    let published = &exposition.published;
    let snapshot = published.merged();
    let model = exposition.names.read(&snapshot);
    let events = Kind::ALL.map(|kind| {
        let outcomes = model.outcomes(kind).into_iter();
        let outcomes: Vec<OutcomeCount> = outcomes
            .chain([("pending", model.pending(kind))])
            .map(|(outcome, count)| OutcomeCount { outcome, count })
            .collect();
        let rejected = model.invalid(kind).filter(|(_, count)| *count > 0);
        let rejected = rejected.map(|(reason, count)| RejectedCount {
            reason: reason.name(),
            count,
            last: published
                .rejections
                .last(kind, reason)
                .map(|(at, last)| RejectedRecord {
                    time: Timestamp(at.as_event_time()),
                    partition: last.at.partition,
                    offset: last.at.offset,
                    detail: last.rejection.detail,
                }),
        });
        let dead_letters = published.dead_letter_counts(kind);
        let status = KindStatus {
            topic: exposition.names.topic(kind).to_owned(),
            received: model.received(kind),
            outcomes,
            rejected: rejected.collect(),
            dead_letters: dead_letters.map(|[delivered, failed]| DeadLetters { delivered, failed }),
        };
        (kind.name(), status)
    });
    let memory = model.memory();
    Pipeline {
        events: events.into(),
        finalised_early: model.finalised_early(),
        memory: Memory {
            joins: memory.joins,
            totals: memory.totals,
            limit: memory.limit,
        },
        overflow: model.overflow().filter(|(_, count)| *count > 0).collect(),
    }
}
