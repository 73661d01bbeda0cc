//! User Behavior Insights: every published sample decodes as expected, and missing
//! fields are named.

mod leniency;
mod samples;

use rankgauge_core::decode::ubi::Dialect;
use rankgauge_core::event::{Feedback, Search};

use super::LIMITS;

fn dialect(ordinal_base: u32) -> Dialect {
    Dialect {
        ordinal_base,
        ..Dialect::default()
    }
}

#[track_caller]
fn search_of(text: &str) -> Search<'_> {
    *Dialect::search(text.as_bytes(), &LIMITS).expect("a valid search")
}

#[track_caller]
fn feedback_of(text: &str) -> Feedback<'_> {
    dialect(1)
        .feedback(text.as_bytes(), &LIMITS)
        .expect("a valid event")
}

/// Event named `action` with `attributes`.
fn event(action: &str, attributes: &str) -> String {
    format!(
        r#"{{"query_id": "q", "timestamp": 1, "action_name": "{action}", "event_attributes": {{{attributes}}}}}"#
    )
}

/// Search with `fields` beside the required fields.
fn search_with(fields: &str) -> String {
    format!(r#"{{"query_id": "q", "timestamp": 1, {fields}}}"#)
}
