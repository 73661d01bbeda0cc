//! Names of the numbers in a snapshot, and recorded counters.

use crate::engine::family::{self, Family, LabelName, Source};
use crate::engine::registry::Registry;
use crate::engine::scores::{Cell, Tally};
use crate::engine::series::{Dimension, Label, Labels};
use crate::engine::settings::Settings;
use crate::engine::snapshot::Snapshot;

/// Values of a snapshot by name.
#[derive(Debug)]
pub struct ReadModel<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) settings: &'a Settings,
    pub(super) measures: Vec<String>,
    /// Label values, by dimension and number.
    labels: [Vec<Box<str>>; Dimension::ALL.len()],
    /// Labels of the series of each table, by position of its owner in the catalogue.
    keys: Vec<Vec<Labels>>,
    /// Sums since the start, by series of scores.
    pub(super) tallies: Vec<&'a [Tally]>,
    /// Rolling sums, by window and series of scores.
    pub(super) rolling: Vec<Vec<Option<&'a [Cell]>>>,
    /// Rolling sums of the differences that unjudged results could make, by window and series.
    pub(super) unjudged: Vec<Vec<Option<&'a [Cell]>>>,
}

impl<'a> ReadModel<'a> {
    /// Resolves the names of `snapshot`. The snapshot is of engines with these settings and this
    /// registry.
    pub fn new(snapshot: &'a Snapshot, settings: &'a Settings, registry: &Registry) -> Self {
        let scores = &snapshot.totals.scores;
        let windows = 0..settings.windows.len();
        let keys = family::ALL.iter().map(|family| {
            let is_owner = family.table().is_some_and(|table| table.owner() == *family);
            let keys = is_owner.then(|| registry.series_labels(family));
            keys.unwrap_or_default()
        });
        Self {
            snapshot,
            settings,
            measures: settings.measures.iter().map(ToString::to_string).collect(),
            labels: Dimension::ALL.map(|dimension| registry.values(dimension)),
            keys: keys.collect(),
            tallies: scores.rows().collect(),
            unjudged: windows
                .clone()
                .map(|window| scores.unjudged_rows(window).collect())
                .collect(),
            rolling: windows
                .map(|window| scores.window_rows(window).collect())
                .collect(),
        }
    }

    /// Settings of the engines.
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// Names of the measures, in the order of the settings.
    pub fn measures(&self) -> &[String] {
        &self.measures
    }

    /// Position of the measure with this canonical name.
    pub fn measure(&self, name: &str) -> Option<usize> {
        self.measures.iter().position(|known| known == name)
    }

    /// Name of a variant.
    pub fn variant(&self, label: Label) -> &str {
        self.text(Dimension::Variant, label)
    }

    /// Text of a label from events.
    pub(super) fn text(&self, dimension: Dimension, label: Label) -> &str {
        let values = &self.labels[dimension as usize];
        values
            .get(label.index())
            .map_or(Label::OTHER_NAME, |value| value)
    }

    /// Names and values of the labels of a series of a family, in the order of exposition. `None` for a topic,
    /// which only the configuration names.
    pub fn named_labels(
        &self,
        family: &Family,
        labels: &[Label],
    ) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        let pairs = family.keys().zip(labels);
        pairs.map(move |(key, label)| (key.name, self.label_value(key, *label)))
    }

    /// Value of a label of a series. `None` for a topic, which only the configuration names.
    pub(super) fn label_value(&self, name: &LabelName, label: Label) -> Option<&str> {
        if label == Label::EMPTY {
            return Some(name.if_empty);
        }
        let position = label.position();
        let value = match name.source {
            Source::Event(dimension) => Some(self.text(dimension, label)),
            Source::Slice => position.and_then(|position| self.slice(position)),
            Source::Component => position.and_then(|position| {
                let component = self.settings.judging.components.get(position)?;
                Some(component.name.as_str())
            }),
            Source::OneOf(values) => position.and_then(|position| values.get(position).copied()),
            Source::Topic => return None,
            Source::Exposition => None,
        };
        Some(value.unwrap_or(Label::OTHER_NAME))
    }

    /// Name of a slice by the position of its label.
    pub(super) fn slice(&self, position: usize) -> Option<&str> {
        match position.checked_sub(1) {
            None => Some(Settings::ALL_SEARCHES),
            Some(slice) => self.settings.slices.get(slice).map(String::as_str),
        }
    }

    /// Snapshot whose values it names.
    pub fn snapshot(&self) -> &'a Snapshot {
        self.snapshot
    }

    /// Labels of the series of a family, by number, in the order of [`named_labels`](Self::named_labels).
    pub fn keys(&self, family: &Family) -> &[Labels] {
        let table = family.table();
        table.map_or(&[], |table| &self.keys[table.index()])
    }

    /// Counts of a recorded counter, in units of its last decimal place: the number of the series, its
    /// labels and its count. A series without counts is left out, unless the family is exposed
    /// before its first count and the snapshot knows the series.
    pub fn counts(&self, family: &Family) -> impl Iterator<Item = (usize, &Labels, i128)> {
        let counts = self.snapshot.totals.counters.of(family).iter().copied();
        let known = self.snapshot.known_series(family);
        let (is_exposed_at_zero, keys) = (family.is_exposed_at_zero, self.keys(family));
        let counts = counts.chain(std::iter::repeat(0));
        let counts = keys.iter().zip(counts).enumerate();
        counts.filter_map(move |(number, (labels, units))| {
            let is_shown = || {
                let is_known = known.is_none_or(|known| number < known);
                is_exposed_at_zero && is_known && !labels.contains(&Label::OTHER)
            };
            (units > 0 || is_shown()).then_some((number, labels, units))
        })
    }

    /// Sum of the counts of a counter of whole numbers whose labels `is_selected` selects.
    pub(super) fn sum(&self, family: &Family, is_selected: impl Fn(&Labels) -> bool) -> u64 {
        let counts = self
            .counts(family)
            .filter(|(_, labels, _)| is_selected(labels));
        let sum = counts.map(|(_, _, units)| units).sum::<i128>();
        u64::try_from(sum).unwrap_or(u64::MAX)
    }
}
