//! Exposition of metrics and the API.
//!
//! The families are declared in [`rankgauge_core::engine::family`]. Those that grow with variants,
//! slices and measures are written directly from the snapshot ([`collect`]). The few that describe
//! the process are held by the `prometheus` crate ([`process`]). Nothing here changes the engine's
//! state or waits for it.

pub mod api;
pub mod collect;
pub mod history;
pub mod http;
pub mod json;
mod page;
pub mod process;
mod samples;
pub mod server;
pub mod shared;
pub mod text;
pub mod web;
