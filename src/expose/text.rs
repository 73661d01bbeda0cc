//! The Prometheus text format, version 0.0.4.

use std::fmt::Write as _;

use super::collect::{LabelPair, Sink, Value};
use rankgauge_core::engine::family::Family;

/// Content type of the output of [`Text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Sink that writes samples in the text format.
#[derive(Debug, Default)]
pub struct Text {
    out: String,
    name: String,
}

impl Text {
    /// An empty exposition with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            out: String::with_capacity(capacity),
            name: String::new(),
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

    fn sample(&mut self, suffix: &'static str, labels: &[LabelPair<'_>], value: Value) {
        self.out.push_str(&self.name);
        self.out.push_str(suffix);
        let mut opening = '{';
        for (name, value) in labels {
            self.out.push(opening);
            self.out.push_str(name);
            self.out.push_str("=\"");
            escape(value, &mut self.out);
            self.out.push('"');
            opening = ',';
        }
        if !labels.is_empty() {
            self.out.push('}');
        }
        self.out.push(' ');
        write_value(value, &mut self.out);
        self.out.push('\n');
    }
}

fn escape(value: &str, out: &mut String) {
    if !value
        .bytes()
        .any(|byte| matches!(byte, b'\\' | b'"' | b'\n'))
    {
        out.push_str(value);
        return;
    }
    for character in value.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
}

/// Writes `value` in decimal. Exact values are written exactly.
pub fn write_value(value: Value, out: &mut String) {
    // Writing to a string cannot fail.
    let written = match value {
        Value::Count(count) => write!(out, "{count}"),
        Value::Float(float) => write!(out, "{float}"),
        Value::Decimal { units, decimals } => {
            write_decimal(units, decimals, out);
            Ok(())
        }
    };
    debug_assert!(written.is_ok());
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
    let mut written = write!(out, "{whole}");
    if fraction > 0 {
        let mut width = decimals;
        while fraction % 10 == 0 {
            fraction /= 10;
            width -= 1;
        }
        written = written.and_then(|()| write!(out, ".{fraction:0width$}"));
    }
    debug_assert!(written.is_ok());
}
