//! Probe: sends the gold queries to search endpoints and turns the answers into search events.
//!
//! A [`Round`] sends every gold query to every target once, within the limits of [`Probe`]. `client`
//! sends one request; `pace` decides when; `target`, `template`, `header`, `answer` and `event` are
//! pure. The probe must not know measures: its events are judged like all others. It does not
//! depend on the destination of its events.
//!
//! ```
//! use rankgauge_probe::{AnswerShape, parse_answer};
//!
//! let shape = AnswerShape {
//!     hits: "/docs".to_owned(),
//!     id: "/id".to_owned(),
//!     score: "/score".to_owned(),
//!     group: None,
//!     total: Some("/found".to_owned()),
//!     attributes: Vec::new(),
//!     empty: None,
//!     partial: &[],
//! };
//! let body = br#"{"found": 7, "docs": [{"id": "a", "score": 2.5}, {"id": "b", "score": 1}]}"#;
//! let answer = parse_answer(body, &shape, 10)?;
//! assert_eq!(answer.hits[1].id, "b");
//! assert_eq!(answer.total, Some(7));
//! # Ok::<(), rankgauge_probe::AnswerError>(())
//! ```

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
