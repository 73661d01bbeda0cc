//! Error of a text that is no event time.

/// Reason for which a text is no event time.
#[derive(Debug, thiserror::Error)]
pub enum TimeError {
    /// Another form.
    #[error("not an ISO 8601 time with an offset; write 2026-11-25T10:00:00+09:00")]
    Form,
    /// Time without an offset.
    #[error("a time without an offset; write 2026-11-25T10:00:00+09:00, or Z for UTC")]
    NoOffset,
    /// Time that no calendar or clock has.
    #[error("not an ISO 8601 time with an offset: {0}")]
    Value(jiff::Error),
}
