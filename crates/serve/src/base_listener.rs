//! Listener of the metrics of a process without workers: a gateway or a probe.

use std::fmt;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};

use crate::http::{plain, rejected_method};
use crate::process::BaseMetrics;
use crate::server::{Handler, HttpResponse, compressible_response};
use crate::text;

/// Handler of the metrics listener of a process without workers.
pub struct BaseListener {
    /// Name of the command.
    pub command: &'static str,
    /// Metrics of the process.
    pub metrics: Arc<BaseMetrics>,
    /// Reason for a failed readiness check; `None` if the process is ready.
    pub readiness_problem: Arc<dyn Fn() -> Option<String> + Send + Sync>,
}

impl fmt::Debug for BaseListener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BaseListener")
            .field("metrics", &self.metrics)
            .finish_non_exhaustive()
    }
}

/// Response to `/healthz` and `/readyz` of a process without workers; `None` for any other path.
pub fn probe(
    request: &Request<Incoming>,
    readiness_problem: &(dyn Fn() -> Option<String> + Send + Sync),
) -> Option<HttpResponse> {
    let problem = match request.uri().path() {
        "/healthz" | "/-/healthy" => None,
        "/readyz" | "/-/ready" => readiness_problem(),
        _ => return None,
    };
    let rejected = rejected_method(request);
    Some(rejected.unwrap_or_else(|| match problem {
        None => plain(StatusCode::OK, "ok\n"),
        Some(problem) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("{problem}\n")),
    }))
}

impl Handler for BaseListener {
    fn probe(&self, request: &Request<Incoming>) -> Option<HttpResponse> {
        probe(request, &*self.readiness_problem)
    }

    async fn handle(&self, request: &mut Request<Incoming>) -> HttpResponse {
        if let Some(response) = rejected_method(request) {
            return response;
        }
        match request.uri().path() {
            "/metrics" => match self.metrics.encode() {
                Ok(text) => {
                    compressible_response(text::CONTENT_TYPE, text.into_bytes(), request.headers())
                }
                Err(problem) => self.error(StatusCode::INTERNAL_SERVER_ERROR, &problem.to_string()),
            },
            "/" => plain(
                StatusCode::OK,
                format!("rankgauge {}: /metrics, /healthz, /readyz\n", self.command),
            ),
            _ => self.error(
                StatusCode::NOT_FOUND,
                "not found; use /metrics, /healthz or /readyz",
            ),
        }
    }

    fn error(&self, status: StatusCode, text: &str) -> HttpResponse {
        plain(status, format!("{text}\n"))
    }
}
