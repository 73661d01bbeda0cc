//! Series: numbers of label values and of their combinations, as the [registry](super::Registry)
//! assigns them.

use serde::{Deserialize, Serialize};

/// Number of a label value within its [`Dimension`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Label(pub(super) u32);

impl Label {
    /// Label value that replaces every value beyond a limit.
    pub const OTHER_NAME: &str = "__other__";
    /// Number of `__other__`, in every dimension.
    pub const OTHER: Self = Self(0);
    /// Number of the empty value, in every dimension.
    pub const EMPTY: Self = Self(1);
    /// Lowest and highest number, for ranges of keys.
    pub(super) const RANGE: [Self; 2] = [Self(0), Self(u32::MAX)];

    /// Converts a position in a list that the reader of the label also has (for example the slices
    /// of the settings) to a label.
    pub fn from_position(position: usize) -> Self {
        u32::try_from(position)
            .ok()
            .and_then(|number| number.checked_add(2))
            .map_or(Self::OTHER, Self)
    }

    /// Position that the label was created [from](Self::from_position). `None` for `__other__` and
    /// for the empty value.
    pub fn position(self) -> Option<usize> {
        self.index().checked_sub(2)
    }

    /// Number of the label, as an index into tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<Label> for usize {
    fn from(label: Label) -> Self {
        label.index()
    }
}

/// Labels with values from events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// System version or experiment arm that served the search.
    Variant,
    /// Value of a slice: `keyword`, `hard`.
    SliceValue,
    /// Stage of the search: `vector`, `rne`; `all` is the whole search.
    Stage,
    /// Error type of a failed search.
    ErrorType,
    /// LLM or embedding model.
    Model,
    /// Operation for which the model was called.
    Operation,
    /// ISO 4217 code.
    Currency,
    /// Domain to which searches are routed.
    Domain,
    /// Experiment with interleaved rankings.
    Experiment,
    /// Team of an interleaved ranking.
    Team,
    /// Evaluator of results or answers.
    Evaluator,
    /// Version of an evaluator.
    EvaluatorVersion,
}

impl Dimension {
    /// All dimensions, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::Variant,
        Self::SliceValue,
        Self::Stage,
        Self::ErrorType,
        Self::Model,
        Self::Operation,
        Self::Currency,
        Self::Domain,
        Self::Experiment,
        Self::Team,
        Self::Evaluator,
        Self::EvaluatorVersion,
    ];
}

/// Maximum number of labels that identify a series.
pub(super) const MAX_KEYS: usize = 4;

/// Labels that identify a series within a table. Unused labels are [`Label::EMPTY`].
pub(super) type Labels = [Label; MAX_KEYS];

/// Pads the labels of a series to the length of a key.
pub(super) fn key<const N: usize>(labels: [Label; N]) -> Labels {
    const { assert!(N <= MAX_KEYS) }
    let mut key = [Label::EMPTY; MAX_KEYS];
    key[..N].copy_from_slice(&labels);
    key
}

/// Team of a tie: no team has more credit than all others.
pub(super) const TIE: Label = Label::EMPTY;

/// Number of a series within its table.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Series(pub(super) u32);

impl Series {
    /// Series with this number.
    pub(super) fn at(number: usize) -> Self {
        Self(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Number of the series, as an index into tables by series.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<Series> for usize {
    fn from(series: Series) -> Self {
        series.index()
    }
}
