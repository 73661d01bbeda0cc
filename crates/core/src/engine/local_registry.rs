//! The registry as one worker sees it: copies of the numbers that it has looked up.
//!
//! The registry is shared by all workers. A worker looks up the same few labels and series for
//! every search, and these copies answer without touching shared memory. Values beyond a limit are
//! not copied.

use rustc_hash::FxHashMap;
use std::sync::Arc;

use crate::engine::family::Family;
use crate::engine::registry::{Admission, Registry};
use crate::engine::segment::{Segment, SegmentKey, Segments};
use crate::engine::series::{self, Dimension, Label, Labels, Series};
use crate::engine::settings::Settings;

/// Maximum number of series of which a worker keeps copies.
const MAX_SERIES: usize = 100_000;

/// Copies of one worker.
#[derive(Debug)]
pub(super) struct LocalRegistry {
    shared: Arc<Registry>,
    labels: [FxHashMap<Box<str>, Label>; Dimension::ALL.len()],
    series: FxHashMap<(usize, Labels), Series>,
    segments: Segments,
}

impl LocalRegistry {
    /// Creates a view of `shared` without copies.
    pub(super) fn new(shared: Arc<Registry>) -> Self {
        Self {
            shared,
            labels: std::array::from_fn(|_| FxHashMap::default()),
            series: FxHashMap::default(),
            segments: Segments::default(),
        }
    }

    /// Forgets all copies, because names were retired.
    pub(super) fn clear(&mut self) {
        self.labels.iter_mut().for_each(FxHashMap::clear);
        self.series.clear();
        self.segments = Segments::default();
    }

    /// Registry that all workers share.
    pub(super) fn shared(&self) -> &Registry {
        &self.shared
    }

    /// Returns the label for `value`.
    pub(super) fn label(&mut self, dimension: Dimension, value: &str) -> Label {
        let known = &mut self.labels[dimension as usize];
        if let Some(label) = known.get(value) {
            return *label;
        }
        let label = self.shared.label(dimension, value);
        if label != Label::OTHER {
            known.insert(value.into(), label);
        }
        label
    }

    /// Returns the series of a family with these labels.
    pub(super) fn series<const N: usize>(
        &mut self,
        family: &Family,
        labels: [Label; N],
    ) -> Admission {
        let Some(table) = family.table() else {
            return Admission::default();
        };
        let key = (table.index(), series::key(labels));
        if let Some(series) = self.series.get(&key) {
            return Admission {
                series: *series,
                is_overflow: false,
            };
        }
        let admission = self.shared.series(table, key.1);
        if !admission.is_overflow && self.series.len() < MAX_SERIES {
            self.series.insert(key, admission.series);
        }
        admission
    }

    /// Returns the segment of these labels.
    pub(super) fn segment(&mut self, key: SegmentKey, settings: &Settings) -> Arc<Segment> {
        self.segments.get(key, &self.shared, settings)
    }
}
