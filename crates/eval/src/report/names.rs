//! Names in a report: on one line, and of limited length.

use crate::evaluate::RunEvaluation;
use crate::text_layout::{escape_controls, shorten};

/// Name of a run, a label or a measure, at most 40 characters; a dash if it is empty.
pub(super) fn name(text: &str) -> String {
    limited(text, 40)
}

/// Key or text of a query, or a value of a label, at most 60 characters; a dash if it is empty.
pub(super) fn long_name(text: &str) -> String {
    limited(text, 60)
}

fn limited(text: &str, most: usize) -> String {
    if text.is_empty() {
        "–".to_owned()
    } else {
        shorten(&escape_controls(text), most)
    }
}

/// Short name of a run, for use beside others.
pub(super) fn run_name(run: &RunEvaluation) -> String {
    shorten(&escape_controls(&run.name), 40)
}
