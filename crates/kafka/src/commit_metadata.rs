//! Metadata of a committed offset.
//!
//! The committed offset is the rebuild offset. Its metadata carries what a successor cannot read
//! from the log: the counted offset, the join frontier, the newest times, the number of pending events and
//! the spans of rejected records.

use rankgauge_core::engine::join::Second;
use rankgauge_core::engine::partition::{CommitPoint, RejectedSpan};
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, WallTime};

/// Prefix of the text: name and version of the format.
const PREFIX: &str = "rankgauge/1 ";

/// Text to commit with the rebuild offset of `point`. It stays well below the 4096 bytes that
/// brokers allow.
pub fn encode(point: &CommitPoint) -> String {
    let span = |span: &RejectedSpan| format!("{}-{}:{}", span.first, span.last, span.from.0);
    let rejected: Vec<String> = point.rejected.iter().map(span).collect();
    let fields = [
        Some(format!("counted={}", point.counted)),
        point
            .frontier
            .map(|Second(frontier)| format!("frontier={frontier}")),
        point
            .newest
            .map(|EventTime(newest)| format!("newest={newest}")),
        (point.written).map(|WallTime(written)| format!("written={written}")),
        (point.pending > 0).then(|| format!("pending={}", point.pending)),
        (!rejected.is_empty()).then(|| format!("rejected={}", rejected.join(","))),
    ];
    let fields: Vec<String> = fields.into_iter().flatten().collect();
    format!("{PREFIX}{}", fields.join(" "))
}

/// The commit point of an `offset` that was committed with this `metadata`. `None` for other
/// metadata, such as that of an offset committed by another tool.
pub fn decode(partition: i32, kind: Kind, offset: i64, metadata: &str) -> Option<CommitPoint> {
    let mut point = CommitPoint::starting_at(partition, kind, offset);
    let mut counted = None;
    for field in metadata.strip_prefix(PREFIX)?.split(' ') {
        match field.split_once('=')? {
            ("counted", value) => counted = Some(value.parse().ok()?),
            ("frontier", value) => point.frontier = Some(Second(value.parse().ok()?)),
            ("newest", value) => point.newest = Some(EventTime(value.parse().ok()?)),
            ("written", value) => point.written = Some(WallTime(value.parse().ok()?)),
            ("pending", value) => point.pending = value.parse().ok()?,
            ("rejected", value) => {
                point.rejected = value.split(',').map(span).collect::<Option<_>>()?;
            }
            // A later version may add fields.
            _ => {}
        }
    }
    point.counted = counted?;
    Some(point)
}

/// Parses `first-last:from`.
fn span(text: &str) -> Option<RejectedSpan> {
    let (offsets, from) = text.split_once(':')?;
    let (first, last) = offsets.split_once('-')?;
    Some(RejectedSpan {
        first: first.parse().ok()?,
        last: last.parse().ok()?,
        from: EventTime(from.parse().ok()?),
    })
}
