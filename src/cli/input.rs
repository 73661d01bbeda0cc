//! Input files of commands. `-` is standard input.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::failure::Failure;
use rankgauge_core::{compression, text};

/// Maximum size of a file in JSON, in bytes. It can be a single line.
const MAX_JSON_BYTES: u64 = 256 << 20;

/// Rejects inputs that are given twice: the same file under any name, or standard input.
pub(super) fn check_distinct<'p>(
    paths: impl IntoIterator<Item = &'p PathBuf>,
) -> Result<(), Failure> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in paths {
        let same = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if seen.contains(&same) {
            return Err(Failure::Usage(anyhow!(
                "{}: given twice; give every input once",
                path.display()
            )));
        }
        seen.push(same);
    }
    Ok(())
}

/// Opens a file, or standard input for `-`. Compressed content is decompressed.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let source = if path == Path::new("-") {
        compression::decompressed(std::io::stdin())
    } else {
        File::open(path).and_then(compression::decompressed)
    };
    let source = source.map_err(|problem| failure(path, &problem))?;
    Ok(Box::new(BufReader::new(source)))
}

/// Reads a file of at most `limit` bytes after decompression.
pub(super) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    read_limited(path, open(path)?, limit)
}

/// Reads a file of at most `limit` bytes after decompression, as UTF-8.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<String, Failure> {
    let bytes = read(path, limit)?;
    let text = text::decode(&bytes);
    let text = text
        .map_err(|error| Failure::Usage(anyhow!("{}:{}: {error}", path.display(), error.line)))?;
    Ok(text.to_owned())
}

fn read_limited(path: &Path, source: impl Read, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = source.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|problem| failure(path, &problem))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
        return Err(Failure::Usage(anyhow!(
            "{}: more than {} MiB; check that it is the right file, or split it",
            path.display(),
            limit >> 20
        )));
    }
    Ok(bytes)
}

/// Returns true if the content begins like a JSON object.
pub(super) fn is_json(path: &Path, source: &mut impl BufRead) -> Result<bool, Failure> {
    let beginning = source.fill_buf();
    let beginning = beginning.map_err(|problem| failure(path, &problem))?;
    let first = beginning.iter().find(|byte| !byte.is_ascii_whitespace());
    Ok(first == Some(&b'{'))
}

/// Reads a whole file in JSON.
pub(super) fn read_json(path: &Path, source: impl BufRead) -> Result<Vec<u8>, Failure> {
    read_limited(path, source, MAX_JSON_BYTES)
}

fn failure(path: &Path, problem: &std::io::Error) -> Failure {
    Failure::Usage(anyhow!("{}: cannot be read: {problem}", path.display()))
}
