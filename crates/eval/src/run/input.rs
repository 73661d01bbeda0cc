//! Bytes of a run, in parts of whole lines, and once more as a whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::answer::STANDARD_INPUT;
use super::error::{MAX_LINE_BYTES, MAX_WHOLE_BYTES, RunProblem, Wrong};
use rankgauge_core::{compression, text};

/// Size of a part in bytes: large enough for a few queries, small enough for a processor's cache.
pub(super) const PART_BYTES: usize = 256 << 10;

/// Source of bytes that can be read again: a file is opened again, anything else is kept.
pub(super) struct Input {
    path: PathBuf,
    source: Box<dyn Read + Send>,
    kept: Option<Vec<u8>>,
}

impl Input {
    /// Opens a file, a pipe, or standard input for `-`. Compressed content is decompressed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let (source, is_file): (Box<dyn Read + Send>, bool) = if path == Path::new(STANDARD_INPUT) {
            (Box::new(io::stdin()), false)
        } else {
            let file = File::open(path)?;
            let is_file = file.metadata()?.is_file();
            (Box::new(file), is_file)
        };
        Ok(Self {
            path: path.to_owned(),
            source: compression::decompressed(source)?,
            kept: (!is_file).then(Vec::new),
        })
    }

    /// Bytes in memory. `path` is used in messages.
    pub(super) fn of_bytes(path: PathBuf, bytes: Vec<u8>) -> Self {
        Self {
            path,
            source: Box::new(io::Cursor::new(bytes)),
            kept: Some(Vec::new()),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads everything from the start.
    pub(super) fn read_again(self) -> io::Result<Vec<u8>> {
        let (mut bytes, mut source) = match self.kept {
            Some(kept) => (kept, self.source),
            None => (Vec::new(), Self::open(&self.path)?.source),
        };
        source.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
        }
        Ok(read)
    }
}

/// Reads the beginning of a run: at least its first line that is not blank, if there is one.
pub(super) fn head(input: &mut Input) -> Result<Part, Wrong> {
    let mut head = Part::default();
    loop {
        let read = head.read_from(input)?;
        let bytes = head.bytes();
        let has_line = memchr::memchr(b'\n', bytes.trim_ascii_start()).is_some();
        if read == 0 || has_line && bytes.len() >= PART_BYTES {
            return Ok(head);
        }
        head.check_line()?;
    }
}

/// Whole lines, in a buffer that is meant to be reused.
#[derive(Default)]
pub(super) struct Part {
    buffer: Vec<u8>,
    /// Number of bytes of the part.
    length: usize,
}

impl Part {
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.free(bytes.len()).copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Keeps the first `length` bytes.
    pub(super) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Appends bytes, and returns their number: up to [`PART_BYTES`], or as many as there are, so that
    /// a long line is examined a few times only.
    pub(super) fn read_from(&mut self, source: &mut impl Read) -> io::Result<usize> {
        let free = self.free(self.length.max(PART_BYTES));
        let read = loop {
            match source.read(free) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.length += read;
        Ok(read)
    }

    /// Rejects a last line that is too long. A line that begins like JSON may be longer.
    pub(super) fn check_line(&self) -> Result<(), Wrong> {
        let bytes = self.bytes();
        let start = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
        let line = bytes.get(start..).unwrap_or_default();
        if line.len() <= MAX_LINE_BYTES {
            return Ok(());
        }
        let start = text::without_mark(line).trim_ascii_start().first();
        if matches!(start, Some(b'{' | b'[')) {
            return if line.len() > MAX_WHOLE_BYTES {
                Err(RunProblem::TooLarge.into())
            } else {
                Ok(())
            };
        }
        // The line ends of a classic Mac leave one line.
        let end = memchr::memrchr(b'\r', line).unwrap_or_default();
        text::decode(line.get(..end).unwrap_or_default())?;
        let lines = memchr::memchr_iter(b'\n', bytes).count();
        Err(RunProblem::LongLine.at(1 + lines))
    }

    /// Next `size` bytes of the buffer, which keeps its earlier length: new bytes would be cleared.
    fn free(&mut self, size: usize) -> &mut [u8] {
        let end = self.length + size;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        &mut self.buffer[self.length..end]
    }
}
