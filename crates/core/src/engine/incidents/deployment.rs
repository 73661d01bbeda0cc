//! Deployments of a variant, and their marks on an incident.

use serde::{Deserialize, Serialize};

use crate::detection::Losses;
use crate::time::{EventTime, Millis};

/// Reported deployment of a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployed {
    /// Time of the deployment.
    pub at: EventTime,
    /// Version, if it was stated.
    pub version: Option<Box<str>>,
}

impl Deployed {
    /// Time between two reports of one version of a variant, below which they are one deployment.
    pub const MIN_INTERVAL: Millis = Millis(10 * 60_000);

    /// Returns true if both are one deployment: the same version at almost the same time.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let passed = self.at.0.abs_diff(other.at.0);
        self.version == other.version
            && (passed == 0
                || self.version.is_some() && passed < Self::MIN_INTERVAL.0.unsigned_abs())
    }
}

/// Deployment that is marked on an incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeploymentMark {
    /// The deployment.
    pub deployed: Deployed,
    /// True for a deployment during the incident, false for the last one before it.
    pub is_during: bool,
    /// Losses of the primary measure since the deployment, until the next one.
    pub losses: Losses,
}

impl DeploymentMark {
    pub(super) fn before(deployed: Deployed) -> Self {
        Self {
            deployed,
            is_during: false,
            losses: Losses::default(),
        }
    }

    pub(super) fn during(deployed: Deployed) -> Self {
        Self {
            is_during: true,
            ..Self::before(deployed)
        }
    }
}
