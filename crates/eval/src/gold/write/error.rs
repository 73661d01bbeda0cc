//! Errors of writing a gold set.

use rankgauge_core::gold::Format;
use rankgauge_core::text::escape_controls;

/// Error for a set that cannot be written in a format.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum WriteError {
    #[error(
        "gold sets are not written as `{format}`; choose native, qrels, beir, quepid, srw, \
         rank_eval or ranx"
    )]
    ReadOnly { format: Format },
    #[error(
        "the {what} `{}` cannot be written as {format}, where {reason}; rename it, or choose \
         another format", escape_controls(.id)
    )]
    Id {
        what: &'static str,
        id: String,
        format: Format,
        reason: &'static str,
    },
    #[error(
        "the queries `{first}` and `{second}` would both be called `{name}` in {format}, which \
         identifies queries by text only"
    )]
    SharedName {
        name: String,
        first: String,
        second: String,
        format: Format,
    },
    #[error("the gold set cannot be written: {0}")]
    Encoding(#[from] serde_json::Error),
    #[error("the gold set cannot be written: {0}")]
    Row(#[from] csv::Error),
}
