//! Demo of the whole system in one process: an embedded broker, synthetic traffic, the sidecar and
//! a display of its results.
//!
//! The sidecar runs unchanged: it reads the embedded broker like any other.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: the demo paces traffic by the clock and draws on the terminal"
)]

mod display;
pub mod history;
pub mod screen;
pub mod setting;
mod table;
pub mod terminal;
pub mod view;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tempfile::TempDir;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::app::App;
use crate::app::signals::stop_signal;
use crate::config::{self, Config};
use crate::log::{Log, TextLines};
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, Millis, WallTime};
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::http::Exposition;
use rankgauge_serve::live::deployments::Deployment;

use display::Display;
use history::PlannedDrop;
use rankgauge_lab::broker::{EmbeddedBroker, MAX_UNREAD_RECORDS};
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::produce::KafkaSink;
use rankgauge_lab::shop::Shop;
use rankgauge_lab::traffic::{Traffic, TrafficSettings};
use screen::Context;
use setting::{Library, Scenario};
use terminal::Messages;
use view::View;

/// Number of partitions of each topic of the embedded broker.
const PARTITIONS: i32 = 4;

/// Event time of the traffic sent immediately at the start, which fills the first view.
const HISTORY: Millis = Millis(120_000);

/// Maximum time of feedback after its search: `engine.feedback_window` of `config/demo.yaml`.
const FEEDBACK_WINDOW: Millis = Millis(60_000);

/// Number of gold queries of the synthetic law library.
const QUERIES: usize = 200;

/// Configuration files of the demo, in the order of their layers.
const LAW_PROFILE: &[(&str, &str)] = &[
    ("law-search.yaml", include_str!("../config/law-search.yaml")),
    ("demo.yaml", include_str!("../config/demo.yaml")),
];
const SHOP_PROFILE: &[(&str, &str)] = &[
    (
        "shop-search.yaml",
        include_str!("../config/shop-search.yaml"),
    ),
    ("demo.yaml", include_str!("../config/demo.yaml")),
    ("demo-shop.yaml", include_str!("../config/demo-shop.yaml")),
];

/// Address of the admin listener in the profile. A second demo on the same machine takes a free port.
const ADMIN_ADDRESS: &str = "127.0.0.1:9469";

/// Keys that the demo sets itself.
pub const OWN_KEYS: [&str; 2] = ["kafka.brokers", "gold.paths"];

/// Options of the demo.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Documents and systems.
    pub library: Library,
    /// Course of the demo.
    pub scenario: Scenario,
    /// Seed of the random generator.
    pub seed: u64,
    /// Searches per second.
    pub rate: u32,
    /// Running time; unlimited if absent.
    pub duration: Option<Duration>,
    /// Time after which the change of the scenario begins, if ever.
    pub regress_after: Option<Duration>,
    /// Time after the beginning at which it ends, if not that of the scenario.
    pub repair_after: Option<Duration>,
    /// Time after the drop at which a deployment repairs nothing, if ever.
    pub false_repair_after: Option<Duration>,
    /// True to print a summary as JSON instead of drawing a table.
    pub json: bool,
    /// Address of the metrics endpoint, if it is not the configured one.
    pub listen: Option<SocketAddr>,
    /// Address of the live page and the API, if it is not the configured one.
    pub admin_listen: Option<SocketAddr>,
    /// Configuration files, which take precedence over the profile of the demo.
    pub config: Vec<PathBuf>,
    /// Settings by their keys, with the highest precedence.
    pub set: Vec<(String, String)>,
}

impl DemoOptions {
    /// Options of a scenario without a change: the first seed, 100 searches a second, no end.
    pub fn new(library: Library, scenario: Scenario) -> Self {
        Self {
            library,
            scenario,
            seed: 1,
            rate: 100,
            duration: None,
            regress_after: None,
            repair_after: None,
            false_repair_after: None,
            json: false,
            listen: None,
            admin_listen: None,
            config: Vec::new(),
            set: Vec::new(),
        }
    }
}

/// Runs the demo until its time is over or it is interrupted.
///
/// # Errors
/// If the broker or the sidecar cannot be started, or if the gold set cannot be written.
pub fn run(options: &DemoOptions) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new().prefix("rankgauge-demo-").tempdir();
    let folder = folder.context("cannot create a temporary folder")?;
    let start = pane_start(wall_now().as_event_time()).minus(HISTORY);
    let (traffic, gold, deployments) = played(options, start);
    let gold = write(&folder, "gold.json", &gold)?;
    let profile = files(options.library)
        .iter()
        .map(|(name, text)| write(&folder, name, text));
    let profile: Vec<PathBuf> = profile.collect::<anyhow::Result<_>>()?;
    let broker = EmbeddedBroker::start()?;
    let config = configuration(
        options,
        profile,
        gold.display().to_string(),
        broker.address(),
    )?;
    for kind in Kind::ALL {
        broker.create_topic(config.kafka.topic(kind), PARTITIONS)?;
    }
    let messages = Messages::default();
    let log = start_log(messages.clone())?;
    let targets = config.targets.clone();
    let kafka = config.kafka.clone();
    let publish_interval = config.publish_interval;
    let mut app = App::start(config, log.queue(), None)?;
    if let Some(admin) = app.admin_address() {
        // Standard output belongs to the table or the summary.
        terminal::note(&format!("live page: http://{admin}/\n"))?;
    }
    let exposition = app.exposition();
    let context = Context {
        page: app
            .admin_address()
            .map(|address| format!("http://{address}/")),
        metrics: app.address(),
        headline: view::headline_measure(&exposition.names.settings),
        targets,
        queries: query_texts(&exposition),
        messages: Vec::new(),
        library: options.library,
        expectation: planned_change(options)
            .map(|_| options.scenario.expectation(options.library.changing())),
    };
    let progress = Arc::new(TrafficProgress::default());
    let sender = {
        let (progress, exposition, duration) = (
            Arc::clone(&progress),
            Arc::clone(&exposition),
            options.duration,
        );
        let changing = options.library.changing();
        std::thread::Builder::new()
            .name("traffic".into())
            .spawn(move || {
                let result = send_traffic(
                    &kafka,
                    traffic,
                    (start, changing, deployments),
                    duration,
                    &progress,
                    &exposition,
                );
                progress.done.store(true, Ordering::Release);
                result
            })?
    };
    let mut display = Display::start(options.json, context, messages)?;
    let ended = app.run_until(async {
        let stop = stop_signal()?;
        let watching = watch(
            options,
            start,
            publish_interval,
            &exposition,
            &progress,
            &mut display,
        );
        tokio::select! {
            shown = watching => shown,
            () = stop => Ok(()),
        }
    });
    // A failure is reported on the screen that was left.
    let ended = match ended {
        Ok(Ok(())) => display.finish(&current(&exposition)).map_err(Into::into),
        Ok(failed) => failed,
        Err(failed) => Err(failed.into()),
    };
    let ended = ended.or_else(end_of_output);
    progress.stop.store(true, Ordering::Release);
    let sent = sender.join().unwrap_or_else(|_| {
        Err(anyhow::anyhow!(
            "the traffic generator panicked: this is a defect"
        ))
    });
    app.stop()?;
    ended?;
    sent
}

/// Configuration files of a library, in the order of their layers: their names and texts.
pub fn files(library: Library) -> &'static [(&'static str, &'static str)] {
    match library {
        Library::Shop => SHOP_PROFILE,
        Library::Law => LAW_PROFILE,
    }
}

/// Traffic from `start` on, its gold set, and the deployments of the changing system by their times. The
/// first two minutes are the history.
pub fn played(
    options: &DemoOptions,
    start: EventTime,
) -> (Traffic, String, Vec<(EventTime, &'static str)>) {
    let (settings, deployments) = story(options, start);
    let (traffic, gold) = match options.library {
        Library::Shop => {
            let shop = Arc::new(Shop::generate(options.seed));
            let gold = shop.gold_json();
            (Traffic::of_shop(shop, settings), gold)
        }
        Library::Law => {
            let corpus = Arc::new(Corpus::generate(options.seed, QUERIES));
            let gold = corpus.gold_json();
            (Traffic::new(corpus, settings), gold)
        }
    };
    (traffic, gold, deployments)
}

/// Time after the history at which the change of the scenario begins, if ever.
fn planned_change(options: &DemoOptions) -> Option<Millis> {
    match options.scenario {
        Scenario::Experiment => options.regress_after.map(|_| Millis(-HISTORY.0)),
        _ => options.regress_after.map(Millis::from),
    }
}

/// Time after its beginning at which the change ends, if ever.
fn lasts(options: &DemoOptions) -> Option<Duration> {
    options.repair_after.or(options.scenario.lasts())
}

/// Traffic with the change of the scenario and its end, and the deployments that the options ask for, by
/// time.
fn story(
    options: &DemoOptions,
    start: EventTime,
) -> (TrafficSettings, Vec<(EventTime, &'static str)>) {
    let began = planned_change(options).map(|after| Millis(after.0 + HISTORY.0));
    let after_beginning = |span: Option<Duration>| Some(Millis(began?.0 + Millis::from(span?).0));
    let settings = TrafficSettings {
        seed: options.seed,
        start,
        searches_per_second: f64::from(options.rate),
        fault: options.scenario.fault(),
        regress_after: began,
        repair_after: after_beginning(lasts(options)),
        answers: true,
        feedback_within: Some(FEEDBACK_WINDOW),
        ..TrafficSettings::default()
    };
    let [unchanged, repaired] = options.library.versions();
    let by_deployment = options.scenario.ends_by_deployment();
    let deployments = [
        (after_beginning(options.false_repair_after), unchanged),
        (settings.repair_after.filter(|_| by_deployment), repaired),
    ];
    let planned = deployments.into_iter();
    let planned =
        planned.filter_map(|(after, version)| Some((settings.start.plus(after?), version)));
    let mut deployments: Vec<_> = planned.collect();
    deployments.sort_unstable();
    (settings, deployments)
}

/// Converts a closed pipe (`| head`), which ends the demo, to a success.
fn end_of_output(problem: anyhow::Error) -> anyhow::Result<()> {
    let cause = problem.downcast_ref::<std::io::Error>();
    if cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe) {
        return Ok(());
    }
    Err(problem)
}

/// Rounds `at` down to a multiple of five seconds, the maximum length of a pane of a one-minute
/// window. With a start on a pane boundary, the results of a seed do not depend on the time of the
/// start.
fn pane_start(at: EventTime) -> EventTime {
    EventTime(at.0 - at.0.rem_euclid(5_000))
}

#[derive(Debug, Default)]
struct TrafficProgress {
    sent: AtomicU64,
    stop: AtomicBool,
    done: AtomicBool,
    /// Start of the traffic that follows the clock.
    started: OnceLock<WallTime>,
}

impl TrafficProgress {
    fn all_received(&self, received: u64) -> bool {
        self.done.load(Ordering::Acquire) && received >= self.sent.load(Ordering::Acquire)
    }
}

/// Number of records that the sidecar has received.
fn received(exposition: &Exposition) -> u64 {
    let snapshot = exposition.published.merged();
    let model = exposition.names.read(&snapshot);
    Kind::ALL.iter().map(|kind| model.received(*kind)).sum()
}

/// Sends records at their event time, at most as many as the broker can hold.
fn send_traffic(
    kafka: &rankgauge_kafka::Settings,
    traffic: Traffic,
    (begin, variant, deployments): (EventTime, &str, Vec<(EventTime, &str)>),
    duration: Option<Duration>,
    progress: &TrafficProgress,
    exposition: &Exposition,
) -> anyhow::Result<()> {
    let mut sink = KafkaSink::connect(kafka)?;
    let start = Instant::now();
    progress.started.get_or_init(wall_now);
    let end = duration.map(|duration| begin.plus(Millis(HISTORY.0 + Millis::from(duration).0)));
    let stopped = || progress.stop.load(Ordering::Acquire);
    let mut known_received = 0;
    let mut deployments = deployments.into_iter().peekable();
    for record in traffic {
        let ts = record.ts;
        if stopped() || end.is_some_and(|end| ts >= end) {
            break;
        }
        // History is sent immediately; after it, event time follows the clock.
        let due = u64::try_from(ts.since(begin).0 - HISTORY.0).unwrap_or(0);
        while !stopped() && start.elapsed() < Duration::from_millis(due) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = progress.sent.load(Ordering::Relaxed);
        while !stopped() && sent >= known_received + MAX_UNREAD_RECORDS {
            known_received = received(exposition);
            if sent >= known_received + MAX_UNREAD_RECORDS {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        while let Some((at, version)) = deployments.next_if(|(at, _)| *at <= ts) {
            let deployment = Deployment {
                variant: variant.to_owned(),
                version: version.to_owned(),
                ts: at.0,
                ..Deployment::default()
            };
            exposition.control.deploy(deployment, wall_now());
        }
        sink.send(&record)?;
        progress.sent.fetch_add(1, Ordering::Release);
    }
    sink.finish()
}

/// Current results of the sidecar.
fn current(exposition: &Exposition) -> View {
    let published = &exposition.published;
    View::of(&published.merged(), &exposition.names)
}

/// Texts of the gold queries by their keys.
fn query_texts(exposition: &Exposition) -> BTreeMap<String, String> {
    let gold = exposition.control.gold();
    let queries = gold.queries().iter();
    let texts = queries.filter_map(|query| Some((query.key.clone(), query.text.clone()?)));
    texts.collect()
}

/// Shows the results of the sidecar until the traffic has ended. `start` is the event time of the first
/// search.
async fn watch(
    options: &DemoOptions,
    start: EventTime,
    publish_interval: Duration,
    exposition: &Exposition,
    progress: &TrafficProgress,
    display: &mut Display,
) -> anyhow::Result<()> {
    let after = planned_change(options).filter(|_| options.scenario != Scenario::Experiment);
    let lasts = lasts(options).map(Millis::from);
    let mut over = options.duration.is_some_and(|duration| duration.is_zero());
    while !over {
        tokio::time::sleep(Duration::from_millis(500)).await;
        over = progress.all_received(received(exposition));
        let started = progress.started.get().copied();
        let planned = started.zip(after).map(|(WallTime(at), after)| PlannedDrop {
            wall: WallTime(at + after.0),
            end: lasts.map(|lasts| WallTime(at + after.0 + lasts.0)),
            event: start.plus(HISTORY).plus(after),
            scenario: options.scenario,
            system: options.library.changing(),
        });
        display.update(&current(exposition), planned)?;
    }
    // The last published state can be older than the last record read.
    tokio::time::sleep(publish_interval * 2).await;
    Ok(())
}

/// Loads the profile of the demo with the files and settings of the user above it.
fn configuration(
    options: &DemoOptions,
    mut files: Vec<PathBuf>,
    gold: String,
    brokers: String,
) -> anyhow::Result<Config> {
    files.extend(options.config.iter().cloned());
    let mut settings = options.set.clone();
    settings.extend(OWN_KEYS.map(str::to_owned).into_iter().zip([brokers, gold]));
    for (key, address) in [
        ("metrics.listen", options.listen),
        ("admin.listen", options.admin_listen),
    ] {
        settings.extend(address.map(|address| (key.to_owned(), address.to_string())));
    }
    let mut config = config::load(&files, config::environment(), &settings)?;
    if let Some(address) = config.admin_listen.as_mut()
        && address.to_string() == ADMIN_ADDRESS
        && TcpListener::bind(*address).is_err()
    {
        address.set_port(0);
    }
    Ok(config)
}

/// Logs warnings and errors only, without alarms: the table on the screen shows their incidents.
fn start_log(messages: Messages) -> std::io::Result<Log> {
    Log::start(messages, |lines| {
        let colour = terminal::has_log_colour();
        let text = tracing_subscriber::fmt::layer()
            .log_internal_errors(false)
            .with_ansi(colour);
        let levels = Targets::new()
            .with_default(LevelFilter::WARN)
            .with_target("rankgauge_serve::live::alarms", LevelFilter::OFF);
        let log = tracing_subscriber::registry();
        log.with(levels)
            .with(text.with_writer(TextLines::new(lines, colour)))
            .try_init()
            .is_ok()
    })
}

/// Writes a file of this run.
fn write(folder: &TempDir, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let path = folder.path().join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
