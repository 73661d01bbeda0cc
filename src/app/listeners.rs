//! Listeners of a process, and the web configurations of all of them.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tracing::{error, info};

use super::bounded_read::{BoundedReads, ReadError};
use super::error::{AppError, WEB_LOAD_TIMEOUT};
use crate::config::{self, Config};
use rankgauge_gateway::Tokens;
use rankgauge_serve::build::BuildInfo;
use rankgauge_serve::process::BaseMetrics;
use rankgauge_serve::server::{Handler, Limits, serve};
use rankgauge_serve::web::{ReadConfig, Web, WebError};

/// Build of this binary.
pub const BUILD: BuildInfo = BuildInfo {
    version: env!("CARGO_PKG_VERSION"),
    revision: env!("RANKGAUGE_REVISION"),
    rustc: env!("RANKGAUGE_RUSTC"),
};

/// Serves the metrics on an address, the value of a configuration key. Returns the actual address.
pub(super) fn serve_metrics(
    runtime: &Runtime,
    handler: impl Handler,
    (address, key): (SocketAddr, &'static str),
    web: &Arc<Web>,
    base: &BaseMetrics,
    stopping: watch::Receiver<bool>,
) -> Result<SocketAddr, AppError> {
    let (listener, address) = listen(runtime, address, key)?;
    let scheme = web.scheme();
    info!(
        url = format!("{scheme}://{address}/metrics"),
        "serving metrics"
    );
    runtime.spawn(serve(
        listener,
        Arc::new(handler),
        Arc::clone(web),
        Limits::default(),
        base.listener("metrics"),
        stopping,
    ));
    Ok(address)
}

/// Binds a listener to `address`, the value of the configuration key `key`. Returns it with its
/// actual address, which differs for port 0.
pub(super) fn listen(
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

/// Clients of the listeners: web configurations, and the tokens of the gateway.
#[derive(Debug, Default)]
pub(super) struct Access {
    pub(super) metrics: Arc<Web>,
    pub(super) admin: Arc<Web>,
    pub(super) gateway: Arc<Web>,
    pub(super) tokens: Arc<Tokens>,
}

/// Loads the files with the clients of the listeners, and returns them with `runtime`.
pub(super) fn load(runtime: Runtime, config: &Config) -> Result<(Runtime, Access), AppError> {
    block_on(runtime, Access::load(config))
}

/// Loads the web configuration of the metrics, reloads it when its file changes, and returns it with
/// `runtime`.
pub(super) fn load_metrics_web(
    runtime: Runtime,
    config: &Config,
) -> Result<(Runtime, Arc<Web>), AppError> {
    let loading = load_web(
        config.metrics_web.as_ref(),
        "metrics.web_config_file",
        config::web_config,
    );
    let (runtime, web) = block_on(runtime, loading)?;
    watch_web(&web, &runtime);
    Ok((runtime, web))
}

/// Waits for files, and returns what they hold with `runtime`.
fn block_on<T>(
    runtime: Runtime,
    loading: impl Future<Output = Result<T, AppError>>,
) -> Result<(Runtime, T), AppError> {
    match runtime.block_on(loading) {
        Ok(loaded) => Ok((runtime, loaded)),
        Err(problem) => {
            // The read may hang.
            runtime.shutdown_background();
            Err(problem)
        }
    }
}

async fn load_web(
    path: Option<&PathBuf>,
    key: &'static str,
    read: ReadConfig,
) -> Result<Arc<Web>, AppError> {
    file(path, key, move |path| Web::load(path, read)).await
}

/// Reloads the file of a web configuration when it changes.
fn watch_web(web: &Arc<Web>, runtime: &Runtime) {
    if let Some(path) = web.path() {
        let watched = Arc::clone(web);
        let reload = move || watched.reload();
        runtime.spawn(watch_file("web configuration", path.to_owned(), reload));
    }
}

impl Access {
    async fn load(config: &Config) -> Result<Self, AppError> {
        let (metrics, admin) = (config.metrics_web.as_ref(), config.admin_web.as_ref());
        let gateway = &config.gateway;
        Ok(Self {
            metrics: load_web(metrics, "metrics.web_config_file", config::web_config).await?,
            admin: load_web(admin, "admin.web_config_file", config::web_config).await?,
            gateway: load_web(
                gateway.web.as_ref(),
                "gateway.web_config_file",
                config.gateway_web_config(),
            )
            .await?,
            tokens: file(gateway.tokens.as_ref(), "gateway.tokens_file", |path| {
                Tokens::load(path, config::applications)
            })
            .await?,
        })
    }

    /// Reloads each of the files when it changes.
    pub(super) fn watch(&self, runtime: &Runtime) {
        for web in [&self.metrics, &self.admin, &self.gateway] {
            watch_web(web, runtime);
        }
        if let Some(path) = self.tokens.path() {
            let watched = Arc::clone(&self.tokens);
            let reload = move || watched.reload();
            runtime.spawn(watch_file("tokens file", path.to_owned(), reload));
        }
    }
}

/// Loads the file at `path`, the value of the configuration key `key`.
async fn file<T: Send + 'static>(
    path: Option<&PathBuf>,
    key: &'static str,
    load: impl FnOnce(Option<&Path>) -> Result<T, WebError> + Send + 'static,
) -> Result<Arc<T>, AppError> {
    let loaded = |loaded: Result<T, WebError>| {
        let loaded = loaded.map(Arc::new);
        loaded.map_err(|source| AppError::Web { key, source })
    };
    let Some(path) = path.cloned() else {
        return loaded(load(None));
    };
    // A volume that does not answer must not keep the process silent.
    let reading = path.clone();
    let read = move || load(Some(&reading));
    match BoundedReads::default()
        .run(WEB_LOAD_TIMEOUT, vec![path.clone()], read)
        .await
    {
        Ok(result) => loaded(result),
        Err(ReadError::Slow) => Err(AppError::SlowWeb { key, path }),
        Err(ReadError::Failed(problem)) => Err(AppError::Start(io::Error::other(problem))),
    }
}

/// Interval at which files are checked for changes.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);

/// Reloads the file at `path`, which the log calls `name`, when it changes.
async fn watch_file(
    name: &'static str,
    path: PathBuf,
    reload: impl Fn() -> Result<bool, WebError> + Clone + Send + 'static,
) {
    let reads = BoundedReads::default();
    loop {
        tokio::time::sleep(RELOAD_INTERVAL).await;
        let reloaded = reads
            .run(WEB_LOAD_TIMEOUT, vec![path.clone()], reload.clone())
            .await;
        match reloaded {
            Ok(Ok(false)) => {}
            Err(ReadError::Slow) => error!(
                path = %path.display(),
                seconds = WEB_LOAD_TIMEOUT.as_secs(),
                "{name} not read in time; the previous one stays in use"
            ),
            Ok(Ok(true)) => info!(path = %path.display(), "{name} reloaded"),
            Ok(Err(problem)) => error!(
                path = %path.display(),
                error = %problem,
                "{name} reload failed; the previous one stays in use"
            ),
            Err(ReadError::Failed(problem)) => {
                error!(error = problem, "{name} reload task failed");
            }
        }
    }
}
