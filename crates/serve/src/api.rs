//! The admin listener: the state of the sidecar as JSON and as a page, and its
//! commands.
//!
//! Its clients are users and programs, by default on the same machine. Its responses may therefore contain data
//! that must not become a label: query texts and document ids. Reads do not wait for the progress of
//! a worker. Commands are queued for the workers or for the task that reloads the gold set.

pub(crate) mod deployments;
pub(crate) mod experiments;
pub(crate) mod gold;
mod guard;
mod log_level;
pub(crate) mod measures;
mod pagination;
pub(crate) mod parameters;
pub(crate) mod pipeline;
pub(crate) mod problem;
pub(crate) mod queries;
pub(crate) mod query;
pub(crate) mod regressions;
pub(crate) mod status;
pub(crate) mod systems;

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use super::collect::{collect, collect_memory};
use super::history::History;
use super::http::Exposition;
use super::json::{Json, Sample};
use super::page::{self as live_page, Page};
use super::server::{Handler, HttpResponse, compressible_response, response};
use super::web::Web;
use crate::clock::wall_now;
use crate::live::Command;
use crate::log_level::LogLevel;
use crate::target::Target;
use pagination::{cursor, page};
use parameters::Parameters;
use problem::ApiError;
use rankgauge_core::gold::{GoldError, GoldSet};
use rankgauge_core::time::WallTime;
use systems::Systems;

const JSON: &str = "application/json";

const SNAPSHOT_PARAMETERS: [&str; 2] = ["limit", "cursor"];

/// Default and maximum number of samples of a page.
const MAX_SAMPLES: usize = 1_000_000;

/// Description of the API.
const OPENAPI: &str = include_str!("../../../schemas/openapi.json");

/// All endpoints, as listed at `/api/v1` and in the response to an unknown path.
const ENDPOINTS: [&str; 18] = [
    "GET /api/v1",
    "GET /api/v1/openapi.json",
    "GET /api/v1/status",
    "GET /api/v1/measures",
    "GET /api/v1/snapshot",
    "GET /api/v1/systems",
    "GET /api/v1/queries",
    "GET /api/v1/queries/KEY",
    "GET /api/v1/regressions",
    "GET /api/v1/experiments",
    "GET /api/v1/pipeline",
    "GET /api/v1/gold",
    "GET /api/v1/deployments",
    "POST /-/reload",
    "POST /-/baseline",
    "POST /-/deployment",
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
    /// Score history of the last minutes.
    pub history: Arc<History>,
    /// Targets of the configuration.
    pub targets: Vec<Target>,
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
    pub(crate) version: String,
    pub(crate) sha256: String,
    pub(crate) queries: usize,
    pub(crate) judgements: usize,
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

/// Resource of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resource<'a> {
    Index,
    OpenApi,
    Status,
    Measures,
    Snapshot,
    Systems,
    Queries,
    /// A gold query, by its key as written in the path.
    Query(&'a str),
    Regressions,
    Experiments,
    Pipeline,
    Gold,
    Deployments,
    Reload,
    Baseline,
    Deployment,
    LogLevel,
    /// A screen of the page, or one of its assets.
    Page(Page<'a>),
}

impl<'a> Resource<'a> {
    fn at(path: &'a str) -> Option<Self> {
        if let Some(key) = path.strip_prefix("/api/v1/queries/") {
            return Some(Self::Query(key));
        }
        match path {
            "/api/v1" => Some(Self::Index),
            "/api/v1/openapi.json" => Some(Self::OpenApi),
            "/api/v1/systems" => Some(Self::Systems),
            "/api/v1/experiments" => Some(Self::Experiments),
            "/api/v1/pipeline" => Some(Self::Pipeline),
            "/api/v1/gold" => Some(Self::Gold),
            "/api/v1/status" => Some(Self::Status),
            "/api/v1/measures" => Some(Self::Measures),
            "/api/v1/snapshot" => Some(Self::Snapshot),
            "/api/v1/queries" => Some(Self::Queries),
            "/api/v1/regressions" => Some(Self::Regressions),
            "/-/reload" => Some(Self::Reload),
            "/api/v1/deployments" => Some(Self::Deployments),
            "/-/baseline" => Some(Self::Baseline),
            "/-/deployment" => Some(Self::Deployment),
            "/-/log-level" => Some(Self::LogLevel),
            _ => Page::at(path).map(Self::Page),
        }
    }

    /// Allowed methods, as a list and as the header `Allow`.
    fn methods(self) -> (&'static [Method], &'static str) {
        match self {
            Self::Reload | Self::Baseline | Self::Deployment => (&[Method::POST], "POST"),
            Self::LogLevel => (
                &[Method::GET, Method::HEAD, Method::POST, Method::PUT],
                "GET, HEAD, POST, PUT",
            ),
            Self::Index
            | Self::OpenApi
            | Self::Status
            | Self::Measures
            | Self::Snapshot
            | Self::Systems
            | Self::Queries
            | Self::Query(_)
            | Self::Regressions
            | Self::Experiments
            | Self::Pipeline
            | Self::Gold
            | Self::Deployments
            | Self::Page(_) => (&[Method::GET, Method::HEAD], "GET, HEAD"),
        }
    }
}

impl AdminApi {
    async fn respond(&self, request: &mut Request<Incoming>) -> Result<HttpResponse, ApiError> {
        if !self.web.is_protected() {
            guard::host(request.headers(), self.address)?;
        }
        let path = request.uri().path();
        let resource = Resource::at(path).ok_or_else(|| {
            let error = ApiError::new(StatusCode::NOT_FOUND, format!("no endpoint at {path}"));
            error.with_endpoints(&ENDPOINTS)
        })?;
        let (methods, allow) = resource.methods();
        if !methods.contains(request.method()) {
            let error = format!("{path} accepts {allow} only");
            let error = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, error);
            return Err(error.with_methods(allow));
        }
        let is_command = matches!(*request.method(), Method::POST | Method::PUT);
        if is_command {
            guard::same_site(request.headers(), self.web.scheme())?;
            if matches!(resource, Resource::Deployment) {
                return self.deploy(request).await;
            }
            return self.execute(resource, request).await;
        }
        self.read(resource, request)
    }

    /// Response to a request that changes nothing.
    fn read(
        &self,
        resource: Resource<'_>,
        request: &Request<Incoming>,
    ) -> Result<HttpResponse, ApiError> {
        let query = request.uri().query();
        let parse = |known| Parameters::of(query, known);
        match resource {
            Resource::Index => {
                parse(&[])?;
                let index = Index {
                    endpoints: &ENDPOINTS,
                };
                ok_json(request, &index)
            }
            Resource::OpenApi => {
                parse(&[])?;
                let body = OPENAPI.as_bytes().to_vec();
                Ok(compressible_response(JSON, body, request.headers()))
            }
            Resource::Systems => ok_json(request, &self.systems(&parse(&systems::PARAMETERS)?)?),
            Resource::Experiments => {
                parse(&[])?;
                ok_json(request, &experiments::of(&self.exposition))
            }
            Resource::Pipeline => {
                parse(&[])?;
                ok_json(request, &pipeline::of(&self.exposition))
            }
            Resource::Gold => {
                let params = parse(&gold::PARAMETERS)?;
                ok_json(request, &gold::of(&self.exposition, &params)?)
            }
            Resource::Page(page) => page.response(self, request),
            Resource::Status => {
                parse(&[])?;
                ok_json(request, &status::of(self, wall_now()))
            }
            Resource::Measures => {
                let params = parse(&measures::PARAMETERS)?;
                ok_json(request, &measures::of(&self.exposition, &params)?)
            }
            Resource::Snapshot => {
                let params = parse(&SNAPSHOT_PARAMETERS)?;
                ok_json(request, &self.snapshot(&params)?)
            }
            Resource::Queries => {
                let params = parse(&queries::LIST_PARAMETERS)?;
                ok_json(request, &queries::worst_first(&self.exposition, &params)?)
            }
            Resource::Query(key) => {
                let params = parse(&query::PARAMETERS)?;
                ok_json(
                    request,
                    &query::query_detail(&self.exposition, key, &params)?,
                )
            }
            Resource::Regressions => {
                let params = parse(&regressions::PARAMETERS)?;
                ok_json(request, &regressions::of(&self.exposition, &params)?)
            }
            Resource::Deployments => {
                parse(&[])?;
                let deployments = &self.exposition.control.deployments;
                ok_json(request, &deployments::list(deployments))
            }
            Resource::LogLevel => {
                parse(&[])?;
                ok_json(request, &log_level::current(self.log_level.as_ref())?)
            }
            Resource::Reload | Resource::Baseline | Resource::Deployment => {
                Err(not_a_command(request))
            }
        }
    }

    /// Records the deployment in the body of the request.
    async fn deploy(&self, request: &mut Request<Incoming>) -> Result<HttpResponse, ApiError> {
        Parameters::of(request.uri().query(), &[])?;
        let deployment = deployments::read(request, wall_now()).await?;
        self.exposition.control.deploy(deployment.clone());
        if live_page::is_wanted(request) {
            return Ok(live_page::deployed(&deployment));
        }
        let accepted = deployments::AcceptedDeployment {
            workers: self.exposition.published.views.len(),
            deployment: deployments::entry(deployment),
        };
        Ok(response(StatusCode::ACCEPTED, JSON, json(&accepted)?))
    }

    /// Executes a command.
    async fn execute(
        &self,
        resource: Resource<'_>,
        request: &Request<Incoming>,
    ) -> Result<HttpResponse, ApiError> {
        let query = request.uri().query();
        let parse = |known| Parameters::of(query, known);
        match resource {
            Resource::Reload => {
                parse(&[])?;
                let reload = self.reload().await?;
                if live_page::is_wanted(request) {
                    return Ok(live_page::reloaded(&reload));
                }
                ok_json(request, &reload)
            }
            Resource::LogLevel => {
                let params = parse(&log_level::PARAMETERS)?;
                let changed = log_level::change(self.log_level.as_ref(), &params)?;
                ok_json(request, &changed)
            }
            Resource::Baseline => {
                parse(&[])?;
                self.exposition.control.command(&Command::LearnBaselines);
                let workers = self.exposition.published.views.len();
                if live_page::is_wanted(request) {
                    return Ok(live_page::baselines_reset(workers));
                }
                Ok(response(
                    StatusCode::ACCEPTED,
                    JSON,
                    json(&Accepted { workers })?,
                ))
            }
            _ => Err(not_a_command(request)),
        }
    }

    /// The samples of `/metrics`.
    fn snapshot(&self, params: &Parameters) -> Result<Snapshot, ApiError> {
        let limit = params.integer("limit", 1..=MAX_SAMPLES)?;
        let after = cursor::<u64>(params)?.unwrap_or(0);
        let now = wall_now();
        let exposition = &self.exposition;
        let published = &exposition.published;
        let mut sink = Json::default();
        let merged = published.merged();
        collect(&merged, &exposition.names, now, &mut sink);
        collect_memory(&merged, &mut sink);
        exposition.collect_deployments(&mut sink);
        let mut metrics = sink.into_samples();
        let topics = &exposition.names.topics;
        metrics.extend(exposition.process.samples(published, topics, now));
        let first = usize::try_from(after).unwrap_or(usize::MAX);
        let mut metrics: Vec<(u64, Sample)> = (1..).zip(metrics).skip(first).collect();
        let limit = limit.unwrap_or(MAX_SAMPLES);
        let next_cursor = page(&mut metrics, limit, |(number, _)| *number);
        Ok(Snapshot {
            time: status::time(now.as_event_time()),
            metrics: metrics.into_iter().map(|(_, sample)| sample).collect(),
            next_cursor,
        })
    }

    /// Systems side by side.
    pub(crate) fn systems(&self, params: &Parameters) -> Result<Systems, ApiError> {
        systems::of(&self.exposition, &self.history, &self.targets, params)
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
                let error = ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, error);
                Err(error.with_problems(problems))
            }
        }
    }
}

impl Handler for AdminApi {
    fn probe(&self, request: &Request<Incoming>) -> Option<HttpResponse> {
        self.exposition.probe(request)
    }

    async fn handle(&self, request: &mut Request<Incoming>) -> HttpResponse {
        let answered = self.respond(request).await;
        answered.unwrap_or_else(|error| {
            if live_page::is_wanted(request) {
                return live_page::error_response(&error);
            }
            error.into_response()
        })
    }

    fn error(&self, status: StatusCode, text: &str) -> HttpResponse {
        ApiError::new(status, text).into_response()
    }
}

/// Error of a method that the table of methods does not allow.
fn not_a_command(request: &Request<Incoming>) -> ApiError {
    let error = format!("{} is not allowed here", request.method());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, error)
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
    endpoints: &'static [&'static str],
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
    /// Cursor of the next page; null on the last one. It is the number of the last sample, so
    /// series that appear between two requests can move samples.
    next_cursor: Option<String>,
}
