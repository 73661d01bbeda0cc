//! Values of sessions over four weeks with weekends, days and nights, and sessions with interleaved
//! rankings.

use std::f64::consts::TAU;

use super::chance::{Chance, cumulated, index};
use super::traffic::{DAY, HOUR, Search, milliseconds};
use rankgauge_core::number::real_length;

/// Sessions with a value of 0 or 1, over four weeks with weekends, days and nights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sessions {
    /// Sessions per second.
    pub(super) rate: f64,
    /// Share of the sessions with a gold query.
    pub(super) with_gold: f64,
    /// Standard deviation of noise that the sessions of an hour share.
    pub(super) shared: f64,
}

/// Days of a stream of sessions.
const SESSION_DAYS: f64 = 28.0;

/// Loss at weekends, and amplitude over the day.
const WEEKEND_LOSS: f64 = 0.05;
const AMPLITUDE: f64 = 0.05;

/// Gold queries of sessions.
const SESSION_QUERIES: u32 = 500;

impl Sessions {
    /// Draws a stream, and the position of its drop of the size `drop` after the part `at`.
    pub(super) fn stream(
        &self,
        seed: u64,
        number: u64,
        drop: Option<(f64, f64)>,
    ) -> (Vec<Search>, usize) {
        let chance = &mut Chance::new(seed, number);
        let first_day = real_length(chance.below(7));
        let popularity = cumulated(SESSION_QUERIES, |it| (it + 3.0).recip());
        let means: Vec<f64> = (0..SESSION_QUERIES)
            .map(|_| (0.6 + 0.15 * chance.normal()).clamp(0.1, 0.9))
            .collect();
        let hours = SESSION_DAYS * 24.0;
        let mut shared = Vec::new();
        while real_length(shared.len()) <= hours {
            shared.push(self.shared * chance.normal());
        }
        let between = (self.rate * 2.2).recip();
        let mut sessions = Vec::new();
        let mut time = chance.exponential(between);
        while time < SESSION_DAYS * DAY {
            let hour = (time / HOUR).rem_euclid(24.0);
            let weekday = (time / DAY).floor().rem_euclid(7.0);
            let mut volume = 0.15 + 0.85 * (-((hour - 13.0) / 4.0).powi(2)).exp();
            if weekday >= 5.0 {
                volume *= 0.6;
            }
            if chance.uniform() < volume {
                let has_gold = match self.with_gold {
                    share if share <= 0.0 => false,
                    share if share >= 1.0 => true,
                    share => chance.uniform() < share,
                };
                let query = has_gold.then(|| chance.place(&popularity));
                let base = query.and_then(|it| means.get(it)).copied().unwrap_or(0.6);
                let weekday = ((time / DAY).floor() + first_day).rem_euclid(7.0);
                let loss = if weekday >= 5.0 { WEEKEND_LOSS } else { 0.0 };
                let mean = base + AMPLITUDE * (TAU * (hour - 13.0) / 24.0).cos() - loss
                    + shared.get(index(time / HOUR)).copied().unwrap_or_default();
                sessions.push((time, query, mean, chance.uniform()));
            }
            time += chance.exponential(between);
        }
        let (size, at) = drop.unwrap_or((0.0, 0.6));
        let from = index(at * real_length(sessions.len()));
        let searches = sessions.into_iter().enumerate();
        let searches = searches.map(|(place, (time, query, mean, level))| {
            let mean = if place >= from { mean - size } else { mean };
            Search {
                ts: milliseconds(time),
                query: query.and_then(|it| u32::try_from(it).ok()),
                score: if level < mean { 1.0 } else { 0.0 },
            }
        });
        (searches.collect(), from)
    }
}

/// Sessions with two interleaved rankings. Returns the distinct clicked results of
/// each session, and the click events of each search.
pub(super) fn interleaved(
    seed: u64,
    number: u64,
    sessions: u32,
    preference: f64,
) -> (Vec<[u64; 2]>, Vec<[u64; 2]>) {
    let chance = &mut Chance::new(seed, number);
    let (mut units, mut searches) = (Vec::new(), Vec::new());
    for _ in 0..sessions {
        let mut distinct = [0, 0];
        for _ in 0..chance.geometric(1.0 / 0.35) {
            let mut events = [0, 0];
            for team in 0..2 {
                let share = if team == 0 {
                    preference
                } else {
                    1.0 - preference
                };
                for _ in 0..3 {
                    if chance.uniform() < 0.5 * share {
                        distinct[team] += 1;
                        events[team] += u64::from(chance.geometric(1.0 / 0.6));
                    }
                }
            }
            searches.push(events);
        }
        // One user clicks the same result again and again.
        if chance.uniform() < 0.02 {
            let team = chance.below(2);
            distinct[team] += 1;
            let mut events = [0, 0];
            events[team] = 1;
            searches.extend([events; 40]);
        }
        units.push(distinct);
    }
    (units, searches)
}
