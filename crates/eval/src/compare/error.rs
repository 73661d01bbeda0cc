//! Reasons why runs cannot be compared.

/// Reasons why runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum CompareError {
    #[error("two or more runs are needed, {given} given")]
    TooFewRuns { given: usize },
    #[error(
        "`{a}` and `{b}` have no measure in common: the first has {}, the second {}",
        listed(.of_a),
        listed(.of_b)
    )]
    NoCommonMeasure {
        a: String,
        b: String,
        of_a: Vec<String>,
        of_b: Vec<String>,
    },
    #[error("no measure can be tested: {}", .reasons.join("; "))]
    NothingToTest { reasons: Vec<String> },
    #[error(
        "`{a}` and `{b}` have no query in common: the first has {}, the second {}",
        listed(.of_a),
        listed(.of_b)
    )]
    NoCommonQuery {
        a: String,
        b: String,
        of_a: Vec<String>,
        of_b: Vec<String>,
    },
    #[error("the interaction names `{name}`, which is not a run; the runs are {}", listed(.known))]
    UnknownRun { name: String, known: Vec<String> },
    #[error("the interaction names `{name}` twice; it requires four different runs: base,a,b,both")]
    RepeatedRun { name: String },
    #[error("no query has the label `{name}`; there are {}", listed(.known))]
    UnknownLabel { name: String, known: Vec<String> },
}

/// Maximum number of names in a sentence.
const MAX_LISTED: usize = 10;

/// Joins names for a sentence.
pub(super) fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = names
        .iter()
        .take(MAX_LISTED)
        .map(|it| format!("`{it}`"))
        .collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(MAX_LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
