//! Offline evaluation: run files judged, compared and reported; tools for gold sets.
//!
//! [`run`] reads what systems answered. One [`pass`] over a run judges it with the measures of
//! [`rankgauge_core`] and collects the rest: [`evaluate`] has its scores, [`compare`] tests the differences between them, [`gate`] checks both against
//! the conditions of a build, and [`report`] writes the results. [`operations`] has the latency and
//! the cost of a run, [`behaviour`] its user feedback, and [`sweep`] its best score threshold.
//! [`clicks`] grades documents from clicks, and [`labelling`] estimates quality from few labels.
//! [`proposal`] finds documents to judge in recorded traffic, [`template`] writes queries. [`gold`]
//! reviews, compares and converts gold sets. Only [`run::RunReader`] opens files.
//!
//! ```
//! use rankgauge_core::event::Limits;
//! use rankgauge_core::gold;
//! use rankgauge_core::measure::Measure;
//! use rankgauge_core::ranking::Eligibility;
//! use rankgauge_eval::evaluate::{Evaluation, Options};
//! use rankgauge_eval::pass::{Contents, judge};
//! use rankgauge_eval::report::{self, Format};
//! use rankgauge_eval::run::{ReadOptions, RunReader};
//!
//! let folder = std::env::temp_dir().join(format!("rankgauge-example-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let path = folder.join("bm25.run");
//! std::fs::write(&path, "q1 Q0 doc-b 1 9.5 bm25\nq1 Q0 doc-a 2 7.1 bm25\n")?;
//!
//! let qrels = "q1 0 doc-a 2\nq1 0 doc-c 1\n";
//! let gold = gold::parse("example.qrels", qrels.as_bytes(), &gold::Options::default())?;
//! let run = RunReader::open(&path, &ReadOptions::new(Limits {
//!     record_bytes: 1 << 20,
//!     results_per_search: 10_000,
//! }))?;
//! let options = Options {
//!     measures: Measure::parse_list("P@2 RR")?,
//!     ..Options::default()
//! };
//! let judged = judge(&gold, "bm25", run, &options, &Contents::default())?;
//! let evaluation = Evaluation::of(&gold, &options, vec![judged.evaluation]);
//! let csv = report::write(&evaluation, Format::Csv, &report::Options::default());
//! assert!(csv.contains("P@2,0.5"), "{csv}");
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod behaviour;
pub mod clicks;
pub mod compare;
pub mod evaluate;
pub mod gate;
pub mod gold;
pub mod labelling;
pub mod operations;
pub mod pass;
pub mod preferences;
pub mod proposal;
pub mod report;
pub mod run;
pub mod sweep;
pub mod template;
pub mod text_layout;
