//! The samples of `/metrics` as JSON, for `replay` and for the comparison of runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::collect::{Labels, Sink, Value};
use super::text::write_value;
use rankgauge_core::engine::family::Family;

/// A sample with its exact value.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Sample {
    /// Full name, with a histogram's suffix.
    pub name: String,
    /// Labels by name.
    pub labels: BTreeMap<String, String>,
    /// Value with all its decimals.
    #[schemars(with = "f64")]
    pub value: Box<RawValue>,
}

/// Sink that collects samples.
#[derive(Debug, Default)]
pub struct Json {
    name: String,
    samples: Vec<Sample>,
}

impl Json {
    /// The collected samples.
    pub fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}

impl Sample {
    /// A sample; `None` if the value is infinite, because JSON has no such number.
    pub(super) fn new(
        name: String,
        labels: BTreeMap<String, String>,
        value: Value,
    ) -> Option<Self> {
        let mut text = String::new();
        write_value(value, &mut text);
        Some(Self {
            name,
            labels,
            value: RawValue::from_string(text).ok()?,
        })
    }
}

impl Sink for Json {
    fn family(&mut self, family: &Family) {
        self.name = family.full_name();
    }

    fn write(&mut self, suffix: &'static str, labels: &[&Labels<'_>], value: Value) {
        let labels = labels
            .iter()
            .flat_map(|list| list.pairs())
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let name = format!("{}{suffix}", self.name);
        self.samples.extend(Sample::new(name, labels, value));
    }
}
