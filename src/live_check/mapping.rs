//! Fields of a mapping without a value in the whole sample.

use std::sync::Arc;

use super::finding::Finding;
use super::records::{Sample, acceptance};
use super::sample::TopicSample;
use crate::config::Config;
use rankgauge_core::decode::{EventRef, Format, Formats};
use rankgauge_core::event::{Acceptance, Kind};
use rankgauge_core::gold::GoldSet;

/// Fields of searches that a healthy sample can lack.
const RARE_IN_SEARCHES: [&str; 2] = ["fields.error_type", "fields.synthetic"];

/// Fields of feedback of any type. Others belong to types that a sample can lack.
const OF_ALL_FEEDBACK: [&str; 9] = [
    "fields.event_id",
    "fields.query_id",
    "fields.session_id",
    "fields.object_id",
    "fields.position",
    "fields.client_id",
    "fields.user_id",
    "fields.trace_id",
    "fields.application",
];

/// Findings about the fields without a value.
pub(super) fn check(
    config: &Config,
    gold: Option<&GoldSet>,
    samples: &[Option<TopicSample>; 2],
    decoded: &Sample,
) -> Vec<Finding> {
    let acceptance = acceptance(config, gold);
    let mut findings = Vec::new();
    for kind in Kind::ALL {
        let (count, noun) = match kind {
            Kind::Search => (decoded.searches.len(), "searches"),
            Kind::Feedback => (decoded.feedback.len(), "feedback events"),
        };
        let mapped = config.formats.mapped[kind.index()].as_ref();
        let is_mapped = config.formats.of(kind) == Format::Mapped && count > 0;
        let Some(mapped) = mapped.filter(|_| is_mapped) else {
            continue;
        };
        let all: Vec<usize> = numbers(&config.formats, kind, samples, &acceptance).collect();
        for (key, sources) in mapped.field_sources(kind) {
            if !is_expected(kind, &key) {
                continue;
            }
            let mut formats = config.formats.clone();
            formats.mapped[kind.index()] = Some(Arc::new(mapped.without_field(kind, &key)));
            // Most fields have a value in the first record.
            let mut absent = numbers(&formats, kind, samples, &acceptance).zip(&all);
            if absent.any(|(absent, all)| absent < *all) {
                continue;
            }
            findings.push(Finding::warning(
                "records",
                format!(
                    "0 of {count} sampled {noun} have {sources} (formats.{}.mapping.{}.{key})",
                    mapped.name(),
                    kind.name(),
                ),
                "compare the source with a record and correct it, or remove the field from the mapping: what needs \
                 the field has no values",
            ));
        }
    }
    findings
}

/// Returns true for a field that some event of a sample should have.
fn is_expected(kind: Kind, key: &str) -> bool {
    match kind {
        Kind::Search => !RARE_IN_SEARCHES.contains(&key),
        Kind::Feedback => {
            let is_label = key.starts_with("labels.") || key.starts_with("attrs.");
            is_label || OF_ALL_FEEDBACK.contains(&key)
        }
    }
}

/// Numbers of the events of a kind, by record.
fn numbers(
    formats: &Formats,
    kind: Kind,
    samples: &[Option<TopicSample>; 2],
    acceptance: &Acceptance,
) -> impl Iterator<Item = usize> {
    Kind::ALL.into_iter().flat_map(move |topic| {
        let sample = samples[topic.index()].as_ref().into_iter();
        let records = sample.flat_map(|sample| &sample.records);
        records.map(move |record| {
            let mut number = 0;
            let read = formats.events(topic, &record.content, acceptance, &mut |event| {
                let is_counted = match event {
                    Ok(EventRef::Search(_)) => kind == Kind::Search,
                    Ok(EventRef::Feedback(_)) => kind == Kind::Feedback,
                    Err(_) => false,
                };
                number += usize::from(is_counted);
            });
            // An invalid record has a finding of its own.
            read.ok();
            number
        })
    })
}
