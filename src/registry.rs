//! Schema registry: requests of schemas by id, outside of the path of records.
//!
//! The protocol is that of Confluent's registry, which Apicurio, Karapace and Redpanda have as well.
//! [`Fetcher`] serves workers, [`Blocking`] serves commands.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: a thread is spawned here, and requests have time limits"
)]

mod answer;
mod blocking;
mod client;
mod fetcher;
mod settings;

pub use answer::{FetchError, Reference, schema_of_answers};
pub use blocking::Blocking;
pub use client::Client;
pub use fetcher::Fetcher;
pub use settings::{Credentials, Settings};
