//! Closed searches that are remembered, because feedback on them may still be read, and because what is
//! said of a session is counted for the last search in it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::engine::join::pending::Pending;
use crate::engine::join::sessions::{Searched, Sessions};
use crate::engine::join::{Second, min_some};
use crate::engine::registry::{Label, Series};
use crate::time::EventTime;

/// The closed searches of one partition.
#[derive(Debug, Default)]
pub(super) struct Memory {
    searches: HashMap<Arc<str>, Remembered>,
    seconds: BTreeMap<Second, ClosedSecond>,
}

/// A search that is closed.
#[derive(Debug)]
pub(super) struct Remembered {
    pub(super) ts: EventTime,
    /// Whether it was counted here.
    pub(super) fresh: bool,
    /// What the session may still need; `None` outside of one.
    pub(super) in_session: Option<Attribution>,
}

/// Whom something said of a session is counted for.
#[derive(Debug)]
pub(super) struct Attribution {
    pub(super) session: u64,
    pub(super) variant: Label,
    pub(super) series: Arc<[Series]>,
}

#[derive(Debug, Default)]
struct ClosedSecond {
    searches: Vec<Arc<str>>,
    /// Those of them that belong to a session, with it and with their time.
    in_sessions: Vec<(u64, Searched)>,
    /// Their lowest offset.
    oldest: Option<i64>,
}

impl Memory {
    /// A search by its id.
    pub(super) fn get(&self, query_id: &str) -> Option<&Remembered> {
        self.searches.get(query_id)
    }

    /// How many searches there are.
    pub(super) fn len(&self) -> usize {
        self.searches.len()
    }

    /// The oldest second of which there are any.
    pub(super) fn oldest(&self) -> Option<Second> {
        self.seconds.keys().next().copied()
    }

    /// The lowest offset of any.
    pub(super) fn oldest_offset(&self) -> Option<i64> {
        self.seconds.values().filter_map(|it| it.oldest).min()
    }

    /// Remembers a search that is closed by now.
    pub(super) fn remember(
        &mut self,
        query_id: Arc<str>,
        search: &Pending,
        fresh: bool,
        offset: Option<i64>,
    ) {
        let ts = search.ts;
        let in_session = search.in_session.map(|(session, _)| Attribution {
            session,
            variant: search.variant,
            series: Arc::clone(&search.series),
        });
        let second = self.seconds.entry(Second::of(ts)).or_default();
        second.oldest = min_some(second.oldest, offset);
        second.searches.push(Arc::clone(&query_id));
        if let Some(Attribution { session, .. }) = in_session {
            second
                .in_sessions
                .push((session, (ts, Arc::clone(&query_id))));
        }
        self.searches.entry(query_id).or_insert(Remembered {
            ts,
            fresh,
            in_session,
        });
    }

    /// Forgets the oldest second, also in `sessions`; returns how many searches those were.
    pub(super) fn forget_oldest(&mut self, sessions: &mut Sessions) -> usize {
        let before = self.searches.len();
        if let Some((_, second)) = self.seconds.pop_first() {
            for query_id in second.searches {
                self.searches.remove(&query_id);
            }
            for (session, search) in second.in_sessions {
                sessions.forget(session, &search);
            }
        }
        before - self.searches.len()
    }
}
