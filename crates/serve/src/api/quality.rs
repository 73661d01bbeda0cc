//! Quality of all traffic, estimated from labels.

use schemars::JsonSchema;
use serde::Serialize;

use super::parameters::{Parameter, Parameters, VARIANT};
use super::timestamp::Timestamp;
use crate::http::Exposition;

pub(crate) const PARAMETERS: [Parameter; 1] = [VARIANT];

/// Estimates of the quality of all traffic.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Quality")]
pub(crate) struct Estimates {
    pub(crate) estimates: Vec<Estimate>,
}

/// Estimate of a measure in the newest window of a variant of which half of the requests are answered.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "QualityEstimate")]
pub(crate) struct Estimate {
    pub(crate) measure: String,
    pub(crate) variant: String,
    /// Beginning of the window.
    pub(crate) window: Timestamp,
    pub(crate) searches: u64,
    /// Requested labels.
    pub(crate) requests: u64,
    /// Counted labels.
    pub(crate) labels: u64,
    /// Share of the results whose grade was known.
    pub(crate) known_share: f64,
    pub(crate) mean: f64,
    /// Ends of the 95 % interval, which holds at any time.
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    /// Regression evidence (natural log e-value) that the mean is lower than in the windows before; null without one.
    pub(crate) drop_log_evidence: Option<f64>,
}

/// Returns the estimates of the variants of a request.
pub(crate) fn of(exposition: &Exposition, params: &Parameters) -> Estimates {
    let snapshot = exposition.published.merged();
    let model = exposition.names.read(&snapshot);
    let estimates = model.quality().into_iter();
    let estimates = estimates.filter(|(variant, _)| params.matches("variant", variant));
    let estimates = estimates.map(|(variant, it)| Estimate {
        measure: it.measure.to_string(),
        variant: variant.to_owned(),
        window: Timestamp(it.window),
        searches: it.searches,
        requests: it.requests,
        labels: it.labels,
        known_share: it.known,
        mean: it.mean,
        lower: it.lower,
        upper: it.upper,
        drop_log_evidence: it.drop_log_evidence,
    });
    Estimates {
        estimates: estimates.collect(),
    }
}
