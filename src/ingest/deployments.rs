//! Deployments of variants, as operators report them: kept for the API and the exposition, and on disk
//! if there is a checkpoint folder.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use crate::checkpoint::folder;
use rankgauge_core::time::EventTime;

/// Maximum number of kept deployments.
pub const MAX_DEPLOYMENTS: usize = 100;

/// File in the checkpoint folder.
const FILE: &str = "deployments.json";

/// Deployment of a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    pub(super) fn load(folder: Option<&Path>) -> Self {
        let saved = folder.map_or(Ok(None), |folder| folder::read_text(folder, FILE));
        let saved = saved.and_then(|text| match text {
            Some(text) => serde_json::from_str(&text).map_err(std::io::Error::other),
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
    pub(super) fn add(&self, deployment: Deployment) {
        info!(
            variant = deployment.variant,
            version = deployment.version,
            note = deployment.note.as_deref(),
            "deployment reported"
        );
        let mut kept = self.kept();
        kept.retain(|it| (&it.variant, &it.version) != (&deployment.variant, &deployment.version));
        while kept.len() >= MAX_DEPLOYMENTS {
            kept.pop_front();
        }
        kept.push_back(deployment);
        let Some(folder) = &self.folder else {
            return;
        };
        let text = serde_json::to_string(&*kept).map_err(std::io::Error::other);
        let saved = text.and_then(|text| folder::write_text(folder, FILE, &text));
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
