//! Configuration: four layers, merged and checked into one value.
//!
//! Built-in defaults < YAML files, in the order given < environment (`RANKGAUGE__KAFKA__BROKERS`,
//! two underscores between levels) < command line (`kafka.brokers`). Sections merge key by key; a
//! list replaces the list of the layer below. All problems of all layers are reported at once, with
//! file and line, and unknown keys are problems. The result is checked completely; nothing
//! downstream checks it again.
//!
//! The path of a value: `layers` merges text and records its origin; `reader` parses text into
//! values and collects problems; `keys` is the table of all keys;
//! one module for each part of the result checks across keys. Only this module knows keys. It must not know the effects
//! of the values: it opens no connection, and reads no file but those it is given and the schemas that
//! formats name. [`settings`]
//! returns every value with its place, for users.

mod checked;
pub mod container;
mod detection;
mod engine;
mod feedback;
mod formats;
mod gateway;
mod goals;
mod judging;
mod kafka;
mod key;
mod keys;
mod labelling;
mod layers;
mod log_settings;
mod objectives;
mod probe;
mod problem;
mod reader;
mod registry;
mod setting;
mod summary;
mod tokens;
mod units;
mod values;
mod web;

use std::path::PathBuf;
use std::time::Duration;

use rankgauge_core::decode::otlp::{FeedbackAction, Session};
use rankgauge_core::decode::{Format, Formats};
use rankgauge_core::engine::settings::Objective;
use rankgauge_core::event::{JudgmentTarget, Kind};
use rankgauge_core::gold::{Options, Unjudged};
use rankgauge_gateway::KeyBy;
use rankgauge_serve::web::{ReadConfig, Web};

pub use checked::{Config, Gold, Labelling, State};
pub use goals::Goal;
pub use key::{Entry, NAME, Shape};
pub use keys::all as keys;
pub use log_settings::{Log, LogFormat};
pub use problem::{ConfigError, Place, Problem};
pub use setting::{Setting, SettingValue};
pub use tokens::applications;
pub use units::{format_bytes, format_duration};
pub use web::{web_config, web_config_without_credentials};

use layers::Tree;
use reader::Reader;

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
    let mut reader = reader(tree, problems);
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

/// Parses `500ms`, `30s`, `10m` or `24h`, for the command line.
///
/// # Errors
/// A text that describes the expected format.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    units::parse_duration(text).ok_or_else(|| units::DURATION.to_owned())
}

impl Default for Config {
    fn default() -> Self {
        read(&mut reader(Tree::default(), Vec::new()))
    }
}

impl Config {
    /// Returns true if other machines reach the admin listener without authentication, and this is not
    /// accepted. `web` is its web configuration.
    pub fn is_admin_open(&self, web: &Web) -> bool {
        let is_public = self
            .admin_listen
            .is_some_and(|address| !address.ip().is_loopback());
        is_public && !web.has_authentication() && !self.allow_unauthenticated
    }

    /// Returns true if other machines can send events to the gateway without credentials. `web` is its web
    /// configuration.
    pub fn is_gateway_open(&self, web: &Web) -> bool {
        let listen = self.gateway.listen;
        let is_public = listen.is_some_and(|address| !address.ip().is_loopback());
        is_public && !web.has_authentication() && self.gateway.tokens.is_none()
    }

    /// Names of the evaluations in `otlp.feedback` that a gateway rejects because of `gateway.key`: judgments
    /// of answers belong to the trace, which is their session, and name no search.
    pub fn rejected_judgments(&self) -> Vec<&str> {
        let otlp = &self.formats.otlp;
        if self.gateway.key != KeyBy::QueryId || otlp.session != Session::Trace {
            return Vec::new();
        }
        let is_of_answer = |action: &FeedbackAction| {
            let target = JudgmentTarget::Answer;
            matches!(action, FeedbackAction::Judgment { target: of, .. } if *of == target)
        };
        let names = otlp.feedback.iter().filter(|(_, it)| is_of_answer(it));
        names.map(|(name, _)| name.as_str()).collect()
    }

    /// Reader of the web configuration of the gateway. A request has one header for credentials: a token
    /// leaves no place for others.
    pub fn gateway_web_config(&self) -> ReadConfig {
        match self.gateway.tokens {
            Some(_) => web_config_without_credentials,
            None => web_config,
        }
    }

    /// Summary for users: a line for each part, with secrets masked.
    pub fn summary(&self) -> String {
        summary::write(self)
    }
}

/// The reference configuration, which consists of the defaults.
const REFERENCE: &str = include_str!("../config/rankgauge.yaml");

/// Reader of a merged tree of this configuration.
fn reader(tree: Tree, problems: Vec<Problem>) -> Reader {
    Reader::new(tree, problems, keys::all())
}

fn read(reader: &mut Reader) -> Config {
    let kafka = kafka::read(reader);
    let registry = registry::read(reader);
    let (formats, mappings) = formats::read(reader, registry.is_some(), kafka.topics());
    let mut engine = engine::read(reader, kafka.topics());
    let workers = reader.get(&keys::WORKERS);
    let elements = reader.sections(&keys::TARGETS);
    let targets = judging::targets(reader, &elements, &engine.measures);
    let tier_measures = goals::tier_measures(reader, &engine.measures, &targets);
    let goals = goals::goals(reader, &engine.measures);
    let (detection, false_alarms) = detection::read(reader, &engine, &targets, workers);
    engine.detection = detection;
    engine.objectives = objectives::read(reader, &elements, &engine);
    engine.detection.means = engine
        .objectives
        .iter()
        .flat_map(Objective::tests)
        .collect();
    feedback::default_guardrails(reader, &mut engine);
    let labelling = labelling::read(reader, &kafka);
    let labelling = labelling.map(|(topic, settings)| {
        engine.labelling = Some(settings);
        topic
    });
    let metrics_listen = reader.get(&keys::METRICS_LISTEN);
    let admin_listen = reader.get(&keys::ADMIN_LISTEN);
    let gateway = gateway::read(reader);
    let listeners = [
        (&keys::METRICS_LISTEN.path, Some(metrics_listen)),
        (&keys::ADMIN_LISTEN.path, admin_listen),
        (&keys::GATEWAY_LISTEN.path, gateway.listen),
    ];
    for (index, (path, address)) in listeners.iter().enumerate() {
        let Some(address) = address.filter(|address| address.port() != 0) else {
            continue;
        };
        let earlier = listeners.iter().take(index);
        let same = earlier.filter(|(_, other)| *other == Some(address));
        for (other, _) in same {
            let text = format!("\"{address}\" is used by both listeners; give each its own port");
            reader.conflict(&[path, other], text);
        }
    }
    if gateway.listen.is_some()
        && let Some(problem) = gateway_problem(&formats)
    {
        reader.problem(&keys::GATEWAY_LISTEN.path, problem);
    }
    let state = kafka::state(reader, &kafka);
    Config {
        repartition_key: kafka::repartition_key(reader, &kafka, &formats),
        kafka,
        state,
        formats,
        mappings,
        registry,
        workers,
        commit_undecodable: reader.get(&keys::COMMIT_UNDECODABLE),
        commit_interval: reader.get(&keys::COMMIT_INTERVAL),
        publish_interval: reader.get(&keys::PUBLISH_INTERVAL),
        shutdown_timeout: reader.get(&keys::SHUTDOWN_TIMEOUT),
        checkpoints: reader.find(&keys::CHECKPOINT_FOLDER),
        gold: gold(reader),
        targets,
        tier_measures,
        goals,
        engine,
        false_alarms,
        metrics_listen,
        metrics_web: reader.find(&keys::METRICS_WEB),
        admin_listen,
        admin_web: reader.find(&keys::ADMIN_WEB),
        allow_unauthenticated: reader.get(&keys::ALLOW_UNAUTHENTICATED),
        gateway,
        labelling,
        probe: probe::read(reader),
        probe_listen: reader.get(&keys::PROBE_LISTEN),
        log: Log {
            format: reader.get(&keys::LOG_FORMAT),
            level: reader.get(&keys::LOG_LEVEL),
        },
    }
}

/// Reason for which a gateway cannot write to topics with these formats.
pub fn gateway_problem(formats: &Formats) -> Option<String> {
    let keys = [&keys::SEARCH_FORMAT.path, &keys::FEEDBACK_FORMAT.path];
    let found = Kind::ALL.into_iter().zip(keys);
    let mut other = found.filter(|(kind, _)| formats.of(*kind) != Format::Native);
    other.next().map(|(kind, key)| {
        format!(
            "the gateway writes native events, and {key} is {}; name another topic whose format is native",
            formats.of(kind).name()
        )
    })
}

fn gold(reader: &mut Reader) -> Gold {
    let paths = reader.list(&keys::GOLD_PATHS).into_iter();
    let options = Options {
        compose_ids: false,
        relevance_level: reader.find(&keys::RELEVANCE_LEVEL),
        format: reader.get(&keys::GOLD_FORMAT),
        columns: reader.find(&keys::GOLD_COLUMNS),
        // The set that `init` writes is filled while the sidecar runs.
        unjudged: Unjudged::Starter,
    };
    Gold {
        // A path in a file is relative to that file, an absolute one replaces the folder.
        paths: paths
            .map(|it| reader.folder(&it.path).unwrap_or_default().join(it.value))
            .collect(),
        options,
        reload_interval: reader.get(&keys::RELOAD_INTERVAL),
        load_timeout: reader.get(&keys::LOAD_TIMEOUT),
    }
}
