//! Which series exist: label values and their combinations, numbered densely.
//!
//! Numbers are shared by all workers of a process, so that their tables can be added index by
//! index, and what a number stands for is needed only when it is exposed. The registry is also
//! where cardinality ends: beyond the limits a value becomes `__other__`. Event text reaches
//! metric labels through here and nowhere else.

use std::sync::{PoisonError, RwLock};

use dashmap::DashMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::engine::settings::{FIRST_CLICK_BUCKETS, Settings};
use crate::measure::micro;

/// What stands for every value beyond a limit.
pub const OTHER: &str = "__other__";

/// A label value, numbered within its [`Dimension`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Label(u32);

impl Label {
    /// `__other__`, in every dimension.
    pub const OTHER: Self = Self(0);
    /// The empty value, in every dimension.
    pub const EMPTY: Self = Self(1);

    /// A position in a list known to both sides (a slice of the settings), used as a label.
    pub fn from_position(position: usize) -> Self {
        u32::try_from(position)
            .ok()
            .and_then(|number| number.checked_add(2))
            .map_or(Self::OTHER, Self)
    }

    /// The position that the label was made [from](Self::from_position); `None` for `__other__`
    /// and for the empty value.
    pub fn position(self) -> Option<usize> {
        self.index().checked_sub(2)
    }

    /// The number, for looking something up.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The labels whose values come from events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// The system version or experiment arm that served the search.
    Variant,
    /// The value of a slice: `keyword`, `hard`.
    SliceValue,
    /// A step of the search: `vector`, `rne`; `all` is the whole.
    Stage,
    /// Why a search failed.
    ErrorType,
    /// An LLM or embedding model.
    Model,
    /// What the model was called for.
    Operation,
    /// ISO 4217 code.
    Currency,
    /// A domain that searches are routed to.
    Domain,
    /// An experiment whose rankings are interleaved.
    Experiment,
    /// A team of an interleaved ranking.
    Team,
}

impl Dimension {
    /// Every dimension, in the order of its number.
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

/// What a label of a series stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// A value from events.
    Named(Dimension),
    /// The whole (position 0), or a slice by its position in the settings plus 1.
    Slice,
    /// A component, by its position in the settings.
    Component,
    /// A position in a list of the code's own, or nothing.
    Fixed,
}

/// Families of series with labels from events. Each has its own numbering and its own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Scores of every measure; keyed by variant, slice (position in the settings, 0 = all), value.
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
    /// Money spent for one search; keyed by currency, variant.
    CostPerQuery,
    /// Usage for which no price is known; keyed by model.
    Unpriced,
    /// Feedback; keyed by type, variant.
    Feedback,
    /// Whether components ran when they were needed; keyed by component (position in the
    /// settings), [`trigger_label`], variant.
    Trigger,
    /// Results of components by distance; keyed by component, [`hops_label`], variant.
    Hops,
    /// Where searches belonged and went; keyed by expected domain, selected domain, variant.
    Routing,
    /// Who contributed relevant results; keyed by primary domain, contributing domain, variant.
    Collaboration,
    /// Clicked results; keyed by variant.
    Clicks,
    /// Clicks to be expected at the positions shown, in units of 10⁻⁹; keyed by variant.
    ExpectedClicks,
    /// Clicks on results that were not served; keyed by variant.
    UnservedClicks,
    /// Time from a search to its first click; keyed by variant.
    FirstClick,
    /// Won interleaved searches; keyed by experiment, team ([`TIE`] for none).
    Interleaving,
    /// Grades given in production; keyed by the judgement of the gold set, that of production,
    /// variant.
    Judgements,
}

/// The team that wins where none has more clicks than all others.
pub const TIE: Label = Label::EMPTY;

/// Distances from here on are counted together.
pub const MOST_HOPS: usize = 4;

/// The label of a search in which a component was needed or not, and ran or not.
pub fn trigger_label(needed: bool, fired: bool) -> Label {
    Label::from_position(usize::from(needed) * 2 + usize::from(fired))
}

/// What [`trigger_label`] was made of: needed, fired.
pub fn trigger_of(label: Label) -> Option<(bool, bool)> {
    label
        .position()
        .map(|position| (position >= 2, position % 2 == 1))
}

/// The label of a distance of 1 hop, 2, 3, and 4 or more; `None` for none at all.
pub fn hops_label(hops: u32) -> Option<Label> {
    let hops = usize::try_from(hops).unwrap_or(MOST_HOPS).min(MOST_HOPS);
    hops.checked_sub(1).map(Label::from_position)
}

impl Family {
    /// Every family, in the order of its number.
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

    /// How many samples one series is exposed as.
    fn samples(self, settings: &Settings) -> usize {
        let windows = settings.windows.len();
        match self {
            Self::Scores => {
                let documents = micro::cutoffs(&settings.measures).len() * 3;
                ((settings.measures.len() + 1) * windows).max(documents)
            }
            // Buckets with the infinite one, sum and count; five quantiles a window.
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

    /// The series that take what the family has no room for. The first is number 0.
    fn last_resorts(self, slices: usize) -> Vec<Labels> {
        match self {
            // Kept apart by slice, so that no search is counted twice in one of them.
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

    /// What the three labels of the family's series stand for.
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

    /// The name under which dropped series are counted: the exposed family's.
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

/// Up to three labels that together name a series of a family. Unused ones are [`Label::EMPTY`].
pub type Labels = [Label; 3];

/// A series, numbered within its [`Family`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Series(u32);

impl Series {
    /// The number: where the series stands in its family's tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a sample went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The series that counts the sample.
    pub series: Series,
    /// Whether it is `__other__`'s because the family is full.
    pub dropped: bool,
}

/// A dense numbering of keys that only grows, up to a limit, which also bounds what colliding keys
/// can cost.
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

    /// The number of `key`, giving it the next one unless fewer than `keep_free` would be left.
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

/// The label values and series of a process.
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
    /// An empty registry with room for what `settings` allow. A series that is exposed several
    /// times, once a window or a bucket, counts as often toward its family's limit.
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

    /// The label for `value`: its own, or `__other__` when the dimension is full.
    pub fn label(&self, dimension: Dimension, value: &str) -> Label {
        let values = &self.labels[dimension as usize];
        if let Some(number) = values.numbers.get(value) {
            return Label(*number);
        }
        // A label value is exposed at every scrape: a megabyte of it has no place there.
        if value.len() > 256 {
            return Label::OTHER;
        }
        values
            .admit(&Box::from(value), 0)
            .map_or(Label::OTHER, Label)
    }

    /// The series that `labels` name in `family`.
    ///
    /// When the family is nearly full, the value of a slice becomes `__other__`; the last tenth of
    /// the limit is kept for such series. When that is full as well, and in families without
    /// slices, every label does.
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

    /// The values of `dimension` by number.
    pub fn values(&self, dimension: Dimension) -> Vec<Box<str>> {
        self.labels[dimension as usize].keys()
    }

    /// The labels of every series of `family` by number.
    pub fn members(&self, family: Family) -> Vec<Labels> {
        self.series[family as usize].keys()
    }
}
