//! Headers of a target. Values can refer to environment variables and files, and are never shown.

use std::fmt;
use std::path::PathBuf;

use super::super::reader::Reader;
use super::template::split_placeholder;

/// Value of a header: text, environment variables (`{{env:NAME}}`) and files (`{{file:PATH}}`).
/// `Debug` masks it.
#[derive(Clone, PartialEq, Eq)]
pub struct HeaderValue(Vec<HeaderPart>);

/// Part of a header value.
#[derive(Clone, PartialEq, Eq)]
pub enum HeaderPart {
    /// Text.
    Text(String),
    /// Value of an environment variable.
    Variable(String),
    /// Content of a file, without white space at its ends.
    File(PathBuf),
}

impl HeaderValue {
    /// Parts in their order.
    pub fn parts(&self) -> &[HeaderPart] {
        &self.0
    }

    /// The text parts.
    pub(super) fn text(&self) -> String {
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

impl fmt::Debug for HeaderValue {
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

/// The headers at `path`; `None` if one of them cannot be used.
pub(super) fn read(reader: &mut Reader, path: &str) -> Option<Vec<(String, HeaderValue)>> {
    let mut headers = Vec::new();
    let mut is_valid = true;
    for name in reader.names(path) {
        let key = format!("{path}.{name}");
        let value = reader.scalar(&key);
        // A message must not repeat the value: it may be a secret.
        let problem = if name.parse::<http::HeaderName>().is_err() {
            Some("is not the name of a header".to_owned())
        } else if RESERVED.iter().any(|it| name.eq_ignore_ascii_case(it)) {
            Some("cannot be set; the client sets it".to_owned())
        } else {
            match value.as_deref().map(HeaderValue::parse) {
                None => {
                    is_valid = false;
                    None
                }
                Some(Err(problem)) => Some(problem),
                Some(Ok(value)) if http::HeaderValue::from_str(&value.text()).is_err() => {
                    Some("is not the value of a header; use visible ASCII".to_owned())
                }
                Some(Ok(value)) => {
                    headers.push((name, value));
                    None
                }
            }
        };
        if let Some(problem) = problem {
            reader.problem(&key, problem);
            is_valid = false;
        }
    }
    is_valid.then_some(headers)
}
