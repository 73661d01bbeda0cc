//! Records of internal topics, which forwarders copied from source topics.

use std::fmt::Debug;

use tracing::warn;

use super::place::position;
use rankgauge_core::decode::Envelope;
use rankgauge_core::engine::sources::SourceReport;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::Kind;
use rankgauge_core::time::EventTime;
use rankgauge_kafka::envelope::MessageEnvelope;
use rankgauge_kafka::group::{Message, OwnedMessage};
use rankgauge_kafka::transaction::{self, Internal, SourcePlace};

/// Returns true for a report about source partitions.
pub(super) fn is_report(record: &impl Message) -> bool {
    Internal::of(record) == Internal::Report
}

/// Applies a report about source partitions.
pub(super) fn apply_report(engine: &mut Engine, kind: Kind, record: &impl Message) {
    let payload = record.payload().unwrap_or_default();
    let report = serde_json::from_slice(payload).unwrap_or_else(|problem| {
        let at = position(record);
        warn!(
            topic = record.topic(),
            partition = at.partition,
            offset = at.offset,
            error = %problem,
            "report about sources ignored"
        );
        SourceReport::default()
    });
    engine.apply(Input::Sources {
        kind,
        at: position(record),
        sources: &report,
    });
}

/// Record as it is in its source topic `topic`.
pub(super) fn source(record: &impl Message, topic: &str) -> OwnedMessage {
    transaction::source(record, topic)
}

/// Key, time and headers of a record: of an internal topic, those in its source topic.
#[derive(Debug)]
pub(super) struct InternalEnvelope<'m, M> {
    record: MessageEnvelope<'m, M>,
    /// Place in the source topic; `None` for a record that no forwarder copied.
    copied: Option<SourcePlace>,
}

impl<'m, M: Message + Debug> InternalEnvelope<'m, M> {
    /// Envelope of a record, which is of an internal topic if `is_internal`.
    pub(super) fn new(record: &'m M, is_internal: bool) -> Self {
        let copied = match is_internal.then(|| Internal::of(record)) {
            Some(Internal::Record(place)) => Some(place),
            _ => None,
        };
        Self {
            record: MessageEnvelope(record),
            copied,
        }
    }
}

impl<M: Message + Debug> Envelope for InternalEnvelope<'_, M> {
    fn key(&self) -> Option<&[u8]> {
        self.record.key()
    }

    fn timestamp(&self) -> Option<EventTime> {
        match self.copied {
            Some(place) => place.time.map(EventTime),
            None => self.record.timestamp(),
        }
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        let is_own = self.copied.is_some() && name == transaction::SOURCE;
        self.record.header(name).filter(|_| !is_own)
    }

    fn for_each_header(&self, visit: &mut dyn FnMut(&str, &[u8])) {
        self.record.for_each_header(&mut |name, value| {
            if self.copied.is_none() || name != transaction::SOURCE {
                visit(name, value);
            }
        });
    }
}
