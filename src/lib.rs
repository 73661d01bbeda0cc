//! rankgauge monitors search quality live. It consumes search and feedback events from Kafka,
//! judges every search against a gold set as trec_eval would, joins it with user feedback, and
//! exposes quality metrics to Prometheus.
//!
//! The crate is a functional core in an imperative shell. [`engine`] is a pure state machine.
//! [`measure`], [`ranking`] and [`gold`] implement its judging; [`event`] and [`decode`] define its
//! input. Around it, [`ingest`] reads records from Kafka or files, [`expose`] serves snapshots to
//! Prometheus, [`config`] turns files and environment into settings, and [`app`] connects them.
//!
//! The same measures judge files: [`run`] reads run files, [`evaluate`] judges them, [`compare`]
//! compares runs with the methods of [`statistics`], and [`report`] writes the results.
//! [`detection`] distinguishes regressions from noise. `ARCHITECTURE.md` contains a map of the
//! modules.

pub mod app;
pub mod checkpoint;
pub mod cli;
pub mod config;
#[cfg(feature = "demo")]
pub mod demo;
pub mod expose;
pub mod ingest;
