//! Matching of results to gold texts, for gold sets without document ids, by ROUGE.

use super::list::Ranking;
use crate::event::Hit;
use crate::gold::GoldQuery;
use crate::overlap::{Rouge, Words};

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
