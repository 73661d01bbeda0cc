//! Quality of all traffic, estimated from labels.

use super::model::ReadModel;
use crate::engine::quality::QualityEstimate;
use crate::engine::series::Dimension;

impl ReadModel<'_> {
    /// Estimates with the names of their variants.
    pub fn quality(&self) -> Vec<(&str, QualityEstimate)> {
        let estimates = self.snapshot().totals.quality.estimates().into_iter();
        let named = estimates.map(|it| (self.text(Dimension::Variant, it.variant), it));
        named.collect()
    }
}
