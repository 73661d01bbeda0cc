//! Limits on what is kept of a query and variant.

/// Maximum number of result lists kept for each query and variant.
pub const MAX_LISTS: usize = 5;

/// Maximum number of documents kept for each result list.
pub const MAX_DOCUMENTS: usize = 20;

/// Number of searches from which the baseline of a query and variant is computed.
pub const BASELINE_SEARCHES: u64 = 10;

/// Maximum number of recent scores kept for each query and variant.
pub const MAX_TREND: usize = 24;

/// Maximum number of clicked unjudged documents kept for each query and variant.
pub const MAX_UNJUDGED: usize = 8;
