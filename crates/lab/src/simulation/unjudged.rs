//! Searches whose results become unjudged, or worse.

use super::chance::{Chance, cumulated};
use super::traffic::{DAY, milliseconds};

/// Search with its bounds over unjudged results.
#[derive(Clone, Copy)]
pub(super) struct BoundedSearch {
    pub(super) ts: i64,
    pub(super) query: u32,
    /// P@10 if unjudged results are not relevant, if they are relevant, and the share of judged ones.
    pub(super) scores: [f64; 3],
}

/// Change of P@10 at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unjudged {
    /// Share of the results that become unjudged, with the same quality.
    pub(super) new: f64,
    /// Share of the relevant results that become irrelevant.
    pub(super) worse: f64,
}

/// Rate and length of these streams, and the number of their queries.
const UNJUDGED_DAYS: f64 = 3.0;
const UNJUDGED_QUERIES: u32 = 5_000;

impl Unjudged {
    /// Draws a stream, and the position of its change.
    pub(super) fn stream(&self, seed: u64, number: u64) -> (Vec<BoundedSearch>, usize) {
        let chance = &mut Chance::new(seed, number);
        let popularity = cumulated(UNJUDGED_QUERIES, |it| (it + 3.0).recip());
        let rates: Vec<(f64, f64)> = (0..UNJUDGED_QUERIES)
            .map(|_| {
                let relevant = (0.65 + 0.17 * chance.normal()).clamp(0.05, 0.95);
                let unjudged = (0.05 + 0.03 * chance.normal()).clamp(0.0, 0.3);
                (relevant, unjudged)
            })
            .collect();
        let mut times = Vec::new();
        let mut time = chance.exponential(1.0);
        while time < UNJUDGED_DAYS * DAY {
            times.push(time);
            time += chance.exponential(1.0);
        }
        let from = times.len() * 6 / 10;
        let searches = times.into_iter().enumerate().map(|(place, time)| {
            let query = chance.place(&popularity);
            let (mut relevant, mut unjudged) = rates.get(query).copied().unwrap_or_default();
            if place >= from {
                relevant *= 1.0 - self.worse;
                unjudged += self.new;
            }
            let (mut unknown, mut found) = (0.0, 0.0);
            for _ in 0..10 {
                if chance.uniform() < unjudged {
                    unknown += 0.1;
                } else if chance.uniform() < relevant {
                    found += 0.1;
                }
            }
            BoundedSearch {
                ts: milliseconds(time),
                query: u32::try_from(query).unwrap_or_default(),
                scores: [found, found + unknown, 1.0 - unknown],
            }
        });
        (searches.collect(), from)
    }
}
