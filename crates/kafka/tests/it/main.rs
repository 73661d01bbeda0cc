//! Tests of the Kafka crate that need no broker.

mod commit_metadata;
mod connection;
mod positions;
mod secrets;
