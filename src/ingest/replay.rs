//! Replay of events from files through the engine, without Kafka.
//!
//! A file of searches and a file of feedback are one partition of the two topics. A line, or a value of a
//! binary encoding, is a record, and its number is the offset. All files are read in the order of event time, which is
//! the order that a live consumer without lag receives. A replay of the consumed records therefore
//! gives the same counters.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use rankgauge_core::compression;
use rankgauge_core::decode::file::RecordFile;
use rankgauge_core::decode::{EventRef, Formats};
use rankgauge_core::engine::partition::{CommitPoint, Resume};
use rankgauge_core::engine::position::{Join, Topics};
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, Millis, WallTime};
use rankgauge_core::{records, text};
use rankgauge_serve::clock::wall_now;

/// Replay failure.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Failure to read a file.
    #[error("{}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Failure to write a state between two records.
    #[error("a state cannot be written: {0}")]
    Observe(io::Error),
}

/// Numbers of replayed records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Records of which the engine accepted at least one event, or that have none.
    pub accepted: u64,
    /// Records of which no event can be used.
    pub rejected: u64,
}

/// Decompressed content of a file.
pub type LineReader = BufReader<Box<dyn Read + Send>>;

/// Records of one file.
struct Source {
    kind: Kind,
    partition: i32,
    path: PathBuf,
    file: RecordFile,
    offset: i64,
    record: Vec<u8>,
    /// Maximum event time of the records up to `record`. An invalid record does not change it.
    time: i64,
    done: bool,
}

impl Source {
    fn open(
        kind: Kind,
        partition: i32,
        path: &Path,
        engine: &Engine,
        formats: &Formats,
    ) -> Result<Self, ReplayError> {
        let limit = engine.acceptance().limits.record_bytes;
        let file = open_records(path, kind, formats, limit);
        let file = file.map_err(|source| ReplayError::Read {
            path: path.into(),
            source,
        })?;
        let mut source = Self {
            kind,
            partition,
            path: path.into(),
            file,
            offset: -1,
            record: Vec::new(),
            time: i64::MIN,
            done: false,
        };
        source.advance(engine)?;
        Ok(source)
    }

    /// Reads the next record.
    fn advance(&mut self, engine: &Engine) -> Result<(), ReplayError> {
        let read = self.file.next(&mut self.record);
        let read = read.map_err(|source| ReplayError::Read {
            path: self.path.clone(),
            source,
        })?;
        if read.is_none() {
            self.done = true;
            return Ok(());
        }
        self.offset += 1;
        if let Some(time) = newest_time(self.kind, &self.record, engine, self.file.formats()) {
            self.time = self.time.max(time.0);
        }
        Ok(())
    }
}

/// Newest time of the events in a record; `None` if it has no valid event.
fn newest_time(
    kind: Kind,
    payload: &[u8],
    engine: &Engine,
    formats: &Formats,
) -> Option<EventTime> {
    let mut newest = None;
    let decoded = formats.events(kind, payload, &engine.acceptance(), &mut |event| {
        let ts = event.ok().map(|event| match event {
            EventRef::Search(search) => search.ts,
            EventRef::Feedback(feedback) => feedback.ts,
        });
        newest = newest.max(ts);
    });
    decoded.ok().and(newest)
}

/// Opens a file of lines, after its byte order mark if it has one.
///
/// # Errors
/// If the file cannot be read.
pub fn open_lines(path: &Path) -> io::Result<LineReader> {
    let mut reader = BufReader::new(compression::decompressed(File::open(path)?)?);
    let start = reader.fill_buf()?;
    let mark = start.len() - text::without_mark(start).len();
    reader.consume(mark);
    Ok(reader)
}

/// Opens the records of a topic of `kind` in a file.
///
/// # Errors
/// If the file cannot be read, or has a form that the format of the topic does not have.
pub fn open_records(
    path: &Path,
    kind: Kind,
    formats: &Formats,
    limit: usize,
) -> io::Result<RecordFile> {
    let reader = BufReader::new(compression::decompressed(File::open(path)?)?);
    RecordFile::open(reader, kind, formats, limit)
}

/// Advances the wall time, and reports the deployments that searches showed, as in live operation.
fn tick(engine: &mut Engine, wall: WallTime) {
    engine.apply(Input::Tick { wall, others: None });
    for seen in engine.take_effects().deployments {
        engine.apply(Input::Deployed {
            variant: &seen.variant,
            version: seen.deployed.version.as_deref(),
            at: seen.deployed.at,
            reset: None,
        });
    }
}

/// Topic partitions that end before the last event of all by the time-out, or have none.
fn ended_before_all(sources: &[Source], idle_timeout: Millis) -> Vec<(i32, Kind)> {
    let newest = sources.iter().map(|it| it.time).max();
    let is_early = |it: &&Source| {
        newest.is_some_and(|newest| newest.saturating_sub(it.time) >= idle_timeout.0)
    };
    let early = sources.iter().filter(is_early);
    early.map(|it| (it.partition, it.kind)).collect()
}

/// Topics of partitions that a live consumer treats as idle at the end: their last event is older than the
/// last one of the other topic by the time-out, or they have none.
fn ended_early(sources: &[Source], idle_timeout: Millis) -> Vec<(i32, Kind)> {
    let newest = |partition, kind| {
        let mut sources = sources.iter();
        let found = sources.find(|it| it.partition == partition && it.kind == kind);
        found.map(|it| it.time).filter(|time| *time > i64::MIN)
    };
    let searches = sources.iter().filter(|it| it.kind == Kind::Search);
    let ended = searches.filter_map(|it| {
        let of = |kind| newest(it.partition, kind);
        let kind = match (of(Kind::Search), of(Kind::Feedback)) {
            (Some(_), None) => Kind::Feedback,
            (None, Some(_)) => Kind::Search,
            (Some(search), Some(feedback)) if search - feedback >= idle_timeout.0 => Kind::Feedback,
            (Some(search), Some(feedback)) if feedback - search >= idle_timeout.0 => Kind::Search,
            _ => return None,
        };
        Some((it.partition, kind))
    });
    ended.collect()
}

/// Replays `searches` and `feedback`, whose records have the given `formats`, through `engine`. The
/// files at the same index are one partition, unless all partitions are joined with each other. With
/// [`Join::Repartition`], an engine that joins all of them counts the same. The wall time
/// of the engine does not advance: only the watermark does. What follows from the progress of event time, such
/// as the end of an incident, does so after each minute of it. A topic that ends `engine.idle_timeout` before the
/// other one is idle, as in live operation.
///
/// # Errors
/// If a file cannot be read. Invalid records are counted, as in live operation.
pub fn replay(
    engine: &mut Engine,
    formats: &Formats,
    searches: &[PathBuf],
    feedback: &[PathBuf],
) -> Result<Records, ReplayError> {
    replay_observed(engine, formats, searches, feedback, &mut |_, _| Ok(()))
}

/// As [`replay`]. Calls `before` with the engine before each record, with the newest event time of the file up to the
/// record.
///
/// # Errors
/// If a file cannot be read, or `before` fails.
pub fn replay_observed(
    engine: &mut Engine,
    formats: &Formats,
    searches: &[PathBuf],
    feedback: &[PathBuf],
    before: &mut dyn FnMut(&Engine, EventTime) -> io::Result<()>,
) -> Result<Records, ReplayError> {
    let mut counts = Records::default();
    let mut sources = Vec::new();
    for (kind, paths) in [(Kind::Search, searches), (Kind::Feedback, feedback)] {
        for (partition, path) in (0..).zip(paths) {
            sources.push(Source::open(kind, partition, path, engine, formats)?);
        }
    }
    if engine.topics().join == Join::All {
        // As in live operation, all of them are known before the first record.
        let mut starts: BTreeMap<i32, Resume> = BTreeMap::new();
        for source in &sources {
            let start = CommitPoint::starting_at(source.partition, source.kind, 0);
            starts.entry(source.partition).or_default().add(&start);
        }
        for (partition, resume) in starts {
            engine.apply(Input::Assigned { partition, resume });
        }
    }
    let now = wall_now();
    let mut minute = None;
    while let Some(source) = sources
        .iter_mut()
        .filter(|source| !source.done)
        .min_by_key(|source| source.time)
    {
        if source.time > i64::MIN {
            let of_source = Some(source.time.div_euclid(60_000));
            if of_source > minute {
                minute = of_source;
                tick(engine, now);
            }
            before(engine, EventTime(source.time)).map_err(ReplayError::Observe)?;
        }
        let at = Position {
            partition: source.partition,
            offset: source.offset,
        };
        let record = (source.kind, at, &*source.record);
        let formats = source.file.formats();
        // Rejected records are counted, and reported with the final state.
        let rejected = records::apply(engine, formats, [record], |_, _, _| ());
        for (_, rejected) in &rejected {
            tracing::debug!(
                path = %source.path.display(),
                record = source.offset + 1,
                error = rejected.rejection.to_string(),
                "record rejected"
            );
        }
        if rejected.iter().any(|(_, rejected)| rejected.is_whole) {
            counts.rejected += 1;
        } else {
            counts.accepted += 1;
        }
        source.advance(engine)?;
    }
    let idle_timeout = engine.idle_timeout();
    let ended: Vec<(i32, Kind)> = match engine.topics() {
        // One topic waits for no other.
        topics if topics.kinds().len() == 1 => Vec::new(),
        Topics {
            join: Join::Partition,
            ..
        } => ended_early(&sources, idle_timeout),
        Topics {
            join: Join::All | Join::Repartition,
            ..
        } => ended_before_all(&sources, idle_timeout),
    };
    // The topic is idle if the broker reports its end before and after the time-out.
    for wall in [now, WallTime(now.0.saturating_add(idle_timeout.0))] {
        tick(engine, wall);
        for (partition, kind) in &ended {
            engine.apply(Input::Lag {
                kind: *kind,
                partition: *partition,
                records: 0,
            });
        }
    }
    tick(engine, WallTime(now.0.saturating_add(idle_timeout.0)));
    tick(engine, now);
    while engine.catch_up() {}
    tick(engine, now);
    Ok(counts)
}
