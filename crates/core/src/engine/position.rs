//! Places of records: topics, partitions and offsets.

use crate::event::Kind;

/// Position of a record in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Number of the partition, from 0.
    pub partition: i32,
    /// Offset in its topic.
    pub offset: i64,
}

/// Topics of the events, and the partitions that are joined with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topics {
    /// Topic of feedback events.
    pub feedback: FeedbackTopic,
    /// Partitions of a search and its feedback.
    pub join: Join,
}

/// Topic of feedback events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FeedbackTopic {
    /// A topic of its own.
    #[default]
    Own,
    /// The search topic.
    Shared,
    /// There is no feedback.
    None,
}

/// Partitions in which a search and its feedback can lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// The partition of the same number.
    #[default]
    Partition,
    /// Any partition.
    All,
    /// Any partition of the source topics. Records are copied to internal topics, to the partition that
    /// their id determines, and read from there.
    Repartition,
}

impl Topics {
    /// Kind of the topic with events of `kind`: a topic of both kinds is the search topic.
    pub fn of(self, kind: Kind) -> Kind {
        match self.feedback {
            FeedbackTopic::Own => kind,
            FeedbackTopic::Shared | FeedbackTopic::None => Kind::Search,
        }
    }

    /// Kinds of the topics that are read.
    pub fn kinds(self) -> &'static [Kind] {
        match self.feedback {
            FeedbackTopic::Own => &Kind::ALL,
            FeedbackTopic::Shared | FeedbackTopic::None => &[Kind::Search],
        }
    }
}
