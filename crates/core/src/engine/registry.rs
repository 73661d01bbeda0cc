//! Registry of series: dense numbers for label values and for their combinations.
//!
//! All workers of a process share the numbers, so their tables can be added index by index. Names
//! are looked up only at exposition. The registry also limits cardinality: beyond the limits a
//! value becomes `__other__`. Text from events becomes a metric label only through this module.

use std::sync::{PoisonError, RwLock};

use dashmap::DashMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::engine::settings::{FIRST_CLICK_BUCKETS, Settings};
use crate::measure::micro;

/// Label value that replaces every value beyond a limit.
pub const OTHER: &str = "__other__";

/// Number of a label value within its [`Dimension`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Label(u32);

impl Label {
    /// Number of `__other__`, in every dimension.
    pub const OTHER: Self = Self(0);
    /// Number of the empty value, in every dimension.
    pub const EMPTY: Self = Self(1);

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
}

impl Dimension {
    /// All dimensions, in the order of their numbers.
    pub const ALL: [Self; 10] = [
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
    ];
}

/// Meaning of a label of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Value from events.
    Named(Dimension),
    /// All searches (position 0), or a slice, by its position in the settings plus 1.
    Slice,
    /// Component, by its position in the settings.
    Component,
    /// Position in a list that is fixed in the code, or unused.
    Fixed,
}

/// Families of series with labels from events. Each family has its own numbering and limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Scores of all measures; keyed by variant, slice (position in the settings plus 1, 0 = all),
    /// value.
    Scores,
    /// Failed searches; keyed by variant, error type.
    Errors,
    /// Latency; keyed by stage, variant.
    Latency,
    /// Tokens; keyed by model, direction (see [`crate::engine::cost::Direction`]), variant.
    Tokens,
    /// Model calls; keyed by model, operation, variant.
    Calls,
    /// Money spent; keyed by currency, model, variant.
    Cost,
    /// Cost of a single search; keyed by currency, variant.
    CostPerQuery,
    /// Usage without a known price; keyed by model.
    Unpriced,
    /// Feedback; keyed by type, variant.
    Feedback,
    /// Searches by the state of a component (needed or not, triggered or not); keyed by component
    /// (position in the settings), [`trigger_label`], variant.
    Trigger,
    /// Results of components by distance in hops; keyed by component, [`hops_label`], variant.
    Hops,
    /// Routed searches; keyed by expected domain, selected domain, variant.
    Routing,
    /// Relevant results contributed by a domain; keyed by primary domain, contributing domain,
    /// variant.
    Collaboration,
    /// Clicked results; keyed by variant.
    Clicks,
    /// Expected clicks at the positions shown, in units of 10⁻⁹; keyed by variant.
    ExpectedClicks,
    /// Clicks on results that were not served; keyed by variant.
    UnservedClicks,
    /// Time from a search to its first click; keyed by variant.
    FirstClick,
    /// Wins of interleaved searches; keyed by experiment, winning team ([`TIE`] if no team won).
    Interleaving,
    /// Judgements made in production; keyed by the judgement of the gold set, the judgement of
    /// production, variant.
    Judgements,
}

/// Team label of an interleaved search in which no team has more clicks than all others.
pub const TIE: Label = Label::EMPTY;

/// Maximum distance in hops. Larger distances are counted as this distance.
pub const MOST_HOPS: usize = 4;

/// Returns the label for a component that was needed or not, and triggered or not.
pub fn trigger_label(needed: bool, fired: bool) -> Label {
    Label::from_position(usize::from(needed) * 2 + usize::from(fired))
}

/// Returns the arguments that [`trigger_label`] encodes in a label: needed, fired.
pub fn trigger_of(label: Label) -> Option<(bool, bool)> {
    label
        .position()
        .map(|position| (position >= 2, position % 2 == 1))
}

/// Returns the label of a distance of 1, 2, 3, or 4 or more hops. `None` for 0 hops.
pub fn hops_label(hops: u32) -> Option<Label> {
    let hops = usize::try_from(hops).unwrap_or(MOST_HOPS).min(MOST_HOPS);
    hops.checked_sub(1).map(Label::from_position)
}

impl Family {
    /// All families, in the order of their numbers.
    pub const ALL: [Self; 19] = [
        Self::Scores,
        Self::Errors,
        Self::Latency,
        Self::Tokens,
        Self::Calls,
        Self::Cost,
        Self::CostPerQuery,
        Self::Unpriced,
        Self::Feedback,
        Self::Trigger,
        Self::Hops,
        Self::Routing,
        Self::Collaboration,
        Self::Clicks,
        Self::ExpectedClicks,
        Self::UnservedClicks,
        Self::FirstClick,
        Self::Interleaving,
        Self::Judgements,
    ];

    /// Number of samples that one series exposes.
    fn samples(self, settings: &Settings) -> usize {
        let windows = settings.windows.len();
        match self {
            Self::Scores => {
                let documents = micro::cutoffs(&settings.measures).len() * 3;
                ((settings.measures.len() + 1) * windows).max(documents)
            }
            // Buckets with the +Inf bucket, sum and count; five quantiles for each window.
            Self::Latency => (settings.latency_buckets.len() + 3).max(5 * windows),
            Self::FirstClick => FIRST_CLICK_BUCKETS.len() + 3,
            Self::CostPerQuery => 2 * windows,
            Self::Errors
            | Self::Tokens
            | Self::Calls
            | Self::Cost
            | Self::Unpriced
            | Self::Feedback
            | Self::Trigger
            | Self::Hops
            | Self::Routing
            | Self::Collaboration
            | Self::Clicks
            | Self::ExpectedClicks
            | Self::UnservedClicks
            | Self::Interleaving
            | Self::Judgements => 1,
        }
    }

    /// Overflow series, which receive the samples beyond the limit of the family. The first has
    /// number 0.
    fn last_resorts(self, slices: usize) -> Vec<Labels> {
        match self {
            // One overflow series for each slice: a single one would count a search more than once.
            Self::Scores => {
                let whole = [Label::OTHER, Label::from_position(0), Label::EMPTY];
                let of_slice = |slice| [Label::OTHER, Label::from_position(slice), Label::OTHER];
                std::iter::once(whole)
                    .chain((1..=slices).map(of_slice))
                    .collect()
            }
            Self::Errors
            | Self::Latency
            | Self::Tokens
            | Self::Calls
            | Self::Cost
            | Self::CostPerQuery
            | Self::Unpriced
            | Self::Feedback
            | Self::Trigger
            | Self::Hops
            | Self::Routing
            | Self::Collaboration
            | Self::Clicks
            | Self::ExpectedClicks
            | Self::UnservedClicks
            | Self::FirstClick
            | Self::Interleaving
            | Self::Judgements => vec![[Label::OTHER; 3]],
        }
    }

    /// Meaning of the three labels of the family's series.
    pub fn axes(self) -> [Axis; 3] {
        use Axis::{Component, Fixed, Named, Slice};
        use Dimension as D;
        let variant = Named(D::Variant);
        match self {
            Self::Scores => [variant, Slice, Named(D::SliceValue)],
            Self::Errors => [variant, Named(D::ErrorType), Fixed],
            Self::Latency => [Named(D::Stage), variant, Fixed],
            Self::Tokens => [Named(D::Model), Fixed, variant],
            Self::Calls => [Named(D::Model), Named(D::Operation), variant],
            Self::Cost => [Named(D::Currency), Named(D::Model), variant],
            Self::CostPerQuery => [Named(D::Currency), variant, Fixed],
            Self::Unpriced => [Named(D::Model), Fixed, Fixed],
            Self::Feedback => [Fixed, variant, Fixed],
            Self::Trigger | Self::Hops => [Component, Fixed, variant],
            Self::Routing | Self::Collaboration => [Named(D::Domain), Named(D::Domain), variant],
            Self::Clicks | Self::ExpectedClicks | Self::UnservedClicks | Self::FirstClick => {
                [variant, Fixed, Fixed]
            }
            Self::Interleaving => [Named(D::Experiment), Named(D::Team), Fixed],
            Self::Judgements => [Fixed, Fixed, variant],
        }
    }

    /// Name of the exposed metric family. Dropped series are counted under this name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scores => "score",
            Self::Errors => "search_errors_total",
            Self::Latency => "search_latency_seconds",
            Self::Tokens => "tokens_total",
            Self::Calls => "llm_calls_total",
            Self::Cost => "cost_total",
            Self::CostPerQuery => "cost_per_query",
            Self::Unpriced => "unpriced_usage_total",
            Self::Feedback => "feedback_total",
            Self::Trigger => "component_trigger_total",
            Self::Hops => "component_hops_total",
            Self::Routing => "routing_total",
            Self::Collaboration => "collaboration_total",
            Self::Clicks => "clicks_total",
            Self::ExpectedClicks => "expected_clicks_total",
            Self::UnservedClicks => "unserved_clicks_total",
            Self::FirstClick => "time_to_first_click_seconds",
            Self::Interleaving => "interleaving_wins_total",
            Self::Judgements => "production_judgements_total",
        }
    }
}

/// Up to three labels that identify a series within a family. Unused labels are [`Label::EMPTY`].
pub type Labels = [Label; 3];

/// Number of a series within its [`Family`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Series(u32);

impl Series {
    /// Number of the series, as an index into the tables of its family.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Series assigned to a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Series that counts the sample.
    pub series: Series,
    /// True if the series is an overflow series (`__other__`) because the family is full.
    pub dropped: bool,
}

/// Append-only dense numbering of keys, up to a limit. The limit also bounds the cost of hash
/// collisions.
struct Numbering<K> {
    numbers: DashMap<K, u32, FxBuildHasher>,
    keys: RwLock<Vec<K>>,
    limit: usize,
}

impl<K: Clone + Eq + std::hash::Hash> Numbering<K> {
    fn new(limit: usize, reserved: impl IntoIterator<Item = K>) -> Self {
        let numbering = Self {
            numbers: DashMap::default(),
            keys: RwLock::new(Vec::new()),
            limit: usize::MAX,
        };
        for key in reserved {
            numbering.admit(&key, 0);
        }
        Self { limit, ..numbering }
    }

    /// Returns the number of `key`. A new key gets the next number, or `None` if at most
    /// `keep_free` numbers are left.
    fn admit(&self, key: &K, keep_free: usize) -> Option<u32> {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = self.numbers.get(key) {
            return Some(*number);
        }
        if keys.len().saturating_add(keep_free) >= self.limit {
            return None;
        }
        let number = u32::try_from(keys.len()).ok()?;
        keys.push(key.clone());
        self.numbers.insert(key.clone(), number);
        Some(number)
    }

    fn keys(&self) -> Vec<K> {
        self.keys
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Label values and series of a process.
pub struct Registry {
    labels: [Numbering<Box<str>>; Dimension::ALL.len()],
    series: [Numbering<Labels>; Family::ALL.len()],
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Registry").finish_non_exhaustive()
    }
}

impl Registry {
    /// Creates an empty registry with the limits of `settings`. A series that exposes several
    /// samples, for example one for each window or bucket, counts that many times towards its
    /// family's limit.
    pub fn new(settings: &Settings) -> Self {
        let values = settings.series_limits.values_per_label.saturating_add(2);
        let named = || [OTHER, ""].map(Box::from);
        Self {
            labels: std::array::from_fn(|_| Numbering::new(values, named())),
            series: Family::ALL.map(|family| {
                let room =
                    settings.series_limits.series_per_family / family.samples(settings).max(1);
                Numbering::new(room.max(1), family.last_resorts(settings.slices.len()))
            }),
        }
    }

    /// Returns the label for `value`, or [`Label::OTHER`] if the dimension is full or the value is
    /// longer than 256 bytes.
    pub fn label(&self, dimension: Dimension, value: &str) -> Label {
        let values = &self.labels[dimension as usize];
        if let Some(number) = values.numbers.get(value) {
            return Label(*number);
        }
        // Every scrape exposes every label value, so long values are replaced.
        if value.len() > 256 {
            return Label::OTHER;
        }
        values
            .admit(&Box::from(value), 0)
            .map_or(Label::OTHER, Label)
    }

    /// Returns the series of `family` with these `labels`.
    ///
    /// When the family is nearly full, the value of a slice becomes `__other__`. The last tenth of
    /// the limit is reserved for such series. When the reserve is full, and in families without
    /// slices, every label becomes `__other__`.
    pub fn series(&self, family: Family, labels: Labels) -> Admission {
        let table = &self.series[family as usize];
        let own = table
            .numbers
            .get(&labels)
            .map(|number| *number)
            .or_else(|| table.admit(&labels, table.limit / 10));
        if let Some(number) = own {
            return Admission {
                series: Series(number),
                dropped: false,
            };
        }
        let [variant, slice, _] = labels;
        let number = match family {
            Family::Scores if slice == Label::from_position(0) => None,
            Family::Scores => table
                .admit(&[variant, slice, Label::OTHER], 0)
                .or_else(|| table.admit(&[Label::OTHER, slice, Label::OTHER], 0)),
            Family::Errors
            | Family::Latency
            | Family::Tokens
            | Family::Calls
            | Family::Cost
            | Family::CostPerQuery
            | Family::Unpriced
            | Family::Feedback
            | Family::Trigger
            | Family::Hops
            | Family::Routing
            | Family::Collaboration
            | Family::Clicks
            | Family::ExpectedClicks
            | Family::UnservedClicks
            | Family::FirstClick
            | Family::Interleaving
            | Family::Judgements => None,
        };
        let number = number.unwrap_or(0);
        Admission {
            series: Series(number),
            dropped: true,
        }
    }

    /// Values of `dimension`, by number.
    pub fn values(&self, dimension: Dimension) -> Vec<Box<str>> {
        self.labels[dimension as usize].keys()
    }

    /// Labels of all series of `family`, by number.
    pub fn members(&self, family: Family) -> Vec<Labels> {
        self.series[family as usize].keys()
    }
}
