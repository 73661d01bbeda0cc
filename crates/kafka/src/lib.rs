//! Everything that talks to Kafka: settings of clients, the consumer of a [`group`], the standalone
//! [`reader`], [`producer`]s, a [`publisher`], the [`state_topic`], bounds of fetched [`batches`], and one [`Error`], which
//! contains no secret.
//!
//! The crate depends on the events and commit points of [`rankgauge_core`], not on its engine.
//!
//! ```
//! use rankgauge_core::event::Kind;
//! use rankgauge_kafka::commit_metadata::{decode, encode};
//!
//! // The group committed offset 40 of partition 3: the join needs records from there on. Records
//! // below 58 are counted already.
//! let metadata = "rankgauge/1 counted=58";
//! let point = decode(3, Kind::Search, 40, metadata).expect("metadata of rankgauge");
//! assert_eq!((point.rebuild, point.counted), (40, 58));
//! assert_eq!(encode(&point), metadata);
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "clients of Kafka wait for brokers by the clock"
)]

mod assignment;
pub mod batches;
pub mod commit_metadata;
pub mod connection;
pub mod dead_letters;
pub mod envelope;
mod error;
pub mod group;
pub mod label_requests;
pub mod members;
pub mod positions;
pub mod prober;
pub mod producer;
pub mod publisher;
pub mod reader;
pub mod settings;
mod standalone;
pub mod state_topic;
pub mod throttle;
mod topic;
pub mod transaction;

pub use error::Error;
pub use settings::Settings;
