//! Traffic of a search service as audits see it: users with sessions, day and night, weekends, new
//! queries, bots, campaigns, and noise that a whole hour shares.
//!
//! The distributions are those of the reference implementation (`tests/detection/traffic_sim_3.py`).

use std::f64::consts::TAU;

use super::chance::{Chance, cumulated, index};
use super::traffic::{DAY, HOUR, Search, milliseconds};
use rankgauge_core::number::real_length;

/// Categories of queries: their shares, and the differences of their means.
const SHARES: [f64; 6] = [0.3, 0.22, 0.16, 0.13, 0.11, 0.08];
const OFFSETS: [f64; 6] = [0.12, 0.066, 0.012, -0.042, -0.096, -0.15];

/// Factors of the categories at weekends.
const WEEKEND_MIX: [f64; 6] = [0.5, 0.76, 1.02, 1.28, 1.54, 1.8];

/// Category that drops if a slice drops.
const DROPPED_CATEGORY: usize = 2;

/// Highest rate of arrivals relative to the mean.
const PEAK: f64 = 5.0;

/// Step of the noise that searches share, in seconds.
const GRID: f64 = 300.0;

/// Share of the queries that an index refresh changes, and the size of the change.
const REFRESHED: f64 = 0.03;
const REFRESH_STEP: f64 = 0.15;

/// Share of the searches of a campaign, its mean score, its number of queries and its length.
const CAMPAIGN_SHARE: f64 = 0.2;
const CAMPAIGN_MEAN: f64 = 0.35;
const CAMPAIGN_QUERIES: usize = 30;
const CAMPAIGN_LENGTH: f64 = 8.0 * HOUR;

/// Seconds of a bot, and seconds between its searches.
const BOT_LENGTH: f64 = HOUR;
const BOT_GAP: f64 = 2.0;

/// Share of the queries that drop in [`DropIn::Some`].
const DROPPED_SHARE: f64 = 0.05;

/// Searches that drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DropIn {
    /// All searches.
    All,
    /// Those of 5 % of the queries.
    Some,
    /// Those of a category, about 15 %.
    Slice,
}

/// Model of the traffic of a service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Audit {
    /// Length of a stream in days.
    pub(super) days: f64,
    /// Searches per second.
    pub(super) rate: f64,
    /// Number of queries at a time.
    pub(super) queries: usize,
    /// Mean number of searches of a session.
    pub(super) session: f64,
    /// Share of the further searches of a session that repeat the query before.
    pub(super) repeats: f64,
    /// Median seconds between the searches of a session.
    pub(super) gap: f64,
    /// Share of the queries with a fixed score.
    pub(super) fixed: f64,
    /// Standard deviation of the noise of the other queries.
    pub(super) noise: f64,
    /// Standard deviation of users, and of sessions.
    pub(super) users: f64,
    /// Standard deviation of sessions.
    pub(super) mood: f64,
    /// Share of the queries that are replaced each hour.
    pub(super) churn: f64,
    /// True for a bot an hour a day, and for a campaign of 8 hours with queries of its own.
    pub(super) has_bots: bool,
    /// True for index refreshes each day, which change 3 % of the queries by 0.15 up or down.
    pub(super) has_refreshes: bool,
    /// Standard deviation of the daily steps of each query.
    pub(super) walk: f64,
    /// Standard deviation of noise that all searches share, and its correlation length in seconds.
    pub(super) shared: (f64, f64),
    /// Amplitude of all scores over the day.
    pub(super) day_and_night: f64,
    /// Number of steps of a score between 0 and 1; 0 for any score.
    pub(super) steps: f64,
    /// True for noise with a long tail to the bottom.
    pub(super) is_skewed: bool,
}

impl Audit {
    /// A week of 5,000 queries with one search a second.
    pub(super) const BASE: Self = Self {
        days: 7.0,
        rate: 1.0,
        queries: 5_000,
        session: 3.0,
        repeats: 0.3,
        gap: 25.0,
        fixed: 0.4,
        noise: 0.15,
        users: 0.05,
        mood: 0.03,
        churn: 0.0,
        has_bots: false,
        has_refreshes: false,
        walk: 0.0,
        shared: (0.0, 3_600.0),
        day_and_night: 0.0,
        steps: 0.0,
        is_skewed: false,
    };
}

/// Drop of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drop {
    pub(super) size: f64,
    pub(super) of: DropIn,
    /// Part of the searches before the drop.
    pub(super) at: f64,
}

/// Query of a stream.
#[derive(Clone, Copy)]
struct Query {
    category: usize,
    mean: f64,
    deviation: f64,
}

/// Search before its score is known.
#[derive(Clone, Copy)]
struct Arrival {
    time: f64,
    slot: usize,
    /// Difference of the user and of the session.
    user: f64,
}

/// Number of users, and the offset and exponent of their activity.
const USERS: u32 = 20_000;
pub(super) const USER_OFFSET: f64 = 5.0;
const USER_EXPONENT: f64 = -0.8;

impl Audit {
    /// Draws a stream, and the position of its drop. The traffic depends on seed and number, not on the
    /// drop.
    pub(super) fn stream(
        &self,
        seed: u64,
        number: u64,
        drop: Option<Drop>,
    ) -> (Vec<Search>, usize) {
        let chance = &mut Chance::new(seed, number);
        let slots: Vec<Query> = (1..=self.queries)
            .map(|rank| {
                let category = choose(&SHARES, chance);
                self.query(category, rank, chance)
            })
            .collect();
        let phase = chance.uniform() * 7.0;
        let arrivals = self.arrivals(&slots, phase, chance);
        let (queries, ids) = self.renewed(slots, &arrivals, chance);
        let at = drop.map_or(0.6, |it| it.at) * real_length(arrivals.len());
        let mut searches = self.scored(&queries, &arrivals, ids, (phase, at), drop, chance);
        let start = searches.get(index(at)).map(|it| it.ts);
        if self.has_bots {
            self.add_bots(&queries, start, drop, chance, &mut searches);
        }
        for search in &mut searches {
            search.score = search.score.clamp(0.0, 1.0);
            if self.steps > 0.0 {
                search.score = (search.score * self.steps).round() / self.steps;
            }
        }
        searches.sort_by_key(|search| search.ts);
        let from = start.map_or(0, |start| searches.partition_point(|it| it.ts < start));
        (searches, from)
    }

    fn seconds(&self) -> f64 {
        self.days * DAY
    }

    fn query(&self, category: usize, rank: usize, chance: &mut Chance) -> Query {
        let head = 0.02 * (real_length(self.queries).ln() / 2.0 - real_length(rank).ln());
        let mean = 0.7 + OFFSETS[category] + head + 0.17 * chance.normal();
        let is_fixed = chance.uniform() < self.fixed;
        let deviation = self.noise * (0.5 + chance.uniform());
        Query {
            category,
            mean: mean.clamp(0.02, 0.98),
            deviation: if is_fixed { 0.0 } else { deviation },
        }
    }

    /// Searches in the order of time, with the slot of their query.
    fn arrivals(&self, slots: &[Query], phase: f64, chance: &mut Chance) -> Vec<Arrival> {
        let mut by_category: [(Vec<usize>, Vec<f64>); 6] = Default::default();
        for (slot, query) in slots.iter().enumerate() {
            let (places, cumulated) = &mut by_category[query.category];
            let popularity = (real_length(slot) + 3.0).powf(-1.05);
            places.push(slot);
            cumulated.push(cumulated.last().copied().unwrap_or_default() + popularity);
        }
        let activity = cumulated(USERS, |user| (user + USER_OFFSET).powf(USER_EXPONENT));
        let users: Vec<f64> = (0..USERS).map(|_| self.users * chance.normal()).collect();
        let mut arrivals = Vec::new();
        let between = self.session / (PEAK * self.rate);
        let mut start = 0.0;
        loop {
            start += chance.exponential(between);
            if start >= self.seconds() {
                break;
            }
            if chance.uniform() * PEAK >= volume(start, phase) {
                continue;
            }
            let user = chance.place(&activity);
            let user = users.get(user).copied().unwrap_or_default() + self.mood * chance.normal();
            let (places, cumulated) = &by_category[choose(&mix(start, phase), chance)];
            let mut time = start;
            let mut slot = None;
            for place in 0..chance.geometric(self.session) {
                if place > 0 {
                    time += self.gap * chance.normal().exp();
                }
                let is_repeat = place > 0 && chance.uniform() < self.repeats;
                let of_category = places.get(chance.place(cumulated)).copied();
                slot = if is_repeat { slot } else { of_category };
                if let Some(slot) = slot
                    && time < self.seconds()
                {
                    arrivals.push(Arrival { time, slot, user });
                }
            }
        }
        arrivals.sort_by(|a, b| a.time.total_cmp(&b.time));
        arrivals
    }

    /// Replaces queries hour by hour. Returns all queries, and the query of each search.
    fn renewed(
        &self,
        slots: Vec<Query>,
        arrivals: &[Arrival],
        chance: &mut Chance,
    ) -> (Vec<Query>, Vec<usize>) {
        let mut current: Vec<usize> = (0..slots.len()).collect();
        let mut queries = slots;
        let mut next = HOUR;
        let ids = arrivals.iter().map(|arrival| {
            while self.churn > 0.0 && arrival.time >= next {
                next += HOUR;
                for (slot, id) in current.iter_mut().enumerate() {
                    if chance.uniform() < self.churn {
                        let category = queries[slot].category;
                        *id = queries.len();
                        queries.push(self.query(category, slot + 1, chance));
                    }
                }
            }
            current[arrival.slot]
        });
        let ids = ids.collect();
        (queries, ids)
    }

    fn scored(
        &self,
        queries: &[Query],
        arrivals: &[Arrival],
        mut ids: Vec<usize>,
        (phase, at): (f64, f64),
        drop: Option<Drop>,
        chance: &mut Chance,
    ) -> Vec<Search> {
        let shared = self.shared_noise(chance);
        let mut changes = Changes::new(queries.len(), &ids);
        let campaign = 0.3 * self.seconds()..0.3 * self.seconds() + CAMPAIGN_LENGTH;
        let first_of_campaign = queries.len();
        let mut searches = Vec::with_capacity(arrivals.len());
        for (place, arrival) in arrivals.iter().enumerate() {
            changes.advance(self, arrival.time, chance);
            let query = queries[ids[place]];
            let mut score = query.mean + changes.shifts[ids[place]];
            score += self.day_and_night * (TAU * time_of_day(arrival.time, phase)).sin();
            score += shared
                .get(index(arrival.time / GRID))
                .copied()
                .unwrap_or_default();
            if query.deviation > 0.0 {
                let noise = if self.is_skewed {
                    1.0 - chance.exponential(1.0)
                } else {
                    chance.normal()
                };
                score += arrival.user + query.deviation * noise;
            }
            if self.has_bots
                && campaign.contains(&arrival.time)
                && chance.uniform() < CAMPAIGN_SHARE
            {
                ids[place] = first_of_campaign + chance.below(CAMPAIGN_QUERIES);
                score = CAMPAIGN_MEAN + 0.15 * chance.normal();
            }
            if let Some(drop) = drop
                && real_length(place) >= at
                && is_dropped(drop.of, ids[place], query.category)
            {
                score -= drop.size;
            }
            searches.push(Search {
                ts: milliseconds(arrival.time),
                query: u32::try_from(ids[place]).ok(),
                score,
            });
        }
        searches
    }

    /// Noise that all searches share, on a grid of five minutes: autoregressive.
    fn shared_noise(&self, chance: &mut Chance) -> Vec<f64> {
        let (deviation, length) = self.shared;
        if deviation <= 0.0 {
            return Vec::new();
        }
        let kept = (-GRID / length).exp();
        let step = deviation * (1.0 - kept * kept).sqrt();
        let mut noise = vec![deviation * chance.normal()];
        while real_length(noise.len()) * GRID <= self.seconds() {
            let last = noise.last().copied().unwrap_or_default();
            noise.push(kept * last + step * chance.normal());
        }
        noise
    }

    /// Adds a bot a day: an hour of one query, with the same score.
    fn add_bots(
        &self,
        queries: &[Query],
        start: Option<i64>,
        drop: Option<Drop>,
        chance: &mut Chance,
        searches: &mut Vec<Search>,
    ) {
        let mut day = 0.0;
        while day < self.seconds() {
            let begin = day + chance.uniform() * (DAY - BOT_LENGTH);
            let number = chance.below(self.queries);
            let query = queries[number];
            let mut score = query.mean + query.deviation * chance.normal();
            let is_after = start.is_some_and(|start| milliseconds(begin) >= start);
            if let Some(drop) = drop.filter(|it| is_after && it.of == DropIn::All) {
                score -= drop.size;
            }
            let mut time = begin;
            while time < begin + BOT_LENGTH {
                searches.push(Search {
                    ts: milliseconds(time),
                    query: u32::try_from(number).ok(),
                    score,
                });
                time += BOT_GAP;
            }
            day += DAY;
        }
    }
}

/// Changes of single queries by day.
struct Changes {
    shifts: Vec<f64>,
    /// Share of the searches of each query.
    shares: Vec<f64>,
    next: f64,
}

impl Changes {
    fn new(queries: usize, ids: &[usize]) -> Self {
        let mut shares = vec![0.0; queries];
        for id in ids {
            shares[*id] += 1.0 / real_length(ids.len());
        }
        Self {
            shifts: vec![0.0; queries],
            shares,
            next: DAY,
        }
    }

    fn advance(&mut self, traffic: &Audit, time: f64, chance: &mut Chance) {
        while time >= self.next {
            self.next += DAY;
            if traffic.has_refreshes {
                self.refresh(chance);
            }
            if traffic.walk > 0.0 {
                let steps: Vec<f64> = self
                    .shares
                    .iter()
                    .map(|_| traffic.walk * chance.normal())
                    .collect();
                let mean: f64 = steps.iter().zip(&self.shares).map(|(a, b)| a * b).sum();
                for (shift, step) in self.shifts.iter_mut().zip(steps) {
                    *shift += step - mean;
                }
            }
        }
    }

    /// Changes some queries up and some down, so that the mean of all searches stays the same.
    fn refresh(&mut self, chance: &mut Chance) {
        let mut changed: [Vec<usize>; 2] = Default::default();
        for query in 0..self.shifts.len() {
            if chance.uniform() < REFRESHED {
                changed[usize::from(chance.uniform() < 0.5)].push(query);
            }
        }
        let weight = |of: &[usize]| of.iter().map(|it| self.shares[*it]).sum::<f64>();
        let (up, down) = (weight(&changed[0]), weight(&changed[1]));
        let factor = |mine: f64, other: f64| {
            let is_balanced = up > 0.0 && down > 0.0;
            if is_balanced {
                (other / mine).min(1.0)
            } else {
                1.0
            }
        };
        let steps = [
            REFRESH_STEP * factor(up, down),
            -REFRESH_STEP * factor(down, up),
        ];
        for (queries, step) in changed.iter().zip(steps) {
            for query in queries {
                self.shifts[*query] += step;
            }
        }
    }
}

fn is_dropped(of: DropIn, query: usize, category: usize) -> bool {
    match of {
        DropIn::All => true,
        DropIn::Some => {
            let place = u64::try_from(query).unwrap_or_default();
            Chance::new(place, 7).uniform() < DROPPED_SHARE
        }
        DropIn::Slice => category == DROPPED_CATEGORY,
    }
}

fn time_of_day(time: f64, phase: f64) -> f64 {
    (time / DAY + phase).rem_euclid(1.0)
}

fn is_weekend(time: f64, phase: f64) -> bool {
    (time / DAY + phase).floor().rem_euclid(7.0) >= 5.0
}

/// Rate of arrivals relative to the mean.
fn volume(time: f64, phase: f64) -> f64 {
    let hour = time_of_day(time, phase);
    let peak = |at: f64, width: f64| (-((hour - at) / width).powi(2)).exp();
    let of_day = (0.15 + 0.85 * (peak(0.42, 0.1) + peak(0.65, 0.12))) / 0.49;
    let of_week = if is_weekend(time, phase) { 0.45 } else { 1.2 };
    of_day * of_week
}

/// Weights of the categories.
fn mix(time: f64, phase: f64) -> [f64; 6] {
    let hour = time_of_day(time, phase);
    let mut angle = TAU * hour;
    let is_weekend = is_weekend(time, phase);
    std::array::from_fn(|category| {
        let weight = SHARES[category] * (0.7 * angle.sin()).exp();
        angle += TAU / 6.0;
        if is_weekend {
            weight * WEEKEND_MIX[category]
        } else {
            weight
        }
    })
}

/// Chooses a category by weight.
fn choose(weights: &[f64; 6], chance: &mut Chance) -> usize {
    let mut left = chance.uniform() * weights.iter().sum::<f64>();
    for (place, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return place;
        }
    }
    weights.len() - 1
}
