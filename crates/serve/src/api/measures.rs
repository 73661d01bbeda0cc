//! Current values of the measures: since the start, and in each rolling window.

use schemars::JsonSchema;
use serde::Serialize;

use super::pagination::{CursorKey, cursor, page};
use super::parameters::{CURSOR, Parameter, Parameters, VARIANT};
use super::problem::ApiError;
use super::timestamp::Timestamp;
use crate::http::Exposition;
use rankgauge_core::engine::read_model::ScoreSeries;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::measure::Measure;

pub(crate) const PARAMETERS: [Parameter; 7] = [
    Parameter::filter("measure", "Measure as written in the configuration."),
    VARIANT,
    Parameter::filter("slice", "Slice; `all` for all searches."),
    Parameter::names("value", "Slice value; empty for all searches."),
    Parameter::filter("window", "Rolling window."),
    Parameter::limit(MAX_LISTED, MAX_LISTED),
    CURSOR,
];

/// Default and maximum number of entries of a page.
const MAX_LISTED: usize = 100_000;

/// Current values of the measures.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(
    clippy::struct_field_names,
    reason = "the member of the response is named `measures`"
)]
pub(crate) struct Measures {
    /// End of the rolling windows; null before the first watermark.
    pub(crate) watermark: Option<Timestamp>,
    pub(crate) measures: Vec<MeasureValues>,
    /// Cursor of the next page; null on the last one.
    pub(crate) next_cursor: Option<String>,
}

/// Values of one measure for one variant and slice.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MeasureValues {
    pub(crate) measure: String,
    pub(crate) variant: String,
    pub(crate) slice: String,
    pub(crate) value: String,
    /// Searches with a score since the start.
    pub(crate) count: u64,
    /// Mean of the scores.
    pub(crate) mean: f64,
    /// Rolling windows with at least one score.
    pub(crate) windows: Vec<Rolling>,
    #[serde(skip)]
    place: Place,
}

/// Position of an entry: its measure, and its series, which keeps its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    measure: usize,
    series: usize,
}

impl CursorKey for Place {
    fn write(&self) -> String {
        format!("{}.{}", self.measure, self.series)
    }

    fn read(text: &str) -> Option<Self> {
        let (measure, series) = text.split_once('.')?;
        Some(Self {
            measure: measure.parse().ok()?,
            series: series.parse().ok()?,
        })
    }
}

/// Value of a measure in a rolling window.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RollingMean")]
pub(crate) struct Rolling {
    pub(crate) window: String,
    pub(crate) count: u64,
    pub(crate) mean: f64,
}

/// Returns the values that the parameters select.
pub(crate) fn of(exposition: &Exposition, params: &Parameters) -> Result<Measures, ApiError> {
    let settings = &exposition.names.settings;
    let wanted: Vec<usize> = params
        .values("measure")
        .map(|text| configured(text, settings))
        .collect::<Result<_, _>>()?;
    for name in params.values("window") {
        window(name, settings)?;
    }
    let after = cursor::<Place>(params)?;
    let snapshot = exposition.published.merged();
    let model = exposition.names.read(&snapshot);
    let windows = settings.windows.iter().enumerate();
    let windows = windows.filter(|(_, window)| params.matches("window", &window.name));
    let windows: Vec<_> = windows.collect();
    let is_selected = |it: &ScoreSeries<'_>| {
        params.matches("variant", it.variant)
            && params.matches("slice", it.slice)
            && params.matches("value", it.value)
    };
    let series: Vec<_> = model.series().filter(is_selected).collect();
    let mut measures = Vec::new();
    for (index, measure) in model.measures().iter().enumerate() {
        if !wanted.is_empty() && !wanted.contains(&index) {
            continue;
        }
        for it in &series {
            let place = Place {
                measure: index,
                series: it.series.index(),
            };
            let tally = model.tally(index, it.series);
            let tally = tally.filter(|_| after.is_none_or(|after| place > after));
            let Some((tally, mean)) = tally.and_then(|it| Some((it, it.mean()?))) else {
                continue;
            };
            let rolling = windows.iter().filter_map(|(number, window)| {
                let cell = model.rolling(index, it.series, *number)?;
                Some(Rolling {
                    window: window.name.clone(),
                    count: cell.count,
                    mean: cell.mean()?,
                })
            });
            measures.push(MeasureValues {
                measure: measure.clone(),
                variant: it.variant.to_owned(),
                slice: it.slice.to_owned(),
                value: it.value.to_owned(),
                count: tally.count,
                mean,
                windows: rolling.collect(),
                place,
            });
        }
    }
    let next_cursor = page(&mut measures, params.limit(), |entry| entry.place);
    Ok(Measures {
        next_cursor,
        watermark: model.watermark().map(Timestamp),
        measures,
    })
}

/// Position of the window named `name`.
pub(crate) fn window(name: &str, settings: &Settings) -> Result<usize, ApiError> {
    let windows = &settings.windows;
    let found = windows.iter().position(|known| known.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = windows.iter().map(|known| &*known.name).collect();
        ApiError::bad_request(format!(
            "\"{name}\" is not a configured window: use one of {}",
            names.join(", ")
        ))
    })
}

/// Position of the configured measure that `text` names in any spelling.
pub(crate) fn configured(text: &str, settings: &Settings) -> Result<usize, ApiError> {
    let measure = text
        .parse::<Measure>()
        .map_err(|error| ApiError::bad_request(error.to_string()))?;
    let found = settings.measures.iter().position(|it| *it == measure);
    found.ok_or_else(|| {
        let known: Vec<String> = settings.measures.iter().map(ToString::to_string).collect();
        ApiError::bad_request(format!(
            "{measure} is not computed: use one of {}",
            known.join(", ")
        ))
    })
}
