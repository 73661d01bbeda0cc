//! The metrics listener: `/metrics`, `/healthz`, `/readyz`.
//!
//! A request computes its response from the published values. It never waits for the progress of a
//! worker.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Request, StatusCode};
use tracing::warn;

use super::collect::{Names, collect};
use super::process::ProcessMetrics;
use super::server::{Handler, HttpResponse, compressible_response, response};
use super::text::{self, Text};
use crate::ingest::{Control, Published, wall_now};
use rankgauge_core::time::Millis;

/// Maximum age of a worker's heartbeat. Beyond it, the worker counts as dead. The limit is longer
/// than any wait in a worker's loop.
const HEARTBEAT_TIMEOUT: Millis = Millis(60_000);

/// State that the listener exposes.
#[derive(Debug)]
pub struct Exposition {
    /// Values that the workers publish.
    pub published: Arc<Published>,
    /// Control of the workers.
    pub control: Arc<Control>,
    /// Metrics of the process.
    pub process: ProcessMetrics,
    /// Names for the numbers in snapshots.
    pub names: Names,
    /// True if a gold set is configured; the sidecar is not ready before it is loaded.
    pub is_gold_configured: bool,
}

impl Exposition {
    /// Returns all current metrics in the Prometheus text format.
    ///
    /// # Errors
    /// When the `prometheus` crate rejects one of its families.
    pub fn metrics(&self) -> Result<String, super::process::Error> {
        let now = wall_now();
        let mut sink = Text::with_capacity(256 * 1024);
        collect(&self.published.merged(), &self.names, now, &mut sink);
        let mut text = sink.into_string();
        let topics = &self.names.topics;
        text.push_str(&self.process.encode(&self.published, topics, now)?);
        Ok(text)
    }

    /// Reason for a failed liveness check; `None` if the process is alive.
    pub(super) fn liveness_problem(&self) -> Option<String> {
        let now = wall_now();
        let stalled = |number: usize| {
            let age = now.since(self.published.views[number].heartbeat());
            (age > HEARTBEAT_TIMEOUT)
                .then(|| format!("worker {number} has been stalled for {} s", age.0 / 1_000))
        };
        (0..self.published.views.len()).find_map(stalled)
    }

    /// Reason for a failed readiness check, apart from liveness; `None` if the process is ready.
    pub(super) fn readiness_problem(&self) -> Option<String> {
        if self.is_gold_configured && self.control.gold().queries().is_empty() {
            return Some("the gold set is not loaded".into());
        }
        let waiting = self
            .published
            .views
            .iter()
            .position(|view| !view.has_been_assigned());
        waiting.map(|number| format!("worker {number} has no assignment from its consumer group"))
    }

    fn respond(&self, request: &Request<Incoming>) -> HttpResponse {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response = plain(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET and HEAD are allowed\n",
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
                Ok(text) => {
                    compressible_response(text::CONTENT_TYPE, text.into_bytes(), request.headers())
                }
                Err(problem) => {
                    warn!(error = %problem, "scrape failed");
                    plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{problem}\n"))
                }
            },
            "/healthz" => verdict(self.liveness_problem()),
            "/readyz" => verdict(self.liveness_problem().or_else(|| self.readiness_problem())),
            "/" => plain(StatusCode::OK, "rankgauge: /metrics, /healthz, /readyz\n"),
            _ => plain(
                StatusCode::NOT_FOUND,
                "not found; use /metrics, /healthz or /readyz\n",
            ),
        }
    }
}

impl Handler for Exposition {
    async fn handle(&self, request: &Request<Incoming>) -> HttpResponse {
        self.respond(request)
    }
}

fn plain(status: StatusCode, text: impl Into<hyper::body::Bytes>) -> HttpResponse {
    response(status, "text/plain; charset=utf-8", text)
}
