//! A record as JSON: bounds, text, and where in it something was wrong.
//!
//! It does not know which fields an event has.

use serde::Deserialize;

use super::Rejection;
use crate::event::{Limits, Reason};

/// Reads a record into structures that borrow from it.
///
/// # Errors
/// That it is empty, too large, not UTF-8, not JSON or an array, or which field was wrong.
pub(super) fn parse<'a, T: Deserialize<'a>>(
    payload: &'a [u8],
    limits: &Limits,
) -> Result<T, Rejection> {
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
    let text =
        // Text in Hangul makes the standard library's check a tenth of all work; it is asked only
        // where the error is.
        simdutf8::basic::from_utf8(payload)
        .or_else(|_| std::str::from_utf8(payload))
        .map_err(|error| Rejection::new(Reason::NotUtf8, error))?;
    // Deriving reads an array as the fields of a structure in order; no event is written so.
    if text.trim_start().starts_with('[') {
        return Err(Rejection::new(
            Reason::WrongType,
            "an array; an object is expected",
        ));
    }
    serde_json::from_str(text).map_err(|_| explain::<T>(text))
}

/// Reads `text` again, keeping track of where in the document the problem is.
#[cold]
fn explain<'a, T: Deserialize<'a>>(text: &'a str) -> Rejection {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else {
        return Rejection::new(Reason::NotJson, "characters after the end of the event");
    };
    let path = error.path().to_string();
    // What has no path ends in a question mark; the whole document's is a dot.
    let path = path.trim_end_matches(['?', '.']);
    let inner = error.into_inner();
    // A record is a line of its own, whatever line of a file it stands on.
    let message = inner
        .to_string()
        .replace(" at line 1 column ", " at column ");
    let reason = match inner.classify() {
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

/// That a required field is not there.
pub(super) fn missing(field: &str) -> Rejection {
    Rejection::new(
        Reason::MissingField,
        format_args!("missing field `{field}`"),
    )
}

/// That a field is out of its range.
pub(super) fn bad(field: &str, expected: &str) -> Rejection {
    Rejection::new(Reason::BadValue, format_args!("{field}: {expected}"))
}

/// Checks the length of an id.
///
/// # Errors
/// That it has not 1 to 256 bytes.
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
/// Both numbers.
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
