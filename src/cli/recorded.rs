//! Recorded events of a command, from files or from the topics of the configuration.

use std::path::PathBuf;
use std::time::Duration;

use super::failure::Failure;
use crate::config::Config;
use crate::ingest::history::{Record, Wire, from_files, from_kafka};
use crate::ingest::source::SourceError;
use rankgauge_kafka::Error;

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
    let read = match last {
        Some(last) => from_kafka(&config.kafka, last, wire, take),
        None => from_files(searches, feedback, wire, take),
    };
    read.map_err(|error| match error {
        SourceError::File { .. } | SourceError::Kafka(Error::Configuration(_)) => {
            Failure::Usage(error.into())
        }
        error @ SourceError::Kafka(_) => Failure::Running(error.into()),
    })
}
