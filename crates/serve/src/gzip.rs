//! Compression of responses.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Compresses `text` with gzip.
///
/// # Errors
/// None is expected: the output is memory.
pub fn compress(text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}
