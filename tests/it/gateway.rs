//! `rankgauge gateway`: requests over HTTP become records that a sidecar reads.

mod browser;
pub(crate) mod client;
mod durability;
pub(crate) mod hostile;
mod mapped;
mod native;
mod tokens;
