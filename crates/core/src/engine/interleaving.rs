//! Interleaved rankings: the credit of each team in sessions that are not finished.
//!
//! A team gets credit for each distinct clicked result that it placed. A session sums the credit over its
//! searches, and is one observation when its last search is final.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detection::Credit;
use crate::engine::id::Id;
use crate::engine::registry::{Dimension, Label};
use crate::engine::remap::IdRemap;
use crate::time::{EventTime, Millis};

/// Maximum number of sessions that are not finished.
const MAX_OPEN: usize = 65_536;

/// Credit of the teams, in the order of their labels.
pub(super) type Credits = Vec<(Label, u64)>;

/// Sessions that are not finished, by hash of the session and experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenSessions(BTreeMap<(Id, Label), (EventTime, Credits)>);

/// Credit of the teams that placed results: the number of their distinct clicked results. `results` has
/// the served documents with their teams; of a document that was served twice, the last team applies.
pub(super) fn credits(
    results: impl Iterator<Item = (u64, Label)>,
    clicked: impl Iterator<Item = u64>,
) -> Credits {
    let mut placed: BTreeMap<u64, Label> = BTreeMap::new();
    let mut credits: BTreeMap<Label, u64> = BTreeMap::new();
    for (document, team) in results {
        placed.insert(document, team);
        if team != Label::EMPTY {
            credits.entry(team).or_default();
        }
    }
    for document in clicked {
        let team = placed.remove(&document);
        if let Some(credit) = team.and_then(|team| credits.get_mut(&team)) {
            *credit += 1;
        }
    }
    credits.into_iter().collect()
}

/// Returns the pairs of teams of a session with their credit.
pub(super) fn pairs(credits: &Credits) -> impl Iterator<Item = ([Label; 2], Credit)> {
    let pairs = credits.iter().enumerate().flat_map(move |(place, first)| {
        let others = credits.iter().skip(place + 1);
        others.map(move |second| (first, second))
    });
    pairs.map(|((one, first), (other, second))| {
        let (first, second) = (*first, *second);
        ([*one, *other], Credit { first, second })
    })
}

fn add(credits: &mut Credits, more: &Credits) {
    for (team, number) in more {
        match credits.binary_search_by_key(team, |(team, _)| *team) {
            Ok(place) => credits[place].1 = credits[place].1.saturating_add(*number),
            Err(place) => credits.insert(place, (*team, *number)),
        }
    }
}

impl OpenSessions {
    /// Adds the credit of a search. Returns that of its session if the search is the last one of it.
    /// `session` is `None` for a search without a session. Sessions that had no search for `age` are dropped
    /// if there are too many.
    pub(super) fn add(
        &mut self,
        (session, experiment): (Option<Id>, Label),
        (credits, is_last): (Credits, bool),
        (ts, age): (EventTime, Millis),
    ) -> Option<Credits> {
        let Some(session) = session else {
            return Some(credits);
        };
        let key = (session, experiment);
        if is_last {
            let mut whole = self.0.remove(&key).map_or_else(Vec::new, |(_, sum)| sum);
            add(&mut whole, &credits);
            return Some(whole);
        }
        if self.0.len() >= MAX_OPEN {
            self.0.retain(|_, (last, _)| last.plus(age) >= ts);
        }
        if self.0.len() >= MAX_OPEN {
            return Some(credits);
        }
        let (last, sum) = self.0.entry(key).or_insert((ts, Vec::new()));
        *last = ts.max(*last);
        add(sum, &credits);
        None
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.len() * 128
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (key, (ts, credits)) in &other.0 {
            let (last, sum) = self.0.entry(*key).or_insert((*ts, Vec::new()));
            *last = (*last).max(*ts);
            add(sum, credits);
        }
    }

    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let mut now = Self::default();
        for ((session, experiment), (ts, credits)) in &self.0 {
            let experiment = ids.label(Dimension::Experiment, *experiment);
            let teams = credits.iter();
            let teams = teams.map(|(team, number)| (ids.label(Dimension::Team, *team), *number));
            let mut sum = Vec::new();
            for team in teams {
                add(&mut sum, &vec![team]);
            }
            now.0.insert((*session, experiment), (*ts, sum));
        }
        now
    }
}
