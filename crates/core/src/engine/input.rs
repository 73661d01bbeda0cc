//! Inputs of an engine.

use std::sync::Arc;

use crate::engine::evidence::Evidence;
use crate::engine::fleet::{CombinedEvidence, FleetBaselines, SharedIncident};
use crate::engine::id::{SearchIds, Target};
use crate::engine::incidents::{Acknowledged, Incident, Note};
use crate::engine::partition::Resume;
use crate::engine::position::Position;
use crate::engine::sources::SourceReport;
use crate::engine::window::Progress;
use crate::event::{Feedback, Kind, LossReason, RecordCounts, RecordOutcome, Rejection, Search};
use crate::gold::GoldSet;
use crate::time::{EventTime, WallTime};

/// Part of a record, as input to an engine.
#[derive(Clone, Copy, Debug)]
pub enum RecordInput<'a> {
    /// Start of a record with any number of events. They follow, with the same position, and then
    /// [`RecordInput::End`]. No other input may lie between them: it is a record as a whole that
    /// is counted, and commit points lie between records.
    Start {
        /// Kind of its topic.
        kind: Kind,
        /// Position of the record.
        at: Position,
    },
    /// End of a record that began with [`RecordInput::Start`].
    End {
        /// Outcome of the record.
        outcome: RecordOutcome,
        /// Counts of what it holds.
        counts: RecordCounts,
    },
    /// A search.
    Search {
        /// Position of the record.
        at: Position,
        /// The search.
        event: &'a Search<'a>,
        /// Ids by which the join finds the search.
        ids: SearchIds,
    },
    /// A feedback event.
    Feedback {
        /// Position of the record.
        at: Position,
        /// The event.
        event: &'a Feedback<'a>,
        /// The search or the session that it is about. Decoding rejects feedback without one.
        target: Option<Target>,
    },
    /// An event that cannot be used. Outside of a record with several events, a record that cannot
    /// be decoded.
    Rejected {
        /// Kind of its topic.
        kind: Kind,
        /// Position of the record.
        at: Position,
        /// Reason why it cannot be used.
        rejection: &'a Rejection,
    },
}

/// Input to an engine that is no part of a record.
#[derive(Debug)]
pub enum Input<'a> {
    /// Passing of time. Windows advance only on this input.
    Tick {
        /// The wall time.
        wall: WallTime,
        /// Progress of the other workers of the process. With it, all windows end together.
        others: Option<Progress>,
    },
    /// Assignment of a partition of the topics to this engine.
    Assigned {
        /// The partition.
        partition: i32,
        /// State at which processing resumes.
        resume: Resume,
    },
    /// Revocation of a partition. Its pending records pass to the next owner. If all partitions are
    /// joined with each other, all are revoked.
    Revoked {
        /// The partition.
        partition: i32,
    },
    /// Consumer lag of a topic partition, as the broker reports it.
    Lag {
        /// Kind of the topic.
        kind: Kind,
        /// In which partition.
        partition: i32,
        /// Number of records still to be read.
        records: u64,
    },
    /// Loss of the records of a topic partition from the first offset that is not yet counted.
    Lost {
        /// Kind of the topic.
        kind: Kind,
        /// In which partition.
        partition: i32,
        /// First offset that is not lost.
        before: i64,
        /// Reason of the loss.
        reason: LossReason,
    },
    /// Record of an internal topic about the source partitions of the records before it.
    Sources {
        /// Kind of the topic.
        kind: Kind,
        /// Position of the record.
        at: Position,
        /// Its content.
        sources: &'a SourceReport,
    },
    /// Time that Kafka states for a record of an assigned topic partition.
    Written {
        /// Kind of the topic.
        kind: Kind,
        /// In which partition.
        partition: i32,
        /// Time of the record.
        at: WallTime,
    },
    /// Gold set that judges all following searches.
    Gold(Arc<GoldSet>),
    /// Reset of the baselines of all variants.
    ResetBaselines {
        /// Time at which it was reported. A reset that is not later than the last one has no effect.
        reported: WallTime,
    },
    /// Deployment of a variant. It is marked on the open incidents, and the targets are tested again from its
    /// searches on.
    Deployed {
        /// Name of the variant.
        variant: &'a str,
        /// Version, if it was stated.
        version: Option<&'a str>,
        /// Time of the deployment.
        at: EventTime,
        /// Time at which it was reported that the scores are not comparable with those before, so that the
        /// baselines are reset. A report that is not later than the last one of the variant has no effect.
        /// `None` if the baselines are kept, so that a drop which begins with the deployment is found.
        reset: Option<WallTime>,
    },
    /// Acknowledgement of an incident by an operator.
    Acknowledged {
        /// Id of the incident.
        incident: u64,
        /// The acknowledgement.
        given: &'a Acknowledged,
    },
    /// Note of an operator on an incident.
    Noted {
        /// Id of the incident.
        incident: u64,
        /// Note with its time and operator.
        note: &'a Note,
    },
    /// Baselines of the other workers of the fleet.
    Inherited(&'a FleetBaselines),
    /// Incidents of other workers, after a tick. A process with one worker needs no such input, unless it
    /// shares its values with a fleet.
    Incidents {
        /// Shares of the other workers of the process.
        others: &'a [Incident],
        /// Shares of the workers of other processes.
        fleet: &'a [SharedIncident],
    },
    /// Evidence of other workers, after a tick: a drop that no worker shows alone opens an incident.
    Evidence {
        /// Evidence of the other workers of the process.
        workers: &'a [&'a Evidence],
        /// Evidence of the other processes of the fleet together.
        fleet: &'a CombinedEvidence,
    },
}
