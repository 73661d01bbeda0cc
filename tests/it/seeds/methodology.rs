//! Chapters of the methodology of law search.

mod agents;
mod dataset;
mod graph;
mod results;
