//! The checked configuration.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::goals::Goal;
use super::log_settings::Log;
use rankgauge_core::decode::Formats;
use rankgauge_core::decode::mapped::Mapped;
use rankgauge_core::detection::FalseAlarms;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::sources::RepartitionKey;
use rankgauge_core::gold::Options;
use rankgauge_core::measure::Measure;
use rankgauge_probe::Probe;
use rankgauge_serve::target::Target;

/// The whole configuration, checked. [`Config::default`] holds the built-in defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Kafka cluster and topics.
    pub kafka: rankgauge_kafka::Settings,
    /// Id by which forwarders distribute records.
    pub repartition_key: RepartitionKey,
    /// Record formats of the topics.
    pub formats: Formats,
    /// Schema registry.
    pub registry: Option<crate::registry::Settings>,
    /// Mappings of the section `formats`, by name.
    pub mappings: BTreeMap<String, Arc<Mapped>>,
    /// Worker threads, each with its own consumer; 1 to 256.
    pub workers: usize,
    /// True to commit the offsets of a topic of which no record decodes.
    pub commit_undecodable: bool,
    /// Interval between commits of the offsets of counted records.
    pub commit_interval: Duration,
    /// Interval at which a worker publishes the snapshot that a scrape exposes.
    pub publish_interval: Duration,
    /// Time limit of a shutdown; it is aborted after that.
    pub shutdown_timeout: Duration,
    /// Folder for checkpoints; without one, counters start at 0 after every restart.
    pub checkpoints: Option<PathBuf>,
    /// State that the replicas share; `None` without a topic.
    pub state: Option<State>,
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
    /// Web configuration of that listener; see [`web_config`](super::web_config).
    pub metrics_web: Option<PathBuf>,
    /// Address that serves the API and accepts commands; `None` if it is disabled.
    pub admin_listen: Option<SocketAddr>,
    /// Web configuration of that listener; see [`web_config`](super::web_config).
    pub admin_web: Option<PathBuf>,
    /// True if an admin listener without authentication is accepted on any address.
    pub allow_unauthenticated: bool,
    /// Gateway for events over HTTP.
    pub gateway: rankgauge_gateway::Settings,
    /// Requests for labels.
    pub labelling: Option<Labelling>,
    /// Probe of search endpoints.
    pub probe: Probe,
    /// Address that serves the metrics of a probe; `None` if it serves none.
    pub probe_listen: Option<SocketAddr>,
    /// Log settings.
    pub log: Log,
}

/// State topic of the fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Name of the topic.
    pub topic: String,
    /// Interval between publications.
    pub interval: Duration,
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
    /// Maximum duration of a read of the files.
    pub load_timeout: Duration,
}

/// Requests for labels, beside the settings of the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelling {
    /// Topic of the requests.
    pub topic: String,
    /// File with the key of their signatures.
    pub key_file: Option<PathBuf>,
}
