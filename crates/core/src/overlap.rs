//! Overlap of two texts: words and ROUGE, the normal form of SQuAD, BLEU and chrF.
//!
//! Each value is that of the reference package, for the texts that the package supports. No score needs
//! a model. The module depends on nothing: a text is compared with a text.

mod bleu;
mod chrf;
mod multiset;
mod squad;
mod words;

pub use bleu::BleuCounts;
pub(crate) use bleu::BleuTokens;
pub(crate) use chrf::{CharNgrams, chrf};
pub(crate) use multiset::bounded;
pub(crate) use squad::{SquadText, Unit};
pub use words::Rouge;
pub(crate) use words::Words;
