//! Runs in a binary encoding of the configured format: their searches are judged as native events.

use std::path::Path;

use anyhow::anyhow;

use crate::cli::failure::Failure;
use crate::cli::recorded::receive_schemas;
use crate::config::Config;
use crate::ingest::replay::open_records;
use rankgauge_core::decode::EventRef;
use rankgauge_core::event::{Acceptance, Kind, Rejection};
use rankgauge_eval::run::{ReadOptions, RunReader};

/// Opens a run, whose content determines its format.
pub(super) fn open(
    path: &Path,
    config: &Config,
    options: &ReadOptions,
) -> Result<RunReader, Failure> {
    let events = native_events(path, config).map_err(Failure::Usage)?;
    let run = match events {
        Some(events) => {
            let options = ReadOptions {
                formats: None,
                ..options.clone()
            };
            RunReader::of_bytes(path.to_owned(), events, &options)
        }
        None => RunReader::open(path, options),
    };
    run.map_err(Failure::usage)
}

/// Native events of the searches in a file, one per line; `None` for a file of text.
fn native_events(path: &Path, config: &Config) -> anyhow::Result<Option<Vec<u8>>> {
    let limits = config.engine.record_limits;
    if !config.formats.is_binary(Kind::Search) || path == Path::new("-") {
        return Ok(None);
    }
    let unreadable = |error: std::io::Error| anyhow!("{}: cannot be read: {error}", path.display());
    let file = open_records(path, Kind::Search, &config.formats, limits.record_bytes);
    let mut file = file.map_err(unreadable)?;
    if file.is_lines() {
        return Ok(None);
    }
    receive_schemas(config, &[(Kind::Search, &[path.to_owned()])])?;
    let acceptance = Acceptance {
        limits,
        has_gold_texts: true,
    };
    let (mut events, mut record) = (Vec::new(), Vec::new());
    while let Some(number) = file.next(&mut record).map_err(unreadable)? {
        let mut written = Ok(());
        let invalid = |rejection: Rejection| {
            let detail = rejection.detail;
            anyhow!(
                "{}: record {number}: not a search event: {detail}",
                path.display()
            )
        };
        let decoded = file
            .formats()
            .events(Kind::Search, &record, &acceptance, &mut |event| {
                if written.is_ok() {
                    written = match event {
                        Ok(EventRef::Search(search)) => serde_json::to_writer(&mut events, search)
                            .map(|()| events.push(b'\n'))
                            .map_err(anyhow::Error::new),
                        Ok(EventRef::Feedback(_)) => Ok(()),
                        Err(rejection) => Err(invalid(rejection)),
                    };
                }
            });
        decoded.map_err(invalid)?;
        written?;
    }
    Ok(Some(events))
}
