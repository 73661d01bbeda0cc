//! The same samples as JSON, for `replay` and for comparing runs.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::Family;
use super::collect::{LabelPair, Sink, Value};
use super::text::write_value;

/// A sample with its exact value.
#[derive(Debug, Serialize)]
pub struct Sample {
    /// Full name, with a histogram's suffix.
    pub name: String,
    /// Labels by name.
    pub labels: BTreeMap<&'static str, String>,
    /// The value, with every decimal that it has.
    pub value: Box<RawValue>,
}

/// Collects samples.
#[derive(Debug, Default)]
pub struct Json {
    name: String,
    samples: Vec<Sample>,
}

impl Json {
    /// What was collected.
    pub fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}

impl Sink for Json {
    fn family(&mut self, family: &Family) {
        self.name = family.full_name();
    }

    fn sample(&mut self, suffix: &'static str, labels: &[LabelPair<'_>], value: Value) {
        let mut text = String::new();
        write_value(value, &mut text);
        // Infinity is no JSON number; no sample of ours is infinite.
        let Ok(value) = RawValue::from_string(text) else {
            return;
        };
        let labels = labels
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        self.samples.push(Sample {
            name: format!("{}{suffix}", self.name),
            labels,
            value,
        });
    }
}
