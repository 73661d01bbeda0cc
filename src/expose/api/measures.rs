//! Current values of the measures: since the start, and in each rolling window.

use serde::Serialize;

use super::parameters::Parameters;
use super::{ApiError, status};
use crate::expose::collect::{LabelValues, SnapshotView};
use crate::expose::http::Exposition;
use rankgauge_core::engine::fixed::{NANO_DECIMALS, count_to_f64, units_to_f64};
use rankgauge_core::engine::scores::column_of;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::measure::Measure;

pub(super) const PARAMETERS: [&str; 5] = ["measure", "variant", "slice", "value", "window"];

/// Current values of the measures.
#[derive(Debug, Serialize)]
pub(super) struct Measures {
    /// End of the rolling windows; null before the first watermark.
    watermark: Option<String>,
    measures: Vec<MeasureValues>,
}

/// Values of one measure for one variant and slice.
#[derive(Debug, Serialize)]
struct MeasureValues {
    measure: String,
    variant: String,
    slice: String,
    value: String,
    /// Searches with a score since the start.
    count: u64,
    /// Mean of the scores.
    mean: f64,
    /// Rolling windows with at least one score.
    windows: Vec<Rolling>,
}

/// Value of a measure in a rolling window.
#[derive(Debug, Serialize)]
struct Rolling {
    window: String,
    count: u64,
    mean: f64,
}

/// Returns the values that the parameters select.
pub(super) fn of(exposition: &Exposition, params: &Parameters) -> Result<Measures, ApiError> {
    let settings = &exposition.names.settings;
    let wanted: Vec<String> = params
        .values("measure")
        .map(|text| configured(text, settings))
        .collect::<Result<_, _>>()?;
    for window in params.values("window") {
        if settings.windows.iter().all(|known| known.name != window) {
            let names: Vec<&str> = settings.windows.iter().map(|known| &*known.name).collect();
            return Err(ApiError::bad_request(format!(
                "\"{window}\" is not a configured window: use one of {}",
                names.join(", ")
            )));
        }
    }
    let snapshot = exposition.published.merged();
    let values = LabelValues::of(&exposition.names);
    let view = SnapshotView::new(&snapshot, &exposition.names, &values);
    let series = &view.series;
    let windows: Vec<(&str, Vec<_>)> = settings
        .windows
        .iter()
        .enumerate()
        .filter(|(_, window)| params.matches("window", &window.name))
        .map(|(number, window)| {
            let rows = snapshot.totals.scores.window_rows(number);
            (&*window.name, rows.collect())
        })
        .collect();
    let rows: Vec<_> = snapshot.totals.scores.rows().collect();
    let mut measures = Vec::new();
    for (index, measure) in view.measures.iter().enumerate() {
        if !wanted.is_empty() && !wanted.contains(measure) {
            continue;
        }
        let column = column_of(index);
        for (number, (row, (variant, slice, value))) in rows.iter().zip(series).enumerate() {
            let tally = &row[column];
            let is_selected = params.matches("variant", variant)
                && params.matches("slice", slice)
                && params.matches("value", value);
            if tally.count == 0 || !is_selected {
                continue;
            }
            let rolling = windows.iter().filter_map(|(window, rows)| {
                let cell = &rows.get(number)?[column];
                Some(Rolling {
                    window: (*window).to_owned(),
                    count: cell.count,
                    mean: cell.mean()?,
                })
            });
            measures.push(MeasureValues {
                measure: measure.clone(),
                variant: (*variant).to_owned(),
                slice: (*slice).to_owned(),
                value: (*value).to_owned(),
                count: tally.count,
                mean: units_to_f64(tally.sum, NANO_DECIMALS) / count_to_f64(tally.count),
                windows: rolling.collect(),
            });
        }
    }
    let watermark = snapshot.progress.and_then(|progress| progress.watermark);
    Ok(Measures {
        watermark: watermark.map(status::time),
        measures,
    })
}

/// Canonical name of the configured measure that `text` names in any spelling.
pub(super) fn configured(text: &str, settings: &Settings) -> Result<String, ApiError> {
    let measure = text
        .parse::<Measure>()
        .map_err(|error| ApiError::bad_request(error.to_string()))?;
    if settings.measures.contains(&measure) {
        return Ok(measure.to_string());
    }
    let known: Vec<String> = settings.measures.iter().map(ToString::to_string).collect();
    Err(ApiError::bad_request(format!(
        "{measure} is not computed: use one of {}",
        known.join(", ")
    )))
}
