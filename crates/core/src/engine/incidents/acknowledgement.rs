//! Acknowledgement of an incident.

use serde::{Deserialize, Serialize};

use crate::time::WallTime;

/// Acknowledgement of an incident by an operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Acknowledged {
    /// Time of the acknowledgement.
    pub at: WallTime,
    /// Operator, if known.
    pub by: Option<Box<str>>,
}
