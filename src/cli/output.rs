//! Where a result goes: to standard output, or whole into a file.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::print;

/// Prints `text`, or writes it to `file`: beside it first, so that the file is there whole or not
/// at all, whatever happens.
pub(super) fn deliver(text: &str, file: Option<&Path>) -> anyhow::Result<()> {
    let Some(path) = file else {
        return print(text);
    };
    write(text, path).with_context(|| format!("{} cannot be written", path.display()))
}

fn write(text: &str, path: &Path) -> anyhow::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut draft = tempfile::Builder::new();
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    let mut draft = draft.permissions(readable).tempfile_in(folder)?;
    draft.write_all(text.as_bytes())?;
    draft.as_file().sync_all()?;
    draft.persist(path)?;
    Ok(())
}
