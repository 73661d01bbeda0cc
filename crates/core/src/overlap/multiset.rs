//! Parts of texts that are compared, and multisets of them.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::number::real_length;

/// Maximum number of words of a text that are compared. A record can be a megabyte, and the
/// comparison of two texts takes time proportional to the product of their lengths.
pub(super) const MAX_WORDS: usize = 4_096;

/// Maximum number of bytes of a text that are compared. A word can be as long as its text.
const MAX_BYTES: usize = 1 << 16;

/// Returns the part of a text that is compared.
pub(crate) fn bounded(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_BYTES))
        .unwrap_or(text)
}

/// Returns true for white space as Python splits at it.
pub(super) fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter)
}

/// Counts the occurrences of each item.
pub(super) fn counted<T: Hash + Eq>(items: impl IntoIterator<Item = T>) -> FxHashMap<T, usize> {
    let mut counts = FxHashMap::default();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

/// Number of items that two multisets have in common.
pub(super) fn common<T: Hash + Eq>(
    one: &FxHashMap<T, usize>,
    other: &FxHashMap<T, usize>,
) -> usize {
    let both = one.iter();
    let both = both.map(|(item, count)| other.get(item).map_or(0, |it| *count.min(it)));
    both.sum()
}

/// Returns 2PR/(P+R) for the numbers of common, candidate and reference items; 0 without a common one.
pub(super) fn f1(common: usize, candidates: usize, references: usize) -> f64 {
    if common == 0 {
        return 0.0;
    }
    let precision = real_length(common) / real_length(candidates);
    let recall = real_length(common) / real_length(references);
    2.0 * precision * recall / (precision + recall)
}
