//! Recorded events of a command, from files or from the topics of the configuration.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;

use super::failure::Failure;
use crate::config::{Config, parse_duration};
use crate::ingest::history::{Record, Wire, from_files, from_kafka};
use crate::ingest::source::{self, SourceError};
use crate::registry::Blocking;
use rankgauge_core::event::Kind;
use rankgauge_kafka::Error;

/// Recorded searches and feedback that a command reads.
#[derive(Debug, Args)]
pub(super) struct RecordedEvents {
    /// Files of search events, in the format of `replay`.
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "last")]
    search: Vec<PathBuf>,
    /// Files of feedback events.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "search")]
    feedback: Vec<PathBuf>,
    /// Read the configured topics instead of files, from this long ago (90m, 24h) until now. No
    /// offset is committed, and no consumer group is joined.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "search")]
    pub(super) last: Option<Duration>,
}

impl RecordedEvents {
    /// Passes all feedback, then all searches, to `take`.
    ///
    /// # Errors
    /// A file cannot be read, or the topics cannot.
    pub(super) fn read(
        &self,
        config: &Config,
        take: &mut dyn FnMut(Record<'_>),
    ) -> Result<(), Failure> {
        read_events(config, self.last, &self.search, &self.feedback, take)
    }
}

/// Requests the schemas of the records in files, if the formats need a registry.
///
/// # Errors
/// A file cannot be read, or the registry does not answer.
pub(super) fn receive_schemas(config: &Config, files: &[(Kind, &[PathBuf])]) -> anyhow::Result<()> {
    if config.formats.cache().is_none() {
        return Ok(());
    }
    let limits = &config.engine.record_limits;
    let mut schemas = Blocking::new(config.registry.as_ref())?;
    for (kind, paths) in files {
        source::from_files(
            [(*kind, paths), (Kind::Feedback, &[])],
            &config.formats,
            limits.record_bytes,
            &mut |record| {
                let formats = record.formats.unwrap_or(&config.formats);
                schemas.receive(formats, *kind, record.payload, limits);
                schemas.problem().is_none()
            },
        )?;
    }
    match schemas.problem() {
        Some(problem) => Err(anyhow!("the schema registry does not answer: {problem}")),
        None => Ok(()),
    }
}

/// Passes all feedback, then all searches, to `take`: those of the `last` time from the topics, else those
/// of the files.
///
/// # Errors
/// A file cannot be read, or the topics cannot.
pub(super) fn read_events(
    config: &Config,
    last: Option<Duration>,
    searches: &[PathBuf],
    feedback: &[PathBuf],
    take: &mut dyn FnMut(Record<'_>),
) -> Result<(), Failure> {
    let wire = Wire {
        formats: &config.formats,
        limits: &config.engine.record_limits,
    };
    let read = if let Some(last) = last {
        from_kafka(&config.kafka, last, wire, take)
    } else {
        let files = [(Kind::Search, searches), (Kind::Feedback, feedback)];
        receive_schemas(config, &files).map_err(Failure::Usage)?;
        from_files(searches, feedback, wire, take)
    };
    read.map_err(|error| match error {
        SourceError::File { .. } | SourceError::Kafka(Error::Configuration(_)) => {
            Failure::Usage(error.into())
        }
        error @ SourceError::Kafka(_) => Failure::Running(error.into()),
    })
}
