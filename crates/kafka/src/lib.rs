//! Everything that talks to Kafka: settings of clients, the consumer of a [`group`], the standalone
//! [`reader`], [`producer`]s, and one [`Error`], which contains no secret.
//!
//! The crate depends on the events and commit points of [`rankgauge_core`], not on its engine.
#![allow(
    clippy::disallowed_methods,
    reason = "clients of Kafka wait for brokers by the clock"
)]

pub mod commit_metadata;
pub mod connection;
pub mod dead_letters;
mod error;
pub mod group;
pub mod positions;
pub mod producer;
pub mod reader;
pub mod settings;
mod standalone;
pub mod throttle;
mod topic;

pub use error::Error;
pub use settings::Settings;
