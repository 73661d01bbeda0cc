//! What is exposed of quality: scores, what components did, where searches went, which documents
//! were found.

use super::{Scope, Sink, Value, named};
use crate::engine::fixed::NANO_DECIMALS;
use crate::engine::registry::{Dimension, Family as Table, Label, MOST_HOPS, OTHER, trigger_of};
use crate::engine::scores::{Tally, column_of};
use crate::expose::{Family, family};
use crate::measure::Measure;

/// Names of distances, in the order of their labels' positions.
const HOPS: [&str; MOST_HOPS] = ["1", "2", "3", "4+"];

impl Scope<'_> {
    /// Variant, slice and value of every score series.
    pub(in crate::expose) fn score_series(&self) -> Vec<(&str, &str, &str)> {
        let slice_name = |label: Label| match label.position() {
            Some(0) | None => "all",
            Some(position) => self
                .settings
                .slices
                .get(position - 1)
                .map_or("all", String::as_str),
        };
        let members = self.registry.members(Table::Scores).into_iter();
        let names = members.map(|[variant, slice, value]| {
            (
                named(&self.variants, variant),
                slice_name(slice),
                named(&self.slice_values, value),
            )
        });
        names.collect()
    }

    /// One family of sums since the start; `value_of` is given the number of the series and the
    /// column, and says nothing for a column that has no such sum.
    fn sums(
        &self,
        family: &Family,
        sink: &mut dyn Sink,
        value_of: impl Fn(usize, usize, &Tally) -> Option<Value>,
    ) {
        let series = self.score_series();
        let rows: Vec<&[Tally]> = self.snapshot.scores.rows().collect();
        sink.family(family);
        for (index, measure) in self.measures.iter().enumerate() {
            let column = column_of(index);
            for (number, (row, (variant, slice, value))) in rows.iter().zip(&series).enumerate() {
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
        // Counters never fall: what is negative is a counter of its own.
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
        let series = self.score_series();
        sink.family(&family::SCORE);
        for (index, measure) in self.measures.iter().enumerate() {
            // Rates of what people did mislead while few did anything.
            let fewest = match self.settings.measures[index] {
                Measure::People(_) => self.settings.min_samples,
                _ => 0,
            };
            for (number, window) in self.settings.windows.iter().enumerate() {
                let rows = scores.window_rows(number);
                for (row, (variant, slice, value)) in rows.zip(&series) {
                    let cell = &row[column_of(index)];
                    if cell.count >= fewest
                        && let Some(mean) = cell.mean()
                    {
                        let labels = [
                            ("measure", measure.as_str()),
                            ("variant", variant),
                            ("slice", slice),
                            ("value", value),
                            ("window", &window.name),
                        ];
                        sink.sample("", &labels, Value::Float(mean));
                    }
                }
            }
        }
    }

    pub(super) fn documents(&self, sink: &mut dyn Sink) {
        sink.family(&family::DOCUMENTS);
        let scores = &self.snapshot.scores;
        let cutoffs = scores.cutoffs().iter().map(ToString::to_string);
        let cutoffs: Vec<String> = cutoffs.collect();
        for (row, (variant, slice, value)) in scores.document_rows().zip(self.score_series()) {
            for (cutoff, documents) in cutoffs.iter().zip(row) {
                let outcomes = [
                    ("tp", documents.true_positives),
                    ("fp", documents.false_positives),
                    ("fn", documents.false_negatives),
                ];
                // A series that judged nothing has no row of its own to show.
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
                    ("variant", named(&self.variants, variant)),
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
                    ("variant", named(&self.variants, variant)),
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
                    ("variant", named(&self.variants, variant)),
                ];
                sink.sample("", &labels, Value::Count(count));
            });
        }
    }
}
