//! Kafka: client settings and their checks, causes of failed connections, and positions.
//!
//! The crate depends on the events and commit points of [`rankgauge_core`], not on its engine.
#![allow(
    clippy::disallowed_methods,
    reason = "clients of Kafka wait for brokers by the clock"
)]

pub mod commit_metadata;
pub mod connection;
pub mod positions;
pub mod settings;
pub mod throttle;

pub use settings::Settings;
