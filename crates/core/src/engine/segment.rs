//! Segments: the combinations of a variant and its slice values, with the series that count their
//! searches.
//!
//! A search belongs to one segment. Few segments cover all searches, so a worker keeps them: one
//! lookup replaces the lookups of every series in the registry that all workers share.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::engine::family;
use crate::engine::registry::Registry;
use crate::engine::series::{self, Label, Series};
use crate::engine::settings::{Rolling, Settings};

/// Maximum number of segments that a worker keeps besides those of pending searches.
const MAX_SEGMENTS: usize = 10_000;

/// Slice values of a search, by position of the slice; `None` without a value.
pub(super) type SliceValues = SmallVec<[Option<Label>; 6]>;

/// Variant with slice values.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// System version that served the searches.
    pub variant: Label,
    /// True for searches of a probe, which are not user searches.
    pub is_synthetic: bool,
    /// True for searches that are judged if their query is in the gold set.
    pub is_eligible: bool,
    /// Series that count the scores: the whole, then one for each slice with a value. Series that
    /// are monitored for regressions come first.
    pub series: Box<[Series]>,
    /// Number of series, from the first on, that are monitored for regressions.
    watched: usize,
    /// Number of series that are overflow series.
    pub(super) overflow: u64,
}

impl Segment {
    /// Series whose rolling scores are exposed.
    pub(super) fn exposed(&self, rolling: Rolling) -> &[Series] {
        let end = match rolling {
            Rolling::All => self.series.len(),
            Rolling::Whole => 1,
            Rolling::None => 0,
        };
        self.series.get(..end).unwrap_or_default()
    }

    /// Returns true for the searches of users whose behaviour is counted.
    pub(crate) fn is_of_users(&self) -> bool {
        // No user sees the results of a synthetic search.
        self.is_eligible && !self.is_synthetic
    }

    /// Series that are monitored for regressions.
    pub(crate) fn watched(&self) -> &[Series] {
        self.series.get(..self.watched).unwrap_or_default()
    }

    fn new(key: &SegmentKey, registry: &Registry, settings: &Settings) -> Self {
        let SegmentKey {
            variant,
            is_synthetic,
            is_eligible,
            values,
        } = key;
        let variant = *variant;
        let Some(table) = family::SCORE.table() else {
            return Self::default();
        };
        let mut segment = Self {
            variant,
            is_synthetic: *is_synthetic,
            is_eligible: *is_eligible,
            ..Self::default()
        };
        let mut series = Vec::with_capacity(values.len() + 1);
        let mut add = |labels| {
            let admission = registry.series(table, series::key(labels));
            segment.overflow += u64::from(admission.is_overflow);
            series.push(admission.series);
            series.len()
        };
        let is_watched = |slice: &usize| settings.detection.slices.contains(slice);
        let mut watched = add([variant, Label::from_position(0), Label::EMPTY]);
        for slice in (0..values.len()).filter(is_watched) {
            if let Some(value) = values[slice] {
                watched = add([variant, Label::from_position(slice + 1), value]);
            }
        }
        for slice in (0..values.len()).filter(|slice| !is_watched(slice)) {
            if let Some(value) = values[slice] {
                add([variant, Label::from_position(slice + 1), value]);
            }
        }
        segment.watched = watched;
        segment.series = series.into_boxed_slice();
        segment
    }
}

/// Segments of one worker.
#[derive(Debug, Default)]
pub(super) struct Segments {
    known: FxHashMap<SegmentKey, Arc<Segment>>,
}

/// Labels of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SegmentKey {
    pub(super) variant: Label,
    pub(super) is_synthetic: bool,
    pub(super) is_eligible: bool,
    pub(super) values: SliceValues,
}

impl Segments {
    /// Returns the segment of these labels.
    pub(super) fn get(
        &mut self,
        key: SegmentKey,
        registry: &Registry,
        settings: &Settings,
    ) -> Arc<Segment> {
        if let Some(known) = self.known.get(&key) {
            return Arc::clone(known);
        }
        if self.known.len() >= MAX_SEGMENTS {
            self.known
                .retain(|_, segment| Arc::strong_count(segment) > 1);
        }
        let segment = Arc::new(Segment::new(&key, registry, settings));
        // If all are in use, this one is looked up again for each search.
        if self.known.len() < MAX_SEGMENTS {
            self.known.insert(key, Arc::clone(&segment));
        }
        segment
    }
}
