//! Workers: threads that consume records from Kafka and feed them to their engine.
//!
//! A worker owns its consumer and its engine. The thread that polls also processes, which avoids
//! copying records or passing them between threads. Other threads see only the `WorkerView` of
//! a worker: its last published snapshot and a few flags. Readers and workers never block each
//! other.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: clocks are read here and enter the engine as inputs"
)]

pub mod backoff;
pub mod boot_time;
mod context;
mod forward;
pub mod history;
mod internal;
mod member;
pub mod pace;
mod place;
mod publisher;
mod recovery;
pub mod replay;
mod schemas;
pub mod source;
mod stall;
mod stalled;
mod startup;
mod undecodable;

use std::fmt::Debug;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{debug, info, warn};

use rankgauge_core::decode::{Encoded, Envelope, EventRef};
use rankgauge_core::engine::fleet::FleetBaselines;
use rankgauge_core::engine::incidents::{Deployed, Incident};
use rankgauge_core::engine::series::Dimension;
use rankgauge_core::engine::{Engine, Input, PendingEffects, Position};
use rankgauge_core::event::{Kind, LossReason, Reason};
use rankgauge_core::gold::GoldSet;
use rankgauge_core::records::{self, RejectedRecord};
use rankgauge_core::time::{EventTime, WallTime};
use rankgauge_kafka::Error;
use rankgauge_kafka::dead_letters::{DeadLetters, Outstanding};
use rankgauge_kafka::group::{BorrowedMessage, Consumer, Message, Polled};
use rankgauge_kafka::label_requests::LabelRequests;
use rankgauge_kafka::throttle::Throttle;
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::live::Command;
use rankgauge_serve::live::session_partitions::RecentSessions;

use crate::fleet::START_TIMEOUT;
use backoff::Backoff;
use boot_time::BootTime;
use internal::InternalEnvelope;
use member::EngineMember;
use pace::{Batch, Schedule, StallCheck};
use place::position;
use publisher::Publisher;
use stall::has_stalled;
use stalled::{Records, StalledPartitions};
use undecodable::Undecodable;

pub use context::WorkerContext;
pub use forward::run as run_forwarder;
pub use startup::{Startup, start_up};

/// Interval between two connection attempts before the worker joins its group. librdkafka limits
/// the attempts itself.
const CONNECT_INTERVAL: Duration = Duration::from_millis(500);

/// Error that stops a worker.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// Permanent error of the consumer.
    #[error(transparent)]
    Kafka(#[from] rankgauge_kafka::Error),
    /// Failure to start the checkpoint thread.
    #[error("the thread that writes checkpoints cannot be started: {0}")]
    Thread(#[source] std::io::Error),
}

/// Maximum time for which searches are finalised between two rounds of polls.
const MAX_CATCH_UP_TIME: Duration = Duration::from_millis(20);

/// Runs a worker on the current thread until `Control::stop`.
///
/// Retries while the brokers are unavailable, at the start and later.
///
/// # Errors
/// Permanent errors: unequal partition counts, a configuration that librdkafka refuses, or
/// fencing by another process with the same `group.instance.id`.
pub fn run(context: WorkerContext, engine: Engine) -> Result<(), IngestError> {
    let control = Arc::clone(&context.control);
    let started = Worker::start(context, engine);
    let mut worker = started.inspect_err(|_| control.mark_drained())?;
    while !control.is_stopping() {
        if let Err(problem) = worker.round() {
            control.mark_drained();
            return Err(problem);
        }
    }
    worker.finish();
    Ok(())
}

struct Worker {
    context: WorkerContext,
    consumer: Consumer<EngineMember>,
    gold: Arc<GoldSet>,
    stall_check: StallCheck,
    ticks: Schedule,
    commits: Schedule,
    rejection_log: RejectionLog,
    undecodable: Undecodable,
    recent_sessions: RecentSessions,
    dead_letters: Option<DeadLetters>,
    label_requests: Option<LabelRequests>,
    stalled: StalledPartitions,
    /// Times at which this worker shares its baselines; `None` without a state topic.
    shares: Option<Schedule>,
    /// Baselines of the fleet that the engine has.
    inherited: Option<Arc<FleetBaselines>>,
}

/// Records of stalled topic partitions of a worker.
struct StalledRecords<'a> {
    context: &'a WorkerContext,
    consumer: &'a Consumer<EngineMember>,
    rejection_log: &'a mut RejectionLog,
    recent_sessions: &'a mut RecentSessions,
    dead_letters: Option<&'a DeadLetters>,
    undecodable: &'a mut Undecodable,
}

impl Records for StalledRecords<'_> {
    fn take(&mut self, record: &BorrowedMessage<'_>) -> bool {
        let (consumer, context) = (self.consumer, self.context);
        let (kind, at) = (consumer.kind_of(record), position(record));
        let member = consumer.member();
        let must_defer = member.engine.must_defer(kind, at) || member.outstanding.is_full();
        if must_defer || schemas::is_missing(context, kind, record) {
            return false;
        }
        drop(member);
        let records = std::slice::from_ref(record);
        let noted = (&mut *self.recent_sessions, &mut *self.undecodable);
        for rejected in process(consumer, context, noted, self.dead_letters, records) {
            note_rejection(context, rejected, self.rejection_log);
        }
        true
    }

    fn lose(&mut self, kind: Kind, partition: i32, before: i64) {
        self.consumer.member().engine.apply(Input::Lost {
            kind,
            partition,
            before,
            reason: LossReason::Unreadable,
        });
    }
}

impl Worker {
    fn start(context: WorkerContext, mut engine: Engine) -> Result<Self, IngestError> {
        let gold = context.control.gold();
        set_gold(&context, &mut engine, &gold);
        let (kafka, config) = (context.kafka(), &context.config);
        let topic = kafka.dead_letter_topic.as_ref();
        let outstanding = Arc::<Outstanding>::default();
        let dead_letters = topic
            .zip(context.published.dead_letter_counts_of(context.number))
            .map(|(topic, counts)| {
                let counts = Arc::clone(counts);
                let count = move |kind, is_delivered| counts.count(kind, is_delivered);
                DeadLetters::new(topic, kafka, Arc::clone(&outstanding), count)
            })
            .transpose()?;
        let label_requests = context.config.labelling.as_ref();
        let label_requests = label_requests
            .map(|it| LabelRequests::new(&it.topic, kafka))
            .transpose()?;
        let publisher =
            Publisher::new(&context, Arc::clone(&outstanding)).map_err(IngestError::Thread)?;
        let positions = Arc::clone(&context.recovery.positions);
        let member = EngineMember {
            context: context.clone(),
            engine,
            publisher,
            outstanding,
            stop_by: None,
        };
        let now = BootTime::now();
        let mut worker = Self {
            consumer: Consumer::new(kafka, context.number, positions, member)?,
            gold,
            stall_check: StallCheck::starting_at(now, kafka.session_timeout() * 4 / 5),
            ticks: Schedule::starting_at(now, config.publish_interval),
            commits: Schedule::starting_at(now + config.commit_interval, config.commit_interval),
            rejection_log: RejectionLog::default(),
            undecodable: Undecodable::new(config.commit_undecodable),
            recent_sessions: RecentSessions::new(context.number),
            dead_letters,
            label_requests,
            stalled: StalledPartitions::default(),
            shares: (config.state.as_ref())
                .map(|state| Schedule::starting_at(now + state.interval, state.interval)),
            inherited: None,
            context,
        };
        worker.await_topics()?;
        worker.await_fleet();
        worker.consumer.subscribe()?;
        // The wait for the topics is no stall.
        worker.stall_check.runs(BootTime::now());
        Ok(worker)
    }

    /// Waits until both topics exist. Returns an error if their partition counts differ.
    fn await_topics(&mut self) -> Result<(), IngestError> {
        let mut backoff = Backoff::default();
        let mut logged = None;
        let mut throttle = Throttle::default();
        while !self.context.control.is_stopping() {
            let problem = match self.consumer.check_topics() {
                Err(problem) if problem.is_temporary() => problem,
                done => return Ok(done?),
            };
            // Polling delivers the cause of a failed connection, which is logged then.
            self.serve_until(BootTime::now() + pace::MAX_BATCH_TIME);
            let is_logged = problem == Error::NoAnswer && self.consumer.has_connection_problem();
            if !is_logged {
                if logged.replace(problem.clone()).as_ref() != Some(&problem) {
                    throttle.reset();
                }
                if let Some(suppressed) = throttle.admit() {
                    warn!(
                        worker = self.context.number,
                        error = %problem,
                        suppressed,
                        "waiting for Kafka"
                    );
                }
            }
            let wait = if problem == Error::NoAnswer {
                backoff = Backoff::default();
                CONNECT_INTERVAL
            } else {
                backoff.next_wait(RandomState::new().build_hasher().finish())
            };
            self.serve_until(BootTime::now() + wait);
        }
        Ok(())
    }

    /// Waits until the state of the fleet was read, so that the first search is compared with it.
    fn await_fleet(&mut self) {
        let Some(links) = self.context.links.clone() else {
            return;
        };
        let deadline = BootTime::now() + START_TIMEOUT;
        while !links.is_read() && !self.context.control.is_stopping() {
            if BootTime::now() >= deadline {
                warn!(
                    worker = self.context.number,
                    seconds = START_TIMEOUT.as_secs(),
                    "state topic not read in time; starting with the baselines of this replica"
                );
                break;
            }
            self.serve_until(BootTime::now() + pace::MAX_BATCH_TIME);
        }
        // The commands, baselines and incidents of the fleet.
        self.housekeeping();
        self.tick();
    }

    /// Serves the events of the consumer and the periodic work until `end` or the shutdown, and at
    /// least once. The consumer has no partitions.
    fn serve_until(&mut self, end: BootTime) {
        loop {
            self.housekeeping();
            let now = BootTime::now();
            let wait = end.since(now).min(pace::MAX_BATCH_TIME);
            while self.consumer.serve(wait) {
                if BootTime::now() >= now + pace::MAX_BATCH_TIME {
                    break;
                }
            }
            if wait.is_zero() || self.context.control.is_stopping() {
                return;
            }
        }
    }

    /// Processes up to one batch of available records, then runs the periodic work that is due.
    fn round(&mut self) -> Result<(), IngestError> {
        let mut batch = Batch::starting_at(self.stall_check.awake());
        while let Some(wait) = batch.next_poll(self.stall_check.awake()) {
            // While records are replayed, each can decide whether the next one is deferred.
            let limit = if self.consumer.member().engine.is_replaying() {
                1
            } else {
                Engine::MAX_GROUP
            };
            let polled = self.consumer.poll_group(wait, limit);
            // Records fetched before a stall must not be counted here.
            if has_stalled(&mut self.stall_check, &self.consumer, &self.context) {
                break;
            }
            let Polled {
                mut records,
                has_problem,
            } = polled?;
            let is_deferred = schemas::defer(&self.consumer, &self.context, &mut records);
            let is_idle = records.is_empty();
            if let [record] = &*records {
                let (kind, at) = (self.consumer.kind_of(record), position(record));
                let must_defer = self.consumer.member().engine.must_defer(kind, at);
                if must_defer {
                    self.consumer.defer(record);
                    break;
                }
            }
            let letters = self.dead_letters.as_ref();
            let (consumer, context) = (&self.consumer, &self.context);
            let rejected = process(
                consumer,
                context,
                (&mut self.recent_sessions, &mut self.undecodable),
                letters,
                &records,
            );
            let has_rejected = !rejected.is_empty();
            for rejected in rejected {
                note_rejection(context, rejected, &mut self.rejection_log);
            }
            let is_full = has_rejected && self.consumer.member().outstanding.is_full();
            if is_idle || has_problem || is_full || is_deferred {
                break;
            }
        }
        // Nor must those be published that were counted just before it.
        has_stalled(&mut self.stall_check, &self.consumer, &self.context);
        self.housekeeping();
        Ok(())
    }

    fn housekeeping(&mut self) {
        self.context.view().heartbeat.beat();
        let control = &self.context.control;
        if let Some(gold) = control.gold_other_than(&self.gold) {
            set_gold(&self.context, &mut self.consumer.member().engine, &gold);
            self.gold = gold;
            self.inherited = None;
        }
        for command in control.take_commands(self.context.number) {
            self.handle_command(command);
        }
        let now = BootTime::now();
        self.exchange(now);
        if self.ticks.is_due(now) {
            self.tick();
        }
        if let Some(producer) = &self.label_requests {
            send_label_requests(producer, &mut self.consumer.member().engine);
        }
        if !self.consumer.is_lost() && self.consumer.member().publish_if_due() {
            self.consumer.commit_async();
        }
        if self.commits.is_due(now) {
            self.consumer.commit_async();
        }
        self.catch_up(now);
        loop {
            let deferred = schemas::drain(&self.consumer, &self.context);
            if deferred.is_empty() {
                break;
            }
            let letters = self.dead_letters.as_ref();
            let (consumer, context) = (&self.consumer, &self.context);
            for rejected in process(
                consumer,
                context,
                (&mut self.recent_sessions, &mut self.undecodable),
                letters,
                &deferred,
            ) {
                note_rejection(context, rejected, &mut self.rejection_log);
            }
        }
        self.undecodable.report(&self.context);
        self.handle_stalls();
        let to_pause = self.consumer.member().to_pause();
        self.consumer.pause(&to_pause);
        self.consumer.rejoin_if_needed();
    }

    /// Exchanges baselines with the fleet.
    fn exchange(&mut self, now: BootTime) {
        let Some(link) = self.context.link() else {
            return;
        };
        let known = link.inherited();
        if let Some(fleet) = &known
            && !(self.inherited.as_ref()).is_some_and(|mine| Arc::ptr_eq(mine, fleet))
        {
            self.consumer.member().engine.apply(Input::Inherited(fleet));
            self.inherited = known;
        }
        if self
            .shares
            .as_mut()
            .is_some_and(|shares| shares.is_due(now))
        {
            link.publish(self.consumer.member().engine.share());
        }
    }

    /// Finalises searches whose feedback window has passed, for a limited time. Hours of event time
    /// can pass at once.
    fn catch_up(&self, start: BootTime) {
        let engine = &mut self.consumer.member().engine;
        while engine.catch_up() && BootTime::now().since(start) < MAX_CATCH_UP_TIME {}
    }

    /// Handles stalled partitions.
    fn handle_stalls(&mut self) {
        let Self {
            context,
            consumer,
            rejection_log,
            recent_sessions,
            dead_letters,
            stalled,
            undecodable,
            ..
        } = self;
        let mut records = StalledRecords {
            context,
            consumer,
            rejection_log,
            recent_sessions,
            dead_letters: dead_letters.as_ref(),
            undecodable,
        };
        let found = stalled.handle(consumer, context, context.kafka(), &mut records);
        context.view().set_stalled(found);
    }

    /// Executes an operator command.
    fn handle_command(&mut self, command: Command) {
        match command {
            Command::Acknowledged { incident, given } => {
                let engine = &mut self.consumer.member().engine;
                let given = &given;
                engine.apply(Input::Acknowledged { incident, given });
            }
            Command::Noted { incident, note } => {
                let engine = &mut self.consumer.member().engine;
                let note = &note;
                engine.apply(Input::Noted { incident, note });
            }
            Command::LearnBaselines { reported } => {
                info!(worker = self.context.number, "baselines reset");
                let engine = &mut self.consumer.member().engine;
                engine.apply(Input::ResetBaselines { reported });
                if let Some(stats) = self.context.query_stats() {
                    stats.reset_baselines();
                }
            }
            Command::Deployed {
                variant,
                version,
                at,
                reset,
            } => {
                if reset.is_some() {
                    info!(
                        worker = self.context.number,
                        variant = &*variant,
                        "baselines of a variant reset"
                    );
                }
                let engine = &mut self.consumer.member().engine;
                engine.apply(Input::Deployed {
                    variant: &variant,
                    version: Some(&version),
                    at,
                    reset,
                });
                let label = self.context.registry.label(Dimension::Variant, &variant);
                if let Some(stats) = self.context.query_stats() {
                    stats.deployed(label, at);
                }
                if let Some(lists) = self.context.lists() {
                    lists.deployed(&variant, &version, at);
                }
            }
        }
    }

    fn tick(&mut self) {
        let WorkerContext {
            number,
            config,
            registry,
            published,
            control,
            ..
        } = &self.context;
        self.recent_sessions.record(&published.sessions, true);
        if let Some(lists) = self.context.lists() {
            lists.refill();
        }
        let others = published.progress_of_others(*number);
        let mut member = self.consumer.member();
        let engine = &mut member.engine;
        let wall = wall_now();
        engine.apply(Input::Tick { wall, others });
        if published.views.len() > 1 || published.fleet.is_some() {
            let others = published.incidents_of_others(*number);
            let fleet = published.fleet.as_ref().map(|fleet| fleet.incidents());
            engine.apply(Input::Incidents {
                others: &others,
                fleet: fleet.as_ref().map_or(&[], |it| it.as_slice()),
            });
        }
        let PendingEffects {
            mut alarms,
            mut incidents,
            deployments,
            retired,
            ..
        } = engine.take_effects();
        if let Some(fleet) = &published.fleet {
            let others = published.snapshots_of_others(*number);
            let workers: Vec<_> = others.iter().map(|it| &it.totals.evidence).collect();
            engine.apply(Input::Evidence {
                workers: &workers,
                fleet: &fleet.evidence_of_others(),
            });
            let of_fleet = engine.take_effects();
            if !of_fleet.alarms.is_empty() {
                let drops = of_fleet.alarms.len();
                info!(
                    worker = number,
                    drops, "drops found by the evidence of all replicas"
                );
            }
            alarms.extend(of_fleet.alarms);
            incidents.extend(of_fleet.incidents);
        }
        if !incidents.is_empty()
            && let Some(link) = self.context.link()
        {
            link.publish(engine.share());
        }
        drop(member);
        control.deploy_seen(deployments);
        if let Some(stats) = self.context.query_stats() {
            for variant in retired {
                stats.retire(variant);
            }
        }
        published
            .alarms
            .report(alarms, &config.engine, registry, wall);
        log_incidents(&incidents);
    }

    /// Publishes and commits the counters, and leaves the group.
    fn finish(mut self) {
        self.tick();
        {
            let mut member = self.consumer.member();
            if let Some(producer) = &self.label_requests {
                send_label_requests(producer, &mut member.engine);
            }
            member.stop_by = Some(Instant::now() + member.patience());
        }
        self.consumer.publish_and_commit();
        if let Some(producer) = &self.label_requests {
            producer.flush();
        }
        if let Some(link) = self.context.link() {
            link.publish(self.consumer.member().engine.share());
        }
        let has_joined = self.context.view().has_been_assigned();
        let WorkerContext {
            number,
            config,
            control,
            ..
        } = self.context;
        control.mark_drained();
        // Leaving the group starts a rebalance, and no member can commit during a rebalance. All
        // workers therefore commit before the first of them leaves.
        let deadline = Instant::now() + config.shutdown_timeout / 2;
        while !control.all_drained() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.consumer.leave();
        if has_joined {
            info!(
                worker = number,
                "offsets committed; left the consumer group"
            );
        } else {
            info!(
                worker = number,
                "stopped before the consumer group assigned partitions; no offsets committed"
            );
        }
    }
}

/// Sends the requests for labels that the engine drew.
fn send_label_requests(producer: &LabelRequests, engine: &mut Engine) {
    for request in engine.take_label_requests() {
        match serde_json::to_vec(&request) {
            Ok(payload) => producer.send(&request.query_id, &payload),
            Err(problem) => warn!(error = %problem, "label request not sent"),
        }
    }
}

/// Logs incidents that were opened or ended, with the searches of this worker.
fn log_incidents(incidents: &[Incident]) {
    for it in incidents {
        let id = it.name();
        let Some(primary) = it.measures.first() else {
            continue;
        };
        let (variant, measure) = (&*it.variant, &*primary.measure);
        let (slice, value) = (&*primary.slice, &*primary.value);
        match &it.ended {
            None => {
                let loss = primary.loss_at_alarm();
                let deployed = it.deployment_before();
                let version = |it: &Deployed| {
                    let version = it.version.as_deref();
                    version.unwrap_or("without a version").to_owned()
                };
                warn!(
                    incident = id,
                    variant,
                    measure,
                    slice,
                    value,
                    started = %EventTime(it.started.at),
                    deployment_before = deployed.map(version),
                    deployed_at = deployed.map(|it| it.at.to_string()),
                    loss_at_alarm = loss.map(|it| it.mean),
                    loss_lower = loss.map(|it| it.lower),
                    loss_upper = loss.map(|it| it.upper),
                    "incident opened"
                );
            }
            Some(ending) => info!(
                incident = id,
                variant,
                measure,
                slice,
                value,
                ended = %ending.at,
                ended_by = ending.by.name(),
                ended_after = ending.after.as_deref(),
                "incident ended"
            ),
        }
    }
}

/// Sets the gold set of a worker: of its engine and of its query statistics.
fn set_gold(context: &WorkerContext, engine: &mut Engine, gold: &Arc<GoldSet>) {
    if let Some(stats) = context.query_stats() {
        let settings = &context.config.engine;
        stats.set_gold_set(Arc::clone(gold), settings.depends_on_scale());
    }
    engine.apply(Input::Gold(Arc::clone(gold)));
}

/// Feeds records to the engine, and its effects to the query statistics and the dead-letter topic.
/// Returns the rejected records.
fn process<M: Message + Debug>(
    consumer: &Consumer<EngineMember>,
    context: &WorkerContext,
    (recent_sessions, undecodable): (&mut RecentSessions, &mut Undecodable),
    letters: Option<&DeadLetters>,
    messages: &[M],
) -> Vec<RejectedRecord> {
    if !context.has_internal_topics() {
        let noted = (recent_sessions, undecodable);
        return process_events(consumer, context, noted, letters, messages);
    }
    let mut rejected = Vec::new();
    for group in messages.chunk_by(|a, b| !internal::is_report(a) && !internal::is_report(b)) {
        if let [record] = group
            && internal::is_report(record)
        {
            let kind = consumer.kind_of(record);
            internal::apply_report(&mut consumer.member().engine, kind, record);
            continue;
        }
        let noted = (&mut *recent_sessions, &mut *undecodable);
        rejected.extend(process_events(consumer, context, noted, letters, group));
    }
    rejected
}

/// Feeds records of events to the engine.
fn process_events<M: Message + Debug>(
    consumer: &Consumer<EngineMember>,
    context: &WorkerContext,
    (recent_sessions, undecodable): (&mut RecentSessions, &mut Undecodable),
    letters: Option<&DeadLetters>,
    messages: &[M],
) -> Vec<RejectedRecord> {
    let is_internal = context.has_internal_topics();
    let mut member = consumer.member();
    let formats = &context.config.formats;
    // Only mappings read the parts around a payload.
    let is_mapped = formats.mapped.iter().any(Option::is_some);
    let envelopes = messages.iter().filter(|_| is_mapped);
    let envelopes = envelopes.map(|message| InternalEnvelope::new(message, is_internal));
    let envelopes: Vec<InternalEnvelope<'_, M>> = envelopes.collect();
    let encoded = messages.iter().enumerate().map(|(index, message)| {
        let record = Encoded {
            payload: message.payload().unwrap_or_default(),
            envelope: envelopes.get(index).map(|it| -> &dyn Envelope { it }),
        };
        (consumer.kind_of(message), position(message), record)
    });
    let sessions = &context.published.sessions;
    recent_sessions.record(sessions, false);
    let stats = context.query_stats();
    let lists = context.lists().filter(|lists| lists.has_room());
    let settings = &context.config.engine;
    let rejected =
        records::apply(
            &mut member.engine,
            formats,
            encoded,
            |at, event, judged| match event {
                EventRef::Search(search) => {
                    if sessions.are_several()
                        && let Some(session) = search.user_session()
                    {
                        recent_sessions.note_search(session, at.partition);
                    }
                    if let (Some(stats), Some(judged)) = (stats, judged) {
                        stats.record(&judged);
                    }
                    if let Some(lists) = lists
                        && settings.judging.eligibility.check(search).is_ok()
                    {
                        lists.record(search, &settings.version_labels);
                    }
                }
                EventRef::Feedback(feedback) => {
                    if let Some(stats) = stats {
                        stats.record_feedback(feedback);
                    }
                }
            },
        );
    note_times(consumer, &mut member.engine, messages);
    undecodable.note(messages.iter().map(|it| consumer.kind_of(it)), &rejected);
    member.publisher.withhold(undecodable.withholds_commits());
    let rejected = rejected.into_iter().filter_map(|(index, rejected)| {
        let message = messages.get(index)?;
        // A record that is read again was sent when it was first read. The other events of a record
        // that is rejected in part are counted: it is no dead letter.
        let letters =
            letters.filter(|_| !rejected.is_read_again && rejected.rejection.is_whole_record);
        let kind = consumer.kind_of(message);
        let source =
            is_internal.then(|| internal::source(message, context.config.kafka.topic(kind)));
        let at = source.as_ref().map_or(rejected.at, position);
        if let Some(letters) = letters {
            match &source {
                Some(source) => letters.send(kind, source, &rejected.rejection),
                None => letters.send(kind, message, &rejected.rejection),
            }
        }
        Some(RejectedRecord { at, ..rejected })
    });
    rejected.collect()
}

/// Passes the newest time that Kafka states for the records of each topic partition to the engine.
fn note_times<M: Message>(consumer: &Consumer<EngineMember>, engine: &mut Engine, messages: &[M]) {
    let mut newest: Option<(Kind, i32, WallTime)> = None;
    let mut pass = |newest: Option<(Kind, i32, WallTime)>| {
        if let Some((kind, partition, at)) = newest {
            engine.apply(Input::Written {
                kind,
                partition,
                at,
            });
        }
    };
    for message in messages {
        let Some(at) = message.timestamp().to_millis().map(WallTime) else {
            continue;
        };
        let (kind, partition) = (consumer.kind_of(message), message.partition());
        newest = match newest {
            Some((of, number, known)) if (of, number) == (kind, partition) => {
                Some((kind, partition, known.max(at)))
            }
            other => {
                pass(other);
                Some((kind, partition, at))
            }
        };
    }
    pass(newest);
}

/// Rate limits of the log messages, by rejection reason.
type RejectionLog = [Throttle; Reason::ALL.len()];

fn note_rejection(context: &WorkerContext, rejected: RejectedRecord, log: &mut RejectionLog) {
    let worker = context.number;
    let topic = context.config.kafka.topic(rejected.kind);
    let Position { partition, offset } = rejected.at;
    let reason = rejected.rejection.reason;
    let error = rejected.rejection.to_string();
    (context.published.rejections).keep(rejected, wall_now());
    // The error may quote the record. As a string field, its control characters are escaped.
    if let Some(suppressed) = log[reason.index()].admit() {
        warn!(
            worker,
            topic,
            partition,
            offset,
            reason = reason.name(),
            error,
            suppressed,
            "record rejected"
        );
    } else {
        debug!(
            worker,
            topic,
            partition,
            offset,
            reason = reason.name(),
            error,
            "record rejected"
        );
    }
}
