//! Spans of real instrumentation packages, written by `tests/otel/generate.py`.

use std::path::PathBuf;

/// Fixtures with complete rankings, and the spans of each by outcome: search, invalid, without
/// documents, ignored, other.
pub(crate) const COMPLETE: [(&str, [u64; 5]); 6] = [
    ("llama_index", [6, 0, 0, 6, 0]),
    ("langchain_ids", [6, 0, 0, 0, 0]),
    ("haystack", [6, 0, 0, 0, 11]),
    ("haystack_both", [5, 0, 0, 0, 10]),
    ("gen_ai", [5, 0, 0, 0, 0]),
    ("langfuse", [5, 0, 0, 0, 0]),
];

pub(crate) fn path(name: &str) -> PathBuf {
    crate::repository("tests/data/otel").join(name)
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let path = path(name);
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; write it with make otel-fixtures",
            path.display()
        )
    })
}
