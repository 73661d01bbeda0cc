//! Probe: sends the gold queries to search endpoints and turns the answers into search events.
//!
//! A [`Round`] sends every gold query to every target once, within the limits of the configuration.
//! `client` sends one request; `pace` decides when; `answer` and `event` are pure; `topic` writes
//! events to Kafka. The probe must not know measures: its events are judged like all others.

mod answer;
mod client;
mod event;
mod pace;
mod round;
mod topic;

pub use answer::{AnswerError, Hit, parse as parse_answer};
pub use client::{Client, ClientError};
pub use event::ErrorType;
pub use round::{ProbeError, ProbedEvent, Round, Tally, check};
pub use topic::{TopicError, TopicWriter};
