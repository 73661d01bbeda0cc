//! Input files of the `label` commands.

use std::path::Path;

use anyhow::anyhow;

use crate::cli::failure::Failure;
use crate::cli::input;

/// Maximum size of a frame, a sample, a sheet or a file of scores, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Reads a text file of the command.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    input::read_text(path, MAX_FILE_BYTES)
}

/// Wrong content of a file.
pub(super) fn wrong(path: &Path, error: &impl ToString) -> Failure {
    Failure::Usage(anyhow!("{}: {}", path.display(), error.to_string()))
}
