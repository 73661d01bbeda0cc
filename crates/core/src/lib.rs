//! Search-quality measures as trec_eval computes them, and the engine that keeps them live.
//!
//! The crate is pure: it has no runtime, client, server or logger, reads no clock, and starts
//! nothing. Only [`gold::load`] reads files. Equal inputs give equal results.
//!
//! # Judge a ranking
//!
//! A [gold set](gold) contains the judgements of each query. A [ranking](ranking::Ranking) is a
//! served list seen through them. A [measure](measure::Measure) is a function of both, and has the
//! name and the value that trec_eval and ir_measures give it.
//!
//! ```
//! use rankgauge_core::gold::{self, Options};
//! use rankgauge_core::measure::Measure;
//! use rankgauge_core::ranking::Ranking;
//!
//! // TREC qrels; every format of gold sets is recognised by its content.
//! let qrels = "q1 0 doc-a 2\nq1 0 doc-b 0\nq1 0 doc-c 1\n";
//! let gold = gold::parse("example.qrels", qrels.as_bytes(), &Options::default())?;
//! let query = gold.query(gold.find(Some("q1"), None).expect("q1 has judgements"));
//!
//! let mut ranking = Ranking::new();
//! ranking.judge(["doc-b", "doc-a", "doc-x"].into_iter(), &query.judgements);
//!
//! let score = |name: &str| match name.parse::<Measure>() {
//!     Ok(Measure::Ranked(measure)) => measure.score(&ranking, &query.judgements),
//!     _ => None,
//! };
//! assert_eq!(score("P@2"), Some(0.5));
//! assert_eq!(score("RR"), Some(0.5));
//! assert_eq!(score("R@3"), Some(0.5));
//! # Ok::<(), rankgauge_core::gold::GoldError>(())
//! ```
//!
//! # Keep measures live
//!
//! [`decode`] converts the bytes of a record to an [`event`]. The [engine](engine::Engine) consumes
//! searches and feedback ([`records`] decodes and applies them), joins them in event time, and returns
//! [snapshots](engine::snapshot::Snapshot) of its totals. [`detection`] distinguishes regressions
//! from noise, and [`statistics`] compares scores of queries.

pub mod columns;
pub mod compression;
pub mod decode;
pub mod detection;
pub mod engine;
pub mod event;
pub mod gold;
pub mod labelling;
pub mod measure;
pub mod number;
mod overlap;
pub mod ranking;
pub mod records;
pub mod statistics;
pub mod text;
pub mod time;
