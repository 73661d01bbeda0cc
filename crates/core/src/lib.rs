//! Search-quality measures as trec_eval computes them, and the engine that keeps them live.

pub mod decode;
pub mod detection;
pub mod engine;
pub mod event;
pub mod gold;
pub mod measure;
pub mod ranking;
pub mod statistics;
pub mod time;
