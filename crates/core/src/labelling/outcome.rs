//! Outcomes of labels, and strata of requests.

/// Outcome of a judgement that returns a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelOutcome {
    Counted,
    /// The request has a label.
    Duplicate,
    /// After the deadline.
    Late,
    /// The request is not signed by this system, was changed, or is about another result.
    Invalid,
    /// Not by a person.
    NotHuman,
}

impl LabelOutcome {
    /// Exposed names, in the order of the variants.
    pub(crate) const NAMES: [&'static str; 5] =
        ["counted", "duplicate", "late", "invalid", "not_human"];
}

/// Strata of requests: the query is in the gold set, or not.
pub(crate) const STRATA: [&str; 2] = ["head", "tail"];
