//! The sidecar as a whole: workers, listeners and gold set, started and stopped together.
//!
//! A function of a configuration and of the moment when to stop, so that commands, the demo and
//! tests start and stop it alike.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: threads and tasks are spawned here and nowhere below"
)]

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tracing::{error, info};

use crate::checkpoint::folder::{Folder, InUse};
use crate::config::Config;
use crate::expose::api::{Admin, GoldName, Reload, ReloadError, ReloadRequest};
use crate::expose::collect::Names;
use crate::expose::http::Exposition;
use crate::expose::process::ProcessMetrics;
use crate::expose::server::serve;
use crate::ingest::group::IngestError;
use crate::ingest::{self, Shared, wall_now};
use rankgauge_core::engine::Engine;
use rankgauge_core::gold::{self, GoldError, GoldSet};

/// Why the sidecar does not start, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The gold set cannot be loaded.
    #[error("the gold set cannot be loaded:\n{0}")]
    Gold(#[from] GoldError),
    /// The checkpoint folder is another process's.
    #[error(transparent)]
    CheckpointsInUse(#[from] InUse),
    /// Nothing can listen where the configuration says.
    #[error("cannot listen on {address} ({key}): {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The key that says so.
        key: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A thread or the runtime cannot be started.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
    /// The metric families contradict each other.
    #[error("the metric families cannot be set up: {0}")]
    Metrics(#[from] crate::expose::process::Error),
    /// A worker cannot go on.
    #[error("worker {worker}: {source}")]
    Worker {
        /// Which.
        worker: usize,
        /// Why not.
        source: IngestError,
    },
    /// A worker panicked; a defect.
    #[error("worker {0} died: this is a defect, please report it with the log above")]
    WorkerDied(usize),
    /// The workers did not finish in time.
    #[error(
        "{0} worker(s) did not stop within shutdown_timeout; what they had counted since the last \
         commit will be counted again by whoever takes over"
    )]
    Slow(usize),
}

/// Waits for SIGTERM (Kubernetes) or SIGINT (a person).
///
/// # Errors
/// When the system takes no handler.
pub async fn stop_signal() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let name = tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    };
    info!("{name}: finishing, committing, leaving the group");
    Ok(())
}

/// How a worker's thread ended.
type Ended = (usize, Result<(), IngestError>);

/// A running sidecar.
pub struct App {
    runtime: Runtime,
    shared: Arc<Shared>,
    exposition: Arc<Exposition>,
    address: SocketAddr,
    threads: Vec<JoinHandle<()>>,
    ended: mpsc::UnboundedReceiver<Ended>,
    stop_listener: watch::Sender<bool>,
}

impl App {
    /// Loads the gold set, starts to listen, and starts the workers. A broker that is away does
    /// not keep it from starting.
    ///
    /// # Errors
    /// When the gold set is no good, the address is taken, or the system refuses.
    pub fn start(config: Config) -> Result<Self, AppError> {
        let started = wall_now();
        let config = Arc::new(config);
        let process = ProcessMetrics::new(&config.targets)?;
        let folder = config
            .checkpoints
            .as_deref()
            .map(Folder::open)
            .transpose()?;
        let (shared, engines) = Shared::new(Arc::clone(&config), folder);
        let shared = Arc::new(shared);
        if !config.gold.paths.is_empty() {
            let gold = gold::load(&config.gold.paths, &config.gold.options)?;
            install(&shared, &process, gold);
        }
        let names = Names {
            settings: Arc::new(config.engine.clone()),
            registry: Arc::clone(&shared.registry),
            topics: [
                config.kafka.search_topic.clone(),
                config.kafka.feedback_topic.clone(),
            ],
        };
        let exposition = Arc::new(Exposition {
            shared: Arc::clone(&shared),
            process,
            names,
            gold_expected: !config.gold.paths.is_empty(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (listener, address) = listen(&runtime, config.metrics_listen, "metrics.listen")?;
        info!("metrics on http://{address}/metrics");
        let (stop_listener, stopping) = watch::channel(false);
        runtime.spawn(serve(listener, Arc::clone(&exposition), stopping.clone()));
        let (reload, reload_requests) = mpsc::channel(RELOADS_WAITING);
        if !config.gold.paths.is_empty() {
            runtime.spawn(watch_gold(Arc::clone(&exposition), reload_requests));
        }
        if let Some(address) = config.admin_listen {
            let (listener, address) = listen(&runtime, address, "admin.listen")?;
            info!("API on http://{address}/api/v1/status");
            let admin = Admin {
                exposition: Arc::clone(&exposition),
                reload: (!config.gold.paths.is_empty()).then_some(reload),
                address,
                started,
            };
            runtime.spawn(serve(listener, Arc::new(admin), stopping));
        }
        let (report, ended) = mpsc::unbounded_channel();
        let mut threads = Vec::new();
        for (number, engine) in engines.into_iter().enumerate() {
            threads.push(spawn_worker(number, engine, &shared, &report)?);
        }
        Ok(Self {
            runtime,
            shared,
            exposition,
            address,
            threads,
            ended,
            stop_listener,
        })
    }

    /// Where metrics are served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the workers show.
    pub fn exposition(&self) -> Arc<Exposition> {
        Arc::clone(&self.exposition)
    }

    /// Runs until `until` is there, or a worker cannot go on.
    ///
    /// # Errors
    /// What the worker says.
    pub fn run_until<T>(&mut self, until: impl Future<Output = T>) -> Result<T, AppError> {
        let ended = &mut self.ended;
        self.runtime.block_on(async {
            tokio::select! {
                done = until => Ok(done),
                Some((worker, result)) = ended.recv() => Err(match result {
                    Err(source) => AppError::Worker { worker, source },
                    Ok(()) => AppError::WorkerDied(worker),
                }),
            }
        })
    }

    /// Stops: workers finish their record, commit and leave the group, then the listener closes.
    /// A last scrape may come until then.
    ///
    /// # Errors
    /// [`AppError::Slow`] when that takes longer than `shutdown_timeout`.
    pub fn stop(mut self) -> Result<(), AppError> {
        let limit = self.shared.config.shutdown_timeout;
        self.shared.stop.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + limit;
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
                // A thread that has reported is about to be finished.
                tokio::task::yield_now().await;
            }
            0
        });
        // The listener is told last, and the runtime waits for it no longer than it drains.
        self.stop_listener.send_replace(true);
        self.runtime
            .shutdown_timeout(std::time::Duration::from_millis(100));
        if slow == 0 {
            Ok(())
        } else {
            Err(AppError::Slow(slow))
        }
    }
}

fn spawn_worker(
    number: usize,
    engine: Engine,
    shared: &Arc<Shared>,
    report: &mpsc::UnboundedSender<Ended>,
) -> io::Result<JoinHandle<()>> {
    let (shared, report) = (Arc::clone(shared), report.clone());
    thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(move || {
            let result = ingest::run(number, &shared, engine);
            // Nobody listens any more when the process is on its way out.
            drop(report.send((number, result)));
        })
}

/// Listens on `address`, which `key` of the configuration names; and where that is, of a port that the
/// system chose.
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

fn install(shared: &Shared, process: &ProcessMetrics, gold: GoldSet) {
    info!("{gold} is in use");
    process.gold_loaded(&gold, wall_now());
    shared.judge_by(gold);
}

/// How many people can wait for the gold set to be reloaded; further ones are told to come back.
const RELOADS_WAITING: usize = 4;

/// Looks at the gold set's files now and then, and when it is asked to, and takes in what has changed.
/// Asking is simpler than being told, and works alike for files, network folders and the links that
/// Kubernetes swaps under a mounted ConfigMap.
async fn watch_gold(exposition: Arc<Exposition>, mut requests: mpsc::Receiver<ReloadRequest>) {
    let shared = &exposition.shared;
    let config = shared.config.gold.clone();
    let mut failed_before = None;
    loop {
        let asked = tokio::select! {
            () = tokio::time::sleep(config.reload_interval) => None,
            Some(asked) = requests.recv() => Some(asked),
        };
        let before = GoldName::from(&**shared.gold.load());
        let (paths, options) = (config.paths.clone(), config.options);
        let loaded = tokio::task::spawn_blocking(move || gold::load(&paths, &options)).await;
        let answer = match loaded {
            Ok(Ok(gold)) => {
                failed_before = None;
                let after = GoldName::from(&gold);
                let changed = gold.sha256() != shared.gold.load().sha256();
                if changed {
                    install(shared, &exposition.process, gold);
                }
                Ok(Reload {
                    changed,
                    before,
                    after,
                })
            }
            Ok(Err(problem)) => {
                exposition.process.gold_failed();
                let text = problem.to_string();
                if failed_before.as_ref() != Some(&text) {
                    error!("the gold set cannot be loaded, the old one stays in use:\n{text}");
                }
                failed_before = Some(text);
                Err(ReloadError::from(problem))
            }
            Err(problem) => {
                exposition.process.gold_failed();
                error!("loading the gold set failed: {problem}");
                Err(ReloadError::Died(problem.to_string()))
            }
        };
        if let Some(asked) = asked {
            // Who asked may be gone by now.
            drop(asked.send(answer));
        }
    }
}
