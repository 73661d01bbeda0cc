//! Topics of which nothing decodes: their records have another format than configured, and their offsets
//! must not be committed as if they had been read.

use std::time::Duration;

use tracing::{error, info};

use super::boot_time::BootTime;
use super::context::WorkerContext;
use rankgauge_core::event::{Kind, Reason};
use rankgauge_core::records::RejectedRecord;

/// Number of records in a row of which none decodes, from which a topic is reported.
const MAX_RECORDS: u64 = 100;

/// Time after which a topic is reported of which no record decodes since the start.
const MAX_TIME: Duration = Duration::from_mins(5);

/// Records of a worker that do not decode, by topic.
#[derive(Debug, Default)]
pub(super) struct Undecodable {
    topics: [Topic; 2],
    /// True to commit the offsets of such records.
    is_committed: bool,
}

#[derive(Debug, Default)]
struct Topic {
    has_decoded: bool,
    /// Number of records since the last one that decoded, the first of them, and its time.
    count: u64,
    first: Option<(RejectedRecord, BootTime)>,
    is_reported: bool,
}

impl Topic {
    /// Returns true if nothing of the topic decodes.
    fn is_undecodable(&self, now: BootTime) -> bool {
        let first = self.first.as_ref();
        let is_long = first.is_some_and(|(_, since)| now.since(*since) >= MAX_TIME);
        self.count >= MAX_RECORDS || (is_long && !self.has_decoded)
    }
}

impl Undecodable {
    /// Without records. `is_committed` is true to commit the offsets of records that do not decode.
    pub(super) fn new(is_committed: bool) -> Self {
        Self {
            is_committed,
            ..Self::default()
        }
    }

    /// Notes records in the order of reading, with the rejected ones by their index.
    pub(super) fn note(
        &mut self,
        records: impl Iterator<Item = Kind>,
        rejected: &[(usize, RejectedRecord)],
    ) {
        let is_usual = |topic: &Topic| topic.has_decoded && topic.count == 0;
        if rejected.is_empty() && self.topics.iter().all(is_usual) {
            return;
        }
        let mut rejected = rejected.iter().peekable();
        for (index, kind) in records.enumerate() {
            let found = rejected.next_if(|(of, _)| *of == index);
            let found = found.filter(|(_, it)| {
                it.rejection.is_whole_record && it.rejection.reason != Reason::FutureTime
            });
            let topic = &mut self.topics[kind.index()];
            let Some((_, found)) = found else {
                topic.has_decoded = true;
                topic.count = 0;
                topic.first = None;
                continue;
            };
            topic.count += 1;
            if topic.first.is_none() {
                topic.first = Some((found.clone(), BootTime::now()));
            }
        }
    }

    /// Returns true if a record of the topic of a kind has decoded since the start.
    pub(super) fn has_decoded(&self, kind: Kind) -> bool {
        self.topics[kind.index()].has_decoded
    }

    /// Returns true if offsets must not be committed: nothing decodes since the start, or for
    /// [`MAX_RECORDS`] records.
    pub(super) fn withholds_commits(&self) -> bool {
        let is_undecodable =
            |it: &Topic| it.count >= MAX_RECORDS || (it.count > 0 && !it.has_decoded);
        !self.is_committed && self.topics.iter().any(is_undecodable)
    }

    /// Reports topics of which nothing decodes, and those that decode again, to the log and to the
    /// readiness check.
    pub(super) fn report(&mut self, context: &WorkerContext) {
        if self
            .topics
            .iter()
            .all(|it| it.count == 0 && !it.is_reported)
        {
            return;
        }
        let now = BootTime::now();
        for (kind, topic) in Kind::ALL.into_iter().zip(&mut self.topics) {
            let is_undecodable = topic.is_undecodable(now);
            if std::mem::replace(&mut topic.is_reported, is_undecodable) == is_undecodable {
                continue;
            }
            let name = context.config.kafka.topic(kind);
            let Some((first, _)) = topic.first.as_ref().filter(|_| is_undecodable) else {
                info!(
                    worker = context.number,
                    topic = name,
                    "records of the topic decode"
                );
                context.view().set_undecodable(kind, None);
                continue;
            };
            let reason = first.rejection.reason;
            let remedy = reason.remedy();
            error!(
                worker = context.number,
                topic = name,
                partition = first.at.partition,
                offset = first.at.offset,
                reason = reason.name(),
                error = first.rejection.to_string(),
                remedy,
                committed = self.is_committed,
                "no record of the topic decodes"
            );
            let problem = format!(
                "no record of topic {name} decodes; the first one that does not, [{}] at offset {}, is \
                 rejected: {}; {remedy}",
                first.at.partition,
                first.at.offset,
                first.rejection.to_string().escape_debug()
            );
            context.view().set_undecodable(kind, Some(problem));
        }
    }
}
