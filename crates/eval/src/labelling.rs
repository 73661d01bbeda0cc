//! Quality of all traffic from few labels: a probability sample of (query, document), and estimates
//! with intervals from its labels.
//!
//! [`frame`] collects the rows that can be drawn, [`draw`] puts them in the order of the sample, and
//! [`report`] estimates the measure from the labels of a prefix. [`simulation`] checks both. The module uses no files and no
//! clock, and random decisions are hashes of ids: equal inputs give equal bytes.

pub mod draw;
mod forecast;
pub mod frame;
pub mod html;
mod interval;
mod order;
pub mod report;

mod sequence;
pub mod sheet;
pub mod simulation;

pub use forecast::Forecast;
pub use interval::any_time;
pub use order::{clock, order_of};
pub use sequence::{Control, Estimate, Rows, Step, estimate, sequence, two_phase};
