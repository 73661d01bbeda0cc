//! Text of files: UTF-8, with or without a byte order mark, and its columns.
//!
//! Windows programs write a byte order mark, and some write UTF-16. Every reader of files decodes
//! its bytes here, so that a mark changes nothing and UTF-16 is recognised.
//!
//! Texts of events, files and clients go the other way too: they are written to terminals and logs only as
//! [`escape_controls`] returns them.

use std::fmt::Display;

/// Byte order mark in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Error for bytes that are not a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flaw}")]
pub struct TextError {
    /// 1-based line of the first wrong byte.
    pub line: usize,
    flaw: Flaw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Flaw {
    #[error("UTF-16; save the file as UTF-8")]
    Utf16,
    #[error("not UTF-8; save the file as UTF-8")]
    NotUtf8,
    #[error("the lines end with CR alone; save the file with the line ends LF or CR LF")]
    LineEnds,
}

/// Returns true if one text is probably a misspelling of the other: at most one edit for each three letters.
pub(crate) fn is_near(one: &str, other: &str) -> bool {
    let letters = one.chars().count().max(other.chars().count());
    strsim::damerau_levenshtein(one, other) * 3 <= letters
}

/// Known name of which `name` is probably a misspelling, the nearest of several.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.filter(|known| is_near(name, known));
    near.min_by_key(|known| strsim::damerau_levenshtein(name, known))
}

/// Decodes bytes as UTF-8, without a byte order mark.
///
/// # Errors
/// The bytes are UTF-16 or not UTF-8, or their lines end with CR alone: they would be one line.
pub fn decode(bytes: &[u8]) -> Result<&str, TextError> {
    if is_utf16(bytes) {
        let flaw = Flaw::Utf16;
        return Err(TextError { line: 1, flaw });
    }
    match simdutf8::compat::from_utf8(without_mark(bytes)) {
        Ok(text) if has_line_ends_of_cr(text) => {
            let flaw = Flaw::LineEnds;
            Err(TextError { line: 1, flaw })
        }
        Ok(text) => Ok(text),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = 1 + memchr::memchr_iter(b'\n', valid).count();
            let flaw = Flaw::NotUtf8;
            Err(TextError { line, flaw })
        }
    }
}

/// Returns true if a text has several lines of which each ends with CR alone.
fn has_line_ends_of_cr(text: &str) -> bool {
    let bytes = text.trim_ascii().as_bytes();
    memchr::memchr(b'\n', bytes).is_none() && memchr::memchr(b'\r', bytes).is_some()
}

/// Bytes without a byte order mark of UTF-8.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// Splits a text at ASCII white space, as [`str::split_ascii_whitespace`] does, but faster.
pub fn columns(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (column, after) = split_column(rest)?;
        rest = after;
        Some(column)
    })
}

/// Returns the first column of a text, as [`columns`] does, and the rest; `None` without columns.
#[inline]
pub fn split_column(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_ascii_start();
    let (column, rest) = text.split_at(column_end(text));
    (!column.is_empty()).then_some((column, rest))
}

/// Returns the position of the first ASCII white space, else the length. Eight bytes are examined at
/// a time: most columns are longer.
#[inline]
fn column_end(text: &str) -> usize {
    const LOW_BITS: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
    const AFTER_SPACE: u64 = 0x21;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*word);
        // The lowest bit that is set belongs to the first byte up to a space, if there is one.
        let found = word.wrapping_sub(AFTER_SPACE * LOW_BITS) & !word & HIGH_BITS;
        if found == 0 {
            at += 8;
            continue;
        }
        at += (found.trailing_zeros() / 8) as usize;
        if bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            return at;
        }
        at += 1;
    }
    let mut end = bytes.iter().skip(at);
    at + end
        .position(u8::is_ascii_whitespace)
        .unwrap_or(bytes.len() - at)
}

/// Returns true if the bytes begin as UTF-16 does: with its byte order mark, or with two characters
/// of ASCII.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [a, 0, b, 0, ..] | [0, a, 0, b, ..] => *a != 0 && *b != 0,
        _ => false,
    }
}

/// Makes a text safe to display on one line: control characters, line and paragraph separators and
/// marks that change the writing direction are written as escapes.
pub fn escape_controls(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control()
            || matches!(character, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Formats a count with its noun: `one` is the singular, `many` the plural.
pub fn count_of<N: Copy + Display + From<u8> + PartialEq>(
    count: N,
    one: &str,
    many: &str,
) -> String {
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}
