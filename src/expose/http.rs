//! The metrics listener: `/metrics`, `/healthz`, `/readyz`.
//!
//! One task a connection, a bounded number of connections, a time limit for whoever dawdles. A
//! request reads what was published and computes the answer; it never waits for a worker.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: connections are tasks, and a scrape asks what time it is"
)]

use std::convert::Infallible;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, VARY,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tracing::{debug, warn};

use super::collect::{Names, collect};
use super::process::ProcessMetrics;
use super::text::{self, Text};
use crate::ingest::{Shared, wall_now};
use crate::time::Millis;

/// Most connections at a time; further ones wait.
const CONNECTIONS: usize = 64;

/// How long a client may take to send a request's head, and how long an idle connection is kept.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long requests under way may take once it is time to stop.
const DRAIN: Duration = Duration::from_secs(2);

/// A worker that did not go round its loop for this long is taken for dead. Longer than anything
/// that a worker waits for.
const HEARTBEAT_LIMIT: Millis = Millis(60_000);

/// What the listener shows.
#[derive(Debug)]
pub struct Exposition {
    /// The workers.
    pub shared: Arc<Shared>,
    /// The process.
    pub process: ProcessMetrics,
    /// Names for what snapshots number.
    pub names: Names,
    /// Whether a gold set is configured; the sidecar is not ready before it is loaded.
    pub gold_expected: bool,
}

impl Exposition {
    /// Everything that is exposed now, in the Prometheus text format.
    ///
    /// # Errors
    /// When the `prometheus` crate refuses a family of its own.
    pub fn metrics(&self) -> Result<String, super::process::Error> {
        let now = wall_now();
        let mut sink = Text::with_capacity(256 * 1024);
        collect(&self.shared.merged(), &self.names, now, &mut sink);
        let mut text = sink.into_string();
        text.push_str(&self.process.encode(&self.shared, now)?);
        Ok(text)
    }

    /// Why the process is not alive, if it is not.
    fn ailment(&self) -> Option<String> {
        let now = wall_now();
        let silent = |number: usize| {
            let silence = now.since(self.shared.views[number].heartbeat());
            (silence > HEARTBEAT_LIMIT)
                .then(|| format!("worker {number} has not moved for {} s", silence.0 / 1_000))
        };
        (0..self.shared.views.len()).find_map(silent)
    }

    /// Why the process is not ready, if it is not.
    fn obstacle(&self) -> Option<String> {
        if self.gold_expected && self.shared.gold.load().queries().is_empty() {
            return Some("the gold set is not loaded".into());
        }
        let waiting = self
            .shared
            .views
            .iter()
            .position(|view| !view.has_been_assigned());
        waiting.map(|number| format!("worker {number} has not heard from its consumer group"))
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response = plain(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET is answered here\n",
            );
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let verdict = |problem: Option<String>| match problem {
            None => plain(StatusCode::OK, "ok\n"),
            Some(problem) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("{problem}\n")),
        };
        match request.uri().path() {
            "/metrics" => match self.metrics() {
                Ok(text) => exposition(text, request),
                Err(problem) => {
                    warn!("a scrape failed: {problem}");
                    plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{problem}\n"))
                }
            },
            "/healthz" => verdict(self.ailment()),
            "/readyz" => verdict(self.ailment().or_else(|| self.obstacle())),
            "/" => plain(StatusCode::OK, "rankgauge: /metrics, /healthz, /readyz\n"),
            _ => plain(
                StatusCode::NOT_FOUND,
                "there are /metrics, /healthz and /readyz\n",
            ),
        }
    }
}

/// Serves `exposition` on `listener` until `stop` becomes true.
pub async fn serve(
    listener: TcpListener,
    exposition: Arc<Exposition>,
    mut stop: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &slots) => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let Some((stream, peer, slot)) = accepted else {
            continue;
        };
        let exposition = Arc::clone(&exposition);
        let service = service_fn(move |request| {
            let response = exposition.answer(&request);
            async move { Ok::<_, Infallible>(response) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(problem) = connection.await {
                debug!("connection with {peer}: {problem}");
            }
            drop(slot);
        });
    }
    if tokio::time::timeout(DRAIN, graceful.shutdown())
        .await
        .is_err()
    {
        warn!("requests under way were cut off");
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
            // Out of file descriptors, mostly: going on at once would spin.
            warn!("a connection was not accepted: {problem}");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The exposition, compressed where the client asks for it.
fn exposition(text: String, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let accepts = request.headers().get_all(ACCEPT_ENCODING);
    let gzip = accepts
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(accepts_gzip);
    let compressed = gzip.then(|| compress(text.as_bytes())).and_then(Result::ok);
    let encoded = compressed.is_some();
    let mut response = plain(
        StatusCode::OK,
        compressed.unwrap_or_else(|| text.into_bytes()),
    );
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(text::CONTENT_TYPE));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if encoded {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Whether an `Accept-Encoding` header names gzip with a weight other than 0.
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
