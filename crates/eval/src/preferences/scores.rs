//! Measures of preferences of one query.

use super::counts::{Counts, RankedGroup};
use super::file::OfQuery;
use rankgauge_core::number::{real, real_length};

/// Measures, with the names and in the order of trec_eval.
pub const MEASURES: [&str; 14] = [
    "prefs_num_prefs_poss",
    "prefs_num_prefs_ful",
    "prefs_num_prefs_ful_ret",
    "prefs_simp",
    "prefs_pair",
    "prefs_avgjg",
    "prefs_avgjg_Rnonrel",
    "prefs_simp_ret",
    "prefs_pair_ret",
    "prefs_avgjg_ret",
    "prefs_avgjg_Rnonrel_ret",
    "prefs_simp_imp",
    "prefs_pair_imp",
    "prefs_avgjg_imp",
];

/// Scores of one query.
pub(super) struct Scores {
    /// In the order of [`MEASURES`].
    pub(super) values: [f64; MEASURES.len()],
    /// Number of documents that are relevant in any group.
    pub(super) relevant: usize,
    pub(super) relevant_retrieved: usize,
}

/// Pairs that a measure counts.
#[derive(Clone, Copy)]
enum Pairs {
    All,
    /// At least one document is retrieved.
    Implied,
    /// Both documents are retrieved.
    Retrieved,
}

impl Counts {
    fn fulfilled(&self, pairs: Pairs) -> u64 {
        match pairs {
            Pairs::All | Pairs::Implied => self.fulfilled_retrieved + self.fulfilled_implied,
            Pairs::Retrieved => self.fulfilled_retrieved,
        }
    }

    fn possible(&self, pairs: Pairs) -> u64 {
        match pairs {
            Pairs::All => self.possible_retrieved + self.possible_implied + self.absent,
            Pairs::Implied => self.possible_retrieved + self.possible_implied,
            Pairs::Retrieved => self.possible_retrieved,
        }
    }
}

impl OfQuery {
    /// Scores of the documents of a run, in their order.
    pub(super) fn scores(&self, run: &[String]) -> Scores {
        let size = self.documents.len();
        let find = |id: &String| self.documents.binary_search(id).ok();
        let mut is_retrieved = vec![false; size];
        let mut numbers: Vec<usize> = Vec::with_capacity(size);
        for number in run.iter().filter_map(find) {
            if is_retrieved.get(number).is_some_and(|seen| !seen) {
                is_retrieved[number] = true;
                numbers.push(number);
            }
        }
        let retrieved = numbers.len();
        numbers.extend((0..size).filter(|number| !is_retrieved[*number]));
        let mut ranks = vec![0; size];
        for (rank, number) in numbers.iter().enumerate() {
            ranks[*number] = rank;
        }
        let groups = self.groups.iter();
        let groups = groups.map(|group| RankedGroup::of(group, retrieved, &ranks, &numbers));
        let groups: Vec<RankedGroup<'_>> = groups.collect();
        let mut pairs = PairCounts::new(size);
        let counts = groups
            .iter()
            .map(|group| group.counts(|one, other| pairs.add(one, other)));
        let counts: Vec<Counts> = counts.collect();
        let total = |of: &dyn Fn(&Counts) -> u64| -> u64 { counts.iter().map(of).sum() };
        let simple = |of: Pairs| {
            share(
                total(&|it: &Counts| it.fulfilled(of)),
                total(&|it: &Counts| it.possible(of)),
            )
        };
        let by_group = |of: Pairs| {
            let shares = counts
                .iter()
                .map(|it| share(it.fulfilled(of), it.possible(of)));
            let sum: f64 = shares.sum();
            sum / real_length(counts.len())
        };
        let with_equal = |only_retrieved: bool| {
            let ratios = groups.iter().zip(&counts);
            let sum: f64 = ratios
                .map(|(group, counts)| equalised(group, counts, only_retrieved))
                .sum();
            // A group without preferences leaves no number.
            if sum > 0.0 {
                sum / real_length(counts.len())
            } else {
                0.0
            }
        };
        let relevant = |rank: usize| {
            groups.iter().any(|it| {
                it.levels
                    .get(rank)
                    .copied()
                    .flatten()
                    .is_some_and(|it| it > 0.0)
            })
        };
        Scores {
            values: [
                real(total(&|it: &Counts| it.possible(Pairs::All))),
                real(total(&|it: &Counts| it.fulfilled(Pairs::All))),
                real(total(&|it: &Counts| it.fulfilled(Pairs::Retrieved))),
                simple(Pairs::All),
                pairs.mean(retrieved, Pairs::All),
                by_group(Pairs::All),
                with_equal(false),
                simple(Pairs::Retrieved),
                pairs.mean(retrieved, Pairs::Retrieved),
                by_group(Pairs::Retrieved),
                with_equal(true),
                simple(Pairs::Implied),
                pairs.mean(retrieved, Pairs::Implied),
                by_group(Pairs::Implied),
            ],
            relevant: (0..size).filter(|rank| relevant(*rank)).count(),
            relevant_retrieved: (0..retrieved).filter(|rank| relevant(*rank)).count(),
        }
    }
}

/// Returns `part / whole`, 0 for an empty whole.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        real(part) / real(whole)
    }
}

/// Numbers of groups that prefer the document of one rank to that of another one.
struct PairCounts {
    size: usize,
    counts: Vec<u16>,
}

impl PairCounts {
    fn new(size: usize) -> Self {
        Self {
            size,
            counts: vec![0; size * size],
        }
    }

    fn add(&mut self, one: usize, other: usize) {
        if let Some(count) = self.counts.get_mut(one * self.size + other) {
            *count = count.saturating_add(1);
        }
    }

    fn get(&self, one: usize, other: usize) -> u16 {
        self.counts
            .get(one * self.size + other)
            .copied()
            .unwrap_or_default()
    }

    /// Mean over the pairs of documents of the share of fulfilled preferences. Only pairs of which one document is
    /// retrieved have fulfilled ones.
    fn mean(&self, retrieved: usize, pairs: Pairs) -> f64 {
        let (mut sum, mut number) = (0.0, 0_u64);
        let mut add = |one: usize, other: usize| {
            let (fulfilled, failed) = (self.get(one, other), self.get(other, one));
            if fulfilled > 0 || failed > 0 {
                number += 1;
                if one < retrieved {
                    sum += f64::from(fulfilled) / (f64::from(fulfilled) + f64::from(failed));
                }
            }
        };
        for one in 0..retrieved {
            for other in one + 1..retrieved {
                add(one, other);
            }
        }
        if !matches!(pairs, Pairs::Retrieved) {
            for one in 0..retrieved {
                for other in retrieved..self.size {
                    add(one, other);
                }
            }
        }
        if matches!(pairs, Pairs::All) {
            for one in retrieved..self.size {
                for other in one + 1..self.size {
                    add(one, other);
                }
            }
        }
        if number == 0 { 0.0 } else { sum / real(number) }
    }
}

/// Share of fulfilled preferences of a group with as many documents that are not relevant as relevant ones: further
/// ones count as found below all others, and surplus ones are left out. Not a number without preferences.
fn equalised(group: &RankedGroup<'_>, counts: &Counts, only_retrieved: bool) -> f64 {
    let (relevant, nonrelevant, pairs) = if only_retrieved {
        (
            counts.relevant_retrieved,
            counts.nonrelevant_retrieved,
            Pairs::Retrieved,
        )
    } else {
        (counts.relevant, counts.nonrelevant, Pairs::All)
    };
    let (fulfilled, possible) = match relevant.checked_sub(nonrelevant) {
        Some(added) => (
            counts.fulfilled(pairs) + counts.relevant_retrieved * added,
            counts.possible(pairs) + counts.relevant * added,
        ),
        None if group.partial.is_none() => of_classes(group, relevant, only_retrieved),
        None => of_pairs(group, counts.relevant, only_retrieved),
    };
    real(fulfilled) / real(possible)
}

/// Fulfilled and possible preferences with the first `kept` documents of the lowest class.
fn of_classes(group: &RankedGroup<'_>, kept: u64, only_retrieved: bool) -> (u64, u64) {
    let (mut fulfilled, mut failed) = (0, 0);
    let mut add = |one: usize, other: usize| {
        let is_counted = !only_retrieved || one < group.retrieved && other < group.retrieved;
        if is_counted {
            if one < other && one < group.retrieved {
                fulfilled += 1;
            } else {
                failed += 1;
            }
        }
    };
    let Some((last, higher)) = group.classes.split_last() else {
        return (0, 0);
    };
    for (position, class) in higher.iter().enumerate() {
        for lower in higher.iter().skip(position + 1) {
            for one in class {
                for other in lower {
                    add(*one, *other);
                }
            }
        }
    }
    let kept = usize::try_from(kept).unwrap_or(usize::MAX);
    for class in &group.classes {
        for one in class {
            for other in last.iter().take(kept) {
                add(*one, *other);
            }
        }
    }
    (fulfilled, fulfilled + failed)
}

/// Fulfilled and possible preferences of a partial relation with the first `kept` documents that are not relevant.
fn of_pairs(group: &RankedGroup<'_>, kept: u64, only_retrieved: bool) -> (u64, u64) {
    let end = if only_retrieved {
        group.retrieved
    } else {
        group.numbers.len()
    };
    let is_nonrelevant = |rank: usize| {
        let level = group.levels.get(rank).copied().flatten();
        level.is_some_and(|level| level.abs() < f64::MIN_POSITIVE)
    };
    let kept = usize::try_from(kept).unwrap_or(usize::MAX);
    let mut nonrelevant = (0..end).filter(|rank| is_nonrelevant(*rank));
    let first_left_out = nonrelevant.nth(kept).unwrap_or(end);
    let is_kept = |rank: usize| rank < first_left_out || !is_nonrelevant(rank);
    let (mut fulfilled, mut failed) = (0, 0);
    for one in (0..end).filter(|rank| is_kept(*rank)) {
        for other in (0..end).filter(|rank| is_kept(*rank)) {
            if group.prefers(one, other) {
                if one < group.retrieved && one < other {
                    fulfilled += 1;
                } else {
                    failed += 1;
                }
            }
        }
    }
    (fulfilled, fulfilled + failed)
}
