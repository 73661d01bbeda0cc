//! Metric families of search quality: scores, components, routing and documents.

use super::{LabelPair, Scope, Sink, Value, named};
use crate::expose::{Family, family};
use rankgauge_core::engine::fixed::NANO_DECIMALS;
use rankgauge_core::engine::registry::{
    Dimension, Family as Table, Label, MOST_HOPS, OTHER, trigger_of,
};
use rankgauge_core::engine::scores::{Cell, Tally, column_of};

/// Names of distances, in the order of their labels' positions.
const HOPS: [&str; MOST_HOPS] = ["1", "2", "3", "4+"];

impl Scope<'_> {
    /// Writes one family of sums since the start. `value_of` receives the number of the series and
    /// the column, and returns `None` for a column that has no such sum.
    fn sums(
        &self,
        family: &Family,
        sink: &mut dyn Sink,
        value_of: impl Fn(usize, usize, &Tally) -> Option<Value>,
    ) {
        let series = &self.series;
        let rows: Vec<&[Tally]> = self.snapshot.scores.rows().collect();
        sink.family(family);
        for (index, measure) in self.measures.iter().enumerate() {
            let column = column_of(index);
            for (number, (row, (variant, slice, value))) in rows.iter().zip(series).enumerate() {
                let tally = &row[column];
                if tally.count > 0
                    && let Some(sum) = value_of(number, column, tally)
                {
                    let labels = [
                        ("measure", measure.as_str()),
                        ("variant", variant),
                        ("slice", slice),
                        ("value", value),
                    ];
                    sink.sample("", &labels, sum);
                }
            }
        }
    }

    pub(super) fn scores(&self, sink: &mut dyn Sink) {
        let scores = &self.snapshot.scores;
        // Counters must not decrease: negative scores have a separate counter.
        let negative = |series: usize, column: usize| {
            let position = scores.signed().binary_search(&column).ok()?;
            Some(scores.negative(series, position))
        };
        self.sums(&family::SCORE_SUM, sink, |series, column, tally| {
            Some(Value::Decimal {
                units: tally.sum + negative(series, column).unwrap_or(0),
                decimals: NANO_DECIMALS,
            })
        });
        self.sums(&family::SCORE_NEGATIVE_SUM, sink, |series, column, _| {
            Some(Value::Decimal {
                units: negative(series, column)?,
                decimals: NANO_DECIMALS,
            })
        });
        self.sums(&family::SCORE_COUNT, sink, |_, _, tally| {
            Some(Value::Count(tally.count))
        });
        self.sums(&family::SCORE_SQUARES, sink, |_, _, tally| {
            Some(Value::Decimal {
                units: tally.squares,
                decimals: 2 * NANO_DECIMALS,
            })
        });
        sink.family(&family::SCORE);
        for (index, measure) in self.settings.measures.iter().enumerate() {
            // Rates from few feedback events are misleading.
            let min_count = if measure.is_of_people() {
                self.settings.min_samples
            } else {
                0
            };
            self.rolling(index, |labels, cell| {
                if cell.count >= min_count
                    && let Some(mean) = cell.mean()
                {
                    sink.sample("", labels, Value::Float(mean));
                }
            });
        }
    }

    /// Calls `each` with the rolling sums of a measure, by its index in the settings: window by
    /// window, every series with its labels.
    pub(super) fn rolling(&self, index: usize, mut each: impl FnMut(&[LabelPair<'_>], &Cell)) {
        let series = &self.series;
        for (number, window) in self.settings.windows.iter().enumerate() {
            let rows = self.snapshot.scores.window_rows(number);
            for (row, (variant, slice, value)) in rows.zip(series) {
                let labels = [
                    ("measure", self.measures[index].as_str()),
                    ("variant", *variant),
                    ("slice", slice),
                    ("value", value),
                    ("window", &window.name),
                ];
                each(&labels, &row[column_of(index)]);
            }
        }
    }

    pub(super) fn documents(&self, sink: &mut dyn Sink) {
        sink.family(&family::DOCUMENTS);
        let scores = &self.snapshot.scores;
        let cutoffs = scores.cutoffs().iter().map(ToString::to_string);
        let cutoffs: Vec<String> = cutoffs.collect();
        for (row, (variant, slice, value)) in scores.document_rows().zip(&self.series) {
            for (cutoff, documents) in cutoffs.iter().zip(row) {
                let outcomes = [
                    ("tp", documents.true_positives),
                    ("fp", documents.false_positives),
                    ("fn", documents.false_negatives),
                ];
                // A series without judged documents is not exposed.
                if outcomes.iter().all(|(_, count)| *count == 0) {
                    continue;
                }
                for (outcome, count) in outcomes {
                    let labels = [
                        ("cutoff", cutoff.as_str()),
                        ("outcome", outcome),
                        ("variant", variant),
                        ("slice", slice),
                        ("value", value),
                    ];
                    sink.sample("", &labels, Value::Count(count));
                }
            }
        }
    }

    pub(super) fn components(&self, sink: &mut dyn Sink) {
        let components = &self.settings.judging.components;
        let name = |label: Label| {
            let component = label.position().and_then(|index| components.get(index));
            component.map_or(OTHER, |component| component.name.as_str())
        };
        let counts = &self.snapshot.counts;
        sink.family(&family::COMPONENT_TRIGGER);
        self.counts(
            Table::Trigger,
            counts.of(Table::Trigger),
            |[component, trigger, variant], count| {
                let truth = |holds: bool| if holds { "true" } else { "false" };
                let (needed, fired) = trigger_of(trigger)
                    .map_or((OTHER, OTHER), |(needed, fired)| {
                        (truth(needed), truth(fired))
                    });
                let labels = [
                    ("component", name(component)),
                    ("needed", needed),
                    ("fired", fired),
                    ("variant", named(self.variants, variant)),
                ];
                sink.sample("", &labels, Value::Count(count));
            },
        );
        sink.family(&family::COMPONENT_HOPS);
        self.counts(
            Table::Hops,
            counts.of(Table::Hops),
            |[component, hops, variant], count| {
                let hops = hops.position().and_then(|position| HOPS.get(position));
                let labels = [
                    ("component", name(component)),
                    ("hops", *hops.unwrap_or(&OTHER)),
                    ("variant", named(self.variants, variant)),
                ];
                sink.sample("", &labels, Value::Count(count));
            },
        );
    }

    pub(super) fn domains(&self, sink: &mut dyn Sink) {
        let domains = self.registry.values(Dimension::Domain);
        let tables = [
            (&family::ROUTING, Table::Routing, ["expected", "selected"]),
            (
                &family::COLLABORATION,
                Table::Collaboration,
                ["primary", "contributor"],
            ),
        ];
        for (family, table, [from, to]) in tables {
            sink.family(family);
            let counts = self.snapshot.counts.of(table);
            self.counts(table, counts, |[first, second, variant], count| {
                let labels = [
                    (from, named(&domains, first)),
                    (to, named(&domains, second)),
                    ("variant", named(self.variants, variant)),
                ];
                sink.sample("", &labels, Value::Count(count));
            });
        }
    }
}
