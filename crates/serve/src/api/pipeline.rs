//! Pipeline: records by outcome, rejected records, and memory against its limit.

use std::collections::BTreeMap;

use serde::Serialize;

use super::status;
use super::systems::whole;
use crate::collect::LabelPair;
use crate::http::Exposition;
use rankgauge_core::engine::family;
use rankgauge_core::event::{Kind, Reason};

/// State of the pipeline.
#[derive(Debug, Serialize)]
pub(crate) struct Pipeline {
    /// Received records by kind. Outcomes and pending records add up to those received.
    pub(crate) events: BTreeMap<&'static str, KindStatus>,
    /// Searches finalised before the end of their feedback window.
    pub(crate) finalised_early: u64,
    pub(crate) memory: Memory,
    /// Samples in overflow series, by family; families without any are omitted.
    pub(crate) overflow: BTreeMap<String, u64>,
}

/// Records of one kind.
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
pub(crate) struct OutcomeCount {
    pub(crate) outcome: &'static str,
    pub(crate) count: u64,
}

/// Rejected records of one reason.
#[derive(Debug, Serialize)]
pub(crate) struct RejectedCount {
    pub(crate) reason: &'static str,
    pub(crate) count: u64,
    /// Last rejected record; null if it was rejected before the last start.
    pub(crate) last: Option<RejectedRecord>,
}

/// A rejected record.
#[derive(Debug, Serialize)]
pub(crate) struct RejectedRecord {
    pub(crate) time: String,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    /// Field and cause. It may quote the record.
    pub(crate) detail: String,
}

/// Dead-letter records.
#[derive(Debug, Serialize)]
pub(crate) struct DeadLetters {
    pub(crate) delivered: u64,
    pub(crate) failed: u64,
}

/// Memory of all workers in bytes.
#[derive(Debug, Serialize)]
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
    let families = [&family::OVERFLOW_SAMPLES];
    let is_selected =
        |family: &str, _: &[LabelPair<'_>]| families.iter().any(|known| known.name == family);
    let samples = exposition.samples(&snapshot, &is_selected);
    let overflow = samples.all(&family::OVERFLOW_SAMPLES, &[]);
    let overflow = overflow.filter(|sample| sample.value > 0.0);
    let events = Kind::ALL.map(|kind| {
        let outcomes = snapshot.totals.events.outcomes(kind);
        let pending = snapshot.pending[kind.index()];
        let outcomes: Vec<OutcomeCount> = outcomes
            .into_iter()
            .chain([("pending", pending)])
            .map(|(outcome, count)| OutcomeCount { outcome, count })
            .collect();
        let by_reason = snapshot.totals.events.invalid_by_reason(kind);
        let by_reason = Reason::ALL.into_iter().zip(by_reason);
        let rejected = by_reason.filter(|(_, count)| **count > 0);
        let rejected = rejected.map(|(reason, count)| RejectedCount {
            reason: reason.name(),
            count: *count,
            last: published
                .rejections
                .last(kind, reason)
                .map(|(at, last)| RejectedRecord {
                    time: status::time(at.as_event_time()),
                    partition: last.at.partition,
                    offset: last.at.offset,
                    detail: last.rejection.detail,
                }),
        });
        let dead_letters = published.dead_letter_counts(kind);
        let status = KindStatus {
            topic: exposition.names.topics[kind.index()].clone(),
            received: outcomes.iter().map(|outcome| outcome.count).sum(),
            outcomes,
            rejected: rejected.collect(),
            dead_letters: dead_letters.map(|[delivered, failed]| DeadLetters { delivered, failed }),
        };
        (kind.name(), status)
    });
    let finalised_early = snapshot.totals.counters.sum(&family::FINALISED_EARLY);
    Pipeline {
        events: events.into(),
        finalised_early: u64::try_from(finalised_early).unwrap_or(u64::MAX),
        memory: Memory {
            joins: snapshot.memory.joins,
            totals: snapshot.memory.totals,
            limit: snapshot.memory.limit,
        },
        overflow: overflow
            .map(|sample| (sample.label("family").to_owned(), whole(sample.value)))
            .collect(),
    }
}
