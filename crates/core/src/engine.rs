//! The engine: a pure, deterministic state machine from inputs to exposed values.
//!
//! It reads no clock, does no I/O, logs nothing and draws no random numbers. Time, records and gold
//! sets enter as [`Input`]s, and equal inputs give equal [`Snapshot`]s. It is independent of Kafka,
//! HTTP and configuration files. Partitions are independent of each other. The snapshots of two
//! engines that share a [`Registry`] therefore add up to the snapshot of one engine that receives
//! the inputs of both.
//!
//! *Conservation*: every record that enters has exactly one counted outcome or is pending. For each
//! kind and at any moment, `Σ outcomes + pending = received`.

mod admission;
pub mod correlation;
pub mod cost;
pub mod counters;
pub mod events;
pub mod evidence;
pub mod family;
mod finalisation;
pub mod fixed;
pub mod join;
pub mod latency;
pub mod money;
pub mod observer;
pub mod partition;
pub mod registry;
mod remap;
pub mod scores;
pub mod settings;
pub mod snapshot;
pub mod state;
mod table;
pub mod totals;
pub mod watermark;
pub mod window;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{Action, Feedback, Kind, Limits, Reason, Search};
use crate::gold::GoldSet;
use crate::measure::micro::Documents;
use crate::ranking::Judge;
use crate::time::{EventTime, Millis, WallTime};

use correlation::Level;
use events::FeedbackOutcome;
use evidence::{Alarm, Observation};
use family::Family;
use fixed::Nano;
use join::{Join, JoinOutcome, Second};
use observer::Observer;
use partition::{CommitPoint, MAX_REJECTED_OFFSETS, Partition, Resume};
use registry::{Label, Registry, Series};
use settings::Settings;
use snapshot::{PartitionStatus, Snapshot};
use totals::Totals;
use watermark::ClockSettings;
use window::Progress;

/// Name of the stage that stands for the whole search.
pub const WHOLE_SEARCH: &str = "all";

/// Maximum number of alarms that wait to be taken.
const MAX_PENDING_ALARMS: usize = 256;

/// Minimum number of closed searches that are retained, regardless of the memory limit.
const MIN_CLOSED_SEARCHES: usize = 1_000;

/// Position of a record in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Partition number, the same in both topics.
    pub partition: i32,
    /// Offset in its topic.
    pub offset: i64,
}

/// Input to an engine.
#[derive(Debug)]
pub enum Input<'a> {
    /// A search record.
    Search {
        /// Position of the record.
        at: Position,
        /// The search.
        event: &'a Search<'a>,
    },
    /// A feedback record.
    Feedback {
        /// Position of the record.
        at: Position,
        /// The event.
        event: &'a Feedback<'a>,
    },
    /// A record that cannot be used.
    Rejected {
        /// Kind of its topic.
        kind: Kind,
        /// Position of the record.
        at: Position,
        /// Reason why it cannot be used.
        reason: Reason,
    },
    /// Passing of time. Windows advance only on this input.
    Tick {
        /// The wall time.
        wall: WallTime,
        /// Progress of the other workers of the process. With it, all windows end together.
        others: Option<Progress>,
    },
    /// Assignment of a partition of both topics to this engine.
    Assigned {
        /// The partition.
        partition: i32,
        /// State at which processing resumes.
        resume: Resume,
    },
    /// Revocation of a partition. Its pending records pass to the next owner.
    Revoked {
        /// The partition.
        partition: i32,
    },
    /// Consumer lag of a topic partition, as the broker reports it.
    Lag {
        /// Kind of the topic.
        kind: Kind,
        /// In which partition.
        partition: i32,
        /// Number of records still to be read.
        records: u64,
    },
    /// Gold set that judges all following searches.
    Gold(Arc<GoldSet>),
    /// Reset of the baselines, for example at the start of a deployment.
    ResetBaselines,
}

/// The state machine. See the documentation of the module.
#[derive(Debug)]
pub struct Engine {
    settings: Arc<Settings>,
    clock: ClockSettings,
    feedback_window: Millis,
    max_future_skew: Millis,
    registry: Arc<Registry>,
    gold: Arc<GoldSet>,
    wall: WallTime,
    partitions: BTreeMap<i32, Partition>,
    totals: Totals,
    /// Progress to which the windows were last advanced, and the wall time of that step.
    windows_at: Option<(Progress, WallTime)>,
    judge: Judge,
    alarms: Vec<Alarm>,
    scratch: Scratch,
    observer: Option<Arc<dyn Observer>>,
}

/// Buffers that are reused for every search.
#[derive(Debug, Default)]
struct Scratch {
    series: Vec<Series>,
    scores: Vec<(usize, Nano)>,
    levels: Vec<Level>,
    documents: Vec<Documents>,
}

impl Engine {
    /// Creates an engine without state, at wall time `wall`. Engines whose snapshots are merged
    /// share `registry`.
    pub fn new(settings: Arc<Settings>, registry: Arc<Registry>, wall: WallTime) -> Self {
        Self {
            clock: ClockSettings {
                out_of_orderness: settings.out_of_orderness.into(),
                idle_timeout: settings.idle_timeout.into(),
            },
            feedback_window: settings.feedback_window.into(),
            max_future_skew: settings.max_future_skew.into(),
            registry,
            gold: Arc::new(GoldSet::empty()),
            wall,
            partitions: BTreeMap::new(),
            totals: Totals::new(&settings),
            windows_at: None,
            judge: Judge::new(settings.judging.clone()),
            alarms: Vec::new(),
            scratch: Scratch::default(),
            observer: None,
            settings,
        }
    }

    /// Adds an observer, which receives every search judged from now on.
    #[must_use]
    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Self {
        Self {
            observer: Some(observer),
            ..self
        }
    }

    /// Creates the registry for engines with these settings.
    pub fn registry(settings: &Settings) -> Registry {
        Registry::new(settings)
    }

    /// Applies one input.
    pub fn apply(&mut self, input: Input<'_>) {
        match input {
            Input::Search { at, event } => self.search(at, event),
            Input::Feedback { at, event } => self.feedback(at, event),
            Input::Rejected { kind, at, reason } => {
                if self.receive(kind, at) {
                    self.totals.events.invalid(kind, reason);
                }
            }
            Input::Tick { wall, others } => self.tick(wall, others),
            Input::Assigned { partition, resume } => {
                let state = Partition::new(self.feedback_window, resume);
                self.partitions.insert(partition, state);
            }
            Input::Revoked { partition } => {
                self.partitions.remove(&partition);
            }
            Input::Lag {
                kind,
                partition,
                records,
            } => {
                if let Some(partition) = self.partitions.get_mut(&partition) {
                    partition.update_lag(kind, records, self.wall);
                }
            }
            Input::Gold(gold) => {
                let evidence = &mut self.totals.evidence;
                evidence.set_gold_set(gold.sha256(), &self.settings.detection);
                self.gold = gold;
            }
            Input::ResetBaselines => self.totals.evidence.reset_baselines(),
        }
    }

    /// Returns the commit points of every partition from which a record was read.
    pub fn commit_points(&self) -> Vec<CommitPoint> {
        let partitions = self.partitions.iter();
        partitions
            .flat_map(|(number, partition)| partition.commit_points(*number))
            .collect()
    }

    /// Returns the limits on records.
    pub fn record_limits(&self) -> Limits {
        self.settings.record_limits
    }

    /// Returns the topic to pause in each partition, to limit memory use. A topic is paused if its
    /// newest event is more than a feedback window newer than the other topic's and the other topic
    /// has records left, or while only the other topic is still being replayed.
    pub fn topics_to_pause(&self) -> BTreeMap<i32, Kind> {
        let leader = |(&number, partition): (&i32, &Partition)| {
            Some((number, partition.leader(self.feedback_window)?))
        };
        self.partitions.iter().filter_map(leader).collect()
    }

    /// Returns true if the record at this position was counted, by this engine or by a previous
    /// owner of the partition.
    pub fn has_counted(&self, kind: Kind, at: Position) -> bool {
        let partition = self.partitions.get(&at.partition);
        partition.is_some_and(|partition| partition.has_counted(kind, at.offset))
    }

    /// Returns true if the record at this position must be deferred: its partition was taken over,
    /// and the other topic is still being replayed.
    pub fn must_defer(&self, kind: Kind, at: Position) -> bool {
        let partition = self.partitions.get(&at.partition);
        partition.is_some_and(|partition| partition.must_defer(kind, at.offset))
    }

    /// Takes the alarms that were raised since the last call.
    pub fn take_alarms(&mut self) -> Vec<Alarm> {
        std::mem::take(&mut self.alarms)
    }

    /// Returns the assigned partitions.
    pub fn partitions(&self) -> Vec<i32> {
        self.partitions.keys().copied().collect()
    }

    /// Returns the next expected offset of an assigned partition; `None` if it is not known.
    pub fn next_offset(&self, kind: Kind, partition: i32) -> Option<i64> {
        self.partitions.get(&partition)?.next_offset(kind)
    }

    /// Returns the event-time progress over the partitions of this engine.
    pub fn progress(&self) -> Option<Progress> {
        Some(Progress {
            watermark: self
                .partitions
                .values()
                .filter_map(|partition| partition.watermark)
                .min(),
            newest: self
                .partitions
                .values()
                .filter_map(|partition| partition.clock.newest())
                .max()?,
        })
    }

    /// Returns a snapshot of the exposed values.
    pub fn snapshot(&self) -> Snapshot {
        let mut pending = [0; 2];
        for partition in self.partitions.values() {
            for (sum, part) in pending.iter_mut().zip(partition.join.pending()) {
                *sum += u64::try_from(part).unwrap_or(u64::MAX);
            }
        }
        let status = |(&partition, state): (&i32, &Partition)| PartitionStatus {
            partition,
            watermark: state.watermark,
            lag: state.lag,
        };
        Snapshot {
            wall: Some(self.wall),
            pending,
            partitions: self.partitions.iter().map(status).collect(),
            progress: self.progress(),
            totals: self.totals.summed(),
        }
    }

    /// Registers the receipt of a record. Returns true if the record must be counted.
    fn receive(&mut self, kind: Kind, at: Position) -> bool {
        let partition = self
            .partitions
            .entry(at.partition)
            .or_insert_with(|| Partition::new(self.feedback_window, Resume::default()));
        let (fresh, gap) = partition.receive(kind, at.offset);
        let topic = Label::from_position(kind.index());
        if gap > 0 {
            self.count(&family::OFFSET_GAP_RECORDS, [topic], gap);
        }
        fresh
    }

    /// Rejects an event too far in the future, because it must not advance a watermark. Returns
    /// true if the event is rejected, now or when it was first read.
    fn reject_future(&mut self, kind: Kind, at: Position, ts: EventTime, fresh: bool) -> bool {
        let is_future = ts.since(self.wall.as_event_time()) > self.max_future_skew;
        let Some(partition) = self.partitions.get_mut(&at.partition) else {
            return is_future;
        };
        let rejected = &mut partition.rejected[kind.index()];
        if !fresh {
            return is_future || rejected.contains(&at.offset);
        }
        if is_future {
            rejected.insert(at.offset);
            if rejected.len() > MAX_REJECTED_OFFSETS {
                rejected.pop_first();
            }
            self.totals.events.invalid(kind, Reason::FutureTime);
        }
        is_future
    }

    fn feedback(&mut self, at: Position, feedback: &Feedback<'_>) {
        let fresh = self.receive(Kind::Feedback, at);
        if self.reject_future(Kind::Feedback, at, feedback.ts, fresh) {
            return;
        }
        let Some(partition) = self.partitions.get_mut(&at.partition) else {
            return;
        };
        partition.clock.observe(Kind::Feedback, feedback.ts);
        let join = &mut partition.join;
        let outcome = match (&feedback.query_id, &feedback.session_id) {
            (Some(query_id), _) => join.add_feedback(query_id, feedback, at.offset, fresh),
            (None, Some(session_id)) => {
                join.add_session_feedback(session_id, feedback, at.offset, fresh)
            }
            // Decoding rejects feedback with neither id.
            (None, None) => return,
        };
        match outcome {
            JoinOutcome::Joined {
                variant,
                first: true,
            } => {
                self.count_joined(action_label(feedback.action), variant);
            }
            JoinOutcome::Late { first: true } => {
                self.totals.events.feedback(FeedbackOutcome::Late, 1);
            }
            JoinOutcome::Duplicate if fresh => {
                self.totals.events.feedback(FeedbackOutcome::Duplicate, 1);
            }
            JoinOutcome::Joined { first: false, .. }
            | JoinOutcome::Late { first: false }
            | JoinOutcome::Duplicate
            | JoinOutcome::Waiting => {}
        }
        self.advance(at.partition);
        self.enforce_memory_limit();
    }

    fn count_joined(&mut self, action: Label, variant: Label) {
        self.totals.events.feedback(FeedbackOutcome::Joined, 1);
        self.count(&family::FEEDBACK, [action, variant], 1);
    }

    /// Adds an observation to the regression evidence. Keeps the alarms it raises until they are
    /// taken. Drops alarms beyond the maximum.
    fn observe(&mut self, observation: Observation<'_>) {
        let detection = &self.settings.detection;
        let alarms = self.totals.evidence.observe(observation, detection);
        let room = MAX_PENDING_ALARMS.saturating_sub(self.alarms.len());
        self.alarms.extend(alarms.into_iter().take(room));
    }

    /// Adds `number` to a recorded counter.
    fn count<const N: usize>(
        &mut self,
        family: &'static Family,
        labels: [Label; N],
        number: impl Into<i128>,
    ) {
        let series = self.series(family, labels);
        self.totals.counters.add(family, series, number.into());
    }

    fn tick(&mut self, wall: WallTime, others: Option<Progress>) {
        self.wall = wall;
        let numbers: Vec<i32> = self.partitions.keys().copied().collect();
        for number in numbers {
            self.advance(number);
        }
        let known = match (self.progress(), others) {
            (Some(own), Some(others)) => Some(own.combine(others)),
            (own, others) => own.or(others),
        };
        let progress = match (known, self.windows_at) {
            (Some(progress), _) => progress,
            // Without a partition that has a watermark, windows advance with the wall clock and
            // drain.
            (None, Some((progress, then))) => progress.plus(wall.since(then)),
            (None, None) => return,
        };
        self.windows_at = Some((progress, wall));
        self.totals.advance_to(progress, &self.settings);
    }

    /// Updates the watermark of a partition and finalises the searches it has passed.
    fn advance(&mut self, number: i32) {
        let Some(partition) = self.partitions.get_mut(&number) else {
            return;
        };
        if partition.is_catching_up() {
            return;
        }
        let watermark = partition.clock.watermark(self.clock, self.wall);
        if watermark == partition.watermark {
            return;
        }
        partition.watermark = watermark;
        let Some(watermark) = watermark else { return };
        let closed = partition
            .join
            .close_before(Second::of(watermark.minus(self.feedback_window)));
        self.finalise(&closed, watermark);
    }

    /// Enforces the memory limit. Drops the oldest closed searches first, because pending events
    /// need the memory more; an eighth of the limit remains for closed searches. Then finalises the
    /// oldest searches early until the pending events fit.
    fn enforce_memory_limit(&mut self) {
        let max_pending = self.settings.max_pending;
        let joins = || self.partitions.values().map(|partition| &partition.join);
        let mut retained: usize = joins().map(Join::closed_search_count).sum();
        let mut load: usize = joins().map(Join::load).sum();
        while retained
            > max_pending
                .saturating_sub(load)
                .max(max_pending / 8)
                .max(MIN_CLOSED_SEARCHES)
        {
            let partitions = self.partitions.values_mut();
            let Some(partition) =
                partitions.max_by_key(|partition| partition.join.closed_search_count())
            else {
                return;
            };
            retained -= partition.join.drop_oldest_closed();
        }
        while load > max_pending {
            let oldest = self
                .partitions
                .values_mut()
                .filter(|partition| partition.join.oldest().is_some())
                .min_by_key(|partition| partition.join.oldest());
            let Some(partition) = oldest else { return };
            let watermark = partition.watermark;
            load -= partition.join.load();
            let closed = partition.join.close_oldest();
            load += partition.join.load();
            let early = u64::try_from(closed.searches.len()).unwrap_or(u64::MAX);
            self.count(&family::FINALISED_EARLY, [], early);
            self.finalise(&closed, watermark.unwrap_or(EventTime(i64::MIN)));
        }
    }

    /// Returns the series of a family with these labels.
    fn series<const N: usize>(&mut self, family: &'static Family, labels: [Label; N]) -> Series {
        let Some(table) = family.table() else {
            return Series::default();
        };
        let admission = self.registry.series(table, registry::key(labels));
        if admission.is_overflow {
            self.totals.count_overflow(table.owner());
        }
        admission.series
    }
}

/// Returns the label under which feedback with this action is counted.
fn action_label(action: Action) -> Label {
    Label::from_position(action.index())
}
