//! Points in a plane, some of them joined by a line: cost against quality with its Pareto front.

use maud::{Markup, html};

use super::drawing::{
    EDGE, HEIGHT, LEFT, WIDTH, colour, height_of, marker, px, tick, x_mark, x_title, y_axis,
};

/// Points of series, and the front of the best ones.
#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    /// Label of the x axis, which begins at 0.
    pub(crate) x_label: String,
    /// Label of the y axis, from 0 to 1.
    pub(crate) y_label: String,
    pub(crate) points: Vec<ScatterPoint>,
}

#[derive(Clone, Debug)]
pub(crate) struct ScatterPoint {
    /// Name of the point.
    pub(crate) name: String,
    /// Position.
    pub(crate) at: (f64, f64),
    /// True if the point is on the front.
    pub(crate) is_front: bool,
}

/// Space for half of the last label of the x axis.
const LAST: f64 = 14.0;

/// Number of marks of the x axis, besides 0.
const MARKS: u32 = 4;

impl Scatter {
    pub(super) fn names(&self) -> Vec<&str> {
        self.points
            .iter()
            .map(|point| point.name.as_str())
            .collect()
    }

    pub(super) fn draw(&self) -> Markup {
        let highest = self.points.iter().map(|point| point.at.0);
        let end = round_up(highest.fold(0.0, f64::max));
        let place = |x: f64| LEFT + (WIDTH - LEFT - EDGE - LAST) * (x / end).clamp(0.0, 1.0);
        let mut front: Vec<(f64, f64)> = self
            .points
            .iter()
            .filter(|point| point.is_front)
            .map(|point| (place(point.at.0), height_of(point.at.1, 1.0)))
            .collect();
        front.sort_by(|a, b| a.0.total_cmp(&b.0));
        html! {
            (y_axis(&self.y_label, 1.0))
            @for mark in 0..=MARKS {
                @let x = end * f64::from(mark) / f64::from(MARKS);
                (x_mark(place(x), &mark_text(x, end)))
            }
            (x_title(&self.x_label, LEFT, HEIGHT))
            @if front.len() > 1 { path.front d=(steps(&front)) {} }
            @for (i, point) in self.points.iter().enumerate() {
                @let (x, y) = (place(point.at.0), height_of(point.at.1, 1.0));
                g class={ (colour(i)) } {
                    @if point.is_front {
                        circle.halo cx=(px(x)) cy=(px(y)) r="7.5" {}
                    }
                    (marker(i, x, y))
                }
            }
        }
    }
}

/// Steps through points from left to right: the best quality for at most the expense.
fn steps(points: &[(f64, f64)]) -> String {
    let steps = points.iter().enumerate().map(|(number, (x, y))| {
        if number == 0 {
            format!("M{} {}", px(*x), px(*y))
        } else {
            format!("H{}V{}", px(*x), px(*y))
        }
    });
    steps.collect()
}

/// Lowest end of an axis, at or above `value`, that is 1, 2, 4, 5 or 8 times a power of ten.
fn round_up(value: f64) -> f64 {
    if !(value > 0.0 && value.is_finite()) {
        return 1.0;
    }
    let power = 10.0_f64.powf(value.log10().floor());
    let ends = [1.0, 2.0, 4.0, 5.0, 8.0, 10.0].map(|times| times * power);
    ends.into_iter()
        .find(|end| *end >= value)
        .unwrap_or(10.0 * power)
}

/// Label of a mark on an axis to `end`, with as many decimals as its steps need.
fn mark_text(value: f64, end: f64) -> String {
    if end >= 20.0 {
        return tick(value, end);
    }
    let decimals = (2.0 - end.log10().floor()).clamp(0.0, 9.0);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 0 to 9"
    )]
    let decimals = decimals as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
