//! Metric families of the quality of all traffic, estimated from labels.

use rankgauge_core::engine::{QualityEstimate, family};

use super::{Sink, View, write_family};

impl View<'_> {
    pub(super) fn quality(&self, sink: &mut dyn Sink) {
        let estimates = self.model.quality();
        let bounds = estimates.iter().flat_map(|(variant, it)| {
            let bounds = [("lower", it.lower), ("mean", it.mean), ("upper", it.upper)];
            bounds.map(|(bound, value)| ([&*it.measure, *variant, bound], value))
        });
        write_family(&family::QUALITY, bounds, sink);
        let evidence = estimates
            .iter()
            .filter_map(|(variant, it)| Some(([&*it.measure, *variant], it.drop_log_evidence?)));
        write_family(&family::QUALITY_DROP_LOG_EVIDENCE, evidence, sink);
        let mut of_variants: Vec<&(&str, QualityEstimate)> = estimates.iter().collect();
        of_variants.dedup_by_key(|(variant, _)| *variant);
        let known = of_variants
            .iter()
            .map(|(variant, it)| ([*variant], it.known));
        write_family(&family::QUALITY_KNOWN_SHARE, known, sink);
        let labels = of_variants.iter().flat_map(|(variant, it)| {
            let states = [("requested", it.requests), ("counted", it.labels)];
            states.map(|(state, number)| ([*variant, state], number))
        });
        write_family(&family::QUALITY_LABELS, labels, sink);
    }
}
