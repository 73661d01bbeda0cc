//! Detection of sessions whose searches are in several partitions, within one replica.
//!
//! Each worker records the partitions of its sessions, in bounded space. A session is recorded as a
//! 64-bit hash of its id. The number of sessions in more than one partition is computed on read,
//! within a worker and across workers. It depends on the partitions of this replica and on their
//! progress. It is an indication for operators and not part of the engine's counters. While the
//! topics have one partition, nothing is recorded.
//!
//! The entries of a worker are divided into shards with one lock each, and a session belongs to the
//! same shard in every worker. A worker locks one of its own shards for one search. A reader locks
//! one shard of all workers at a time, and merges about 1,500 entries in it at most. So a worker
//! never waits for a whole read and never for another worker.

use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxBuildHasher, FxHashMap};

/// Maximum number of entries of a process. An entry is a session in a worker.
pub const MAX_SESSIONS: usize = 100_000;

/// Number of shards of a worker.
const SHARDS: usize = 64;

/// Number of places of [`RecentSessions`]: 16 KB, which the processor's caches hold.
const RECENT: usize = 1_024;

/// Partitions in which the workers of a process saw each session.
#[derive(Debug)]
pub struct SessionPartitions {
    workers: Vec<Vec<Mutex<Shard>>>,
    /// True if the topics have more than one partition.
    are_several: AtomicBool,
    /// Maximum number of entries of a shard. A full shard drops its entries.
    shard_limit: usize,
    /// Number of sessions seen in more than one partition, up to the last read.
    split: AtomicU64,
}

/// Sessions that a worker saw last. Most searches belong to one of them. The others are recorded
/// together, so that a lock serves several of them.
#[derive(Debug)]
pub struct RecentSessions {
    worker: usize,
    /// Session and partition at the place that the session determines.
    places: Box<[(u64, i32); RECENT]>,
    /// Sessions and partitions that are not yet recorded.
    new: Vec<(u64, i32)>,
}

impl RecentSessions {
    /// No sessions of `worker`.
    pub fn new(worker: usize) -> Self {
        Self {
            worker,
            places: Box::new([(0, -1); RECENT]),
            new: Vec::with_capacity(RECENT),
        }
    }

    /// Notes that this worker read a search of `session` from `partition`.
    pub fn note_search(&mut self, session: &str, partition: i32) {
        let session = FxBuildHasher.hash_one(session);
        let [_, low, high, ..] = session.to_le_bytes();
        let place = usize::from(u16::from_le_bytes([low, high])) % RECENT;
        let seen = (session, partition);
        if std::mem::replace(&mut self.places[place], seen) != seen {
            self.new.push(seen);
        }
    }

    /// Records in `all` what was noted, if that are many sessions or if `is_due`.
    pub fn record(&mut self, all: &SessionPartitions, is_due: bool) {
        if self.new.len() < RECENT && !is_due {
            return;
        }
        self.new.sort_by_key(|(session, _)| shard_of(*session));
        for new in self
            .new
            .chunk_by(|(a, _), (b, _)| shard_of(*a) == shard_of(*b))
        {
            all.record(self.worker, new);
        }
        self.new.clear();
    }
}

/// Part of the sessions of one worker.
#[derive(Debug, Default)]
struct Shard {
    sessions: FxHashMap<u64, Seen>,
    /// Number of dropped sessions that were seen in more than one partition and not counted yet.
    dropped: u64,
}

/// Partitions in which a session was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// One partition.
    In(i32),
    /// More than one partition; not counted yet.
    InSeveral,
    /// More than one partition; counted.
    Counted,
}

impl Seen {
    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Counted, _) | (_, Self::Counted) => Self::Counted,
            (Self::In(one), Self::In(another)) if one == another => self,
            (Self::In(_) | Self::InSeveral, Self::In(_) | Self::InSeveral) => Self::InSeveral,
        }
    }
}

impl Shard {
    fn record_search(&mut self, session: u64, partition: i32, limit: usize) {
        let seen = Seen::In(partition);
        if let Some(known) = self.sessions.get_mut(&session) {
            *known = known.merge(seen);
            return;
        }
        if self.sessions.len() >= limit {
            let seen = self.sessions.values();
            let dropped = seen.filter(|seen| **seen == Seen::InSeveral).count();
            self.dropped += u64::try_from(dropped).unwrap_or(u64::MAX);
            self.sessions.clear();
        }
        self.sessions.insert(session, seen);
    }
}

impl SessionPartitions {
    /// No sessions of `workers` workers, with a limit of `max_sessions` entries, which is divided
    /// among the workers and their shards. A shard holds at least one entry.
    pub fn new(workers: usize, max_sessions: usize) -> Self {
        let shards = || (0..SHARDS).map(|_| Mutex::default()).collect();
        Self {
            workers: (0..workers).map(|_| shards()).collect(),
            are_several: AtomicBool::new(false),
            shard_limit: (max_sessions / workers.max(1) / SHARDS).max(1),
            split: AtomicU64::new(0),
        }
    }

    /// Notes the number of partitions of the topics. It is known before a partition is read, because
    /// every assignment checks it.
    pub fn note_partitions(&self, count: usize) {
        if count > 1 {
            self.are_several.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if a session can be in more than one partition.
    pub fn are_several(&self) -> bool {
        self.are_several.load(Ordering::Relaxed)
    }

    /// Records searches of sessions of one shard, in their order.
    fn record(&self, worker: usize, sessions: &[(u64, i32)]) {
        let Some((first, _)) = sessions.first() else {
            return;
        };
        let mut shard = lock(&self.workers[worker][shard_of(*first)]);
        for (session, partition) in sessions {
            shard.record_search(*session, *partition, self.shard_limit);
        }
    }

    /// Number of sessions that were seen in more than one partition. It never decreases. A session
    /// that was dropped and is seen again may be counted again.
    pub fn split(&self) -> u64 {
        for shard in 0..SHARDS {
            let new = self.count_new(shard);
            self.split.fetch_add(new, Ordering::Relaxed);
        }
        self.split.load(Ordering::Relaxed)
    }

    /// Number of sessions of one shard of all workers that were not counted before.
    fn count_new(&self, shard: usize) -> u64 {
        let shards = self.workers.iter().map(|worker| lock(&worker[shard]));
        let mut shards: Vec<MutexGuard<'_, Shard>> = shards.collect();
        let dropped = shards.iter_mut();
        let mut new = dropped
            .map(|shard| std::mem::take(&mut shard.dropped))
            .sum();
        if let [only] = &mut *shards {
            let seen = only.sessions.values_mut();
            for seen in seen.filter(|seen| **seen == Seen::InSeveral) {
                *seen = Seen::Counted;
                new += 1;
            }
            return new;
        }
        let mut entries: Vec<(u64, Seen)> = shards
            .iter()
            .flat_map(|shard| {
                shard
                    .sessions
                    .iter()
                    .map(|(session, seen)| (*session, *seen))
            })
            .collect();
        entries.sort_unstable_by_key(|(session, _)| *session);
        for entries in entries.chunk_by(|(one, _), (another, _)| one == another) {
            let (session, first) = entries[0];
            let seen = entries
                .iter()
                .fold(first, |seen, (_, other)| seen.merge(*other));
            let is_marked = entries.iter().all(|(_, seen)| *seen == Seen::Counted);
            if matches!(seen, Seen::In(_)) || is_marked {
                continue;
            }
            new += u64::from(seen == Seen::InSeveral);
            for shard in &mut shards {
                if let Some(seen) = shard.sessions.get_mut(&session) {
                    *seen = Seen::Counted;
                }
            }
        }
        new
    }
}

fn shard_of(session: u64) -> usize {
    let [low, ..] = session.to_le_bytes();
    usize::from(low) % SHARDS
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
