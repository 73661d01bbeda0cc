//! HTTP server of the listeners: accepts, limits and closes connections, and builds responses.
//!
//! No client can keep others from being served. Each phase of a connection has a time limit. The
//! number of requests in progress is limited: further ones are answered with 503 at once. The number
//! of connections is limited too: a new one replaces the one that has waited longest. Probes need no
//! request slot and no credentials. This module must not know the resources: they belong to a [`Handler`].
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: connections are tasks, and time limits are clocks"
)]

mod connection;
mod limits;

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tracing::{debug, warn};

use super::gzip::compress;
use super::process::{CloseReason, ListenerMetrics, RejectReason};
use super::web::{Authentication, Verdict, Web};
use connection::{Connection, Phase, Tracked};
pub use limits::Limits;

/// Maximum size of the head of a request in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Interval at which the time limits of connections are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Delay after a failed accept. Usually the process is out of file descriptors, and an immediate
/// retry would spin.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A response with a complete body.
pub type HttpResponse = Response<Full<Bytes>>;

/// Request handler of a listener.
pub trait Handler: Send + Sync + 'static {
    /// Returns the response to a probe, and `None` for any other request. A probe is answered even
    /// if the capacity of the listener is used up, so the response must be small and computed
    /// without waiting.
    fn probe(&self, request: &Request<Incoming>) -> Option<HttpResponse>;

    /// Returns the response to any other request. Most handlers do not read the body.
    fn handle(&self, request: &mut Request<Incoming>) -> impl Future<Output = HttpResponse> + Send;

    /// Returns an error response in the format of the listener.
    fn error(&self, status: StatusCode, text: &str) -> HttpResponse;
}

/// A listener that accepts connections.
struct Listener<H> {
    handler: Arc<H>,
    web: Arc<Web>,
    limits: Limits,
    slots: Arc<Semaphore>,
    metrics: ListenerMetrics,
}

/// Serves `handler` on `listener` until `stop` becomes true.
pub async fn serve<H: Handler>(
    listener: TcpListener,
    handler: Arc<H>,
    web: Arc<Web>,
    limits: Limits,
    metrics: ListenerMetrics,
    mut stop: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    let served = Arc::new(Listener {
        handler,
        web,
        limits,
        slots: Arc::new(Semaphore::new(limits.requests)),
        metrics,
    });
    let mut open = OpenConnections::default();
    let mut checks = tokio::time::interval(CHECK_INTERVAL);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = checks.tick(), if !open.0.is_empty() => {
                open.close_expired(&served.limits, &served.metrics);
                continue;
            }
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                open.make_room(served.limits.connections, &served.metrics);
                let connection = Connection::new();
                let task = tokio::spawn(Arc::clone(&served).serve_connection(
                    stream,
                    peer,
                    connection.clone(),
                    graceful.watcher(),
                ));
                open.0.push((connection, task.abort_handle()));
            }
            Err(problem) => {
                warn!(error = %problem, "connection not accepted; will retry");
                open.make_room(open.0.len(), &served.metrics);
                tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
            }
        }
    }
    if tokio::time::timeout(limits.drain, graceful.shutdown())
        .await
        .is_err()
    {
        warn!(timeout = ?limits.drain, "in-flight requests aborted at shutdown");
    }
}

/// Open connections of a listener with their tasks.
#[derive(Default)]
struct OpenConnections(Vec<(Connection, AbortHandle)>);

impl OpenConnections {
    fn remove_ended(&mut self) {
        self.0.retain(|(_, task)| !task.is_finished());
    }

    /// Closes connections until there are fewer than `limit`: first those without a request, and
    /// among them the one that has waited longest.
    fn make_room(&mut self, limit: usize, metrics: &ListenerMetrics) {
        self.remove_ended();
        while self.0.len() >= limit.max(1) {
            let numbered = self.0.iter().enumerate();
            let first = numbered.min_by_key(|(_, (connection, _))| connection.order());
            let Some((index, _)) = first else { return };
            let (_, task) = self.0.swap_remove(index);
            task.abort();
            metrics.connection_closed(CloseReason::Capacity);
        }
    }

    /// Closes connections that have exceeded the time limit of their phase.
    fn close_expired(&mut self, limits: &Limits, metrics: &ListenerMetrics) {
        self.remove_ended();
        let now = Instant::now();
        self.0.retain(|(connection, task)| {
            let Some(phase) = connection.expired(limits, now) else {
                return true;
            };
            task.abort();
            match phase {
                Phase::Opening | Phase::Request => {
                    metrics.connection_closed(CloseReason::SlowRequest);
                }
                Phase::Response => metrics.connection_closed(CloseReason::SlowResponse),
                // The normal end of a connection.
                Phase::Idle | Phase::Handling => {}
            }
            false
        });
    }
}

impl<H: Handler> Listener<H> {
    async fn serve_connection(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        connection: Connection,
        watcher: Watcher,
    ) {
        let Some(tls) = self.web.current().tls.clone() else {
            self.serve_requests(stream, peer, false, connection, watcher)
                .await;
            return;
        };
        match TlsAcceptor::from(tls).accept(stream).await {
            Ok(stream) => {
                // A certificate that was sent has been verified.
                let has_certificate = stream.get_ref().1.peer_certificates().is_some();
                self.serve_requests(stream, peer, has_certificate, connection, watcher)
                    .await;
            }
            Err(problem) => debug!(%peer, error = %problem, "TLS handshake failed"),
        }
    }

    async fn serve_requests(
        self: Arc<Self>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
        has_certificate: bool,
        connection: Connection,
        watcher: Watcher,
    ) {
        let stream = Tracked::new(stream, connection.clone());
        let service = service_fn(move |mut request| {
            let listener = Arc::clone(&self);
            let connection = connection.clone();
            async move {
                connection.handling();
                let responded = listener.respond(&mut request, has_certificate, &connection);
                let mut response = responded.await;
                let headers = response.headers_mut();
                add_security_headers(headers);
                headers.extend(listener.web.current().headers.clone());
                connection.responding();
                Ok::<_, Infallible>(response)
            }
        });
        // The phases of the connection have time limits, so hyper needs no timer.
        let served = http1::Builder::new()
            .header_read_timeout(None)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(problem) = watcher.watch(served).await {
            debug!(%peer, error = %problem, "connection failed");
        }
    }

    async fn respond(
        &self,
        request: &mut Request<Incoming>,
        has_certificate: bool,
        connection: &Connection,
    ) -> HttpResponse {
        if let Some(response) = self.handler.probe(request) {
            return response;
        }
        if !connection.has_slot() {
            match Arc::clone(&self.slots).try_acquire_owned() {
                Ok(slot) => connection.hold(slot),
                Err(_) => {
                    return self.at_capacity(&format!(
                        "{} requests are in progress, the maximum of this listener; retry later",
                        self.limits.requests
                    ));
                }
            }
        }
        let web = self.web.current();
        if web.requires_certificate && !has_certificate {
            self.metrics.request_rejected(RejectReason::Authentication);
            let text = "this listener requires a client certificate; send one of an authority that its client_ca_file names";
            return self.handler.error(StatusCode::FORBIDDEN, text);
        }
        if let Some(authentication) = &web.authentication {
            match authentication.check(request.headers()).await {
                Verdict::Granted => {}
                Verdict::Denied => return self.unauthorised(authentication),
                Verdict::Busy => {
                    return self.at_capacity("too many passwords are being verified; retry later");
                }
            }
        }
        self.handler.handle(request).await
    }

    /// Response to a request without valid credentials.
    fn unauthorised(&self, authentication: &Authentication) -> HttpResponse {
        self.metrics.request_rejected(RejectReason::Authentication);
        let text = "the credentials are missing or wrong; send those of the web configuration in the header Authorization";
        let mut response = self.handler.error(StatusCode::UNAUTHORIZED, text);
        let headers = response.headers_mut();
        for challenge in authentication.challenges() {
            headers.append(WWW_AUTHENTICATE, challenge);
        }
        response
    }

    /// Response to a request beyond the capacity of the listener.
    fn at_capacity(&self, text: &str) -> HttpResponse {
        self.metrics.request_rejected(RejectReason::Capacity);
        let mut response = self.handler.error(StatusCode::SERVICE_UNAVAILABLE, text);
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        response
    }
}

/// Adds headers to a response that keep a browser from interpreting it as anything but data.
fn add_security_headers(headers: &mut HeaderMap) {
    let fixed = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'",
        ),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        // A page that shows itself in the browser states a policy of its own.
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
}

/// A response that must not be cached, because it holds the current state.
pub fn response(
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
    let compressed = accepts_gzip(accepted)
        .then(|| compress(&body))
        .and_then(Result::ok);
    match compressed {
        Some(compressed) => encoded_response(content_type, compressed, Encoding::Gzip),
        None => encoded_response(content_type, body, Encoding::Identity),
    }
}

/// Encoding of the body of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As it is.
    Identity,
    /// Compressed with gzip.
    Gzip,
}

/// A [`response`] with status 200 whose body depends on the encodings that the client accepts.
pub(super) fn encoded_response(
    content_type: &'static str,
    body: impl Into<Bytes>,
    encoding: Encoding,
) -> HttpResponse {
    let mut response = response(StatusCode::OK, content_type, body);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if encoding == Encoding::Gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Returns true if the headers of a request allow a body compressed with gzip.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .any(names_gzip)
}

/// Returns true if an `Accept-Encoding` header names gzip with a weight other than 0.
fn names_gzip(header: &str) -> bool {
    header.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let refused = |weight: &str| {
            let (name, value) = weight.split_once('=').unwrap_or_default();
            name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0)
        };
        parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case("gzip"))
            && !parts.any(refused)
    })
}
