//! Detected regressions, newest first.

use schemars::JsonSchema;
use serde::Serialize;

use super::pagination::{cursor, page};
use super::parameters::{CURSOR, Parameter, Parameters};
use super::problem::ApiError;
use super::status;
use super::systems::Interval;
use crate::http::Exposition;
use crate::live::regressions::Regression;
use rankgauge_core::engine::read_model::WatchedSeries;

pub(crate) const PARAMETERS: [Parameter; 2] = [Parameter::limit(MAX_LISTED, MAX_LISTED), CURSOR];

/// Default and maximum number of entries of a page: all that are kept.
const MAX_LISTED: usize = 100;

/// Reported regressions.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Regressions {
    pub(crate) regressions: Vec<RegressionEntry>,
    /// Cursor of the next page; null on the last one.
    pub(crate) next_cursor: Option<String>,
}

/// A regression with the time and the state of its alarm.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Regression")]
pub(crate) struct RegressionEntry {
    #[schemars(extend("format" = "date-time"))]
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

/// Number of alarms that are active now.
pub(crate) fn active(exposition: &Exposition) -> usize {
    let all = of(exposition, &Parameters::from_pairs(&PARAMETERS, []));
    let all = all.map(|found| found.regressions).unwrap_or_default();
    all.iter().filter(|entry| entry.is_active).count()
}

/// Returns the regressions that were reported since the process started, newest first.
pub(crate) fn of(exposition: &Exposition, params: &Parameters) -> Result<Regressions, ApiError> {
    let before = cursor::<u64>(params)?;
    let snapshot = exposition.published.merged();
    let model = exposition.names.read(&snapshot);
    let now = crate::clock::wall_now();
    let latest = exposition.published.regressions.numbered();
    let latest = latest.into_iter();
    let latest = latest.filter(|(number, _)| before.is_none_or(|before| *number < before));
    let mut regressions: Vec<RegressionEntry> = latest
        .map(|(number, regression)| {
            let series = model.find(&regression.variant, &regression.slice, &regression.value);
            let measure = model.measure(&regression.measure);
            let place = measure.zip(series);
            let watched = place.and_then(|(measure, it)| model.watched_series(measure, it));
            let mut alarms = watched.iter().flat_map(WatchedSeries::alarms);
            let decided = watched.as_ref().and_then(|it| it.class);
            let mut regression = regression;
            if let (Some(class), Some(decided)) = (&mut regression.class, decided) {
                *class = decided.name();
            }
            RegressionEntry {
                time: status::time(regression.at.as_event_time()),
                age_seconds: status::age(regression.at, now),
                is_active: alarms.any(|test| test.name() == regression.test),
                bounds: watched
                    .as_ref()
                    .and_then(|it| it.bounds)
                    .map(Interval::from),
                regression,
                number,
            }
        })
        .collect();
    let next_cursor = page(&mut regressions, params.limit(), |entry| entry.number);
    Ok(Regressions {
        regressions,
        next_cursor,
    })
}
