//! Every integration test, in one binary that is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and stand outside: they read clocks and spawn threads"
)]

mod architecture;
mod catalogue;
mod config;
mod dashboards;
mod deploy;
mod gold;
mod harness;
mod harness_works;
mod measures;
mod rules;
mod schemas;
mod traffic;
