//! Normal form of texts that are compared.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Normalises a text for comparison: NFKC, lower case, white space trimmed and collapsed.
pub fn normalise(text: &str) -> Cow<'_, str> {
    if is_plainly_normal(text) {
        return Cow::Borrowed(text);
    }
    // Hangul syllables are composed, and can change only with letters that are not accepted here.
    let is_composed = |letter: char| letter.is_ascii() || matches!(letter, '가'..='힣');
    let folded: String = if text.chars().all(is_composed) {
        text.to_ascii_lowercase()
    } else {
        text.nfkc().flat_map(char::to_lowercase).collect()
    };
    let mut normal = String::with_capacity(folded.len());
    for word in folded.split_whitespace() {
        if !normal.is_empty() {
            normal.push(' ');
        }
        normal.push_str(word);
    }
    Cow::Owned(normal)
}

/// Composes an id (Unicode NFC): letters of the same look have the same characters.
pub fn composed(id: Cow<'_, str>) -> Cow<'_, str> {
    if id.is_ascii() || is_nfc(&id) {
        return id;
    }
    Cow::Owned(id.nfc().collect())
}

/// Decomposes an id (Unicode NFD), as file systems of macOS do.
pub(super) fn decomposed(id: &str) -> Cow<'_, str> {
    if id.is_ascii() {
        return id.into();
    }
    Cow::Owned(id.nfd().collect())
}

/// Returns true for most texts that are their own normal form: lower-case ASCII and Hangul syllables
/// in words that one space separates.
fn is_plainly_normal(text: &str) -> bool {
    let mut before = ' ';
    let is_plain = text.chars().all(|letter| {
        let is_plain = match letter {
            ' ' => before != ' ',
            '!'..='~' => !letter.is_ascii_uppercase(),
            '가'..='힣' => true,
            _ => false,
        };
        before = letter;
        is_plain
    });
    is_plain && before != ' '
}
