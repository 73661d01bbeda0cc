//! Headers of a target. Values can refer to environment variables and files, and are never shown.

use std::fmt;
use std::path::PathBuf;

use super::template::split_placeholder;

/// Value of a header: text, environment variables (`{{env:NAME}}`) and files (`{{file:PATH}}`).
/// `Debug` masks it.
#[derive(Clone, PartialEq, Eq)]
pub struct HeaderText(Vec<HeaderPart>);

/// Part of a header value.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum HeaderPart {
    Text(String),
    /// Value of an environment variable.
    Variable(String),
    /// Content of a file, without white space at its ends.
    File(PathBuf),
}

impl HeaderText {
    /// Parts in their order.
    pub(super) fn parts(&self) -> &[HeaderPart] {
        &self.0
    }

    /// Parses the value of the header `name`.
    ///
    /// # Errors
    /// A problem, without the value: it may be a secret.
    pub fn new(name: &str, value: &str) -> Result<Self, String> {
        if name.parse::<http::HeaderName>().is_err() {
            return Err("is not the name of a header".to_owned());
        }
        if RESERVED.iter().any(|it| name.eq_ignore_ascii_case(it)) {
            return Err("cannot be set; the client sets it".to_owned());
        }
        let value = Self::parse(value)?;
        if http::HeaderValue::from_str(&value.text()).is_err() {
            return Err("is not the value of a header; use visible ASCII".to_owned());
        }
        Ok(value)
    }

    /// The text parts, without references.
    pub fn text(&self) -> String {
        let texts = self.0.iter().filter_map(|part| match part {
            HeaderPart::Text(text) => Some(text.as_str()),
            HeaderPart::Variable(_) | HeaderPart::File(_) => None,
        });
        texts.collect()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let (before, after) = split_placeholder(rest)?;
            if !before.is_empty() {
                parts.push(HeaderPart::Text(before.to_owned()));
            }
            let Some((name, tail)) = after else {
                return Ok(Self(parts));
            };
            parts.push(match name.split_once(':') {
                Some(("env", name)) if !name.is_empty() => HeaderPart::Variable(name.to_owned()),
                Some(("file", path)) if !path.is_empty() => HeaderPart::File(PathBuf::from(path)),
                _ => {
                    return Err(
                        "has an unknown placeholder; write {{env:NAME}} or {{file:PATH}}"
                            .to_owned(),
                    );
                }
            });
            rest = tail;
        }
    }
}

impl fmt::Debug for HeaderText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Headers that the client sets itself.
const RESERVED: [&str; 5] = [
    "connection",
    "content-length",
    "host",
    "transfer-encoding",
    "upgrade",
];
