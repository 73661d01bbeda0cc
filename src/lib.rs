//! rankgauge watches search quality live: it consumes search and feedback events from Kafka,
//! judges every search against a gold set as trec_eval would, joins it with what people did, and
//! exposes the result to Prometheus.
//!
//! A functional core in an imperative shell. [`engine`] is a pure state machine; [`measure`],
//! [`ranking`] and [`gold`] are what it judges with; [`event`] and [`decode`] are what it reads.
//! Around it, [`ingest`] brings records from Kafka or files, [`expose`] shows snapshots to
//! Prometheus, [`config`] turns files and environment into settings, and [`app`] wires them.
//!
//! The same measures judge files: [`run`] reads what a system answered, [`evaluate`] judges it,
//! [`compare`] sets runs against each other by means of [`statistics`], and [`report`] writes down what
//! came out. [`detection`] tells a regression from noise. `ARCHITECTURE.md` draws the map.

pub mod app;
pub mod checkpoint;
pub mod cli;
pub mod config;
#[cfg(feature = "demo")]
pub mod demo;
pub mod expose;
pub mod ingest;
