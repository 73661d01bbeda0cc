//! End of an incident, and its reason.

use serde::{Deserialize, Serialize};

use crate::time::EventTime;

/// End of an incident.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ending {
    /// Event time.
    pub at: EventTime,
    /// Reason.
    pub by: EndReason,
    /// Version whose deployment preceded the recovery.
    pub after: Option<Box<str>>,
}

impl Ending {
    pub(super) fn new(by: EndReason, at: EventTime) -> Self {
        Self {
            at,
            by,
            after: None,
        }
    }
}

/// Reason of the end of an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndReason {
    /// The mean is back within the tolerance of the reference.
    Recovered,
    /// The baselines were reset, or a new gold set judges none of the compared queries as before.
    Reset,
    /// No search was compared for 24 hours.
    Expired,
}

impl EndReason {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::Recovered, Self::Reset, Self::Expired];

    /// Name: `recovered`, `reset`, `expired`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recovered => "recovered",
            Self::Reset => "reset",
            Self::Expired => "expired",
        }
    }
}
