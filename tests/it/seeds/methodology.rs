//! The methodology of law search: its chapters.

mod agents;
mod dataset;
mod graph;
mod ranked;
mod results;
