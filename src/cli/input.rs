//! Input files of commands. `-` is standard input.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::failure::Failure;

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

/// Opens a file, or standard input for `-`.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let file = File::open(path).map_err(|problem| failure(path, &problem))?;
    Ok(Box::new(BufReader::new(file)))
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
    let mut bytes = Vec::new();
    let read = source.take(MAX_JSON_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|problem| failure(path, &problem))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_JSON_BYTES) {
        return Err(Failure::Usage(anyhow!(
            "{}: larger than {MAX_JSON_BYTES} bytes; check that it is the right file",
            path.display()
        )));
    }
    Ok(bytes)
}

fn failure(path: &Path, problem: &std::io::Error) -> Failure {
    Failure::Usage(anyhow!("{}: cannot be read: {problem}", path.display()))
}
