//! Synthetic traffic: queries with means of their own, noise, and the dependence of real searches:
//! bursts, sessions, day and night, changes of popularity, new queries.
//!
//! The distributions are those of the reference implementation (`tests/detection/traffic_sim.py`).

use std::f64::consts::{PI, TAU};

use statrs::distribution::{Continuous as _, ContinuousCDF as _, Normal};

use super::chance::Chance;

/// Seconds of a day and of an hour.
pub(super) const DAY: f64 = 86_400.0;
pub(super) const HOUR: f64 = 3_600.0;

/// Event time of the start of a stream in milliseconds: a midnight.
const START: f64 = 1_763_337_600_000.0;

/// Mean of the scores of all searches.
pub(super) const MEAN: f64 = 0.7;

/// Differences of the four categories of queries from the mean.
const CATEGORIES: [f64; 4] = [-0.15, -0.05, 0.05, 0.15];

/// Standard deviation of the means of queries within a category.
const BETWEEN_QUERIES: f64 = 0.15;

/// Standard deviation of the mood of a session, which adds to all its scores.
const MOOD: f64 = 0.05;

/// Mean number of queries in a session, and mean seconds between them.
const SESSION_QUERIES: f64 = 5.0;
const SESSION_GAP: f64 = 30.0;

/// Share of the queries of a session that are of its preferred category.
const PREFERENCE: f64 = 0.8;

/// Highest rate of arrivals relative to the mean, by day.
const PEAK: f64 = 1.7;

/// Step of the true mean over time, in seconds.
const GRID: f64 = 300.0;

/// Noise of the scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Each search has noise of its own.
    Search,
    /// All searches of a burst have the same noise: one user, one personalisation.
    Burst,
    /// A score is 1 with the probability of its mean, otherwise 0.
    Hit,
}

/// Model of traffic.
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent properties of a traffic model"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Number of queries.
    pub queries: u32,
    /// True if the popularity of queries follows Zipf's law, false if all are equally popular.
    pub is_zipf: bool,
    /// Standard deviation of the noise; not for [`Noise::Hit`].
    pub deviation: f64,
    /// Sharing of the noise.
    pub noise: Noise,
    /// Searches per second.
    pub rate: f64,
    /// Length of a stream in hours.
    pub hours: f64,
    /// Mean number of searches in a burst of one query; at least 1.
    pub burst: f64,
    /// Mean seconds between the searches of a burst.
    pub gap: f64,
    /// True if users ask several queries in a session.
    pub has_sessions: bool,
    /// True if volume and mix of categories change over the day.
    pub is_diurnal: bool,
    /// Hours after which the popularity is shuffled over all queries; 0 for never.
    pub reshuffle: f64,
    /// Share of the queries that are replaced by new ones, each hour or at each shuffle.
    pub churn: f64,
    /// Share of the queries without judgements. Their searches have no score, and sessions that end
    /// with them have no gold query.
    pub unjudged: f64,
    /// True for values of sessions: those without a gold query count as well.
    pub is_user_measure: bool,
}

impl Traffic {
    /// Zipf traffic of 2,000 queries with noise of 0.15.
    pub const DEFAULT: Self = Self {
        queries: 2_000,
        is_zipf: true,
        deviation: 0.15,
        noise: Noise::Search,
        rate: 2.0,
        hours: 24.0,
        burst: 1.0,
        gap: 4.0,
        has_sessions: false,
        is_diurnal: false,
        reshuffle: 0.0,
        churn: 0.0,
        unjudged: 0.0,
        is_user_measure: false,
    };
}

/// Search of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Search {
    /// Event time in milliseconds since 1970.
    pub(super) ts: i64,
    /// Gold query. `None` for a session without one.
    pub(super) query: Option<u32>,
    pub(super) score: f64,
}

/// Searches in the order of event time.
pub(super) struct Stream {
    pub(super) searches: Vec<Search>,
    /// Highest target that the true mean since the start always meets.
    pub(super) target: f64,
}

/// Query of a stream.
#[derive(Clone, Copy)]
struct Query {
    category: usize,
    mean: f64,
    is_judged: bool,
}

/// Queries by popularity during a segment of time.
struct Segment {
    /// Queries of each category, most popular first.
    queries: [Vec<usize>; 4],
    /// Cumulated popularity of these queries.
    cumulated: [Vec<f64>; 4],
    /// Popularity of each category.
    share: [f64; 4],
    /// Popularity of the judged queries of each category.
    judged: [f64; 4],
    /// True mean of the scores of each category.
    mean: [f64; 4],
}

impl Traffic {
    /// Draws a stream.
    pub(super) fn stream(&self, seed: u64, number: u64) -> Stream {
        let mut chance = Chance::new(seed, number);
        let seconds = self.hours * HOUR;
        let segment_length = match (self.reshuffle > 0.0, self.churn > 0.0) {
            (true, _) => self.reshuffle * HOUR,
            (false, true) => HOUR,
            (false, false) => seconds,
        };
        let popularity = self.popularity();
        let (queries, slots) = self.queries(&popularity, seconds, segment_length, &mut chance);
        let segments: Vec<Segment> = slots
            .iter()
            .map(|slots| self.segment(&queries, slots, &popularity))
            .collect();
        let phase = chance.uniform();
        let target = self.target(&segments, segment_length, seconds, phase);
        let mut searches = Vec::new();
        let mut arrival = 0.0;
        let between = self.searches_per_arrival() / (PEAK * self.rate);
        loop {
            arrival += chance.exponential(between);
            if arrival >= seconds {
                break;
            }
            if chance.uniform() * PEAK >= self.volume(arrival, phase) {
                continue;
            }
            self.session(&mut chance, arrival, |chance, time, wanted, mood| {
                let segment = segment_at(time, segment_length, segments.len());
                let segment = &segments[segment];
                let category = wanted.unwrap_or_else(|| {
                    let weights = self.mix(time, phase);
                    choose(
                        &std::array::from_fn(|c| weights[c] * segment.share[c]),
                        chance,
                    )
                });
                let cumulated = &segment.cumulated[category];
                let drawn = chance.uniform() * cumulated.last().copied().unwrap_or_default();
                let place = cumulated.partition_point(|sum| *sum < drawn);
                let place = place.min(cumulated.len().saturating_sub(1));
                let Some(number) = segment.queries[category].get(place) else {
                    return;
                };
                self.burst(
                    chance,
                    (time, seconds),
                    *number,
                    &queries[*number],
                    mood,
                    &mut searches,
                );
            });
        }
        searches.sort_by_key(|search| search.ts);
        Stream { searches, target }
    }

    /// Share of the searches of each slot, most popular first.
    fn popularity(&self) -> Vec<f64> {
        let weight = |rank: u32| {
            if self.is_zipf {
                f64::from(rank).recip()
            } else {
                1.0
            }
        };
        let all: f64 = (1..=self.queries).map(weight).sum();
        (1..=self.queries).map(|rank| weight(rank) / all).collect()
    }

    fn searches_per_arrival(&self) -> f64 {
        let queries = if self.has_sessions {
            SESSION_QUERIES
        } else {
            1.0
        };
        self.burst.max(1.0) * queries
    }

    /// Draws a query for a slot.
    fn query(&self, rank: f64, chance: &mut Chance) -> Query {
        let category = chance.below(4);
        let head = if self.is_zipf {
            0.02 * (f64::from(self.queries).ln() / 2.0 - rank.ln())
        } else {
            0.0
        };
        Query {
            category,
            mean: MEAN + CATEGORIES[category] + head + BETWEEN_QUERIES * chance.normal(),
            is_judged: chance.uniform() >= self.unjudged,
        }
    }

    /// Draws all queries, and the query of each slot in each segment of time.
    fn queries(
        &self,
        popularity: &[f64],
        seconds: f64,
        segment_length: f64,
        chance: &mut Chance,
    ) -> (Vec<Query>, Vec<Vec<usize>>) {
        let mut queries: Vec<Query> = (1..=self.queries)
            .map(|rank| self.query(f64::from(rank), chance))
            .collect();
        let mean: f64 = queries
            .iter()
            .zip(popularity)
            .map(|(it, p)| it.mean * p)
            .sum();
        for query in &mut queries {
            query.mean += MEAN - mean;
        }
        let mut slots = vec![(0..queries.len()).collect::<Vec<usize>>()];
        let mut end = segment_length;
        while end < seconds {
            let mut next = slots.last().cloned().unwrap_or_default();
            if self.reshuffle > 0.0 {
                let order = chance.permutation(next.len());
                next = order.into_iter().map(|place| next[place]).collect();
            }
            if self.churn > 0.0 {
                for (rank, slot) in (1_u32..).zip(&mut next) {
                    if chance.uniform() < self.churn {
                        *slot = queries.len();
                        queries.push(self.query(f64::from(rank), chance));
                    }
                }
            }
            slots.push(next);
            end += segment_length;
        }
        for query in &mut queries {
            query.mean = query.mean.clamp(0.03, 0.97);
        }
        (queries, slots)
    }

    fn segment(&self, queries: &[Query], slots: &[usize], popularity: &[f64]) -> Segment {
        let mut segment = Segment {
            queries: Default::default(),
            cumulated: Default::default(),
            share: [0.0; 4],
            judged: [0.0; 4],
            mean: [0.0; 4],
        };
        for (slot, share) in slots.iter().zip(popularity) {
            let query = &queries[*slot];
            let c = query.category;
            segment.queries[c].push(*slot);
            segment.share[c] += share;
            segment.cumulated[c].push(segment.share[c]);
            if query.is_judged || self.is_user_measure {
                segment.judged[c] += share;
                segment.mean[c] += share * self.true_mean(query.mean);
            }
        }
        for (mean, judged) in segment.mean.iter_mut().zip(segment.judged) {
            *mean /= judged.max(f64::MIN_POSITIVE);
        }
        segment
    }

    /// Mean of the scores of a query, which are clipped to \[0, 1\].
    fn true_mean(&self, mean: f64) -> f64 {
        let mood = if self.has_sessions { MOOD } else { 0.0 };
        if self.noise == Noise::Hit || self.deviation <= 0.0 {
            return mean;
        }
        let deviation = self.deviation.hypot(mood);
        let normal = Normal::standard();
        let (low, high) = (-mean / deviation, (1.0 - mean) / deviation);
        mean * (normal.cdf(high) - normal.cdf(low))
            + deviation * (normal.pdf(low) - normal.pdf(high))
            + 1.0
            - normal.cdf(high)
    }

    /// Rate of arrivals relative to its mean.
    fn volume(&self, time: f64, phase: f64) -> f64 {
        if self.is_diurnal {
            1.0 + (PEAK - 1.0) * (TAU * (time / DAY + phase)).sin()
        } else {
            1.0
        }
    }

    /// Weights of the four categories.
    fn mix(&self, time: f64, phase: f64) -> [f64; 4] {
        if !self.is_diurnal {
            return [1.0; 4];
        }
        let angle = TAU * (time / DAY + phase);
        [0.0, 1.0, 2.0, 3.0].map(|c| (0.8 * (angle + PI / 2.0 * c).sin()).exp())
    }

    /// Highest target that the true mean since the start always meets.
    fn target(&self, segments: &[Segment], length: f64, seconds: f64, phase: f64) -> f64 {
        let (mut sum, mut weight, mut lowest) = (0.0, 0.0, f64::INFINITY);
        let mut time = GRID / 2.0;
        while time < seconds {
            let segment = &segments[segment_at(time, length, segments.len())];
            let mix = self.mix(time, phase);
            let weights: [f64; 4] = std::array::from_fn(|c| mix[c] * segment.share[c]);
            let all: f64 = weights.iter().sum();
            let (mut judged, mut mean) = (0.0, 0.0);
            let categories = weights.iter().zip(&segment.share);
            for ((weight, share), of) in categories.zip(segment.judged.iter().zip(&segment.mean)) {
                // Preferred categories are equally frequent.
                let part = if self.has_sessions {
                    (1.0 - PREFERENCE) * weight / all + PREFERENCE / 4.0
                } else {
                    weight / all
                };
                let part = part * of.0 / share.max(f64::MIN_POSITIVE);
                judged += part;
                mean += part * of.1;
            }
            let volume = self.volume(time, phase);
            sum += mean * volume;
            weight += judged * volume;
            lowest = lowest.min(sum / weight);
            time += GRID;
        }
        lowest
    }

    /// Draws the queries of an arrival: one, or those of a session.
    fn session(
        &self,
        chance: &mut Chance,
        start: f64,
        mut each: impl FnMut(&mut Chance, f64, Option<usize>, f64),
    ) {
        if !self.has_sessions {
            each(chance, start, None, 0.0);
            return;
        }
        let preferred = chance.below(4);
        let mood = if self.deviation > 0.0 {
            MOOD * chance.normal()
        } else {
            0.0
        };
        let mut time = start;
        for number in 0..chance.geometric(SESSION_QUERIES) {
            if number > 0 {
                time += chance.exponential(SESSION_GAP);
            }
            let wanted = (chance.uniform() < PREFERENCE).then_some(preferred);
            each(chance, time, wanted, mood);
        }
    }

    /// Draws the searches of a burst of one query.
    fn burst(
        &self,
        chance: &mut Chance,
        (start, end): (f64, f64),
        number: usize,
        query: &Query,
        mood: f64,
        searches: &mut Vec<Search>,
    ) {
        let shared = self.deviation * chance.normal();
        let mut time = start;
        for number_in_burst in 0..chance.geometric(self.burst) {
            if number_in_burst > 0 {
                time += chance.exponential(self.gap);
            }
            let mean = query.mean + mood;
            let score = match self.noise {
                Noise::Search => mean + self.deviation * chance.normal(),
                Noise::Burst => mean + shared,
                Noise::Hit if chance.uniform() < mean => 1.0,
                Noise::Hit => 0.0,
            };
            let has_score = query.is_judged || self.is_user_measure;
            if time < end && has_score {
                searches.push(Search {
                    ts: milliseconds(time),
                    query: u32::try_from(number).ok().filter(|_| query.is_judged),
                    score: score.clamp(0.0, 1.0),
                });
            }
        }
    }
}

/// Number of the segment at a time; times after the last segment are in the last one.
fn segment_at(time: f64, length: f64, segments: usize) -> usize {
    let mut end = length;
    let mut number = 0;
    while end <= time && number + 1 < segments {
        end += length;
        number += 1;
    }
    number
}

/// Chooses one of the categories by weight.
fn choose(weights: &[f64; 4], chance: &mut Chance) -> usize {
    let drawn = chance.uniform() * weights.iter().sum::<f64>();
    let mut sum = 0.0;
    for (category, weight) in weights.iter().enumerate() {
        sum += weight;
        if drawn < sum {
            return category;
        }
    }
    weights.len() - 1
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a stream ends within years; milliseconds fit"
)]
pub(super) fn milliseconds(seconds: f64) -> i64 {
    (START + 1000.0 * seconds).floor() as i64
}

impl Stream {
    /// Lowers the scores from a search on by `drop`. Scores of 0 or 1 become 0 with the probability
    /// that lowers their mean by `drop`.
    pub(super) fn dropped(
        &self,
        from: usize,
        drop: f64,
        noise: Noise,
        chance: &mut Chance,
    ) -> Vec<Search> {
        let mut searches = self.searches.clone();
        for search in searches.iter_mut().skip(from) {
            search.score = match noise {
                Noise::Hit if chance.uniform() > drop / MEAN => search.score,
                Noise::Hit => 0.0,
                Noise::Search | Noise::Burst => (search.score - drop).max(0.0),
            };
        }
        searches
    }

    /// Number of searches before a part of the stream.
    pub(super) fn part(&self, tenths: usize) -> usize {
        self.searches.len() * tenths / 10
    }
}
