//! `rankgauge init`: a starter configuration and gold set.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::failure::Failure;
use super::output::print;
use crate::init::{self, Proposal, Sample};

/// Arguments of `init`.
#[derive(Debug, Args)]
pub(super) struct Init {
    /// Folder for rankgauge.yaml and gold.json, created if it does not exist.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// File of search events, one per line, from which topics, slices, measures and limits are
    /// proposed.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

/// Number of lines of a sample that are read.
const MAX_LINES: usize = 100_000;

/// Runs the command.
pub(super) fn run(arguments: &Init) -> Result<(), Failure> {
    let proposal = match &arguments.from {
        None => Proposal::default(),
        Some(path) => proposal(path).map_err(Failure::Usage)?,
    };
    let folder = &arguments.folder;
    let settings = folder.join("rankgauge.yaml");
    let gold = folder.join("gold.json");
    for path in [&settings, &gold] {
        if path.exists() {
            return Err(Failure::Usage(anyhow::anyhow!(
                "{} exists; move it, or name another folder",
                path.display()
            )));
        }
    }
    write(&proposal, &settings, &gold).map_err(Failure::Running)?;
    let mut findings = proposal.findings.join("\n");
    if !findings.is_empty() {
        findings.push('\n');
    }
    let [settings, gold] = [settings, gold].map(|path| path.display().to_string());
    print(&format!(
        "{findings}wrote {settings} and {gold}\n\
         next: edit both, then: rankgauge check --config {settings}\n"
    ))
    .map_err(Failure::Running)
}

fn write(proposal: &Proposal, settings: &Path, gold: &Path) -> anyhow::Result<()> {
    let folder = settings.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .with_context(|| format!("{} cannot be created", folder.display()))?;
    let absolute = std::path::absolute(gold).unwrap_or_else(|_| gold.to_owned());
    let configuration = init::configuration(proposal, &absolute.to_string_lossy());
    for (path, text) in [(gold, init::gold(proposal)), (settings, configuration)] {
        // A file that appeared since the check is not overwritten.
        let file = fs::File::create_new(path);
        let written =
            file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        written.with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

fn proposal(path: &Path) -> anyhow::Result<Proposal> {
    let read = || -> std::io::Result<Sample> {
        let mut sample = Sample::default();
        let reader = BufReader::new(fs::File::open(path)?);
        for line in reader.split(b'\n').take(MAX_LINES) {
            let line = line?;
            if !line.trim_ascii().is_empty() {
                sample.add(&line);
            }
        }
        Ok(sample)
    };
    let sample = read().with_context(|| format!("{} cannot be read", path.display()))?;
    let proposal = sample.proposal();
    proposal.with_context(|| path.display().to_string())
}
