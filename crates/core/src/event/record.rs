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

/// Counts of the spans of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanCounts {
    by_outcome: [u64; SpanOutcome::ALL.len()],
    /// Attributes that the instrumented process dropped, of spans of a selected kind.
    pub dropped_attributes: u64,
    /// Documents without an id, of spans of a selected kind.
    pub documents_without_id: u64,
    /// Answers of traces without a search in the record.
    pub answers_without_search: u64,
}

impl SpanCounts {
    /// Returns true if the record holds an event.
    pub fn has_events(&self) -> bool {
        self[SpanOutcome::Search] > 0 || self[SpanOutcome::Invalid] > 0
    }

    /// Number of all spans.
    pub fn total(&self) -> u64 {
        self.by_outcome.iter().sum()
    }
}

/// Counts of the evaluations in a record of the feedback topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvaluationCounts {
    /// Evaluations that are feedback.
    pub feedback: u64,
    /// Evaluations that cannot be used.
    pub invalid: u64,
    /// Evaluations whose names are not configured.
    pub ignored: u64,
    /// Log records and spans without an evaluation.
    pub other: u64,
}

impl EvaluationCounts {
    /// Label values, in the order of [`EvaluationCounts::by_outcome`].
    pub const NAMES: &'static [&'static str] = &["feedback", "invalid", "ignored", "other"];

    /// Counts by outcome.
    pub fn by_outcome(self) -> [u64; 4] {
        [self.feedback, self.invalid, self.ignored, self.other]
    }
}

/// Counts of what a record with several events holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// Spans of the search topic.
    pub spans: SpanCounts,
    /// Evaluations of the feedback topic.
    pub evaluations: EvaluationCounts,
    /// Events that the mapping of the format does not select.
    pub ignored: u64,
}

impl Index<SpanOutcome> for SpanCounts {
    type Output = u64;

    fn index(&self, outcome: SpanOutcome) -> &u64 {
        &self.by_outcome[outcome as usize]
    }
}

impl IndexMut<SpanOutcome> for SpanCounts {
    fn index_mut(&mut self, outcome: SpanOutcome) -> &mut u64 {
        &mut self.by_outcome[outcome as usize]
    }
}

impl AddAssign for SpanCounts {
    fn add_assign(&mut self, other: Self) {
        for (mine, theirs) in self.by_outcome.iter_mut().zip(other.by_outcome) {
            *mine += theirs;
        }
        self.dropped_attributes += other.dropped_attributes;
        self.documents_without_id += other.documents_without_id;
        self.answers_without_search += other.answers_without_search;
    }
}
