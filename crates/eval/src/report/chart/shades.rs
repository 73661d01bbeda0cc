//! Scores in a table whose cells are shaded: one row for each slice value, one column for each run.

use maud::{Markup, html};

use super::drawing::{DARKEST, WIDTH, px, rectangle, size};
use crate::text_layout::shorten_to_width;
use rankgauge_core::number::real_length;

/// Scores from 0 to 1 by row and column.
#[derive(Clone, Debug)]
pub(crate) struct Shades {
    /// Names of the columns.
    pub(crate) columns: Vec<String>,
    /// Name of each row, with one score for each column; `None` if it has none.
    pub(crate) rows: Vec<(String, Vec<Option<f64>>)>,
}

/// Space for the row names.
const NAMES: f64 = 104.0;
/// Space for the column names.
const ABOVE: f64 = 20.0;
/// Space for slanted column names.
const SLANTED: f64 = 72.0;
/// Space for the end of the last slanted column name.
const BESIDE: f64 = 46.0;
/// Height of a row.
const ROW: f64 = 24.0;
/// Width of a character of a column name.
const LETTER: f64 = 7.5;
/// Maximum width of a row name, in columns of text.
const NAME: usize = 13;
/// Maximum width of a slanted column name, in columns of text.
const SLANTED_NAME: usize = 11;

impl Shades {
    fn cell(&self) -> f64 {
        self.width_of(if self.is_slanted() { BESIDE } else { 0.0 })
    }

    /// Width of a cell if this space is free on the right.
    fn width_of(&self, free: f64) -> f64 {
        ((WIDTH - NAMES - 4.0 - free) / size(self.columns.len())).min(90.0)
    }

    fn is_slanted(&self) -> bool {
        let widest = self.columns.iter().map(|it| it.chars().count()).max();
        real_length(widest.unwrap_or(0)) * LETTER > self.width_of(0.0)
    }

    fn above(&self) -> f64 {
        if self.is_slanted() { SLANTED } else { ABOVE }
    }

    pub(super) fn height(&self) -> f64 {
        self.above() + ROW * real_length(self.rows.len()) + 4.0
    }

    pub(super) fn draw(&self) -> Markup {
        let (cell, above, is_slanted) = (self.cell(), self.above(), self.is_slanted());
        html! {
            @for (j, name) in self.columns.iter().enumerate() {
                @let x = NAMES + cell * (real_length(j) + 0.5);
                @if is_slanted {
                    text transform={
                        "translate(" (px(x - 4.0)) " " (px(above - 6.0)) ") rotate(-40)"
                    } { (shorten_to_width(name, SLANTED_NAME)) }
                } @else {
                    text x=(px(x)) y=(px(above - 6.0)) text-anchor="middle" { (name) }
                }
            }
            @for (i, (name, scores)) in self.rows.iter().enumerate() {
                @let y = above + ROW * real_length(i);
                text x=(px(NAMES - 6.0)) y=(px(y + ROW / 2.0 + 4.0)) text-anchor="end" {
                    (shorten_to_width(name, NAME))
                }
                @for (j, score) in scores.iter().enumerate() {
                    @let x = NAMES + cell * real_length(j);
                    @if let Some(score) = score {
                        path.cell d=(rectangle(x + 1.0, y + 1.0, cell - 2.0, ROW - 2.0))
                            fill-opacity=(format!("{:.2}", DARKEST * score.clamp(0.0, 1.0))) {}
                    }
                    text x=(px(x + cell / 2.0)) y=(px(y + ROW / 2.0 + 4.0)) text-anchor="middle" {
                        (score.map_or_else(|| "–".to_owned(), short))
                    }
                }
            }
        }
    }
}

/// Score with two decimals, without the leading zero: `.87`.
fn short(score: f64) -> String {
    let text = format!("{score:.2}");
    text.strip_prefix('0').map_or(text.clone(), str::to_owned)
}
