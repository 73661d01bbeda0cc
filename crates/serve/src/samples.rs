//! Samples of `/metrics`, selected and looked up by family and labels.
//!
//! The API and the page read numbers that `/metrics` also exposes from here, so that all three
//! agree.

use std::collections::BTreeMap;

use super::collect::{LabelPair, Labels, Sink, Value};
use rankgauge_core::engine::family::Family;
use rankgauge_core::engine::fixed::{count_to_f64, units_to_f64};

/// Samples of some families.
pub(super) struct Samples<'a> {
    is_selected: &'a dyn Fn(&str, &[LabelPair<'_>]) -> bool,
    family: &'static str,
    by_family: BTreeMap<&'static str, Vec<Sample>>,
}

/// A sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    labels: Vec<(&'static str, String)>,
    /// Value as Prometheus reads it.
    pub(super) value: f64,
}

impl Sample {
    /// Value of a label; empty without it.
    pub(super) fn label(&self, name: &str) -> &str {
        let found = self.labels.iter().find(|(it, _)| *it == name);
        found.map_or("", |(_, value)| value)
    }

    fn has(&self, labels: &[LabelPair<'_>]) -> bool {
        let mut labels = labels.iter();
        labels.all(|(name, value)| self.label(name) == *value)
    }
}

impl<'a> Samples<'a> {
    /// No samples yet. `is_selected` selects by the name of the family, without its prefix, and the
    /// labels.
    pub(super) fn new(is_selected: &'a dyn Fn(&str, &[LabelPair<'_>]) -> bool) -> Self {
        Self {
            is_selected,
            family: "",
            by_family: BTreeMap::new(),
        }
    }

    /// All samples of a family that have these labels.
    pub(super) fn all<'b>(
        &'b self,
        family: &Family,
        labels: &'b [LabelPair<'b>],
    ) -> impl Iterator<Item = &'b Sample> {
        let samples = self.by_family.get(family.name).into_iter().flatten();
        samples.filter(|sample| sample.has(labels))
    }

    /// Value of the first sample of a family that has these labels.
    pub(super) fn value(&self, family: &Family, labels: &[LabelPair<'_>]) -> Option<f64> {
        self.all(family, labels).next().map(|sample| sample.value)
    }
}

impl Sink for Samples<'_> {
    fn family(&mut self, family: &Family) {
        self.family = family.name;
    }

    fn write(&mut self, suffix: &'static str, labels: &[&Labels<'_>], value: Value) {
        if !suffix.is_empty() || !(self.is_selected)(self.family, &[]) {
            return;
        }
        let labels: Vec<LabelPair<'_>> = labels
            .iter()
            .flat_map(|list| list.pairs())
            .copied()
            .collect();
        if !(self.is_selected)(self.family, &labels) {
            return;
        }
        let value = match value {
            Value::Count(count) => count_to_f64(count),
            Value::Decimal { units, decimals } => units_to_f64(units, decimals),
            Value::Float(value) => value,
        };
        let labels = labels.iter();
        let labels = labels.map(|(name, value)| (*name, (*value).to_owned()));
        let sample = Sample {
            labels: labels.collect(),
            value,
        };
        self.by_family.entry(self.family).or_default().push(sample);
    }
}
