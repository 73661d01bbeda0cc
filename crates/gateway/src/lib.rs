//! Gateway: events of HTTP clients, written to Kafka as native events.
//!
//! A request is read within its limits ([`memory`], `body`), its events are checked by the decoder
//! (`events`), and it is answered when the broker has them (`handler`). Kafka is the store: the gateway
//! keeps nothing that it has not answered.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: a gateway has threads, sockets and time limits"
)]

mod answer;
mod body;
mod cors;
mod events;
mod handler;
pub mod memory;
pub mod offline;
mod routes;
mod server;
mod settings;
mod tokens;

pub use routes::KnownFormats;
pub use server::{Gateway, StartError};
pub use settings::{KeyBy, Settings};
pub use tokens::{Application, ReadApplications, Tokens};
