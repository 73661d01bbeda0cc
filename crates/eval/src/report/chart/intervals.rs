//! Differences with their confidence intervals, in rows around a line at zero.

use maud::{Markup, html};

use super::drawing::{EDGE, WIDTH, colour, dash, marker, px, x_title};
use crate::text_layout::shorten_to_width;
use rankgauge_core::number::real_length;

/// Differences around zero, with one mark for each row and series.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    /// Label of the x axis.
    pub(crate) x_label: String,
    /// Row names.
    pub(crate) rows: Vec<String>,
    /// Name of each series, with one estimate for each row.
    pub(crate) series: Vec<(String, Vec<Estimate>)>,
}

/// One difference. An undefined difference is not drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// Difference of the means.
    pub(crate) value: Option<f64>,
    /// Ends of the confidence interval.
    pub(crate) ends: Option<[f64; 2]>,
}

/// Space for the row names.
const NAMES: f64 = 134.0;
/// Maximum width of a row name, in columns of text.
const NAME: usize = 14;
/// Distance between the marks of a row.
const MARK: f64 = 14.0;
/// Distance between rows.
const GAP: f64 = 12.0;
/// Space for the x axis.
const BELOW: f64 = 42.0;
/// Half the height of the interval ends.
const CAP: f64 = 4.0;

/// Axis that contains 0.
struct Axis {
    step: f64,
    /// First and last tick, in steps from 0.
    ends: [f64; 2],
}

impl Axis {
    /// Shortest axis over `values` with at most five ticks.
    fn over(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((0.0_f64, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        // Scores from files can have any magnitude.
        let span = (high - low).clamp(1e-9, 1e300);
        let power = 10.0_f64.powf((span / 4.0).log10().floor());
        let of = |step: f64| Self {
            step,
            ends: [(low / step).floor(), (high / step).ceil()],
        };
        let steps = [1.0, 2.0, 5.0, 10.0].map(|times| of(times * power));
        let few = |axis: &Self| axis.ends[1] - axis.ends[0] <= 4.0;
        steps.into_iter().find(few).unwrap_or(of(20.0 * power))
    }

    /// X coordinate of a value.
    fn place(&self, value: f64) -> f64 {
        let [first, last] = self.ends;
        let width = WIDTH - NAMES - EDGE - 8.0;
        let share = if last > first {
            ((value / self.step - first) / (last - first)).clamp(0.0, 1.0)
        } else {
            0.5
        };
        NAMES + width * share
    }

    /// Values of the ticks and their labels.
    fn marks(&self) -> Vec<(f64, String)> {
        let [first, last] = self.ends;
        let of = |mark: i32| {
            let value = f64::from(mark) * self.step;
            let text = match self.step {
                _ if mark == 0 => "0".to_owned(),
                step if !(1e-4..1e5).contains(&step) => format!("{value:+.0e}"),
                step if step >= 1.0 => format!("{value:+.0}"),
                step if step >= 0.1 => format!("{value:+.1}"),
                step if step >= 0.01 => format!("{value:+.2}"),
                step if step >= 0.001 => format!("{value:+.3}"),
                _ => format!("{value:+.4}"),
            };
            (value, text)
        };
        let marks = (-10..=10).filter(|mark| (first..=last).contains(&f64::from(*mark)));
        marks.map(of).collect()
    }
}

impl Intervals {
    pub(super) fn names(&self) -> Vec<&str> {
        self.series.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn row(&self) -> f64 {
        MARK * real_length(self.series.len()) + GAP
    }

    pub(super) fn height(&self) -> f64 {
        self.row() * real_length(self.rows.len()) + BELOW
    }

    pub(super) fn draw(&self) -> Markup {
        let estimates = self.series.iter().flat_map(|(_, estimates)| estimates);
        let values =
            estimates.flat_map(|it| it.value.into_iter().chain(it.ends.into_iter().flatten()));
        let axis = Axis::over(values);
        let below = self.height() - BELOW;
        let middle = |row: usize| self.row() * (real_length(row) + 0.5);
        html! {
            @for (value, label) in axis.marks() {
                @let x = px(axis.place(value));
                line.grid.zero[label == "0"] x1=(x) x2=(x) y1="0" y2=(px(below)) {}
                text x=(x) y=(px(below + 15.0)) text-anchor="middle" { (label) }
            }
            (x_title(&self.x_label, NAMES, self.height()))
            @for (row, name) in self.rows.iter().enumerate() {
                text x=(px(NAMES - 10.0)) y=(px(middle(row) + 4.0)) text-anchor="end" { (shorten_to_width(name, NAME)) }
            }
            @for (s, (_, estimates)) in self.series.iter().enumerate() {
                g class={ (colour(s)) } {
                    @for (row, estimate) in estimates.iter().enumerate() {
                        @let y = self.row() * real_length(row) + GAP / 2.0 + MARK * (real_length(s) + 0.5);
                        @if let Some(ends) = estimate.ends {
                            @let [low, high] = ends.map(|end| axis.place(end));
                            path class={ "line " (dash(s)) } d={ "M" (px(low)) " " (px(y)) "H" (px(high)) } {}
                            @for end in [low, high] {
                                path.line d={ "M" (px(end)) " " (px(y - CAP)) "v" (px(2.0 * CAP)) } {}
                            }
                        }
                        @if let Some(value) = estimate.value {
                            (marker(s, axis.place(value), y))
                        }
                    }
                }
            }
        }
    }
}
