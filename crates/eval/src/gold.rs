//! Tools for gold sets: review, agreement, extension, conversion.

pub mod agreement;
pub mod difference;
pub mod review;
pub mod sample;
pub mod statistics;
pub mod wilson;
pub mod write;
