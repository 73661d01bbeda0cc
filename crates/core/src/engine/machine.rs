//! State of the engine, which its parts share.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::by_query::ByQuery;
use super::effects::{Outcome, PendingEffects};
use super::evaluators::Evaluators;
use super::fixed::Nano;
use super::join::{Effect, PendingConversions};
use super::local_registry::LocalRegistry;
use super::observed_sessions::ObservedSessions;
use super::partition::Partition;
use super::preparation::Preparation;
use super::quality::LabelRequest;
use super::receipt::OpenRecord;
use super::retirement::Member;
use super::segment::SliceValues;
use super::series::Label;
use super::settings::Settings;
use super::totals::Totals;
use super::versions::Versions;
use super::watermark::ClockSettings;
use super::window::Progress;
use crate::gold::GoldSet;
use crate::time::{Millis, WallTime};
/// The state machine. See the documentation of the [module](super).
#[derive(Debug)]
pub struct Engine {
    pub(super) settings: Arc<Settings>,
    pub(super) clock: ClockSettings,
    pub(super) feedback_window: Millis,
    pub(super) max_future_skew: Millis,
    pub(super) names: LocalRegistry,
    /// Retirements of variants that this engine has applied.
    pub(super) member: Member,
    /// Event time without searches after which a variant is retired.
    pub(super) retire_after: Millis,
    /// Gold set. The outer reference count belongs to this engine; see
    /// [`GoldReference`](super::join::GoldReference).
    #[allow(clippy::redundant_allocation, reason = "see above")]
    pub(super) gold: Arc<Arc<GoldSet>>,
    /// True if results are judged by their texts for any query of the gold set.
    pub(super) has_gold_texts: bool,
    /// True if a gold query states its domain.
    pub(super) has_gold_domains: bool,
    /// Slice values and expected domains of gold queries, as far as they were looked up.
    pub(super) slices_of_gold: ByQuery<SliceValues>,
    pub(super) domains_of_gold: ByQuery<Option<Label>>,
    /// Positions of the ranking measures and of the user measures in the settings.
    pub(super) ranking_measures: Vec<usize>,
    pub(super) user_measures: Vec<usize>,
    /// Positions of the measures whose range over unjudged results is counted or tested.
    pub(super) bounded_measures: Vec<usize>,
    /// Positions of the watched measures of rankings, with the number of results that count.
    pub(super) watched_rankings: Vec<(usize, usize)>,
    /// Columns of the measures that wait for conversions.
    pub(super) waiting_columns: Vec<usize>,
    /// Searches that wait for conversions in partitions that this engine does not have, by partition.
    pub(super) parked: BTreeMap<i32, PendingConversions>,
    /// True if a measure compares the queries of a session with each other.
    pub(super) compares_queries: bool,
    /// Versions of variants, if searches state them.
    pub(super) versions: Versions,
    pub(super) wall: WallTime,
    /// Record whose events are being read, if it can have several.
    pub(super) record: Option<OpenRecord>,
    /// Partitions, by ascending number.
    pub(super) partitions: Vec<Partition>,
    /// Approximate bytes of all joins.
    pub(super) joined: usize,
    pub(super) totals: Totals,
    /// Approximate bytes of the totals, as of the last tick.
    pub(super) counted: usize,
    /// Progress to which the windows were last advanced, and the wall time of that step.
    pub(super) windows_at: Option<(Progress, WallTime)>,
    pub(super) preparation: Preparation,
    pub(super) evaluators: Evaluators,
    /// Sessions of which user measures were observed.
    pub(super) observed_sessions: ObservedSessions,
    /// Outcomes of the last group of inputs.
    pub(super) outcomes: Vec<Outcome>,
    pub(super) effects: PendingEffects,
    /// Requests for labels that wait to be taken.
    pub(super) label_requests: Vec<LabelRequest>,
    pub(super) scratch: Scratch,
}

/// Buffers that are reused for every search.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) effects: Vec<Effect>,
    pub(super) scores: Vec<(usize, Nano)>,
}

impl Engine {
    /// Maximum number of inputs that are prepared together.
    pub const MAX_GROUP: usize = 16;
}
