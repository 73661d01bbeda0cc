//! Input files of the `label` commands.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};

use crate::cli::failure::Failure;

/// Maximum size of a frame, a sample, a sheet or a file of scores, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Reads a text file of the command.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let cannot = || format!("{}: cannot be read", path.display());
    let size = fs::metadata(path).with_context(cannot);
    if size.map_err(Failure::Usage)?.len() > MAX_FILE_BYTES {
        return Err(Failure::Usage(anyhow!(
            "{}: more than 1 GiB; use fewer rows",
            path.display()
        )));
    }
    fs::read_to_string(path)
        .with_context(cannot)
        .map_err(Failure::Usage)
}

/// Wrong content of a file.
pub(super) fn wrong(path: &Path, error: &impl ToString) -> Failure {
    Failure::Usage(anyhow!("{}: {}", path.display(), error.to_string()))
}
