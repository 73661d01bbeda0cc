//! Values between the workers of a process and its readers: [`Published`] by the workers,
//! [`Control`] by the operators.

pub mod alarms;
mod commands;
mod control;
mod dead_letter_counts;
pub mod deployments;
mod fleet;
mod forwarder;
mod heartbeat;
pub mod list_changes;
mod published;
pub mod query_stats;
mod registry_view;
pub mod rejections;
pub mod session_partitions;
mod view;

pub use commands::{Command, Order, ReportedCommand};
pub use control::Control;
pub use dead_letter_counts::DeadLetterCounts;
pub use fleet::{FleetView, StateOutcome};
pub use forwarder::{ForwarderView, SourcePartition};
pub use heartbeat::Heartbeat;
pub use published::{Enabled, Published};
pub use registry_view::{RegistryOutcome, RegistryView};
pub use view::{CheckpointView, StalledPartition, WorkerView};
