//! Producer of synthetic traffic, to a cluster or to files for `replay`.
//!
//! The partition of a record depends on its key only. A search and its feedback therefore share a
//! partition, in Kafka and in files.
#![allow(
    clippy::disallowed_methods,
    reason = "the producer paces traffic by the clock"
)]

use std::fmt;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};

use crate::corpus::Corpus;
use crate::shop::Shop;
use crate::traffic::{Record, Traffic, TrafficSettings};
use rankgauge_core::event::Kind;
use rankgauge_core::number::real;
use rankgauge_core::text::count_of;
use rankgauge_core::time::EventTime;
use rankgauge_kafka::Settings;
use rankgauge_kafka::producer::Producer;

/// Library of the produced traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Korean law library with this number of gold queries.
    Law(usize),
    /// Web shop.
    Shop,
}

/// Options of the producer.
#[derive(Clone, Debug)]
pub struct ProduceOptions {
    /// Number of searches; their feedback is additional.
    pub searches: u64,
    /// Searches per second, in event time that begins now. If absent, records are produced at full
    /// speed, in event time that ends now.
    pub rate: Option<u32>,
    /// Seed of the random generator.
    pub seed: u64,
    /// Documents, queries and systems.
    pub library: Library,
    /// Path for the gold set, if it should be written.
    pub gold: Option<PathBuf>,
    /// Output folder for files, instead of a cluster.
    pub output: Option<PathBuf>,
    /// Number of partitions in the output files.
    pub partitions: u16,
}

/// Numbers of produced records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Produced {
    /// Number of search events.
    pub searches: u64,
    /// Number of feedback events.
    pub feedback: u64,
    /// Feedback events that are due after the last search, and are not produced.
    pub left_out: u64,
}

impl fmt::Display for Produced {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} and {} produced",
            count_of(self.searches, "search", "searches"),
            count_of(self.feedback, "feedback event", "feedback events")
        )?;
        if self.left_out > 0 {
            let left_out = count_of(self.left_out, "feedback event", "feedback events");
            write!(formatter, "; {left_out} due after the last search left out")?;
        }
        Ok(())
    }
}

/// Produces records according to `options`.
///
/// # Errors
/// If the cluster does not accept the records, or if a file cannot be written.
pub fn run(kafka: &Settings, options: &ProduceOptions, now: EventTime) -> anyhow::Result<Produced> {
    let settings = settings(options, now);
    let (mut traffic, gold) = match options.library {
        Library::Law(queries) => {
            let corpus = Arc::new(Corpus::generate(options.seed, queries));
            let gold = corpus.gold_json();
            (Traffic::new(corpus, settings), gold)
        }
        Library::Shop => {
            let shop = Arc::new(Shop::generate(options.seed));
            let gold = shop.gold_json();
            (Traffic::of_shop(shop, settings), gold)
        }
    };
    if let Some(path) = &options.gold {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        fs::write(path, gold).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let progress = ProgressBar::new(options.searches);
    progress.set_style(
        ProgressStyle::with_template(
            "{bar:40} {human_pos}/{human_len} searches, {per_sec}, {eta} left",
        )
        .context("invariant: the template is valid")?,
    );
    let mut limiter = RateLimiter::new(options.rate);
    let mut produced = Produced {
        searches: 0,
        feedback: 0,
        left_out: 0,
    };
    let records = bounded(&mut traffic, options.searches).inspect(|record| match record.kind {
        Kind::Search => {
            produced.searches += 1;
            progress.set_position(produced.searches);
        }
        Kind::Feedback => produced.feedback += 1,
    });
    if let Some(folder) = &options.output {
        to_files(folder, options.partitions, records)?;
    } else {
        let mut sink = KafkaSink::connect(kafka)?;
        for record in records {
            if record.kind == Kind::Search {
                limiter.wait();
            }
            sink.send(&record)?;
        }
        sink.finish()?;
    }
    progress.finish_and_clear();
    produced.left_out = traffic.pending_feedback(options.searches);
    Ok(produced)
}

/// Settings of traffic without events in the future.
fn settings(options: &ProduceOptions, now: EventTime) -> TrafficSettings {
    let defaults = TrafficSettings {
        seed: options.seed,
        ..TrafficSettings::default()
    };
    if let Some(rate) = options.rate {
        return TrafficSettings {
            start: now,
            searches_per_second: f64::from(rate),
            ..defaults
        };
    }
    let seconds = real(options.searches) / defaults.searches_per_second;
    // The random span can be a little longer; 5 % plus a minute is enough margin.
    let span = Duration::try_from_secs_f64(seconds * 1.05 + 60.0).unwrap_or_default();
    TrafficSettings {
        start: now.minus(span.into()),
        ..defaults
    }
}

/// Records of the first `searches` searches. The iterator ends before the next search.
fn bounded(traffic: &mut Traffic, searches: u64) -> impl Iterator<Item = Record> {
    let mut left = searches;
    traffic.take_while(move |record| match record.kind {
        Kind::Feedback => true,
        Kind::Search if left == 0 => false,
        Kind::Search => {
            left -= 1;
            true
        }
    })
}

/// Rate limiter for searches, with a resolution of a hundredth of a second.
struct RateLimiter {
    rate: Option<u32>,
    started: Instant,
    sent: u64,
}

impl RateLimiter {
    fn new(rate: Option<u32>) -> Self {
        Self {
            rate: rate.filter(|rate| *rate > 0),
            started: Instant::now(),
            sent: 0,
        }
    }

    fn wait(&mut self) {
        let Some(rate) = self.rate else { return };
        self.sent += 1;
        let due = Duration::from_millis(self.sent.saturating_mul(1_000) / u64::from(rate));
        let ahead = due.saturating_sub(self.started.elapsed());
        if ahead >= Duration::from_millis(10) {
            std::thread::sleep(ahead);
        }
    }
}

/// Partition of `key` among `partitions`, the same in every process.
fn partition_of(key: &str, partitions: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish() % partitions.max(1)
}

fn to_files(
    folder: &Path,
    partitions: u16,
    records: impl Iterator<Item = Record>,
) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let partitions = partitions.max(1);
    let mut files = Vec::new();
    for kind in Kind::ALL {
        for partition in 0..partitions {
            let path = folder.join(format!("{}-{partition}.jsonl", kind.name()));
            let file =
                File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            files.push(BufWriter::new(file));
        }
    }
    for record in records {
        let partition = usize::try_from(partition_of(&record.key, u64::from(partitions)))?;
        let file = &mut files[record.kind.index() * usize::from(partitions) + partition];
        file.write_all(&record.payload)?;
        file.write_all(b"\n")?;
    }
    for mut file in files {
        file.flush()?;
    }
    Ok(())
}

/// Producer of records to a cluster.
pub struct KafkaSink {
    producer: Producer,
    topics: [String; 2],
    partitions: [u64; 2],
}

impl KafkaSink {
    /// Connects to the cluster.
    ///
    /// # Errors
    /// If a topic is not available, or their numbers of partitions do not match.
    pub fn connect(kafka: &Settings) -> anyhow::Result<Self> {
        let properties = [("linger.ms", "5"), ("queue.buffering.max.kbytes", "65536")];
        let topics = Kind::ALL.map(|kind| kafka.topic(kind));
        let (producer, partitions) = Producer::connect(kafka, &properties, topics)?;
        kafka.check_partitions(partitions)?;
        let [searches, feedback] = partitions;
        Ok(Self {
            producer,
            topics: topics.map(str::to_owned),
            partitions: [u64::try_from(searches)?, u64::try_from(feedback)?],
        })
    }

    /// Sends a record, and waits while the queue of the producer is full.
    ///
    /// # Errors
    /// If the partition has no valid number.
    pub fn send(&mut self, record: &Record) -> anyhow::Result<()> {
        let partitions = self.partitions[record.kind.index()];
        let partition = i32::try_from(partition_of(&record.key, partitions))?;
        let topic = &self.topics[record.kind.index()];
        let payload = &record.payload;
        self.producer
            .send(topic, Some(partition), &record.key, payload);
        Ok(())
    }

    /// Waits until all records are delivered.
    ///
    /// # Errors
    /// If records were not delivered.
    pub fn finish(mut self) -> anyhow::Result<()> {
        Ok(self.producer.finish()?)
    }
}
