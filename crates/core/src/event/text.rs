//! Texts, identifiers and attributes, borrowed from their record.

use std::borrow::Cow;

/// Text of a record, borrowed from it unless it contains escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<'a>(pub Cow<'a, str>);

/// Identifier: a string, or an integer in its decimal form.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id<'a>(pub Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::ops::Deref for Id<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// Flat map of names to values, in the order of the record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes<'a>(pub Vec<(Text<'a>, Value<'a>)>);

/// Value that can become a label or a facet.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Text value.
    Text(Text<'a>),
    /// Numeric value.
    Number(f64),
    /// Boolean value.
    Bool(bool),
    /// Array, object or null, none of which can be a label.
    Other,
}

impl Attributes<'_> {
    /// Returns the value under `name` as label text, numbers in their shortest decimal form.
    pub fn label(&self, name: &str) -> Option<Cow<'_, str>> {
        let (_, value) = self.0.iter().find(|(key, _)| is_name(key, name))?;
        match value {
            Value::Text(text) => Some(Cow::Borrowed(text)),
            Value::Number(number) => Some(Cow::Owned(number.to_string())),
            Value::Bool(true) => Some(Cow::Borrowed("true")),
            Value::Bool(false) => Some(Cow::Borrowed("false")),
            Value::Other => None,
        }
    }
}

/// Returns true if a name is the one that is looked for. Names of equal length mostly differ in their
/// first byte, and then need no further comparison.
fn is_name(found: &str, wanted: &str) -> bool {
    found.as_bytes().first() == wanted.as_bytes().first() && found == wanted
}
