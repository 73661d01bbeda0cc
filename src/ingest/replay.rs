//! Events from files, without Kafka, through the same engine.
//!
//! A file of searches and a file of feedback are one partition of two topics; a line is a record,
//! its offset is its number. Files are read side by side in the order of event time, as a live
//! consumer that keeps up would see them, so that replaying what was consumed gives the same
//! counters.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::ingest::{take, wall_now};
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::Kind;

/// Why a replay ended.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The records of one file.
struct Lines {
    kind: Kind,
    partition: i32,
    path: PathBuf,
    reader: BufReader<File>,
    /// Longest line that is kept; the rest of a longer one is skipped, and the record is too large.
    limit: usize,
    offset: i64,
    line: Vec<u8>,
    /// The time of the record in `line`; of the one before when it has none.
    time: i64,
    done: bool,
}

impl Lines {
    fn open(
        kind: Kind,
        partition: i32,
        path: &Path,
        engine: &Engine,
        formats: &Formats,
    ) -> Result<Self, ReplayError> {
        let file = File::open(path).map_err(|source| ReplayError::Read {
            path: path.into(),
            source,
        })?;
        let mut lines = Self {
            kind,
            partition,
            path: path.into(),
            reader: BufReader::new(file),
            limit: engine.record_limits().record_bytes + 1,
            offset: -1,
            line: Vec::new(),
            time: i64::MIN,
            done: false,
        };
        lines.advance(engine, formats)?;
        Ok(lines)
    }

    /// Reads the next line that is not empty.
    fn advance(&mut self, engine: &Engine, formats: &Formats) -> Result<(), ReplayError> {
        loop {
            self.line.clear();
            let read = read_line(&mut self.reader, &mut self.line, self.limit);
            match read.map_err(|source| ReplayError::Read {
                path: self.path.clone(),
                source,
            })? {
                false => self.done = true,
                true if self.line.is_empty() => continue,
                true => {
                    self.offset += 1;
                    let limits = engine.record_limits();
                    let time = match self.kind {
                        Kind::Search => formats.search(&self.line, &limits).map(|event| event.ts),
                        Kind::Feedback => {
                            formats.feedback(&self.line, &limits).map(|event| event.ts)
                        }
                    };
                    if let Ok(time) = time {
                        self.time = self.time.max(time.0);
                    }
                }
            }
            return Ok(());
        }
    }
}

/// Reads up to a line feed, keeping at most `limit` bytes; `false` at the end of the file.
pub(super) fn read_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    limit: usize,
) -> io::Result<bool> {
    let mut any = false;
    loop {
        let buffer = match reader.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let keep = part.len().min(limit.saturating_sub(line.len()));
        line.extend_from_slice(&part[..keep]);
        let used = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Replays `searches` and `feedback` through `engine`; the files at equal places are one
/// partition, and their lines are written as `formats` says. Time stands still for the engine: the
/// watermark alone moves it.
///
/// # Errors
/// When a file cannot be read. Lines that are no events are counted as invalid, as live.
pub fn replay(
    engine: &mut Engine,
    formats: &Formats,
    searches: &[PathBuf],
    feedback: &[PathBuf],
) -> Result<(), ReplayError> {
    let mut sources = Vec::new();
    for (kind, paths) in [(Kind::Search, searches), (Kind::Feedback, feedback)] {
        for (partition, path) in (0..).zip(paths) {
            sources.push(Lines::open(kind, partition, path, engine, formats)?);
        }
    }
    while let Some(source) = sources
        .iter_mut()
        .filter(|source| !source.done)
        .min_by_key(|source| source.time)
    {
        let at = Position {
            partition: source.partition,
            offset: source.offset,
        };
        // What is wrong with a line is counted, and shown with the final state.
        if let Err(rejection) = take(engine, formats, source.kind, at, &source.line) {
            tracing::debug!(
                "{}:{}: {rejection}",
                source.path.display(),
                source.offset + 1
            );
        }
        source.advance(engine, formats)?;
    }
    engine.apply(Input::Tick {
        wall: wall_now(),
        others: None,
    });
    Ok(())
}
