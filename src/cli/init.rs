//! `rankgauge init`: a starter configuration and gold set.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::failure::Failure;
use super::output::{print, warn};
use super::output_files::{self, Output};
use super::settings::SettingsArguments;
use crate::ingest::source::{self, RawRecord, SourceError, Until};
use crate::init::{self, MISSING, Proposal, SampleRecord};
use rankgauge_core::decode::{Encoded, Formats, OwnedRecord};
use rankgauge_core::event::Kind;
use rankgauge_kafka::settings::NO_TOPIC;
use rankgauge_kafka::{Error, reader};

/// Arguments of `init`.
#[derive(Debug, Args)]
pub(super) struct Init {
    /// Folder for rankgauge.yaml and gold.json, created if it does not exist.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// File of records, one a line, from which format, slices, measures and limits are proposed; for
    /// records of an unknown shape, a mapping. May be repeated, for searches and feedback.
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,
    /// Topic whose newest records are the sample. May be repeated.
    #[arg(long, value_name = "TOPIC", conflicts_with = "from")]
    from_topic: Vec<String>,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Name of the gold set.
const GOLD: &str = "gold.json";

/// Number of records of a sample.
const MAX_RECORDS: usize = 100_000;

/// Number of newest records of each partition of a topic.
const NEWEST: i64 = 2_000;

/// Size of a sample in bytes.
const MAX_BYTES: usize = 64 << 20;

/// Size of a record of a sample in bytes.
const RECORD_BYTES: usize = 16 << 20;

/// Runs the command.
pub(super) fn run(arguments: &Init) -> Result<(), Failure> {
    let folder = &arguments.folder;
    let settings = folder.join("rankgauge.yaml");
    let gold = folder.join(GOLD);
    for path in [&settings, &gold] {
        if path.symlink_metadata().is_ok() {
            return Err(Failure::Usage(anyhow::anyhow!(
                "{} exists; move it, or name another folder",
                path.display()
            )));
        }
    }
    let proposal = proposal(arguments)?;
    write(&proposal, &settings, &gold)?;
    let [settings, gold] = [settings, gold].map(|path| path.display().to_string());
    let mut lines = proposal.findings.clone();
    if let Some(own) = &proposal.own {
        lines.push(format!("mapping:\n{}", own.mapping.trim_end()));
        lines.push(format!(
            "next: rankgauge tail --config {settings} shows each record under the mapping"
        ));
    }
    for missing in proposal.own.iter().flat_map(|own| &own.missing) {
        warn(&format!(
            "{}: replace \"{MISSING}\" in {settings}, as the comment before it says; until then, {}",
            missing.what, missing.effect
        ));
    }
    lines.push(format!("wrote {settings} and {gold}"));
    lines.push(format!(
        "next: edit both, then: rankgauge check --config {settings}"
    ));
    if !arguments.from.is_empty() || !arguments.from_topic.is_empty() {
        lines.push(
            "next: without judgements, a gold set from clicks: rankgauge gold from-clicks --help"
                .to_owned(),
        );
    }
    print(&format!("{}\n", lines.join("\n"))).map_err(Failure::Running)
}

/// Writes both files or none. A file that appeared since the check is not overwritten.
fn write(proposal: &Proposal, settings: &Path, gold: &Path) -> Result<(), Failure> {
    let folder = settings.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .with_context(|| format!("{} cannot be created", folder.display()))
        .map_err(Failure::Running)?;
    // Both files can move together.
    let configuration = init::configuration(proposal, GOLD);
    let outputs = [(gold, init::gold(proposal)), (settings, configuration)];
    let outputs = outputs.map(|(path, content)| Output {
        path: path.to_owned(),
        content,
    });
    output_files::write(&outputs, false)
}

/// The proposal for the sample; the usual one without a sample.
fn proposal(arguments: &Init) -> Result<Proposal, Failure> {
    let mut sample = Sample::default();
    let mut brokers = None;
    let sources = if !arguments.from.is_empty() {
        let files: [(Kind, &[PathBuf]); 2] =
            [(Kind::Search, &arguments.from), (Kind::Feedback, &[])];
        source::from_files(files, &Formats::NATIVE, RECORD_BYTES, &mut |record| {
            sample.add(record)
        })
        .map_err(Failure::usage)?;
        let names = arguments.from.iter().map(|path| path.display().to_string());
        names.collect::<Vec<_>>()
    } else if arguments.from_topic.is_empty() {
        return Ok(Proposal::default());
    } else {
        let mut settings = arguments.settings.load()?.kafka;
        brokers = Some(settings.brokers.clone());
        for topic in &arguments.from_topic {
            settings.search_topic.clone_from(topic);
            NO_TOPIC.clone_into(&mut settings.feedback_topic);
            let read = source::from_kafka(
                &settings,
                reader::From::Newest(NEWEST),
                Until::Present([Kind::Search, Kind::Feedback]),
                &|| false,
                &mut |record| sample.add(record),
            );
            read.map_err(|error| match error {
                SourceError::Kafka(Error::Configuration(_)) => Failure::Usage(error.into()),
                error => Failure::Running(error.into()),
            })?;
        }
        arguments.from_topic.clone()
    };
    let proposal = init::proposal(&mut sample.records);
    let proposal = proposal.with_context(|| sources.join(", "));
    let mut proposal = proposal.map_err(Failure::Usage)?;
    // The sample was read from them.
    proposal.brokers = brokers.unwrap_or(proposal.brokers);
    Ok(proposal)
}

/// Records of a sample, within bounds.
#[derive(Default)]
struct Sample {
    records: Vec<SampleRecord>,
    bytes: usize,
}

impl Sample {
    /// Adds a record. Returns false when the sample is full.
    fn add(&mut self, record: RawRecord<'_>) -> bool {
        self.bytes += record.payload.len();
        self.records.push(SampleRecord {
            content: OwnedRecord::from(Encoded {
                payload: record.payload.trim_ascii_end(),
                envelope: record.envelope,
            }),
            source: record.source.to_owned(),
            is_topic: record.partition.is_some(),
        });
        self.records.len() < MAX_RECORDS && self.bytes < MAX_BYTES
    }
}
