//! Receipt of records: their outcomes, gaps between their offsets, and events from the future.

use jiff::Timestamp;

use super::effects::Outcome;
use super::machine::Engine;
use crate::engine::family::{self, Family};
use crate::engine::partition::Resume;
use crate::engine::position::Position;
use crate::engine::series::Label;
use crate::engine::sources::SourceReport;
use crate::event::{Kind, LossReason, Reason, RecordCounts, RecordOutcome, Rejection, SpanOutcome};
use crate::time::EventTime;

/// Record whose events are being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenRecord {
    kind: Kind,
    at: Position,
    /// True if its events must be counted.
    fresh: bool,
}

impl Engine {
    /// Registers the receipt of an event. Returns the position of its partition, and true if the
    /// event must be counted. Outside of a record with several events, counts the `outcome` of its
    /// record.
    pub(super) fn receive(
        &mut self,
        kind: Kind,
        at: Position,
        outcome: RecordOutcome,
    ) -> (usize, bool) {
        if let Some(record) = &self.record
            && record.kind == self.settings.topics.of(kind)
            && record.at == at
        {
            let fresh = record.fresh;
            return (self.partition_at(at.partition), fresh);
        }
        self.record = None;
        let (index, fresh) = self.receive_record(kind, at);
        if fresh {
            self.totals
                .events
                .record(self.settings.topics.of(kind), outcome);
        }
        (index, fresh)
    }

    /// Counts an input that is already rejected.
    pub(super) fn reject(&mut self, kind: Kind, at: Position, reason: Reason) -> Outcome {
        let (_, fresh) = self.receive(kind, at, RecordOutcome::Invalid);
        if fresh {
            self.totals.events.invalid(kind, reason);
        }
        Outcome::Rejected {
            is_read_again: !fresh,
        }
    }

    pub(super) fn open_record(&mut self, kind: Kind, at: Position) {
        let (_, fresh) = self.receive_record(kind, at);
        let kind = self.settings.topics.of(kind);
        self.record = Some(OpenRecord { kind, at, fresh });
    }

    pub(super) fn close_record(&mut self, outcome: RecordOutcome, counts: &RecordCounts) {
        let Some(record) = self.record.take().filter(|record| record.fresh) else {
            return;
        };
        self.totals.events.record(record.kind, outcome);
        let by_outcome = SpanOutcome::ALL.map(|outcome| counts[outcome]);
        self.count_by_position(&family::SPANS, by_outcome);
        self.count_by_position(&family::EVALUATIONS, counts.evaluations());
        let others = [
            (&family::SPAN_ATTRIBUTES_DROPPED, counts.dropped_attributes),
            (
                &family::SPAN_DOCUMENTS_WITHOUT_ID,
                counts.documents_without_id,
            ),
            (
                &family::SPAN_ANSWERS_WITHOUT_SEARCH,
                counts.answers_without_search,
            ),
        ];
        for (family, number) in others {
            if number > 0 {
                self.count(family, [], number);
            }
        }
    }

    /// Adds counts to the series of a family whose only label has a closed list of values.
    fn count_by_position<const N: usize>(&mut self, family: &'static Family, counts: [u64; N]) {
        for (position, count) in counts.into_iter().enumerate() {
            if count > 0 {
                self.count(family, [Label::from_position(position)], count);
            }
        }
    }

    /// Returns the position of a partition. Adds it if it is not known.
    fn partition_at(&mut self, partition: i32) -> usize {
        let known = self.find(partition);
        known.unwrap_or_else(|| self.insert_partition(partition, Resume::default()))
    }

    /// Registers the receipt of a record. Returns the position of its partition, and true if the
    /// record must be counted.
    fn receive_record(&mut self, kind: Kind, at: Position) -> (usize, bool) {
        let index = self.partition_at(at.partition);
        let (fresh, gap) = self.partitions[index].receive(kind, at);
        if gap > 0 {
            let topic = Label::from_position(self.settings.topics.of(kind).index());
            self.count(&family::OFFSETS_WITHOUT_RECORDS, [topic], gap);
        }
        (index, fresh)
    }

    /// Applies a report about source partitions: their clocks, and the losses of a report that is read
    /// for the first time. It is no record of an event.
    pub(super) fn advance_sources(&mut self, kind: Kind, at: Position, report: &SourceReport) {
        self.record = None;
        let (index, fresh) = self.receive_record(kind, at);
        let topic = self.settings.topics.of(kind);
        let wall = self.wall;
        self.partitions[index].clock.report(topic, report, wall);
        for (reason, &lost) in report.lost.iter().enumerate() {
            if fresh && lost > 0 {
                let labels = [topic.index(), reason].map(Label::from_position);
                self.count(&family::OFFSET_GAP_RECORDS, labels, lost);
            }
        }
    }

    /// Counts the records of an assigned topic partition before an offset as lost, unless they are
    /// counted.
    pub(super) fn lose(&mut self, kind: Kind, partition: i32, before: i64, reason: LossReason) {
        let Some(index) = self.find(partition) else {
            return;
        };
        let lost = self.partitions[index].lose(kind, partition, before);
        if lost > 0 {
            let labels = [kind.index(), reason as usize].map(Label::from_position);
            self.count(&family::OFFSET_GAP_RECORDS, labels, lost);
        }
    }

    /// Rejects an event too far in the future, because it must not advance a watermark. `None` if
    /// the event is accepted. A rejection is an effect once, when the record is first read.
    pub(super) fn reject_future(
        &mut self,
        partition: usize,
        kind: Kind,
        at: Position,
        ts: EventTime,
        fresh: bool,
    ) -> Option<Outcome> {
        let is_future = ts.since(self.wall.as_event_time()) > self.max_future_skew;
        let rejections = self.partitions[partition].rejected(kind, at.partition)?;
        if !fresh {
            let is_rejected = is_future || rejections.contains(at.offset, ts);
            return is_rejected.then_some(Outcome::None);
        }
        if !is_future {
            rejections.accept(at.offset, ts);
            return None;
        }
        rejections.reject(at.offset, ts);
        self.totals.events.invalid(kind, Reason::FutureTime);
        let rejection = from_the_future(ts);
        Some(Outcome::FromTheFuture(match self.record {
            Some(_) => rejection.of_one_event(),
            None => rejection,
        }))
    }
}

fn from_the_future(EventTime(ts): EventTime) -> Rejection {
    let time = Timestamp::from_millisecond(ts);
    let time = time.map_or_else(|_| ts.to_string(), |time| time.to_string());
    Rejection::new(
        Reason::FutureTime,
        format_args!("ts: {time} is further ahead of the clock than engine.max_future_skew"),
    )
}
