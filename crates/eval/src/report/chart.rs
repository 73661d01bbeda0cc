//! Charts as SVG elements within an HTML page.
//!
//! Colours, strokes and fonts come from the page's style sheet. The same chart therefore works in
//! light mode, in dark mode and on paper. Series differ in colour, dashes and markers together. For
//! readers who do not see the chart, the page has its title, its description and the table beside
//! it.

mod changes;
mod intervals;
mod plane;
mod scatter;
mod shades;

use maud::{Markup, html};

use super::document::shorten;
pub(crate) use changes::Changes;
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

/// Width of a chart. It is the width of a narrow phone, so texts keep their size there.
const WIDTH: f64 = 360.0;
/// Height of a chart.
const HEIGHT: f64 = 250.0;
/// Space for the y axis.
const LEFT: f64 = 46.0;
/// Space for the x axis.
const BOTTOM: f64 = 42.0;
/// Space at the top and on the right.
const EDGE: f64 = 12.0;
/// Number of colours in the style sheet: `s0` to `s5`.
const COLOURS: usize = 6;
/// Number of dash patterns in the style sheet: `d0` to `d3`. It does not divide the number of
/// colours, so a repeated colour has another dash pattern.
const DASHES: usize = 4;
/// Maximum length of the row and column names of a matrix, in characters.
const NAME: usize = 8;
/// Opacity of the fullest cell. Text on it keeps a contrast above 4.5 in light and in dark mode.
const DARKEST: f64 = 0.5;

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

/// Kind of legend symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swatch {
    Line,
    Bar,
    Point,
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
                            fill-opacity=(format!("{:.2}", DARKEST * super::ratio(*value, all))) {}
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

/// Y axis from 0 to `top`, with grid lines across the chart.
fn y_axis(label: &str, top: f64) -> Markup {
    let steps = 5;
    html! {
        @let marks = (0..=steps).map(|step| top * f64::from(step) / f64::from(steps));
        @let lines = marks.clone().map(|mark| {
            format!("M{} {}H{}", px(LEFT), px(height_of(mark, top)), px(WIDTH - EDGE))
        });
        path.grid d=(lines.collect::<String>()) {}
        g text-anchor="end" { @for mark in marks {
            text x=(px(LEFT - 5.0)) y=(px(height_of(mark, top) + 4.0)) { (tick(mark, top)) }
        } }
        text.axis text-anchor="middle" transform={
            "translate(11 " (px(f64::midpoint(HEIGHT - BOTTOM, EDGE))) ") rotate(-90)"
        } { (label) }
    }
}

fn x_mark(x: f64, label: &str) -> Markup {
    html! {
        text x=(px(x)) y=(px(HEIGHT - BOTTOM + 15.0)) text-anchor="middle" { (label) }
    }
}

/// Title of an x axis that begins at `left`, below its labels, in a chart of this `height`.
fn x_title(label: &str, left: f64, height: f64) -> Markup {
    html! {
        text.axis x=(px(f64::midpoint(left, WIDTH - EDGE))) y=(px(height - 8.0)) text-anchor="middle" {
            (shorten(label, 36))
        }
    }
}

/// Legend symbol of a series.
fn swatch(series: usize, kind: Swatch) -> Markup {
    html! {
        svg.swatch.(colour(series)) viewBox="0 0 28 12" aria-hidden="true" {
            @match kind {
                Swatch::Bar => { rect.bar x="8" y="0" width="12" height="12" {} }
                Swatch::Point => { (marker(series, 14.0, 6.0)) }
                Swatch::Line => {
                    path class={ "line " (dash(series)) } d="M0 6H28" {}
                    (marker(series, 14.0, 6.0))
                }
            }
        }
    }
}

fn marker(series: usize, x: f64, y: f64) -> Markup {
    markers(series, &[(x, y)])
}

/// Markers of a series, as one path.
fn markers(series: usize, points: &[(f64, f64)]) -> Markup {
    let shape = match series % 4 {
        0 => "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        1 => "m-3 -3h6v6h-6z",
        2 => "m0 -4l4 7h-8z",
        _ => "m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
    };
    let markers = points.iter();
    let markers = markers.map(|(x, y)| format!("M{} {}{shape}", px(*x), px(*y)));
    html! { path.marker d=(markers.collect::<String>()) {} }
}

/// Commands of a path that draws a rectangle.
fn rectangle(x: f64, y: f64, width: f64, height: f64) -> String {
    let (width, height) = (px(width), px(height));
    format!("M{} {}h{width}v{height}h-{width}z", px(x), px(y))
}

fn path(points: &[(f64, f64)]) -> String {
    let steps = points.iter().enumerate().map(|(i, (x, y))| {
        let command = if i == 0 { 'M' } else { 'L' };
        format!("{command}{} {}", px(*x), px(*y))
    });
    steps.collect()
}

fn colour(series: usize) -> String {
    format!("s{}", series % COLOURS)
}

fn dash(series: usize) -> String {
    format!("d{}", series % DASHES)
}

/// Y coordinate of a value on an axis from 0 to `top`.
fn height_of(value: f64, top: f64) -> f64 {
    let share = if top > 0.0 {
        (value / top).clamp(0.0, 1.0)
    } else {
        0.0
    };
    HEIGHT - BOTTOM - (HEIGHT - BOTTOM - EDGE) * share
}

/// Lowest end of an axis, at or above `value`, whose fifths are short numbers.
fn round_up(value: f64) -> f64 {
    let mut end = 5.0;
    while end < value {
        // Candidates: 5, 10, 25, 50, 100, 250, …
        let doubled = end * 2.0;
        let leading = doubled.log10().fract();
        end = if leading.abs() < 1e-9 && doubled < value {
            doubled * 2.5
        } else {
            doubled
        };
    }
    end
}

/// Label of a value on an axis to `top`. From 5 on, the fifths of `top` are whole numbers.
fn tick(value: f64, top: f64) -> String {
    if top < 5.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// Coordinate, rounded to a tenth of a unit.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Count as a divisor, at least 1.
fn size(count: usize) -> f64 {
    real_length(count.max(1))
}
