//! Invariants of the engine that hold for any input: properties over random logs, and worked
//! examples where concrete numbers are clearer.
//!
//! Records are written as JSON and decoded in the same way as live records, so the tests exercise
//! the code that runs behind a consumer.

mod brute_force;
mod cardinality;
mod conservation;
mod conversions;
mod correlation;
mod cost;
mod determinism;
mod eligibility;
mod evaluators;
mod evidence;
mod fleet;
mod fleet_evidence;
mod handover;
mod histograms;
mod hostile;
mod incident_cases;
mod incident_properties;
mod incidents;
mod interleaving;
mod joins;
mod labelling;
mod log;
mod merging;
mod objectives;
mod preparation;
mod query_stats;
mod recovery;
mod reordering;
mod scores;
mod spans;
mod units;
mod unjudged;
mod versions;
mod watermark;
mod windows;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rankgauge_core::decode::Formats;
use rankgauge_core::engine::money::PriceTable;
use rankgauge_core::engine::partition::Resume;
use rankgauge_core::engine::position::Topics;
use rankgauge_core::engine::settings::{Detection, JoinLimits, Settings, WindowSpec};
use rankgauge_core::engine::settings::{Ranges, Rolling};
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::{Engine, Input, Position, Registry};
use rankgauge_core::event::Kind;
use rankgauge_core::event::Limits;
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::Rules;
use rankgauge_core::records;
use rankgauge_core::time::WallTime;
use rankgauge_serve::collect::{Names, collect};
use rankgauge_serve::json::Json;

/// Start time of every test, in milliseconds since the epoch.
const START: i64 = 1_750_000_000_000;

/// Settings of all tests, in milliseconds.
const OUT_OF_ORDERNESS: i64 = 5_000;
const FEEDBACK_WINDOW: i64 = 20_000;
const IDLE_TIMEOUT: i64 = 10_000;
const MAX_FUTURE_SKEW: i64 = 60_000;

const GOLD: &str = r#"{"version": "1", "queries": [
    {"query_id": "g0", "query_text": "용도지역 변경", "query_type": "keyword",
     "ground_truth": {"d0": 3, "d1": 1, "d2": 0}},
    {"query_id": "g1", "query_text": "건폐율", "query_type": "question",
     "ground_truth": {"d3": 2, "d1": 1, "d4": 1}},
    {"query_id": "g2", "query_text": "하천구역", "ground_truth": {"d5": 1}}
]}"#;

fn millis(value: i64) -> Duration {
    Duration::from_millis(u64::try_from(value).expect("not negative"))
}

fn window(name: &str, seconds: u64) -> WindowSpec {
    WindowSpec {
        name: name.into(),
        length: Duration::from_secs(seconds),
    }
}

fn settings() -> Settings {
    let measures = "P@1 R@5 nDCG@5 RR Judged@3 CTR CTR@1 ClickRR MeanClickRR IPWClicks Abandoned \
                    ZeroResult SAT(dwell=2) Converted Reformulated(within=5) ThumbsUp Satisfied \
                    Rating SessionSuccess";
    Settings {
        topics: Topics::default(),
        conversion_window: None,
        measures: Measure::parse_list(measures).expect("known measures"),
        slices: vec!["query_type".into(), "device".into()],
        version_labels: Vec::new(),
        labelling: None,
        judging: Rules::default(),
        windows: vec![window("10s", 10), window("2m", 120)],
        rolling: Rolling::All,
        ranges: Ranges::All,
        out_of_orderness: millis(OUT_OF_ORDERNESS),
        feedback_window: millis(FEEDBACK_WINDOW),
        idle_timeout: millis(IDLE_TIMEOUT),
        max_future_skew: millis(MAX_FUTURE_SKEW),
        memory: 256 << 20,
        join_limits: JoinLimits {
            feedback_per_search: 1_000,
            searches_per_session: 1_000,
            interactions_per_session: 10_000,
        },
        latency_buckets: vec![0.1, 0.5, 1.0],
        prices: PriceTable::default(),
        click_weights: vec![1.0, 2.0, 4.0],
        expected_clicks: vec![0.3, 0.1],
        min_samples: 0,
        experiments: Vec::new(),
        detection: Detection::default(),
        objectives: Vec::new(),
        series_per_family: 10_000,
        values_per_label: 200,
        record_limits: Limits {
            record_bytes: 1 << 20,
            results_per_search: 1_000,
        },
    }
}

/// Samples by name and labels, with their values as text.
type Samples = BTreeMap<String, String>;

/// State shared by the engines of one process.
#[derive(Clone)]
struct World {
    settings: Arc<Settings>,
    registry: Arc<Registry>,
    gold: Arc<GoldSet>,
}

impl World {
    fn new(settings: Settings) -> Self {
        let gold = gold::parse("gold.json", GOLD.as_bytes(), &gold::Options::default());
        Self {
            registry: Arc::new(Engine::registry(&settings)),
            settings: Arc::new(settings),
            gold: Arc::new(gold.expect("a valid gold set")),
        }
    }

    /// Engine that owns no partition yet.
    fn engine(&self) -> Engine {
        let mut engine = Engine::new(
            Arc::clone(&self.settings),
            Arc::clone(&self.registry),
            WallTime(START),
        );
        engine.apply(Input::Gold(Arc::clone(&self.gold)));
        engine
    }

    /// All samples that `snapshot` exposes. Two samples must not have the same name and labels:
    /// Prometheus would reject them.
    #[track_caller]
    fn samples(&self, snapshot: &Snapshot) -> Samples {
        let names = Names {
            settings: Arc::clone(&self.settings),
            registry: Arc::clone(&self.registry),
            topics: vec!["search.log".into(), "search.feedback".into()],
        };
        let mut sink = Json::default();
        collect(snapshot, &names, WallTime(START), &mut sink);
        let mut samples = Samples::new();
        for sample in sink.into_samples() {
            let labels: Vec<String> = sample
                .labels
                .iter()
                .map(|(name, value)| format!("{name}={value:?}"))
                .collect();
            let name = format!("{}{{{}}}", sample.name, labels.join(","));
            let name = name.trim_start_matches("rankgauge_").to_owned();
            let before = samples.insert(name.clone(), sample.value.get().to_owned());
            assert_eq!(before, None, "{name} is exposed twice");
        }
        samples
    }
}

/// Samples that only grow. They must be exact regardless of which engine did the work.
fn counters(samples: &Samples) -> Samples {
    let is_counter = |name: &str| {
        let family = name.split('{').next().unwrap_or(name);
        family.ends_with("_total") || family.starts_with("search_latency_seconds")
    };
    samples
        .iter()
        .filter(|(name, _)| is_counter(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// First samples in which `found` and `expected` differ, in readable form.
fn difference(found: &Samples, expected: &Samples) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    names
        .into_iter()
        .filter(|name| found.get(*name) != expected.get(*name))
        .map(|name| {
            format!(
                "{name}: {:?}, expected {:?}",
                found.get(name),
                expected.get(name)
            )
        })
        .take(8)
        .collect()
}

/// Number of records of a kind that have an outcome or are pending.
fn accounted(snapshot: &Snapshot, kind: Kind) -> u64 {
    let outcomes: u64 = snapshot
        .totals
        .events
        .outcomes(kind)
        .iter()
        .map(|(_, count)| count)
        .sum();
    outcomes + snapshot.pending[kind.index()]
}

fn outcome(snapshot: &Snapshot, kind: Kind, name: &str) -> u64 {
    let outcomes = snapshot.totals.events.outcomes(kind);
    let found = outcomes.iter().find(|(known, _)| *known == name);
    found.expect("a known outcome").1
}

fn read(engine: &mut Engine, kind: Kind, partition: i32, offset: i64, payload: &str) {
    let at = Position { partition, offset };
    // The engine counts an invalid record. The tests check that counter.
    let record = (kind, at, payload.as_bytes());
    records::apply(engine, &Formats::NATIVE, [record], |_, _, _| ());
}

fn read_search(engine: &mut Engine, partition: i32, offset: i64, payload: &str) {
    read(engine, Kind::Search, partition, offset, payload);
}

fn read_feedback(engine: &mut Engine, partition: i32, offset: i64, payload: &str) {
    read(engine, Kind::Feedback, partition, offset, payload);
}

fn tick(engine: &mut Engine, wall: i64) {
    engine.apply(Input::Tick {
        wall: WallTime(wall),
        others: None,
    });
}

fn lag(engine: &mut Engine, kind: Kind, partition: i32, records: u64) {
    engine.apply(Input::Lag {
        kind,
        partition,
        records,
    });
}

/// Assigns a partition that is read from its first record on.
fn assign(engine: &mut Engine, partition: i32) {
    let resume = Resume {
        counted: [Some(0), Some(0)],
        ..Resume::default()
    };
    engine.apply(Input::Assigned { partition, resume });
}

/// Reports to `engines` that every partition is read to its end. Advances time until nothing is
/// pending.
fn drain(engines: &mut [&mut Engine], partitions: i32, mut wall: i64) -> i64 {
    for _ in 0..60 {
        wall += 5_000;
        for engine in engines.iter_mut() {
            for partition in 0..partitions {
                for kind in Kind::ALL {
                    lag(engine, kind, partition, 0);
                }
            }
            tick(engine, wall);
        }
    }
    wall
}
