//! The state of the sidecar as structures that are served as JSON and rendered as a page, and its
//! commands.
//!
//! Its clients are users and programs, by default on the same machine. Its responses may therefore
//! contain data that must not become a label: query texts and document ids. Reads do not wait for the
//! progress of a worker. Commands are queued for the workers or for the task that reloads the gold set.

pub(crate) mod body;
pub(crate) mod causes;
pub(crate) mod deployments;
pub(crate) mod evaluators;
pub(crate) mod experiments;
pub(crate) mod gold;
pub(crate) mod incident_notes;
pub(crate) mod incidents;
pub(crate) mod list_changes;
pub(crate) mod log_level;
pub(crate) mod measures;
pub(crate) mod missed_targets;
mod pagination;
pub(crate) mod parameters;
pub(crate) mod pipeline;
pub(crate) mod problem;
pub(crate) mod quality;
pub(crate) mod queries;
pub(crate) mod query;
mod state;
pub(crate) mod status;
pub(crate) mod systems;
pub(crate) mod timestamp;

pub(crate) use state::{Accepted, SNAPSHOT_PARAMETERS};
pub use state::{AdminApi, GoldSetInfo, Reload, ReloadError, ReloadRequest};
