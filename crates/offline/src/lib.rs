//! Offline evaluation: run files judged, compared and reported.

pub mod compare;
pub mod evaluate;
pub mod gold;
pub mod proposal;
pub mod report;
pub mod run;
