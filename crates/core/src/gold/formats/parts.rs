//! Parts of a large file, so that its text is never in memory as a whole.
//!
//! The reader covers the regular case. The caller reads a file that is not regular as a whole, to
//! report what is wrong and where.

use std::io::Read;

use sha2::{Digest as _, Sha256};

/// Size of the parts of a text that are read in parallel.
pub(super) const PART_BYTES: usize = 256 << 10;

/// Maximum size of a part, which is larger only for a line that is very long.
const MAX_PART_BYTES: usize = 4 * PART_BYTES;

/// Reader of a file in parts of whole lines, which are hashed in their order.
pub(in crate::gold) struct PartReader {
    file: Box<dyn Read + Send>,
    hash: Sha256,
    /// Number of bytes that are not read.
    left: u64,
    /// Bytes that are read and not part of the parts so far.
    rest: Vec<u8>,
    /// Number of parts so far.
    parts: usize,
    /// Number of lines in the parts so far.
    lines: usize,
}

impl PartReader {
    /// Reads a file of `size` bytes.
    pub(in crate::gold) fn new(file: impl Read + Send + 'static, size: u64) -> Self {
        Self {
            file: Box::new(file),
            hash: Sha256::new(),
            left: size,
            rest: Vec::new(),
            parts: 0,
            lines: 0,
        }
    }

    /// Reads the next part, which is empty at the end. Returns the number of parts and the number of
    /// lines before it. `None` if the file cannot be read further, or has a very long line.
    pub(super) fn next(&mut self, part: &mut Vec<u8>) -> Option<(usize, usize)> {
        part.clear();
        part.append(&mut self.rest);
        while self.left > 0 {
            let start = part.len();
            let size = self.left.min(u64::try_from(PART_BYTES).unwrap_or(u64::MAX));
            part.reserve(PART_BYTES);
            let read = (&mut self.file).take(size).read_to_end(part).ok()?;
            self.left -= u64::try_from(read).unwrap_or(u64::MAX);
            let new = part.get(start..)?;
            self.hash.update(new);
            if let Some(end) = memchr::memrchr(b'\n', new).filter(|_| self.left > 0) {
                self.rest.extend_from_slice(new.get(end + 1..)?);
                part.truncate(start + end + 1);
                break;
            }
            if read == 0 || part.len() > MAX_PART_BYTES {
                return None;
            }
        }
        let before = (self.parts, self.lines);
        self.parts += 1;
        self.lines += memchr::memchr_iter(b'\n', part).count();
        Some(before)
    }

    /// Hash with all bytes of the file. `None` if the file is longer now.
    pub(super) fn hash(mut self) -> Option<Sha256> {
        let mut next = [0];
        let is_at_end = self.left == 0 && self.file.read(&mut next).ok()? == 0;
        is_at_end.then_some(self.hash)
    }
}
