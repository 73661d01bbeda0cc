//! Raw records for commands: of files, or of the topics without a consumer group.
//!
//! The module must not know the content of the records.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::replay::open_records;
use rankgauge_core::decode::{Encoded, Envelope, Formats};
use rankgauge_core::event::Kind;
use rankgauge_kafka::Settings;
use rankgauge_kafka::reader::{From, Reader};

/// Record of a topic or of a file.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord<'a> {
    /// Kind of the topic or file.
    pub kind: Kind,
    /// Topic or file.
    pub source: &'a str,
    /// Partition; `None` for a file.
    pub partition: Option<i32>,
    /// Offset, or number of the line or record.
    pub offset: i64,
    /// Payload; empty for a tombstone.
    pub payload: &'a [u8],
    /// Parts around the payload; `None` in a file.
    pub envelope: Option<&'a dyn Envelope>,
    /// Formats of the records of a file; `None` for those of the topics.
    pub formats: Option<&'a Formats>,
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

/// Passes the records of files to `take`, in the order of `files`, until it returns false. `formats` are those
/// of the topics.
///
/// # Errors
/// If a file cannot be read.
pub fn from_files(
    files: [(Kind, &[PathBuf]); 2],
    formats: &Formats,
    record_bytes: usize,
    take: Take<'_>,
) -> Result<(), SourceError> {
    for (kind, paths) in files {
        for path in paths {
            let read = records(kind, path, formats, record_bytes, take);
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

fn records(
    kind: Kind,
    path: &Path,
    formats: &Formats,
    record_bytes: usize,
    take: Take<'_>,
) -> io::Result<bool> {
    let mut file = open_records(path, kind, formats, record_bytes)?;
    let name = path.display().to_string();
    let mut payload = Vec::new();
    while let Some(number) = file.next(&mut payload)? {
        if file.is_lines() && payload.trim_ascii().is_empty() {
            continue;
        }
        let record = RawRecord {
            kind,
            source: &name,
            partition: None,
            offset: number,
            payload: &payload,
            envelope: None,
            formats: Some(file.formats()),
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
            formats: None,
        })
    };
    reader.connect()?;
    match until {
        Until::Present(order) => reader.read_both(order, from, &mut take)?,
        Until::Stopped => reader.follow(from, &mut take)?,
    }
    Ok(())
}
