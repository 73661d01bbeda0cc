//! Executable of an earlier revision, built in the release profile under `target/baseline`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Builds `rankgauge` at a revision of this repository, unless it was built before. Returns the
/// short name of the revision and the executable.
pub(crate) fn build(revision: &str) -> anyhow::Result<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .context("cargo's temporary directory lies in the target directory")?;
    let parse = Command::new("git")
        .current_dir(root)
        .args(["rev-parse", "--short=12", "--verify", "--quiet"])
        .arg(format!("{revision}^{{commit}}"))
        .output()
        .context("cannot start git, which has the baseline")?;
    ensure!(
        parse.status.success(),
        "revision {revision} is not in this repository: fetch it, or pass another --baseline"
    );
    let name = String::from_utf8_lossy(&parse.stdout).trim().to_owned();
    let folder = target.join("baseline").join(&name);
    let program = folder.join("target/release/rankgauge");
    if program.exists() {
        return Ok((name, program));
    }
    println!("building the baseline {name} in {}", folder.display());
    let source = folder.join("source");
    fs::create_dir_all(&source)?;
    let archive = folder.join("source.tar");
    run(Command::new("git")
        .current_dir(root)
        .args(["archive", "--output"])
        .arg(&archive)
        .arg(&name))?;
    run(Command::new("tar")
        .arg("-xf")
        .arg(&archive)
        .arg("-C")
        .arg(&source))?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    run(cargo
        .current_dir(&source)
        .env("RANKGAUGE_REVISION", &name)
        .args(["build", "--release", "--locked", "--bin", "rankgauge"])
        .arg("--target-dir")
        .arg(folder.join("target")))?;
    Ok((name, program))
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status();
    let status = status.with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}
