//! What measures stand at: since the start, and in each rolling window.

use serde::Serialize;

use super::parameters::Parameters;
use super::{Refusal, status};
use crate::expose::collect::{Scope, Values};
use crate::expose::http::Exposition;
use rankgauge_core::engine::fixed::{NANO_DECIMALS, count_to_f64, units_to_f64};
use rankgauge_core::engine::scores::column_of;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::measure::Measure;

pub(super) const PARAMETERS: [&str; 5] = ["measure", "variant", "slice", "value", "window"];

/// What measures stand at.
#[derive(Debug, Serialize)]
pub(super) struct Measures {
    /// Where the rolling windows end; null before there is a watermark.
    watermark: Option<String>,
    measures: Vec<Standing>,
}

/// What one measure stands at, of one variant and slice.
#[derive(Debug, Serialize)]
struct Standing {
    measure: String,
    variant: String,
    slice: String,
    value: String,
    /// Searches that had a score since the start.
    count: u64,
    /// Their mean.
    mean: f64,
    /// Windows that hold any.
    windows: Vec<Rolling>,
}

/// What a measure stands at in a rolling window.
#[derive(Debug, Serialize)]
struct Rolling {
    window: String,
    count: u64,
    mean: f64,
}

/// What the parameters ask for.
pub(super) fn of(exposition: &Exposition, asked: &Parameters) -> Result<Measures, Refusal> {
    let settings = &exposition.names.settings;
    let wanted: Vec<String> = asked
        .all("measure")
        .map(|text| configured(text, settings))
        .collect::<Result<_, _>>()?;
    for window in asked.all("window") {
        if settings.windows.iter().all(|known| known.name != window) {
            let names: Vec<&str> = settings.windows.iter().map(|known| &*known.name).collect();
            return Err(Refusal::wrong(format!(
                "\"{window}\" is not a window: there are {}",
                names.join(", ")
            )));
        }
    }
    let snapshot = exposition.shared.merged();
    let values = Values::of(&exposition.names);
    let scope = Scope::new(&snapshot, &exposition.names, &values);
    let series = &scope.series;
    let windows: Vec<(&str, Vec<_>)> = settings
        .windows
        .iter()
        .enumerate()
        .filter(|(_, window)| asked.wants("window", &window.name))
        .map(|(number, window)| {
            let rows = snapshot.scores.window_rows(number);
            (&*window.name, rows.collect())
        })
        .collect();
    let rows: Vec<_> = snapshot.scores.rows().collect();
    let mut measures = Vec::new();
    for (index, measure) in scope.measures.iter().enumerate() {
        if !wanted.is_empty() && !wanted.contains(measure) {
            continue;
        }
        let column = column_of(index);
        for (number, (row, (variant, slice, value))) in rows.iter().zip(series).enumerate() {
            let tally = &row[column];
            let is_asked_for = asked.wants("variant", variant)
                && asked.wants("slice", slice)
                && asked.wants("value", value);
            if tally.count == 0 || !is_asked_for {
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
            measures.push(Standing {
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

/// The name of the configured measure that `text` spells in any way.
pub(super) fn configured(text: &str, settings: &Settings) -> Result<String, Refusal> {
    let measure = text
        .parse::<Measure>()
        .map_err(|error| Refusal::wrong(error.to_string()))?;
    if settings.measures.contains(&measure) {
        return Ok(measure.to_string());
    }
    let known: Vec<String> = settings.measures.iter().map(ToString::to_string).collect();
    Err(Refusal::wrong(format!(
        "{measure} is not computed: there are {}",
        known.join(", ")
    )))
}
