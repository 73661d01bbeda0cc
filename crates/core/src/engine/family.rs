//! Catalogue of metric families: one descriptor for each family, from which everything else about
//! it follows.
//!
//! A descriptor states the name, the type, the help text and the labels with their sources. From
//! it follow the numbering and the limit of the series ([`Registry`](super::Registry)), the
//! exposition of counters, `docs/metrics.md`, and the check of the dashboards.
//!
//! # A new counter
//!
//! 1. Add a descriptor with `recorded()` to `family/catalogue.rs`:
//!    ```text
//!    CACHE_HITS = counter("cache_hits_total", &[VARIANT], "Searches answered from a cache.")
//!        .recorded();
//!    ```
//! 2. Call `self.count(&family::CACHE_HITS, [variant], 1)` where the engine sees the event.
//!
//! Checkpoints, merging of workers, limits and exposition need no further change.

mod catalogue;
mod descriptor;
mod quantile;

pub use catalogue::*;
pub use descriptor::{Family, Type};
pub(super) use descriptor::{LabelName, Source, Table};
pub use quantile::Quantile;
