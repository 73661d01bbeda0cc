//! Demo of the whole system in one process: an embedded broker, synthetic traffic, the sidecar and
//! a table of its results.
//!
//! The sidecar runs unchanged: it reads the embedded broker like any other.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the shell: the demo paces traffic by the clock and draws on the terminal"
)]

mod table;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use crate::app::{App, stop_signal};
use crate::config::{self, Config};
use crate::expose::http::Exposition;
use crate::ingest::wall_now;
use crate::log::Log;
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, Millis};

use rankgauge_demo::broker::{EmbeddedBroker, MAX_UNREAD_RECORDS};
use rankgauge_demo::corpus::Corpus;
use rankgauge_demo::produce::{Cluster, KafkaSink};
use rankgauge_demo::traffic::{Record, RecordKind, Traffic, TrafficSettings};

/// Number of partitions of each topic of the embedded broker.
const PARTITIONS: i32 = 4;

/// Event time of the traffic sent immediately at the start, which fills the first view.
const HISTORY: Millis = Millis(120_000);

/// Number of gold queries of the synthetic law library.
const QUERIES: usize = 200;

/// Configuration files of the demo, in the order of their layers.
const PROFILE: [(&str, &str); 2] = [
    ("law-search.yaml", include_str!("../config/law-search.yaml")),
    ("demo.yaml", include_str!("../config/demo.yaml")),
];

/// Options of the demo.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Seed of the random generator.
    pub seed: u64,
    /// Searches per second.
    pub rate: u32,
    /// Running time; unlimited if absent.
    pub duration: Option<Duration>,
    /// Time after which V5 regresses, if ever.
    pub regress_after: Option<Duration>,
    /// True to print a summary as JSON instead of drawing a table.
    pub json: bool,
    /// Address of the metrics endpoint.
    pub listen: SocketAddr,
    /// Address of the live page and the API.
    pub admin_listen: SocketAddr,
}

/// Runs the demo until its time is over or it is interrupted.
///
/// # Errors
/// If the broker or the sidecar cannot be started, or if the gold set cannot be written.
pub fn run(options: &DemoOptions) -> anyhow::Result<()> {
    let folder = Folder::new()?;
    let corpus = Arc::new(Corpus::generate(options.seed, QUERIES));
    let gold = folder.write("gold.json", &corpus.gold_json())?;
    let profile = PROFILE.map(|(name, text)| folder.write(name, text));
    let profile: Vec<PathBuf> = profile.into_iter().collect::<anyhow::Result<_>>()?;
    let broker = EmbeddedBroker::start()?;
    let config = configuration(
        options,
        &profile,
        gold.display().to_string(),
        &broker.address(),
    )?;
    for kind in Kind::ALL {
        broker.create_topic(config.kafka.topic(kind), PARTITIONS)?;
    }
    let log = start_log()?;
    let kafka = config.kafka.cluster();
    let publish_interval = config.publish_interval;
    let mut app = App::start(config, log.queue().clone(), None)?;
    let address = app.address();
    if let Some(admin) = app.admin_address() {
        // Standard output belongs to the table or the summary.
        writeln!(std::io::stderr(), "live page: http://{admin}/")?;
    }
    let exposition = app.exposition();
    let progress = Arc::new(TrafficProgress::default());
    let settings = TrafficSettings {
        seed: options.seed,
        start: pane_start(wall_now().as_event_time()).minus(HISTORY),
        searches_per_second: f64::from(options.rate),
        regress_after: options
            .regress_after
            .map(|after| Millis(Millis::from(after).0 + HISTORY.0)),
        ..TrafficSettings::default()
    };
    let sender = {
        let (progress, exposition, duration) = (
            Arc::clone(&progress),
            Arc::clone(&exposition),
            options.duration,
        );
        let traffic = Traffic::new(corpus, settings);
        std::thread::Builder::new()
            .name("traffic".into())
            .spawn(move || {
                let result =
                    send_traffic(&kafka, traffic, settings, duration, &progress, &exposition);
                progress.done.store(true, Ordering::Release);
                result
            })?
    };
    let watching = watch(options, address, publish_interval, &exposition, &progress);
    let ended = app.run_until(async {
        tokio::select! {
            shown = watching => shown.or_else(end_of_output),
            signal = stop_signal() => signal.map_err(anyhow::Error::from),
        }
    });
    progress.stop.store(true, Ordering::Release);
    let sent = sender.join().unwrap_or_else(|_| {
        Err(anyhow::anyhow!(
            "the traffic generator panicked: this is a defect"
        ))
    });
    app.stop()?;
    ended??;
    sent
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

/// Progress of the traffic.
#[derive(Debug, Default)]
struct TrafficProgress {
    sent: AtomicU64,
    stop: AtomicBool,
    done: AtomicBool,
}

impl TrafficProgress {
    fn all_received(&self, received: u64) -> bool {
        self.done.load(Ordering::Acquire) && received >= self.sent.load(Ordering::Acquire)
    }
}

/// Number of records that the sidecar has received.
fn received(exposition: &Exposition) -> u64 {
    let snapshot = exposition.published.merged();
    let outcomes = Kind::ALL
        .into_iter()
        .flat_map(|kind| snapshot.totals.events.outcomes(kind));
    outcomes.map(|(_, count)| count).sum::<u64>() + snapshot.pending.iter().sum::<u64>()
}

/// Sends records at their event time, at most as many as the broker can hold.
fn send_traffic(
    kafka: &Cluster,
    traffic: Traffic,
    settings: TrafficSettings,
    duration: Option<Duration>,
    progress: &TrafficProgress,
    exposition: &Exposition,
) -> anyhow::Result<()> {
    let mut sink = KafkaSink::connect(kafka)?;
    let start = Instant::now();
    let end = duration.map(|duration| {
        settings
            .start
            .plus(Millis(HISTORY.0 + Millis::from(duration).0))
    });
    let stopped = || progress.stop.load(Ordering::Acquire);
    let mut known_received = 0;
    for record in traffic {
        let Record {
            kind: RecordKind::Search | RecordKind::Feedback,
            ts,
            ..
        } = record;
        if stopped() || end.is_some_and(|end| ts >= end) {
            break;
        }
        // History is sent immediately; after it, event time follows the clock.
        let due = u64::try_from(ts.since(settings.start).0 - HISTORY.0).unwrap_or(0);
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
        sink.send(&record)?;
        progress.sent.fetch_add(1, Ordering::Release);
    }
    sink.finish()
}

/// Shows the results of the sidecar until the traffic has ended.
async fn watch(
    options: &DemoOptions,
    address: SocketAddr,
    publish_interval: Duration,
    exposition: &Exposition,
    progress: &TrafficProgress,
) -> anyhow::Result<()> {
    let mut screen = table::Screen::new(address, options);
    let view = || {
        let published = &exposition.published;
        let regressions = published.regressions.latest();
        table::View::of(&published.merged(), &exposition.names, &regressions)
    };
    let mut over = options.duration.is_some_and(|duration| duration.is_zero());
    while !over {
        tokio::time::sleep(Duration::from_millis(500)).await;
        over = progress.all_received(received(exposition));
        if !options.json {
            screen.update(&view())?;
        }
    }
    // The last published state can be older than the last record read.
    tokio::time::sleep(publish_interval * 2).await;
    let view = view();
    let mut out = std::io::stdout().lock();
    if options.json {
        let view = serde_json::to_string_pretty(&view)?;
        writeln!(out, "{view}")?;
    } else {
        drop(out);
        screen.draw(&view)?;
    }
    Ok(())
}

fn configuration(
    options: &DemoOptions,
    profile: &[PathBuf],
    gold: String,
    brokers: &str,
) -> anyhow::Result<Config> {
    let settings = [
        ("kafka.brokers".into(), brokers.to_owned()),
        ("gold.paths".into(), gold),
        ("metrics.listen".into(), options.listen.to_string()),
        ("admin.listen".into(), options.admin_listen.to_string()),
    ];
    Ok(config::load(profile, std::iter::empty(), &settings)?)
}

/// Logs warnings and errors only, without regressions: the table on the screen shows those.
fn start_log() -> std::io::Result<Log> {
    Log::start(|lines| {
        let log = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new("warn,rankgauge::ingest::regressions=off"))
            .with_writer(lines)
            .log_internal_errors(false);
        log.try_init().is_ok()
    })
}

/// Temporary folder of this run, removed with its content when the demo ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("rankgauge-demo-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.0.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "temporary folder cannot be removed");
        }
    }
}
