//! Tools for gold sets: review, agreement, extension, conversion.

pub mod agreement;
pub mod difference;
pub mod review;
pub mod statistics;
pub mod write;
