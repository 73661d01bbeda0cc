//! Everything that a process of rankgauge serves: metrics for Prometheus, the JSON API, the live
//! page, and their listeners with TLS and authentication.
//!
//! [`live`] is between the workers of the process and the listeners: workers publish into it, and
//! operators control through it. No reader waits for a worker and no worker waits for a reader.
//!
//! The families are declared in [`rankgauge_core::engine::family`]. Those that grow with variants,
//! slices and measures are written directly from the snapshot ([`collect`]). The few that describe
//! the process are held by the `prometheus` crate ([`process`]).
//!
//! ```
//! use rankgauge_serve::collect::Value;
//! use rankgauge_serve::text::write_value;
//!
//! // Sums of scores are exact, and are written with the digits that they have.
//! let mut text = String::new();
//! let sum = Value::Decimal { units: 1_500_000_001, decimals: 9 };
//! write_value(sum, &mut text);
//! assert_eq!(text, "1.500000001");
//! ```

pub mod admin;
pub mod api;
pub mod base_listener;
pub mod build;
pub mod clock;
pub mod collect;
mod endpoints;
pub mod gateway;
pub mod guard;
pub mod gzip;
pub mod history;
pub mod http;
pub mod json;
pub mod latencies;
pub mod live;
pub mod log_level;
mod metric;
mod openapi;
mod page;
mod per_cent;
pub mod probe;
pub mod process;
pub mod server;
pub mod shared;
pub mod target;
pub mod text;
pub mod web;

pub use openapi::{document, reference};
