//! Last result lists of the most frequent queries of one worker, by version of the system.
//!
//! Queries are replaced as by the CLOCK algorithm: a search of a kept query is a use of it, and a search
//! of another query takes one use from the query at the hand, whose place it takes when no use is left.
//! So the work for a search is constant, and frequent queries stay.

use std::hash::BuildHasher as _;

use rustc_hash::{FxBuildHasher, FxHashMap};

use rankgauge_core::event::Search;
use rankgauge_core::gold::normalise;
use rankgauge_core::time::{EventTime, Millis};

/// Maximum number of queries of a worker.
pub const MAX_QUERIES: usize = 2_000;

/// Maximum number of results of a list that are kept.
const MAX_RESULTS: usize = 10;

/// Maximum number of versions of all variants. Those of a variant are at most [`VERSIONS_OF_VARIANT`].
const MAX_VERSIONS: usize = 32;

/// Maximum number of versions of a variant: the current one and the one before it.
const VERSIONS_OF_VARIANT: usize = 2;

/// Maximum length of a query text, of a variant and of a version in bytes. Longer texts of queries are
/// cut, searches with longer names are left out.
const MAX_TEXT: usize = 256;

/// Maximum number of uses of a query. The hand passes a query that often before it replaces it.
const MAX_USES: u8 = 64;

/// Number of queries of which one makes room at the memory limit.
const CANDIDATES: usize = 16;

/// Age from which two lists are kept as the earlier ones. Lists from before a deployment are still known
/// when it is reported late.
const EARLIER: Millis = Millis(5 * 60_000);

/// Version of a system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Name of the variant.
    pub variant: Box<str>,
    /// Version that searches or a deployment state; empty if it is not known.
    pub version: Box<str>,
}

/// Version whose lists are kept.
#[derive(Clone, Debug)]
pub(super) struct KnownVersion {
    pub(super) name: Version,
    /// Time of its deployment, or of its first list.
    pub(super) since: EventTime,
    last: EventTime,
    /// True if its searches state it.
    is_stated: bool,
}

/// List of results.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) at: EventTime,
    /// Hash of the id of its search.
    search: u64,
    /// Hashes of the ids of its results.
    pub(super) results: Box<[u64]>,
}

/// Lists of a query by one version, newest first: the last two, and the two that were the last ones
/// before.
#[derive(Clone, Debug, Default)]
struct Recent {
    last: Vec<List>,
    earlier: Vec<List>,
}

/// Kept query.
#[derive(Debug)]
pub(super) struct Query {
    hash: u64,
    pub(super) text: Box<str>,
    pub(super) searches: u64,
    uses: u8,
    lists: Vec<(usize, Recent)>,
}

/// Lists of one worker.
#[derive(Debug)]
pub(super) struct Table {
    versions: Vec<Option<KnownVersion>>,
    queries: Vec<Query>,
    places: FxHashMap<u64, usize>,
    hand: usize,
    bytes: usize,
    max_bytes: usize,
}

impl Recent {
    fn bytes(&self) -> usize {
        let lists = self.last.iter().chain(&self.earlier);
        lists
            .map(|it| size_of::<List>() + size_of_val(&*it.results))
            .sum()
    }

    /// Adds a list, unless it is older than the last two or one of them.
    fn push(&mut self, list: List) {
        let is_known = self.last.iter().any(|it| it.search == list.search);
        let is_old = self.last.len() == 2 && self.last[1].at > list.at;
        if is_known || is_old {
            return;
        }
        let is_due = self
            .earlier
            .first()
            .is_none_or(|it| list.at.since(it.at) > EARLIER);
        if self.last.len() == 2 && is_due {
            self.earlier.clone_from(&self.last);
        }
        let place = self.last.partition_point(|it| it.at > list.at);
        self.last.insert(place, list);
        self.last.truncate(2);
    }

    /// Removes the lists since `at`, which belong to another version, and returns those among the last
    /// two.
    fn split(&mut self, at: EventTime) -> Self {
        let (later, mut before): (Vec<List>, Vec<List>) =
            self.last.drain(..).partition(|it| it.at >= at);
        for list in self.earlier.drain(..).filter(|it| it.at < at) {
            if before.iter().all(|it| it.search != list.search) {
                before.push(list);
            }
        }
        before.truncate(2);
        self.last = before;
        Self {
            last: later,
            earlier: Vec::new(),
        }
    }
}

impl Query {
    fn bytes(&self) -> usize {
        let lists = self.lists.iter();
        let lists = lists.map(|(_, it)| size_of::<(usize, Recent)>() + it.bytes());
        // The query itself, and its place.
        size_of::<Self>() + self.text.len() + 2 * size_of::<(u64, usize)>() + lists.sum::<usize>()
    }

    fn lists_of(&mut self, version: usize) -> &mut Recent {
        let place = self.lists.iter().position(|(it, _)| *it == version);
        let place = place.unwrap_or_else(|| {
            self.lists.push((version, Recent::default()));
            self.lists.len() - 1
        });
        &mut self.lists[place].1
    }

    /// Last two lists by a version; `None` with fewer.
    pub(super) fn last(&self, version: usize) -> Option<&[List]> {
        let (_, recent) = self.lists.iter().find(|(it, _)| *it == version)?;
        Some(&recent.last)
    }
}

impl Table {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            versions: Vec::new(),
            queries: Vec::new(),
            places: FxHashMap::default(),
            hand: 0,
            bytes: 0,
            max_bytes,
        }
    }

    /// Versions with their numbers.
    pub(super) fn versions(&self) -> impl Iterator<Item = (usize, &KnownVersion)> {
        let versions = self.versions.iter().enumerate();
        versions.filter_map(|(number, it)| Some((number, it.as_ref()?)))
    }

    /// Kept queries with the hashes of their texts.
    pub(super) fn queries(&self) -> impl Iterator<Item = (u64, &Query)> {
        self.queries.iter().map(|it| (it.hash, it))
    }

    /// Size of the kept queries in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the list of a search that states this version, if it states one.
    pub(super) fn record(&mut self, search: &Search<'_>, stated: Option<&str>) {
        let text = match (&search.query, &search.query_key) {
            (Some(text), _) => normalise(text),
            (None, Some(key)) => (&**key).into(),
            (None, None) => return,
        };
        let hash = FxBuildHasher.hash_one(&*text);
        let place = match self.places.get(&hash) {
            Some(place) => *place,
            None => match self.admit(hash, &text) {
                Some(place) => place,
                None => return,
            },
        };
        let variant = search.variant();
        let Some(version) = self.version_of(variant, stated, search.ts) else {
            return;
        };
        let mut results: Vec<u64> = Vec::with_capacity(MAX_RESULTS.min(search.results.len()));
        for hit in &search.results {
            let id = FxBuildHasher.hash_one(&*hit.id);
            if results.len() < MAX_RESULTS && !results.contains(&id) {
                results.push(id);
            }
        }
        let query = &mut self.queries[place];
        let before = query.bytes();
        query.uses = query.uses.saturating_add(1).min(MAX_USES);
        query.searches += 1;
        query.lists_of(version).push(List {
            at: search.ts,
            search: FxBuildHasher.hash_one(&*search.query_id),
            results: results.into(),
        });
        self.bytes = self.bytes + query.bytes() - before;
        if self.bytes > self.max_bytes {
            self.make_room(place);
        }
    }

    /// Removes the least used of some queries at the hand, but not the one at `kept`.
    fn make_room(&mut self, kept: usize) {
        let number = self.queries.len();
        let places = (self.hand..self.hand + CANDIDATES.min(number)).map(|it| it % number);
        let others = places.filter(|place| *place != kept);
        let Some(place) = others.min_by_key(|place| self.queries[*place].uses) else {
            return;
        };
        let old = self.queries.swap_remove(place);
        self.bytes -= old.bytes();
        self.places.remove(&old.hash);
        if let Some(moved) = self.queries.get(place) {
            self.places.insert(moved.hash, place);
        }
        self.hand = (place + 1) % self.queries.len();
    }

    /// Place of a query that is not kept. `None` if the query at the hand is used more.
    fn admit(&mut self, hash: u64, text: &str) -> Option<usize> {
        let query = Query {
            hash,
            text: start_of(text).into(),
            searches: 0,
            uses: 0,
            lists: Vec::new(),
        };
        if self.queries.len() < MAX_QUERIES && self.bytes < self.max_bytes {
            self.bytes += query.bytes();
            self.queries.push(query);
            let place = self.queries.len() - 1;
            self.places.insert(hash, place);
            return Some(place);
        }
        let place = self.hand;
        let old = self.queries.get_mut(place)?;
        self.hand = (place + 1) % self.places.len();
        if old.uses > 0 {
            old.uses -= 1;
            return None;
        }
        self.places.remove(&old.hash);
        self.bytes = self.bytes - old.bytes() + query.bytes();
        *old = query;
        self.places.insert(hash, place);
        Some(place)
    }

    /// Number of the version of a search.
    fn version_of(&mut self, variant: &str, stated: Option<&str>, at: EventTime) -> Option<usize> {
        let found = match stated {
            Some(version) => self.find(variant, version),
            None => self
                .deployed_before(variant, at)
                .or_else(|| self.find(variant, "")),
        };
        if let Some(number) = found {
            let known = self.versions[number].as_mut()?;
            known.last = known.last.max(at);
            return Some(number);
        }
        let name = Version {
            variant: variant.into(),
            version: stated.unwrap_or_default().into(),
        };
        self.add_version(name, stated.is_some(), at)
    }

    /// Number of a version.
    fn find(&self, variant: &str, version: &str) -> Option<usize> {
        let mut versions = self.versions();
        let found =
            versions.find(|(_, it)| *it.name.variant == *variant && *it.name.version == *version);
        found.map(|(number, _)| number)
    }

    /// Number of the version of a variant that was deployed last until a moment.
    fn deployed_before(&self, variant: &str, at: EventTime) -> Option<usize> {
        let of_variant = self
            .versions()
            .filter(|(_, it)| *it.name.variant == *variant && it.since <= at);
        let current = of_variant.max_by_key(|(number, it)| (it.since, *number));
        current.map(|(number, _)| number)
    }

    /// Adds a version. The oldest one of the variant makes room, or one without searches for long.
    fn add_version(&mut self, name: Version, is_stated: bool, at: EventTime) -> Option<usize> {
        if name.variant.len() > MAX_TEXT || name.version.len() > MAX_TEXT {
            return None;
        }
        let of_variant = self
            .versions()
            .filter(|(_, it)| it.name.variant == name.variant);
        let of_variant: Vec<(EventTime, usize)> =
            of_variant.map(|(number, it)| (it.last, number)).collect();
        if of_variant.len() >= VERSIONS_OF_VARIANT {
            let (_, oldest) = of_variant.into_iter().min()?;
            self.remove_version(oldest);
        } else if self.versions().count() >= MAX_VERSIONS {
            let oldest = self.versions().map(|(number, it)| (it.last, number)).min();
            let (last, oldest) = oldest?;
            if at.since(last) < EARLIER {
                return None;
            }
            self.remove_version(oldest);
        }
        let known = KnownVersion {
            name,
            since: at,
            last: at,
            is_stated,
        };
        if let Some(free) = self.versions.iter().position(Option::is_none) {
            self.versions[free] = Some(known);
            return Some(free);
        }
        self.versions.push(Some(known));
        Some(self.versions.len() - 1)
    }

    fn remove_version(&mut self, number: usize) {
        self.versions[number] = None;
        for query in &mut self.queries {
            let before = query.bytes();
            query.lists.retain(|(it, _)| *it != number);
            self.bytes = self.bytes + query.bytes() - before;
        }
    }

    /// Notes a deployment. The lists since `at` belong to it, unless searches state their versions.
    pub(super) fn deployed(&mut self, variant: &str, version: &str, at: EventTime) {
        let name = Version {
            variant: variant.into(),
            version: version.into(),
        };
        let Some(current) = self.deployed_before(variant, EventTime(i64::MAX)) else {
            // Its searches can still arrive.
            self.add_version(name, false, at);
            return;
        };
        let Some(known) = self.versions[current].as_mut() else {
            return;
        };
        if known.is_stated {
            self.redeployed(current, (variant, version), at);
            return;
        }
        if *known.name.version == *version || known.since >= at {
            return;
        }
        // The current version stays, and another makes room for this one.
        known.last = known.last.max(at);
        if let Some(earlier) = self.find(variant, version) {
            self.remove_version(earlier);
        }
        let Some(number) = self.add_version(name, false, at) else {
            return;
        };
        for query in &mut self.queries {
            let before = query.bytes();
            let later = query.lists_of(current).split(at);
            query.lists.push((number, later));
            self.bytes = self.bytes + query.bytes() - before;
        }
    }

    /// Makes a version that searches state the last one again, without its lists from before.
    fn redeployed(&mut self, current: usize, (variant, version): (&str, &str), at: EventTime) {
        let found = self.find(variant, version);
        let Some(number) = found.filter(|it| *it != current) else {
            return;
        };
        let Some(known) = self.versions[number].as_mut().filter(|it| it.since < at) else {
            return;
        };
        known.since = at;
        for query in &mut self.queries {
            let before = query.bytes();
            let later = query.lists_of(number).split(at);
            *query.lists_of(number) = later;
            self.bytes = self.bytes + query.bytes() - before;
        }
    }
}

/// Beginning of a text, at most [`MAX_TEXT`] bytes.
fn start_of(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT)]
}
