//! Size of a chart, and the parts of which charts are drawn.

use maud::{Markup, html};

use crate::text_layout::shorten;
use rankgauge_core::number::real_length;

/// Width of a chart. It is the width of a narrow phone, so texts keep their size there.
pub(super) const WIDTH: f64 = 360.0;

/// Height of a chart.
pub(super) const HEIGHT: f64 = 250.0;

/// Space for the y axis.
pub(super) const LEFT: f64 = 46.0;

/// Space for the x axis.
pub(super) const BOTTOM: f64 = 42.0;

/// Space at the top and on the right.
pub(super) const EDGE: f64 = 12.0;

/// Number of colours in the style sheet: `s0` to `s5`.
const COLOURS: usize = 6;

/// Number of dash patterns in the style sheet: `d0` to `d3`. It does not divide the number of
/// colours, so a repeated colour has another dash pattern.
const DASHES: usize = 4;

/// Opacity of the fullest cell. Text on it keeps a contrast above 4.5 in light and in dark mode.
pub(super) const DARKEST: f64 = 0.5;

/// Y axis from 0 to `top`, with grid lines across the chart.
pub(super) fn y_axis(label: &str, top: f64) -> Markup {
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

pub(super) fn x_mark(x: f64, label: &str) -> Markup {
    html! {
        text x=(px(x)) y=(px(HEIGHT - BOTTOM + 15.0)) text-anchor="middle" { (label) }
    }
}

/// Title of an x axis that begins at `left`, below its labels, in a chart of this `height`.
pub(super) fn x_title(label: &str, left: f64, height: f64) -> Markup {
    html! {
        text.axis x=(px(f64::midpoint(left, WIDTH - EDGE))) y=(px(height - 8.0)) text-anchor="middle" {
            (shorten(label, 36))
        }
    }
}

/// Kind of legend symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Swatch {
    Line,
    Bar,
    Point,
}

/// Legend symbol of a series.
pub(super) fn swatch(series: usize, kind: Swatch) -> Markup {
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

pub(super) fn marker(series: usize, x: f64, y: f64) -> Markup {
    markers(series, &[(x, y)])
}

/// Markers of a series, as one path.
pub(super) fn markers(series: usize, points: &[(f64, f64)]) -> Markup {
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
pub(super) fn rectangle(x: f64, y: f64, width: f64, height: f64) -> String {
    let (width, height) = (px(width), px(height));
    format!("M{} {}h{width}v{height}h-{width}z", px(x), px(y))
}

pub(super) fn path(points: &[(f64, f64)]) -> String {
    let steps = points.iter().enumerate().map(|(i, (x, y))| {
        let command = if i == 0 { 'M' } else { 'L' };
        format!("{command}{} {}", px(*x), px(*y))
    });
    steps.collect()
}

pub(super) fn colour(series: usize) -> String {
    format!("s{}", series % COLOURS)
}

pub(super) fn dash(series: usize) -> String {
    format!("d{}", series % DASHES)
}

/// Y coordinate of a value on an axis from 0 to `top`.
pub(super) fn height_of(value: f64, top: f64) -> f64 {
    let share = if top > 0.0 {
        (value / top).clamp(0.0, 1.0)
    } else {
        0.0
    };
    HEIGHT - BOTTOM - (HEIGHT - BOTTOM - EDGE) * share
}

/// Lowest end of an axis, at or above `value`, whose fifths are short numbers.
pub(super) fn round_up(value: f64) -> f64 {
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
pub(super) fn tick(value: f64, top: f64) -> String {
    if top < 5.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// Coordinate, rounded to a tenth of a unit.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Count as a divisor, at least 1.
pub(super) fn size(count: usize) -> f64 {
    real_length(count.max(1))
}
