//! The engine: a pure, deterministic state machine from inputs to what is exposed.
//!
//! It reads no clock, does no I/O, logs nothing and draws no random numbers: time, records and
//! gold sets enter as [`Input`]s, and equal inputs give equal [`Snapshot`]s. It knows nothing of
//! Kafka, HTTP or configuration files. Partitions are independent of each other, so the snapshots
//! of two engines that share a [`Registry`] add up to that of one engine which saw the inputs of
//! both.
//!
//! *Conservation*: every record that enters leaves with exactly one outcome that is counted, or is
//! pending. `Σ outcomes + pending = received`, for each kind, at any moment.

mod admission;
pub mod correlation;
pub mod cost;
pub mod counts;
pub mod evidence;
mod finalisation;
pub mod fixed;
pub mod join;
pub mod latency;
pub mod money;
pub mod observer;
pub mod partition;
pub mod registry;
pub mod scores;
pub mod settings;
pub mod snapshot;
pub mod state;
pub mod table;
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
use evidence::{Crossing, Observed};
use fixed::Nano;
use join::{Fate, Join, Second};
use observer::Observer;
use partition::{CommitPoint, MOST_REFUSED, Partition, Resume};
use registry::{Family, Label, Labels, Registry, Series};
use settings::Settings;
use snapshot::{FeedbackOutcome, PartitionStatus, Snapshot};
use state::Counted;
use watermark::ClockSettings;
use window::Progress;

/// The stage that stands for the whole search.
pub const WHOLE_SEARCH: &str = "all";

/// Most crossings that wait to be told.
const MOST_CROSSINGS: usize = 256;

/// Closed searches that are remembered however little may be held.
const LEAST_REMEMBERED: usize = 1_000;

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The partition, of both topics.
    pub partition: i32,
    /// The offset within its topic.
    pub offset: i64,
}

/// Everything that can happen to an engine.
#[derive(Debug)]
pub enum Input<'a> {
    /// A search was read.
    Search {
        /// Where.
        at: Position,
        /// The search.
        event: &'a Search<'a>,
    },
    /// A feedback event was read.
    Feedback {
        /// Where.
        at: Position,
        /// The event.
        event: &'a Feedback<'a>,
    },
    /// A record was read that cannot be used.
    Rejected {
        /// From which topic.
        kind: Kind,
        /// Where.
        at: Position,
        /// Why it cannot be used.
        reason: Reason,
    },
    /// Time passed. Windows move only now.
    Tick {
        /// The wall time.
        wall: WallTime,
        /// How far the other workers of the process are, so that all windows end together.
        others: Option<Progress>,
    },
    /// A partition of both topics is ours from now on.
    Assigned {
        /// The partition.
        partition: i32,
        /// Where to go on.
        resume: Resume,
    },
    /// A partition is no longer ours: what waits in it is somebody else's from now on.
    Revoked {
        /// The partition.
        partition: i32,
    },
    /// The broker said how many records are still to be read.
    Lag {
        /// In which topic.
        kind: Kind,
        /// In which partition.
        partition: i32,
        /// How many.
        records: u64,
    },
    /// Searches are judged against this gold set from now on.
    Gold(Arc<GoldSet>),
    /// What is usual is to be learned anew: a deployment has begun, say.
    LearnBaselines,
}

/// The state machine. See the module's documentation.
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
    counted: Counted,
    judge: Judge,
    crossings: Vec<Crossing>,
    scratch: Scratch,
    observer: Option<Arc<dyn Observer>>,
}

/// Buffers that are used anew for every search.
#[derive(Debug, Default)]
struct Scratch {
    series: Vec<Series>,
    scores: Vec<(usize, Nano)>,
    levels: Vec<Level>,
    documents: Vec<Documents>,
}

impl Engine {
    /// An engine that has seen nothing, at wall time `wall`. Engines whose snapshots are to be
    /// merged share `registry`.
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
            counted: Counted::new(&settings),
            judge: Judge::new(settings.judging.clone()),
            crossings: Vec::new(),
            scratch: Scratch::default(),
            observer: None,
            settings,
        }
    }

    /// The same engine, whose judged searches `observer` sees from now on.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        Self {
            observer: Some(observer),
            ..self
        }
    }

    /// The registry that engines with these settings need.
    pub fn registry(settings: &Settings) -> Registry {
        Registry::new(settings)
    }

    /// Takes in one input.
    pub fn apply(&mut self, input: Input<'_>) {
        match input {
            Input::Search { at, event } => self.search(at, event),
            Input::Feedback { at, event } => self.feedback(at, event),
            Input::Rejected { kind, at, reason } => {
                if self.receive(kind, at) {
                    self.counted.events.invalid(kind, reason);
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
                    partition.note_lag(kind, records, self.wall);
                }
            }
            Input::Gold(gold) => {
                let evidence = &mut self.counted.evidence;
                evidence.judge_by(gold.sha256(), &self.settings.detection);
                self.gold = gold;
            }
            Input::LearnBaselines => self.counted.evidence.learn_anew(),
        }
    }

    /// What to commit for every partition from which something was read.
    pub fn commit_points(&self) -> Vec<CommitPoint> {
        let partitions = self.partitions.iter();
        partitions
            .flat_map(|(number, partition)| partition.commit_points(*number))
            .collect()
    }

    /// The bounds on records that the settings state.
    pub fn record_limits(&self) -> Limits {
        self.settings.record_limits
    }

    /// By partition, the topic that is read so far ahead of the other that reading on would only
    /// fill memory: its newest event is more than a feedback window newer, and the other has
    /// records left.
    pub fn leaders(&self) -> BTreeMap<i32, Kind> {
        let leader = |(&number, partition): (&i32, &Partition)| {
            Some((number, partition.leader(self.feedback_window)?))
        };
        self.partitions.iter().filter_map(leader).collect()
    }

    /// Whether the record there was counted, by us or by an earlier owner of the partition.
    pub fn has_counted(&self, kind: Kind, at: Position) -> bool {
        let partition = self.partitions.get(&at.partition);
        partition.is_some_and(|partition| partition.has_counted(kind, at.offset))
    }

    /// Whether the record there is to be kept, and taken only when this is no longer so: its
    /// partition was taken over, and the other topic is still being read again.
    pub fn must_wait(&self, kind: Kind, at: Position) -> bool {
        let partition = self.partitions.get(&at.partition);
        partition.is_some_and(|partition| partition.must_wait(kind, at.offset))
    }

    /// What has become evident since this was last asked.
    pub fn take_crossings(&mut self) -> Vec<Crossing> {
        std::mem::take(&mut self.crossings)
    }

    /// The partitions that are ours.
    pub fn partitions(&self) -> Vec<i32> {
        self.partitions.keys().copied().collect()
    }

    /// The offset that is expected next from a partition of ours; `None` when nothing is known.
    pub fn next_offset(&self, kind: Kind, partition: i32) -> Option<i64> {
        self.partitions.get(&partition)?.next_offset(kind)
    }

    /// How far event time has come in the partitions of this engine.
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

    /// What is exposed of the state.
    pub fn snapshot(&self) -> Snapshot {
        let mut pending = [0; 2];
        for partition in self.partitions.values() {
            for (sum, part) in pending.iter_mut().zip(partition.join.pending()) {
                *sum += u64::try_from(part).unwrap_or(u64::MAX);
            }
        }
        let mut dropped = self.counted.dropped;
        for (sum, part) in dropped.iter_mut().zip(self.counted.costs.dropped()) {
            *sum += part;
        }
        let status = |(&partition, state): (&i32, &Partition)| PartitionStatus {
            partition,
            watermark: state.watermark,
            lag: state.lag,
        };
        Snapshot {
            wall: Some(self.wall),
            events: self.counted.events.clone(),
            pending,
            finalised_early: self.counted.finalised_early,
            gaps: self.counted.gaps,
            crowded: self.counted.crowded,
            scores: self.counted.scores.totals(),
            latency: self.counted.latency.totals(),
            costs: self.counted.costs.totals(),
            counts: self.counted.counts.clone(),
            first_clicks: self.counted.first_clicks.by_series().to_vec(),
            correlation: self.counted.correlation.total(),
            evidence: self.counted.evidence.totals(),
            dropped,
            partitions: self.partitions.iter().map(status).collect(),
            progress: self.progress(),
        }
    }

    /// Takes note of a record; returns whether it is to be counted.
    fn receive(&mut self, kind: Kind, at: Position) -> bool {
        let partition = self
            .partitions
            .entry(at.partition)
            .or_insert_with(|| Partition::new(self.feedback_window, Resume::default()));
        let (fresh, gap) = partition.receive(kind, at.offset);
        self.counted.gaps[kind.index()] += gap;
        fresh
    }

    /// Refuses an event from a future that cannot be: it must not move a watermark. Returns
    /// whether it was refused, now or when it was first read.
    fn refuse_future(&mut self, kind: Kind, at: Position, ts: EventTime, fresh: bool) -> bool {
        let is_future = ts.since(self.wall.as_event_time()) > self.max_future_skew;
        let Some(partition) = self.partitions.get_mut(&at.partition) else {
            return is_future;
        };
        let refused = &mut partition.refused[kind.index()];
        if !fresh {
            return is_future || refused.contains(&at.offset);
        }
        if is_future {
            refused.insert(at.offset);
            if refused.len() > MOST_REFUSED {
                refused.pop_first();
            }
            self.counted.events.invalid(kind, Reason::FutureTime);
        }
        is_future
    }

    fn feedback(&mut self, at: Position, feedback: &Feedback<'_>) {
        let fresh = self.receive(Kind::Feedback, at);
        if self.refuse_future(Kind::Feedback, at, feedback.ts, fresh) {
            return;
        }
        let Some(partition) = self.partitions.get_mut(&at.partition) else {
            return;
        };
        partition.clock.observe(Kind::Feedback, feedback.ts);
        let join = &mut partition.join;
        let fate = match (&feedback.query_id, &feedback.session_id) {
            (Some(query_id), _) => join.add_feedback(query_id, feedback, at.offset, fresh),
            (None, Some(session_id)) => join.add_opinion(session_id, feedback, at.offset, fresh),
            // Decoding refuses it: there is nothing that it could be about.
            (None, None) => return,
        };
        match fate {
            Fate::Joined {
                variant,
                first: true,
            } => {
                self.count_joined(action_label(feedback.action), variant);
            }
            Fate::Late { first: true } => self.counted.events.feedback(FeedbackOutcome::Late, 1),
            Fate::Duplicate if fresh => self.counted.events.feedback(FeedbackOutcome::Duplicate, 1),
            Fate::Joined { first: false, .. }
            | Fate::Late { first: false }
            | Fate::Duplicate
            | Fate::Waiting => {}
        }
        self.advance(at.partition);
        self.relieve();
    }

    fn count_joined(&mut self, action: Label, variant: Label) {
        self.counted.events.feedback(FeedbackOutcome::Joined, 1);
        self.count(Family::Feedback, [action, variant, Label::EMPTY], 1);
    }

    /// Takes in evidence, and keeps what has become evident until it is asked for: the first of it,
    /// where nobody asks.
    fn observe(&mut self, observed: Observed<'_>) {
        let detection = &self.settings.detection;
        let crossings = self.counted.evidence.observe(observed, detection);
        let room = MOST_CROSSINGS.saturating_sub(self.crossings.len());
        self.crossings.extend(crossings.into_iter().take(room));
    }

    fn count(&mut self, family: Family, labels: Labels, number: u64) {
        let series = self.series(family, labels);
        self.counted.counts.add(family, series, number);
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
        let progress = match (known, self.counted.windows_at) {
            (Some(progress), _) => progress,
            // Without a partition that has a watermark, windows drain at the pace of the clock.
            (None, Some((progress, then))) => progress.plus(wall.since(then)),
            (None, None) => return,
        };
        self.counted.windows_at = Some((progress, wall));
        self.counted.scores.follow(progress);
        self.counted.latency.follow(progress);
        self.counted.costs.follow(progress);
        self.counted.correlation.follow(progress);
        let evidence = &mut self.counted.evidence;
        evidence.follow(progress, &self.settings.detection);
    }

    /// Brings a partition's watermark up to date and finalises what it has passed.
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

    /// Finalises the oldest searches early while more is held than may be, and forgets the oldest
    /// closed ones: what waits needs the memory more, but for an eighth.
    fn relieve(&mut self) {
        let most = self.settings.max_pending;
        let joins = || self.partitions.values().map(|partition| &partition.join);
        let mut remembered: usize = joins().map(Join::remembered).sum();
        let mut load: usize = joins().map(Join::load).sum();
        while remembered
            > most
                .saturating_sub(load)
                .max(most / 8)
                .max(LEAST_REMEMBERED)
        {
            let fullest = self.partitions.values_mut();
            let Some(partition) = fullest.max_by_key(|partition| partition.join.remembered())
            else {
                return;
            };
            remembered -= partition.join.forget_oldest();
        }
        while load > most {
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
            self.counted.finalised_early +=
                u64::try_from(closed.searches.len()).unwrap_or(u64::MAX);
            self.finalise(&closed, watermark.unwrap_or(EventTime(i64::MIN)));
        }
    }

    fn series(&mut self, family: Family, labels: Labels) -> Series {
        let admission = self.registry.series(family, labels);
        self.counted.dropped[family as usize] += u64::from(admission.dropped);
        admission.series
    }
}

/// The label under which feedback of this type is counted.
fn action_label(action: Action) -> Label {
    Label::from_position(action.index())
}
