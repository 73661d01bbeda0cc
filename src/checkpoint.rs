//! Checkpoint file format: the counters of a worker and the positions up to which it has counted.
//!
//! A file is a line of text, such as `rankgauge checkpoint 17`, and a Zstandard frame with a checksum that
//! holds the [`Checkpoint`] in postcard's wire format. The number is the [`VERSION`] of the format. Any
//! change of the written data needs a new version.
//!
//! This module must not know the location of the files. [`folder`] manages it.

pub mod folder;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use serde::{Deserialize, Serialize};

use rankgauge_core::engine::partition::CommitPoint;
use rankgauge_core::engine::state::State;
use rankgauge_core::time::WallTime;

/// First bytes of every file.
const MAGIC: &str = "rankgauge checkpoint ";

/// Current version of the format.
pub const VERSION: u32 = 19;

/// Zstandard compression level. Higher levels save little space and delay the publication.
const LEVEL: i32 = 1;

/// Maximum decompressed size of a checkpoint, in bytes. It bounds the memory for a damaged file and
/// is far above real sizes.
const MAX_BYTES: u64 = 8 << 30;

/// Counters and positions of one worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Number of the worker, from 0.
    pub worker: usize,
    /// Time of the checkpoint; later than every earlier checkpoint of this worker.
    pub written: WallTime,
    /// Removed workers, and the time of the last checkpoint of each that this one includes.
    pub absorbed: BTreeMap<usize, WallTime>,
    /// Source of the points.
    pub source: Source,
    /// Counted positions of the partitions that the worker owns or has owned.
    pub points: Vec<CommitPoint>,
    /// Counters.
    pub state: State,
}

/// Cluster, group and topics of a checkpoint. Positions are valid only for the same source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Cluster id, once received from a broker.
    pub cluster: Option<String>,
    /// Consumer group.
    pub group: String,
    /// Topics, in the order of [`Kind::index`](rankgauge_core::event::Kind::index).
    pub topics: [String; 2],
}

/// Failure to read a checkpoint file.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// I/O error.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// Missing magic bytes.
    #[error("is not a checkpoint: it does not begin with \"{MAGIC}\"")]
    NotOne,
    /// Format of a later version of rankgauge.
    #[error(
        "has format {found}, and this rankgauge supports formats up to {VERSION}: a later version \
         wrote it"
    )]
    Newer {
        /// Format version of the file.
        found: u32,
    },
    /// Corrupt content.
    #[error("is damaged: {0}")]
    Damaged(String),
}

impl Checkpoint {
    /// Writes the checkpoint.
    ///
    /// # Errors
    /// I/O errors of the writer.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        writeln!(out, "{MAGIC}{VERSION}")?;
        let mut frame = zstd::Encoder::new(out, LEVEL)?;
        frame.include_checksum(true)?;
        let frame = postcard::to_io(self, BufWriter::new(frame)).map_err(io::Error::other)?;
        let frame = frame.into_inner().map_err(io::IntoInnerError::into_error)?;
        frame.finish()?.flush()
    }

    /// Reads a file written by [`write`](Self::write).
    ///
    /// # Errors
    /// If the file cannot be read or is not a valid checkpoint.
    pub fn read(file: impl Read) -> Result<Self, Unreadable> {
        let mut file = BufReader::new(file);
        let mut head = Vec::new();
        (&mut file).take(64).read_until(b'\n', &mut head)?;
        match version(&head).ok_or(Unreadable::NotOne)? {
            VERSION => {}
            found if found > VERSION => return Err(Unreadable::Newer { found }),
            found => return Err(Unreadable::Damaged(format!("there is no format {found}"))),
        }
        let damaged = |problem: io::Error| Unreadable::Damaged(problem.to_string());
        let mut bytes = Vec::new();
        let frame = zstd::Decoder::with_buffer(&mut file)?.single_frame();
        frame
            .take(MAX_BYTES)
            .read_to_end(&mut bytes)
            .map_err(damaged)?;
        if !file.fill_buf()?.is_empty() {
            let text = "there is data after the end of the checkpoint";
            return Err(Unreadable::Damaged(text.to_owned()));
        }
        let (checkpoint, rest) = postcard::take_from_bytes(&bytes)
            .map_err(|problem| Unreadable::Damaged(problem.to_string()))?;
        if !rest.is_empty() {
            let text = format!("{} bytes follow the decoded data", rest.len());
            return Err(Unreadable::Damaged(text));
        }
        Ok(checkpoint)
    }
}

/// Format version in the first line of a file.
fn version(head: &[u8]) -> Option<u32> {
    let head = std::str::from_utf8(head).ok()?;
    head.strip_prefix(MAGIC)?.strip_suffix('\n')?.parse().ok()
}
