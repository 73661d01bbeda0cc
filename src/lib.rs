//! rankgauge monitors search quality live. It consumes search and feedback events from Kafka,
//! judges every search against a gold set as trec_eval would, joins it with user feedback, and
//! exposes quality metrics to Prometheus.
//!
//! This crate is the sidecar around the pure [`rankgauge_core`]: [`config`] turns files and
//! environment into settings, [`ingest`] reads records from Kafka or files, [`checkpoint`] stores
//! what was counted, [`rankgauge_serve`] serves snapshots, and [`app`] connects them. [`cli`] is the command
//! line, which also judges files with [`rankgauge_eval`]. `ARCHITECTURE.md` has a map.
//!
//! ```
//! // The reference configuration of the repository is valid.
//! let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("config/rankgauge.yaml");
//! let config = rankgauge::config::load(&[path], std::iter::empty(), &[])?;
//! assert_eq!(config.kafka.search_topic, "search.log");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod advice;
pub mod app;
pub mod capacity;
pub mod checkpoint;
pub mod cli;
pub mod config;
#[cfg(feature = "demo")]
pub mod demo;
pub mod fleet;
mod https;
pub mod ingest;
pub mod init;
pub mod live_check;
pub mod log;
pub mod reach;
pub mod registry;
#[cfg(feature = "columnar")]
pub mod table_process;
pub mod tail;
