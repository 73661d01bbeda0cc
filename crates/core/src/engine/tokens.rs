//! Use of tokens.

/// Use of a token. The four directions do not overlap: their sum is the number of all tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Input tokens that were not read from a cache.
    Input,
    /// Output tokens that are not reasoning.
    Output,
    /// Input tokens read from the provider's cache.
    CacheRead,
    /// Output tokens spent on reasoning.
    Reasoning,
}

impl Direction {
    /// Label values, in the order of the variants.
    pub(super) const NAMES: [&'static str; 4] = ["input", "output", "cache_read", "reasoning"];
}
