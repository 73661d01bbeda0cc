//! Loading of the gold set: at the start, periodically and on request, each time within a limit.
//!
//! A read that hangs is given up, and a later attempt reads the files again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tracing::{error, info, warn};

use super::bounded_read::{BoundedReads, ReadError};
use super::gold_files::GoldFiles;
use crate::config;
use rankgauge_core::gold::{GoldError, GoldSet};
use rankgauge_serve::api::{GoldSetInfo, Reload, ReloadError, ReloadRequest};
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::http::Exposition;

/// Maximum delay between attempts while reads hang.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// Result of the first load that ended.
pub(super) type FirstLoad = oneshot::Sender<Result<(), GoldError>>;

/// Watcher of the gold files.
pub(super) struct GoldWatch {
    config: config::Gold,
    exposition: Arc<Exposition>,
    /// Files with the state of their last check; `None` while a read of them hangs.
    files: Option<GoldFiles>,
    reads: BoundedReads,
    /// Number of attempts in a row that were given up.
    given_up: u32,
    failed_before: Option<String>,
}

/// Result of an attempt: `None` if the files have not changed since the last one.
type Attempt = Option<Result<Reload, ReloadError>>;

impl GoldWatch {
    pub(super) fn new(config: config::Gold, exposition: Arc<Exposition>) -> Self {
        Self {
            files: None,
            config,
            exposition,
            reads: BoundedReads::default(),
            given_up: 0,
            failed_before: None,
        }
    }

    /// Loads the gold set, then reloads it periodically and on request, and installs it if it has changed.
    /// Polling is simpler than file notifications. It also works for network folders and for the symbolic
    /// links that Kubernetes swaps under a mounted ConfigMap.
    pub(super) async fn run(
        mut self,
        first: FirstLoad,
        mut requests: mpsc::Receiver<ReloadRequest>,
    ) {
        let mut first = Some(first);
        let mut request: Option<ReloadRequest> = None;
        loop {
            let attempt = self.attempt(request.is_some() || first.is_some()).await;
            let attempt = match (attempt, first.take()) {
                (Some(Err(ReloadError::Gold(problem))), Some(first)) => {
                    // The start fails with the problem.
                    drop(first.send(Err(problem)));
                    return;
                }
                (Some(Ok(reload)), Some(waiting)) => {
                    drop(waiting.send(Ok(())));
                    Some(Ok(reload))
                }
                (attempt, waiting) => {
                    first = waiting;
                    attempt
                }
            };
            if let (Some(request), Some(answer)) = (request.take(), attempt) {
                // The client may have disconnected.
                drop(request.send(answer));
            }
            request = tokio::select! {
                () = tokio::time::sleep(self.delay()) => None,
                Some(request) = requests.recv() => Some(request),
            };
        }
    }

    fn delay(&self) -> Duration {
        let factor = 2_u32.saturating_pow(self.given_up.min(16));
        let delay = self.config.reload_interval.saturating_mul(factor);
        if self.given_up == 0 {
            delay
        } else {
            delay.min(MAX_DELAY.max(self.config.reload_interval))
        }
    }

    /// Reads the files if they have changed, or in any case if this is requested.
    async fn attempt(&mut self, is_requested: bool) -> Attempt {
        let current = self.exposition.control.gold();
        let before = GoldSetInfo::from(&*current);
        let files = self.files.take();
        let mut files = files.unwrap_or_else(|| GoldFiles::new(self.config.clone()));
        let (limit, paths) = (self.config.load_timeout, self.config.paths.clone());
        let checked = self.reads.run(limit, paths, move || {
            let result = if is_requested {
                Some(files.reload(current.sha256()))
            } else {
                files.check(current.sha256())
            };
            (files, result)
        });
        let process = &self.exposition.process;
        let result = match checked.await {
            Err(ReadError::Slow) => return Some(self.slow()),
            Err(ReadError::Failed(problem)) => {
                process.gold_load_failed();
                error!(error = problem, "gold set reload task failed");
                return Some(Err(ReloadError::TaskFailed(problem)));
            }
            Ok((files, result)) => {
                self.files = Some(files);
                self.given_up = 0;
                result
            }
        };
        let Some(result) = result else {
            // An attempt on unchanged files has the result of the previous attempt.
            if self.failed_before.is_some() {
                process.gold_load_failed();
            }
            return None;
        };
        Some(match result {
            Ok(gold) => {
                self.failed_before = None;
                let after = gold.as_ref();
                let after = after.map_or_else(|| before.clone(), GoldSetInfo::from);
                let changed = gold.is_some();
                if let Some(gold) = gold {
                    self.install(gold);
                }
                Ok(Reload {
                    changed,
                    before,
                    after,
                })
            }
            Err(problem) => {
                // Without a set of before, the start fails.
                self.failed(&problem.to_string(), "gold set not loaded");
                Err(ReloadError::from(problem))
            }
        })
    }

    /// Gives an attempt up.
    fn slow(&mut self) -> Result<Reload, ReloadError> {
        self.given_up = self.given_up.saturating_add(1);
        let problem = ReloadError::Slow {
            seconds: self.config.load_timeout.as_secs_f64(),
        };
        let without_set = "gold set not loaded; the workers wait for it";
        self.failed(&problem.to_string(), without_set);
        Err(problem)
    }

    /// Counts and logs a failure; as `without_set` if no set is in use.
    fn failed(&mut self, problem: &str, without_set: &'static str) {
        self.exposition.process.gold_load_failed();
        if self.failed_before.as_deref() != Some(problem) {
            if self.exposition.control.gold().queries().is_empty() {
                error!(error = problem, "{without_set}");
            } else {
                error!(
                    error = problem,
                    "gold set reload failed; the previous set stays in use"
                );
            }
        }
        self.failed_before = Some(problem.to_owned());
    }

    fn install(&self, gold: GoldSet) {
        info!(
            version = gold.version(),
            queries = gold.queries().len(),
            judgements = gold.judgement_count(),
            sha256 = gold.sha256(),
            "gold set loaded"
        );
        if gold.is_unjudged() {
            warn!("gold set without judgements; no search is judged");
        }
        if let Some(warning) = gold.level_warning() {
            warn!(warning, "gold set without relevant documents");
        }
        let before = self.exposition.control.gold();
        if !before.queries().is_empty() {
            let settings = &self.exposition.names.settings;
            let kept = before.judged_alike(&gold, settings.depends_on_scale());
            let kept = kept.len();
            if kept == 0 {
                info!(
                    "the gold set judges no query as before; baselines, evidence and incidents of rankings \
                     begin again"
                );
            } else {
                info!(
                    queries = kept,
                    "queries that are judged as before keep their baselines"
                );
            }
        }
        self.exposition.process.gold_loaded(&gold, wall_now());
        self.exposition.control.set_gold(gold);
    }
}
