//! Listeners of a process, and the web configurations of all of them.

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
use crate::config;
use rankgauge_serve::build::BuildInfo;
use rankgauge_serve::process::BaseMetrics;
use rankgauge_serve::server::{Handler, Limits, serve};
use rankgauge_serve::web::{Web, WebError};

/// Build of this binary.
pub const BUILD: BuildInfo = BuildInfo {
    version: env!("CARGO_PKG_VERSION"),
    revision: env!("RANKGAUGE_REVISION"),
    rustc: env!("RANKGAUGE_RUSTC"),
};

/// Serves the metrics. Returns the actual address.
pub(super) fn serve_metrics(
    runtime: &Runtime,
    handler: impl Handler,
    address: SocketAddr,
    web: &Arc<Web>,
    base: &BaseMetrics,
    stopping: watch::Receiver<bool>,
) -> Result<SocketAddr, AppError> {
    let (listener, address) = listen(runtime, address, "metrics.listen")?;
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

/// Loads the web configurations of the listeners, each with its configuration key, and returns them with
/// `runtime`.
pub(super) fn webs<const N: usize>(
    runtime: Runtime,
    files: [(Option<PathBuf>, &'static str); N],
) -> Result<(Runtime, [Arc<Web>; N]), AppError> {
    let loaded = runtime.block_on(async {
        let mut webs = std::array::from_fn(|_| Arc::default());
        for (loaded, (path, key)) in webs.iter_mut().zip(files) {
            *loaded = web(path, key).await?;
        }
        Ok(webs)
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

/// Interval at which the files of a web configuration are checked for changes.
const WEB_RELOAD_INTERVAL: Duration = Duration::from_secs(2);

/// Reloads a web configuration when one of its files changes.
pub(super) async fn watch_web(web: Arc<Web>) {
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
