//! Differences of single queries, sorted, as bars around zero.

use maud::{Markup, html};

use super::drawing::{BOTTOM, EDGE, HEIGHT, LEFT, WIDTH, px, rectangle, size, x_title};
use rankgauge_core::number::real_length;

/// Sorted differences of queries, from -1 to 1.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    /// Label of the x axis.
    pub(crate) x_label: String,
    /// Label of the y axis.
    pub(crate) y_label: String,
    /// Differences, highest first.
    pub(crate) values: Vec<f64>,
}

/// Maximum number of bars.
const MAX_BARS: usize = 300;

impl Changes {
    pub(super) fn draw(&self) -> Markup {
        let largest = self.values.iter().map(|value| value.abs());
        let largest = largest.fold(0.0_f64, f64::max);
        // Half of a step has two decimals at most.
        let steps = [0.1, 0.2, 0.5, 1.0];
        let end = steps.into_iter().find(|end| *end >= largest);
        let end = end.unwrap_or_else(|| largest.max(1e-9).ceil());
        let place = |value: f64| {
            let middle = f64::midpoint(EDGE, HEIGHT - BOTTOM);
            middle - (HEIGHT - BOTTOM - EDGE) / 2.0 * (value / end).clamp(-1.0, 1.0)
        };
        // Bars narrower than a pixel are not seen: every n-th value is drawn.
        let step = self.values.len().div_ceil(MAX_BARS).max(1);
        let values: Vec<f64> = self.values.iter().copied().step_by(step).collect();
        let width = (WIDTH - LEFT - EDGE) / size(values.len());
        let bar = (width * 0.84).min(18.0);
        let bars = |is_drawn: fn(f64) -> bool| -> String {
            let drawn = values.iter().enumerate();
            let drawn = drawn.filter(|(_, value)| is_drawn(**value));
            drawn
                .map(|(i, value)| {
                    let (top, bottom) = (place(value.max(0.0)), place(value.min(0.0)));
                    let x = LEFT + width * real_length(i) + (width - bar) / 2.0;
                    rectangle(x, top, bar, (bottom - top).max(0.5))
                })
                .collect()
        };
        html! {
            @for mark in [-1.0, -0.5, 0.0, 0.5, 1.0] {
                @let y = place(end * mark);
                line.grid x1=(px(LEFT)) x2=(px(WIDTH - EDGE)) y1=(px(y)) y2=(px(y)) {}
                text x=(px(LEFT - 5.0)) y=(px(y + 4.0)) text-anchor="end" {
                    (label(end * mark))
                }
            }
            text.axis text-anchor="middle" transform={
                "translate(12 " (px(place(0.0))) ") rotate(-90)"
            } { (self.y_label) }
            path.gain d=(bars(|value| value >= 0.0)) {}
            path.loss d=(bars(|value| value < 0.0)) {}
            line.zero x1=(px(LEFT)) x2=(px(WIDTH - EDGE)) y1=(px(place(0.0))) y2=(px(place(0.0))) {}
            (x_title(&self.x_label, LEFT, HEIGHT - 14.0))
        }
    }
}

/// Label of a mark.
fn label(value: f64) -> String {
    let text = format!("{value:+.3}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "+0" | "-0" => "0".to_owned(),
        short => short.to_owned(),
    }
}
