//! Tests of what generates events, in one binary that is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

mod shop;
mod traffic;
