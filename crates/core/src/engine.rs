//! The engine: a pure, deterministic state machine from inputs to exposed values.
//!
//! It reads no clock, does no I/O, logs nothing and draws no random numbers. Time, records and gold
//! sets enter as [`Input`]s, and equal inputs give equal [`Snapshot`]s. It is independent of Kafka,
//! HTTP and configuration files. Partitions are independent of each other. The snapshots of two
//! engines that share a [`Registry`] therefore add up to the snapshot of one engine that receives
//! the inputs of both.
//!
//! *Conservation*: every event that enters has exactly one counted outcome or is pending. For each
//! kind and at any moment, `Σ outcomes + pending = received`. Every record has exactly one counted
//! outcome. A record is one event, unless `RecordInput::Start` announces it: then it is any number
//! of events.

mod admission;
mod bias;
mod by_query;
mod correlation;
mod cost;
mod counters;
pub(crate) mod effects;
mod evaluators;
mod events;
pub mod evidence;
pub mod family;
mod finalisation;
pub mod fixed;
pub mod fleet;
pub(crate) mod id;
pub mod incidents;
mod input;
pub mod join;
mod latency;
mod local_registry;
mod machine;
mod means;
pub mod money;
mod objective;
mod observed_sessions;
pub mod partition;
pub mod position;
mod preparation;
mod progress;
mod quality;
pub mod read_model;
mod receipt;
mod registry;
mod remap;
mod retirement;
pub mod score_column;
pub mod scores;
mod segment;
pub mod series;
pub mod settings;
pub mod snapshot;
pub mod sources;
pub mod state;
mod table;
mod tokens;
mod totals;
mod units;
mod versions;
mod watermark;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::evaluators::Evaluators;
use crate::engine::money::Money;
use crate::event::{Acceptance, Action, Evaluation, EvaluatorKind, Feedback, Kind, RecordOutcome};
use crate::gold::GoldSet;
use crate::labelling::{LabelOutcome, Sampling};
use crate::measure::Measure;
use crate::time::{Millis, WallTime};

use by_query::ByQuery;
use effects::{GroupEffects, Outcome};
pub use effects::{JudgedSearch, PendingEffects, SeenDeployment};
use evidence::Observation;
use family::Family;
use fleet::{Share, SharedIncident};
use id::Target;
use incidents::{Deployed, Incident};
pub use input::Input;
pub(crate) use input::RecordInput;
use join::Effect;
pub use latency::BucketHistogram;
use local_registry::LocalRegistry;
pub use machine::Engine;
use machine::Scratch;
use observed_sessions::ObservedSessions;
use partition::{CommitPoint, Partition, Resume};
pub use position::Position;
use position::Topics;
use preparation::{Preparation, Prepared};
use quality::id_of;
pub use quality::{LabelRequest, QualityEstimate};
pub use registry::Registry;
use score_column::column_of;
use series::{Dimension, Label, Series};
use settings::Settings;
use snapshot::{Memory, Snapshot};
use totals::Totals;
use versions::Versions;
use watermark::ClockSettings;
pub use window::Progress;

/// Minimum time after which a variant is retired.
const DAY: Duration = Duration::from_hours(24);

/// Positions of the measures whose range over unjudged results is counted or tested.
fn bounded_measures(settings: &Settings) -> Vec<usize> {
    let is_watched = |index: usize| {
        let mut watched = settings.detection.measures.iter();
        settings.measures[index].has_range() && watched.any(|it| it.index == index)
    };
    let measures = 0..settings.measures.len();
    measures
        .filter(|index| settings.has_range(*index) || is_watched(*index))
        .collect()
}

/// Positions of the watched measures of rankings, with the number of results that count.
fn watched_rankings(settings: &Settings) -> Vec<(usize, usize)> {
    let watched = settings.detection.measures.iter();
    let rankings = watched.filter(|it| !it.is_user_measure);
    let with_cutoffs = rankings.filter_map(|it| {
        let cutoff = settings.measures.get(it.index)?.cutoff();
        let length = cutoff.map(|it| usize::try_from(it.get()).unwrap_or(usize::MAX));
        Some((it.index, length.unwrap_or(usize::MAX)))
    });
    with_cutoffs.collect()
}

impl Engine {
    /// Creates an engine without state, at wall time `wall`. Engines whose snapshots are merged
    /// share `registry`.
    pub fn new(settings: Arc<Settings>, registry: Arc<Registry>, wall: WallTime) -> Self {
        let of_subject = |is_user_measure: bool| {
            let measures = settings.measures.iter().enumerate();
            let of_subject = measures.filter(|(_, it)| it.is_user_measure() == is_user_measure);
            of_subject.map(|(index, _)| index).collect()
        };
        Self {
            clock: ClockSettings {
                out_of_orderness: settings.out_of_orderness.into(),
                idle_timeout: settings.idle_timeout.into(),
            },
            feedback_window: settings.feedback_window.into(),
            max_future_skew: settings.max_future_skew.into(),
            member: registry.retirements.enter(),
            names: LocalRegistry::new(registry),
            retire_after: retire_after(&settings),
            gold: Arc::new(Arc::new(GoldSet::empty())),
            has_gold_texts: false,
            has_gold_domains: false,
            slices_of_gold: ByQuery::default(),
            domains_of_gold: ByQuery::default(),
            ranking_measures: of_subject(false),
            user_measures: of_subject(true),
            bounded_measures: bounded_measures(&settings),
            watched_rankings: watched_rankings(&settings),
            waiting_columns: waiting_columns(&settings),
            parked: BTreeMap::new(),
            compares_queries: settings.measures.iter().any(|measure| match measure {
                Measure::User(measure) => measure.compares_queries(),
                Measure::Ranked(_)
                | Measure::Retrieval(_)
                | Measure::Component(_)
                | Measure::Diversity(_)
                | Measure::Novelty(_)
                | Measure::Routing(_)
                | Measure::Answer(_) => false,
            }),
            versions: Versions::default(),
            wall,
            record: None,
            partitions: Vec::new(),
            joined: 0,
            totals: Totals::new(&settings),
            counted: 0,
            windows_at: None,
            preparation: Preparation::default(),
            evaluators: Evaluators::default(),
            observed_sessions: ObservedSessions::default(),
            outcomes: Vec::new(),
            effects: PendingEffects::default(),
            label_requests: Vec::new(),
            scratch: Scratch::default(),
            settings,
        }
    }

    /// Creates the registry for engines with these settings.
    pub fn registry(settings: &Settings) -> Registry {
        Registry::new(settings)
    }

    /// Applies inputs of records in their order, together: their searches are judged and their reads
    /// of memory overlap before the first one is counted. Returns their effects.
    pub fn apply_group<'e>(&'e mut self, inputs: &'e [RecordInput<'e>]) -> GroupEffects<'e> {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        for outcome in outcomes.drain(..) {
            if let Outcome::Judged(_, prepared) = outcome {
                self.preparation.put_back(Some(prepared));
            }
        }
        if let [input] = inputs {
            outcomes.push(self.apply_part(input, None));
        } else {
            for group in inputs.chunks(Engine::MAX_GROUP) {
                let prepared = self.prepare(group);
                let inputs = group.iter().zip(prepared);
                outcomes.extend(inputs.map(|(input, prepared)| self.apply_part(input, prepared)));
            }
        }
        self.outcomes = outcomes;
        GroupEffects {
            inputs,
            outcomes: &self.outcomes,
            gold: &self.gold,
        }
    }

    /// Applies an input of a record. `prepared` is its search, if it is prepared.
    fn apply_part(&mut self, input: &RecordInput<'_>, prepared: Option<Box<Prepared>>) -> Outcome {
        match input {
            RecordInput::Search { at, event, ids } => {
                let before = self.bytes_of(at.partition);
                let outcome = self.search(*at, event, *ids, prepared);
                self.after_record(at.partition, before);
                outcome
            }
            RecordInput::Feedback { at, event, target } => {
                let before = self.bytes_of(at.partition);
                if let Some(evaluation) = &event.evaluation {
                    self.evaluators.add(evaluation);
                }
                let outcome = self.feedback(*at, event, *target);
                self.after_record(at.partition, before);
                outcome
            }
            RecordInput::Rejected {
                kind,
                at,
                rejection,
            } => self.reject(*kind, *at, rejection.reason),
            RecordInput::Start { kind, at } => {
                self.open_record(*kind, *at);
                Outcome::None
            }
            RecordInput::End { outcome, counts } => {
                self.close_record(*outcome, counts);
                Outcome::None
            }
        }
    }

    /// Applies an input that is no part of a record.
    pub fn apply(&mut self, input: Input<'_>) {
        match input {
            Input::Tick { wall, others } => self.tick(wall, others),
            Input::Assigned { partition, resume } => {
                for kind in Kind::ALL {
                    let lost = resume.lost_pending[kind.index()];
                    self.totals.events.lost(kind, lost);
                }
                self.assign(partition, resume);
            }
            Input::Revoked { partition } => self.revoke(partition),
            Input::Lag {
                kind,
                partition,
                records,
            } => {
                let wall = self.wall;
                if let Some(index) = self.find(partition) {
                    self.partitions[index].update_lag(kind, partition, records, wall);
                }
            }
            Input::Lost {
                kind,
                partition,
                before,
                reason,
            } => self.lose(kind, partition, before, reason),
            Input::Sources { kind, at, sources } => self.advance_sources(kind, at, sources),
            Input::Written {
                kind,
                partition,
                at,
            } => {
                if let Some(index) = self.find(partition) {
                    self.partitions[index].note_written(kind, partition, at);
                }
            }
            Input::Gold(gold) => {
                let evidence = &mut self.totals.evidence;
                evidence.set_gold_set(&gold, self.wall.as_event_time(), &self.settings);
                self.has_gold_texts = gold.has_texts();
                self.has_gold_domains = gold.has_domains();
                self.gold = Arc::new(gold);
                self.slices_of_gold.clear();
                self.domains_of_gold.clear();
            }
            Input::ResetBaselines { reported } => {
                let at = self.wall.as_event_time();
                if self.totals.evidence.reset_baselines(at, reported) {
                    self.totals.means.reset(None);
                    self.totals.biases.reset();
                }
            }
            Input::Deployed {
                variant: name,
                version,
                at,
                reset,
            } => {
                let variant = self.names.label(Dimension::Variant, name);
                let series = self.names.shared().series_labels(&family::SCORE);
                let of_variant = |number: Series| {
                    let labels = series.get(number.index());
                    labels.is_some_and(|labels| labels.first() == Some(&variant))
                };
                let deployed = Deployed {
                    at,
                    version: version.map(Into::into),
                };
                let evidence = &mut self.totals.evidence;
                if evidence.deploy((variant, name), of_variant, (deployed, reset)) {
                    self.totals.means.reset(Some(variant));
                    self.totals.biases.deployed(variant);
                }
            }
            Input::Acknowledged { incident, given } => {
                self.totals.evidence.acknowledge(incident, given);
            }
            Input::Noted { incident, note } => self.totals.evidence.add_note(incident, note),
            Input::Inherited(fleet) => {
                let (evidence, names) = (&mut self.totals.evidence, self.names.shared());
                evidence.inherit(fleet, &self.settings, names);
                self.counted = self.counted_bytes();
            }
            Input::Incidents { others, fleet } => self.advance_incidents(others, fleet),
            Input::Evidence { workers, fleet } => {
                let Some(now) = self.progress().map(|it| it.newest) else {
                    return;
                };
                let names = (&*self.settings, self.names.shared());
                let evidence = &mut self.totals.evidence;
                let alarms = evidence.open_of_fleet((fleet, workers), now, names);
                self.effects.add_alarms(alarms);
            }
        }
    }

    /// Adds a partition that is not known. Returns its position.
    fn insert_partition(&mut self, partition: i32, resume: Resume) -> usize {
        let mut state = Partition::new(partition, &self.settings, resume);
        if let Some(window) = self.settings.conversion_window {
            let pending = self.parked.remove(&self.parking_place(partition));
            let join = &mut state.join;
            join.wait_for_conversions(window.into(), pending.unwrap_or_default());
            self.joined += join.bytes();
        }
        let index = self.partitions.partition_point(|it| it.number < partition);
        self.partitions.insert(index, state);
        index
    }

    /// Adds an assigned partition.
    fn assign(&mut self, partition: i32, resume: Resume) {
        if let Some(index) = self.find(partition) {
            let known = &mut self.partitions[index];
            if !known.contains(partition) {
                known.add(partition, resume);
                return;
            }
            self.revoke(partition);
        }
        self.insert_partition(partition, resume);
    }

    /// Number under which the conversions of a partition are kept. All partitions that are joined with each
    /// other have one.
    fn parking_place(&self, partition: i32) -> i32 {
        match self.settings.topics.join {
            position::Join::Partition | position::Join::Repartition => partition,
            position::Join::All => 0,
        }
    }

    fn revoke(&mut self, partition: i32) {
        if let Some(index) = self.find(partition) {
            let removed = self.partitions.remove(index);
            self.joined -= removed.join.bytes();
            let waiting = removed.join.waiting_for_conversions();
            if let Some(pending) = waiting.filter(|it| !it.is_empty()) {
                let place = self.parking_place(removed.number);
                self.parked.insert(place, pending.clone());
            }
        }
    }

    /// Returns true while records that a previous owner of a partition has counted are being replayed.
    pub fn is_replaying(&self) -> bool {
        self.partitions.iter().any(Partition::is_catching_up)
    }

    /// Returns the position of a partition. All partitions that are joined with each other have one.
    fn find(&self, partition: i32) -> Option<usize> {
        if self.settings.topics.join == position::Join::All {
            return (!self.partitions.is_empty()).then_some(0);
        }
        let found = self
            .partitions
            .binary_search_by_key(&partition, |it| it.number);
        found.ok()
    }

    fn bytes_of(&self, partition: i32) -> usize {
        let index = self.find(partition);
        index.map_or(0, |index| self.partitions[index].join.bytes())
    }

    /// Returns the commit points of every partition from which a record was read.
    pub fn commit_points(&self) -> Vec<CommitPoint> {
        let partitions = self.partitions.iter();
        partitions.flat_map(Partition::commit_points).collect()
    }

    /// Returns the conditions under which records are accepted.
    pub fn acceptance(&self) -> Acceptance {
        Acceptance {
            limits: self.settings.record_limits,
            has_gold_texts: self.has_gold_texts,
        }
    }

    /// Returns the topic partitions to pause, to limit memory use. One is paused if its newest event is
    /// more than a feedback window newer than that of another one that is joined with it and has records
    /// left, or while only the other one is still being replayed.
    pub fn topics_to_pause(&self) -> BTreeSet<(i32, Kind)> {
        let partitions = self.partitions.iter();
        partitions
            .flat_map(|partition| partition.leaders(self.feedback_window))
            .collect()
    }

    /// Returns true if the record at this position must be deferred: its partition was taken over,
    /// and the other topic is still being replayed.
    pub fn must_defer(&self, kind: Kind, at: Position) -> bool {
        let partition = self.find(at.partition);
        partition.is_some_and(|index| self.partitions[index].must_defer(kind, at))
    }

    /// Takes the effects that belong to no single record.
    pub fn take_effects(&mut self) -> PendingEffects {
        let mut effects = std::mem::take(&mut self.effects);
        effects.incidents = self.totals.evidence.take_incident_news();
        effects
    }

    /// Returns the assigned topic partitions, each with the kind of its topic.
    pub fn partitions(&self) -> BTreeSet<(i32, Kind)> {
        self.partitions.iter().flat_map(Partition::places).collect()
    }

    /// Topics of the events.
    pub fn topics(&self) -> Topics {
        self.settings.topics
    }

    /// Returns the next expected offset of an assigned partition; `None` if it is not known.
    pub fn next_offset(&self, kind: Kind, partition: i32) -> Option<i64> {
        self.partitions[self.find(partition)?].next_offset(kind, partition)
    }

    /// Time without records after which a topic no longer holds its partition back.
    pub fn idle_timeout(&self) -> Millis {
        self.clock.idle_timeout
    }

    /// Returns the event-time progress over the partitions of this engine.
    pub fn progress(&self) -> Option<Progress> {
        Some(Progress {
            watermark: self
                .partitions
                .iter()
                .filter_map(|partition| partition.watermark)
                .min(),
            // Windows hold searches. Feedback that is newer must not advance their end beyond the
            // watermark.
            newest: self.partitions.iter().filter_map(Partition::newest).max()?,
        })
    }

    /// Sets the id under which this worker shares its baselines, unless its saved state has one.
    pub fn identify(&mut self, id: u64) {
        self.totals.evidence.identify(id);
    }

    /// Returns the values that this worker shares with the others of its fleet.
    pub fn share(&self) -> Share {
        (self.totals.evidence).share(&self.settings, self.names.shared())
    }

    /// Returns a snapshot of the exposed values.
    pub fn snapshot(&self) -> Snapshot {
        let mut pending = [0; 2];
        for partition in &self.partitions {
            for (sum, part) in pending.iter_mut().zip(partition.join.pending()) {
                *sum += u64::try_from(part).unwrap_or(u64::MAX);
            }
        }
        Snapshot {
            wall: Some(self.wall),
            pending,
            memory: Memory {
                joins: u64::try_from(self.joined).unwrap_or(u64::MAX),
                totals: u64::try_from(self.counted).unwrap_or(u64::MAX),
                limit: u64::try_from(self.settings.memory).unwrap_or(u64::MAX),
            },
            partitions: self
                .partitions
                .iter()
                .flat_map(Partition::statuses)
                .collect(),
            progress: self.progress(),
            series: self.names.shared().series_counts(),
            totals: self.totals.summed(),
            fleet: None,
        }
    }

    fn feedback(
        &mut self,
        at: Position,
        feedback: &Feedback<'_>,
        target: Option<Target>,
    ) -> Outcome {
        let (index, fresh) = self.receive(Kind::Feedback, at, RecordOutcome::Used);
        if let Some(outcome) = self.reject_future(index, Kind::Feedback, at, feedback.ts, fresh) {
            return outcome;
        }
        if fresh {
            self.count_label(feedback);
        }
        let partition = &mut self.partitions[index];
        partition.observe(Kind::Feedback, at.partition, feedback.ts);
        let (join, effects) = (&mut partition.join, &mut self.scratch.effects);
        let before = effects.len();
        match target {
            Some(Target::Search(search)) => {
                join.add_feedback(search, feedback, at, fresh, effects);
            }
            Some(Target::Session(session)) => {
                join.add_session_feedback(session, feedback, at, fresh, effects);
            }
            None => {}
        }
        let mut of_record = self.scratch.effects.iter().skip(before);
        let is_duplicate = of_record.any(|it| matches!(it, Effect::Duplicate));
        if fresh && !is_duplicate {
            self.count_evaluator_cost(feedback);
        }
        Outcome::None
    }

    /// Counts the cost of a judgment.
    fn count_evaluator_cost(&mut self, feedback: &Feedback<'_>) {
        let Some(evaluation) = feedback.evaluation.as_deref() else {
            return;
        };
        let Some(stated) = &evaluation.cost else {
            return;
        };
        let Some(cost) = Money::from_stated(stated.amount) else {
            return;
        };
        let labels = [
            (self.names).label(Dimension::Evaluator, &evaluation.evaluator),
            (self.names).label(Dimension::EvaluatorVersion, &evaluation.version),
            (self.names).label(Dimension::Currency, stated.currency()),
        ];
        self.count(&family::EVALUATOR_COST, labels, cost.units());
    }

    /// Counts a judgement that returns a request.
    pub(super) fn count_label(&mut self, feedback: &Feedback<'_>) {
        let Some(labelling) = &self.settings.labelling else {
            return;
        };
        let Some(evaluation) = feedback.evaluation.as_deref() else {
            return;
        };
        let Some(token) = evaluation.request.as_deref() else {
            return;
        };
        let sampling = Sampling::read(token, &labelling.key).ok();
        let (query_id, object_id) = (feedback.query_id.as_deref(), feedback.object_id.as_deref());
        let sampling = sampling.filter(|it| {
            let id = id_of(query_id.unwrap_or_default(), object_id.unwrap_or_default());
            it.id == id && it.pi > 0
        });
        let outcome = match (sampling, feedback.action) {
            _ if evaluation.kind != EvaluatorKind::Human => LabelOutcome::NotHuman,
            (Some(sampling), Action::Judgment { grade }) => {
                let grade = grade_of(evaluation, grade, labelling.scale_max);
                let variant = self.names.label(Dimension::Variant, &sampling.variant);
                let quality = &mut self.totals.quality;
                quality.count(labelling, &sampling, variant, (grade, feedback.ts))
            }
            _ => LabelOutcome::Invalid,
        };
        let [kind, outcome] = [evaluation.kind as usize, outcome as usize];
        let labels = [kind, outcome].map(Label::from_position);
        self.count(&family::LABELS, labels, 1_u64);
    }

    /// Takes the requests for labels since they were taken last, at most 10,000.
    pub fn take_label_requests(&mut self) -> Vec<LabelRequest> {
        std::mem::take(&mut self.label_requests)
    }

    /// Approximate bytes of what is counted.
    fn counted_bytes(&self) -> usize {
        self.totals.bytes() + self.observed_sessions.bytes()
    }

    /// Adds an observation to the regression evidence.
    fn observe(&mut self, observation: Observation<'_>) {
        let evidence = &mut self.totals.evidence;
        let alarms = evidence.observe(observation, &self.settings, self.names.shared());
        self.effects.add_alarms(alarms);
    }

    /// Opens the incidents of other workers, and ends those that are over.
    fn advance_incidents(&mut self, others: &[Incident], fleet: &[SharedIncident]) {
        let now = self.windows_at.map(|(progress, _)| progress);
        let now = now.map(|it| it.watermark.unwrap_or(it.newest));
        let evidence = &mut self.totals.evidence;
        let names = (&*self.settings, self.names.shared());
        evidence.advance_incidents((others, fleet), now, names);
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

    /// Returns the series of a family with these labels.
    fn series<const N: usize>(&mut self, family: &'static Family, labels: [Label; N]) -> Series {
        let Some(table) = family.table() else {
            return Series::default();
        };
        let admission = self.names.series(family, labels);
        if admission.is_overflow {
            self.totals.count_overflow(table.owner());
        }
        admission.series
    }
}

/// Returns the event time without searches after which a variant is retired: none of its searches is
/// then in a window or pending. It is at least a day, because a quiet night must not cost a variant
/// its counters and its baseline.
fn retire_after(settings: &Settings) -> Millis {
    let windows = settings.windows.iter().map(|window| window.length);
    let longest = windows.max().unwrap_or_default().max(DAY);
    let pending = 2 * (settings.feedback_window + settings.out_of_orderness)
        + settings.conversion_window.unwrap_or_default();
    Millis::from(longest + pending)
}

/// Returns the columns of the measures that wait for conversions.
fn waiting_columns(settings: &Settings) -> Vec<usize> {
    if settings.conversion_window.is_none() {
        return Vec::new();
    }
    let measures = settings.measures.iter().enumerate();
    let waiting = measures
        .filter(|(_, measure)| matches!(measure, Measure::User(it) if it.is_of_conversions()));
    waiting.map(|(index, _)| column_of(index)).collect()
}

/// Grade on the scale of the labels.
fn grade_of(evaluation: &Evaluation<'_>, value: f64, scale_max: f64) -> f64 {
    match evaluation.scale {
        Some(_) => evaluation.rescaled(value) * scale_max,
        None => value,
    }
}
