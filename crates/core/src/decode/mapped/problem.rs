//! Problems of a mapping.

/// Problem of a mapping, with its path in it (`.search.fields.ts`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path within the mapping.
    pub path: String,
    /// Problem and remedy.
    pub text: String,
}
