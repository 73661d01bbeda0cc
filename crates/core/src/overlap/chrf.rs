//! chrF (Popović 2015) as sacrebleu computes it: `nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no`.

use rustc_hash::FxHashMap;

use super::multiset::{MAX_WORDS, bounded, common, counted, is_blank};
use crate::number::real_length;

/// Highest number of characters of an n-gram.
const ORDER: usize = 6;

/// Weight of the recall is the square of beta.
const BETA: f64 = 2.0;

/// Characters of a text without white space.
#[derive(Clone, Debug, Default)]
pub(crate) struct CharNgrams(Vec<char>);

impl CharNgrams {
    /// Characters of a text.
    pub(crate) fn of(text: &str) -> Self {
        let words = bounded(text).split(is_blank).filter(|it| !it.is_empty());
        Self(words.take(MAX_WORDS).flat_map(str::chars).collect())
    }

    fn counts(&self) -> [FxHashMap<&[char], usize>; ORDER] {
        std::array::from_fn(|index| counted(self.0.windows(index + 1)))
    }

    fn ngrams(&self, length: usize) -> usize {
        (self.0.len() + 1).saturating_sub(length)
    }
}

/// Returns the score of a text against its best reference, from 0 to 100. `None` without a reference.
pub(crate) fn chrf<'r>(
    candidate: &CharNgrams,
    references: impl IntoIterator<Item = &'r CharNgrams>,
) -> Option<f64> {
    let counts = candidate.counts();
    let scores = references.into_iter().map(|reference| {
        let (mut precision, mut recall, mut orders) = (0.0, 0.0, 0);
        for (length, (counts, other)) in (1..).zip(counts.iter().zip(reference.counts())) {
            let (of_candidate, of_reference) = (candidate.ngrams(length), reference.ngrams(length));
            if of_candidate > 0 && of_reference > 0 {
                let common = real_length(common(counts, &other));
                precision += common / real_length(of_candidate);
                recall += common / real_length(of_reference);
                orders += 1;
            }
        }
        if precision + recall <= 0.0 {
            return 0.0;
        }
        let (precision, recall) = (
            precision / real_length(orders),
            recall / real_length(orders),
        );
        let factor = BETA * BETA;
        100.0 * ((1.0 + factor) * precision * recall) / (factor * precision + recall)
    });
    scores.max_by(f64::total_cmp)
}
