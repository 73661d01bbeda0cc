//! Law-search profile, and its traffic from the demo.

use std::path::PathBuf;
use std::sync::Arc;

use rankgauge::config;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::event::Kind;
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::traffic::{Record, Traffic, TrafficSettings};

use crate::feed::AMPLE;

/// Settings of the profile, with limits that no benchmark reaches.
pub(crate) fn settings() -> anyhow::Result<Arc<Settings>> {
    let profile = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("config/law-search.yaml");
    let room = ("limits.series_per_family".into(), "1000000".into());
    let mut settings = config::load(&[profile], std::iter::empty(), &[room])?.engine;
    settings.memory = AMPLE;
    Ok(Arc::new(settings))
}

/// Corpus of the demo.
pub(crate) fn corpus() -> Arc<Corpus> {
    Arc::new(Corpus::generate(1, 200))
}

/// The first `count` records of the demo's traffic, at 50 searches a second of event time: kind,
/// key and payload.
pub(crate) fn records(
    corpus: &Arc<Corpus>,
    count: usize,
) -> impl Iterator<Item = (Kind, String, Vec<u8>)> {
    let traffic = Traffic::new(Arc::clone(corpus), TrafficSettings::default()).take(count);
    traffic.map(
        |Record {
             kind, key, payload, ..
         }| (kind, key, payload),
    )
}
