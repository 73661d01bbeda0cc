//! JSON of records: size limits, text decoding, and the location of errors.
//!
//! The module does not know which fields an event has.

pub(super) mod reader;

use serde::Deserialize;

use crate::event::read::TIME_IN_SECONDS;
use crate::event::{Limits, Reason, Rejection};
use crate::text;

/// Parses a record into structures that borrow from it.
///
/// # Errors
/// The record is empty, too large, not UTF-8, not JSON or an array, or one of its fields is wrong;
/// the rejection names the field.
pub(super) fn parse<'a, T: Deserialize<'a>>(
    payload: &'a [u8],
    limits: &Limits,
) -> Result<T, Rejection> {
    parse_text(text_of(payload, limits)?)
}

/// Parses a record as [`parse`] does, in less time: `fast` reads usual records, and returns `None` for
/// others.
///
/// # Errors
/// The same.
pub(super) fn parse_fast<'a, T: Deserialize<'a>>(
    payload: &'a [u8],
    limits: &Limits,
    fast: impl FnOnce(&'a str) -> Option<T>,
) -> Result<T, Rejection> {
    let text = text_of(payload, limits)?;
    fast(text).map_or_else(|| parse_text(text), Ok)
}

fn parse_text<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Rejection> {
    serde_json::from_str(text).map_err(|_| reject::<T>(text))
}

/// Returns the text of a record, which can be an object.
fn text_of<'a>(payload: &'a [u8], limits: &Limits) -> Result<&'a str, Rejection> {
    let text = text_of_any(payload, limits)?;
    // A derived `Deserialize` accepts an array as the fields of a structure, in order. No event has
    // that form.
    if text.trim_start().starts_with('[') {
        return Err(Rejection::new(
            Reason::WrongType,
            "an array; an object is expected",
        ));
    }
    Ok(text)
}

/// Checks the size of a record.
///
/// # Errors
/// It is empty or too large.
pub(super) fn check_size(payload: &[u8], limits: &Limits) -> Result<(), Rejection> {
    if payload.is_empty() {
        return Err(Rejection::new(Reason::Empty, "the record has no payload"));
    }
    if payload.len() > limits.record_bytes {
        return Err(Rejection::new(
            Reason::TooLarge,
            format_args!(
                "{} bytes, limits.record_bytes is {}",
                payload.len(),
                limits.record_bytes
            ),
        ));
    }
    Ok(())
}

/// Returns the text of a record.
pub(super) fn text_of_any<'a>(payload: &'a [u8], limits: &Limits) -> Result<&'a str, Rejection> {
    check_size(payload, limits)?;
    let text =
        // With Hangul text, the standard library's check takes a tenth of the total CPU time. It
        // runs only to locate the error.
        simdutf8::basic::from_utf8(payload)
        .or_else(|_| std::str::from_utf8(payload))
        .map_err(|error| {
            if text::is_utf16(payload) {
                utf16()
            } else {
                Rejection::new(Reason::NotUtf8, error)
            }
        })?;
    Ok(text)
}

/// Rejection of a text that is no JSON.
#[cold]
pub(super) fn not_json(text: &str, error: &serde_json::Error) -> Rejection {
    if text::is_utf16(text.as_bytes()) {
        return utf16();
    }
    let message = error
        .to_string()
        .replace(" at line 1 column ", " at column ");
    Rejection::new(Reason::NotJson, message)
}

#[cold]
fn reject<'a, T: Deserialize<'a>>(text: &'a str) -> Rejection {
    // ASCII in UTF-16 is also UTF-8, with zeros.
    if text::is_utf16(text.as_bytes()) {
        utf16()
    } else {
        explain::<T>(text)
    }
}

#[cold]
fn utf16() -> Rejection {
    Rejection::new(Reason::NotUtf8, "UTF-16; UTF-8 is expected")
}

/// Beginnings of messages about an escape of half a character.
const HALF_A_CHARACTER: [&str; 2] = ["unexpected end of hex escape", "lone leading surrogate"];

/// Text without escapes of half a character, each of which becomes the replacement character, as in native
/// events; `None` if it has none.
#[cold]
pub(super) fn without_half_characters(text: &str) -> Option<String> {
    let unit = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut mended = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', text.as_bytes().get(at..)?) {
        at += found;
        match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                mended.push_str(text.get(copied..at)?);
                mended.push('\u{fffd}');
                at += 6;
                copied = at;
            }
            // Another escape: the backslash and a character of ASCII, or invalid JSON.
            _ => at += 2,
        }
    }
    if copied == 0 {
        return None;
    }
    mended.push_str(text.get(copied..)?);
    Some(mended)
}

/// Parses `text` again with path tracking, to locate the error in the document.
#[cold]
fn explain<'a, T: Deserialize<'a>>(text: &'a str) -> Rejection {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else {
        return Rejection::new(Reason::NotJson, "characters after the end of the event");
    };
    let path = error.path().to_string();
    // An unknown path ends in a question mark; the path of the whole document is a dot.
    let path = path.trim_end_matches(['?', '.']);
    let inner = error.into_inner();
    // A record is a single line. Its line number is always 1 and does not refer to a file.
    let message = inner
        .to_string()
        .replace(" at line 1 column ", " at column ");
    let message = if HALF_A_CHARACTER.iter().any(|it| message.starts_with(it)) {
        format!(
            "half a character ({message}): JavaScript cut the text within it; cut it with \
             Array.from(text), or send text.toWellFormed()"
        )
    } else {
        message
    };
    let reason = match inner.classify() {
        serde_json::error::Category::Data if message.starts_with(TIME_IN_SECONDS) => {
            Reason::TimeInSeconds
        }
        serde_json::error::Category::Data if message.starts_with("missing field") => {
            Reason::MissingField
        }
        serde_json::error::Category::Data if message.starts_with("invalid type") => {
            Reason::WrongType
        }
        serde_json::error::Category::Data => Reason::BadValue,
        _ => Reason::NotJson,
    };
    if path.is_empty() {
        Rejection::new(reason, message)
    } else {
        Rejection::new(reason, format_args!("{path}: {message}"))
    }
}

/// Rejection for a missing required field.
pub(super) fn missing(field: &str) -> Rejection {
    Rejection::new(
        Reason::MissingField,
        format_args!("missing field `{field}`"),
    )
}

/// Rejection for a field outside its range.
pub(super) fn bad(field: &str, expected: &str) -> Rejection {
    Rejection::new(Reason::BadValue, format_args!("{field}: {expected}"))
}

/// Checks the length of an id.
///
/// # Errors
/// The id does not have 1 to 256 bytes.
pub(super) fn check_id(field: &str, id: &str) -> Result<(), Rejection> {
    if (1..=256).contains(&id.len()) {
        return Ok(());
    }
    Err(Rejection::new(
        Reason::BadValue,
        format_args!("{field}: 1 to 256 bytes are expected, it has {}", id.len()),
    ))
}

/// Checks that there are no more results than `limits.results_per_search`.
///
/// # Errors
/// There are more results; the rejection holds both numbers.
pub(super) fn check_length(results: usize, limits: &Limits) -> Result<(), Rejection> {
    if results <= limits.results_per_search {
        return Ok(());
    }
    Err(Rejection::new(
        Reason::TooManyResults,
        format_args!(
            "{results} results, limits.results_per_search is {}",
            limits.results_per_search
        ),
    ))
}
