//! Metadata of a committed offset.

use rankgauge_core::engine::join::Second;
use rankgauge_core::engine::partition::{CommitPoint, RejectedSpan};
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, WallTime};
use rankgauge_kafka::commit_metadata::{decode, encode};

#[test]
fn the_largest_metadata_fits_a_broker_and_is_read_back() {
    let span = |number: i64| RejectedSpan {
        first: i64::MAX - 1_000 + number,
        last: i64::MAX - 500 + number,
        from: EventTime(1_750_000_000_000 + number),
    };
    let spans = i64::try_from(CommitPoint::MAX_REJECTED_SPANS).expect("a small number");
    let point = CommitPoint {
        counted: i64::MAX,
        frontier: Some(Second(1_750_000_000)),
        newest: Some(EventTime(1_750_000_000_000)),
        written: Some(WallTime(1_750_000_000_000)),
        pending: u64::MAX,
        rejected: (0..spans).map(span).collect(),
        ..CommitPoint::starting_at(7, Kind::Feedback, i64::MAX - 1)
    };
    let metadata = encode(&point);
    assert!(metadata.len() < 4_096, "{} bytes", metadata.len());
    let read = decode(point.partition, point.kind, point.rebuild, &metadata);
    assert_eq!(read, Some(point));
}
