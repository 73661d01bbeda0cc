//! Matching of results to gold texts, for gold sets without document ids.
//!
//! The metric is ROUGE (Lin 2004) over Unicode words, which supports Korean: the common English
//! scorer keeps only a–z and 0–9 and gives 0 to identical Korean sentences.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::list::Ranking;
use crate::event::Hit;
use crate::gold::GoldQuery;

/// Maximum number of words of a text that are compared. A record can be a megabyte, and the
/// comparison of two texts takes time proportional to the product of their lengths.
const MAX_WORDS: usize = 4096;

/// Text as a list of words: NFKC, lower case, split at the Unicode word boundaries (UAX #29).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<Box<str>>);

impl Words {
    /// Splits `text` into words, at most the first 4096.
    pub fn of(text: &str) -> Self {
        let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
        let words = folded.unicode_words().take(MAX_WORDS);
        Self(words.map(Box::from).collect())
    }

    /// Counts the occurrences of each n-gram of `length` words.
    fn ngrams(&self, length: usize) -> FxHashMap<&[Box<str>], usize> {
        let mut counts = FxHashMap::default();
        for ngram in self.0.windows(length) {
            *counts.entry(ngram).or_default() += 1;
        }
        counts
    }
}

/// ROUGE variant that compares two texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// Returns 2PR/(P+R) for the numbers of common, candidate and reference n-grams.
fn f1(common: usize, candidates: usize, references: usize) -> f64 {
    let real = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if common == 0 {
        return 0.0;
    }
    let precision = real(common) / real(candidates);
    let recall = real(common) / real(references);
    2.0 * precision * recall / (precision + recall)
}

fn overlap(candidate: &Words, reference: &Words, length: usize) -> (usize, usize, usize) {
    let candidates = candidate.ngrams(length);
    let references = reference.ngrams(length);
    let common = references
        .iter()
        .map(|(ngram, count)| candidates.get(ngram).map_or(0, |other| *count.min(other)));
    (
        common.sum(),
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

/// Rule that matches results to gold texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextMatch {
    /// ROUGE variant.
    pub rouge: Rouge,
    /// Lowest F1 that is a match, above 0 and at most 1.
    pub threshold: f64,
}

impl Default for TextMatch {
    fn default() -> Self {
        Self {
            rouge: Rouge::L,
            threshold: 0.5,
        }
    }
}

impl TextMatch {
    /// Judges results by their texts. Each gold text and each result is matched at most once. The
    /// pair with the highest F1 is matched first; ties go to the higher result, then to the earlier
    /// gold text. A result without a match is unjudged.
    pub(super) fn judge(self, ranking: &mut Ranking, results: &[Hit<'_>], query: &GoldQuery) {
        let texts = |hit: &Hit<'_>| {
            hit.details()
                .text
                .as_deref()
                .map(Words::of)
                .unwrap_or_default()
        };
        let served: Vec<Words> = results.iter().map(texts).collect();
        let gold: Vec<Words> = query.texts.iter().map(|text| Words::of(text)).collect();
        let mut alike = Vec::new();
        for (result, candidate) in served.iter().enumerate() {
            for (text, reference) in gold.iter().enumerate() {
                let f1 = self.f1(candidate, reference);
                if f1 >= self.threshold {
                    alike.push((f1, result, text));
                }
            }
        }
        alike.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        let mut match_of = vec![None; results.len()];
        let mut taken = vec![false; gold.len()];
        for (_, result, text) in alike {
            if let (Some(found @ None), Some(taken @ false)) =
                (match_of.get_mut(result), taken.get_mut(text))
            {
                *found = Some(text);
                *taken = true;
            }
        }
        let judgements = &query.judgements;
        let found = match_of
            .into_iter()
            .map(|text| text.and_then(|text| Some((text, judgements.grade(text)?))));
        ranking.fill(found, judgements);
    }

    fn f1(self, candidate: &Words, reference: &Words) -> f64 {
        // A common subsequence consists of common words, which are much faster to count.
        if self.rouge == Rouge::L && Rouge::One.f1(candidate, reference) < self.threshold {
            return 0.0;
        }
        self.rouge.f1(candidate, reference)
    }
}
