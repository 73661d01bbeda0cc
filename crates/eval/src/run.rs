//! Run files: the answers of one system to each query.
//!
//! The formats are TREC runs, search events (one per line), tables with one result in each row (CSV, TSV, three
//! columns), records and data frames in JSON, and the JSON of ranx and pytrec_eval.
//! The content determines the format. [`RunReader`] is the only reader: it passes on one answer after
//! the other, on all threads, and every error has its line. The module knows nothing of judgements
//! or measures, and only `run::input` accesses files.

mod answer;
mod entries;
mod error;
mod events;
mod frame;
mod input;
mod memory;
mod positions;
mod reader;
mod score_map;
mod table;
mod trec;

pub(crate) use answer::as_compared;
pub use answer::{Answer, Order, ReadOptions, Results, STANDARD_INPUT, Searches, name_of};
pub use error::{RunError, RunProblem};
pub use memory::RankedQuery;
pub use reader::{Place, Places, ReadRun, RunReader};
pub use trec::order_disagreement;
