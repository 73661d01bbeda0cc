//! The admin listener: the state of the sidecar as JSON, and its commands.
//!
//! Its clients are users and programs, by default on the same machine. Its responses may therefore contain data
//! that must not become a label: query texts and document ids. Reads do not wait for the progress of
//! a worker. Commands are queued for the workers or for the task that reloads the gold set.

mod guard;
mod log_level;
mod measures;
mod parameters;
mod queries;
mod status;

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Request, StatusCode};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use super::collect::{collect, collect_memory};
use super::http::Exposition;
use super::json::{Json, Sample};
use super::server::{Handler, HttpResponse, compressible_response, response};
use super::web::Web;
use crate::ingest::regressions::Regression;
use crate::ingest::{Command, wall_now};
use crate::log_level::LogLevel;
use parameters::Parameters;
use rankgauge_core::gold::{GoldError, GoldSet};
use rankgauge_core::time::WallTime;

const JSON: &str = "application/json";

/// All endpoints, as listed at `/` and in the response to an unknown path.
const ENDPOINTS: [&str; 10] = [
    "GET /api/v1/status",
    "GET /api/v1/measures",
    "GET /api/v1/snapshot",
    "GET /api/v1/queries",
    "GET /api/v1/queries/KEY",
    "GET /api/v1/regressions",
    "POST /-/reload",
    "POST /-/baseline",
    "GET /-/log-level",
    "POST /-/log-level",
];

/// Handler of the admin listener.
#[derive(Debug)]
pub struct AdminApi {
    /// State that the metrics listener exposes too.
    pub exposition: Arc<Exposition>,
    /// Channel to the task that reloads the gold set; `None` when no gold set is configured.
    pub reload: Option<mpsc::Sender<ReloadRequest>>,
    /// Address of the listener.
    pub address: SocketAddr,
    /// Start time of the process.
    pub started: WallTime,
    /// TLS and authentication of the listener.
    pub web: Arc<Web>,
    /// Level of the log; `None` if it cannot be changed.
    pub log_level: Option<LogLevel>,
}

/// Request to load the gold set now; the channel returns the result.
pub type ReloadRequest = oneshot::Sender<Result<Reload, ReloadError>>;

/// Result of a gold set reload.
#[derive(Clone, Debug, Serialize)]
pub struct Reload {
    /// True if the gold set changed.
    pub changed: bool,
    /// Gold set in use before the reload.
    pub before: GoldSetInfo,
    /// Gold set in use after the reload.
    pub after: GoldSetInfo,
}

/// Error of a gold set reload. The previous gold set stays in use.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The gold files are invalid.
    #[error(transparent)]
    Gold(#[from] GoldError),
    /// The loading task has died; a defect.
    #[error("loading failed: {0}")]
    TaskFailed(String),
}

/// Identity and size of a gold set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GoldSetInfo {
    version: String,
    sha256: String,
    queries: usize,
    judgements: usize,
}

impl From<&GoldSet> for GoldSetInfo {
    fn from(gold: &GoldSet) -> Self {
        Self {
            version: gold.version().to_owned(),
            sha256: gold.sha256().to_owned(),
            queries: gold.queries().len(),
            judgements: gold.judgement_count(),
        }
    }
}

/// Error response.
#[derive(Debug, Serialize)]
struct ApiError {
    #[serde(skip)]
    status: StatusCode,
    error: String,
    /// Individual problems, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
    /// Existing endpoints, in the response to an unknown path.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    endpoints: &'static [&'static str],
    #[serde(skip)]
    allow: Option<&'static str>,
}

impl ApiError {
    fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self {
            status,
            error: error.into(),
            problems: Vec::new(),
            endpoints: &[],
            allow: None,
        }
    }

    /// Error response with status 400: the request is invalid.
    fn bad_request(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }
}

/// Resource of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resource<'a> {
    Index,
    Status,
    Measures,
    Snapshot,
    Queries,
    /// A gold query, by its key as written in the path.
    Query(&'a str),
    Regressions,
    Reload,
    Baseline,
    LogLevel,
}

impl<'a> Resource<'a> {
    fn at(path: &'a str) -> Option<Self> {
        if let Some(key) = path.strip_prefix("/api/v1/queries/") {
            return Some(Self::Query(key));
        }
        match path {
            "/" => Some(Self::Index),
            "/api/v1/status" => Some(Self::Status),
            "/api/v1/measures" => Some(Self::Measures),
            "/api/v1/snapshot" => Some(Self::Snapshot),
            "/api/v1/queries" => Some(Self::Queries),
            "/api/v1/regressions" => Some(Self::Regressions),
            "/-/reload" => Some(Self::Reload),
            "/-/baseline" => Some(Self::Baseline),
            "/-/log-level" => Some(Self::LogLevel),
            _ => None,
        }
    }

    /// Allowed methods, as a list and as the header `Allow`.
    fn methods(self) -> (&'static [Method], &'static str) {
        match self {
            Self::Reload | Self::Baseline => (&[Method::POST], "POST"),
            Self::LogLevel => (
                &[Method::GET, Method::HEAD, Method::POST, Method::PUT],
                "GET, HEAD, POST, PUT",
            ),
            Self::Index
            | Self::Status
            | Self::Measures
            | Self::Snapshot
            | Self::Queries
            | Self::Query(_)
            | Self::Regressions => (&[Method::GET, Method::HEAD], "GET, HEAD"),
        }
    }
}

/// Reported regressions.
#[derive(Debug, Serialize)]
struct Regressions {
    regressions: Vec<RegressionEntry>,
}

/// A regression and the time of its alarm.
#[derive(Debug, Serialize)]
struct RegressionEntry {
    time: String,
    #[serde(flatten)]
    regression: Regression,
}

impl AdminApi {
    async fn respond(&self, request: &Request<Incoming>) -> Result<HttpResponse, ApiError> {
        if !self.web.is_protected() {
            guard::host(request.headers(), self.address)?;
        }
        let path = request.uri().path();
        let resource = Resource::at(path).ok_or_else(|| ApiError {
            endpoints: &ENDPOINTS,
            ..ApiError::new(StatusCode::NOT_FOUND, format!("no endpoint at {path}"))
        })?;
        let (methods, allow) = resource.methods();
        if !methods.contains(request.method()) {
            let error = format!("{path} accepts {allow} only");
            return Err(ApiError {
                allow: Some(allow),
                ..ApiError::new(StatusCode::METHOD_NOT_ALLOWED, error)
            });
        }
        let is_command = matches!(*request.method(), Method::POST | Method::PUT);
        if is_command {
            guard::same_site(request.headers(), self.web.scheme())?;
        }
        let query = request.uri().query();
        let parse = |known| Parameters::of(query, known);
        match resource {
            Resource::Index => {
                parse(&[])?;
                let index = Index {
                    endpoints: ENDPOINTS,
                };
                ok_json(request, &index)
            }
            Resource::Status => {
                parse(&[])?;
                ok_json(request, &status::of(self, wall_now()))
            }
            Resource::Measures => {
                let params = parse(&measures::PARAMETERS)?;
                ok_json(request, &measures::of(&self.exposition, &params)?)
            }
            Resource::Snapshot => {
                parse(&[])?;
                ok_json(request, &self.snapshot())
            }
            Resource::Queries => {
                let params = parse(&queries::LIST_PARAMETERS)?;
                ok_json(request, &queries::worst_first(&self.exposition, &params)?)
            }
            Resource::Query(key) => {
                let params = parse(&queries::PARAMETERS)?;
                ok_json(
                    request,
                    &queries::query_detail(&self.exposition, key, &params)?,
                )
            }
            Resource::Regressions => {
                parse(&[])?;
                ok_json(request, &self.regressions())
            }
            Resource::Reload => {
                parse(&[])?;
                ok_json(request, &self.reload().await?)
            }
            Resource::LogLevel if is_command => {
                let params = parse(&log_level::PARAMETERS)?;
                let changed = log_level::change(self.log_level.as_ref(), &params)?;
                ok_json(request, &changed)
            }
            Resource::LogLevel => {
                parse(&[])?;
                ok_json(request, &log_level::current(self.log_level.as_ref())?)
            }
            Resource::Baseline => {
                parse(&[])?;
                self.exposition.control.command(Command::LearnBaselines);
                let workers = self.exposition.published.views.len();
                Ok(response(
                    StatusCode::ACCEPTED,
                    JSON,
                    json(&Accepted { workers })?,
                ))
            }
        }
    }

    /// The samples of `/metrics`.
    fn snapshot(&self) -> Snapshot {
        let now = wall_now();
        let exposition = &self.exposition;
        let published = &exposition.published;
        let mut sink = Json::default();
        let merged = published.merged();
        collect(&merged, &exposition.names, now, &mut sink);
        collect_memory(&merged, &mut sink);
        let mut metrics = sink.into_samples();
        let topics = &exposition.names.topics;
        metrics.extend(exposition.process.samples(published, topics, now));
        Snapshot {
            time: status::time(now.as_event_time()),
            metrics,
        }
    }

    /// Regressions reported since the process started, newest first.
    fn regressions(&self) -> Regressions {
        let latest = self.exposition.published.regressions.latest();
        let regressions = latest.into_iter().map(|regression| RegressionEntry {
            time: status::time(regression.at.as_event_time()),
            regression,
        });
        Regressions {
            regressions: regressions.collect(),
        }
    }

    async fn reload(&self) -> Result<Reload, ApiError> {
        let Some(requests) = &self.reload else {
            let error = "no gold set is configured: set gold.paths and restart";
            return Err(ApiError::new(StatusCode::CONFLICT, error));
        };
        let busy = || {
            let error = "a gold set reload is in progress, or the sidecar is shutting down";
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, error)
        };
        let (answer, result) = oneshot::channel();
        requests.try_send(answer).map_err(|_| busy())?;
        match result.await.map_err(|_| busy())? {
            Ok(reload) => Ok(reload),
            Err(error) => {
                let problems = match &error {
                    ReloadError::Gold(error) => {
                        error.problems().iter().map(ToString::to_string).collect()
                    }
                    ReloadError::TaskFailed(_) => Vec::new(),
                };
                let error = format!("the previous gold set stays in use: {error}");
                Err(ApiError {
                    problems,
                    ..ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, error)
                })
            }
        }
    }
}

impl Handler for AdminApi {
    fn probe(&self, request: &Request<Incoming>) -> Option<HttpResponse> {
        self.exposition.probe(request)
    }

    async fn handle(&self, request: &Request<Incoming>) -> HttpResponse {
        let answered = self.respond(request).await;
        answered.unwrap_or_else(|error| error_response(&error))
    }

    fn error(&self, status: StatusCode, text: &str) -> HttpResponse {
        error_response(&ApiError::new(status, text))
    }
}

fn error_response(error: &ApiError) -> HttpResponse {
    // An error response always serialises: it consists of strings.
    let body = serde_json::to_vec(error).unwrap_or_default();
    let mut response = response(error.status, JSON, body);
    if let Some(allow) = error.allow {
        let headers = response.headers_mut();
        headers.insert(ALLOW, HeaderValue::from_static(allow));
    }
    response
}

fn json(body: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(body).map_err(|problem| {
        warn!(error = %problem, "response serialisation failed");
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, problem.to_string())
    })
}

fn ok_json(request: &Request<Incoming>, body: &impl Serialize) -> Result<HttpResponse, ApiError> {
    Ok(compressible_response(JSON, json(body)?, request.headers()))
}

/// List of the endpoints.
#[derive(Debug, Serialize)]
struct Index {
    endpoints: [&'static str; 10],
}

/// Number of workers that received a command.
#[derive(Debug, Serialize)]
struct Accepted {
    workers: usize,
}

/// The samples of `/metrics` at a point in time.
#[derive(Debug, Serialize)]
struct Snapshot {
    time: String,
    metrics: Vec<Sample>,
}
