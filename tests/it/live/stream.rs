//! Generated traffic, produced to Kafka and written to files that `replay` reads.
//!
//! Partition i of a topic and file i of its kind hold the same records in the same order.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufWriter, Write as _};
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, Millis};
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::traffic::{Record, Traffic, TrafficSettings};
use rankgauge_serve::clock::wall_now;
use tempfile::TempDir;

use crate::harness::kafka::{Broker, Producer, unique_name};

/// Number of gold queries in the corpus of all streams.
const QUERIES: usize = 200;
/// Maximum number of searches held in memory.
const CHUNK: usize = 20_000;

/// Stream of searches and feedback, and the records written so far.
pub(super) struct Stream {
    folder: TempDir,
    traffic: Peekable<Traffic>,
    topics: [String; 2],
    partitions: [u64; 2],
    /// True if feedback has another key than its search.
    is_apart: bool,
    files: [Vec<BufWriter<File>>; 2],
    produced: [u64; 2],
    producer: Option<Producer>,
}

impl Stream {
    /// Stream for two new topics of `broker`. The first search happened `ago`, and `rate` searches
    /// per second follow. All streams are identical except for the start time.
    pub(super) fn on_new_topics(broker: &Broker, partitions: u16, rate: f64, ago: Millis) -> Self {
        let topics = broker.unique_topics("live", usize::from(partitions));
        Self::new(topics.into(), partitions, rate, ago)
    }

    /// Stream for two new topics of `broker` with these numbers of partitions, whose feedback has another
    /// key than its search.
    pub(super) fn apart(broker: &Broker, partitions: [u16; 2], rate: f64, ago: Millis) -> Self {
        let topics = Kind::ALL.map(|kind| unique_name(&format!("apart-{}", kind.name())));
        for (topic, count) in topics.iter().zip(partitions) {
            broker.create_topic(topic, usize::from(count));
        }
        Self::of_apart(topics, partitions, true, QUERIES, settings(rate, ago))
    }

    /// Stream for two new topics of `broker` with a corpus of `queries` gold queries. Variant V5
    /// regresses `regress_after` the first search, if it is given. The topics have one partition:
    /// baselines have the first searches that are read, and partitions are read in any order.
    pub(super) fn of_queries(
        broker: &Broker,
        queries: usize,
        rate: f64,
        ago: Millis,
        regress_after: Option<Millis>,
    ) -> Self {
        let topics = broker.unique_topics("live", 1).into();
        let settings = TrafficSettings {
            regress_after,
            ..settings(rate, ago)
        };
        Self::of(topics, 1, queries, settings)
    }

    /// Stream for topics that exist or will be created.
    pub(super) fn new(topics: [String; 2], partitions: u16, rate: f64, ago: Millis) -> Self {
        Self::of(topics, partitions, QUERIES, settings(rate, ago))
    }

    fn of(topics: [String; 2], partitions: u16, queries: usize, settings: TrafficSettings) -> Self {
        Self::of_apart(topics, [partitions; 2], false, queries, settings)
    }

    fn of_apart(
        topics: [String; 2],
        partitions: [u16; 2],
        is_apart: bool,
        queries: usize,
        settings: TrafficSettings,
    ) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("live-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a folder can be made");
        let corpus = Arc::new(Corpus::generate(1, queries));
        std::fs::write(folder.path().join("gold.json"), corpus.gold_json())
            .expect("the folder can be written");
        let traffic = Traffic::new(corpus, settings).peekable();
        let mut stream = Self {
            folder,
            traffic,
            topics,
            partitions: partitions.map(u64::from),
            is_apart,
            files: [Vec::new(), Vec::new()],
            produced: [0; 2],
            producer: None,
        };
        for kind in Kind::ALL {
            let files = stream
                .files(kind)
                .into_iter()
                .map(|path| BufWriter::new(File::create(path).expect("the folder can be written")));
            stream.files[kind.index()] = files.collect();
        }
        stream
    }

    /// Folder with the files of the topics and the gold set.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Gold set for the stream.
    pub(super) fn gold(&self) -> PathBuf {
        self.folder.path().join("gold.json")
    }

    /// Topic for records of `kind`.
    pub(super) fn topic(&self, kind: Kind) -> &str {
        &self.topics[kind.index()]
    }

    /// Both topics, in the order of [`Kind::ALL`].
    pub(super) fn topics(&self) -> [String; 2] {
        self.topics.clone()
    }

    /// Files with the produced records of `kind`, one per partition.
    pub(super) fn files(&self, kind: Kind) -> Vec<PathBuf> {
        (0..self.partitions[kind.index()])
            .map(|partition| {
                self.folder
                    .path()
                    .join(format!("{}-{partition}.jsonl", kind.name()))
            })
            .collect()
    }

    /// Number of records of each kind that were produced.
    pub(super) fn produced(&self) -> [u64; 2] {
        self.produced
    }

    /// Partitions of the topic with records of `kind`.
    pub(super) fn partitions_of(&self, kind: Kind) -> impl Iterator<Item = i32> {
        (0..).take(self.files[kind.index()].len())
    }

    /// Partition of a key of the search topic.
    pub(super) fn partition(&self, key: &str) -> i32 {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        i32::try_from(hasher.finish() % self.partitions[0]).expect("invariant: partitions are few")
    }

    /// Partition of a record.
    fn partition_of(&self, record: &Record) -> i32 {
        if !self.is_apart || record.kind == Kind::Search {
            return self.partition(&record.key);
        }
        let mut hasher = DefaultHasher::new();
        record.payload.hash(&mut hasher);
        i32::try_from(hasher.finish() % self.partitions[1]).expect("invariant: partitions are few")
    }

    /// Sets the number of partitions of the topics. As with the producers of Kafka, keys then map
    /// to other partitions than before.
    pub(super) fn grow(&mut self, partitions: u16) {
        let before = self.files[0].len();
        self.partitions = [partitions.into(); 2];
        // A producer detects new partitions at its next metadata refresh. A new producer requests
        // metadata at once.
        self.producer = None;
        for kind in Kind::ALL {
            let files = self.files(kind).into_iter().skip(before);
            let files = files
                .map(|path| BufWriter::new(File::create(path).expect("the folder can be written")));
            self.files[kind.index()].extend(files);
        }
    }

    /// Takes the next `searches` searches, with the feedback up to the following search.
    pub(super) fn take(&mut self, searches: usize) -> Vec<Record> {
        let mut left = searches;
        let mut records = Vec::new();
        while let Some(record) = self.traffic.next_if(|record| match record.kind {
            Kind::Feedback => true,
            Kind::Search => left > 0,
        }) {
            left -= usize::from(record.kind == Kind::Search);
            records.push(record);
        }
        records
    }

    /// Produces the next `searches` searches with their feedback, and waits until Kafka has stored
    /// them.
    pub(super) fn produce(&mut self, broker: &Broker, searches: usize) {
        let mut left = searches;
        while left > 0 {
            let records = self.take(left.min(CHUNK));
            left -= left.min(CHUNK);
            self.send(broker, &records);
        }
    }

    /// Produces a compressed batch of `records` invalid searches of `bytes` bytes to each partition. In the
    /// files, each is as invalid with one byte.
    pub(super) fn send_bombs(
        &mut self,
        broker: &Broker,
        codec: &str,
        records: usize,
        bytes: usize,
    ) {
        let producer = broker.batch_producer(codec, records);
        let payload = vec![b'x'; bytes];
        for partition in self.partitions_of(Kind::Search).collect::<Vec<_>>() {
            let sent = (0..records).map(|_| ("", &payload, Some(partition)));
            producer.produce(self.topic(Kind::Search), sent);
        }
        self.produced[Kind::Search.index()] +=
            (records as u64) * self.partitions[Kind::Search.index()];
        for file in &mut self.files[Kind::Search.index()] {
            file.write_all("x\n".repeat(records).as_bytes())
                .and_then(|()| file.flush())
                .expect("the file can be written");
        }
    }

    /// Produces only these records. The stream does not advance.
    pub(super) fn send(&mut self, broker: &Broker, records: &[Record]) {
        let producer = self.producer.take().unwrap_or_else(|| broker.producer());
        for kind in Kind::ALL {
            let of_kind = || records.iter().filter(|record| record.kind == kind);
            let sent = of_kind().map(|record| {
                let partition = Some(self.partition_of(record));
                (&record.key, &record.payload, partition)
            });
            let count = producer.produce(&self.topics[kind.index()], sent);
            self.produced[kind.index()] += u64::try_from(count).expect("invariant: a small count");
            for record in of_kind() {
                let partition = usize::try_from(self.partition_of(record))
                    .expect("invariant: partitions count from 0");
                let file = &mut self.files[kind.index()][partition];
                file.write_all(&record.payload)
                    .and_then(|()| file.write_all(b"\n"))
                    .expect("the file can be written");
            }
        }
        self.producer = Some(producer);
        for file in self.files.iter_mut().flatten() {
            file.flush().expect("the file can be written");
        }
    }
}

/// Settings of the traffic of all streams.
fn settings(rate: f64, ago: Millis) -> TrafficSettings {
    TrafficSettings {
        seed: 3,
        start: EventTime(wall_now().0).minus(ago),
        searches_per_second: rate,
        ..TrafficSettings::default()
    }
}
