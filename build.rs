//! Build script: passes the source revision and the compiler version to the binary.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RANKGAUGE_REVISION");
    // This file changes with every commit and checkout, also in a worktree. Without a repository
    // there is none, and a path that does not exist would run this script at every build.
    let log = first_line("git", &["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    // A build from an archive has no repository; an image build states the revision instead.
    let revision = std::env::var("RANKGAUGE_REVISION").ok();
    let revision = revision.or_else(|| first_line("git", &["rev-parse", "--short=12", "HEAD"]));
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = first_line(&rustc, &["--version"]);
    println!(
        "cargo::rustc-env=RANKGAUGE_REVISION={}",
        revision.as_deref().unwrap_or("unknown")
    );
    println!(
        "cargo::rustc-env=RANKGAUGE_RUSTC={}",
        version.as_deref().unwrap_or("unknown")
    );
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}
