//! Tests of the Kafka crate that need no broker.

mod connection;
mod positions;
mod secrets;
