//! Curves of a judged list: interpolated precision at the eleven levels of recall, and nDCG at
//! several cutoffs. Each takes one pass over the list, and every value equals that of its measure to
//! the last bit.

use smallvec::SmallVec;

use super::list::{List, discount, ratio};
use super::parameter::Cutoff;
use crate::gold::{Grade, Judgements};
use crate::number::real_length;
use crate::ranking::Ranking;

/// Values of the curves of one list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// `IPrec` at recall 0.0, 0.1 … 1.0.
    pub precision: [f64; Curves::LEVELS],
    /// `nDCG` at each of the cutoffs.
    pub ndcg: SmallVec<[f64; 8]>,
}

impl Curves {
    /// Number of levels of recall: 0.0, 0.1 … 1.0.
    pub const LEVELS: usize = 11;

    /// Curves of `ranking`, judged by `judgements`. `cutoffs` ascend.
    pub fn of(ranking: &Ranking, judgements: &Judgements, cutoffs: &[Cutoff]) -> Self {
        let list = List::new(ranking, judgements);
        Self {
            precision: list.precision_curve(),
            ndcg: list.ndcg_curve(cutoffs),
        }
    }
}

impl List<'_> {
    fn precision_curve(&self) -> [f64; Curves::LEVELS] {
        let ranks = (1..).zip(self.relevant_ranks(None, None));
        let precision =
            ranks.map(|(found, rank): (usize, usize)| real_length(found) / real_length(rank));
        let mut best: SmallVec<[f64; 64]> = precision.collect();
        // Highest precision at this relevant result or a later one.
        let mut highest = 0.0;
        for precision in best.iter_mut().rev() {
            highest = f64::max(highest, *precision);
            *precision = highest;
        }
        let relevant = real_length(self.judgements.relevant(None));
        let mut found = 0;
        std::array::from_fn(|level| {
            let needed = (real_length(level) / 10.0 * relevant + 0.9).floor();
            while real_length(found + 1) < needed && found < best.len() {
                found += 1;
            }
            best.get(found).copied().unwrap_or(0.0)
        })
    }

    fn ndcg_curve(&self, cutoffs: &[Cutoff]) -> SmallVec<[f64; 8]> {
        let gain = |grade: Grade| grade.get().max(0.0);
        let mut served = self.judged(None).peekable();
        let best = self.judgements.descending().iter();
        let best = best
            .map(|grade| gain(*grade))
            .take_while(|gain| *gain > 0.0);
        let mut best = best.enumerate().peekable();
        let (mut gained, mut ideal) = (0.0, 0.0);
        let at = |cutoff: &Cutoff| {
            let length = cutoff.length();
            while let Some((rank, grade)) = served.next_if(|(rank, _)| *rank <= length) {
                gained += gain(grade) / discount(rank - 1);
            }
            while let Some((index, highest)) = best.next_if(|(index, _)| *index < length) {
                ideal += highest / discount(index);
            }
            ratio(gained, ideal).min(1.0)
        };
        cutoffs.iter().map(at).collect()
    }
}
