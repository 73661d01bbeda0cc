//! Bounded sample of the records of a topic.

use std::collections::BTreeMap;

use rankgauge_core::decode::{Encoded, OwnedRecord};
use rankgauge_core::event::Kind;
use rankgauge_core::time::EventTime;
use rankgauge_kafka::Error;
use rankgauge_kafka::reader::{From, Ranges, Reader};

/// Maximum bytes of a sample. Larger records make a smaller sample.
const MAX_BYTES: usize = 64 << 20;

/// Maximum number of steps of a bisection: enough for a partition of 10⁹ records.
const MAX_BISECTIONS: usize = 30;

/// Record of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SampledRecord {
    pub(super) partition: i32,
    pub(super) offset: i64,
    pub(super) content: OwnedRecord,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TopicSample {
    /// Records, in the order of reading: by offset within a partition.
    pub(super) records: Vec<SampledRecord>,
    /// True if the time limit or the limit on bytes ended the sample early.
    pub(super) is_cut: bool,
}

/// Part of a topic that is sampled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Number of records of each partition.
    records: i64,
}

impl Share {
    /// About `count` records, spread over the partitions.
    pub(super) fn of(count: usize, partitions: usize) -> Self {
        let records = i64::try_from(count.div_ceil(partitions.max(1)));
        Self {
            records: records.unwrap_or(i64::MAX),
        }
    }
}

/// Reads a share of the topic with events of `kind`: the newest records, or those from the Kafka timestamp
/// `since` on if that is earlier.
///
/// # Errors
/// If the client may not read the topic, or a request fails.
pub(super) fn read(
    reader: &Reader<'_>,
    kind: Kind,
    Share { records: share }: Share,
    since: Option<EventTime>,
) -> Result<TopicSample, Error> {
    let mut ranges = reader.ranges(kind, From::Newest(share))?;
    if let Some(since) = since {
        for (partition, earlier) in reader.ranges(kind, From::Time(since))? {
            let range = ranges.entry(partition).or_insert(earlier.clone());
            range.start = range.start.min(earlier.start);
        }
    }
    for range in ranges.values_mut() {
        range.end = range.end.min(range.start.saturating_add(share));
    }
    read_ranges(reader, kind, ranges)
}

/// Reads a share of the topic from the event time `since` on. Event times may differ from the timestamps of
/// Kafka, for example after a backfill, so the place is found by bisection over the records, whose event time
/// `time_of` returns.
///
/// # Errors
/// If the client may not read the topic, or a request fails.
pub(super) fn read_since_event_time(
    reader: &Reader<'_>,
    kind: Kind,
    Share { records: share }: Share,
    since: EventTime,
    time_of: impl Fn(&SampledRecord) -> Option<EventTime>,
) -> Result<TopicSample, Error> {
    let all = reader.ranges(kind, From::Oldest)?;
    // The first record since that time is in this range, or its end.
    let mut sought = all.clone();
    for _ in 0..MAX_BISECTIONS {
        let middles: Ranges = sought
            .iter()
            .filter(|(_, range)| !range.is_empty())
            .map(|(partition, range)| {
                let middle = range.start + (range.end - range.start) / 2;
                (*partition, middle..middle + 1)
            })
            .collect();
        if middles.is_empty() {
            break;
        }
        let probed = read_ranges(reader, kind, middles.clone())?;
        if probed.is_cut {
            return Ok(TopicSample {
                is_cut: true,
                ..TopicSample::default()
            });
        }
        let times = probed.records.iter().map(|it| (it.partition, time_of(it)));
        let times: BTreeMap<i32, Option<EventTime>> = times.collect();
        for (partition, middle) in middles {
            let Some(range) = sought.get_mut(&partition) else {
                continue;
            };
            // A place without a record, or without a valid one, decides nothing: the later half is searched.
            let is_before = times
                .get(&partition)
                .copied()
                .flatten()
                .is_none_or(|at| at < since);
            if is_before {
                range.start = middle.end;
            } else {
                range.end = middle.start;
            }
        }
    }
    let ranges = sought.into_iter().map(|(partition, range)| {
        let end = all.get(&partition).map_or(range.start, |all| all.end);
        let start = range.start.min(end);
        (partition, start..end.min(start.saturating_add(share)))
    });
    read_ranges(reader, kind, ranges.collect())
}

fn read_ranges(reader: &Reader<'_>, kind: Kind, ranges: Ranges) -> Result<TopicSample, Error> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    let is_complete = reader.read(kind, ranges, &mut |record| {
        let content = Encoded {
            payload: record.payload,
            envelope: Some(record.envelope),
        };
        let content: OwnedRecord = content.into();
        bytes += content.bytes();
        records.push(SampledRecord {
            partition: record.partition,
            offset: record.offset,
            content,
        });
        bytes <= MAX_BYTES
    })?;
    Ok(TopicSample {
        records,
        is_cut: !is_complete,
    })
}
