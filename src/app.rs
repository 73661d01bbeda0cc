//! The sidecar process: workers, listeners and gold set, started and stopped together.
//!
//! Its inputs are a configuration and a stop signal, which lets commands, the demo and tests start
//! and stop it in the same way.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: threads and tasks are spawned here and nowhere below"
)]

mod bounded_read;
pub mod gold_files;
mod gold_watch;
pub mod signals;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{error, info, warn};

use crate::checkpoint::folder::{Folder, InUse};
use crate::config::{self, Config};
use crate::ingest::{self, IngestError, Startup, WorkerContext, start_up};
use crate::log::LogQueue;
use bounded_read::{BoundedReads, ReadError};
use gold_watch::GoldWatch;
use rankgauge_core::engine::Engine;
use rankgauge_core::gold::GoldError;
use rankgauge_serve::admin::AdminListener;
use rankgauge_serve::api::{AdminApi, ReloadRequest};
use rankgauge_serve::build::BuildInfo;
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::collect::Names;
use rankgauge_serve::history::{History, SAMPLE_INTERVAL};
use rankgauge_serve::http::{Exposition, MetricsListener};
use rankgauge_serve::live::Control;
use rankgauge_serve::log_level::LogLevel;
use rankgauge_serve::process::ProcessMetrics;
use rankgauge_serve::server::{Limits, serve};
use rankgauge_serve::web::{Web, WebError};

/// Build of this binary.
pub const BUILD: BuildInfo = BuildInfo {
    version: env!("CARGO_PKG_VERSION"),
    revision: env!("RANKGAUGE_REVISION"),
    rustc: env!("RANKGAUGE_RUSTC"),
};

/// Failure of the sidecar at its start or while it runs.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// Failure to load the gold set.
    #[error("the gold set cannot be loaded:\n{0}")]
    Gold(#[from] GoldError),
    /// The checkpoint folder is in use by another process.
    #[error(transparent)]
    CheckpointsInUse(#[from] InUse),
    /// Failure to listen on a configured address.
    #[error("cannot listen on {address} ({key}): {source}")]
    Listen {
        /// Configured address.
        address: SocketAddr,
        /// Configuration key of the address.
        key: &'static str,
        /// Cause.
        source: io::Error,
    },
    /// The web configuration of a listener cannot be used.
    #[error("the web configuration of a listener ({key}) cannot be used: {source}")]
    Web {
        /// Configuration key of the file.
        key: &'static str,
        /// Cause.
        source: WebError,
    },
    /// The files of a web configuration do not answer.
    #[error(
        "the web configuration of a listener ({key}) was not read within {} s: {}; check that its volume \
         answers", WEB_LOAD_TIMEOUT.as_secs(), path.display()
    )]
    SlowWeb {
        /// Configuration key of the file.
        key: &'static str,
        /// File.
        path: PathBuf,
    },
    /// Failure to start a thread or the runtime.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
    /// Conflict between metric families.
    #[error("the metric families cannot be set up: {0}")]
    Metrics(#[from] rankgauge_serve::process::Error),
    /// Permanent error of a worker.
    #[error("worker {worker}: {source}")]
    Worker {
        /// Worker number.
        worker: usize,
        /// Cause.
        source: IngestError,
    },
    /// Request to stop before the first gold set was loaded.
    #[error("stopped before the gold set was loaded")]
    Stopped,
    /// Panic of a worker, which is a defect.
    #[error("worker {0} panicked: this is a defect, please report it with the log above")]
    WorkerPanicked(usize),
    /// Workers that exceeded the shutdown time-out.
    #[error(
        "{0} worker(s) did not stop within shutdown_timeout; the next owner of their partitions \
         counts the records since the last commit again"
    )]
    ShutdownTimeout(usize),
}

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
    reload: Option<mpsc::Sender<ReloadRequest>>,
    threads: Vec<JoinHandle<()>>,
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
        let config = Arc::new(config);
        let process = ProcessMetrics::new(BUILD, &config.targets, log.lost())?;
        let (runtime, [metrics_web, admin_web]) = webs(runtime, &config)?;
        let folder = config
            .checkpoints
            .as_deref()
            .map(Folder::open)
            .transpose()?;
        let Startup {
            registry,
            published,
            control,
            workers,
        } = start_up(&config, folder);
        let kafka = &config.kafka;
        let names = Names {
            settings: Arc::new(config.engine.clone()),
            registry,
            topics: [kafka.search_topic.clone(), kafka.feedback_topic.clone()],
            rolling: config.rolling,
        };
        let exposition = Arc::new(Exposition {
            published,
            control: Arc::clone(&control),
            process,
            names,
            is_gold_configured: !config.gold.paths.is_empty(),
            last_length: AtomicUsize::new(0),
        });
        let (listener, address) = listen(&runtime, config.metrics_listen, "metrics.listen")?;
        let scheme = metrics_web.scheme();
        info!(
            url = format!("{scheme}://{address}/metrics"),
            "serving metrics"
        );
        let (stop_listener, stopping) = watch::channel(false);
        runtime.spawn(serve(
            listener,
            Arc::new(MetricsListener::new(Arc::clone(&exposition))),
            Arc::clone(&metrics_web),
            Limits::default(),
            exposition.process.listener("metrics"),
            stopping.clone(),
        ));
        let (reload, reload_requests) = mpsc::channel(MAX_PENDING_RELOADS);
        let (loaded, first_load) = oneshot::channel();
        if !config.gold.paths.is_empty() {
            let watch = GoldWatch::new(config.gold.clone(), Arc::clone(&exposition));
            runtime.spawn(watch.run(loaded, reload_requests));
        }
        let reload = (!config.gold.paths.is_empty()).then_some(reload);
        let admin = config.admin_listen.map(|address| {
            let api = AdminApi {
                exposition: Arc::clone(&exposition),
                history: Arc::default(),
                targets: config.targets.clone(),
                reload: reload.clone(),
                started,
                log_level,
                is_open: config.is_admin_open(&admin_web),
            };
            serve_admin(&runtime, api, address, Arc::clone(&admin_web), stopping)
        });
        let admin_address = admin.transpose()?;
        for web in [metrics_web, admin_web] {
            if web.path().is_some() {
                runtime.spawn(watch_web(web));
            }
        }
        if !config.gold.paths.is_empty() && let Err(problem) = runtime.block_on(async {
            tokio::select! {
                loaded = wait_for_gold(&exposition, first_load) => loaded.map_err(AppError::Gold),
                () = stopped => Err(AppError::Stopped),
            }
        }) {
            // An earlier read may hang.
            runtime.shutdown_background();
            return Err(problem);
        }
        let (report, ended) = mpsc::unbounded_channel();
        let mut threads = Vec::new();
        for (number, (context, engine)) in workers.into_iter().enumerate() {
            threads.push(spawn_worker(number, context, engine, &report)?);
        }
        Ok(Self {
            runtime,
            control,
            shutdown_timeout: config.shutdown_timeout,
            exposition,
            address,
            admin_address,
            reload,
            threads,
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
    let (exposition, history) = (Arc::clone(&api.exposition), Arc::clone(&api.history));
    runtime.spawn(sample_history(Arc::clone(&exposition), history));
    let metrics = exposition.process.listener("admin");
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
        });
        if let Err(problem) = sampled.await {
            warn!(error = %problem, "score history not sampled");
        }
    }
}

fn spawn_worker(
    number: usize,
    context: WorkerContext,
    engine: Engine,
    report: &mpsc::UnboundedSender<Ended>,
) -> io::Result<JoinHandle<()>> {
    let report = report.clone();
    thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(move || {
            let run = AssertUnwindSafe(|| ingest::run(context, engine));
            let end = match std::panic::catch_unwind(run) {
                Ok(Ok(())) => WorkerEnd::Stopped,
                Ok(Err(problem)) => WorkerEnd::Failed(problem),
                Err(_) => WorkerEnd::Panicked,
            };
            // During shutdown the receiver may be closed already.
            drop(report.send((number, end)));
        })
}

/// Binds a listener to `address`, the value of the configuration key `key`. Returns it with its
/// actual address, which differs for port 0.
fn listen(
    runtime: &Runtime,
    address: SocketAddr,
    key: &'static str,
) -> Result<(TcpListener, SocketAddr), AppError> {
    let listener = runtime.block_on(TcpListener::bind(address));
    let listener = listener.map_err(|source| AppError::Listen {
        address,
        key,
        source,
    })?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Loads the web configurations of both listeners, and returns them with `runtime`.
fn webs(runtime: Runtime, config: &Config) -> Result<(Runtime, [Arc<Web>; 2]), AppError> {
    let loaded = runtime.block_on(async {
        let metrics = web(config.metrics_web.clone(), "metrics.web_config_file").await?;
        Ok([
            metrics,
            web(config.admin_web.clone(), "admin.web_config_file").await?,
        ])
    });
    match loaded {
        Ok(webs) => Ok((runtime, webs)),
        Err(problem) => {
            // The read may hang.
            runtime.shutdown_background();
            Err(problem)
        }
    }
}

/// Loads the web configuration at `path`, the value of the configuration key `key`.
async fn web(path: Option<PathBuf>, key: &'static str) -> Result<Arc<Web>, AppError> {
    let loaded = |loaded: Result<Web, WebError>| {
        let loaded = loaded.map(Arc::new);
        loaded.map_err(|source| AppError::Web { key, source })
    };
    let Some(path) = path else {
        return loaded(Web::load(None, config::web_config));
    };
    // A volume that does not answer must not keep the process silent.
    let reading = path.clone();
    let read = move || Web::load(Some(&reading), config::web_config);
    match BoundedReads::default()
        .run(WEB_LOAD_TIMEOUT, vec![path.clone()], read)
        .await
    {
        Ok(result) => loaded(result),
        Err(ReadError::Slow) => Err(AppError::SlowWeb { key, path }),
        Err(ReadError::Failed(problem)) => Err(AppError::Start(io::Error::other(problem))),
    }
}

/// Maximum duration of a read of a web configuration with its files.
const WEB_LOAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval at which the files of a web configuration are checked for changes.
const WEB_RELOAD_INTERVAL: Duration = Duration::from_secs(2);

/// Reloads a web configuration when one of its files changes.
async fn watch_web(web: Arc<Web>) {
    let reads = BoundedReads::default();
    let path = web.path().unwrap_or(Path::new(""));
    loop {
        tokio::time::sleep(WEB_RELOAD_INTERVAL).await;
        let reloading = Arc::clone(&web);
        let read = move || reloading.reload();
        let reloaded = reads
            .run(WEB_LOAD_TIMEOUT, vec![path.to_owned()], read)
            .await;
        match reloaded {
            Ok(Ok(false)) => {}
            Err(ReadError::Slow) => error!(
                path = %path.display(),
                seconds = WEB_LOAD_TIMEOUT.as_secs(),
                "web configuration not read in time; the previous one stays in use"
            ),
            Ok(Ok(true)) => info!(path = %path.display(), "web configuration reloaded"),
            Ok(Err(problem)) => error!(
                path = %path.display(),
                error = %problem,
                "web configuration reload failed; the previous one stays in use"
            ),
            Err(ReadError::Failed(problem)) => {
                error!(error = problem, "web configuration reload task failed");
            }
        }
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
            _ = beats.tick() => exposition.published.views.iter().for_each(|view| view.beat()),
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
