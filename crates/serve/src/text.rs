//! The Prometheus text format, version 0.0.4.

use std::fmt::Write as _;

use super::collect::{Labels, Sink, Value};
use rankgauge_core::engine::family::Family;

/// Content type of the output of [`Text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Sink that writes samples in the text format.
#[derive(Debug, Default)]
pub struct Text {
    out: String,
    name: String,
    /// Series written so far. A scrape with a series twice is rejected as a whole: in debug and test builds,
    /// the writer finds it.
    #[cfg(debug_assertions)]
    written: std::collections::HashSet<String>,
}

impl Text {
    /// An empty exposition with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            out: String::with_capacity(capacity),
            ..Self::default()
        }
    }

    /// The text written so far.
    pub fn into_string(self) -> String {
        self.out
    }
}

impl Sink for Text {
    fn family(&mut self, family: &Family) {
        self.name = family.full_name();
        self.out.push_str("# HELP ");
        self.out.push_str(&self.name);
        self.out.push(' ');
        // Help texts escape only backslashes and line feeds.
        self.out
            .push_str(&family.help.replace('\\', "\\\\").replace('\n', "\\n"));
        self.out.push_str("\n# TYPE ");
        self.out.push_str(&self.name);
        self.out.push(' ');
        self.out.push_str(family.kind.name());
        self.out.push('\n');
    }

    fn write(&mut self, suffix: &'static str, labels: &[&Labels<'_>], value: Value) {
        let out = &mut self.out;
        #[cfg(debug_assertions)]
        let start = out.len();
        out.push_str(&self.name);
        if !suffix.is_empty() {
            out.push_str(suffix);
        }
        out.push('{');
        for list in labels {
            out.push_str(list.text());
        }
        // The last comma, or the brace of a sample without labels.
        let is_labelled = out.pop() == Some(',');
        out.push_str(if is_labelled { "} " } else { " " });
        #[cfg(debug_assertions)]
        {
            let series = &out[start..];
            let is_new = self.written.insert(series.to_owned());
            debug_assert!(is_new, "the series {series} is exposed twice");
        }
        write_value(value, out);
        out.push('\n');
    }
}

/// Writes `value` in decimal. Exact values are written exactly.
pub fn write_value(value: Value, out: &mut String) {
    match value {
        Value::Count(count) => out.push_str(itoa::Buffer::new().format(count)),
        Value::Float(float) => write_float(float, out),
        Value::Decimal { units, decimals } => write_decimal(units, decimals, out),
    }
}

/// Writes a floating-point number with the fewest digits that identify it.
fn write_float(value: f64, out: &mut String) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format(value);
    if !value.is_finite() || text.contains('e') {
        // Writing to a string cannot fail.
        let written = write!(out, "{value}");
        debug_assert!(written.is_ok());
        return;
    }
    out.push_str(text.strip_suffix(".0").unwrap_or(text));
}

fn write_decimal(units: i128, decimals: usize, out: &mut String) {
    if units < 0 {
        out.push('-');
    }
    let magnitude = units.unsigned_abs();
    let scale = 10_u128.pow(u32::try_from(decimals).unwrap_or(0));
    // 128-bit division is slow and rarely needed.
    let (whole, mut fraction) = match (u64::try_from(magnitude), u64::try_from(scale)) {
        (Ok(magnitude), Ok(scale)) => {
            (u128::from(magnitude / scale), u128::from(magnitude % scale))
        }
        _ => (magnitude / scale, magnitude % scale),
    };
    let mut buffer = itoa::Buffer::new();
    match u64::try_from(whole) {
        Ok(whole) => out.push_str(buffer.format(whole)),
        Err(_) => out.push_str(buffer.format(whole)),
    }
    if fraction > 0 {
        // A leading digit keeps the zeros after the point.
        fraction += scale;
        let digits = match u64::try_from(fraction) {
            Ok(fraction) => buffer.format(fraction),
            Err(_) => buffer.format(fraction),
        };
        out.push('.');
        out.push_str(digits[1..].trim_end_matches('0'));
    }
}
