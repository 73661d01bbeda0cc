//! What outlives the process: what a worker has counted, and up to which records, in one file.
//!
//! A file is a line of text, `rankgauge checkpoint 2`, and a Zstandard frame with a checksum that
//! holds the [`Checkpoint`] in postcard's wire format. The number is the version of the format: any
//! change to what is written makes it a new one, and the reader of the old one stays.
//!
//! Knows how a checkpoint is written and read; where it is kept is the [`folder`]'s.

pub mod folder;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use serde::{Deserialize, Serialize};

use rankgauge_core::engine::partition::CommitPoint;
use rankgauge_core::engine::state::State;
use rankgauge_core::engine::state::version_1::Version1;
use rankgauge_core::time::WallTime;

/// What every file begins with.
const MAGIC: &str = "rankgauge checkpoint ";

/// The version that is written.
pub const VERSION: u32 = 2;

/// Compression costs time in which nothing is published; beyond this level it saves little.
const LEVEL: i32 = 1;

/// Most bytes that a checkpoint may unpack to: a bound for a damaged file, far beyond a real one.
const MOST_BYTES: u64 = 8 << 30;

/// What one worker has counted, and up to which records.
///
/// `S` is what was counted, as the version of the format has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkpoint<S = State> {
    /// The worker's number.
    pub worker: usize,
    /// When it was made; later than every earlier one of this worker.
    pub written: WallTime,
    /// Workers that are no more, and up to when what they had written is contained in this.
    pub absorbed: BTreeMap<usize, WallTime>,
    /// The log that the points are of.
    pub source: Source,
    /// Up to where partitions were counted: those the worker has, and those it had.
    pub points: Vec<CommitPoint>,
    /// What was counted.
    pub state: S,
}

/// Which log was read, for whom. Positions in another one mean nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The cluster's id, once a broker has told it.
    pub cluster: Option<String>,
    /// The consumer group.
    pub group: String,
    /// The topics, in the order of [`Kind::index`](rankgauge_core::event::Kind::index).
    pub topics: [String; 2],
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It cannot be read at all.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It does not begin like one.
    #[error("is no checkpoint: it does not begin with \"{MAGIC}\"")]
    NotOne,
    /// A later version of rankgauge wrote it.
    #[error(
        "has format {found}, and this rankgauge knows formats up to {VERSION}: a later version \
         wrote it"
    )]
    Newer {
        /// Its format.
        found: u32,
    },
    /// Its bytes are not those that were written.
    #[error("is damaged: {0}")]
    Damaged(String),
}

impl Checkpoint {
    /// Writes the checkpoint.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        writeln!(out, "{MAGIC}{VERSION}")?;
        let mut frame = zstd::Encoder::new(out, LEVEL)?;
        frame.include_checksum(true)?;
        let frame = postcard::to_io(self, BufWriter::new(frame)).map_err(io::Error::other)?;
        let frame = frame.into_inner().map_err(io::IntoInnerError::into_error)?;
        frame.finish()?.flush()
    }

    /// Reads what [`write`](Self::write) wrote, in this version or an earlier one.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn read(file: impl Read) -> Result<Self, Unreadable> {
        let mut file = BufReader::new(file);
        let mut head = Vec::new();
        (&mut file).take(64).read_until(b'\n', &mut head)?;
        let version = match version(&head).ok_or(Unreadable::NotOne)? {
            found @ 1..=VERSION => found,
            found if found > VERSION => return Err(Unreadable::Newer { found }),
            found => return Err(Unreadable::Damaged(format!("there is no format {found}"))),
        };
        let damaged = |problem: io::Error| Unreadable::Damaged(problem.to_string());
        let mut bytes = Vec::new();
        let frame = zstd::Decoder::with_buffer(&mut file)?.single_frame();
        frame
            .take(MOST_BYTES)
            .read_to_end(&mut bytes)
            .map_err(damaged)?;
        if !file.fill_buf()?.is_empty() {
            return Err(Unreadable::Damaged("it goes on after its end".to_owned()));
        }
        if version == 1 {
            unpack::<Version1>(&bytes)
        } else {
            unpack::<State>(&bytes)
        }
    }
}

/// What `bytes` hold, with what was counted as it is held now.
fn unpack<'de, S: Deserialize<'de> + Into<State>>(
    bytes: &'de [u8],
) -> Result<Checkpoint, Unreadable> {
    let (found, rest): (Checkpoint<S>, _) = postcard::take_from_bytes(bytes)
        .map_err(|problem| Unreadable::Damaged(problem.to_string()))?;
    if !rest.is_empty() {
        let text = format!("{} bytes are left over", rest.len());
        return Err(Unreadable::Damaged(text));
    }
    Ok(Checkpoint {
        worker: found.worker,
        written: found.written,
        absorbed: found.absorbed,
        source: found.source,
        points: found.points,
        state: found.state.into(),
    })
}

/// The number in the first line of a file.
fn version(head: &[u8]) -> Option<u32> {
    let head = std::str::from_utf8(head).ok()?;
    head.strip_prefix(MAGIC)?.strip_suffix('\n')?.parse().ok()
}
