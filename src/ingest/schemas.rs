//! Records whose schema has to be received from the registry: they wait, with the later records of their
//! topic partition, which is paused meanwhile.

use std::collections::BTreeSet;

use super::context::WorkerContext;
use super::member::EngineMember;
use rankgauge_core::engine::Position;
use rankgauge_core::event::Kind;
use rankgauge_kafka::group::{BorrowedMessage, Consumer, Member, Message, OwnedMessage};

/// Requests the schema of a record. Returns false if it is known, or not needed.
pub(super) fn is_missing(context: &WorkerContext, kind: Kind, record: &impl Message) -> bool {
    let config = &context.config;
    if config.formats.cache().is_none() {
        return false;
    }
    let payload = record.payload().unwrap_or_default();
    let limits = &config.engine.record_limits;
    let Some(id) = config.formats.missing_schema(kind, payload, limits) else {
        return false;
    };
    if let Some(schemas) = &context.schemas {
        schemas.want(id);
    }
    true
}

/// Defers the records whose schema is missing, and those that follow them in their topic partition.
/// Returns true if there are any.
pub(super) fn defer<M: Member>(
    consumer: &Consumer<M>,
    context: &WorkerContext,
    records: &mut Vec<BorrowedMessage<'_>>,
) -> bool {
    if context.config.formats.cache().is_none() {
        return false;
    }
    let mut deferred = BTreeSet::new();
    records.retain(|record| {
        let kind = consumer.kind_of(record);
        let place = (record.partition(), kind);
        if !deferred.contains(&place) && !is_missing(context, kind, record) {
            return true;
        }
        deferred.insert(place);
        consumer.defer(record);
        false
    });
    !deferred.is_empty()
}

/// Removes and returns the deferred records that can be processed, and publishes how many topic partitions
/// wait for a schema.
pub(super) fn drain(
    consumer: &Consumer<EngineMember>,
    context: &WorkerContext,
) -> Vec<OwnedMessage> {
    let mut waiting = 0;
    let ready = consumer.drain_deferred(|member, kind, record| {
        let is_missing = is_missing(context, kind, record);
        waiting += usize::from(is_missing);
        let at = Position {
            partition: record.partition(),
            offset: record.offset(),
        };
        !is_missing && !member.engine.must_defer(kind, at)
    });
    context.view().set_without_schema(waiting);
    ready
}
