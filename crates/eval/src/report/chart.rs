//! Charts as SVG elements within an HTML page.
//!
//! Colours, strokes and fonts come from the page's style sheet. The same chart therefore works in
//! light mode, in dark mode and on paper. Series differ in colour, dashes and markers together. For
//! readers who do not see the chart, the page has its title, its description and the table beside
//! it.

mod changes;
mod drawing;
mod intervals;
mod plane;
mod scatter;
mod shades;

use maud::{Markup, html};

use super::ratios::ratio;
use crate::text_layout::shorten;
pub(crate) use changes::Changes;
use drawing::{
    BOTTOM, DARKEST, EDGE, HEIGHT, LEFT, Swatch, WIDTH, colour, dash, height_of, markers, path, px,
    rectangle, round_up, size, swatch, x_mark, x_title, y_axis,
};
pub(crate) use intervals::{Estimate, Intervals};
pub(crate) use plane::Plane;
use rankgauge_core::number::real_length;
pub(crate) use scatter::{Scatter, ScatterPoint};
pub(crate) use shades::Shades;

/// Chart of one of eight kinds.
#[derive(Clone, Debug)]
pub(crate) enum Chart {
    /// Lines over a common axis.
    Lines(Lines),
    /// Bars side by side in groups.
    Bars(Bars),
    /// A square matrix of counts.
    Heatmap(Heatmap),
    /// Differences around zero.
    Intervals(Intervals),
    /// Points in a plane.
    Scatter(Scatter),
    /// Shaded scores by row and column.
    Shades(Shades),
    /// Sorted differences of queries.
    Changes(Changes),
    /// Queries in the plane of recall and precision.
    Plane(Plane),
}

/// Lines of values from 0 to 1.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    /// Label of the x axis.
    pub(crate) x_label: String,
    /// Label of the y axis.
    pub(crate) y_label: String,
    /// Tick positions and labels of the x axis, ascending. The first and the last are its ends.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Lines to draw.
    pub(crate) series: Vec<Series>,
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// Name of the series.
    pub(crate) name: String,
    /// Points as (x, y), x ascending.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Bars of values from 0 up.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    /// Label of the x axis.
    pub(crate) x_label: String,
    /// Label of the y axis.
    pub(crate) y_label: String,
    /// Label below each group.
    pub(crate) groups: Vec<String>,
    /// Name of each series, with one bar for each group.
    pub(crate) series: Vec<(String, Vec<f64>)>,
}

/// Counts of pairs of names. The colour strength of a cell is its share of the row.
#[derive(Clone, Debug)]
pub(crate) struct Heatmap {
    /// Label of the columns.
    pub(crate) x_label: String,
    /// Label of the rows.
    pub(crate) y_label: String,
    /// Names, in the order of rows and of columns.
    pub(crate) names: Vec<String>,
    /// Counts, row by row.
    pub(crate) values: Vec<Vec<u64>>,
}

/// Maximum length of the row and column names of a matrix, in characters.
const NAME: usize = 8;

impl Chart {
    /// Draws the chart, with a legend if it has several series. The page has its title and its
    /// description, with the ids `{id}-title` and `{id}-desc`.
    pub(crate) fn draw(&self, id: &str) -> Markup {
        let (height, body, names) = match self {
            Self::Lines(lines) => (HEIGHT, lines.draw(), lines.names()),
            Self::Bars(bars) => (HEIGHT, bars.draw(), bars.names()),
            Self::Heatmap(heatmap) => (heatmap.height(), heatmap.draw(), Vec::new()),
            Self::Intervals(intervals) => (intervals.height(), intervals.draw(), intervals.names()),
            Self::Scatter(scatter) => (HEIGHT, scatter.draw(), scatter.names()),
            Self::Shades(shades) => (shades.height(), shades.draw(), Vec::new()),
            Self::Changes(changes) => (HEIGHT, changes.draw(), Vec::new()),
            Self::Plane(plane) => (HEIGHT, plane.draw(), Vec::new()),
        };
        html! {
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img"
                aria-labelledby={ (id) "-title" } aria-describedby={ (id) "-desc" } {
                (body)
            }
            @if names.len() > 1 {
                ul.legend { @for (i, name) in names.iter().enumerate() {
                    li { (swatch(i, self.swatch())) (name) }
                } }
            }
        }
    }
}

impl Chart {
    /// Kind of legend symbol.
    fn swatch(&self) -> Swatch {
        match self {
            Self::Bars(_) => Swatch::Bar,
            Self::Scatter(_) => Swatch::Point,
            Self::Lines(_)
            | Self::Heatmap(_)
            | Self::Intervals(_)
            | Self::Shades(_)
            | Self::Changes(_)
            | Self::Plane(_) => Swatch::Line,
        }
    }
}

impl Lines {
    fn names(&self) -> Vec<&str> {
        self.series
            .iter()
            .map(|series| series.name.as_str())
            .collect()
    }

    fn draw(&self) -> Markup {
        let ends = (self.ticks.first(), self.ticks.last());
        let (from, to) = match ends {
            (Some(first), Some(last)) => (first.0, last.0),
            _ => (0.0, 1.0),
        };
        let place = |x: f64| {
            let width = WIDTH - LEFT - EDGE;
            if to > from {
                LEFT + width * (x - from) / (to - from)
            } else {
                LEFT + width / 2.0
            }
        };
        let line = |series: &Series| {
            let points = series.points.iter();
            points
                .map(|(x, y)| (place(*x), height_of(*y, 1.0)))
                .collect::<Vec<_>>()
        };
        html! {
            (y_axis(&self.y_label, 1.0))
            @for (x, label) in &self.ticks {
                (x_mark(place(*x), label))
            }
            (x_title(&self.x_label, LEFT, HEIGHT))
            @for (i, points) in self.series.iter().map(line).enumerate() {
                g class={ (colour(i)) } {
                    path class={ "line " (dash(i)) } d=(path(&points)) {}
                    (markers(i, &points))
                }
            }
        }
    }
}

impl Bars {
    fn names(&self) -> Vec<&str> {
        self.series.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn draw(&self) -> Markup {
        let values = self.series.iter().flat_map(|(_, values)| values);
        let top = round_up(values.copied().fold(0.0, f64::max));
        let group = (WIDTH - LEFT - EDGE) / size(self.groups.len());
        let bar = group * 0.84 / size(self.series.len());
        let start = |i: usize| LEFT + group * real_length(i);
        html! {
            (y_axis(&self.y_label, top))
            @for (i, label) in self.groups.iter().enumerate() {
                (x_mark(start(i) + group / 2.0, label))
            }
            (x_title(&self.x_label, LEFT, HEIGHT))
            @for (s, (_, values)) in self.series.iter().enumerate() {
                g class={ (colour(s)) } {
                    @let bars = values.iter().enumerate().map(|(i, value)| {
                        let x = start(i) + group * 0.08 + bar * real_length(s);
                        let y = height_of(*value, top);
                        rectangle(x, y, bar, HEIGHT - BOTTOM - y)
                    });
                    path.bar d=(bars.collect::<String>()) {}
                }
            }
        }
    }
}

impl Heatmap {
    /// Space for the row names.
    const NAMES: f64 = 104.0;
    /// Space for the column names, which are slanted.
    const BELOW: f64 = 96.0;

    fn cell(&self) -> f64 {
        (WIDTH - Self::NAMES - 4.0) / size(self.names.len())
    }

    /// Row height: cells are squares, limited in height so that three rows do not fill a page.
    fn row(&self) -> f64 {
        self.cell().min(48.0)
    }

    fn height(&self) -> f64 {
        self.row() * size(self.names.len()) + Self::BELOW
    }

    fn draw(&self) -> Markup {
        let (cell, row) = (self.cell(), self.row());
        let below = row * size(self.names.len());
        html! {
            @for (i, (name, values)) in self.names.iter().zip(&self.values).enumerate() {
                @let y = row * real_length(i);
                @let all: u64 = values.iter().sum();
                text x=(px(Self::NAMES - 6.0)) y=(px(y + row / 2.0 + 4.0)) text-anchor="end" {
                    (shorten(name, NAME))
                }
                g.cell text-anchor="middle" { @for (j, value) in values.iter().enumerate() {
                    @let x = Self::NAMES + cell * real_length(j);
                    // An empty cell is not drawn, unless it has a frame.
                    @if *value > 0 || i == j {
                        path class=[(i == j).then_some("own")]
                            d=(rectangle(x + 1.0, y + 1.0, cell - 2.0, row - 2.0))
                            fill-opacity=(format!("{:.2}", DARKEST * ratio(*value, all))) {}
                    }
                    @if *value > 0 && cell >= 9.0 * size(value.to_string().len()) {
                        text x=(px(x + cell / 2.0)) y=(px(y + row / 2.0 + 4.0)) { (value) }
                    }
                } }
            }
            @for (j, name) in self.names.iter().enumerate() {
                @let x = Self::NAMES + cell * (real_length(j) + 0.5) + 3.0;
                text text-anchor="end" transform={
                    "translate(" (px(x)) " " (px(below + 12.0)) ") rotate(-40)"
                } { (shorten(name, NAME)) }
            }
            text.axis x="4" y=(px(below + 22.0)) { (self.y_label) " ↑" }
            text.axis x=(px(WIDTH - 4.0)) y=(px(below + Self::BELOW - 6.0)) text-anchor="end" {
                (self.x_label) " →"
            }
        }
    }
}
