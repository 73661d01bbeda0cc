//! Detected regressions, newest first.

use serde::Serialize;

use super::pagination::{cursor, page};
use super::parameters::Parameters;
use super::problem::ApiError;
use super::status;
use super::systems::Interval;
use crate::collect::LabelPair;
use crate::http::Exposition;
use crate::live::regressions::Regression;
use rankgauge_core::engine::family;

pub(crate) const PARAMETERS: [&str; 2] = ["limit", "cursor"];

/// Default and maximum number of entries of a page: all that are kept.
const MAX_LISTED: usize = 100;

/// Reported regressions.
#[derive(Debug, Serialize)]
pub(crate) struct Regressions {
    pub(crate) regressions: Vec<RegressionEntry>,
    /// Cursor of the next page; null on the last one.
    pub(crate) next_cursor: Option<String>,
}

/// A regression with the time and the state of its alarm.
#[derive(Debug, Serialize)]
pub(crate) struct RegressionEntry {
    pub(crate) time: String,
    /// Age of the alarm in seconds.
    pub(crate) age_seconds: f64,
    #[serde(flatten)]
    pub(crate) regression: Regression,
    /// True while the evidence is at or above its threshold.
    pub(crate) is_active: bool,
    /// Current confidence bounds of the mean of all searches since the last deployment.
    pub(crate) bounds: Option<Interval>,
    #[serde(skip)]
    number: u64,
}

/// Returns the regressions that were reported since the process started, newest first.
pub(crate) fn of(exposition: &Exposition, params: &Parameters) -> Result<Regressions, ApiError> {
    let limit = params.integer("limit", 1..=MAX_LISTED)?;
    let before = cursor::<u64>(params)?;
    let families = [&family::REGRESSION, &family::SCORE_BOUND];
    let is_selected =
        |family: &str, _: &[LabelPair<'_>]| families.iter().any(|known| known.name == family);
    let snapshot = exposition.published.merged();
    let samples = exposition.samples(&snapshot, &is_selected);
    let now = crate::clock::wall_now();
    let latest = exposition.published.regressions.numbered();
    let latest = latest.into_iter();
    let latest = latest.filter(|(number, _)| before.is_none_or(|before| *number < before));
    let mut regressions: Vec<RegressionEntry> = latest
        .map(|(number, regression)| {
            let labels = [
                ("measure", regression.measure.as_str()),
                ("variant", &regression.variant),
                ("slice", &regression.slice),
                ("value", &regression.value),
            ];
            let bound = |bound| {
                let [measure, variant, slice, value] = labels;
                let labels = [measure, variant, slice, value, ("bound", bound)];
                samples.value(&family::SCORE_BOUND, &labels)
            };
            let bounds = bound("lower").zip(bound("upper"));
            let [measure, variant, slice, value] = labels;
            let test = ("test", regression.test);
            let state = samples.value(&family::REGRESSION, &[test, measure, variant, slice, value]);
            RegressionEntry {
                time: status::time(regression.at.as_event_time()),
                age_seconds: status::age(regression.at, now),
                is_active: state.is_some_and(|state| state > 0.0),
                bounds: bounds.map(|(lower, upper)| Interval { lower, upper }),
                regression,
                number,
            }
        })
        .collect();
    let limit = limit.unwrap_or(MAX_LISTED);
    let next_cursor = page(&mut regressions, limit, |entry| entry.number);
    Ok(Regressions {
        regressions,
        next_cursor,
    })
}
