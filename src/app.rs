//! The sidecar process: workers, listeners and gold set, started and stopped together.
//!
//! Its inputs are a configuration and a stop signal, which lets commands, the demo and tests start
//! and stop it in the same way.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: threads and tasks are spawned here and nowhere below"
)]

mod bounded_read;
mod error;
pub mod gateway;
pub mod gold_files;
mod gold_watch;
mod listeners;
pub mod probe;
pub mod signals;

use std::convert::Infallible;
use std::future::Future;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{info, warn};

use crate::checkpoint::folder::Folder;
use crate::config::Config;
use crate::fleet;
use crate::ingest::{self, IngestError, Startup, WorkerContext, start_up};
use crate::log::LogQueue;
pub use error::AppError;
use gold_watch::GoldWatch;
pub use listeners::BUILD;
use listeners::{listen, load, serve_metrics};
use rankgauge_core::engine::position::Join;
use rankgauge_core::engine::{Engine, Registry};
use rankgauge_core::gold::GoldError;
use rankgauge_core::labelling::SigningKey;
use rankgauge_gateway::Gateway;
use rankgauge_serve::admin::AdminListener;
use rankgauge_serve::api::{AdminApi, ReloadRequest};
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::collect::Names;
use rankgauge_serve::history::{History, SAMPLE_INTERVAL};
use rankgauge_serve::http::{Exposition, MetricsListener};
use rankgauge_serve::live::Control;
use rankgauge_serve::log_level::LogLevel;
use rankgauge_serve::process::ProcessMetrics;
use rankgauge_serve::server::{Limits, serve};
use rankgauge_serve::web::Web;

/// Runtime of the listeners.
///
/// # Errors
/// If it cannot be started.
pub fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// End of the thread of a worker.
enum WorkerEnd {
    /// The shutdown was requested.
    Stopped,
    /// The worker met a permanent error.
    Failed(IngestError),
    /// The worker panicked. Only without `panic = "abort"` does the process continue.
    Panicked,
}

/// Number of a worker and the end of its thread.
type Ended = (usize, WorkerEnd);

/// Running sidecar.
pub struct App {
    runtime: Runtime,
    control: Arc<Control>,
    shutdown_timeout: Duration,
    exposition: Arc<Exposition>,
    address: SocketAddr,
    admin_address: Option<SocketAddr>,
    gateway: Option<Gateway>,
    reload: Option<mpsc::Sender<ReloadRequest>>,
    threads: Vec<JoinHandle<()>>,
    /// Thread that shares the state with the fleet; `None` without a state topic.
    fleet: Option<JoinHandle<()>>,
    ended: mpsc::UnboundedReceiver<Ended>,
    stop_listener: watch::Sender<bool>,
}

impl App {
    /// Opens the listeners, loads the gold set, and starts the workers. An unavailable broker does
    /// not prevent the start; gold files that cannot be read in time delay it. The lost lines of
    /// `log` are exposed. `log_level` is what
    /// operators change through the API, if they can.
    ///
    /// # Errors
    /// If the gold set cannot be loaded, an address cannot be bound, the checkpoint folder is in
    /// use, or a thread or the runtime cannot be started.
    pub fn start(
        config: Config,
        log: &LogQueue,
        log_level: Option<LogLevel>,
    ) -> Result<Self, AppError> {
        Self::start_unless(runtime()?, config, log, log_level, std::future::pending())
    }

    /// Starts as [`App::start`] on `runtime`, unless `stopped` completes before the gold set is loaded.
    ///
    /// # Errors
    /// As [`App::start`], and [`AppError::Stopped`].
    pub fn start_unless(
        runtime: Runtime,
        config: Config,
        log: &LogQueue,
        log_level: Option<LogLevel>,
        stopped: impl Future<Output = ()>,
    ) -> Result<Self, AppError> {
        let started = wall_now();
        let config = Arc::new(with_label_key(config)?);
        let process = ProcessMetrics::new(BUILD, &config.targets, log.lost())?;
        let (runtime, access) = load(runtime, &config)?;
        let folder = config
            .checkpoints
            .as_deref()
            .map(Folder::open)
            .transpose()?;
        let Startup {
            registry,
            published,
            control,
            links,
            workers,
        } = start_up(&config, folder);
        let exposition = Arc::new(Exposition {
            published,
            control: Arc::clone(&control),
            process,
            names: names(&config, registry),
            is_gold_configured: !config.gold.paths.is_empty(),
            last_length: AtomicUsize::new(0),
        });
        let (stop_listener, stopping) = watch::channel(false);
        let address = serve_metrics(
            &runtime,
            MetricsListener::new(Arc::clone(&exposition)),
            (config.metrics_listen, "metrics.listen"),
            &access.metrics,
            exposition.process.base(),
            stopping.clone(),
        )?;
        let (reload, reload_requests) = mpsc::channel(MAX_PENDING_RELOADS);
        let (loaded, first_load) = oneshot::channel();
        if !config.gold.paths.is_empty() {
            let watch = GoldWatch::new(config.gold.clone(), Arc::clone(&exposition));
            runtime.spawn(watch.run(loaded, reload_requests));
        }
        let reload = (!config.gold.paths.is_empty()).then_some(reload);
        let history = start_history(&runtime, &config, &exposition);
        let admin = config.admin_listen.map(|address| {
            let api = AdminApi {
                exposition: Arc::clone(&exposition),
                history: Arc::clone(&history),
                targets: config.targets.clone(),
                reload: reload.clone(),
                started,
                log_level,
                is_open: config.is_admin_open(&access.admin),
            };
            serve_admin(&runtime, api, address, Arc::clone(&access.admin), stopping)
        });
        let admin_address = admin.transpose()?;
        let base = exposition.process.base();
        let gateway = config.gateway.listen;
        let gateway = gateway.map(|_| gateway::start(&config, base, &access));
        let gateway = gateway.transpose()?;
        access.watch(&runtime);
        if !config.gold.paths.is_empty() && let Err(problem) = runtime.block_on(async {
            tokio::select! {
                loaded = wait_for_gold(&exposition, first_load) => loaded.map_err(AppError::Gold),
                () = stopped => Err(AppError::Stopped),
            }
        }) {
            if let Some(gateway) = gateway {
                gateway.stop();
            }
            // An earlier read may hang.
            runtime.shutdown_background();
            return Err(problem);
        }
        let fleet = config.state.clone().zip(links);
        let start = |(state, links)| fleet::start(&config, state, links, &exposition, history);
        let fleet = fleet.map(start).transpose()?;
        let (report, ended) = mpsc::unbounded_channel();
        let mut threads = Vec::new();
        let process = RandomState::new().build_hasher().finish();
        for (number, (context, engine)) in workers.into_iter().enumerate() {
            if config.kafka.join == Join::Repartition {
                threads.push(spawn_forwarder(number, context.clone(), process, &report)?);
            }
            threads.push(spawn_worker(number, context, engine, &report)?);
        }
        Ok(Self {
            runtime,
            control,
            shutdown_timeout: config.shutdown_timeout,
            exposition,
            address,
            admin_address,
            gateway,
            reload,
            threads,
            fleet,
            ended,
            stop_listener,
        })
    }

    /// Address of the metrics listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reloads the gold set on each SIGHUP, as `POST /-/reload` does, without end.
    pub fn reload_on_hangup(&self, hangup: Signal) -> impl Future<Output = Infallible> + use<> {
        reload_on_hangup(hangup, self.reload.clone())
    }

    /// Address of the admin listener; `None` if it is disabled.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address
    }

    /// Address of the gateway; `None` if it is disabled.
    pub fn gateway_address(&self) -> Option<SocketAddr> {
        self.gateway.as_ref().map(Gateway::address)
    }

    /// Shared exposition of the metrics.
    pub fn exposition(&self) -> Arc<Exposition> {
        Arc::clone(&self.exposition)
    }

    /// Runs until `until` completes or a worker fails.
    ///
    /// # Errors
    /// The error of the worker.
    pub fn run_until<T>(&mut self, until: impl Future<Output = T>) -> Result<T, AppError> {
        let ended = &mut self.ended;
        let failed = async {
            while let Some((worker, end)) = ended.recv().await {
                match end {
                    WorkerEnd::Stopped => {}
                    WorkerEnd::Failed(source) => return AppError::Worker { worker, source },
                    WorkerEnd::Panicked => return AppError::WorkerPanicked(worker),
                }
            }
            std::future::pending().await
        };
        self.runtime.block_on(async {
            tokio::select! {
                done = until => Ok(done),
                problem = failed => Err(problem),
            }
        })
    }

    /// Stops the sidecar. Workers finish the current record, commit and leave the group. The
    /// listeners close afterwards, and answer scrapes until then.
    ///
    /// # Errors
    /// [`AppError::ShutdownTimeout`] if the workers exceed `shutdown_timeout`.
    pub fn stop(mut self) -> Result<(), AppError> {
        let gateway = self.gateway.take();
        let gateway = gateway.map(|gateway| thread::spawn(move || gateway.stop()));
        self.control.stop();
        let deadline = Instant::now() + self.shutdown_timeout;
        let (threads, ended) = (&self.threads, &mut self.ended);
        let slow = self.runtime.block_on(async {
            while threads.iter().any(|thread| !thread.is_finished()) {
                let left = deadline.saturating_duration_since(Instant::now());
                if tokio::time::timeout(left, ended.recv()).await.is_err() {
                    return threads
                        .iter()
                        .filter(|thread| !thread.is_finished())
                        .count();
                }
                // A thread that has sent its result ends shortly afterwards.
                tokio::task::yield_now().await;
            }
            0
        });
        if let Some(stopped) = gateway {
            drop(stopped.join());
        }
        // It publishes the last shares of the workers.
        let is_sharing = || {
            self.fleet
                .as_ref()
                .is_some_and(|fleet| !fleet.is_finished())
        };
        while is_sharing() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        if is_sharing() {
            warn!("last state not published to the state topic in time");
        }
        // The listeners stop last. The runtime waits only briefly for their open connections.
        self.stop_listener.send_replace(true);
        self.runtime.shutdown_timeout(Duration::from_millis(100));
        if slow == 0 {
            Ok(())
        } else {
            Err(AppError::ShutdownTimeout(slow))
        }
    }
}

/// Serves the API and the page. Returns the actual address.
fn serve_admin(
    runtime: &Runtime,
    api: AdminApi,
    address: SocketAddr,
    web: Arc<Web>,
    stopping: watch::Receiver<bool>,
) -> Result<SocketAddr, AppError> {
    let (listener, address) = listen(runtime, address, "admin.listen")?;
    let scheme = web.scheme();
    info!(
        url = format!("{scheme}://{address}/api/v1/status"),
        page = format!("{scheme}://{address}/"),
        "serving API"
    );
    if api.is_open {
        warn!(
            address = %address,
            "admin listener without authentication on an address of the network; set admin.web_config_file, \
             listen on 127.0.0.1, or accept it with admin.allow_unauthenticated"
        );
    }
    let metrics = api.exposition.process.base().listener("admin");
    let handler = AdminListener {
        api,
        address,
        web: Arc::clone(&web),
    };
    runtime.spawn(serve(
        listener,
        Arc::new(handler),
        web,
        Limits::default(),
        metrics,
        stopping,
    ));
    Ok(address)
}

/// Score history of the process. It is sampled if the page or other replicas show it.
fn start_history(runtime: &Runtime, config: &Config, exposition: &Arc<Exposition>) -> Arc<History> {
    let history: Arc<History> = Arc::default();
    if config.admin_listen.is_some() || config.state.is_some() {
        runtime.spawn(sample_history(Arc::clone(exposition), Arc::clone(&history)));
    }
    history
}

/// Samples the score history for as long as the process runs.
async fn sample_history(exposition: Arc<Exposition>, history: Arc<History>) {
    let mut ticks = tokio::time::interval(SAMPLE_INTERVAL);
    loop {
        ticks.tick().await;
        let (exposition, history) = (Arc::clone(&exposition), Arc::clone(&history));
        // Merging the snapshots takes milliseconds, which the listeners should not wait for.
        let sampled = tokio::task::spawn_blocking(move || {
            let snapshot = exposition.published.merged();
            history.sample(&snapshot, &exposition.names, wall_now());
            let deployments = &exposition.control.deployments;
            deployments.sample(&exposition.names.read(&snapshot));
            if let Some(lists) = &exposition.published.list_changes {
                lists.sample(deployments);
            }
        });
        if let Err(problem) = sampled.await {
            warn!(error = %problem, "score history not sampled");
        }
    }
}

/// Minimum and maximum length of the key of label requests in bytes.
const LABEL_KEY_BYTES: std::ops::RangeInclusive<usize> = 16..=4_096;

/// Reads the key of label requests.
fn with_label_key(mut config: Config) -> Result<Config, AppError> {
    let path = config.labelling.as_ref();
    let Some(path) = path.and_then(|it| it.key_file.clone()) else {
        return Ok(config);
    };
    let wrong = |problem: String| AppError::LabelKey {
        path: path.clone(),
        problem,
    };
    let key = std::fs::read(&path).map_err(|problem| wrong(problem.to_string()))?;
    let key = key.trim_ascii();
    if !LABEL_KEY_BYTES.contains(&key.len()) {
        let (least, most) = LABEL_KEY_BYTES.into_inner();
        return Err(wrong(format!(
            "the key has {} bytes; use {least} to {most}",
            key.len()
        )));
    }
    if let Some(labelling) = &mut config.engine.labelling {
        labelling.key = SigningKey::new(key);
    }
    Ok(config)
}

fn spawn_worker(
    number: usize,
    context: WorkerContext,
    engine: Engine,
    report: &mpsc::UnboundedSender<Ended>,
) -> io::Result<JoinHandle<()>> {
    let run = move || ingest::run(context, engine);
    spawn(number, format!("worker-{number}"), run, report)
}

/// Starts the forwarder of a worker.
fn spawn_forwarder(
    number: usize,
    context: WorkerContext,
    process: u64,
    report: &mpsc::UnboundedSender<Ended>,
) -> io::Result<JoinHandle<()>> {
    let run = move || ingest::run_forwarder(&context, process).map_err(IngestError::from);
    spawn(number, format!("forwarder-{number}"), run, report)
}

fn spawn(
    number: usize,
    name: String,
    run: impl FnOnce() -> Result<(), IngestError> + Send + 'static,
    report: &mpsc::UnboundedSender<Ended>,
) -> io::Result<JoinHandle<()>> {
    let report = report.clone();
    thread::Builder::new().name(name).spawn(move || {
        let run = AssertUnwindSafe(run);
        let end = match std::panic::catch_unwind(run) {
            Ok(Ok(())) => WorkerEnd::Stopped,
            Ok(Err(problem)) => WorkerEnd::Failed(problem),
            Err(_) => WorkerEnd::Panicked,
        };
        // During shutdown the receiver may be closed already.
        drop(report.send((number, end)));
    })
}

fn names(config: &Config, registry: Arc<Registry>) -> Names {
    let kafka = &config.kafka;
    Names {
        settings: Arc::new(config.engine.clone()),
        registry,
        topics: kafka.names(),
    }
}

/// Waits for the first gold set. The workers are alive, although they have nothing to do yet.
async fn wait_for_gold(
    exposition: &Exposition,
    mut first_load: oneshot::Receiver<Result<(), GoldError>>,
) -> Result<(), GoldError> {
    let mut beats = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            // A watcher that ended is a defect, which the log shows.
            loaded = &mut first_load => return loaded.unwrap_or(Ok(())),
            _ = beats.tick() => exposition.published.views.iter().for_each(|view| view.heartbeat.beat()),
        }
    }
}

async fn reload_on_hangup(
    mut hangup: Signal,
    reload: Option<mpsc::Sender<ReloadRequest>>,
) -> Infallible {
    loop {
        hangup.recv().await;
        info!(signal = "SIGHUP", "signal received; reloading the gold set");
        let Some(reload) = &reload else {
            warn!("no gold set is configured; nothing is reloaded");
            continue;
        };
        let (answer, result) = oneshot::channel();
        if reload.send(answer).await.is_ok()
            && let Ok(Ok(done)) = result.await
            && !done.changed
        {
            info!("gold set unchanged");
        }
    }
}

/// Maximum number of pending reload requests. Further requests are rejected.
const MAX_PENDING_RELOADS: usize = 4;
