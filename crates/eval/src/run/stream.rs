//! TREC runs read in parts of whole queries, so that memory does not grow with the file.
//!
//! The reader covers the regular case: a file with the lines of each query together. Anything else
//! (other formats, standard input, a line that is wrong) is left to [`RunFile`](super::RunFile),
//! which reads the whole file and reports what is wrong and where.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::source::{self, MAX_LINE_BYTES};
use super::{Answer, Format, Order, STANDARD_INPUT, trec};

/// Size of a part in bytes: large enough for a few queries, small enough for a processor's cache.
const PART_BYTES: usize = 256 << 10;

/// Number of bytes by which the format is recognised.
const HEAD_BYTES: u64 = 256 << 10;

/// TREC run that is read in parts.
#[derive(Debug)]
pub struct RunStream {
    path: PathBuf,
    order: Order,
    file: File,
    /// Bytes that are read and not part of the parts so far.
    rest: Vec<u8>,
    tag: Option<String>,
    warning: Option<String>,
}

/// Whole lines of whole queries, in a buffer that is meant to be reused.
#[derive(Debug, Default)]
struct Part {
    buffer: Vec<u8>,
    /// Number of bytes of the part.
    length: usize,
}

impl RunStream {
    /// Opens a file; `None` if it is not a TREC run that can be read in parts.
    pub fn open(path: &Path, order: Option<Order>) -> Option<Self> {
        if path == Path::new(STANDARD_INPUT) {
            return None;
        }
        // A pipe must not be opened here: its content can be read only once.
        if !path.metadata().ok()?.is_file() {
            return None;
        }
        let mut file = File::open(path).ok()?;
        let mut rest = Vec::new();
        (&mut file).take(HEAD_BYTES).read_to_end(&mut rest).ok()?;
        let end = memchr::memrchr(b'\n', &rest)? + 1;
        let head = source::text(path, rest.get(..end)?).ok()?;
        if source::recognise(path, head).ok()? != Format::Trec {
            return None;
        }
        let warning = order
            .is_none()
            .then(|| trec::swapped_columns(head))
            .flatten();
        Some(Self {
            tag: trec::tag(head),
            warning: warning.map(|warning| format!("{}: {warning}", path.display())),
            path: path.to_owned(),
            order: order.unwrap_or(Order::Score),
            file,
            rest,
        })
    }

    /// Tag of the run.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Sign of a mistake in a valid file, as a sentence.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Reads the next part, which is empty at the end of the file. `None` if the file cannot be read
    /// further or has a line that is too long.
    fn read(&mut self, part: &mut Part) -> Option<()> {
        part.length = 0;
        part.append(&self.rest);
        self.rest.clear();
        loop {
            let bytes = part.bytes();
            if let Some(cut) = cut(bytes).filter(|_| bytes.len() >= PART_BYTES) {
                self.rest.extend_from_slice(bytes.get(cut..)?);
                part.length = cut;
                return Some(());
            }
            let line_start = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
            if bytes.len() - line_start > MAX_LINE_BYTES {
                return None;
            }
            if part.read_from(&mut self.file).ok()? == 0 {
                return Some(());
            }
        }
    }

    /// Passes each answer to `take`, with the number of its part, on all threads. Each thread has a
    /// state of its own; these are returned. `None` if the file is not regular, or if `take` ends the
    /// reading.
    pub fn each_answer<S: Send>(
        self,
        state: impl Fn() -> S + Sync,
        take: impl Fn(&mut S, usize, &Answer<'_>) -> Option<()> + Sync,
    ) -> Option<Vec<S>> {
        let (path, order) = (self.path.clone(), self.order);
        let source = Source(Mutex::new(Some((0, self))));
        let states = rayon::broadcast(|_| {
            let (mut state, mut part) = (state(), Part::default());
            loop {
                let number = source.read(&mut part)?;
                if part.is_empty() {
                    return Some(state);
                }
                let mut ends = false;
                let take = |answer: &Answer<'_>| {
                    ends = ends || take(&mut state, number, answer).is_none();
                };
                let text = source::text(&path, part.bytes()).ok();
                let parsed = text.and_then(|text| trec::each_answer(&path, text, order, take).ok());
                if parsed.is_none() || ends {
                    source.end();
                    return None;
                }
            }
        });
        states.into_iter().collect()
    }
}

/// Number of parts that are read, and the run; `None` after the end.
struct Source(Mutex<Option<(usize, RunStream)>>);

impl Source {
    /// Reads the next part and returns its number. `None` if the file is not regular.
    fn read(&self, part: &mut Part) -> Option<usize> {
        let mut source = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (parts, run) = source.as_mut()?;
        *parts += 1;
        run.read(part)?;
        Some(*parts)
    }

    /// Ends the reading of all threads.
    fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Part {
    /// Returns true without lines.
    fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }

    fn append(&mut self, bytes: &[u8]) {
        self.free(bytes.len()).copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Appends up to [`PART_BYTES`] bytes of a file, and returns their number.
    fn read_from(&mut self, file: &mut File) -> io::Result<usize> {
        let free = self.free(PART_BYTES);
        let read = loop {
            match file.read(free) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.length += read;
        Ok(read)
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

/// Start of the last query in `bytes`, whose lines may continue; `None` if there is only one query,
/// or no whole line.
fn cut(bytes: &[u8]) -> Option<usize> {
    let end = memchr::memrchr(b'\n', bytes)?;
    let mut start = line_start(bytes, end);
    let key = first_column(bytes.get(start..end)?)?;
    while let Some(before) = start.checked_sub(1) {
        let line = line_start(bytes, before);
        if first_column(bytes.get(line..before)?) != Some(key) {
            return Some(start);
        }
        start = line;
    }
    None
}

/// Start of the line that ends before `end`.
fn line_start(bytes: &[u8], end: usize) -> usize {
    let before = bytes.get(..end).unwrap_or_default();
    memchr::memrchr(b'\n', before).map_or(0, |at| at + 1)
}

fn first_column(line: &[u8]) -> Option<&[u8]> {
    let mut columns = line.split(u8::is_ascii_whitespace);
    columns.find(|column| !column.is_empty())
}
