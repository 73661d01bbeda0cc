//! Searches of an experiment, with users or sessions in its arms.

use super::audit::USER_OFFSET;
use super::chance::{Chance, cumulated, index};
use super::traffic::{DAY, milliseconds};

/// Traffic of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Assigned {
    /// Length of a stream in days.
    pub(super) days: f64,
    /// Searches per second.
    pub(super) rate: f64,
    /// Mean number of searches of a session.
    pub(super) session: f64,
    /// Share of the further searches of a session that repeat the query before.
    pub(super) repeats: f64,
    /// Number of users, and the exponent of their activity.
    pub(super) users: (u32, f64),
    /// Standard deviation of users.
    pub(super) user_deviation: f64,
    /// Standard deviation of sessions.
    pub(super) mood: f64,
    /// True if users are assigned, false if sessions are.
    pub(super) by_user: bool,
    /// Number of bots, each a session of 1,800 searches.
    pub(super) bots: u32,
    /// True for scores of 0 or 1.
    pub(super) is_binary: bool,
    /// Share of the variant.
    pub(super) share: f64,
    /// True for users whose differences have a long tail.
    pub(super) is_skewed: bool,
}

impl Assigned {
    /// A day of sessions of 3 with one search a second.
    pub(super) const BASE: Self = Self {
        days: 1.0,
        rate: 1.0,
        session: 3.0,
        repeats: 0.3,
        users: (20_000, 0.8),
        user_deviation: 0.05,
        mood: 0.03,
        by_user: false,
        bots: 0,
        is_binary: false,
        share: 0.5,
        is_skewed: false,
    };
}

/// Search of an experiment.
pub(super) struct AssignedSearch {
    pub(super) hour: i64,
    pub(super) score: f64,
    pub(super) unit: u64,
    pub(super) arm: usize,
}

/// Queries of an experiment.
const ASSIGNED_QUERIES: u32 = 5_000;

impl Assigned {
    /// Draws a stream in which the scores of the variant are lower by `effect`.
    pub(super) fn stream(&self, seed: u64, number: u64, effect: f64) -> Vec<AssignedSearch> {
        let chance = &mut Chance::new(seed, number);
        let popularity = cumulated(ASSIGNED_QUERIES, |it| (it + 3.0).powf(-1.05));
        let means: Vec<f64> = (0..ASSIGNED_QUERIES)
            .map(|_| (0.7 + 0.2 * chance.normal()).clamp(0.02, 0.98))
            .collect();
        let (number_of_users, exponent) = self.users;
        let activity = cumulated(number_of_users, |it| (it + USER_OFFSET).powf(-exponent));
        let users: Vec<(f64, usize)> = (0..number_of_users)
            .map(|_| {
                let difference = if self.is_skewed {
                    -self.user_deviation * chance.exponential(1.0).powi(2)
                } else {
                    self.user_deviation * chance.normal()
                };
                (difference, usize::from(chance.uniform() < self.share))
            })
            .collect();
        let sessions = index(self.days * DAY * self.rate / self.session);
        let bots: Vec<usize> = (0..self.bots).map(|_| chance.below(sessions)).collect();
        let mut searches = Vec::new();
        for session in 0..sessions {
            let start = chance.uniform() * self.days * DAY;
            let is_bot = bots.contains(&session);
            let length = if is_bot {
                1_800
            } else {
                chance.geometric(self.session)
            };
            let user = chance.place(&activity);
            let (difference, arm_of_user) = users.get(user).copied().unwrap_or_default();
            let arm_of_session = usize::from(chance.uniform() < self.share);
            let arm = if self.by_user {
                arm_of_user
            } else {
                arm_of_session
            };
            let unit = if self.by_user { user } else { session };
            let difference = difference + self.mood * chance.normal();
            let mut query = 0;
            for place in 0..length {
                let is_repeat = place > 0 && (is_bot || chance.uniform() < self.repeats);
                if !is_repeat {
                    query = chance.place(&popularity);
                }
                let mean = means.get(query).copied().unwrap_or_default();
                let mut score = mean + difference + 0.1 * chance.normal();
                if arm == 1 {
                    score -= effect;
                }
                score = score.clamp(0.0, 1.0);
                if self.is_binary {
                    score = if chance.uniform() < score { 1.0 } else { 0.0 };
                }
                let gap = if is_bot { 2.0 } else { 25.0 };
                let ts = milliseconds(start + gap * f64::from(place));
                searches.push((
                    ts,
                    AssignedSearch {
                        hour: ts.div_euclid(3_600_000),
                        score,
                        unit: u64::try_from(unit).unwrap_or_default(),
                        arm,
                    },
                ));
            }
        }
        searches.sort_by_key(|(ts, _)| *ts);
        searches.into_iter().map(|(_, search)| search).collect()
    }
}
