//! Preference between two rankings that are interleaved in one list, with sessions as units.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::split::SplitTest;

/// Sessions by the team with more credit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preference {
    /// Sessions in which the first team has more credit.
    pub wins: u64,
    /// Sessions in which the second team has more credit.
    pub losses: u64,
    /// Sessions in which both have the same credit.
    pub ties: u64,
}

impl Preference {
    /// Credit of a search for each of two teams: the number of their distinct clicked results.
    /// `results` has the served ids with their teams; of an id that was served twice, the last team
    /// applies. A clicked id counts once, and only if it was served.
    pub fn credit<'a, T: PartialEq + Copy>(
        results: impl IntoIterator<Item = (&'a str, T)>,
        clicks: impl IntoIterator<Item = &'a str>,
        pair: [T; 2],
    ) -> [u64; 2] {
        let mut teams: BTreeMap<&str, T> = results.into_iter().collect();
        let mut credit = [0, 0];
        for id in clicks {
            match teams.remove(id) {
                Some(team) if team == pair[0] => credit[0] += 1,
                Some(team) if team == pair[1] => credit[1] += 1,
                _ => {}
            }
        }
        credit
    }

    /// Adds a finished session with the sums of the credit of its searches.
    pub fn add(&mut self, [first, second]: [u64; 2]) {
        match first.cmp(&second) {
            std::cmp::Ordering::Greater => self.wins += 1,
            std::cmp::Ordering::Less => self.losses += 1,
            std::cmp::Ordering::Equal => self.ties += 1,
        }
    }

    /// Log evidence (ln) that users prefer one of the teams.
    pub fn log_evidence(&self) -> f64 {
        SplitTest::log_evidence_of(&[self.wins, self.losses], &[0.5, 0.5]).unwrap_or_default()
    }

    /// Share of the sessions that the first team wins, a tie as half, minus 1/2. 0 without sessions.
    pub fn delta(&self) -> f64 {
        let [wins, losses, ties] = [self.wins, self.losses, self.ties].map(crate::number::real);
        let all = wins + losses + ties;
        if all > 0.0 {
            (wins + ties / 2.0) / all - 0.5
        } else {
            0.0
        }
    }
}
