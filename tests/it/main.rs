//! All integration tests, in one binary that is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panics and run outside the engine: they read clocks and spawn threads"
)]

mod architecture;
mod broken_output;
mod capacity;
mod catalogue;
mod check;
mod checkpoint;
mod compare;
mod config;
mod connect;
mod connection;
mod dashboards;
mod decoding;
mod deploy;
mod detection;
mod documents;
mod engine;
mod errors;
mod evaluate;
mod faults;
mod gate;
mod gold;
mod gold_files;
mod golden;
mod harness;
mod harness_works;
mod init;
mod inputs;
mod lifecycle;
mod listener;
mod live;
mod logging;
mod measures;
mod operations;
mod otel;
mod pace;
mod packaging;
mod parity;
mod people;
mod positions;
mod probe;
mod regressions;
mod release;
mod reports;
mod rules;
mod runs;
mod runs_judged;
mod schemas;
mod seeds;
mod session_partitions;
mod statistics;
mod tail;
mod terminal;
mod text_layout;
mod traffic;
mod wrong_input;
