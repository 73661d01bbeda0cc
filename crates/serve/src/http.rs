//! The metrics listener: `/metrics`, and `/healthz` and `/readyz` of both listeners.
//!
//! A request computes its response from the published values. It never waits for the progress of a
//! worker.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: an exposition is rendered outside of the thread of the listeners"
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Request, StatusCode};
use tokio::sync::OnceCell;
use tracing::warn;

use super::collect::{Names, Sink, collect, collect_memory, decimal, write_family};
use super::gzip::compress;
use super::process::ProcessMetrics;
use super::server::{Encoding, Handler, HttpResponse, accepts_gzip, encoded_response, response};
use super::shared::Shared;
use super::text::{self, Text};
use crate::clock::{monotonic_now, wall_now};
use crate::live::{Control, Published, StalledPartition, WorkerView};
use rankgauge_core::engine::family;
use rankgauge_core::statistics::{ListChange, QueryMean};
use rankgauge_core::time::WallTime;

/// Mean in a change of lists, and its lowest value.
type MeanOf = fn(&ListChange) -> (QueryMean, f64);

/// Maximum age of the heartbeat of a worker and of its forwarder. Beyond it, the thread counts as dead.
/// The limit is longer than any wait in their loops.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_mins(1);

/// State that the listeners expose.
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
    /// Length of the last exposition in bytes.
    pub last_length: AtomicUsize,
}

impl Exposition {
    /// Names of the variants with searches.
    pub(crate) fn variants(&self) -> BTreeSet<String> {
        let snapshot = self.published.merged();
        let model = self.names.read(&snapshot);
        let variants = model.variants().map(|it| it.variant.to_owned());
        variants.collect()
    }

    /// Returns all current metrics in the Prometheus text format.
    ///
    /// # Errors
    /// When the `prometheus` crate rejects one of its families.
    pub fn metrics(&self) -> Result<String, super::process::Error> {
        let (now, started) = (wall_now(), monotonic_now());
        // A text that grows from nothing is copied several times.
        let last = self.last_length.load(Ordering::Relaxed);
        let mut sink = Text::with_capacity(last + last / 16);
        self.collect(now, &mut sink);
        let mut text = sink.into_string();
        let topics = &self.names.topics;
        text.push_str(&self.process.encode(&self.published, topics, now)?);
        self.last_length.store(text.len(), Ordering::Relaxed);
        self.published.latencies.scraped(started.elapsed());
        Ok(text)
    }

    /// Writes all metrics to `sink`, apart from those of the process.
    pub(super) fn collect(&self, now: WallTime, sink: &mut dyn Sink) {
        let merged = self.published.merged();
        collect(&merged, &self.names, now, sink);
        collect_memory(&merged, sink);
        self.collect_deployments(sink);
        self.collect_list_changes(sink);
    }

    /// Writes the reported deployments to `sink`.
    fn collect_deployments(&self, sink: &mut dyn Sink) {
        let deployments = self.control.deployments.latest();
        let times = deployments.iter().map(|deployment| {
            let labels = [deployment.variant.as_str(), deployment.version.as_str()];
            (labels, decimal(deployment.ts, 3))
        });
        write_family(&family::DEPLOYMENT_TIMESTAMP, times, sink);
    }

    /// Writes the change of the lists of each variant to `sink`.
    fn collect_list_changes(&self, sink: &mut dyn Sink) {
        let Some(lists) = &self.published.list_changes else {
            return;
        };
        let latest = lists.latest();
        let compared: Vec<(&str, ListChange)> = latest
            .iter()
            .filter_map(|it| Some((&*it.version.variant, it.change?)))
            .collect();
        let means: [(_, MeanOf); 4] = [
            (family::LIST_CHANGE, |it| (it.churn, -1.0)),
            (family::LIST_CHANGED, |it| (it.changed, 0.0)),
            (family::LIST_OVERLAP, |it| (it.overlap, 0.0)),
            (family::LIST_RBO, |it| (it.rbo, 0.0)),
        ];
        for (family, mean) in means {
            let samples = compared.iter().flat_map(|(variant, change)| {
                let (of, lowest) = mean(change);
                let [lower, upper] = of.interval(lowest);
                let bounds = [("lower", lower), ("mean", of.mean), ("upper", upper)];
                bounds.map(|(bound, value)| ([*variant, bound], value))
            });
            write_family(&family, samples, sink);
        }
        let queries = compared.iter().map(|(variant, change)| {
            (
                [*variant],
                u64::try_from(change.queries).unwrap_or(u64::MAX),
            )
        });
        write_family(&family::LIST_QUERIES, queries, sink);
    }

    /// Reason for a failed liveness check; `None` if the process is alive.
    pub(super) fn liveness_problem(&self) -> Option<String> {
        let stalled = |(number, view): (usize, &Arc<WorkerView>)| {
            let threads = [
                ("worker", Some(view.heartbeat.age())),
                ("the forwarder of worker", view.forwarder.heartbeat_age()),
            ];
            threads.into_iter().find_map(|(thread, age)| {
                let age = age.filter(|age| *age > HEARTBEAT_TIMEOUT)?;
                let seconds = age.as_secs();
                Some(format!(
                    "{thread} {number} has been stalled for {seconds} s"
                ))
            })
        };
        self.published.views.iter().enumerate().find_map(stalled)
    }

    /// Reason for a failed readiness check, apart from liveness; `None` if the process is ready.
    pub(super) fn readiness_problem(&self) -> Option<String> {
        if self.is_gold_configured && self.control.gold().queries().is_empty() {
            return Some("the gold set is not loaded".into());
        }
        let views = &self.published.views;
        let mut numbered = views.iter().enumerate();
        if let Some((number, view)) = numbered.find(|(_, view)| !view.has_been_assigned()) {
            let cause = view.connection_problem();
            let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
            return Some(format!(
                "worker {number} has no assignment from its consumer group{cause}"
            ));
        }
        let forwarder = |(number, view): (usize, &Arc<WorkerView>)| {
            let problem = view.forwarder.problem()?;
            Some(format!("the forwarder of worker {number} {problem}"))
        };
        if let Some(problem) = views.iter().enumerate().find_map(forwarder) {
            return Some(problem);
        }
        let undecodable = views.iter().find_map(|view| view.undecodable());
        if let Some(problem) = undecodable {
            return Some(problem.to_string());
        }
        let registry = self.published.registry.as_ref();
        let without_schema = self.published.without_schema();
        if without_schema > 0
            && let Some(problem) = registry.and_then(|registry| registry.problem())
        {
            return Some(format!(
                "{without_schema} topic partitions wait for a schema: {problem}"
            ));
        }
        let stalled = self.published.stalled();
        stalled.first().map(|it| {
            let StalledPartition {
                topic,
                partition,
                offset,
                cause,
                ..
            } = it;
            format!("partition {partition} of {topic} is stalled at offset {offset}: {cause}")
        })
    }

    /// Response to `/healthz` and `/readyz`, also under the names that Prometheus uses; `None` for
    /// any other path.
    pub(super) fn probe(&self, request: &Request<Incoming>) -> Option<HttpResponse> {
        let problem = match request.uri().path() {
            "/healthz" | "/-/healthy" => self.liveness_problem(),
            "/readyz" | "/-/ready" => self.liveness_problem().or_else(|| self.readiness_problem()),
            _ => return None,
        };
        if let Some(response) = rejected_method(request) {
            return Some(response);
        }
        Some(match problem {
            None => plain(StatusCode::OK, "ok\n"),
            Some(problem) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("{problem}\n")),
        })
    }
}

/// Handler of the metrics listener.
#[derive(Debug)]
pub struct MetricsListener {
    exposition: Arc<Exposition>,
    rendered: Shared<Result<Arc<Rendered>, String>>,
}

/// Rendered exposition, with its compressed form as soon as a client accepts it.
#[derive(Debug)]
struct Rendered {
    text: Bytes,
    gzip: OnceCell<Option<Bytes>>,
}

impl MetricsListener {
    /// A listener that serves `exposition`.
    pub fn new(exposition: Arc<Exposition>) -> Self {
        Self {
            exposition,
            rendered: Shared::default(),
        }
    }

    /// The current metrics. Concurrent scrapes share one exposition, which is rendered outside of
    /// the thread of the listeners.
    async fn metrics(&self, request: &Request<Incoming>) -> HttpResponse {
        let render = || async {
            let exposition = Arc::clone(&self.exposition);
            let rendered = tokio::task::spawn_blocking(move || exposition.metrics()).await;
            let text = rendered
                .map_err(|problem| problem.to_string())?
                .map_err(|problem| problem.to_string())?;
            Ok(Arc::new(Rendered {
                text: text.into(),
                gzip: OnceCell::new(),
            }))
        };
        let rendered = match self.rendered.get(render).await {
            Ok(rendered) => rendered,
            Err(problem) => {
                warn!(error = %problem, "scrape failed");
                return self.error(StatusCode::INTERNAL_SERVER_ERROR, &problem);
            }
        };
        let gzip = if accepts_gzip(request.headers()) {
            rendered.gzip().await
        } else {
            None
        };
        match gzip {
            Some(gzip) => encoded_response(text::CONTENT_TYPE, gzip, Encoding::Gzip),
            None => encoded_response(
                text::CONTENT_TYPE,
                rendered.text.clone(),
                Encoding::Identity,
            ),
        }
    }
}

impl Rendered {
    /// The text compressed with gzip; `None` if that failed.
    async fn gzip(&self) -> Option<Bytes> {
        let compressed = self.gzip.get_or_init(|| async {
            let text = self.text.clone();
            let compressed = tokio::task::spawn_blocking(move || compress(&text)).await;
            compressed.ok()?.ok().map(Bytes::from)
        });
        compressed.await.clone()
    }
}

impl Handler for MetricsListener {
    fn probe(&self, request: &Request<Incoming>) -> Option<HttpResponse> {
        self.exposition.probe(request)
    }

    async fn handle(&self, request: &mut Request<Incoming>) -> HttpResponse {
        if let Some(response) = rejected_method(request) {
            return response;
        }
        match request.uri().path() {
            "/metrics" => self.metrics(request).await,
            "/" => plain(StatusCode::OK, "rankgauge: /metrics, /healthz, /readyz\n"),
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

/// Response to a request that neither gets a resource nor its headers.
pub(crate) fn rejected_method(request: &Request<Incoming>) -> Option<HttpResponse> {
    if request.method() == Method::GET || request.method() == Method::HEAD {
        return None;
    }
    let mut response = plain(
        StatusCode::METHOD_NOT_ALLOWED,
        "only GET and HEAD are allowed\n",
    );
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    Some(response)
}

pub(crate) fn plain(status: StatusCode, text: impl Into<Bytes>) -> HttpResponse {
    response(status, "text/plain; charset=utf-8", text)
}
