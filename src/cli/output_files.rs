//! Output files of a command: all or none.
//!
//! Each file is written beside its destination under a temporary name and renamed when all are
//! complete.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use tempfile::NamedTempFile;

use super::failure::Failure;
use super::output::{check_writable, draft, is_device, is_stdout, target};

/// File to write.
#[derive(Debug)]
pub(in crate::cli) struct Output {
    pub(in crate::cli) path: PathBuf,
    pub(in crate::cli) content: String,
}

/// Writes all `outputs` or none. Overwrites existing files only with `force`; if one of them cannot be replaced, those
/// before it keep their new content.
pub(in crate::cli) fn write(outputs: &[Output], force: bool) -> Result<(), Failure> {
    let mut targets = BTreeSet::new();
    for output in outputs {
        check_name(&output.path)?;
        if !targets.insert(target(&output.path)) {
            return Err(Failure::Usage(anyhow!(
                "{}: another output of this command is this file; name another",
                output.path.display()
            )));
        }
        check_writable(Some(&output.path))?;
        if !force && output.path.symlink_metadata().is_ok() {
            return Err(Failure::Usage(exists(&output.path)));
        }
    }
    let prepared: Result<Vec<_>, _> = outputs.iter().map(prepare).collect();
    let mut placed: Vec<PathBuf> = Vec::new();
    for (output, file) in outputs.iter().zip(prepared.map_err(Failure::Running)?) {
        let path = target(&output.path);
        let done = if force {
            file.persist(&path)
        } else {
            // Another process may have created the file since the check.
            file.persist_noclobber(&path)
        };
        if let Err(error) = done {
            for path in placed.into_iter().filter(|_| !force) {
                // A failed removal is ignored: the error below reports the failed write.
                drop(fs::remove_file(path));
            }
            return Err(Failure::Running(
                anyhow!(error.error)
                    .context(format!("{}: cannot be written", output.path.display())),
            ));
        }
        placed.push(path);
    }
    Ok(())
}

/// Writes a file. Overwrites an existing one only with `force`.
pub(in crate::cli) fn write_one(path: &Path, content: String, force: bool) -> Result<(), Failure> {
    let path = path.to_owned();
    write(&[Output { path, content }], force)
}

/// Replaces a file at once: its content is the old or the new one at any time.
pub(in crate::cli) fn replace(output: &Output) -> anyhow::Result<()> {
    let file = prepare(output)?;
    file.persist(target(&output.path))
        .with_context(|| format!("{}: cannot be written", output.path.display()))?;
    Ok(())
}

/// Rejects standard output, which has the reports of these commands, and what cannot be replaced at once.
fn check_name(path: &Path) -> Result<(), Failure> {
    let problem = if is_stdout(path) {
        "standard output has the report of this command; name a file, or write ./- for a file of the name `-`"
    } else if is_device(path) {
        "is a pipe or a device, not a file; name a file"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(anyhow!("{}: {problem}", path.display())))
}

fn exists(path: &Path) -> anyhow::Error {
    anyhow!(
        "{}: the file exists already; name another, or overwrite it with --force",
        path.display()
    )
}

/// Writes the content to a temporary file beside its destination.
fn prepare(output: &Output) -> anyhow::Result<NamedTempFile> {
    draft(&target(&output.path), output.content.as_bytes())
        .with_context(|| format!("{}: cannot be written", output.path.display()))
}
