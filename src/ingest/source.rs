//! Raw records for commands: lines of files, or records of the topics without a consumer group.
//!
//! The module must not know the content of the records.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::replay::{open_lines, read_line};
use rankgauge_core::decode::{Encoded, Envelope};
use rankgauge_core::event::Kind;
use rankgauge_kafka::Settings;
use rankgauge_kafka::reader::{From, Reader};

/// Record of a topic, or line of a file.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord<'a> {
    /// Kind of the topic or file.
    pub kind: Kind,
    /// Topic or file.
    pub source: &'a str,
    /// Partition; `None` for a file.
    pub partition: Option<i32>,
    /// Offset, or number of the line.
    pub offset: i64,
    /// Payload.
    pub payload: &'a [u8],
    /// Parts around the payload; `None` for a line.
    pub envelope: Option<&'a dyn Envelope>,
}

impl<'a> std::convert::From<&RawRecord<'a>> for Encoded<'a> {
    fn from(record: &RawRecord<'a>) -> Self {
        Self {
            payload: record.payload,
            envelope: record.envelope,
        }
    }
}

impl fmt::Display for RawRecord<'_> {
    /// Writes the place of the record.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, offset) = (self.source, self.offset);
        match self.partition {
            Some(partition) => write!(f, "{source} [{partition}] at offset {offset}"),
            None => write!(f, "{source}:{offset}"),
        }
    }
}

/// Receiver of records. It returns false to stop the read.
pub type Take<'a> = &'a mut dyn FnMut(RawRecord<'_>) -> bool;

/// Failure to read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum SourceError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Kafka(#[from] rankgauge_kafka::Error),
}

/// Passes the lines of files to `take`, in the order of `files`, until it returns false.
///
/// # Errors
/// If a file cannot be read.
pub fn from_files(
    files: [(Kind, &[PathBuf]); 2],
    record_bytes: usize,
    take: Take<'_>,
) -> Result<(), SourceError> {
    for (kind, paths) in files {
        for path in paths {
            let read = lines(kind, path, record_bytes, take);
            let wants_more = read.map_err(|source| SourceError::File {
                path: path.clone(),
                source,
            })?;
            if !wants_more {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn lines(kind: Kind, path: &Path, record_bytes: usize, take: Take<'_>) -> io::Result<bool> {
    let mut reader = open_lines(path)?;
    let name = path.display().to_string();
    let mut line = Vec::new();
    let mut number = 0;
    while {
        line.clear();
        // The excess of a line over the limit is skipped.
        read_line(&mut reader, &mut line, record_bytes + 1)?
    } {
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let record = RawRecord {
            kind,
            source: &name,
            partition: None,
            offset: number,
            payload: &line,
            envelope: None,
        };
        if !take(record) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// End of a read of the topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The ends of the partitions at the start of the read. One topic is read after the other, in this
    /// order.
    Present([Kind; 2]),
    /// None: further records are waited for.
    Stopped,
}

/// Passes the records of both topics to `take`, until it returns false or `should_stop` returns true.
///
/// # Errors
/// If the topics cannot be read.
pub fn from_kafka(
    settings: &Settings,
    from: From,
    until: Until,
    should_stop: &dyn Fn() -> bool,
    take: Take<'_>,
) -> Result<(), SourceError> {
    let reader = Reader::new(settings)?.with_stop(should_stop);
    let mut take = |record: rankgauge_kafka::reader::Record<'_>| {
        take(RawRecord {
            kind: record.kind,
            source: settings.topic(record.kind),
            partition: Some(record.partition),
            offset: record.offset,
            payload: record.payload,
            envelope: Some(record.envelope),
        })
    };
    reader.connect()?;
    match until {
        Until::Present(order) => reader.read_both(order, from, &mut take)?,
        Until::Stopped => reader.follow(from, &mut take)?,
    }
    Ok(())
}
