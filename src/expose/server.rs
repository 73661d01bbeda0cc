//! What the listeners have in common: how connections are taken, bounded and given up, and how an
//! answer is put together.
//!
//! One task a connection, a bounded number of connections, a time limit for whoever dawdles. It
//! does not know what is asked: that is a [`Site`]'s.
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

/// Most connections of a listener at a time; further ones wait.
const CONNECTIONS: usize = 64;

/// How long a client may take to send a request's head, and how long an idle connection is kept.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long requests under way may take once it is time to stop.
const DRAIN: Duration = Duration::from_secs(2);

/// An answer that is there as a whole.
pub(super) type Answer = Response<Full<Bytes>>;

/// What a listener serves.
pub trait Site: Send + Sync + 'static {
    /// The answer to a request. Its body is never read.
    fn answer(
        &self,
        request: &Request<Incoming>,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// Serves `site` on `listener` until `stop` becomes true.
pub async fn serve<S: Site>(listener: TcpListener, site: Arc<S>, mut stop: watch::Receiver<bool>) {
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
        let site = Arc::clone(&site);
        let service = service_fn(move |request| {
            let site = Arc::clone(&site);
            async move { Ok::<_, Infallible>(site.answer(&request).await) }
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

/// An answer that nobody is to keep: it is true for now.
pub(super) fn page(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Answer {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A [`page`] that was found, compressed where the `asked` headers of the request want it.
pub(super) fn compressible_page(
    content_type: &'static str,
    body: Vec<u8>,
    asked: &HeaderMap,
) -> Answer {
    let gzip = asked
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(accepts_gzip);
    let compressed = gzip.then(|| compress(&body)).and_then(Result::ok);
    let encoded = compressed.is_some();
    let mut response = page(StatusCode::OK, content_type, compressed.unwrap_or(body));
    let headers = response.headers_mut();
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
