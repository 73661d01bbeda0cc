//! Mapping from the numbers of a saved state to the numbers of this process, by name.

use serde::{Deserialize, Serialize};

use crate::engine::family::{self, Family, Source, Table};
use crate::engine::registry::Registry;
use crate::engine::score_column::{NOT_ELIGIBLE, SEARCHES, column_of};
use crate::engine::series::{Dimension, Label, Labels, Series};
use crate::engine::settings::Settings;
use crate::engine::table::{self, entry};
use crate::measure::Measure;

/// Names of the numbers in a saved state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Names {
    pub(super) measures: Vec<String>,
    pub(super) slices: Vec<String>,
    components: Vec<String>,
    /// Label values, by dimension.
    labels: Vec<Vec<Box<str>>>,
    /// Names of all families, in the order of the catalogue, with the labels of their own series.
    pub(super) families: Vec<(String, Vec<Labels>)>,
}

impl Names {
    /// Largest number of values of a dimension.
    pub(super) fn max_values(&self) -> usize {
        self.labels.iter().map(Vec::len).max().unwrap_or_default()
    }

    pub(super) fn new(settings: &Settings, registry: &Registry) -> Self {
        let components = settings.judging.components.iter();
        let families = family::ALL.iter().map(|family| {
            let is_owner = family.table().is_some_and(|table| table.owner() == *family);
            let series = is_owner.then(|| registry.series_labels(family));
            (family.name.to_owned(), series.unwrap_or_default())
        });
        Self {
            measures: settings.measures.iter().map(ToString::to_string).collect(),
            slices: settings.slices.clone(),
            components: components.map(|known| known.name.clone()).collect(),
            families: families.collect(),
            labels: Dimension::ALL
                .map(|dimension| registry.values(dimension))
                .into(),
        }
    }
}

/// Mapping from the numbers of a saved state to the numbers of this process.
#[derive(Debug)]
pub(super) struct IdRemap<'a> {
    pub(super) settings: &'a Settings,
    /// Current family, by saved position in the catalogue.
    families: Vec<Option<&'static Family>>,
    /// Current series, by current position of the table's owner and saved number.
    series: Vec<Vec<Option<Series>>>,
    /// Current label, by dimension and saved number.
    labels: Vec<Vec<Label>>,
    /// Current score column, by saved column.
    pub(super) columns: Vec<Option<usize>>,
    /// Current position of a measure among the ranking measures, by saved position.
    pub(super) rankings: Vec<Option<usize>>,
}

impl<'a> IdRemap<'a> {
    pub(super) fn new(saved: &Names, settings: &'a Settings, registry: &Registry) -> Self {
        let now = Names::new(settings, registry);
        let position = |names: &[String], name: &String| names.iter().position(|it| it == name);
        let slices: Vec<_> = saved
            .slices
            .iter()
            .map(|slice| position(&now.slices, slice))
            .collect();
        let components: Vec<_> = saved
            .components
            .iter()
            .map(|component| position(&now.components, component))
            .collect();
        // `__other__` and the empty value have the same numbers in every process.
        let dimensions = Dimension::ALL.into_iter().zip(&saved.labels);
        let labels: Vec<Vec<Label>> = dimensions
            .map(|(dimension, values)| {
                let labels = values
                    .iter()
                    .map(|value| registry.exposed_label(dimension, value));
                labels.collect()
            })
            .collect();
        let label = |source: Source, label: Label| -> Option<Label> {
            let Some(position) = label.position() else {
                return Some(label);
            };
            match source {
                Source::Event(dimension) => {
                    let labels = labels.get(dimension as usize)?;
                    labels.get(label.index()).copied()
                }
                Source::Slice => match position.checked_sub(1) {
                    None => Some(label),
                    Some(slice) => Some(Label::from_position((*slices.get(slice)?)? + 1)),
                },
                Source::Component => Some(Label::from_position((*components.get(position)?)?)),
                Source::Topic | Source::OneOf(_) | Source::Exposition => Some(label),
            }
        };
        let by_name = |name: &str| family::ALL.iter().copied().find(|it| it.name == name);
        let mut families = Vec::new();
        let mut series = vec![Vec::new(); family::ALL.len()];
        for (name, saved) in &saved.families {
            let family = by_name(name);
            families.push(family);
            let Some(table) = family.and_then(Family::table) else {
                continue;
            };
            if family != Some(table.owner()) {
                continue;
            }
            let remapped = saved.iter().map(|labels| {
                let mut now = *labels;
                for (now, key) in now.iter_mut().zip(table.keys()) {
                    *now = label(key.source, *now)?;
                }
                Some(registry.series(table, now).series)
            });
            series[table.index()] = remapped.collect();
        }
        let column = |measure| position(&now.measures, measure).map(column_of);
        let columns = saved.measures.iter().map(column);
        let rankings_of = |names: &[String]| -> Vec<String> {
            let is_ranking = |name: &&String| {
                let measure = name.parse::<Measure>();
                measure.is_ok_and(|measure| !measure.is_user_measure())
            };
            names.iter().filter(is_ranking).cloned().collect()
        };
        let rankings = rankings_of(&now.measures);
        let before = rankings_of(&saved.measures);
        Self {
            settings,
            families,
            series,
            labels,
            columns: [Some(SEARCHES), Some(NOT_ELIGIBLE)]
                .into_iter()
                .chain(columns)
                .collect(),
            rankings: before.iter().map(|it| position(&rankings, it)).collect(),
        }
    }

    /// Current families, by saved position in the catalogue.
    pub(super) fn families(&self) -> impl Iterator<Item = Option<&'static Family>> {
        self.families.iter().copied()
    }

    /// Returns the current number of a saved label of `dimension`.
    pub(super) fn label(&self, dimension: Dimension, label: Label) -> Label {
        let labels = self.labels.get(dimension as usize);
        let now = labels.and_then(|labels| labels.get(label.index()));
        now.copied().unwrap_or(Label::OTHER)
    }

    /// Returns the current number of a saved series of `table`. `None` if it does not exist now.
    pub(super) fn series(&self, table: Table, series: Series) -> Option<Series> {
        *self.series[table.index()].get(series.index())?
    }

    /// Merges `theirs`, a saved table with one entry for each series of `table`, into `mine`.
    pub(super) fn add<T: Clone + Default>(
        &self,
        table: Table,
        mine: &mut Vec<T>,
        theirs: &[T],
        merge: impl Fn(&mut T, &T),
    ) {
        for (series, theirs) in self.series[table.index()].iter().zip(theirs) {
            if let Some(series) = series {
                merge(entry(mine, *series), theirs);
            }
        }
    }
}

/// [`IdRemap`] of tables with several columns for each series.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowRemap<'a> {
    pub(super) ids: &'a IdRemap<'a>,
    pub(super) table: Table,
    /// Current number of columns.
    pub(super) width: usize,
    /// Current column, by saved column.
    pub(super) columns: &'a [Option<usize>],
}

impl RowRemap<'_> {
    /// Returns the rows of `saved` with the numbers of this process.
    pub(super) fn remap<T: Clone + Default>(
        self,
        saved: &[T],
        merge: impl Fn(&mut T, &T),
    ) -> Vec<T> {
        let mut mine = Vec::new();
        let rows = saved.chunks(self.columns.len().max(1));
        for (series, theirs) in self.ids.series[self.table.index()].iter().zip(rows) {
            let Some(series) = series else { continue };
            let mine = table::row(&mut mine, *series, self.width);
            self.merge_row(mine, theirs, &merge);
        }
        mine
    }

    /// Merges a saved row into the row of this process.
    pub(super) fn merge_row<T>(self, mine: &mut [T], theirs: &[T], merge: impl Fn(&mut T, &T)) {
        for (column, theirs) in self.columns.iter().zip(theirs) {
            if let Some(mine) = column.and_then(|column| mine.get_mut(column)) {
                merge(mine, theirs);
            }
        }
    }

    /// Returns the current number of a saved series.
    pub(super) fn series(self, series: Series) -> Option<Series> {
        self.ids.series(self.table, series)
    }
}
