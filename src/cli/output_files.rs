//! Output files of a command: all or none.
//!
//! Each file is written beside its destination under a temporary name and renamed when all are
//! complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
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
    let mut places: Vec<PathBuf> = Vec::with_capacity(outputs.len());
    for output in outputs {
        check_name(&output.path)?;
        let place = target(&output.path);
        if places.contains(&place) {
            return Err(Failure::Usage(anyhow!(
                "{}: another output of this command is this file; name another",
                output.path.display()
            )));
        }
        places.push(place);
        check_writable(Some(&output.path))?;
        if !force && output.path.symlink_metadata().is_ok() {
            return Err(Failure::Usage(exists(&output.path)));
        }
    }
    let failed = |output: &Output, problem: io::Error| {
        let problem = anyhow!(problem);
        Failure::Running(problem.context(format!("{}: cannot be written", output.path.display())))
    };
    let drafts = outputs.iter().zip(&places).map(|(output, place)| {
        draft(place, output.content.as_bytes()).map_err(|problem| failed(output, problem))
    });
    let drafts: Vec<NamedTempFile> = drafts.collect::<Result<_, _>>()?;
    for (at, (output, file)) in outputs.iter().zip(drafts).enumerate() {
        let done = if force {
            file.persist(&places[at])
        } else {
            // Another process may have created the file since the check.
            file.persist_noclobber(&places[at])
        };
        if let Err(problem) = done {
            for place in places[..at].iter().filter(|_| !force) {
                // A failed removal is ignored: the error below reports the failed write.
                drop(fs::remove_file(place));
            }
            return Err(failed(output, problem.error));
        }
    }
    Ok(())
}

/// Writes a file. Overwrites an existing one only with `force`.
pub(in crate::cli) fn write_one(path: &Path, content: String, force: bool) -> Result<(), Failure> {
    let path = path.to_owned();
    write(&[Output { path, content }], force)
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
