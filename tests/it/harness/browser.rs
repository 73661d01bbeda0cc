//! Programs of `tests/browser`, which look at pages in Chromium.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

const INSTALL: &str = "install what it needs with `tests/setup.sh browser`";

/// Runs a program with its arguments. Fails with what it finds wrong.
#[track_caller]
pub(crate) fn look(program: &str, arguments: &[&dyn AsRef<OsStr>]) {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let output = Command::new("node")
        .arg(project.join(program))
        .args(arguments.iter().map(AsRef::as_ref))
        .current_dir(&project)
        .output()
        .unwrap_or_else(|error| panic!("node cannot be run ({error}); {INSTALL}"));
    assert!(
        output.status.success(),
        "{}{}\n(if a module or the browser is missing: {INSTALL})",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
}
