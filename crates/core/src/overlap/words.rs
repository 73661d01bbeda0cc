//! Words of a text, and ROUGE (Lin 2004) over them.
//!
//! Words are Unicode words, which supports Korean: the common English scorer keeps only a–z and 0–9 and
//! gives 0 to identical Korean sentences.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use rustc_hash::{FxHashMap, FxHashSet};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use super::multiset::{MAX_WORDS, bounded, common, counted, f1};
use crate::number::real_length;

/// Text as a list of words: NFKC, lower case, split at the Unicode word boundaries (UAX #29) and at everything
/// but letters, digits and marks. The words of an English text are those of rouge-score.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<Box<str>>);

impl Words {
    /// Splits `text` into words, at most the first 4096.
    pub fn of(text: &str) -> Self {
        let folded: String = bounded(text).nfkc().flat_map(char::to_lowercase).collect();
        let is_part = |letter: char| letter.is_alphanumeric() || is_combining_mark(letter);
        let words = folded.unicode_words();
        let words = words.flat_map(|word| word.split(|letter| !is_part(letter)));
        let words = words.filter(|word| !word.is_empty()).take(MAX_WORDS);
        Self(words.map(Box::from).collect())
    }

    /// Number of words.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the share of the n-grams of `length` words that one of the passages has. `None` without an
    /// n-gram.
    pub(crate) fn copied(&self, passages: &[Self], length: NonZeroUsize) -> Option<f64> {
        let length = length.get();
        let known: FxHashSet<&[Box<str>]> = passages
            .iter()
            .flat_map(|passage| passage.0.windows(length))
            .collect();
        let ngrams = self.0.windows(length);
        let all = ngrams.len();
        let copied = ngrams.filter(|ngram| known.contains(ngram)).count();
        (all > 0).then(|| real_length(copied) / real_length(all))
    }

    /// Counts the occurrences of each n-gram of `length` words.
    fn ngrams(&self, length: usize) -> FxHashMap<&[Box<str>], usize> {
        counted(self.0.windows(length))
    }
}

/// ROUGE variant that compares two texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rouge {
    /// ROUGE-1: common words.
    One,
    /// ROUGE-2: common pairs of adjacent words.
    Two,
    /// ROUGE-L: the longest common subsequence of words.
    #[default]
    L,
}

impl Rouge {
    /// Returns the F1 of `candidate` against `reference`, from 0 to 1; 0 if either has nothing to
    /// compare.
    pub fn f1(self, candidate: &Words, reference: &Words) -> f64 {
        let (common, candidates, references) = match self {
            Self::One => overlap(candidate, reference, 1),
            Self::Two => overlap(candidate, reference, 2),
            Self::L => (
                longest_common_subsequence(&candidate.0, &reference.0),
                candidate.0.len(),
                reference.0.len(),
            ),
        };
        f1(common, candidates, references)
    }
}

fn overlap(candidate: &Words, reference: &Words, length: usize) -> (usize, usize, usize) {
    (
        common(&candidate.ngrams(length), &reference.ngrams(length)),
        (candidate.0.len() + 1).saturating_sub(length),
        (reference.0.len() + 1).saturating_sub(length),
    )
}

/// Returns the length of the longest common subsequence, computed 64 words at a time (Hyyrö 2004).
/// The rows of the dynamic programme are bit vectors, in which a 0 is a step up.
fn longest_common_subsequence(a: &[Box<str>], b: &[Box<str>]) -> usize {
    let blocks = a.len().div_ceil(64);
    let mut places: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (position, word) in a.iter().enumerate() {
        let bits = places.entry(word).or_insert_with(|| vec![0; blocks]);
        if let Some(block) = bits.get_mut(position / 64) {
            *block |= 1 << (position % 64);
        }
    }
    let mut row = vec![u64::MAX; blocks];
    for word in b {
        let Some(matches) = places.get(&**word) else {
            continue;
        };
        let mut carry = false;
        for (bits, matches) in row.iter_mut().zip(matches) {
            let both = *bits & matches;
            let (sum, first) = bits.overflowing_add(both);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            *bits = sum | (*bits & !matches);
        }
    }
    let steps = |(index, bits): (usize, &u64)| {
        let used = (a.len() - index * 64).min(64);
        let unused = u64::MAX.checked_shl(u32::try_from(used).unwrap_or(64));
        (bits | unused.unwrap_or(0)).count_zeros()
    };
    let steps: u32 = row.iter().enumerate().map(steps).sum();
    usize::try_from(steps).unwrap_or(usize::MAX)
}
