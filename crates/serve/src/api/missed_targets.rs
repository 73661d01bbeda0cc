//! Missed targets: means of which the evidence says that they miss the least demanding target.

use schemars::JsonSchema;
use serde::Serialize;

use super::systems::Interval;
use super::timestamp::Timestamp;
use crate::http::Exposition;
use rankgauge_core::engine::evidence::Test;
use rankgauge_core::engine::read_model::{ReadModel, WatchedSeries};
use rankgauge_core::engine::settings::Settings;

/// Mean that misses its target.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MissedTarget {
    pub(crate) variant: String,
    pub(crate) measure: String,
    /// Name of the slice; `all` for all searches.
    pub(crate) slice: String,
    /// Value of the slice; empty for all searches.
    pub(crate) value: String,
    /// Least demanding target of the measure.
    pub(crate) target: f64,
    /// Confidence bounds of the mean of all searches since the last deployment.
    pub(crate) bounds: Option<Interval>,
    /// Searches behind the bounds.
    pub(crate) searches: u64,
    /// Regression evidence (log e-value): the natural logarithm of the evidence.
    pub(crate) log_evidence: f64,
    /// Threshold of `log_evidence`.
    pub(crate) threshold: f64,
    /// Time at which a worker of this process reported it; null if none has since the start.
    pub(crate) reported_at: Option<Timestamp>,
}

/// Number of missed targets.
pub(crate) fn count(model: &ReadModel<'_>) -> usize {
    let watched = model.watched().into_iter();
    watched.filter(is_missed).count()
}

fn is_missed(it: &WatchedSeries) -> bool {
    it.has_alarm[Test::Target as usize] == Some(true)
}

/// Missed targets: those of all searches first, then those with the most evidence.
pub(crate) fn all(exposition: &Exposition, model: &ReadModel<'_>) -> Vec<MissedTarget> {
    let detection = &model.settings().detection;
    let threshold = detection.target_threshold + model.replicas_margin();
    let alarms = exposition.published.alarms.of_targets();
    let watched = model.watched().into_iter();
    let missed = watched.filter(is_missed).filter_map(|it| {
        let names = model.names(it.series)?;
        let measure = model.measures().get(it.measure)?;
        let mut monitored = detection.measures.iter();
        let target = monitored.find(|of| of.index == it.measure)?.target?;
        let series = [measure.as_str(), names.variant, names.slice, names.value];
        let alarm = alarms.iter().find(|of| of.series == series);
        Some(MissedTarget {
            variant: names.variant.to_owned(),
            measure: measure.clone(),
            slice: names.slice.to_owned(),
            value: names.value.to_owned(),
            target,
            bounds: it.bounds.map(Interval::from),
            searches: it.bounded_searches,
            log_evidence: it.log_evidence[Test::Target as usize]?,
            threshold,
            reported_at: alarm.map(|of| Timestamp(of.at.as_event_time())),
        })
    });
    let mut missed: Vec<MissedTarget> = missed.collect();
    missed.sort_by(|one, other| {
        let is_slice = |it: &MissedTarget| it.slice != Settings::ALL_SEARCHES;
        let strongest = other.log_evidence.total_cmp(&one.log_evidence);
        is_slice(one).cmp(&is_slice(other)).then(strongest)
    });
    missed
}
