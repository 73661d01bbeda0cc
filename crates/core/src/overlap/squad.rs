//! Normal form and scores of SQuAD 1.1 (Rajpurkar et al. 2016): lower case, without ASCII punctuation and
//! the English articles.

use super::multiset::{MAX_WORDS, bounded, common, counted, f1, is_blank};

/// Unit of the words that two answers have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Words, as in SQuAD.
    Word,
    /// Characters, as in KorQuAD: particles do not break Korean words.
    Char,
}

/// Text in the normal form of SQuAD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SquadText(Vec<Box<str>>);

impl SquadText {
    /// Normalises a text.
    pub(crate) fn of(text: &str) -> Self {
        let lower = bounded(text).to_lowercase();
        let plain: String = lower
            .chars()
            .filter(|it| !it.is_ascii_punctuation())
            .collect();
        let without = without_articles(&plain);
        let words = without.split(is_blank).filter(|word| !word.is_empty());
        Self(words.take(MAX_WORDS).map(Box::from).collect())
    }

    /// Returns the F1 of the words or characters in common, from 0 to 1. Two empty texts are equal.
    pub(crate) fn f1(&self, reference: &Self, unit: Unit) -> f64 {
        match unit {
            Unit::Word => f1_of(&self.0, &reference.0),
            Unit::Char => f1_of(&self.chars(), &reference.chars()),
        }
    }

    fn chars(&self) -> Vec<char> {
        self.0.iter().flat_map(|word| word.chars()).collect()
    }
}

fn f1_of<T: std::hash::Hash + Eq>(candidate: &[T], reference: &[T]) -> f64 {
    if candidate.is_empty() || reference.is_empty() {
        return f64::from(u8::from(candidate.is_empty() && reference.is_empty()));
    }
    let common = common(&counted(candidate), &counted(reference));
    f1(common, candidate.len(), reference.len())
}

/// Replaces each article, where it is a whole run of letters and digits, by a space.
fn without_articles(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let run = rest.find(|it: char| !it.is_alphanumeric());
        let (run, after) = rest.split_at(run.unwrap_or(rest.len()));
        kept.push_str(if matches!(run, "a" | "an" | "the") {
            " "
        } else {
            run
        });
        let next = after.find(char::is_alphanumeric).unwrap_or(after.len());
        let (between, after) = after.split_at(next);
        kept.push_str(between);
        rest = after;
    }
    kept
}
