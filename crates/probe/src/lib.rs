//! Probe: sends the gold queries to search endpoints and turns the answers into search events.
//!
//! A [`Round`] sends every gold query to every target once, within the limits of [`Probe`]. `client`
//! sends one request; `pace` decides when; `target`, `template`, `header`, `answer` and `event` are
//! pure. The probe must not know measures: its events are judged like all others. It does not
//! depend on the destination of its events.

mod answer;
mod client;
mod event;
mod header;
mod pace;
mod preset;
mod round;
mod settings;
mod target;
mod template;

pub use answer::{AnswerError, Hit, parse as parse_answer};
pub use client::{Client, ClientError};
pub use event::ErrorType;
pub use header::HeaderText;
pub use preset::{PRESETS, Preset};
pub use round::{ProbeError, ProbedEvent, Round, Tally, check};
pub use settings::Probe;
pub use target::{AnswerShape, Method, Part, ProbeTarget, Request};
pub use template::Template;
