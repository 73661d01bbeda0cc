//! Workers: threads that take records from Kafka and feed them to their engine.
//!
//! A worker owns its consumer and its engine, and the thread that polls is the thread that
//! processes: no record is copied or handed on. What others may see of a worker is its
//! [`WorkerView`]: the snapshot it published last, and a few flags. A reader never waits for a worker, and
//! a worker never waits for a reader.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: clocks are read here and enter the engine as inputs"
)]

pub mod board;
mod commands;
pub mod commit_metadata;
pub mod dead_letters;
pub mod group;
pub mod history;
pub mod kafka;
pub mod positions;
mod publisher;
pub mod regressions;
pub mod replay;
pub mod sessions;
mod shared;
mod view;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rdkafka::Message;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tracing::{debug, error, info, warn};

use rankgauge_core::decode::{Formats, Rejection};
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::Reason;
use rankgauge_core::event::{Kind, Search};
use rankgauge_core::gold::GoldSet;
use rankgauge_core::time::WallTime;

use dead_letters::DeadLetters;
use group::{Consumer, IngestError};

pub use commands::Command;
pub use shared::Shared;
pub use view::{CheckpointView, WorkerView};

/// How long one poll waits when there is nothing to read: the time a worker may need to notice a
/// tick, a new gold set or the end.
const POLL: Duration = Duration::from_millis(50);

/// Records taken between two looks at the clock.
const BATCH: u32 = 256;

/// The same reason for rejecting records is logged once in this time.
const REJECTION_LOG_INTERVAL: Duration = Duration::from_mins(1);

/// The time on the wall.
pub fn wall_now() -> WallTime {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    WallTime(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// Runs worker `number` on the current thread until [`Shared::stop`].
///
/// A broker that is away, at the start or later, is waited for.
///
/// # Errors
/// What cannot heal by waiting: unequal partition counts, a configuration that librdkafka refuses,
/// another process in our place in the group.
pub fn run(number: usize, shared: &Arc<Shared>, engine: Engine) -> Result<(), IngestError> {
    let started = Worker::start(number, Arc::clone(shared), engine);
    let mut worker = started.inspect_err(|_| shared.settle())?;
    while !shared.stop.load(Ordering::Relaxed) {
        if let Err(problem) = worker.round() {
            shared.settle();
            return Err(problem);
        }
    }
    worker.finish();
    Ok(())
}

struct Worker {
    number: usize,
    shared: Arc<Shared>,
    consumer: Consumer,
    gold: Arc<GoldSet>,
    /// When the loop last came round.
    awake: Instant,
    /// How long it may take before the group is likely to have given our partitions away.
    longest_pause: Duration,
    next_tick: Instant,
    next_commit: Instant,
    rejections_logged: LoggedAt,
    dead_letters: Option<DeadLetters>,
}

impl Worker {
    fn start(number: usize, shared: Arc<Shared>, mut engine: Engine) -> Result<Self, IngestError> {
        let gold = shared.gold.load_full();
        engine.apply(Input::Gold(Arc::clone(&gold)));
        let consumer = Consumer::new(number, Arc::clone(&shared), engine)?;
        let dead_letters = shared.config.kafka.dead_letter_topic.as_ref();
        let dead_letters = dead_letters
            .map(|topic| DeadLetters::new(topic, Arc::clone(&shared)))
            .transpose()
            .map_err(IngestError::Configuration)?;
        let now = Instant::now();
        let mut worker = Self {
            number,
            consumer,
            gold,
            awake: now,
            longest_pause: shared.config.kafka.session_timeout() * 4 / 5,
            next_tick: now,
            next_commit: now + shared.config.commit_interval,
            rejections_logged: [None; Reason::ALL.len()],
            dead_letters,
            shared,
        };
        worker.await_topics()?;
        worker.consumer.subscribe()?;
        worker.awake = Instant::now();
        Ok(worker)
    }

    /// Waits until both topics are there, and refuses to go on when their partitions do not match.
    fn await_topics(&mut self) -> Result<(), IngestError> {
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.housekeeping();
            match self.consumer.check_topics() {
                Err(IngestError::NotYet(reason)) => {
                    warn!(worker = self.number, "waiting for Kafka: {reason}");
                }
                done => return done,
            }
        }
        Ok(())
    }

    /// Takes what there is to take, up to a batch, and does what is due.
    fn round(&mut self) -> Result<(), IngestError> {
        for _ in 0..BATCH {
            let polled = self.consumer.poll(POLL);
            // Whoever stood still for that long is taken for dead, and its partitions are counted
            // by somebody else. What was fetched before is no longer ours to count.
            let now = Instant::now();
            let stood_still = now - std::mem::replace(&mut self.awake, now);
            if stood_still > self.longest_pause {
                warn!(
                    worker = self.number,
                    "this process stood still for {} s, joining anew",
                    stood_still.as_secs()
                );
                self.consumer.rejoin_as_lost();
                break;
            }
            match polled {
                None => break,
                Some(Ok(message)) => {
                    if self.consumer.put_off(&message) {
                        break;
                    }
                    let letters = self.dead_letters.as_mut();
                    let shared = &self.shared;
                    if let Some(rejected) = process(&self.consumer, shared, letters, &message) {
                        note_rejection(&rejected, &mut self.rejections_logged, &self.shared);
                    }
                }
                Some(Err(KafkaError::MessageConsumptionFatal(problem))) => {
                    return Err(IngestError::Fatal(problem));
                }
                Some(Err(problem)) => {
                    self.heal(&problem);
                    break;
                }
            }
        }
        self.housekeeping();
        Ok(())
    }

    fn housekeeping(&mut self) {
        let view = &self.shared.views[self.number];
        view.beat();
        let current = self.shared.gold.load();
        if !Arc::ptr_eq(&current, &self.gold) {
            self.gold = Arc::clone(&current);
            self.consumer
                .engine()
                .apply(Input::Gold(Arc::clone(&current)));
        }
        for command in self.shared.mailboxes[self.number].take() {
            self.obey(command);
        }
        let now = Instant::now();
        if now >= self.next_tick {
            self.next_tick = now + self.shared.config.publish_interval;
            self.tick();
        }
        if let Some(letters) = &self.dead_letters {
            letters.poll();
        }
        self.consumer.publish_if_due();
        if now >= self.next_commit {
            self.next_commit = now + self.shared.config.commit_interval;
            if let Some(letters) = &self.dead_letters {
                letters.flush();
            }
            self.consumer.commit_async();
        }
        for record in self.consumer.take_up() {
            let letters = self.dead_letters.as_mut();
            if let Some(rejected) = process(&self.consumer, &self.shared, letters, &record) {
                note_rejection(&rejected, &mut self.rejections_logged, &self.shared);
            }
        }
        self.consumer.balance();
        self.consumer.rejoin_if_needed();
    }

    /// Does what an operator asked for.
    fn obey(&mut self, command: Command) {
        match command {
            Command::LearnBaselines => {
                info!(
                    worker = self.number,
                    "learns anew what is usual, from the searches that follow"
                );
                self.consumer.engine().apply(Input::LearnBaselines);
            }
        }
    }

    fn tick(&mut self) {
        let others = self.shared.progress_of_others(self.number);
        let mut engine = self.consumer.engine();
        let wall = wall_now();
        engine.apply(Input::Tick { wall, others });
        let crossings = engine.take_crossings();
        drop(engine);
        let (settings, registry) = (&self.shared.config.engine, &self.shared.registry);
        self.shared
            .regressions
            .tell(crossings, settings, registry, wall);
    }

    /// Does what an error of the consumer asks for. Most need nothing: librdkafka reconnects by
    /// itself, forever.
    fn heal(&mut self, problem: &KafkaError) {
        let view = &self.shared.views[self.number];
        match problem.rdkafka_error_code() {
            // The offset asked for is gone, or the topic was made anew: ask the log where it is.
            Some(RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange) => {
                error!(
                    worker = self.number,
                    "an offset is no longer in the log, joining anew: {problem}"
                );
                self.consumer.rejoin();
            }
            Some(RDKafkaErrorCode::AllBrokersDown) => {
                view.set_connected(false);
                error!(
                    worker = self.number,
                    "no broker can be reached, trying on: {problem}"
                );
            }
            _ => warn!(worker = self.number, "{problem}"),
        }
    }

    /// Shows and commits what was counted, and leaves the group.
    fn finish(mut self) {
        self.tick();
        self.consumer.publish_and_commit();
        self.shared.settle();
        // Whoever leaves the group makes it change, and while it changes nobody can commit.
        let deadline = Instant::now() + self.shared.config.shutdown_timeout / 2;
        while !self.shared.all_settled() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.consumer.leave();
        info!(worker = self.number, "offsets committed, group left");
    }
}

/// A record that was of no use.
struct Rejected {
    kind: Kind,
    at: Position,
    why: Rejection,
}

/// Feeds one record to the engine; returns why it was of no use, if it was not.
fn process(
    consumer: &Consumer,
    shared: &Shared,
    letters: Option<&mut DeadLetters>,
    record: &impl Message,
) -> Option<Rejected> {
    let kind = consumer.kind_of(record);
    let at = Position {
        partition: record.partition(),
        offset: record.offset(),
    };
    let mut engine = consumer.engine();
    // What is only read again was passed on when it was first read.
    let letters = letters.filter(|_| !engine.has_counted(kind, at));
    let payload = record.payload().unwrap_or_default();
    let formats = &shared.config.formats;
    let taken = take_noting(&mut engine, formats, kind, at, payload, |search| {
        if let Some(session) = &search.session_id {
            shared.sessions.note(session, at.partition);
        }
    });
    drop(engine);
    let why = taken.err()?;
    if let Some(letters) = letters {
        letters.send(kind, record, &why);
    }
    Some(Rejected { kind, at, why })
}

/// When a reason for rejecting records was last logged.
type LoggedAt = [Option<Instant>; Reason::ALL.len()];

fn note_rejection(rejected: &Rejected, logged: &mut LoggedAt, shared: &Shared) {
    let Rejected { kind, at, why } = rejected;
    let logged = &mut logged[why.reason.index()];
    let topic = shared.config.kafka.topic(*kind);
    let Position { partition, offset } = at;
    if logged.is_some_and(|at| at.elapsed() < REJECTION_LOG_INTERVAL) {
        debug!("{topic} [{partition}] at offset {offset} is invalid: {why}");
    } else {
        *logged = Some(Instant::now());
        warn!(
            "{topic} [{partition}] at offset {offset} is invalid: {why} (others of this kind are \
             counted, and not logged for a minute)"
        );
    }
}

/// Decodes one record and feeds it to the engine.
///
/// # Errors
/// Why the record was of no use. It was counted.
pub fn take(
    engine: &mut Engine,
    formats: &Formats,
    kind: Kind,
    at: Position,
    payload: &[u8],
) -> Result<(), Rejection> {
    take_noting(engine, formats, kind, at, payload, |_| ())
}

/// The same, which shows a search to `note` as well.
fn take_noting(
    engine: &mut Engine,
    formats: &Formats,
    kind: Kind,
    at: Position,
    payload: &[u8],
    note: impl FnOnce(&Search<'_>),
) -> Result<(), Rejection> {
    let limits = engine.record_limits();
    let decoded = match kind {
        Kind::Search => formats.search(payload, &limits).map(|event| {
            note(&event);
            engine.apply(Input::Search { at, event: &event });
        }),
        Kind::Feedback => formats.feedback(payload, &limits).map(|event| {
            engine.apply(Input::Feedback { at, event: &event });
        }),
    };
    decoded.inspect_err(|rejection| {
        engine.apply(Input::Rejected {
            kind,
            at,
            reason: rejection.reason,
        });
    })
}
