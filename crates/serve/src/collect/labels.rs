//! Labels of samples, rendered once for all samples of a series.

/// A label name and its value.
pub type LabelPair<'a> = (&'static str, &'a str);

/// Some of the labels of a sample. A series has the same labels in many families and windows, so
/// their text in the Prometheus format is kept with them.
#[derive(Clone, Debug)]
pub struct Labels<'a> {
    pairs: Box<[LabelPair<'a>]>,
    text: String,
}

impl<'a> Labels<'a> {
    /// Renders labels.
    pub fn new(pairs: &[LabelPair<'a>]) -> Self {
        let bytes = pairs
            .iter()
            .map(|(name, value)| name.len() + value.len() + 4);
        let mut text = String::with_capacity(bytes.sum());
        for (name, value) in pairs {
            text.push_str(name);
            text.push_str("=\"");
            escape(value, &mut text);
            text.push_str("\",");
        }
        Self {
            pairs: pairs.into(),
            text,
        }
    }

    /// Names and values.
    pub fn pairs(&self) -> &[LabelPair<'a>] {
        &self.pairs
    }

    /// Labels in the Prometheus text format, each with a comma after it, without braces.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn escape(value: &str, out: &mut String) {
    if memchr::memchr3(b'\\', b'"', b'\n', value.as_bytes()).is_none() {
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
