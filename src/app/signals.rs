//! Signals of the process. A handler is installed before the work that it ends begins: a signal during
//! the start ends nothing by force, and process 1 of a container does not miss it.

use std::future::Future;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

/// Installs the handlers of SIGTERM (Kubernetes) and SIGINT (Ctrl-C) on the runtime of the caller. The
/// future completes with the first signal.
///
/// # Errors
/// If a handler cannot be installed.
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + use<>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        info!(signal = name, "signal received; stopping");
    })
}

/// Installs the handler of SIGHUP on the runtime of the caller.
///
/// # Errors
/// If the handler cannot be installed.
pub fn hangup_signal() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}
