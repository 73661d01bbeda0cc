//! One case of a benchmark in a process of its own, because an allocator does not return all memory.

use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use clap::Parser;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// First argument of a process that measures one case.
const CASE: &str = "case";

/// Returns the case that this process is to measure; `None` if it is not for one case.
pub(crate) fn given<C: Parser>() -> Option<C> {
    let mut arguments = std::env::args().skip(1).peekable();
    arguments.next_if(|first| first == CASE)?;
    let name = std::iter::once(CASE.to_owned());
    Some(C::parse_from(name.chain(arguments)))
}

/// Prints the result of the case for the process that asked for it.
#[allow(clippy::print_stdout, reason = "another process reads it")]
pub(crate) fn print(result: &impl Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string(result)?);
    Ok(())
}

/// Measures a case with these arguments in a process of its own.
pub(crate) fn run<R: DeserializeOwned>(arguments: &[(&str, String)]) -> anyhow::Result<R> {
    let arguments = arguments.iter();
    let output = Command::new(std::env::current_exe()?)
        // Memory that is free is returned to the system at once, instead of within a second: a case
        // takes little longer. With many series this takes some CPU time as well.
        .env("MIMALLOC_PURGE_DELAY", "0")
        .arg(CASE)
        .args(arguments.map(|(name, value)| format!("--{name}={value}")))
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "a case failed: {}", output.status);
    serde_json::from_slice(&output.stdout).context("a case printed no result")
}
