//! How good the five system versions are: the levels of the evaluation plan, turned into odds.
//!
//! The plan states means (its tables 5.1 and 5.2). A traffic generator needs the chance that a
//! given rank holds a relevant document and how strongly the best documents come first. This
//! module finds those odds for a corpus, and fills ranks with them. It must not know events, time
//! or users.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::corpus::{Category, Corpus, Difficulty, GoldQuery};

/// Most results of one search.
pub(super) const RESULTS: usize = 10;
/// Share of searches that fail with an error, and so have no results.
pub(super) const ERROR_SHARE: f64 = 0.003;
/// Share of searches that find nothing.
pub(super) const EMPTY_SHARE: f64 = 0.005;
/// Share of searches with a ranking of three to nine results.
pub(super) const SHORT_SHARE: f64 = 0.06;
/// Lengths of a short ranking.
pub(super) const SHORT_LENGTHS: std::ops::RangeInclusive<usize> = 3..=9;

/// A system version of the evaluation plan.
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

    /// Chance that a rank passes over decrees and rules although acts remain: what keeps the
    /// versions without graph expansion from crossing laws (table 5.3.2).
    fn avoids_cross_law(self) -> f64 {
        [0.55, 0.5, 0.45, 0.05, 0.0][self.index()]
    }

    /// Chance that a rank goes to a decree while there is one: expansion follows what an act leaves
    /// to its decree.
    fn seeks_decrees(self) -> f64 {
        [0.0, 0.0, 0.0, 0.06, 0.1][self.index()]
    }

    /// Chance that a rank passes over rules although other documents remain: they are the farthest
    /// from what people ask, so that every version finds fewer of them than of decrees.
    fn avoids_rules(self) -> f64 {
        [0.2, 0.25, 0.3, 0.45, 0.5][self.index()]
    }
}

/// Mean scores that a version reaches.
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

/// What a search's luck adds to the log-odds of every one of its ranks; each is as likely as the
/// others. The bad end is long: what goes wrong with a search mostly goes wrong for all of it.
const LUCK: [f64; 5] = [-8.0, -1.6, 1.0, 1.8, 2.6];
/// How many kinds of luck there are.
const EQUALLY_LIKELY: f64 = 5.0;

/// What easy, medium and hard add to the log-odds.
const EASE: [f64; 3] = [0.5, 0.0, -0.7];

/// Rankings played through to measure a mean score while the odds are sought.
const REHEARSALS: usize = 1_000;
/// How often the odds are sought anew with what a rehearsal found.
const CORRECTIONS: usize = 3;

/// The odds of one version for one category.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odds {
    /// Log-odds that the first rank of an average search is relevant.
    level: f64,
    /// What the last rank loses against the first, in log-odds.
    slope: f64,
    /// Chance that a relevant rank takes the best document left rather than any.
    sharpness: f64,
    avoids_cross_law: f64,
    seeks_decrees: f64,
    avoids_rules: f64,
}

/// A ranking before it is dressed as a search: per rank, an index into the query's relevant
/// documents, or nothing where the result is wrong.
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

/// The odds of every version and category.
#[derive(Debug)]
pub(super) struct Quality {
    odds: [[Odds; 4]; 5],
}

impl Quality {
    /// Finds the odds with which searches over `corpus` reach the plan's levels on average.
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

/// The level to aim at: the category's, moved by what the plan's two tables disagree about, so
/// that the mean over the categories is the plan's overall value.
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

/// What the expectation of a category's queries needs to know about them.
struct Audience {
    /// By difficulty: share of the queries.
    share: [f64; 3],
    /// By difficulty: mean of 1/|R|, times the share.
    per_relevant: [f64; 3],
}

impl Odds {
    /// The odds for `queries`, all of one category. Without queries the odds are never used.
    fn fit(queries: &[&GoldQuery], variant: Variant, aim: Level) -> Self {
        let audience = Audience::of(queries);
        let mut odds = Self {
            level: 0.0,
            slope: 0.0,
            sharpness: 0.5,
            avoids_cross_law: variant.avoids_cross_law(),
            seeks_decrees: variant.seeks_decrees(),
            avoids_rules: variant.avoids_rules(),
        };
        // The expectation does not see that a lucky search runs out of relevant documents: what a
        // rehearsal falls short of is aimed higher.
        let mut r10 = aim.r10;
        for _ in 0..CORRECTIONS {
            // With P@5 held, a steeper slope takes relevant documents from the second five ranks.
            odds.slope = falling_root(-4.0, 12.0, 20, |slope| {
                odds.slope = slope;
                odds.level = odds.level_for(&audience, aim.p5);
                odds.expect(&audience).1 - r10
            });
            odds.level = odds.level_for(&audience, aim.p5);
            r10 += aim.r10 - odds.rehearse(queries, recall);
        }
        odds.sharpness = falling_root(0.0, 1.0, 10, |sharpness| {
            odds.sharpness = sharpness;
            aim.ndcg10 - odds.rehearse(queries, ndcg)
        });
        odds
    }

    fn level_for(&self, audience: &Audience, p5: f64) -> f64 {
        falling_root(-8.0, 12.0, 20, |level| {
            p5 - Self { level, ..*self }.expect(audience).0
        })
    }

    /// Chance that rank `index` (from 0) is relevant.
    fn chance(&self, index: usize, difficulty: Difficulty, luck: f64) -> f64 {
        let log_odds = self.level - self.slope * DEPTH[index] + EASE[difficulty.index()] + luck;
        1.0 / (1.0 + (-log_odds).exp())
    }

    /// Expected P@5 and R@10, not counting that a query may run out of relevant documents.
    fn expect(&self, audience: &Audience) -> (f64, f64) {
        let (mut p5, mut r10) = (0.0, 0.0);
        for difficulty in [Difficulty::Easy, Difficulty::Medium, Difficulty::Hard] {
            let share = audience.share[difficulty.index()];
            let per_relevant = audience.per_relevant[difficulty.index()];
            for (index, shown) in SHOWN.iter().enumerate() {
                let by_luck = LUCK.map(|luck| self.chance(index, difficulty, luck));
                let relevant = shown * by_luck.iter().sum::<f64>() / EQUALLY_LIKELY;
                r10 += relevant * per_relevant;
                if index < 5 {
                    p5 += relevant * share / 5.0;
                }
            }
        }
        (p5, r10)
    }

    /// Mean score of rankings made with these odds; the same draws at every call.
    fn rehearse(&self, queries: &[&GoldQuery], score: fn(&GoldQuery, &Placement) -> f64) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut sum = 0.0;
        let mut count = 0.0;
        for query in queries.iter().cycle().take(REHEARSALS) {
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
        let luck = LUCK[rng.random_range(0..LUCK.len())];
        let mut left = (0..query.relevant.len()).fold(0_u32, |bits, place| bits | 1 << place);
        let mut ranks = [None; RESULTS];
        let length = length.min(RESULTS);
        for (index, rank) in ranks.iter_mut().enumerate().take(length) {
            if left == 0 || rng.random::<f64>() >= self.chance(index, query.difficulty, luck) {
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

    /// Those of the documents `left` that a rank may go to, by kind of law; not none.
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

impl Audience {
    fn of(queries: &[&GoldQuery]) -> Self {
        let mut audience = Self {
            share: [0.0; 3],
            per_relevant: [0.0; 3],
        };
        let all: f64 = queries.iter().map(|_| 1.0).sum();
        for query in queries {
            let relevant: f64 = query.relevant.iter().map(|_| 1.0).sum();
            audience.share[query.difficulty.index()] += 1.0 / all;
            audience.per_relevant[query.difficulty.index()] += 1.0 / (all * relevant);
        }
        audience
    }
}

/// How far down a rank is, from 0 to 1. Flat at the top: a version that gets its first five ranks
/// right at 0.65 does not get the first one right at 0.9 (the plan's MRR says so).
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

/// How many results a search has; `None` when it fails.
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

/// R@10.
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

/// Where a falling function crosses zero between `low` and `high`, by halving; the nearer end
/// when it does not.
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
