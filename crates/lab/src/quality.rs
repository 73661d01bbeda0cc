//! Quality of the five system versions: the levels of the evaluation plan as odds.
//!
//! The plan states means (its tables 5.1 and 5.2). A traffic generator needs the probability that a
//! given rank holds a relevant document, and the degree to which the best documents come first.
//! This module finds those odds for a corpus, and fills ranks with them. It is independent of
//! events, time and users.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::corpus::{Category, Corpus, Difficulty, GoldQuery};

/// Maximum number of results of a search.
pub(super) const RESULTS: usize = 10;
/// Share of searches that fail with an error and have no results.
pub(super) const ERROR_SHARE: f64 = 0.003;
/// Share of searches without results.
pub(super) const EMPTY_SHARE: f64 = 0.005;
/// Share of searches with a ranking of three to nine results.
pub(super) const SHORT_SHARE: f64 = 0.06;
/// Lengths of a short ranking.
pub(super) const SHORT_LENGTHS: std::ops::RangeInclusive<usize> = 3..=9;

/// System version of the evaluation plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variant {
    /// BM25 over words.
    V1,
    /// Vector search only.
    V2,
    /// Exact, vector and relationship search.
    V3,
    /// V3 with expansion along the graph (RNE).
    V4,
    /// V4 with agents of other domains (A2A).
    V5,
}

impl Variant {
    pub(super) const ALL: [Self; 5] = [Self::V1, Self::V2, Self::V3, Self::V4, Self::V5];

    pub(super) fn index(self) -> usize {
        match self {
            Self::V1 => 0,
            Self::V2 => 1,
            Self::V3 => 2,
            Self::V4 => 3,
            Self::V5 => 4,
        }
    }

    pub(super) fn name(self) -> &'static str {
        ["V1", "V2", "V3", "V4", "V5"][self.index()]
    }

    /// Probability that a rank skips decrees and rules although acts remain. It keeps versions
    /// without graph expansion from cross-law results (table 5.3.2).
    fn avoids_cross_law(self) -> f64 {
        [0.55, 0.5, 0.45, 0.05, 0.0][self.index()]
    }

    /// Probability that a rank takes a decree if one remains: expansion follows references from an
    /// act to its decree.
    fn seeks_decrees(self) -> f64 {
        [0.0, 0.0, 0.0, 0.06, 0.1][self.index()]
    }

    /// Probability that a rank skips rules although other documents remain. Rules are the farthest
    /// from user queries, so every version finds fewer of them than of decrees.
    fn avoids_rules(self) -> f64 {
        [0.2, 0.25, 0.3, 0.45, 0.5][self.index()]
    }
}

/// Mean scores of a version.
#[derive(Clone, Copy)]
struct Level {
    p5: f64,
    r10: f64,
    ndcg10: f64,
}

impl Level {
    const fn new(p5: f64, r10: f64, ndcg10: f64) -> Self {
        Self { p5, r10, ndcg10 }
    }
}

/// Table 5.1: P@5, R@10 and nDCG@10 of V1 to V5 over all queries.
const OVERALL: [Level; 5] = [
    Level::new(0.65, 0.45, 0.58),
    Level::new(0.72, 0.52, 0.65),
    Level::new(0.78, 0.61, 0.72),
    Level::new(0.83, 0.71, 0.79),
    Level::new(0.87, 0.78, 0.84),
];

/// Table 5.2: the same by category A to D.
const BY_CATEGORY: [[Level; 4]; 5] = [
    [
        Level::new(0.85, 0.62, 0.74),
        Level::new(0.62, 0.42, 0.55),
        Level::new(0.54, 0.35, 0.48),
        Level::new(0.48, 0.31, 0.42),
    ],
    [
        Level::new(0.88, 0.68, 0.78),
        Level::new(0.74, 0.51, 0.67),
        Level::new(0.66, 0.44, 0.59),
        Level::new(0.58, 0.39, 0.52),
    ],
    [
        Level::new(0.93, 0.75, 0.84),
        Level::new(0.79, 0.59, 0.73),
        Level::new(0.72, 0.53, 0.67),
        Level::new(0.64, 0.47, 0.61),
    ],
    [
        Level::new(0.96, 0.83, 0.89),
        Level::new(0.84, 0.69, 0.81),
        Level::new(0.79, 0.64, 0.76),
        Level::new(0.76, 0.61, 0.73),
    ],
    [
        Level::new(0.98, 0.87, 0.92),
        Level::new(0.88, 0.76, 0.86),
        Level::new(0.84, 0.73, 0.82),
        Level::new(0.82, 0.72, 0.80),
    ],
];

/// Shares of the categories among queries.
const CATEGORY_SHARES: [f64; 4] = [0.3, 0.3, 0.2, 0.2];

/// Random effects of a search on the log-odds of all its ranks, equally likely. The negative tail
/// is long: a problem of a search mostly affects all of its ranks.
const SEARCH_EFFECTS: [f64; 5] = [-8.0, -1.6, 1.0, 1.8, 2.6];
/// Number of the random effects.
const SEARCH_EFFECT_COUNT: f64 = 5.0;

/// Effects of easy, medium and hard queries on the log-odds.
const DIFFICULTY_EFFECTS: [f64; 3] = [0.5, 0.0, -0.7];

/// Number of simulated rankings for the mean score while the odds are fitted.
const SIMULATIONS: usize = 1_000;
/// Number of times that the odds are corrected with the result of a simulation.
const CORRECTIONS: usize = 3;

/// Odds of one version for one category.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odds {
    /// Log-odds that the first rank of an average search is relevant.
    level: f64,
    /// Decrease of the log-odds from the first to the last rank.
    slope: f64,
    /// Probability that a relevant rank takes the best remaining document rather than a random one.
    sharpness: f64,
    avoids_cross_law: f64,
    seeks_decrees: f64,
    avoids_rules: f64,
}

/// Ranking before it becomes a search: for each rank, an index into the query's relevant documents,
/// or `None` if the result is wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placement {
    ranks: [Option<usize>; RESULTS],
    length: usize,
}

impl Placement {
    pub(super) fn ranks(&self) -> &[Option<usize>] {
        self.ranks.get(..self.length).unwrap_or(&self.ranks)
    }
}

/// Odds of every version and category.
#[derive(Debug)]
pub(super) struct Quality {
    odds: [[Odds; 4]; 5],
}

impl Quality {
    /// Finds the odds with which searches over `corpus` reach the levels of the plan on average.
    pub(super) fn fit(corpus: &Corpus) -> Self {
        let odds = Variant::ALL.map(|variant| {
            Category::ALL.map(|category| {
                let queries: Vec<&GoldQuery> = corpus
                    .queries
                    .iter()
                    .filter(|query| query.category == category)
                    .collect();
                Odds::fit(&queries, variant, level(variant, category))
            })
        });
        Self { odds }
    }

    pub(super) fn odds(&self, variant: Variant, category: Category) -> &Odds {
        &self.odds[variant.index()][category.index()]
    }
}

/// Target level: the category's level, shifted by the difference between the plan's two tables. The
/// mean over the categories then equals the plan's overall value.
fn level(variant: Variant, category: Category) -> Level {
    let row = &BY_CATEGORY[variant.index()];
    let overall = OVERALL[variant.index()];
    let cell = row[category.index()];
    let aim = |of: fn(&Level) -> f64| {
        let mean: f64 = row
            .iter()
            .zip(CATEGORY_SHARES)
            .map(|(cell, share)| of(cell) * share)
            .sum();
        of(&cell) + of(&overall) - mean
    };
    Level {
        p5: aim(|level| level.p5),
        r10: aim(|level| level.r10),
        ndcg10: aim(|level| level.ndcg10),
    }
}

/// Aggregates of a category's queries for the expected scores.
struct QueryAggregates {
    /// Share of the queries, by difficulty.
    share: [f64; 3],
    /// Mean of 1/|R| times the share, by difficulty.
    per_relevant: [f64; 3],
}

impl Odds {
    /// Fits the odds to `queries`, all of one category. Without queries, the odds are never used.
    fn fit(queries: &[&GoldQuery], variant: Variant, aim: Level) -> Self {
        let aggregates = QueryAggregates::of(queries);
        let mut odds = Self {
            level: 0.0,
            slope: 0.0,
            sharpness: 0.5,
            avoids_cross_law: variant.avoids_cross_law(),
            seeks_decrees: variant.seeks_decrees(),
            avoids_rules: variant.avoids_rules(),
        };
        // The expected value ignores that a search can run out of relevant documents. The target is
        // raised by the shortfall of the simulation.
        let mut r10 = aim.r10;
        for _ in 0..CORRECTIONS {
            // At constant P@5, a steeper slope takes relevant documents from the second five ranks.
            odds.slope = falling_root(-4.0, 12.0, 20, |slope| {
                odds.slope = slope;
                odds.level = odds.level_for(&aggregates, aim.p5);
                odds.expect(&aggregates).1 - r10
            });
            odds.level = odds.level_for(&aggregates, aim.p5);
            r10 += aim.r10 - odds.simulate(queries, recall);
        }
        odds.sharpness = falling_root(0.0, 1.0, 10, |sharpness| {
            odds.sharpness = sharpness;
            aim.ndcg10 - odds.simulate(queries, ndcg)
        });
        odds
    }

    fn level_for(&self, aggregates: &QueryAggregates, p5: f64) -> f64 {
        falling_root(-8.0, 12.0, 20, |level| {
            p5 - Self { level, ..*self }.expect(aggregates).0
        })
    }

    /// Probability that rank `index` (from 0) is relevant.
    fn chance(&self, index: usize, difficulty: Difficulty, effect: f64) -> f64 {
        let log_odds = self.level - self.slope * DEPTH[index]
            + DIFFICULTY_EFFECTS[difficulty.index()]
            + effect;
        1.0 / (1.0 + (-log_odds).exp())
    }

    /// Expected P@5 and R@10, ignoring that a query can run out of relevant documents.
    fn expect(&self, aggregates: &QueryAggregates) -> (f64, f64) {
        let (mut p5, mut r10) = (0.0, 0.0);
        for difficulty in [Difficulty::Easy, Difficulty::Medium, Difficulty::Hard] {
            let share = aggregates.share[difficulty.index()];
            let per_relevant = aggregates.per_relevant[difficulty.index()];
            for (index, shown) in SHOWN.iter().enumerate() {
                let by_effect = SEARCH_EFFECTS.map(|effect| self.chance(index, difficulty, effect));
                let relevant = shown * by_effect.iter().sum::<f64>() / SEARCH_EFFECT_COUNT;
                r10 += relevant * per_relevant;
                if index < 5 {
                    p5 += relevant * share / 5.0;
                }
            }
        }
        (p5, r10)
    }

    /// Mean score of simulated rankings with these odds. Every call uses the same random numbers.
    fn simulate(&self, queries: &[&GoldQuery], score: fn(&GoldQuery, &Placement) -> f64) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut sum = 0.0;
        let mut count = 0.0;
        for query in queries.iter().cycle().take(SIMULATIONS) {
            let length = draw_length(&mut rng).unwrap_or(0);
            sum += score(query, &self.place(query, length, &mut rng));
            count += 1.0;
        }
        if count > 0.0 { sum / count } else { 0.0 }
    }

    /// Fills `length` ranks for `query`.
    pub(super) fn place(
        &self,
        query: &GoldQuery,
        length: usize,
        rng: &mut ChaCha8Rng,
    ) -> Placement {
        let effect = SEARCH_EFFECTS[rng.random_range(0..SEARCH_EFFECTS.len())];
        let mut left = (0..query.relevant.len()).fold(0_u32, |bits, place| bits | 1 << place);
        let mut ranks = [None; RESULTS];
        let length = length.min(RESULTS);
        for (index, rank) in ranks.iter_mut().enumerate().take(length) {
            if left == 0 || rng.random::<f64>() >= self.chance(index, query.difficulty, effect) {
                continue;
            }
            let candidates = self.candidates(query, left, rng);
            let skipped = if rng.random::<f64>() < self.sharpness {
                0
            } else {
                rng.random_range(0..candidates.count_ones())
            };
            let chosen = (0..skipped).fold(candidates, |bits, _| bits & (bits - 1));
            left &= !(1 << chosen.trailing_zeros());
            *rank = usize::try_from(chosen.trailing_zeros()).ok();
        }
        Placement { ranks, length }
    }

    /// Subset of the documents `left` that a rank may take, by kind of law; never empty.
    fn candidates(&self, query: &GoldQuery, left: u32, rng: &mut ChaCha8Rng) -> u32 {
        let acts = left & !query.cross_law;
        let decrees = left & query.cross_law & !query.rules;
        let preferences = [
            (acts, self.avoids_cross_law),
            (decrees, self.seeks_decrees),
            (left & !query.rules, self.avoids_rules),
        ];
        let preferred = preferences
            .into_iter()
            .find(|&(documents, chance)| documents != 0 && rng.random::<f64>() < chance);
        preferred.map_or(left, |(documents, _)| documents)
    }
}

impl QueryAggregates {
    fn of(queries: &[&GoldQuery]) -> Self {
        let mut aggregates = Self {
            share: [0.0; 3],
            per_relevant: [0.0; 3],
        };
        let all: f64 = queries.iter().map(|_| 1.0).sum();
        for query in queries {
            let relevant: f64 = query.relevant.iter().map(|_| 1.0).sum();
            aggregates.share[query.difficulty.index()] += 1.0 / all;
            aggregates.per_relevant[query.difficulty.index()] += 1.0 / (all * relevant);
        }
        aggregates
    }
}

/// Relative depth of a rank, from 0 to 1. It is flat at the top: a version with a precision of 0.65
/// in its first five ranks does not reach 0.9 at the first rank (see the plan's MRR).
const DEPTH: [f64; RESULTS] = [0.0, 0.01, 0.05, 0.11, 0.2, 0.31, 0.44, 0.6, 0.79, 1.0];

/// Share of searches whose ranking reaches a rank; see [`draw_length`].
const SHOWN: [f64; RESULTS] = {
    let full = 1.0 - ERROR_SHARE - EMPTY_SHARE;
    let step = SHORT_SHARE / 7.0;
    [
        full,
        full,
        full,
        full - step,
        full - 2.0 * step,
        full - 3.0 * step,
        full - 4.0 * step,
        full - 5.0 * step,
        full - 6.0 * step,
        full - 7.0 * step,
    ]
};

/// Random number of results of a search; `None` if it fails.
pub(super) fn draw_length(rng: &mut ChaCha8Rng) -> Option<usize> {
    let draw = rng.random::<f64>();
    if draw < ERROR_SHARE {
        None
    } else if draw < ERROR_SHARE + EMPTY_SHARE {
        Some(0)
    } else if draw < ERROR_SHARE + EMPTY_SHARE + SHORT_SHARE {
        Some(rng.random_range(SHORT_LENGTHS))
    } else {
        Some(RESULTS)
    }
}

/// R@10 of a ranking.
fn recall(query: &GoldQuery, placement: &Placement) -> f64 {
    let found: f64 = placement.ranks().iter().flatten().map(|_| 1.0).sum();
    let all: f64 = query.relevant.iter().map(|_| 1.0).sum();
    if all > 0.0 { found / all } else { 0.0 }
}

/// nDCG@10 with linear gains (Järvelin and Kekäläinen 2002, as trec_eval computes it).
fn ndcg(query: &GoldQuery, placement: &Placement) -> f64 {
    let gain = |place: usize| {
        query
            .relevant
            .get(place)
            .map_or(0.0, |best| f64::from(best.grade))
    };
    let discounts = || {
        (2_u32..)
            .map(|rank| 1.0 / f64::from(rank).log2())
            .take(RESULTS)
    };
    let ideal: f64 = discounts()
        .enumerate()
        .map(|(place, discount)| gain(place) * discount)
        .sum();
    let ranks = placement.ranks().iter();
    let reached: f64 = ranks
        .zip(discounts())
        .map(|(rank, discount)| rank.map_or(0.0, gain) * discount)
        .sum();
    if ideal > 0.0 { reached / ideal } else { 0.0 }
}

/// Root of a decreasing function between `low` and `high`, by bisection. Without a root, the nearer
/// end.
fn falling_root(mut low: f64, mut high: f64, steps: u32, mut f: impl FnMut(f64) -> f64) -> f64 {
    for _ in 0..steps {
        let middle = f64::midpoint(low, high);
        if f(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}
