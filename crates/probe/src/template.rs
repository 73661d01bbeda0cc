//! Templates of requests: text with placeholders such as `{{query}}`.
//!
//! A value is escaped for the place of its placeholder: percent-encoded in a URL or a form, as part
//! of a string inside quotes of JSON, as a whole value elsewhere in JSON. A template is pure: it
//! must not know where values come from.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters of a value that stay as they are in a URL (RFC 3986, 2.3).
const VALUE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Characters of the text of a URL that a URL cannot contain.
const URL_TEXT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Format of the text around the placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    Url,
    /// One or more JSON documents.
    Json,
    /// Form (`application/x-www-form-urlencoded`).
    Form,
    /// Plain text; values are not escaped.
    Text,
}

/// Escaping of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    None,
    Percent,
    /// Inside the quotes of a JSON string.
    JsonString,
    /// A whole JSON value.
    JsonValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Placeholder { name: String, escape: Escape },
}

/// Value of a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplateValue<'a> {
    Text(Cow<'a, str>),
    /// Whole number, which needs no quotes in JSON.
    Number(usize),
}

/// Text with placeholders.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

impl fmt::Debug for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(&self.parts).finish()
    }
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// A description of the first placeholder that is not closed or has no name.
    pub(super) fn parse(text: &str, context: Context) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut json = JsonScanner::default();
        let mut rest = text;
        loop {
            let (before, after) = split_placeholder(rest)?;
            if !before.is_empty() {
                json.scan(before);
                let text = match context {
                    Context::Url => utf8_percent_encode(before, URL_TEXT).to_string(),
                    Context::Json | Context::Form | Context::Text => before.to_owned(),
                };
                parts.push(Part::Text(text));
            }
            let Some((name, tail)) = after else {
                return Ok(Self { parts });
            };
            let escape = match context {
                Context::Url | Context::Form => Escape::Percent,
                Context::Text => Escape::None,
                Context::Json if json.is_in_string => Escape::JsonString,
                Context::Json => Escape::JsonValue,
            };
            let name = name.to_owned();
            parts.push(Part::Placeholder { name, escape });
            rest = tail;
        }
    }

    /// Names of the placeholders, in the order of the text.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Placeholder { name, .. } => Some(name.as_str()),
        })
    }

    /// Text before the first placeholder.
    pub(super) fn beginning(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            Some(Part::Placeholder { .. }) | None => "",
        }
    }

    /// Text with the escaped values. A placeholder without a value is empty, or `null` as a whole
    /// JSON value.
    pub(super) fn render<'v>(&self, value: impl Fn(&str) -> Option<TemplateValue<'v>>) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(fixed) => text.push_str(fixed),
                Part::Placeholder { name, escape } => {
                    text.push_str(&escape.apply(value(name)));
                }
            }
        }
        text
    }
}

impl Escape {
    fn apply(self, value: Option<TemplateValue<'_>>) -> String {
        let text = match value {
            None if self == Self::JsonValue => return "null".to_owned(),
            None => return String::new(),
            Some(TemplateValue::Number(number)) => return number.to_string(),
            Some(TemplateValue::Text(text)) => text,
        };
        match self {
            Self::None => text.into_owned(),
            Self::Percent => utf8_percent_encode(&text, VALUE).to_string(),
            Self::JsonValue => serde_json::Value::from(text).to_string(),
            Self::JsonString => {
                let quoted = serde_json::Value::from(text).to_string();
                let inside = quoted.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
                inside.unwrap_or_default().to_owned()
            }
        }
    }
}

/// A placeholder's name, and the text after it.
type Placeholder<'a> = (&'a str, &'a str);

/// Returns true if a valid placeholder is in `text`.
pub(super) fn has_placeholder(text: &str) -> bool {
    split_placeholder(text).is_ok_and(|it| it.1.is_some())
}

/// Splits at the first placeholder: the text before it, its name, and the text after it. Two braces
/// that begin no placeholder are text, because JSON ends with several braces.
pub(super) fn split_placeholder(text: &str) -> Result<(&str, Option<Placeholder<'_>>), String> {
    let mut from = 0;
    while let Some(at) = text[from..].find("{{") {
        let at = from + at;
        let inside = &text[at + 2..];
        let starts_name = inside
            .trim_start_matches(' ')
            .starts_with(|c: char| c.is_alphabetic());
        if !starts_name {
            from = at + 1;
            continue;
        }
        let Some(end) = inside.find("}}") else {
            return Err(format!(
                "has a placeholder that is not closed: \"{}\"; write {{{{query}}}}",
                inside.chars().take(20).collect::<String>()
            ));
        };
        let name = inside[..end].trim();
        if name.contains(['{', '"', '\n']) {
            return Err(format!(
                "has a placeholder with a wrong name: \"{name}\"; write {{{{query}}}}"
            ));
        }
        return Ok((&text[..at], Some((name, &inside[end + 2..]))));
    }
    Ok((text, None))
}

/// Scanner of JSON text that follows strings.
#[derive(Debug, Default)]
struct JsonScanner {
    is_in_string: bool,
    is_escaped: bool,
}

impl JsonScanner {
    fn scan(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' if self.is_in_string => self.is_escaped = true,
                '"' => self.is_in_string = !self.is_in_string,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str, context: Context, query: &str) -> String {
        let template = Template::parse(text, context).expect("a template");
        template.render(|name| match name {
            "query" => Some(TemplateValue::Text(query.into())),
            "size" => Some(TemplateValue::Number(10)),
            _ => None,
        })
    }

    #[test]
    fn a_value_is_percent_encoded_in_a_url() {
        let url = render(
            "http://a/s?q={{query}}&n={{ size }}",
            Context::Url,
            "용도 & #1+2=3%",
        );
        assert_eq!(
            url,
            "http://a/s?q=%EC%9A%A9%EB%8F%84%20%26%20%231%2B2%3D3%25&n=10"
        );
        let path = render("http://a/{{query}}/b c", Context::Url, "../x?y");
        assert_eq!(path, "http://a/..%2Fx%3Fy/b%20c");
    }

    #[test]
    fn a_value_is_escaped_inside_and_outside_of_json_strings() {
        let body = r#"{"a": "x {{query}}", "b": {{query}}, "n": {{size}}, "none": {{other}}, "e": "\"{{query}}"}"#;
        let query = "say \"hi\"\\\n\u{1}";
        let text = render(body, Context::Json, query);
        let parsed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(parsed["a"], format!("x {query}"));
        assert_eq!(parsed["b"], query);
        assert_eq!(parsed["n"], 10);
        assert_eq!(parsed["none"], serde_json::Value::Null);
        assert_eq!(parsed["e"], format!("\"{query}"));
    }

    #[test]
    fn braces_of_json_are_not_placeholders() {
        let body = r#"{"a":{"b":{"c":"{{query}}"}}}"#;
        assert_eq!(render(body, Context::Json, "x"), r#"{"a":{"b":{"c":"x"}}}"#);
        assert_eq!(render(r#"[{{"a"}}]"#, Context::Json, "x"), r#"[{{"a"}}]"#);
    }

    #[test]
    fn a_placeholder_that_is_not_closed_is_an_error() {
        for text in ["{{query", "{{query}", "a {{query\" }"] {
            assert!(Template::parse(text, Context::Json).is_err(), "{text}");
        }
    }
}
