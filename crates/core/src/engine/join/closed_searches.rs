//! Retention of closed searches. They are kept because feedback on them may still arrive, and
//! because feedback on a session is attributed to its last search.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::engine::join::pending::Pending;
use crate::engine::join::sessions::{Searched, Sessions};
use crate::engine::join::{Second, min_some};
use crate::engine::registry::{Label, Series};
use crate::time::EventTime;

/// Closed searches of one partition.
#[derive(Debug, Default)]
pub(super) struct ClosedSearches {
    searches: HashMap<Arc<str>, ClosedSearch>,
    seconds: BTreeMap<Second, ClosedSecond>,
}

/// Closed search.
#[derive(Debug)]
pub(super) struct ClosedSearch {
    pub(super) ts: EventTime,
    /// True for a late search that was first read here.
    pub(super) fresh: bool,
    /// Attribution of session feedback; `None` for a search without a session.
    pub(super) in_session: Option<Attribution>,
}

/// Variant and series to which feedback on a session is attributed.
#[derive(Debug)]
pub(super) struct Attribution {
    pub(super) session: u64,
    pub(super) variant: Label,
    pub(super) series: Arc<[Series]>,
}

#[derive(Debug, Default)]
struct ClosedSecond {
    searches: Vec<Arc<str>>,
    /// Searches that belong to a session, with the session and their time.
    in_sessions: Vec<(u64, Searched)>,
    /// Lowest offset of the searches.
    oldest: Option<i64>,
}

impl ClosedSearches {
    /// Returns a search by its id.
    pub(super) fn get(&self, query_id: &str) -> Option<&ClosedSearch> {
        self.searches.get(query_id)
    }

    /// Returns the number of searches.
    pub(super) fn len(&self) -> usize {
        self.searches.len()
    }

    /// Returns the oldest second with searches.
    pub(super) fn oldest(&self) -> Option<Second> {
        self.seconds.keys().next().copied()
    }

    /// Returns the lowest offset of all searches.
    pub(super) fn oldest_offset(&self) -> Option<i64> {
        self.seconds.values().filter_map(|it| it.oldest).min()
    }

    /// Adds a closed search.
    pub(super) fn insert(
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
        self.searches.entry(query_id).or_insert(ClosedSearch {
            ts,
            fresh,
            in_session,
        });
    }

    /// Drops the oldest second, and its searches from `sessions`. Returns the number of searches
    /// dropped.
    pub(super) fn drop_oldest_closed(&mut self, sessions: &mut Sessions) -> usize {
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
