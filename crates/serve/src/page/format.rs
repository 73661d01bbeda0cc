//! Numbers and times as the page shows them: three significant digits, with the full precision in
//! the element's value and title.

use maud::{Markup, PreEscaped, html};

use crate::api::timestamp::Timestamp;
use crate::per_cent::per_cent;
use rankgauge_core::number::{percent, real};

/// A score with three decimals.
pub(super) fn score(value: f64) -> Markup {
    exact(value, &format!("{value:.3}").replace('-', "−"))
}

/// A difference with its sign and three decimals.
pub(super) fn signed(value: f64) -> Markup {
    exact(value, &signed_text(value))
}

/// Text of a difference with its sign and three decimals.
pub(super) fn signed_text(value: f64) -> String {
    let text = format!("{value:+.3}").replace('-', "−");
    match text.as_str() {
        "+0.000" | "−0.000" => "±0.000".to_owned(),
        _ => text,
    }
}

/// Ends of an interval with three decimals; `None` if it excludes no score from 0 to 1.
pub(super) fn interval(lower: f64, upper: f64, between: &str) -> Option<Markup> {
    let excludes_some = lower.abs() >= 0.0005 || (upper - 1.0).abs() >= 0.0005;
    excludes_some.then(|| html! { (score(lower)) (between) (score(upper)) })
}

/// A quantity with three significant digits and separators of thousands.
pub(super) fn quantity(value: f64) -> Markup {
    let text = match value.abs() {
        size if size >= 1e3 => grouped(&format!("{value:.0}")),
        size if size >= 100.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.1 => format!("{value:.3}"),
        size if size >= 0.01 => format!("{value:.4}"),
        _ => format!("{value:.5}"),
    };
    exact(value, &text.replace('-', "−"))
}

/// A whole number with separators of thousands.
pub(super) fn count(value: u64) -> Markup {
    let text = grouped(&value.to_string());
    html! { data value=(value) { (text) } }
}

/// [`count`] of a `usize`.
pub(super) fn size(value: usize) -> Markup {
    count(u64::try_from(value).unwrap_or(u64::MAX))
}

/// A share in per cent.
pub(super) fn share(value: f64) -> Markup {
    let is_nearly_all = (0.995..1.0).contains(&value);
    let needs_decimal = is_nearly_all || value != 0.0 && value.abs() < 0.1;
    exact(value, &percent(value, usize::from(needs_decimal)))
}

/// A relative change in per cent, with its sign.
pub(super) fn signed_share(value: f64) -> Markup {
    exact(value, &per_cent(value))
}

/// A duration in milliseconds below ten seconds, else in seconds.
pub(super) fn duration(seconds: f64) -> Markup {
    let text = if seconds < 10.0 {
        format!("{} ms", grouped(&format!("{:.0}", seconds * 1e3)))
    } else {
        format!("{seconds:.1} s")
    };
    exact(seconds, &text)
}

/// An age in words: `12 min ago`.
pub(super) fn ago(seconds: f64) -> String {
    if seconds < 1.0 {
        "now".to_owned()
    } else {
        format!("{} ago", span(seconds))
    }
}

/// A span of time in its largest unit: `12 min`.
pub(super) fn span(seconds: f64) -> String {
    match seconds {
        span if span < 60.0 => format!("{span:.0} s"),
        span if span < 3_600.0 => format!("{:.0} min", (span / 60.0).floor()),
        span if span < 86_400.0 => format!("{:.0} h", (span / 3_600.0).floor()),
        span => format!("{:.0} d", (span / 86_400.0).floor()),
    }
}

/// An estimated number with two significant digits and separators of thousands.
pub(super) fn estimate(value: u64) -> Markup {
    let unit = 10_u64.saturating_pow(value.max(1).ilog10().saturating_sub(1));
    let rounded = (value.saturating_add(unit / 2) / unit).saturating_mul(unit);
    html! { data value=(value) title=(value) { (grouped(&rounded.to_string())) } }
}

/// A time of this or a recent day. The script shows it in the zone of the reader.
pub(super) fn time(at: impl Into<Timestamp>) -> Markup {
    let text = at.into().to_string();
    let clock = text.split_once('T').and_then(|(_, clock)| clock.get(..8));
    html! { time datetime=(text) title=(text) { (clock.unwrap_or(&text)) " UTC" } }
}

/// A time of any day.
pub(super) fn moment(at: impl Into<Timestamp>) -> Markup {
    let text = at.into().to_string();
    let shown = text.get(..19).map(|it| it.replace('T', " "));
    html! { time datetime=(text) title=(text) { (shown.as_deref().unwrap_or(&text)) " UTC" } }
}

/// Bytes in a binary unit.
pub(super) fn bytes(value: u64) -> Markup {
    let size = real(value);
    let text = match value {
        0..0x400 => format!("{value} B"),
        0x400..0x10_0000 => format!("{:.1} KiB", size / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", size / 1_048_576.0),
        _ => format!("{:.2} GiB", size / 1_073_741_824.0),
    };
    html! { data value=(value) title={ (value) " bytes" } { (text) } }
}

/// Element of a number: its text, with the number in full precision.
fn exact(value: f64, text: &str) -> Markup {
    html! { data value=(value) title=(value) { (text) } }
}

/// Digits with separators of thousands.
fn grouped(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("−", digits),
        None => ("", digits),
    };
    let mut text = sign.to_owned();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A text of data with its own direction, marked as Korean if it contains Hangul. A text in the first half
/// of Latin is neither.
pub(super) fn text(text: &str) -> Markup {
    let is_hangul = |it: char| matches!(it, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7a3}');
    html! {
        @if text.contains(is_hangul) { bdi lang="ko" { (text) } }
        @else if text.is_ascii() { (text) }
        @else { bdi { (text) } }
    }
}

/// A path segment or a value of a query string, percent-encoded.
pub(super) fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Address of a screen or of the API with parameters.
pub(super) fn address<'a>(
    path: &str,
    parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut address = path.to_owned();
    for (place, (name, value)) in parameters.into_iter().enumerate() {
        let separator = if place == 0 { "?" } else { "&" };
        address.extend([separator, name, "=", &encoded(value)]);
    }
    address
}

/// Value that does not exist. On a phone, its cell is left out.
pub(super) const ABSENT: PreEscaped<&str> = PreEscaped("<span class=\"name absent\">–</span>");

/// Name of a variant; searches without one have none.
pub(super) fn variant_name(variant: &str) -> Markup {
    html! { @if variant.is_empty() { em { "no variant" } } @else { (text(variant)) } }
}
