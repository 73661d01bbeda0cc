//! HTTP server of the listeners: accepts, limits and closes connections, and builds responses.
//!
//! Each connection has one task, the number of connections is bounded, and slow clients time out.
//! This module must not know the resources: they belong to a [`Handler`].
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: connections are tasks, and time limits are clocks"
)]

use std::convert::Infallible;
use std::future::Future;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, VARY,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tracing::{debug, warn};

/// Maximum number of concurrent connections of a listener; further ones wait.
const MAX_CONNECTIONS: usize = 64;

/// Time limit for a client to send the head of a request, and for an idle connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Time limit for in-flight requests at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// A response with a complete body.
pub(super) type HttpResponse = Response<Full<Bytes>>;

/// Request handler of a listener.
pub trait Handler: Send + Sync + 'static {
    /// Returns the response to a request. The body of the request is never read.
    fn handle(
        &self,
        request: &Request<Incoming>,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// Serves `handler` on `listener` until `stop` becomes true.
pub async fn serve<S: Handler>(
    listener: TcpListener,
    handler: Arc<S>,
    mut stop: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &slots) => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let Some((stream, peer, slot)) = accepted else {
            continue;
        };
        let handler = Arc::clone(&handler);
        let service = service_fn(move |request| {
            let handler = Arc::clone(&handler);
            async move { Ok::<_, Infallible>(handler.handle(&request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(problem) = connection.await {
                debug!(%peer, error = %problem, "connection failed");
            }
            drop(slot);
        });
    }
    if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown())
        .await
        .is_err()
    {
        warn!(timeout = ?DRAIN_TIMEOUT, "in-flight requests aborted at shutdown");
    }
}

type Accepted = (
    tokio::net::TcpStream,
    SocketAddr,
    tokio::sync::OwnedSemaphorePermit,
);

async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> Option<Accepted> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, slot)),
        Err(problem) => {
            // Usually the process is out of file descriptors: an immediate retry would spin.
            warn!(error = %problem, "connection not accepted; will retry");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

/// A response that must not be cached, because it holds the current state.
pub(super) fn response(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> HttpResponse {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A [`response`] with status 200, compressed if the request headers in `accepted` allow gzip.
pub(super) fn compressible_response(
    content_type: &'static str,
    body: Vec<u8>,
    accepted: &HeaderMap,
) -> HttpResponse {
    let gzip = accepted
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(accepts_gzip);
    let compressed = gzip.then(|| compress(&body)).and_then(Result::ok);
    let encoded = compressed.is_some();
    let mut response = response(StatusCode::OK, content_type, compressed.unwrap_or(body));
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if encoded {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Returns true if an `Accept-Encoding` header names gzip with a weight other than 0.
fn accepts_gzip(header: &str) -> bool {
    header.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let refused = |weight: &str| {
            weight
                .strip_prefix("q=")
                .is_some_and(|q| q.parse() == Ok(0.0))
        };
        parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case("gzip"))
            && !parts.any(refused)
    })
}

fn compress(text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}
