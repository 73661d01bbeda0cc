//! Queries in the plane of recall and precision, as discs whose size shows their number, with the
//! mean curve.

use maud::{Markup, html};

use super::drawing::{EDGE, HEIGHT, LEFT, WIDTH, height_of, path, px, x_mark, x_title, y_axis};
use crate::report::ratios::ratio;

/// Points from 0 to 1 on both axes, with their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Plane {
    /// Recall, precision and number of each point.
    pub(crate) points: Vec<(f64, f64, u64)>,
    /// Mean curve as (recall, precision), recall ascending.
    pub(crate) curve: Vec<(f64, f64)>,
}

/// Space between the y axis and recall 0, so that discs do not cover the labels.
const INSET: f64 = 8.0;
/// Diameters of the discs. Their areas are proportional to the share of the largest number.
const DIAMETERS: [f64; 4] = [3.0, 6.0, 9.0, 12.0];

impl Plane {
    pub(super) fn draw(&self) -> Markup {
        let place = |(x, y): (f64, f64)| {
            (
                LEFT + INSET + (WIDTH - LEFT - INSET - EDGE) * x.clamp(0.0, 1.0),
                height_of(y, 1.0),
            )
        };
        let most = self.points.iter().map(|(.., n)| *n).max().unwrap_or(0);
        // One path for each size: a chart of hundreds of points stays small.
        let size = |n: u64| {
            let share = ratio(n, most).sqrt();
            let larger = DIAMETERS
                .iter()
                .position(|diameter| diameter / DIAMETERS[3] >= share - 1e-9);
            larger.unwrap_or(DIAMETERS.len() - 1)
        };
        let discs = |wanted: usize| -> String {
            let points = self.points.iter().filter(|(.., n)| size(*n) == wanted);
            let moves = points.map(|(recall, precision, _)| {
                let (x, y) = place((*recall, *precision));
                format!("M{} {}h0", px(x), px(y))
            });
            moves.collect::<Vec<_>>().concat()
        };
        let curve: Vec<(f64, f64)> = self.curve.iter().map(|point| place(*point)).collect();
        html! {
            (y_axis("precision", 1.0))
            @for mark in 0..=5_u32 {
                @let recall = f64::from(mark) / 5.0;
                (x_mark(place((recall, 0.0)).0, &format!("{recall:.1}")))
            }
            (x_title("recall", LEFT, HEIGHT))
            g.s0 {
                @for (number, diameter) in DIAMETERS.iter().enumerate() {
                    @let discs = discs(number);
                    @if !discs.is_empty() { path.discs stroke-width=(px(*diameter)) d=(discs) {} }
                }
            }
            @if curve.len() > 1 { g.s1 { path.line d=(path(&curve)) {} } }
        }
    }
}
