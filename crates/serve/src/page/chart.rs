//! Charts as inline SVG: sparklines, intervals and stacked bars. Each has a text alternative.

use maud::{Markup, html};

use crate::api::timestamp::Timestamp;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::number::{real, real_length};

/// Size of a sparkline.
const SPARK: (f64, f64) = (60.0, 20.0);

/// Mark between two points of a chart, drawn as a vertical line.
pub(super) struct Mark {
    /// Number of points before the mark.
    pub(super) points_before: usize,
    pub(super) text: String,
}

impl Mark {
    /// Position of the mark as a number of points: in the middle between two of them, or at the last.
    fn place(&self, points: usize) -> f64 {
        (real_length(self.points_before) - 0.5).min(real_length(points.saturating_sub(1)))
    }
}

/// Text of the marks, to be added to that of a chart.
fn with_marks(mut text: String, marks: &[Mark]) -> String {
    for mark in marks {
        text.extend(["; ", mark.text.as_str()]);
    }
    text
}

/// A line of means, oldest first, on the scale of the means beside it. Gaps stay open. `reference` is drawn
/// as a dashed line.
pub(super) fn sparkline(
    title: &str,
    (means, scale): (&[Option<f64>], [f64; 2]),
    reference: Option<f64>,
    marks: &[Mark],
) -> Markup {
    let known: Vec<f64> = means.iter().flatten().copied().collect();
    if known.len() < 2 {
        return html! { span.spark {} };
    }
    let (width, height) = SPARK;
    let lowest = known.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let ends = known.iter().copied().chain(reference);
    let [bottom, top] = ends.fold(scale, |[low, high], it| [low.min(it), high.max(it)]);
    // A flat line is not magnified to noise.
    let range = (top - bottom).max(0.02);
    let middle = f64::midpoint(bottom, top);
    let y = |value: f64| height / 2.0 - (value - middle) / range * (height - 6.0);
    let last = real_length(means.len().saturating_sub(1).max(1));
    let at = |place: f64| 2.0 + place / last * (width - 5.0);
    let x = |place: usize| at(real_length(place));
    let mut path = String::new();
    let mut is_open = false;
    let mut end = None;
    for (place, mean) in means.iter().enumerate() {
        if let Some(mean) = mean {
            let command = if is_open { 'L' } else { 'M' };
            path.extend([
                command.to_string(),
                format!("{:.1} {:.1}", x(place), y(*mean)),
            ]);
            end = Some((x(place), y(*mean)));
        }
        is_open = mean.is_some();
    }
    let first = known.first().copied().unwrap_or_default();
    let now = known.last().copied().unwrap_or_default();
    let text =
        format!("{title}: from {first:.3} to {now:.3}, lowest {lowest:.3}, highest {highest:.3}");
    let text = with_marks(text, marks);
    html! {
        svg.spark role="img" aria-label=(text) viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) {
            title { (text) }
            @if let Some(reference) = reference {
                line.reference x1="2" x2=(width - 3.0) y1=(rounded(y(reference))) y2=(rounded(y(reference))) {}
            }
            @for mark in marks {
                @let x = rounded(at(mark.place(means.len())));
                line.mark x1=(x) x2=(x) y1="0" y2=(height) {}
            }
            path.line d=(path) {}
            @if let Some((x, y)) = end {
                circle.end cx=(rounded(x)) cy=(rounded(y)) r="2" {}
            }
        }
    }
}

/// Size of the chart of an incident, and the space for its axes.
const HISTORY: (f64, f64) = (320.0, 150.0);
const LEFT: f64 = 40.0;
const BELOW: f64 = 18.0;
const ABOVE: f64 = 12.0;

/// Course of a measure with its axis, the reference from before as a dashed line, and named marks.
pub(super) fn history(
    title: &str,
    (means, times): (&[Option<f64>], &[Timestamp]),
    reference: Option<f64>,
    (marks, direction): (&[Mark], Direction),
) -> Markup {
    let known: Vec<f64> = means.iter().flatten().copied().collect();
    if known.len() < 2 {
        return html! {};
    }
    let (width, height) = HISTORY;
    let ends = known.iter().copied().chain(reference);
    let [low, high] = ends.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], it| {
        [low.min(it), high.max(it)]
    });
    let margin = ((high - low) * 0.1).max(0.02);
    let [low, high] = [low - margin, high + margin];
    let y = |value: f64| ABOVE + (high - value) / (high - low) * (height - ABOVE - BELOW);
    let last = real_length(means.len().saturating_sub(1).max(1));
    let at = |place: f64| LEFT + place / last * (width - LEFT - 4.0);
    let mut path = String::new();
    let mut is_open = false;
    for (place, mean) in means.iter().enumerate() {
        if let Some(mean) = mean {
            let command = if is_open { 'L' } else { 'M' };
            let point = format!("{:.1} {:.1}", at(real_length(place)), y(*mean));
            path.extend([command.to_string(), point]);
        }
        is_open = mean.is_some();
    }
    let now = known.last().copied().unwrap_or_default();
    let better = match direction {
        Direction::Down => "lower is better",
        Direction::Up | Direction::Neither => "higher is better",
    };
    let before = reference
        .map(|it| format!(", before {it:.3}"))
        .unwrap_or_default();
    let text = with_marks(format!("{title}: now {now:.3}{before}; {better}"), marks);
    let length = times.first().zip(times.last());
    let length = length.map(|(first, last)| match last.0.since(first.0).0 / 60_000 {
        minutes @ ..180 => format!("{minutes} min"),
        minutes @ ..2_880 => format!("{} h", minutes / 60),
        minutes => format!("{} d", minutes / 1_440),
    });
    html! {
        svg.history role="img" aria-label=(text) viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) {
            title { (text) }
            @for value in [low + margin, f64::midpoint(low, high), high - margin] {
                line.grid x1=(LEFT) x2=(width) y1=(rounded(y(value))) y2=(rounded(y(value))) {}
                text x=(LEFT - 4.0) y=(rounded(y(value) + 4.0)) text-anchor="end" { (format!("{value:.2}")) }
            }
            @if let Some(length) = length { text x=(LEFT) y=(height - 4.0) { "−" (length) } }
            text x=(width) y=(height - 4.0) text-anchor="end" { "now" }
            @if let Some(reference) = reference {
                line.reference x1=(LEFT) x2=(width) y1=(rounded(y(reference))) y2=(rounded(y(reference))) { title { "before" } }
            }
            @for mark in marks {
                @let x = at(mark.place(means.len()));
                line.mark x1=(rounded(x)) x2=(rounded(x)) y1=(ABOVE) y2=(height - BELOW) { title { (mark.text) } }
            }
            path.line d=(path) {}
        }
    }
}

/// Scores of single searches as dots, oldest first, on the scale from 0 to 1, with the baseline.
pub(super) fn dots(title: &str, scores: &[f64], baseline: Option<f64>, marks: &[Mark]) -> Markup {
    let (width, height) = (240.0, 48.0);
    let y = |value: f64| height - 4.0 - value.clamp(0.0, 1.0) * (height - 8.0);
    let step = (width - 12.0) / real_length(scores.len().saturating_sub(1).max(1));
    let last = scores.last().copied().unwrap_or_default();
    let text = format!(
        "{title}: last {} searches, the newest {last:.3}",
        scores.len()
    );
    let text = with_marks(text, marks);
    html! {
        svg.dots role="img" aria-label=(text) viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) {
            title { (text) }
            @for at in [0.0, 0.5, 1.0] {
                line.grid x1="0" x2=(width) y1=(rounded(y(at))) y2=(rounded(y(at))) {}
            }
            @if let Some(baseline) = baseline {
                line.reference x1="0" x2=(width) y1=(rounded(y(baseline))) y2=(rounded(y(baseline))) {}
            }
            @for mark in marks {
                @let x = rounded(6.0 + mark.place(scores.len()) * step);
                line.mark x1=(x) x2=(x) y1="0" y2=(height) { title { (mark.text) } }
            }
            @for (place, score) in scores.iter().enumerate() {
                circle.end cx=(rounded(6.0 + real_length(place) * step)) cy=(rounded(y(*score))) r="2.5" {}
            }
        }
    }
}

/// A difference with its interval around zero, on a scale from `-reach` to `reach`.
pub(super) fn interval(title: &str, estimate: f64, [lower, upper]: [f64; 2], reach: f64) -> Markup {
    let (width, height) = (104.0, 18.0);
    let x =
        |value: f64| width / 2.0 + (value / reach.max(1e-9)).clamp(-1.0, 1.0) * (width / 2.0 - 4.0);
    let text = format!("{title}: {estimate:+.3}, from {lower:+.3} to {upper:+.3}");
    html! {
        svg.interval role="img" aria-label=(text) viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) {
            title { (text) }
            line.grid x1=(width / 2.0) x2=(width / 2.0) y1="0" y2=(height) {}
            line.line x1=(rounded(x(lower))) x2=(rounded(x(upper))) y1="9" y2="9" {}
            @for end in [lower, upper] {
                line.line x1=(rounded(x(end))) x2=(rounded(x(end))) y1="5" y2="13" {}
            }
            circle.end cx=(rounded(x(estimate))) cy="9" r="3.5" {}
        }
    }
}

/// Part of a stacked bar: its name, its size and its class.
pub(super) type Part<'a> = (&'a str, u64, &'static str);

/// A bar of parts, drawn in proportion. Non-zero parts are at least a pixel wide.
pub(super) fn stacked(title: &str, parts: &[Part<'_>]) -> Markup {
    let (width, height) = (720.0, 20.0);
    let total: u64 = parts.iter().map(|(_, size, _)| size).sum();
    let mut start = 0.0;
    let mut bars = Vec::new();
    for (name, size, class) in parts.iter().filter(|(_, size, _)| *size > 0) {
        let wide = (real(*size) / real(total.max(1)) * width).max(1.5);
        bars.push((*name, *class, start, wide));
        start += wide;
    }
    let scale = width / start.max(1.0);
    html! {
        svg.stacked role="img" aria-label=(title) viewBox={ "0 0 " (width) " " (height) } preserveAspectRatio="none" {
            title { (title) }
            rect.empty x="0" y="0" width=(width) height=(height) {}
            @for (name, class, start, wide) in bars {
                rect class=(class) x=(rounded(start * scale)) y="0" width=(rounded(wide * scale)) height=(height) {
                    title { (name) }
                }
            }
        }
    }
}

/// A position with one decimal.
fn rounded(value: f64) -> String {
    format!("{value:.1}")
}
