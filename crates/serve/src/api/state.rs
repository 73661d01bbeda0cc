//! State that the API and the page show, and the receivers of commands.

use std::sync::Arc;

use hyper::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use super::body::Body;
use super::deployments::{self, AcceptedDeployment};
use super::pagination::{cursor, page};
use super::parameters::{CURSOR, Parameter, Parameters};
use super::problem::ApiError;
use super::systems::{self, Systems};
use super::timestamp::Timestamp;
use crate::clock::wall_now;
use crate::history::History;
use crate::http::Exposition;
use crate::json::{Json, Sample};
use crate::live::{Order, ReportedCommand};
use crate::log_level::LogLevel;
use crate::target::Target;
use rankgauge_core::gold::{GoldError, GoldSet};
use rankgauge_core::time::WallTime;

/// Default and maximum number of samples of a page.
const MAX_SAMPLES: usize = 1_000_000;

pub(crate) const SNAPSHOT_PARAMETERS: [Parameter; 2] =
    [Parameter::limit(MAX_SAMPLES, MAX_SAMPLES), CURSOR];

/// State that the API and the page show, and the receivers of commands.
#[derive(Debug)]
pub struct AdminApi {
    /// State that the metrics listener exposes too.
    pub exposition: Arc<Exposition>,
    /// Channel to the task that reloads the gold set; `None` when no gold set is configured.
    pub reload: Option<mpsc::Sender<ReloadRequest>>,
    /// Start time of the process.
    pub started: WallTime,
    /// Score history.
    pub history: Arc<History>,
    /// Targets of the configuration.
    pub targets: Vec<Target>,
    /// Level of the log; `None` if it cannot be changed.
    pub log_level: Option<LogLevel>,
    /// True if other machines reach the listener without authentication, and this is not accepted.
    pub is_open: bool,
}

/// Request to load the gold set now; the channel returns the result.
pub type ReloadRequest = oneshot::Sender<Result<Reload, ReloadError>>;

/// Result of a gold set reload.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
    /// The files could not be read in time.
    #[error(
        "the gold files were not read within {seconds} s (gold.load_timeout); check that their volume answers, \
         and that none is a named pipe without a writer"
    )]
    Slow {
        /// Limit in seconds.
        seconds: f64,
    },
    /// The loading task has died; a defect.
    #[error("loading failed: {0}")]
    TaskFailed(String),
}

/// Identity and size of a gold set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "GoldSet")]
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

impl AdminApi {
    /// The samples of `/metrics`.
    pub(crate) fn snapshot(&self, params: &Parameters) -> Result<Snapshot, ApiError> {
        let after = cursor::<u64>(params)?.unwrap_or(0);
        let now = wall_now();
        let exposition = &self.exposition;
        let published = &exposition.published;
        let mut sink = Json::default();
        exposition.collect(now, &mut sink);
        let mut metrics = sink.into_samples();
        let topics = &exposition.names.topics;
        metrics.extend(exposition.process.samples(published, topics, now));
        let first = usize::try_from(after).unwrap_or(usize::MAX);
        let mut metrics: Vec<(u64, Sample)> = (1..).zip(metrics).skip(first).collect();
        let next_cursor = page(&mut metrics, params.limit(), |(number, _)| *number);
        Ok(Snapshot {
            time: Timestamp(now.as_event_time()),
            metrics: metrics.into_iter().map(|(_, sample)| sample).collect(),
            next_cursor,
        })
    }

    /// Resets the baselines of all workers.
    pub(crate) fn reset_baselines(&self, by: Option<String>) -> Accepted {
        self.exposition.control.execute(ReportedCommand {
            reported: wall_now(),
            by,
            order: Order::ResetBaselines,
        });
        Accepted {
            workers: self.exposition.published.views.len(),
        }
    }

    /// Records the deployment in `body`.
    pub(crate) fn deploy(&self, body: &Body) -> Result<AcceptedDeployment, ApiError> {
        let now = wall_now();
        let deployment = deployments::read(body, now)?;
        self.exposition.control.deploy(deployment.clone(), now);
        let has_searches = self.exposition.variants().contains(&deployment.variant);
        let workers = self.exposition.published.views.len();
        Ok(AcceptedDeployment {
            workers,
            has_searches,
            deployment: deployments::entry(deployment),
        })
    }

    /// Systems side by side.
    pub(crate) fn systems(&self, params: &Parameters) -> Result<Systems, ApiError> {
        systems::of(&self.exposition, &self.history, &self.targets, params)
    }

    /// Reloads the gold set.
    pub(crate) async fn reload(&self) -> Result<Reload, ApiError> {
        let Some(requests) = &self.reload else {
            let error = "no gold set is configured: set gold.paths and restart";
            return Err(ApiError::new(StatusCode::CONFLICT, error));
        };
        let busy = || {
            let error = "a gold set reload is in progress, or the sidecar is shutting down; repeat the request later";
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
                    ReloadError::Slow { .. } | ReloadError::TaskFailed(_) => Vec::new(),
                };
                let error = format!("the previous gold set stays in use: {error}");
                let error = ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, error);
                Err(error.with_problems(problems))
            }
        }
    }
}

/// Number of workers that received a command.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Accepted {
    pub(crate) workers: usize,
}

/// The samples of `/metrics` at a point in time.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Snapshot {
    time: Timestamp,
    metrics: Vec<Sample>,
    /// Cursor of the next page; null on the last one. It is the number of the last sample, so
    /// series that appear between two requests can move samples.
    next_cursor: Option<String>,
}
