//! Prediction of memory, series and the size of a scrape for a stated load.
//!
//! The prediction is a measurement: an engine with the settings in question processes synthetic
//! events of the stated shape, and its memory and its exposition are taken. Times are event times, so
//! it takes a moment, however long the windows are.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::{self, Config};
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::snapshot::Memory;
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::{Kind, Limits};
use rankgauge_core::gold::{self, GoldSet, Options};
use rankgauge_core::number::real;
use rankgauge_core::records;
use rankgauge_core::time::WallTime;
use rankgauge_eval::text_layout::count_of;
use rankgauge_kafka::batches::{Accepted, Codec};
use rankgauge_serve::collect::{Names, collect};
use rankgauge_serve::text::Text as Exposition;
use serde_json::json;

/// Load to predict for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Searches per second, over all workers. Each has one click.
    pub searches_per_second: f64,
    /// Results of a search.
    pub results: usize,
    /// Variants in use at the same time.
    pub variants: usize,
    /// Values of each slice.
    pub slice_values: usize,
}

/// Predicted sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Bytes of pending and closed searches with their feedback and sessions, over all workers.
    pub join_bytes: f64,
    /// Bytes of searches that wait for conversions, over all workers.
    pub conversion_bytes: f64,
    /// Bytes of series, windows and histograms, of one worker.
    pub totals_bytes: u64,
    /// Exposed series.
    pub series: usize,
    /// Bytes of a scrape.
    pub scrape_bytes: usize,
}

impl Prediction {
    /// Bytes of one worker, if `workers` share the load.
    pub fn worker_bytes(&self, workers: usize) -> f64 {
        let workers = real(u64::try_from(workers).unwrap_or(u64::MAX)).max(1.0);
        (self.join_bytes + self.conversion_bytes) / workers + real(self.totals_bytes)
    }
}

/// Start of the synthetic events.
const START: i64 = 1_700_000_000_000;
/// Maximum number of combinations of labels that are tried. Far more than the limits on series
/// admit by default.
const MAX_COMBINATIONS: usize = 400;
/// Number of searches whose memory is taken.
const SEARCHES: i64 = 3_000;
/// Searches of a session.
const SESSION: i64 = 3;

/// Predicts the sizes for `load` with these settings.
pub fn predict(settings: &Settings, load: &Load) -> Prediction {
    let settings = Settings {
        // Without a limit: the prediction is of what the load needs.
        memory: usize::MAX / 4,
        record_limits: Limits {
            record_bytes: usize::MAX,
            results_per_search: usize::MAX,
        },
        ..settings.clone()
    };
    let mut trial = Trial::new(settings, load);
    trial.fill_windows();
    let totals = trial.memory().totals;
    let (series, scrape_bytes) = trial.scrape();
    let (per_search, per_search_of_conversions) = trial.bytes_per_search();
    let window = trial.settings.feedback_window + trial.settings.out_of_orderness;
    let waiting = (trial.settings.conversion_window).map_or(0.0, |it| it.as_secs_f64());
    Prediction {
        conversion_bytes: per_search_of_conversions * load.searches_per_second * waiting,
        join_bytes: per_search * load.searches_per_second * window.as_secs_f64(),
        totals_bytes: totals,
        series,
        scrape_bytes,
    }
}

/// Engine that processes synthetic events.
struct Trial {
    settings: Arc<Settings>,
    engine: Engine,
    names: Names,
    load: Load,
    /// Number of searches so far.
    searches: i64,
}

impl Trial {
    fn new(settings: Settings, load: &Load) -> Self {
        let settings = Arc::new(settings);
        let registry = Arc::new(Engine::registry(&settings));
        let wall = WallTime(START);
        let mut engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), wall);
        engine.apply(Input::Gold(Arc::new(gold_set(load.results))));
        Self {
            names: Names {
                settings: Arc::clone(&settings),
                registry,
                topics: ["search", "feedback"].map(str::to_owned).into(),
            },
            settings,
            engine,
            load: *load,
            searches: 0,
        }
    }

    /// Sends searches with every combination of labels in every pane of every window.
    fn fill_windows(&mut self) {
        let mut times = Vec::new();
        for window in &self.settings.windows {
            let length = i64::try_from(window.length.as_millis()).unwrap_or(i64::MAX);
            times.extend((0..60).map(|pane| START - pane * (length / 60).max(1_000)));
        }
        times.sort_unstable();
        times.dedup();
        let variants = self.load.variants.clamp(1, MAX_COMBINATIONS);
        let values = self.load.slice_values.clamp(1, MAX_COMBINATIONS);
        let combinations = variants
            .max(values)
            .max((variants * values).min(MAX_COMBINATIONS));
        for (round, at) in times.into_iter().enumerate() {
            self.tick(at);
            // All combinations in the first round; later enough to fill the pane of each series.
            let number = if round == 0 {
                combinations
            } else {
                variants.max(values)
            };
            for combination in 0..number {
                self.search(
                    at,
                    combination % variants,
                    combination / variants + combination % values,
                );
            }
        }
        self.tick(START);
    }

    /// Bytes of a search that is pending for a feedback window, and of one that is retained for
    /// another. Bytes of one that waits for conversions.
    fn bytes_per_search(&mut self) -> (f64, f64) {
        let window = i64::try_from(self.settings.feedback_window.as_millis()).unwrap_or(i64::MAX);
        let late = i64::try_from(self.settings.out_of_orderness.as_millis()).unwrap_or(i64::MAX);
        // Nothing of before is left.
        let start = START + 3 * (window + late + 2_000);
        self.pass(start);
        let (empty, waiting) = (self.memory().joins, self.engine.conversion_bytes());
        for number in 0..SEARCHES {
            self.search(start + number % 1_000, 0, 0);
        }
        let pending = self.memory().joins;
        self.pass(start + window + late + 1_500);
        let waiting = self.engine.conversion_bytes().saturating_sub(waiting);
        let closed = self.memory().joins.saturating_sub(waiting);
        let bytes = pending.saturating_sub(empty) + closed.saturating_sub(empty);
        let searches = real(u64::try_from(SEARCHES).unwrap_or(1));
        (real(bytes) / searches, real(waiting) / searches)
    }

    /// Sends a search with a click.
    fn search(&mut self, at: i64, variant: usize, value: usize) {
        let number = self.searches;
        self.searches += 1;
        let id = format!("capacity-{number:020}");
        let results: Vec<_> = (0..self.load.results)
            .map(|rank| json!({ "id": format!("document-{rank}") }))
            .collect();
        let value = format!("value {}", value % self.load.slice_values.max(1));
        let slices = self.settings.slices.iter();
        let slices = slices.filter(|slice| *slice != Settings::SYNTHETIC);
        let labels: BTreeMap<&str, &str> = slices.map(|it| (it.as_str(), value.as_str())).collect();
        let session = format!("session-{}", number / SESSION);
        let step = i32::try_from(number % 500).unwrap_or(0);
        let search = json!({
            "query_id": id, "ts": at, "query_key": "query", "variant": format!("variant {variant}"),
            "labels": labels, "session_id": session, "latency_ms": 5.0 * 1.01_f64.powi(step),
            "results": results,
        });
        let feedback = json!({
            "event_id": format!("event-{number:020}"), "ts": at, "query_id": id,
            "session_id": session, "type": "click", "position": 1,
        });
        let position = Position {
            partition: 0,
            offset: number,
        };
        let records = [(Kind::Search, search), (Kind::Feedback, feedback)];
        let records = records.map(|(kind, event)| (kind, event.to_string().into_bytes()));
        let records = records
            .each_ref()
            .map(|(kind, event)| (*kind, position, event));
        records::apply(&mut self.engine, &Formats::NATIVE, records, |_, _, _| ());
    }

    /// Advances event time to `at`.
    fn pass(&mut self, at: i64) {
        self.tick(at);
        self.search(at, 0, 0);
        while self.engine.catch_up() {}
    }

    fn tick(&mut self, at: i64) {
        let wall = WallTime(at);
        self.engine.apply(Input::Tick { wall, others: None });
        while self.engine.catch_up() {}
    }

    fn memory(&self) -> Memory {
        self.engine.snapshot().memory
    }

    /// Number of exposed series, and bytes of a scrape.
    fn scrape(&self) -> (usize, usize) {
        let mut sink = Exposition::with_capacity(1 << 16);
        collect(
            &self.engine.snapshot(),
            &self.names,
            WallTime(START),
            &mut sink,
        );
        let text = sink.into_string();
        let series = text.lines().filter(|line| !line.starts_with('#')).count();
        (series, text.len())
    }
}

/// Gold set of one query, whose results are judged.
fn gold_set(results: usize) -> GoldSet {
    let documents: Vec<String> = (0..results.clamp(1, 100))
        .map(|rank| format!("\"document-{rank}\": {}", rank % 3))
        .collect();
    let text = format!(
        "{{\"queries\": [{{\"query_id\": \"query\", \"query_text\": \"query\", \
         \"ground_truth\": {{{}}}}}]}}",
        documents.join(", ")
    );
    gold::parse("capacity.json", text.as_bytes(), &Options::default())
        .unwrap_or_else(|_| GoldSet::empty())
}

/// Memory that a process needs besides `engine.memory` of its workers, in bytes: the program, the
/// buffers of the Kafka client, and a scrape.
const PROCESS_BYTES: u64 = 100 << 20;

/// Describes the prediction for a load, with the measures to take where it exceeds the budget.
pub fn describe(config: &Config, load: &Load) -> String {
    let predicted = predict(&config.engine, load);
    let workers = real(u64::try_from(config.workers).unwrap_or(1));
    let (join, totals) = (predicted.join_bytes / workers, real(predicted.totals_bytes));
    let waiting = predicted.conversion_bytes / workers;
    let budget = real(u64::try_from(config.engine.memory).unwrap_or(u64::MAX));
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let mut text = format!(
        "load        {} searches a second with {}, {}, {} of each slice\n\
         memory      {:.1} MiB for each worker: {:.1} MiB pending and closed searches{}, {:.1} MiB \
         series and windows; engine.memory is {:.0} MiB\n\
         series      {} in {:.2} MiB\n",
        load.searches_per_second,
        count_of(load.results, "result", "results"),
        count_of(load.variants, "variant", "variants"),
        count_of(load.slice_values, "value", "values"),
        mib(join + waiting + totals),
        mib(join),
        if config.engine.conversion_window.is_some() {
            format!(
                ", {:.1} MiB searches that wait for conversions",
                mib(waiting)
            )
        } else {
            String::new()
        },
        mib(totals),
        mib(budget),
        predicted.series,
        mib(real(u64::try_from(predicted.scrape_bytes).unwrap_or(0))),
    );
    if join + waiting + totals > budget {
        text.push_str(
            "warning: the load does not fit into engine.memory, and searches will be finalised \
             before the end of their feedback window; raise engine.memory, add workers or \
             replicas, or shorten engine.feedback_window or the list of measures\n",
        );
    }
    text
}

/// Memory that the process needs at most, in bytes, without the gold set and with batches of ordinary
/// producers.
pub fn process_bytes(config: &Config) -> u64 {
    let number = u64::try_from(config.workers).unwrap_or(u64::MAX);
    let budget = u64::try_from(config.engine.memory).unwrap_or(u64::MAX);
    let of_worker = budget.saturating_add(config.kafka.forwarder_bytes());
    number
        .saturating_mul(of_worker)
        .saturating_add(PROCESS_BYTES)
}

/// Describes the memory that the process needs at most.
pub fn describe_process(config: &Config) -> String {
    let bytes = |codec| {
        let topics = [Accepted::by_default(codec)];
        let bytes = config.kafka.fetched_bytes(&topics, 1);
        let workers = u64::try_from(config.workers).unwrap_or(u64::MAX);
        rounded(bytes.saturating_mul(workers))
    };
    format!(
        "memory      {} and the gold set: {} with engine.memory {}{}, and the process itself; \
         producers that are not trusted can cause up to {} more with compression.type \
         uncompressed of both topics, {} with snappy, {} with lz4, {} with gzip, {} with zstd or \
         producer (max.message.bytes 1048588, one broker; check --live reads the topics)\n",
        rounded(process_bytes(config)),
        count_of(config.workers, "worker", "workers"),
        config::format_bytes(config.engine.memory),
        forwarders(config),
        bytes(Codec::Uncompressed),
        bytes(Codec::Snappy),
        bytes(Codec::Lz4),
        bytes(Codec::Gzip),
        bytes(Codec::Any),
    )
}

/// Memory of the forwarders, if there are any.
fn forwarders(config: &Config) -> String {
    match config.kafka.forwarder_bytes() {
        0 => String::new(),
        bytes => format!(" and {} of a forwarder each", rounded(bytes)),
    }
}

/// Size for users, rounded up: `356 MiB`, `16 GiB`.
pub fn rounded(bytes: u64) -> String {
    let mebibytes = bytes.div_ceil(1 << 20);
    if mebibytes < 10_240 {
        format!("{mebibytes} MiB")
    } else {
        format!("{} GiB", mebibytes.div_ceil(1 << 10))
    }
}

/// Returns a warning if the process may need more than the memory `limit` of its container.
pub fn warning(config: &Config, limit: u64) -> Option<String> {
    let needed = process_bytes(config);
    (needed > limit).then(|| {
        format!(
            "warning: {} with engine.memory {}{} may need up to {} MiB with the process \
             itself, and the memory limit of this container is {} MiB; raise the limit or lower \
             engine.memory\n",
            count_of(config.workers, "worker", "workers"),
            config::format_bytes(config.engine.memory),
            forwarders(config),
            needed >> 20,
            limit >> 20
        )
    })
}
