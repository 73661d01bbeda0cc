//! Configuration: four layers, merged and checked into one value.
//!
//! Built-in defaults < YAML files, in the order given < environment (`RANKGAUGE__KAFKA__BROKERS`,
//! two underscores between levels) < command line (`kafka.brokers`). Sections merge key by key; a
//! list replaces the list of the layer below. All problems of all layers are reported at once, with
//! file and line, and unknown keys are problems. The result is checked completely; nothing
//! downstream checks it again.
//!
//! The path of a value: `layers` merges text and records its origin; `reader` parses text into
//! values and collects problems; one module for each part of the result defines the keys, their
//! defaults and the checks across keys. Only this module knows keys. It must not know the effects
//! of the values: it opens no connection, and reads no file but those it is given. [`settings`]
//! returns every value with its place, for users.

mod detection;
mod duration;
mod engine;
mod feedback;
mod formats;
mod goals;
mod judging;
mod kafka;
mod layers;
mod objectives;
mod otlp;
mod probe;
mod problem;
mod reader;
mod setting;
mod size;
mod summary;
mod web;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tracing::level_filters::LevelFilter;

use rankgauge_core::decode::Formats;
use rankgauge_core::detection::FalseAlarms;
use rankgauge_core::engine::settings::{Rolling, Settings};
use rankgauge_core::gold::{Format, Grade, Options};
use rankgauge_core::measure::Measure;
use rankgauge_probe::Probe;
use rankgauge_serve::log_level::LOG_LEVELS;
use rankgauge_serve::target::Target;

pub use goals::Goal;
pub use problem::{ConfigError, Place, Problem};
pub use setting::{Setting, SettingValue};
pub use size::format as format_bytes;
pub use web::web_config;

use layers::{Node, Tree};
use reader::Reader;

/// The whole configuration, checked. [`Config::default`] holds the built-in defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Kafka cluster and topics.
    pub kafka: rankgauge_kafka::Settings,
    /// Record formats of the topics.
    pub formats: Formats,
    /// Worker threads, each with its own consumer; 1 to 256.
    pub workers: usize,
    /// Interval between commits of the offsets of counted records.
    pub commit_interval: Duration,
    /// Interval at which a worker publishes the snapshot that a scrape exposes.
    pub publish_interval: Duration,
    /// Time limit of a shutdown; it is aborted after that.
    pub shutdown_timeout: Duration,
    /// Folder for checkpoints; without one, counters start at 0 after every restart.
    pub checkpoints: Option<PathBuf>,
    /// Sources of judgements.
    pub gold: Gold,
    /// Settings of the engine.
    pub engine: Settings,
    /// Targets of computed measures.
    pub targets: Vec<Target>,
    /// Measures whose lowest tier is the overall tier of a run in offline evaluation.
    pub tier_measures: Vec<Measure>,
    /// Goals of a run in offline evaluation.
    pub goals: Vec<Goal>,
    /// Accepted false alarms of the detection of drops.
    pub false_alarms: FalseAlarms,
    /// Address that serves `/metrics`, `/healthz` and `/readyz`.
    pub metrics_listen: SocketAddr,
    /// Rolling scores that the listener exposes.
    pub rolling: Rolling,
    /// Web configuration of that listener; see [`web_config`].
    pub metrics_web: Option<PathBuf>,
    /// Address that serves the API and accepts commands; `None` if it is disabled.
    pub admin_listen: Option<SocketAddr>,
    /// Web configuration of that listener; see [`web_config`].
    pub admin_web: Option<PathBuf>,
    /// Probe of search endpoints.
    pub probe: Probe,
    /// Log settings.
    pub log: Log,
}

/// Sources of judgements.
#[derive(Clone, Debug, PartialEq)]
pub struct Gold {
    /// Files and folders; without any, no search is judged.
    pub paths: Vec<PathBuf>,
    /// Options for reading the files.
    pub options: Options,
    /// Interval between checks of the files for changes.
    pub reload_interval: Duration,
}

/// Settings of the log on standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// One line of text or one JSON object for each message.
    pub format: LogFormat,
    /// The least important level that is written.
    pub level: LevelFilter,
}

/// Format of log messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text, for users.
    Text,
    /// JSON, for log collectors.
    Json,
}

/// Merges all layers and checks the result.
///
/// Of the environment, only variables whose name begins with `RANKGAUGE__` are read. A variable that
/// begins with `RANKGAUGE_` and would be a key with more underscores is a problem. There and in
/// `overrides`, which are (key, value) pairs such as (`kafka.brokers`, `a:9092,b:9092`), lists are
/// written with commas. In names of variables below `RANKGAUGE__KAFKA__PROPERTIES__`, an underscore
/// stands for a dot: `…__SASL_PASSWORD` is `sasl.password`.
///
/// # Errors
/// All problems in files, environment and overrides.
pub fn load(
    files: &[PathBuf],
    environment: impl Iterator<Item = (String, String)>,
    overrides: &[(String, String)],
) -> Result<Config, ConfigError> {
    let (tree, problems) = layers::merge("", files, environment, overrides);
    let mut reader = Reader::new(tree, problems);
    let config = read(&mut reader);
    let problems = reader.finish();
    if problems.is_empty() {
        Ok(config)
    } else {
        Err(ConfigError { problems })
    }
}

/// The environment variables of this process that [`load`] reads. Unlike [`std::env::vars`], it
/// does not panic if one is not UTF-8: its value then has replacement characters.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name
            .into_string()
            .ok()
            .filter(|name| name.starts_with(layers::NEAR_PREFIX))?;
        Some((name, value.to_string_lossy().into_owned()))
    })
}

/// Every setting with its value and its place, sorted by key.
///
/// # Errors
/// As for [`load`].
pub fn settings(
    files: &[PathBuf],
    environment: impl Iterator<Item = (String, String)>,
    overrides: &[(String, String)],
) -> Result<Vec<Setting>, ConfigError> {
    let environment: Vec<(String, String)> = environment.collect();
    load(files, environment.iter().cloned(), overrides)?;
    let (tree, _) = layers::merge(REFERENCE, files, environment.into_iter(), overrides);
    Ok(setting::all(&tree))
}

/// All known keys, sorted. Elements of lists of sections are written as `targets[0].measure`,
/// user-defined names as `components.NAME.stages`.
pub fn known_keys() -> Vec<String> {
    // One empty element of every repeatable section, because the reader then requests its keys.
    let name = "NAME".to_owned();
    let specimen = [
        ("components", Node::Section(vec![name.clone()])),
        ("components.NAME", Node::Section(Vec::new())),
        ("experiments", Node::List(1)),
        ("experiments[0]", Node::Section(Vec::new())),
        ("experiments[0].arms", Node::List(1)),
        ("experiments[0].arms[0]", Node::Section(Vec::new())),
        ("goals", Node::List(1)),
        ("goals[0]", Node::Section(Vec::new())),
        ("prices", Node::List(1)),
        ("prices[0]", Node::Section(Vec::new())),
        ("probe.targets", Node::List(1)),
        ("probe.targets[0]", Node::Section(Vec::new())),
        ("targets", Node::List(1)),
        ("targets[0]", Node::Section(Vec::new())),
    ];
    let nodes = specimen
        .into_iter()
        .map(|(path, node)| (path.to_owned(), node))
        .collect();
    let mut reader = Reader::new(
        Tree {
            nodes,
            ..Tree::default()
        },
        Vec::new(),
    );
    read(&mut reader);
    reader
        .asked()
        .iter()
        .filter(|key| !key.ends_with(']'))
        .cloned()
        .collect()
}

/// Parses `500ms`, `30s`, `10m` or `24h`, for the command line.
///
/// # Errors
/// A text that describes the expected format.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    duration::parse(text).ok_or_else(|| duration::EXPECTED.to_owned())
}

impl Default for Config {
    fn default() -> Self {
        read(&mut Reader::new(Tree::default(), Vec::new()))
    }
}

impl Config {
    /// Summary for users: a line for each part, with secrets masked.
    pub fn summary(&self) -> String {
        summary::write(self)
    }
}

/// The reference configuration, which consists of the defaults.
const REFERENCE: &str = include_str!("../config/rankgauge.yaml");

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

fn read(reader: &mut Reader) -> Config {
    let mut engine = engine::read(reader);
    let workers = reader.whole("workers", 1, 1..=256);
    let elements = reader.sections("targets");
    let targets = judging::targets(reader, &elements, &engine.measures);
    let tier_measures = goals::tier_measures(reader, &engine.measures, &targets);
    let goals = goals::goals(reader, &engine.measures);
    let (detection, false_alarms) = detection::read(reader, &engine, &targets, workers);
    engine.detection = detection;
    engine.objectives = objectives::read(reader, &elements, &engine);
    engine.detection.means = objectives::means(&engine.objectives);
    feedback::default_guardrails(reader, &mut engine);
    let intervals = Duration::from_millis(10)..=HOUR;
    let metrics_listen = metrics_listen(reader);
    let admin_listen = admin_listen(reader, metrics_listen);
    Config {
        kafka: kafka::read(reader),
        formats: formats::read(reader),
        workers,
        commit_interval: reader.duration("commit_interval", 5 * SECOND, &intervals),
        publish_interval: reader.duration("publish_interval", SECOND, &intervals),
        shutdown_timeout: reader.duration("shutdown_timeout", 10 * SECOND, &intervals),
        checkpoints: path(reader, "checkpoint.folder"),
        gold: gold(reader),
        targets,
        tier_measures,
        goals,
        engine,
        false_alarms,
        metrics_listen,
        rolling: reader.choice(
            "metrics.rolling",
            Rolling::default(),
            &[
                ("all", Rolling::All),
                ("whole", Rolling::Whole),
                ("none", Rolling::None),
            ],
        ),
        metrics_web: path(reader, "metrics.web_config_file"),
        admin_listen,
        admin_web: path(reader, "admin.web_config_file"),
        probe: probe::read(reader),
        log: log(reader),
    }
}

/// The path that `key` names, if it is given.
fn path(reader: &mut Reader, key: &str) -> Option<PathBuf> {
    reader.parsed(key, |text| {
        if text.is_empty() {
            Err("is empty; name a path, or leave the key out")
        } else {
            Ok(PathBuf::from(text))
        }
    })
}

/// Default address of the metrics: all interfaces, because Prometheus runs on another machine.
const METRICS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 9468);

/// Default address of the API: the loopback, because query texts are confidential.
const ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9469);

fn metrics_listen(reader: &mut Reader) -> SocketAddr {
    let address = reader.parsed("metrics.listen", |text| {
        text.parse()
            .map_err(|_| format!("is not an address and port, as {METRICS}"))
    });
    address.unwrap_or(METRICS)
}

fn admin_listen(reader: &mut Reader, metrics: SocketAddr) -> Option<SocketAddr> {
    let path = "admin.listen";
    let address = reader.parsed(path, |text| match text {
        "" | "none" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| format!("is neither none nor an address and port, as {ADMIN}")),
    });
    let address = address.unwrap_or(Some(ADMIN));
    if address == Some(metrics) && metrics.port() != 0 {
        let text = format!("\"{metrics}\" is used by both listeners; give each its own port");
        reader.conflict(&[path, "metrics.listen"], text);
    }
    address
}

fn gold(reader: &mut Reader) -> Gold {
    let mut paths = Vec::new();
    for (element, path) in reader.list("gold.paths", &[]) {
        if path.is_empty() {
            reader.problem(&element, "is empty; name a file or a folder");
        } else {
            // A path in a file is relative to that file, an absolute one replaces the folder.
            let folder = reader.folder(&element).unwrap_or_default();
            paths.push(folder.join(path));
        }
    }
    Gold {
        paths,
        options: Options {
            relevance_level: reader.parsed("gold.relevance_level", |text| {
                text.parse().ok().and_then(Grade::new).ok_or_else(|| {
                    let (lowest, highest) = (Grade::MIN, Grade::MAX);
                    format!("is not a grade; write a number from {lowest} to {highest}")
                })
            }),
            format: reader
                .parsed("gold.format", |text| match text {
                    "auto" => Ok(None),
                    named => named
                        .parse::<Format>()
                        .map(Some)
                        .map_err(|error| format!("is neither auto nor a format: {error}")),
                })
                .flatten(),
        },
        reload_interval: reader.duration(
            "gold.reload_interval",
            10 * SECOND,
            &(Duration::from_millis(10)..=24 * HOUR),
        ),
    }
}

fn log(reader: &mut Reader) -> Log {
    Log {
        format: reader.choice(
            "log.format",
            LogFormat::Text,
            &[("text", LogFormat::Text), ("json", LogFormat::Json)],
        ),
        level: reader.choice("log.level", LevelFilter::INFO, &LOG_LEVELS),
    }
}
