//! The admin listener: what the sidecar knows as JSON, and what can be asked of it.
//!
//! It is for people and programs of the same machine, so it says what must not become a label: query
//! texts and document ids. Reading waits for no worker. Commands are left for whoever does them: the
//! workers, or the task that reloads the gold set.

mod guard;
mod measures;
mod parameters;
mod queries;
mod status;

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Method, Request, StatusCode};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use super::collect::collect;
use super::http::Exposition;
use super::json::{Json, Sample};
use super::server::{Answer, Site, compressible_page, page};
use crate::ingest::regressions::Regression;
use crate::ingest::{Command, wall_now};
use parameters::Parameters;
use rankgauge_core::gold::{GoldError, GoldSet};
use rankgauge_core::time::WallTime;

const JSON: &str = "application/json";

/// Everything that there is, as it is listed for whoever asks for something else.
const ENDPOINTS: [&str; 8] = [
    "GET /api/v1/status",
    "GET /api/v1/measures",
    "GET /api/v1/snapshot",
    "GET /api/v1/queries",
    "GET /api/v1/queries/KEY",
    "GET /api/v1/regressions",
    "POST /-/reload",
    "POST /-/baseline",
];

/// What the admin listener shows, and whom it asks.
#[derive(Debug)]
pub struct Admin {
    /// What is shown to everybody.
    pub exposition: Arc<Exposition>,
    /// Who reloads the gold set; `None` when none is configured.
    pub reload: Option<mpsc::Sender<ReloadRequest>>,
    /// Where it is served.
    pub address: SocketAddr,
    /// When the process started.
    pub started: WallTime,
}

/// Asks for the gold set to be loaded now, and to be told what came of it.
pub type ReloadRequest = oneshot::Sender<Result<Reload, ReloadError>>;

/// What came of loading the gold set.
#[derive(Clone, Debug, Serialize)]
pub struct Reload {
    /// Whether it is another one.
    pub changed: bool,
    /// The one that was in use.
    pub before: GoldName,
    /// The one that is.
    pub after: GoldName,
}

/// Why the gold set that was there is still in use.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The files are no good.
    #[error(transparent)]
    Gold(#[from] GoldError),
    /// Whoever loads them has died; a defect.
    #[error("loading failed: {0}")]
    Died(String),
}

/// Which gold set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GoldName {
    version: String,
    sha256: String,
    queries: usize,
    judgements: usize,
}

impl From<&GoldSet> for GoldName {
    fn from(gold: &GoldSet) -> Self {
        Self {
            version: gold.version().to_owned(),
            sha256: gold.sha256().to_owned(),
            queries: gold.queries().len(),
            judgements: gold.judgement_count(),
        }
    }
}

/// Why something is not answered.
#[derive(Debug, Serialize)]
struct Refusal {
    #[serde(skip)]
    status: StatusCode,
    error: String,
    /// One by one, where it is several things.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
    /// What there is instead.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    endpoints: &'static [&'static str],
    #[serde(skip)]
    allow: Option<&'static str>,
}

impl Refusal {
    fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self {
            status,
            error: error.into(),
            problems: Vec::new(),
            endpoints: &[],
            allow: None,
        }
    }

    /// The request is not one that can be answered.
    fn wrong(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }
}

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resource<'a> {
    Index,
    Status,
    Measures,
    Snapshot,
    Queries,
    /// A gold query, by its key as it stands in the path.
    Query(&'a str),
    Regressions,
    Reload,
    Baseline,
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
            _ => None,
        }
    }

    /// Whether it is something to do rather than something to look at.
    fn is_command(self) -> bool {
        matches!(self, Self::Reload | Self::Baseline)
    }
}

/// What became evident.
#[derive(Debug, Serialize)]
struct Regressions {
    regressions: Vec<Told>,
}

/// A regression, and when it became evident.
#[derive(Debug, Serialize)]
struct Told {
    time: String,
    #[serde(flatten)]
    regression: Regression,
}

impl Admin {
    async fn respond(&self, request: &Request<Incoming>) -> Result<Answer, Refusal> {
        guard::host(request.headers(), self.address)?;
        let path = request.uri().path();
        let resource = Resource::at(path).ok_or_else(|| Refusal {
            endpoints: &ENDPOINTS,
            ..Refusal::new(StatusCode::NOT_FOUND, format!("there is no {path}"))
        })?;
        let (methods, allow): (&[Method], _) = if resource.is_command() {
            (&[Method::POST], "POST")
        } else {
            (&[Method::GET, Method::HEAD], "GET, HEAD")
        };
        if !methods.contains(request.method()) {
            let error = format!("{path} answers {allow} only");
            return Err(Refusal {
                allow: Some(allow),
                ..Refusal::new(StatusCode::METHOD_NOT_ALLOWED, error)
            });
        }
        if resource.is_command() {
            guard::same_site(request.headers())?;
        }
        let query = request.uri().query();
        let asked = |known| Parameters::of(query, known);
        match resource {
            Resource::Index => {
                asked(&[])?;
                let index = Index {
                    endpoints: ENDPOINTS,
                };
                found(request, &index)
            }
            Resource::Status => {
                asked(&[])?;
                found(request, &status::of(self, wall_now()))
            }
            Resource::Measures => {
                let asked = asked(&measures::PARAMETERS)?;
                found(request, &measures::of(&self.exposition, &asked)?)
            }
            Resource::Snapshot => {
                asked(&[])?;
                found(request, &self.snapshot())
            }
            Resource::Queries => {
                let asked = asked(&queries::LIST_PARAMETERS)?;
                found(request, &queries::worst_first(&self.exposition, &asked)?)
            }
            Resource::Query(key) => {
                let asked = asked(&queries::PARAMETERS)?;
                found(request, &queries::one(&self.exposition, key, &asked)?)
            }
            Resource::Regressions => {
                asked(&[])?;
                found(request, &self.regressions())
            }
            Resource::Reload => {
                asked(&[])?;
                found(request, &self.reload().await?)
            }
            Resource::Baseline => {
                asked(&[])?;
                self.exposition.shared.command(Command::LearnBaselines);
                let workers = self.exposition.shared.views.len();
                Ok(page(
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
        let shared = &exposition.shared;
        let mut sink = Json::default();
        collect(&shared.merged(), &exposition.names, now, &mut sink);
        let mut metrics = sink.into_samples();
        metrics.extend(exposition.process.samples(shared, now));
        Snapshot {
            time: status::time(now.as_event_time()),
            metrics,
        }
    }

    /// What became evident since the process started, newest first.
    fn regressions(&self) -> Regressions {
        let latest = self.exposition.shared.regressions.latest();
        let regressions = latest.into_iter().map(|regression| Told {
            time: status::time(regression.at.as_event_time()),
            regression,
        });
        Regressions {
            regressions: regressions.collect(),
        }
    }

    async fn reload(&self) -> Result<Reload, Refusal> {
        let Some(requests) = &self.reload else {
            let error = "no gold set is configured: set gold.paths and start again";
            return Err(Refusal::new(StatusCode::CONFLICT, error));
        };
        let busy = || {
            let error = "the gold set is being reloaded, or the sidecar is about to end";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error)
        };
        let (answer, told) = oneshot::channel();
        requests.try_send(answer).map_err(|_| busy())?;
        match told.await.map_err(|_| busy())? {
            Ok(reload) => Ok(reload),
            Err(error) => {
                let problems = match &error {
                    ReloadError::Gold(error) => {
                        error.problems().iter().map(ToString::to_string).collect()
                    }
                    ReloadError::Died(_) => Vec::new(),
                };
                let error = format!("the old gold set stays in use: {error}");
                Err(Refusal {
                    problems,
                    ..Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error)
                })
            }
        }
    }
}

impl Site for Admin {
    async fn answer(&self, request: &Request<Incoming>) -> Answer {
        let mut answer = self.respond(request).await.unwrap_or_else(|refusal| {
            // What is refused can be written: it is a few words.
            let body = serde_json::to_vec(&refusal).unwrap_or_default();
            let mut answer = page(refusal.status, JSON, body);
            if let Some(allow) = refusal.allow {
                let headers = answer.headers_mut();
                headers.insert(ALLOW, HeaderValue::from_static(allow));
            }
            answer
        });
        // No page of another site is to get at any of it, not even as a script or a picture.
        let headers = answer.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("same-origin"),
        );
        answer
    }
}

fn json(body: &impl Serialize) -> Result<Vec<u8>, Refusal> {
    serde_json::to_vec(body).map_err(|problem| {
        warn!("an answer cannot be written: {problem}");
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, problem.to_string())
    })
}

fn found(request: &Request<Incoming>, body: &impl Serialize) -> Result<Answer, Refusal> {
    Ok(compressible_page(JSON, json(body)?, request.headers()))
}

/// What there is.
#[derive(Debug, Serialize)]
struct Index {
    endpoints: [&'static str; 8],
}

/// Who was asked to do something.
#[derive(Debug, Serialize)]
struct Accepted {
    workers: usize,
}

/// What `/metrics` shows.
#[derive(Debug, Serialize)]
struct Snapshot {
    time: String,
    metrics: Vec<Sample>,
}
