//! Outcomes of records, and of the spans and evaluations that a record can hold.

use std::ops::{AddAssign, Index, IndexMut};

/// Outcome of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOutcome {
    /// It holds at least one event, valid or not.
    Used,
    /// It holds no event: for example, a record of spans without a search.
    WithoutEvents,
    /// It cannot be decoded.
    Invalid,
    /// The mapping of its format selects none of its events.
    Ignored,
}

impl RecordOutcome {
    /// Label values, by position of the outcome.
    pub const NAMES: [&'static str; 4] = ["used", "without_events", "invalid", "ignored"];
}

/// Outcome of a span of an OpenTelemetry record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanOutcome {
    /// It is a search.
    Search,
    /// It is a search that cannot be used; see the reasons of rejection.
    Invalid,
    /// It is a search whose documents the instrumentation did not record.
    WithoutDocuments,
    /// It is of a selected kind, and its name, its resource or its scope is excluded.
    Ignored,
    /// It is of another kind.
    Other,
}

impl SpanOutcome {
    /// Label values, by position of the outcome.
    pub const NAMES: &'static [&'static str] =
        &["search", "invalid", "without_documents", "ignored", "other"];

    /// Every outcome, in the order of the names.
    pub const ALL: [Self; 5] = [
        Self::Search,
        Self::Invalid,
        Self::WithoutDocuments,
        Self::Ignored,
        Self::Other,
    ];
}

/// Counts of what a record with several events holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// Spans of the search topic, by outcome.
    pub(crate) spans: [u64; SpanOutcome::ALL.len()],
    /// Attributes that the instrumented process dropped, of spans of a selected kind.
    pub dropped_attributes: u64,
    /// Documents without an id, of spans of a selected kind.
    pub documents_without_id: u64,
    /// Answers of traces without a search in the record.
    pub answers_without_search: u64,
    /// Evaluations of the feedback topic that are feedback.
    pub feedback: u64,
    /// Evaluations of the feedback topic that cannot be used.
    pub invalid_evaluations: u64,
    /// Evaluations of the feedback topic whose names are not configured.
    pub ignored_evaluations: u64,
    /// Log records and spans of the feedback topic without an evaluation.
    pub without_evaluation: u64,
    /// Events that the mapping of the format does not select.
    pub ignored: u64,
}

impl RecordCounts {
    /// Label values of the outcomes of evaluations, in the order of [`RecordCounts::evaluations`].
    pub const EVALUATIONS: &'static [&'static str] = &["feedback", "invalid", "ignored", "other"];

    /// Number of all spans of the search topic.
    pub fn spans(&self) -> u64 {
        self.spans.iter().sum()
    }

    /// Numbers of evaluations by outcome.
    pub fn evaluations(&self) -> [u64; 4] {
        [
            self.feedback,
            self.invalid_evaluations,
            self.ignored_evaluations,
            self.without_evaluation,
        ]
    }
}

impl Index<SpanOutcome> for RecordCounts {
    type Output = u64;

    fn index(&self, outcome: SpanOutcome) -> &u64 {
        &self.spans[outcome as usize]
    }
}

impl IndexMut<SpanOutcome> for RecordCounts {
    fn index_mut(&mut self, outcome: SpanOutcome) -> &mut u64 {
        &mut self.spans[outcome as usize]
    }
}

impl AddAssign for RecordCounts {
    fn add_assign(&mut self, other: Self) {
        for (mine, theirs) in self.spans.iter_mut().zip(other.spans) {
            *mine += theirs;
        }
        self.dropped_attributes += other.dropped_attributes;
        self.documents_without_id += other.documents_without_id;
        self.answers_without_search += other.answers_without_search;
        self.feedback += other.feedback;
        self.invalid_evaluations += other.invalid_evaluations;
        self.ignored_evaluations += other.ignored_evaluations;
        self.without_evaluation += other.without_evaluation;
        self.ignored += other.ignored;
    }
}
