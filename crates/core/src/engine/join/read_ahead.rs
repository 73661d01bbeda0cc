//! Reading ahead: what later steps read of a join is read in loops whose reads do not wait for each
//! other. The data are then in the processor's caches. Nothing else depends on it.

use std::hint::black_box;

use super::feedback::{Record, Waiting};
use super::pool::{Number, Pool};
use super::searches::{Details, Entry, Served};
use super::sessions::Session;
use super::tables::Join;
use crate::engine::id::Id;

/// Probable search and session of a record, and probable feedback that waits for the search, as far as
/// they are known.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Known {
    search: Number,
    waiting: Number,
    session: Number,
}

/// Reads what records will read of their joins: first the entries of the tables, then what these refer
/// to.
pub(in crate::engine) fn read_ahead(records: &[(&Join, Known)]) {
    let entries = records.iter().map(|(join, known)| {
        touch(&join.searches.entries, known.search)
            + touch(&join.sessions.entries, known.session)
            + touch(&join.feedback.waiting, known.waiting)
    });
    let mut read: usize = entries.sum();
    let parts = records.iter().map(|record| {
        let (join, known) = record;
        let parts = search_of(record).map_or(0, |search| join.touch_parts(search));
        let waiting = join.feedback.waiting.get(known.waiting);
        parts + waiting.map_or(0, |it| touch(&join.feedback.records, it.list.head))
    });
    read += parts.sum::<usize>();
    let served = records.iter().filter_map(search_of).map(touch_served);
    black_box(read + served.sum::<usize>());
}

impl Join {
    /// Looks up the probable search and session, without reading them.
    pub(in crate::engine) fn look_up(&self, search: Id, session: Option<Id>) -> Known {
        Known {
            search: self.searches.by_id.guess(search),
            waiting: self.feedback.by_id.guess(search),
            session: session.map_or(Number::NONE, |session| self.sessions.by_id.guess(session)),
        }
    }

    /// Reads what the summaries of searches read.
    pub(super) fn read_searches(&self, numbers: impl Iterator<Item = Number> + Clone) {
        let entries = &self.searches.entries;
        let mut read: usize = numbers.clone().map(|it| touch(entries, it)).sum();
        let searches = numbers.filter_map(|it| entries.get(it));
        let parts = searches.clone().map(|search| self.touch_parts(search));
        read += parts.sum::<usize>();
        read += searches.clone().map(touch_served).sum::<usize>();
        // A search is compared with the next ones of its session.
        let sessions = searches.filter_map(|search| self.sessions.entries.get(search.session));
        let following = sessions.flat_map(|session| session.searches.iter().take(4));
        let following = following.map(|it| touch(entries, *it));
        black_box(read + following.sum::<usize>());
    }

    /// Reads what the closing of sessions reads.
    pub(super) fn read_sessions(&self, numbers: impl Iterator<Item = Number>) {
        let sessions = numbers.map(|it| touch(&self.sessions.entries, it));
        black_box(sessions.sum::<usize>());
    }

    /// Reads what the closing of feedback that waits reads.
    pub(super) fn read_waiting(&self, numbers: impl Iterator<Item = Number>) {
        let records = numbers.map(|it| touch(&self.feedback.records, it));
        black_box(records.sum::<usize>());
    }

    /// Reads what the removal of closed searches reads.
    pub(super) fn read_closed(&self, numbers: impl Iterator<Item = Number> + Clone) {
        let (searches, sessions) = (&self.searches, &self.sessions);
        let mut read: usize = numbers.clone().map(|it| touch(&searches.entries, it)).sum();
        let of_numbers = numbers.filter_map(|it| Some((it, searches.entries.get(it)?)));
        let ids = of_numbers.clone().filter_map(|(number, search)| {
            let id = search.place.id();
            searches.by_id.find(id, |it| it == number)
        });
        read += ids.count();
        let ids = of_numbers.filter_map(|(_, search)| {
            let session = sessions.entries.get(search.session)?;
            sessions.by_id.find(session.id, |it| it == search.session)
        });
        black_box(read + ids.count());
    }

    /// Reads what an event on a search reads beside it.
    fn touch_parts(&self, search: &Entry) -> usize {
        search.details.as_deref().map_or(0, Touch::touch)
            + touch(&self.feedback.records, search.feedback.head)
            + touch(&self.sessions.entries, search.session)
    }
}

/// Returns the probable search of a record.
fn search_of<'j>((join, known): &(&'j Join, Known)) -> Option<&'j Entry> {
    join.searches.entries.get(known.search)
}

/// Reads an entry. Returns a number that depends on it.
fn touch<T: Touch>(entries: &Pool<T>, number: Number) -> usize {
    entries.get(number).map_or(0, Touch::touch)
}

/// Reads what the details of a search refer to. Returns a number that depends on it.
fn touch_served(search: &Entry) -> usize {
    let details = search.details.as_deref();
    details.map_or(0, |details| details.served.touch())
}

/// Memory that is read ahead.
trait Touch {
    /// Reads it. Returns a number that depends on it.
    fn touch(&self) -> usize;
}

impl Touch for Entry {
    fn touch(&self) -> usize {
        self.feedback.len as usize
    }
}

impl Touch for Details {
    fn touch(&self) -> usize {
        self.served.results()
    }
}

impl Touch for Served {
    fn touch(&self) -> usize {
        usize::from(self.words.first() == self.words.last())
    }
}

impl Touch for Record {
    fn touch(&self) -> usize {
        usize::from(self.facts.event < self.facts.document) + usize::from(self.is_indexed)
    }
}

impl Touch for Waiting {
    fn touch(&self) -> usize {
        self.list.len as usize + usize::from(self.beyond.is_some())
    }
}

impl Touch for Session {
    fn touch(&self) -> usize {
        self.searches.len() + self.interactions.len() + usize::from(self.opinions.is_some())
    }
}
