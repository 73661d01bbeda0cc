//! Files that a command writes: whole or not at all.
//!
//! Everything is written beside its place under a name nobody knows, and renamed once it is there.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use tempfile::NamedTempFile;

use super::super::output::{beside, check};
use super::Failure;

/// A file to be written.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) path: PathBuf,
    pub(super) content: String,
}

/// Writes `outputs`, all of them or none; onto existing files only if `force` says so.
pub(super) fn write(outputs: &[Output], force: bool) -> Result<(), Failure> {
    for output in outputs {
        check(Some(&output.path))?;
        if !force && output.path.symlink_metadata().is_ok() {
            return Err(Failure::Usage(exists(&output.path)));
        }
    }
    let prepared: Result<Vec<_>, _> = outputs.iter().map(prepare).collect();
    let mut placed: Vec<&Path> = Vec::new();
    for (output, file) in outputs.iter().zip(prepared.map_err(Failure::Running)?) {
        let path = output.path.as_path();
        let done = if force {
            file.persist(path)
        } else {
            // Somebody may have written it in the meantime.
            file.persist_noclobber(path)
        };
        if let Err(error) = done {
            for path in placed {
                // What cannot be taken back is named by the error below all the same.
                drop(fs::remove_file(path));
            }
            return Err(Failure::Running(
                anyhow!(error.error).context(format!("{}: cannot be written", path.display())),
            ));
        }
        placed.push(path);
    }
    Ok(())
}

fn exists(path: &Path) -> anyhow::Error {
    anyhow!(
        "{}: there is such a file already; name another, or overwrite it with --force",
        path.display()
    )
}

/// Writes the content into a file beside its place.
fn prepare(output: &Output) -> anyhow::Result<NamedTempFile> {
    let cannot = || format!("{}: cannot be written", output.path.display());
    let mut file = beside(&output.path).with_context(cannot)?;
    file.write_all(output.content.as_bytes())
        .with_context(cannot)?;
    file.as_file().sync_all().with_context(cannot)?;
    Ok(file)
}
