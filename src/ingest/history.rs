//! One-time reader of past events without an engine: all feedback, then all searches, from files or
//! from the topics. With the feedback already known, the reader of a search need not store the search.
//!
//! It must not know the use of the events.

use std::path::PathBuf;
use std::time::Duration;

use tracing::debug;

use super::source::{self, RawRecord, SourceError, Until};
use rankgauge_core::decode::{EventRef, Formats};
use rankgauge_core::event::{Acceptance, Feedback, Kind, Limits, Rejection, Search};
use rankgauge_core::time::Millis;
use rankgauge_kafka::Settings;
use rankgauge_kafka::reader::From;
use rankgauge_serve::clock::wall_now;

/// Decoding of records.
#[derive(Clone, Copy, Debug)]
pub struct Wire<'a> {
    /// Format of each topic.
    pub formats: &'a Formats,
    /// Limits of a record.
    pub limits: &'a Limits,
}

/// Decoded or rejected record.
#[derive(Debug)]
pub enum Record<'a> {
    /// A search.
    Search(&'a Search<'a>),
    /// A feedback event.
    Feedback(&'a Feedback<'a>),
    /// A rejected record.
    Rejected {
        /// Expected kind of event.
        kind: Kind,
        /// Location: a file and a line, or a topic, a partition and an offset.
        place: String,
        /// Reason of the rejection.
        why: Rejection,
    },
}

/// Passes every record of `feedback`, then every record of `searches`, to `take`.
///
/// # Errors
/// If a file cannot be read.
pub fn from_files(
    searches: &[PathBuf],
    feedback: &[PathBuf],
    wire: Wire<'_>,
    take: &mut dyn FnMut(Record<'_>),
) -> Result<(), SourceError> {
    let limit = wire.limits.record_bytes;
    for wanted in passes(wire.formats) {
        let files = match wanted {
            // Files of both kinds are read once for each kind.
            Some(_) => [(Kind::Search, searches), (Kind::Feedback, feedback)],
            None => [(Kind::Feedback, feedback), (Kind::Search, searches)],
        };
        source::from_files(files, wire.formats, limit, &mut |record| {
            decode(record, wire, wanted, take);
            true
        })?;
    }
    Ok(())
}

/// Kinds of events of each pass over the records; `None` for all.
fn passes(formats: &Formats) -> Vec<Option<Kind>> {
    if formats.is_shared {
        vec![Some(Kind::Feedback), Some(Kind::Search)]
    } else {
        vec![None]
    }
}

/// Passes to `take` all feedback, then all searches, that were written to the topics during the
/// period `last` before now.
///
/// # Errors
/// If the topics cannot be read.
pub fn from_kafka(
    settings: &Settings,
    last: Duration,
    wire: Wire<'_>,
    take: &mut dyn FnMut(Record<'_>),
) -> Result<(), SourceError> {
    let since = From::Time(wall_now().as_event_time().minus(Millis::from(last)));
    let order = Until::Present([Kind::Feedback, Kind::Search]);
    for wanted in passes(wire.formats) {
        source::from_kafka(settings, since, order, &|| false, &mut |record| {
            decode(record, wire, wanted, take);
            true
        })?;
    }
    Ok(())
}

/// Decodes one record, and passes its events to `take`, if they are of the kind that is `wanted`.
/// Rejected records count as searches if the kind is not known.
fn decode(
    record: RawRecord<'_>,
    wire: Wire<'_>,
    wanted: Option<Kind>,
    take: &mut dyn FnMut(Record<'_>),
) {
    let take = &mut |event: Record<'_>| {
        let kind = match event {
            Record::Search(_) => Kind::Search,
            Record::Feedback(_) => Kind::Feedback,
            Record::Rejected { kind, .. } => kind,
        };
        if wanted.is_none_or(|wanted| wanted == kind) {
            take(event);
        }
    };
    let formats = record.formats.unwrap_or(wire.formats);
    let kind = formats.probable_kind(record.kind, record.payload);
    let reject = |take: &mut dyn FnMut(Record<'_>), why: Rejection| {
        let place = record.to_string();
        debug!(place, error = why.to_string(), "record rejected");
        take(Record::Rejected { kind, place, why });
    };
    let acceptance = Acceptance {
        limits: *wire.limits,
        has_gold_texts: false,
    };
    let decoded = formats.events(
        record.kind,
        &record,
        &acceptance,
        &mut |event| match event {
            Ok(EventRef::Search(search)) => take(Record::Search(search)),
            Ok(EventRef::Feedback(feedback)) => take(Record::Feedback(feedback)),
            Err(why) => reject(take, why),
        },
    );
    if let Err(why) = decoded {
        reject(take, why);
    }
}
