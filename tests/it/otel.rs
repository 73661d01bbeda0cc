//! OpenTelemetry traces as searches: spans of real instrumentation packages through the commands and
//! a real Kafka.

mod acceptance;
mod beside;
#[path = "../../crates/core/tests/it/otel/fixtures.rs"]
mod fixtures;
mod gateway;
mod judged;
mod live;
#[path = "../../crates/core/tests/it/otel/messages.rs"]
#[allow(dead_code, reason = "the tests of the core use the rest")]
pub(crate) mod messages;
