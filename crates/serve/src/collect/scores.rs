//! Metric families of scores: sums, rolling means, searches and documents.

use super::{ALL_SEARCHES, Labels, ScoreLabels, Sink, SnapshotView, Value};
use rankgauge_core::engine::family::{self, Family};
use rankgauge_core::engine::fixed::{NANO_DECIMALS, count_to_f64};
use rankgauge_core::engine::scores::{Cell, SEARCHES, Tally, column_of};
use rankgauge_core::engine::settings::{Rolling, WindowSpec};

impl SnapshotView<'_> {
    /// Writes one family of sums since the start. `value_of` receives the number of the series and
    /// the column, and returns `None` for a column that has no such sum.
    fn sums(
        &self,
        family: &Family,
        labels: &ScoreLabels<'_>,
        sink: &mut dyn Sink,
        value_of: impl Fn(usize, usize, &Tally) -> Option<Value>,
    ) {
        let rows: Vec<&[Tally]> = self.snapshot.totals.scores.rows().collect();
        sink.family(family);
        for (index, measure) in labels.measures.iter().enumerate() {
            let column = column_of(index);
            for (number, (row, series)) in rows.iter().zip(&labels.series).enumerate() {
                let tally = &row[column];
                if tally.count > 0
                    && let Some(sum) = value_of(number, column, tally)
                {
                    sink.write("", &[measure, series], sum);
                }
            }
        }
    }

    pub(super) fn scores(&self, labels: &ScoreLabels<'_>, sink: &mut dyn Sink) {
        let scores = &self.snapshot.totals.scores;
        // Counters must not decrease: negative scores have a separate counter.
        let negative = |series: usize, column: usize| {
            let position = scores.signed().binary_search(&column).ok()?;
            Some(scores.negative(series, position))
        };
        self.sums(&family::SCORE_SUM, labels, sink, |series, column, tally| {
            Some(Value::Decimal {
                units: tally.sum + negative(series, column).unwrap_or(0),
                decimals: NANO_DECIMALS,
            })
        });
        self.sums(
            &family::SCORE_NEGATIVE_SUM,
            labels,
            sink,
            |series, column, _| {
                Some(Value::Decimal {
                    units: negative(series, column)?,
                    decimals: NANO_DECIMALS,
                })
            },
        );
        self.sums(&family::SCORE_COUNT, labels, sink, |_, _, tally| {
            Some(Value::Count(tally.count))
        });
        self.sums(&family::SCORE_SQUARES, labels, sink, |_, _, tally| {
            Some(Value::Decimal {
                units: tally.squares,
                decimals: 2 * NANO_DECIMALS,
            })
        });
        sink.family(&family::SCORE);
        for (index, measure) in self.settings.measures.iter().enumerate() {
            // Rates from few feedback events are misleading.
            let min_count = if measure.is_user_measure() {
                self.settings.min_samples
            } else {
                0
            };
            self.rolling(index, labels, |labels, cell| {
                if cell.count >= min_count
                    && let Some(mean) = cell.mean()
                {
                    sink.write("", labels, Value::Float(mean));
                }
            });
        }
    }

    /// Calls `each` with the rolling sums of a measure, by its index in the settings: window by
    /// window, every series with its labels.
    pub(super) fn rolling(
        &self,
        index: usize,
        labels: &ScoreLabels<'_>,
        mut each: impl FnMut(&[&Labels<'_>], &Cell),
    ) {
        for (number, window) in labels.windows.iter().enumerate() {
            let rows = self.snapshot.totals.scores.window_rows(number);
            let rows = rows.zip(labels.series.iter().zip(&self.series));
            for (row, (series, (_, slice, _))) in rows {
                let is_exposed = match self.rolling {
                    Rolling::All => true,
                    Rolling::Whole => *slice == ALL_SEARCHES,
                    Rolling::None => false,
                };
                let Some(row) = row.filter(|_| is_exposed) else {
                    continue;
                };
                let labels = [&labels.measures[index], series, window];
                each(&labels, &row[column_of(index)]);
            }
        }
    }

    pub(super) fn documents(&self, labels: &ScoreLabels<'_>, sink: &mut dyn Sink) {
        sink.family(&family::DOCUMENTS);
        let scores = &self.snapshot.totals.scores;
        let cutoffs = scores.cutoffs().iter().map(ToString::to_string);
        let cutoffs: Vec<String> = cutoffs.collect();
        let outcomes: Vec<[Labels<'_>; 3]> = cutoffs
            .iter()
            .map(|cutoff| {
                ["tp", "fp", "fn"]
                    .map(|outcome| Labels::new(&[("cutoff", cutoff), ("outcome", outcome)]))
            })
            .collect();
        for (row, series) in scores.document_rows().zip(&labels.series) {
            for (outcomes, documents) in outcomes.iter().zip(row) {
                let counts = [
                    documents.true_positives,
                    documents.false_positives,
                    documents.false_negatives,
                ];
                // A series without judged documents is not exposed.
                if counts == [0; 3] {
                    continue;
                }
                for (outcome, count) in outcomes.iter().zip(counts) {
                    sink.write("", &[outcome, series], Value::Count(count));
                }
            }
        }
    }

    pub(super) fn searches(&self, sink: &mut dyn Sink) {
        let scores = &self.snapshot.totals.scores;
        sink.family(&family::SEARCHES);
        for (row, (variant, slice, value)) in scores.rows().zip(&self.series) {
            if row[SEARCHES].count > 0 {
                let labels = [("variant", *variant), ("slice", slice), ("value", value)];
                sink.sample(&labels, Value::Count(row[SEARCHES].count));
            }
        }
        sink.family(&family::SEARCHES_PER_SECOND);
        self.rolling_searches(sink, |cell, window| {
            let is_empty = cell.count == 0;
            (!is_empty).then(|| count_to_f64(cell.count) / window.length.as_secs_f64())
        });
        sink.family(&family::GOLD_COVERAGE);
        self.rolling_searches(sink, |cell, _| cell.mean());
    }

    /// Writes a value of each variant and window, computed from the rolling number of searches.
    fn rolling_searches(
        &self,
        sink: &mut dyn Sink,
        value_of: impl Fn(&Cell, &WindowSpec) -> Option<f64>,
    ) {
        for (number, window) in self.settings.windows.iter().enumerate() {
            let rows = self.snapshot.totals.scores.window_rows(number);
            for (row, (variant, slice, _)) in rows.zip(&self.series) {
                if *slice == ALL_SEARCHES
                    && let Some(row) = row
                    && let Some(value) = value_of(&row[SEARCHES], window)
                {
                    let labels = [("variant", *variant), ("window", &window.name)];
                    sink.sample(&labels, Value::Float(value));
                }
            }
        }
    }
}
