//! Where a result goes: to the terminal, or into a file that is complete or not there.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::NamedTempFile;

use super::{Failure, print};

/// Readable for whom the umask lets, as any file that a command writes.
const MODE: u32 = 0o666;

/// Refuses a place where no file can be put, before any work is done for it.
pub(super) fn check(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let problem = if path.is_dir() {
        "is a folder; name a file in it".to_owned()
    } else if !folder_of(path).is_dir() {
        "its folder does not exist; make it first".to_owned()
    } else if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        // A pipe or a device shows when it is written to.
        return Ok(());
    } else {
        match beside(&target(path)) {
            Ok(_removed) => return Ok(()),
            Err(problem) => format!(
                "no file can be made in its folder ({}); choose another place",
                problem.kind()
            ),
        }
    };
    Err(Failure::Usage(anyhow::anyhow!(
        "--output {}: {problem}",
        path.display()
    )))
}

/// What is written: through a symbolic link, what it points to.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A file beside another, which vanishes unless it is kept.
pub(super) fn beside(path: &Path) -> std::io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".rankgauge-")
        .permissions(fs::Permissions::from_mode(MODE))
        .tempfile_in(folder_of(path))
}

/// Prints `text`, or writes it to `file`.
pub(super) fn deliver(text: &str, file: Option<&Path>) -> anyhow::Result<()> {
    let Some(path) = file else {
        return print(text);
    };
    replace(path, text.as_bytes()).with_context(|| format!("{} cannot be written", path.display()))
}

/// Puts a file in the place of what stands there. It is written beside it and renamed, so that
/// whoever reads finds the old or the new, and a failure leaves nothing behind.
fn replace(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let path = target(path);
    // A pipe or a device is written to; renaming would put a file in its place.
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Ok(fs::write(&path, content)?);
    }
    let mut file = beside(&path)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}

/// The folder that a file is in.
fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
