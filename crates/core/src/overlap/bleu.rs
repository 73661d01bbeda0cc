//! BLEU (Papineni et al. 2002) as sacrebleu computes it with the tokenisation `intl`:
//! `nrefs:1|case:mixed|eff:yes|tok:intl|smooth:exp`.

use std::ops::AddAssign;

use unicode_general_category::{GeneralCategory as Category, get_general_category};

use super::multiset::{MAX_WORDS, bounded, counted, is_blank};
use crate::number::real_length;

/// Highest number of words of an n-gram.
const ORDER: usize = 4;

/// Words of a text. Punctuation between numbers stays a part of them; other punctuation and symbols are
/// words of their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct BleuTokens(Vec<Box<str>>);

impl BleuTokens {
    /// Splits a text into words.
    pub(crate) fn of(text: &str) -> Self {
        let text: Vec<char> = bounded(text).trim_end_matches(is_blank).chars().collect();
        // Punctuation after something else than a number, and then punctuation before it.
        let after = parted(&text, |one, other| !is_number(one) && is_punctuation(other));
        let after = after.into_iter().flat_map(|part| match part {
            Part::One(one) => vec![one],
            Part::Pair(one, other) => vec![one, ' ', other, ' '],
        });
        let after: Vec<char> = after.collect();
        let before = parted(&after, |one, other| {
            is_punctuation(one) && !is_number(other)
        });
        let before = before.into_iter().flat_map(|part| match part {
            Part::One(one) => vec![one],
            Part::Pair(one, other) => vec![' ', one, ' ', other],
        });
        let mut split = String::with_capacity(after.len() * 4);
        for letter in before {
            if is_symbol(letter) {
                split.extend([' ', letter, ' ']);
            } else {
                split.push(letter);
            }
        }
        let words = split.split(is_blank).filter(|word| !word.is_empty());
        Self(words.take(MAX_WORDS).map(Box::from).collect())
    }
}

/// One character, or two that meet a condition together.
enum Part {
    One(char),
    Pair(char, char),
}

/// Splits a text into pairs that meet a condition, from the left and without overlap, and single characters.
fn parted(text: &[char], is_pair: impl Fn(char, char) -> bool) -> Vec<Part> {
    let mut parts = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        parts.push(match after {
            [second, others @ ..] if is_pair(*first, *second) => {
                rest = others;
                Part::Pair(*first, *second)
            }
            _ => Part::One(*first),
        });
    }
    parts
}

fn is_number(letter: char) -> bool {
    matches!(
        get_general_category(letter),
        Category::DecimalNumber | Category::LetterNumber | Category::OtherNumber
    )
}

fn is_punctuation(letter: char) -> bool {
    matches!(
        get_general_category(letter),
        Category::ConnectorPunctuation
            | Category::DashPunctuation
            | Category::OpenPunctuation
            | Category::ClosePunctuation
            | Category::InitialPunctuation
            | Category::FinalPunctuation
            | Category::OtherPunctuation
    )
}

fn is_symbol(letter: char) -> bool {
    matches!(
        get_general_category(letter),
        Category::MathSymbol
            | Category::CurrencySymbol
            | Category::ModifierSymbol
            | Category::OtherSymbol
    )
}

/// Counts of which BLEU consists, of one text or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BleuCounts {
    /// N-grams that a reference has as well, by length.
    correct: [usize; ORDER],
    /// N-grams, by length.
    total: [usize; ORDER],
    /// Number of words of the texts.
    length: usize,
    /// Words of the references whose lengths are nearest.
    reference_length: usize,
}

impl BleuCounts {
    /// Counts of a text against its references; `None` without a reference.
    pub(crate) fn of(candidate: &BleuTokens, references: &[BleuTokens]) -> Option<Self> {
        let length = candidate.0.len();
        let lengths = references.iter().map(|reference| reference.0.len());
        let mut counts = Self {
            length,
            reference_length: lengths.min_by_key(|it| (it.abs_diff(length), *it))?,
            ..Self::default()
        };
        for order in 1..=ORDER {
            let ngrams = counted(candidate.0.windows(order));
            let references: Vec<_> = references
                .iter()
                .map(|reference| counted(reference.0.windows(order)))
                .collect();
            let correct = ngrams.iter().map(|(ngram, count)| {
                let most = references.iter().filter_map(|it| it.get(ngram)).max();
                most.map_or(0, |most| *count.min(most))
            });
            counts.correct[order - 1] = correct.sum();
            counts.total[order - 1] = (length + 1).saturating_sub(order);
        }
        Some(counts)
    }

    /// Score from 0 to 100: the mean over the lengths of n-grams that the texts have.
    pub fn score(&self) -> f64 {
        let orders = self.total.iter().take_while(|total| **total > 0).count();
        if self.correct.iter().all(|correct| *correct == 0) {
            return 0.0;
        }
        let mut smoothing = 1.0;
        let mut logarithms = 0.0;
        for (correct, total) in self.correct.iter().zip(&self.total).take(orders) {
            let total = real_length(*total);
            logarithms += if *correct == 0 {
                smoothing *= 2.0;
                (1.0 / (smoothing * total)).ln()
            } else {
                (real_length(*correct) / total).ln()
            };
        }
        let brevity = if self.length < self.reference_length {
            (1.0 - real_length(self.reference_length) / real_length(self.length)).exp()
        } else {
            1.0
        };
        100.0 * brevity * (logarithms / real_length(orders)).exp()
    }
}

impl AddAssign for BleuCounts {
    fn add_assign(&mut self, other: Self) {
        for (sum, correct) in self.correct.iter_mut().zip(other.correct) {
            *sum += correct;
        }
        for (sum, total) in self.total.iter_mut().zip(other.total) {
            *sum += total;
        }
        self.length += other.length;
        self.reference_length += other.reference_length;
    }
}
