//! Synthetic traffic: a web shop and a Korean law library with gold queries, searches by several systems
//! and user feedback on them, and an embedded broker that receives the events.
//!
//! The demo shows it; tests and benchmarks generate their events with it. Equal seeds give equal
//! events. The generator shares no code with the engine, so an engine that agrees with it agrees
//! for a reason. [`simulation`] holds the promises of the detectors against models of traffic.
//!
//! The feature `broker` adds the embedded broker and the producer. Without it, nothing here links a
//! client of Kafka.
//!
//! ```
//! use std::sync::Arc;
//! use rankgauge_core::event::Kind;
//! use rankgauge_lab::corpus::Corpus;
//! use rankgauge_lab::traffic::{Traffic, TrafficSettings};
//!
//! let corpus = Arc::new(Corpus::generate(1, 20));
//! let records = Traffic::new(corpus, TrafficSettings::default()).take(100);
//! let searches = records.filter(|record| record.kind == Kind::Search);
//! assert!(searches.count() > 10);
//! ```

mod answers;
#[cfg(feature = "broker")]
pub mod broker;
pub mod corpus;
mod document;
mod fault;
mod gold_file;
mod graph;
mod origin;
#[cfg(feature = "broker")]
pub mod produce;
mod quality;
mod serving;
pub mod shop;
pub mod simulation;
pub mod traffic;
mod users;
mod vocabulary;
mod wire;
