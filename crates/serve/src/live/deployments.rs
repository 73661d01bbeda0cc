//! Deployments of variants, as operators report them: kept for the API and the exposition, and on disk
//! if there is a checkpoint folder.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::list_changes::Summary;
use rankgauge_core::engine::fleet::SAME_DEPLOYMENT;
use rankgauge_core::time::EventTime;

/// Maximum number of kept deployments.
pub const MAX_DEPLOYMENTS: usize = 100;

/// Time between two reports of one version of a variant, below which they are one deployment.
const SAME_DEPLOYMENT_MS: u64 = SAME_DEPLOYMENT.0.unsigned_abs();

/// File in the checkpoint folder.
const FILE: &str = "deployments.json";

/// Deployment of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deployment {
    /// Name of the variant, as it appears in searches.
    pub variant: String,
    /// Version that is deployed.
    pub version: String,
    /// Time of the deployment in milliseconds since 1970.
    pub ts: i64,
    /// Remark of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Change of the lists of head queries since the version before, as soon as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lists: Option<Summary>,
    /// User of the API who reported it, if the listener has authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Deployment {
    /// Time of the deployment.
    pub fn at(&self) -> EventTime {
        EventTime(self.ts)
    }
}

/// Last deployments, oldest first.
#[derive(Debug, Default)]
pub struct Deployments {
    kept: Mutex<VecDeque<Deployment>>,
    folder: Option<PathBuf>,
}

impl Deployments {
    /// Deployments that were saved in the folder. Without a folder, they are kept in memory.
    pub fn load(folder: Option<&Path>) -> Self {
        let saved = folder.map_or(Ok(None), read_text);
        let saved = saved.and_then(|text| match text {
            Some(text) => serde_json::from_str(&text).map_err(io::Error::other),
            None => Ok(VecDeque::new()),
        });
        let kept = saved.unwrap_or_else(|problem| {
            warn!(file = FILE, error = %problem, "saved deployments cannot be read");
            VecDeque::new()
        });
        Self {
            kept: Mutex::new(kept),
            folder: folder.map(Path::to_owned),
        }
    }

    /// Adds a deployment. One of the same variant and version replaces the earlier one.
    pub fn add(&self, deployment: Deployment) {
        self.keep(&mut self.kept(), deployment);
    }

    /// Adds a deployment, unless the same version of the variant was reported for a time near it. Returns
    /// true if it was added.
    pub(super) fn add_new(&self, deployment: &Deployment) -> bool {
        let mut kept = self.kept();
        let is_same = |it: &Deployment| {
            (&it.variant, &it.version) == (&deployment.variant, &deployment.version)
                && it.ts.abs_diff(deployment.ts) < SAME_DEPLOYMENT_MS
        };
        let is_new = !kept.iter().any(is_same);
        if is_new {
            self.keep(&mut kept, deployment.clone());
        }
        is_new
    }

    fn keep(&self, kept: &mut VecDeque<Deployment>, deployment: Deployment) {
        info!(
            variant = deployment.variant,
            version = deployment.version,
            note = deployment.note.as_deref(),
            "deployment reported"
        );
        kept.retain(|it| (&it.variant, &it.version) != (&deployment.variant, &deployment.version));
        while kept.len() >= MAX_DEPLOYMENTS {
            kept.pop_front();
        }
        kept.push_back(deployment);
        self.save(kept);
    }

    /// Notes the change of lists since a deployment.
    pub(super) fn note_lists(&self, variant: &str, version: &str, summary: Summary) {
        let mut kept = self.kept();
        let found = kept
            .iter_mut()
            .find(|it| it.variant == variant && it.version == version);
        if let Some(deployment) = found {
            deployment.lists = Some(summary);
            self.save(&kept);
        }
    }

    fn save(&self, kept: &VecDeque<Deployment>) {
        let Some(folder) = &self.folder else {
            return;
        };
        let text = serde_json::to_string(kept).map_err(io::Error::other);
        let saved = text.and_then(|text| write_text(folder, &text));
        if let Err(problem) = saved {
            warn!(file = FILE, error = %problem, "deployments cannot be saved");
        }
    }

    /// Last deployments, newest first.
    pub fn latest(&self) -> Vec<Deployment> {
        let mut deployments: Vec<Deployment> = self.kept().iter().cloned().collect();
        deployments.sort_by_key(|deployment| std::cmp::Reverse(deployment.ts));
        deployments
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Deployment>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Text of the file in `folder`; `None` if it does not exist.
fn read_text(folder: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(folder.join(FILE)) {
        Ok(text) => Ok(Some(text)),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Replaces the file in `folder`. After an error, the previous one is still in place.
fn write_text(folder: &Path, text: &str) -> io::Result<()> {
    let place = folder.join(FILE);
    let draft = place.with_extension("draft");
    fs::write(&draft, text)?;
    File::open(&draft)?.sync_all()?;
    fs::rename(&draft, &place)?;
    File::open(folder)?.sync_all()
}
