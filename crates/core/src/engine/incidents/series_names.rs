//! Names of series of scores.

use crate::engine::family;
use crate::engine::registry::Registry;
use crate::engine::series::{Dimension, Label, Series};
use crate::engine::settings::Settings;

/// Names of a series of scores: variant, slice and value.
pub(in crate::engine) fn names_of(
    series: Series,
    settings: &Settings,
    registry: &Registry,
) -> Option<[Box<str>; 3]> {
    let labels = registry.series_labels(&family::SCORE);
    let [variant, slice, value, ..] = *labels.get(series.index())?;
    let text = |dimension: Dimension, label: Label| -> Box<str> {
        let values = registry.values(dimension);
        let known = values.get(label.index()).cloned();
        known.unwrap_or_else(|| Label::OTHER_NAME.into())
    };
    let position = slice.position();
    let slice = match position {
        Some(0) => Settings::ALL_SEARCHES,
        Some(slice) => settings
            .slices
            .get(slice - 1)
            .map_or(Label::OTHER_NAME, String::as_str),
        None => Label::OTHER_NAME,
    };
    let value = if value == Label::EMPTY {
        Box::default()
    } else {
        text(Dimension::SliceValue, value)
    };
    Some([text(Dimension::Variant, variant), slice.into(), value])
}

/// Series of scores with the number of its variant, its slice and its value.
type NamedSeries = ((Label, Series), Box<str>, Box<str>);

/// Series of the scores of a variant.
pub(in crate::engine) fn named_series(
    variant: &str,
    settings: &Settings,
    registry: &Registry,
) -> Vec<NamedSeries> {
    let labels = registry.series_labels(&family::SCORE);
    let named = labels.iter().enumerate().filter_map(|(number, labels)| {
        let series = Series::at(number);
        let [of, slice, value] = names_of(series, settings, registry)?;
        (*of == *variant).then_some(((labels[0], series), slice, value))
    });
    named.collect()
}
