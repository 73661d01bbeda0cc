//! State of the fleet: a thread publishes what the workers of this process learned to the state topic,
//! and passes what the other workers published to them.
//!
//! Baselines are sums of disjoint searches. Each worker writes its own under an id of its own, and every
//! replica adds those of all others, so no record has two writers. The evidence and the score history of a
//! process have the id of its first worker. Commands have a record each.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: a thread with a clock"
)]

mod held;
mod key;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use crate::config::{Config, State};
use held::{Changes, Held, MAX_COMMANDS};
use key::Key;
use rankgauge_core::engine::fleet::{FleetBaselines, FleetEvidence, Share, SharedEvidence};
use rankgauge_core::time::WallTime;
use rankgauge_kafka::Error;
use rankgauge_kafka::state_topic::StateTopic;
use rankgauge_kafka::throttle::Throttle;
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::history::{History, ScoreHistory};
use rankgauge_serve::http::Exposition;
use rankgauge_serve::live::{Control, FleetView, ReportedCommand, StateOutcome};
use value::{MAX_LEARNED, MAX_LEARNED_PARTS, Unusable, Value, parts};

/// Time for which a worker waits for the state of the fleet before it counts its first search.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum wait for records, and for what the workers of this process publish.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// Maximum number of records that are read at once.
const MAX_READ: usize = 1_000;

/// Wait between two attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Values between a worker and the thread of the fleet.
#[derive(Debug, Default)]
pub struct Link {
    /// Last share of the worker that is not published.
    share: Mutex<Option<Share>>,
    /// Baselines of the other workers.
    inherited: Mutex<Option<Arc<FleetBaselines>>>,
}

impl Link {
    /// Passes the share of the worker to the thread.
    pub fn publish(&self, share: Share) {
        *lock(&self.share) = Some(share);
    }

    /// Baselines of the other workers. `None` before the topic was read.
    pub fn inherited(&self) -> Option<Arc<FleetBaselines>> {
        lock(&self.inherited).clone()
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Links of the workers of a process.
#[derive(Debug)]
pub struct Links {
    links: Vec<Link>,
    is_read: AtomicBool,
}

impl Links {
    /// Links of `workers` workers.
    pub fn new(workers: usize) -> Self {
        Self {
            links: (0..workers).map(|_| Link::default()).collect(),
            is_read: AtomicBool::new(false),
        }
    }

    /// Link of a worker.
    pub fn of(&self, worker: usize) -> Option<&Link> {
        self.links.get(worker)
    }

    /// Returns true once the topic was read to its end.
    pub fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Acquire)
    }
}

/// Id of a worker that has none.
pub fn new_id() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Starts the thread of the fleet. It ends after the workers, when their last shares are published.
///
/// # Errors
/// If the thread cannot be started.
pub fn start(
    config: &Arc<Config>,
    state: State,
    links: Arc<Links>,
    exposition: &Arc<Exposition>,
    history: Arc<History>,
) -> std::io::Result<JoinHandle<()>> {
    let view = exposition.published.fleet.clone().unwrap_or_default();
    view.set_interval(state.interval.into());
    let (config, exposition) = (Arc::clone(config), Arc::clone(exposition));
    thread::Builder::new()
        .name("fleet".to_owned())
        .spawn(move || {
            let mut fleet = Fleet {
                config,
                state,
                links,
                control: Arc::clone(&exposition.control),
                exposition,
                view,
                held: Held::default(),
                own: BTreeMap::new(),
                evidence: None,
                history,
                ids: BTreeMap::new(),
                received: BTreeSet::new(),
                unsent: Vec::new(),
                passed: None,
                rejections: Throttle::default(),
            };
            fleet.run();
        })
}

struct Fleet {
    config: Arc<Config>,
    state: State,
    links: Arc<Links>,
    control: Arc<Control>,
    exposition: Arc<Exposition>,
    view: Arc<FleetView>,
    held: Held,
    /// Written parts of the workers of this process, by key, without the times of writing.
    own: BTreeMap<Key, Value>,
    /// Evidence of this process as it was shared last: id, time and parts.
    evidence: Option<(u64, WallTime, Vec<SharedEvidence>)>,
    /// Score history of this process, with those of the others.
    history: Arc<History>,
    /// Ids of the workers of this process, by number.
    ids: BTreeMap<usize, Vec<u64>>,
    /// Commands that this process executed.
    received: BTreeSet<Key>,
    /// Commands of this process that are not written yet, oldest first.
    unsent: Vec<ReportedCommand>,
    /// Changes, and number of ids of this process, at the last time at which the state of the others was
    /// passed on.
    passed: Option<(Changes, usize)>,
    rejections: Throttle,
}

impl Fleet {
    fn run(&mut self) {
        let mut log = Throttle::default();
        self.pass_own_evidence();
        while !self.is_over() {
            let control = Arc::clone(&self.control);
            let connected = StateTopic::connect(&self.config.kafka, &self.state.topic, &|| {
                control.is_stopping()
            });
            let ended = connected.and_then(|mut topic| {
                info!(topic = self.state.topic, "state topic connected");
                log.reset();
                self.serve(&mut topic)
            });
            let Err(problem) = ended else { return };
            self.pass_own_evidence();
            if problem == Error::Interrupted {
                return;
            }
            if let Some(suppressed) = log.admit() {
                error!(error = %problem, suppressed, "state topic not available; retrying");
            }
            let until = Instant::now() + RETRY_INTERVAL;
            while Instant::now() < until && !self.control.is_stopping() {
                thread::sleep(POLL_TIMEOUT);
            }
        }
    }

    /// Returns true if the process stops, and its workers have passed their last shares.
    fn is_over(&self) -> bool {
        self.control.is_stopping() && self.control.all_drained()
    }

    /// Reads and writes until the process stops.
    fn serve(&mut self, topic: &mut StateTopic) -> Result<(), Error> {
        // After a connection was lost, the topic is read again. Keys that were removed meanwhile would
        // stay otherwise.
        self.held = Held::default();
        self.passed = None;
        loop {
            let is_over = self.is_over();
            self.read(topic)?;
            if topic.is_read() {
                self.view.note_read(wall_now());
                self.pass_commands();
                let published = self.publish(topic, is_over);
                // The state of the others is used, even if this process has no permission to write.
                self.pass_shares();
                if !self.links.is_read.swap(true, Ordering::AcqRel) {
                    info!(
                        workers = self.held.workers().len(),
                        bytes = self.held.bytes(),
                        "state of the fleet read"
                    );
                }
                published?;
            }
            if is_over {
                return Ok(());
            }
        }
    }

    fn read(&mut self, topic: &mut StateTopic) -> Result<(), Error> {
        let (held, view, rejections) = (&mut self.held, &self.view, &mut self.rejections);
        let now = wall_now();
        topic.read(POLL_TIMEOUT, MAX_READ, &mut |key, value| {
            let read = Key::read(key).ok_or(Unusable::Key).and_then(|key| {
                let value = value.map(|bytes| Value::read(&key, bytes, now)).transpose()?;
                Ok((key, value))
            });
            let problem = match read {
                Ok((key, None)) => {
                    held.remove(&key);
                    None
                }
                Ok((key, Some((value, bytes)))) => {
                    let is_held = held.put(key, value, bytes);
                    (!is_held).then(|| "the limit of all records is reached".to_owned())
                }
                Err(problem) => Some(problem.to_string()),
            };
            let outcome = match problem {
                None => StateOutcome::Read,
                Some(_) => StateOutcome::Rejected,
            };
            view.count(outcome, 1);
            if let Some(problem) = problem
                && let Some(suppressed) = rejections.admit()
            {
                let key = String::from_utf8_lossy(key.get(..128).unwrap_or(key));
                warn!(key = %key.escape_debug(), error = problem, suppressed, "state record rejected");
            }
        })?;
        self.view
            .set_held(self.held.workers().len(), self.held.bytes());
        Ok(())
    }

    /// Passes commands of other replicas to the workers.
    fn pass_commands(&mut self) {
        let mut commands = self.held.commands();
        commands.retain(|(key, _)| self.received.insert((*key).clone()));
        let commands: Vec<&ReportedCommand> = commands.into_iter().map(|it| it.1).collect();
        self.control.receive(&commands);
    }

    /// Passes the baselines, incidents and evidence of the other workers to each worker, and their history to
    /// the readers, if they changed.
    fn pass_shares(&mut self) {
        let own = self.ids.values().map(Vec::len).sum();
        let state = (self.held.changes(), own);
        let passed = self.passed.replace(state);
        if passed == Some(state) {
            return;
        }
        self.pass_evidence();
        let is_known = |of: fn(&Changes) -> u64| {
            passed.is_some_and(|(changes, ids)| (of(&changes), ids) == (of(&state.0), own))
        };
        if !is_known(|it| it.history) {
            self.history.set_others(self.history_of_others());
        }
        if is_known(|it| it.shares) {
            return;
        }
        for (number, link) in self.links.links.iter().enumerate() {
            let except = self.ids.get(&number).map(Vec::as_slice).unwrap_or_default();
            let others = self.held.baselines(except);
            *lock(&link.inherited) = Some(Arc::new(others));
        }
        self.view
            .set_incidents(self.held.incidents(&self.own_ids()));
    }

    /// Ids of the workers of this process.
    fn own_ids(&self) -> Vec<u64> {
        self.ids.values().flatten().copied().collect()
    }

    /// Without the topic, the evidence of this process counts as that of one of the configured replicas.
    fn pass_own_evidence(&self) {
        let replicas = self.config.engine.detection.replicas;
        let none = FleetEvidence::default().combined(replicas);
        self.view.set_evidence(none.clone(), none);
    }

    /// Passes the evidence of all replicas to the readers, and that of the others to the workers. That of
    /// this process is what it shared last, not what it reads back.
    fn pass_evidence(&self) {
        let replicas = self.config.engine.detection.replicas;
        let mut fleet = self.held.evidence(&self.own_ids());
        let others = fleet.combined(replicas);
        if let Some((id, written, parts)) = &self.evidence {
            fleet.put(*id, *written, parts);
        }
        self.view.set_evidence(fleet.combined(replicas), others);
    }

    /// Score history of the other processes.
    fn history_of_others(&self) -> ScoreHistory {
        let own = self.own_ids();
        self.held.history(|id| !own.contains(&id), wall_now())
    }

    /// Notes the ids of a worker. A process that continues saved state continues the score history that was
    /// shared under its ids.
    fn identify(&mut self, number: usize, ids: &[u64]) {
        let own = self.own_ids();
        let is_new = |id: &u64| !own.contains(id);
        self.ids.insert(number, ids.to_vec());
        if ids.iter().any(is_new) {
            let former = |id| ids.contains(&id) && is_new(&id);
            let former = self.held.history(former, wall_now());
            self.history.inherit(&former, self.history_of_others());
        }
    }

    /// Records with the score history of this process that differ from the written ones.
    fn share_history(&self) -> Vec<(Key, Option<Value>)> {
        let Some(id) = self.process_id() else {
            return Vec::new();
        };
        let now = wall_now();
        let parts = (0..).zip(self.history.own().parts());
        let current = parts.map(|(part, shared)| {
            let key = Key::History { id, part };
            (key, Value::History(now, shared))
        });
        self.changes_of_process(current.collect(), |key| matches!(key, Key::History { .. }))
    }

    /// Id of this process: that of its first worker.
    fn process_id(&self) -> Option<u64> {
        self.ids.get(&0).and_then(|ids| ids.first().copied())
    }

    /// Records of this process that differ from the written ones, and the removal of those of the same kind
    /// that are not among them.
    fn changes_of_process(
        &self,
        current: BTreeMap<Key, Value>,
        is_of_kind: fn(&Key) -> bool,
    ) -> Vec<(Key, Option<Value>)> {
        let own = self.own_ids();
        let held = own.iter().flat_map(|id| self.held.keys_of(*id));
        let known: BTreeSet<Key> = held.chain(self.own.keys().cloned()).collect();
        let ended = known
            .into_iter()
            .filter(|it| is_of_kind(it) && !current.contains_key(it));
        let ended: Vec<Key> = ended.collect();
        let changed = current
            .into_iter()
            .filter(|(key, value)| !self.is_written(key, value));
        let changed = changed.map(|(key, value)| (key, Some(value)));
        changed
            .chain(ended.into_iter().map(|key| (key, None)))
            .collect()
    }

    /// Returns true if the record was written with this value.
    fn is_written(&self, key: &Key, value: &Value) -> bool {
        self.own
            .get(key)
            .is_some_and(|known| known.is_current(value))
    }

    /// Records with the evidence of this process that differ from the written ones. It is removed when a
    /// process without checkpoints ends: its successor begins without evidence, under another id.
    fn share_evidence(&mut self, is_over: bool) -> Vec<(Key, Option<Value>)> {
        let Some(id) = self.process_id() else {
            return Vec::new();
        };
        let own = self.own_ids();
        let snapshot = self.exposition.published.merged_of_process();
        let now = wall_now();
        let mut fleet = self.held.evidence(&own);
        if let Some((id, _, parts)) = &self.evidence {
            fleet.put(*id, now, parts);
        }
        let is_gone = is_over && self.config.checkpoints.is_none();
        let parts = if is_gone {
            Vec::new()
        } else {
            self.exposition
                .names
                .read(&snapshot)
                .shared_evidence(&fleet)
        };
        let current = (0..).zip(&parts).map(|(part, shared)| {
            let key = Key::Evidence { id, part };
            (key, Value::Evidence(now, shared.clone()))
        });
        let is_evidence = |key: &Key| matches!(key, Key::Evidence { .. });
        let records = self.changes_of_process(current.collect(), is_evidence);
        self.evidence = (!parts.is_empty()).then_some((id, now, parts));
        records
    }

    /// Publishes the commands and the shares that wait.
    fn publish(&mut self, topic: &mut StateTopic, is_over: bool) -> Result<(), Error> {
        let mut records: Vec<(Key, Option<Value>)> = Vec::new();
        let shares: Vec<(usize, Share)> = (self.links.links.iter().enumerate())
            .filter_map(|(number, link)| Some((number, lock(&link.share).take()?)))
            .collect();
        let has_shares = !shares.is_empty();
        records.extend(self.commands(has_shares || is_over));
        for (number, share) in shares {
            self.identify(number, &share.ids);
            records.extend(self.changes_of(&share));
        }
        if has_shares || is_over {
            records.extend(self.share_evidence(is_over));
            records.extend(self.share_history());
            self.pass_evidence();
        }
        if has_shares {
            let commands = self.held.commands();
            let old = commands.len().saturating_sub(MAX_COMMANDS);
            let old = commands.iter().take(old);
            records.extend(old.map(|(key, _)| ((*key).clone(), None)));
            self.fold(topic)?;
        }
        if records.is_empty() {
            if has_shares {
                self.view.note_published(wall_now());
            }
            return Ok(());
        }
        self.write(topic, records)?;
        self.unsent.clear();
        Ok(())
    }

    /// Records of the commands that are not written yet: at once if there is a new one, else `is_due`.
    fn commands(&mut self, is_due: bool) -> Vec<(Key, Option<Value>)> {
        let known = self.unsent.len();
        if known < MAX_COMMANDS {
            self.unsent.extend(self.control.take_outbox());
        }
        if self.unsent.len() == known && !is_due {
            return Vec::new();
        }
        let keys = self.unsent.iter().map(Key::of_command);
        self.received.extend(keys);
        let unsent = self.unsent.iter().cloned();
        let records = unsent.map(|it| (Key::of_command(&it), Some(Value::Command(it))));
        records.collect()
    }

    /// Folds workers that have been silent for a week. Their records are removed when the sums are written.
    fn fold(&mut self, topic: &mut StateTopic) -> Result<(), Error> {
        let (written, removed) = self.held.fold(&self.own_ids(), wall_now());
        if removed.is_empty() {
            return Ok(());
        }
        info!(records = removed.len(), "state of silent workers folded");
        let written = written.into_iter().map(|(key, value)| (key, Some(value)));
        self.write(topic, written.collect())?;
        self.write(topic, removed.into_iter().map(|key| (key, None)).collect())
    }

    /// Records of a share that differ from the written ones.
    fn changes_of(&self, share: &Share) -> Vec<(Key, Option<Value>)> {
        let Some((id, former)) = share.ids.split_first() else {
            return Vec::new();
        };
        let mut records = Vec::new();
        let mut current = BTreeSet::new();
        for shared in &share.baselines {
            for (part, shared) in (0..).zip(parts(shared)) {
                let key = Key::of_baselines(*id, &shared, part);
                current.insert(key.clone());
                let value = Value::Baselines(wall_now(), shared);
                if !self.is_written(&key, &value) {
                    records.push((key, Some(value)));
                }
            }
        }
        for shared in &share.incidents {
            let key = Key::Incident {
                id: *id,
                incident: shared.incident.id,
            };
            current.insert(key.clone());
            let value = Value::Incident(wall_now(), shared.clone());
            if !self.is_written(&key, &value) {
                records.push((key, Some(value)));
            }
        }
        let learned = share.learned.chunks(MAX_LEARNED).take(MAX_LEARNED_PARTS);
        for (part, learned) in (0..).zip(learned) {
            let key = Key::Learned { id: *id, part };
            current.insert(key.clone());
            let value = Value::Learned(wall_now(), learned.to_vec());
            if !self.is_written(&key, &value) {
                records.push((key, Some(value)));
            }
        }
        // Saved state of several workers is continued under one id.
        let ended = former.iter().flat_map(|id| self.held.keys_of(*id));
        let removed = self.held.keys_of(*id).into_iter();
        let removed = removed.filter(|key| !key.is_of_process() && !current.contains(key));
        records.extend(removed.chain(ended).map(|key| (key, None)));
        records
    }

    fn write(
        &mut self,
        topic: &mut StateTopic,
        records: Vec<(Key, Option<Value>)>,
    ) -> Result<(), Error> {
        let mut sent = 0;
        for (key, value) in &records {
            let bytes = match value.as_ref().map(Value::encode) {
                None => None,
                Some(Some(bytes)) => Some(bytes),
                Some(None) => {
                    warn!(key = key.text(), "state record too large; not published");
                    self.view.count(StateOutcome::Failed, 1);
                    continue;
                }
            };
            topic.send(&key.text(), bytes.as_deref());
            sent += 1;
        }
        if let Err(problem) = topic.finish() {
            self.view.count(StateOutcome::Failed, sent);
            // Which of them failed is not known: all are written at the next interval.
            self.own.clear();
            return Err(problem);
        }
        self.view.count(StateOutcome::Written, sent);
        self.view.note_published(wall_now());
        for (key, value) in records {
            match value {
                Some(Value::Command(_)) => {}
                Some(value) => {
                    self.own.insert(key, value);
                }
                None => {
                    self.own.remove(&key);
                }
            }
        }
        Ok(())
    }
}
