//! Searches with their clicks, cleaned of bots, in bounded memory.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use rankgauge_core::event::{Action, Feedback, Search};
use rankgauge_core::gold::normalise;
use rankgauge_core::ranking::Rules;

/// Default memory limit of a log in bytes, approximate: 512 MiB, for about 4 million searches.
pub const DEFAULT_MEMORY_LIMIT: usize = 512 << 20;

/// Maximum depth: ranks of a search are bits of a number.
pub(super) const MAX_DEPTH: usize = 64;
/// Clicks in a search that are never too many.
const MIN_TOO_MANY_CLICKS: usize = 5;
/// Maximum number of searches of a session in an hour.
const MAX_SESSION_SEARCHES: usize = 60;
/// An hour in milliseconds.
const HOUR: i64 = 3_600_000;

const MARK_BYTES: usize = size_of::<Mark>();
const SEARCH_BYTES: usize = size_of::<StoredSearch>() + 40;
const DOCUMENT_BYTES: usize = 80;
const QUERY_BYTES: usize = 160;

/// Click or impression that waits for its search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    search: u64,
    /// Hash of the result's id, or its position from 1.
    result: u64,
    is_position: bool,
    is_click: bool,
}

/// Search as the log stores it. Bit r of a mask stands for the result at index r.
#[derive(Clone, Debug)]
pub(super) struct StoredSearch {
    pub(super) time: i64,
    id: u64,
    session: Option<u64>,
    pub(super) query: u32,
    pub(super) variant: u16,
    page: u32,
    /// Documents by index in [`CleanLog::documents`]; a repeated document has `u32::MAX`.
    pub(super) documents: Box<[u32]>,
    pub(super) shown: u64,
    pub(super) clicked: u64,
}

/// Query of the log.
#[derive(Clone, Debug)]
pub(super) struct LoggedQuery {
    /// Normalised text.
    pub(super) normal: Rc<str>,
    /// Text of the first search.
    pub(super) text: Box<str>,
    /// Key, if all searches that state one state this one.
    pub(super) key: Option<Box<str>>,
    has_several_keys: bool,
    pub(super) searches: u64,
    is_dropped: bool,
}

/// Searches that were left out, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Searches of a probe.
    pub synthetic: u64,
    /// Searches with filters or another order, and those that do not meet the conditions of `gold.judge_when`:
    /// they are not judged either.
    pub not_eligible: u64,
    /// Searches with clicks on more than half of their results, and more than 5.
    pub too_many_clicks: u64,
    /// Searches of sessions with more than 60 searches in an hour.
    pub busy_session: u64,
    /// Searches that were read twice.
    pub duplicate: u64,
    /// Searches without a text or key.
    pub without_query: u64,
    /// Searches of the rarest queries, beyond the memory limit.
    pub rare_query: u64,
}

impl LeftOut {
    /// Sum of all reasons.
    pub fn total(&self) -> u64 {
        self.synthetic
            + self.not_eligible
            + self.too_many_clicks
            + self.busy_session
            + self.duplicate
            + self.without_query
            + self.rare_query
    }
}

/// Searches with their clicks.
#[derive(Debug)]
pub struct ClickLog {
    judging: Rules,
    depth: usize,
    memory_limit: usize,
    memory: usize,
    marks: Vec<Mark>,
    are_marks_sorted: bool,
    feedback_over_limit: u64,
    read: FxHashSet<u64>,
    query_indexes: FxHashMap<Rc<str>, u32>,
    queries: Vec<LoggedQuery>,
    document_indexes: FxHashMap<Rc<str>, u32>,
    documents: Vec<Rc<str>>,
    variants: Vec<String>,
    searches: Vec<StoredSearch>,
    searches_read: u64,
    clicks: u64,
    left_out: LeftOut,
}

/// Cleaned searches in the order of their times.
#[derive(Debug)]
pub struct CleanLog {
    pub(super) searches: Vec<StoredSearch>,
    pub(super) queries: Vec<LoggedQuery>,
    pub(super) documents: Vec<Rc<str>>,
    pub(super) variants: Vec<String>,
    pub(super) depth: usize,
    /// Searches that were read.
    pub searches_read: u64,
    /// Clicks and impressions that were read beyond the memory limit; the others are biased then.
    pub feedback_over_limit: u64,
    /// Searches that were left out.
    pub left_out: LeftOut,
}

impl ClickLog {
    /// Empty log of results down to rank `depth`, at most 64. `memory_limit` is approximate.
    pub fn new(judging: Rules, depth: usize, memory_limit: usize) -> Self {
        Self {
            judging,
            depth: depth.clamp(1, MAX_DEPTH),
            memory_limit,
            memory: 0,
            marks: Vec::new(),
            are_marks_sorted: true,
            feedback_over_limit: 0,
            read: FxHashSet::default(),
            query_indexes: FxHashMap::default(),
            queries: Vec::new(),
            document_indexes: FxHashMap::default(),
            documents: Vec::new(),
            variants: Vec::new(),
            searches: Vec::new(),
            searches_read: 0,
            clicks: 0,
            left_out: LeftOut::default(),
        }
    }

    /// Stores a click or an impression until its search is read.
    pub fn feedback(&mut self, event: &Feedback<'_>) {
        let is_click = match event.action {
            Action::Click => true,
            Action::Impression => false,
            _ => return,
        };
        let Some(query_id) = &event.query_id else {
            return;
        };
        // An impression without a position does not state which results were in view.
        let position = event.position.map(|position| (u64::from(position), true));
        let object = event.object_id.as_deref().map(|id| (hash(id), false));
        let result = if is_click {
            object.or(position)
        } else {
            position
        };
        let Some((result, is_position)) = result else {
            return;
        };
        if self.memory + MARK_BYTES > self.memory_limit / 2 {
            self.feedback_over_limit += 1;
            return;
        }
        self.memory += MARK_BYTES;
        self.are_marks_sorted = false;
        self.marks.push(Mark {
            search: hash(query_id),
            result,
            is_position,
            is_click,
        });
    }

    /// Stores a search with its clicks, unless it is left out.
    pub fn search(&mut self, search: &Search<'_>) {
        self.searches_read += 1;
        let id = hash(&search.query_id);
        if !self.read.insert(id) {
            self.left_out.duplicate += 1;
            return;
        }
        if search.is_synthetic() {
            self.left_out.synthetic += 1;
            return;
        }
        if self.judging.eligibility.check_any_page(search).is_err() {
            self.left_out.not_eligible += 1;
            return;
        }
        let text = search.query.as_deref().unwrap_or_default();
        let key = search.query_key.as_deref().filter(|key| !key.is_empty());
        let normal = normalise(text);
        let Some(identity) = Some(normal.as_ref()).filter(|it| !it.is_empty()).or(key) else {
            self.left_out.without_query += 1;
            return;
        };
        let (shown, clicked) = self.marked(id, search);
        let clicks = clicked.iter().filter(|clicked| **clicked).count();
        let results = search.results.len();
        if clicks > MIN_TOO_MANY_CLICKS && clicks * 2 > results {
            self.left_out.too_many_clicks += 1;
            return;
        }
        let query = self.query_index(identity, text, key);
        let has_impressions = shown.contains(&true);
        let mask = |flags: &[bool]| {
            let set = flags.iter().take(MAX_DEPTH).enumerate();
            set.filter(|(_, flag)| **flag)
                .fold(0_u64, |mask, (at, _)| mask | 1 << at)
        };
        let mut seen = FxHashSet::default();
        let judge_by = self.judging.judge_by;
        let documents = search.results.iter().take(self.depth);
        let documents: Box<[u32]> = documents
            .map(|hit| {
                let document = judge_by.document(hit);
                if !document.is_empty() && seen.insert(document) {
                    self.document_index(document)
                } else {
                    u32::MAX
                }
            })
            .collect();
        let session = search.user_session().map(hash);
        let variant = self.variant_index(search.variant());
        self.memory += SEARCH_BYTES + 4 * documents.len();
        self.searches.push(StoredSearch {
            time: search.ts.0,
            id,
            session,
            query,
            variant,
            page: search.page.unwrap_or(1).max(1),
            documents,
            shown: if has_impressions {
                mask(&shown)
            } else {
                u64::MAX
            },
            clicked: mask(&clicked),
        });
        self.clicks += u64::from(mask(&clicked).count_ones());
        if self.memory > self.memory_limit {
            self.drop_rare_queries();
        }
    }

    /// Flags of the shown and of the clicked results. A repeated document counts at its first rank.
    fn marked(&mut self, id: u64, search: &Search<'_>) -> (Vec<bool>, Vec<bool>) {
        if !self.are_marks_sorted {
            self.marks.sort_unstable();
            self.marks.dedup();
            self.are_marks_sorted = true;
        }
        let results = &search.results;
        let mut flags = (vec![false; results.len()], vec![false; results.len()]);
        let start = self.marks.partition_point(|mark| mark.search < id);
        let marks = self.marks[start..].iter();
        let mut marks = marks.take_while(|mark| mark.search == id).peekable();
        if marks.peek().is_none() {
            return flags;
        }
        let documents: Vec<&str> = results
            .iter()
            .map(|hit| self.judging.judge_by.document(hit))
            .collect();
        let mut first = FxHashMap::default();
        let mut by_id = FxHashMap::default();
        for (at, document) in documents.iter().enumerate() {
            first.entry(*document).or_insert(at);
        }
        for (at, hit) in results.iter().enumerate() {
            by_id.entry(hash(&hit.id)).or_insert(at);
        }
        for (at, document) in documents.iter().enumerate() {
            by_id.entry(hash(document)).or_insert(at);
        }
        for mark in marks {
            let at = if mark.is_position {
                usize::try_from(mark.result)
                    .ok()
                    .and_then(|it| it.checked_sub(1))
            } else {
                by_id.get(&mark.result).copied()
            };
            let document = at.and_then(|at| documents.get(at));
            let Some(at) = document.and_then(|document| first.get(*document)) else {
                continue;
            };
            let flags = if mark.is_click {
                &mut flags.1
            } else {
                &mut flags.0
            };
            flags[*at] = true;
        }
        flags
    }

    fn query_index(&mut self, normal: &str, text: &str, key: Option<&str>) -> u32 {
        let index = if let Some(index) = self.query_indexes.get(normal) {
            *index
        } else {
            let index = u32::try_from(self.queries.len()).unwrap_or(u32::MAX);
            let normal: Rc<str> = normal.into();
            self.memory += QUERY_BYTES + normal.len() + text.len();
            self.query_indexes.insert(Rc::clone(&normal), index);
            self.queries.push(LoggedQuery {
                normal,
                text: text.into(),
                key: None,
                has_several_keys: false,
                searches: 0,
                is_dropped: false,
            });
            index
        };
        if let Some(query) = position(index).and_then(|at| self.queries.get_mut(at)) {
            query.searches += 1;
            match (&query.key, key) {
                (None, Some(key)) if !query.has_several_keys => query.key = Some(key.into()),
                (Some(known), Some(key)) if **known != *key => {
                    query.key = None;
                    query.has_several_keys = true;
                }
                _ => {}
            }
        }
        index
    }

    fn document_index(&mut self, document: &str) -> u32 {
        if let Some(index) = self.document_indexes.get(document) {
            return *index;
        }
        let index = u32::try_from(self.documents.len()).unwrap_or(u32::MAX);
        let document: Rc<str> = document.into();
        self.memory += DOCUMENT_BYTES + document.len();
        self.document_indexes.insert(Rc::clone(&document), index);
        self.documents.push(document);
        index
    }

    fn variant_index(&mut self, variant: &str) -> u16 {
        let known = self.variants.iter().position(|known| known == variant);
        let index = known.unwrap_or_else(|| {
            // Further variants share the last number.
            if self.variants.len() < usize::from(u16::MAX) {
                self.variants.push(variant.to_owned());
            }
            self.variants.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }

    /// Drops the queries with the fewest searches, until half of the memory of searches is free. The
    /// choice depends on searches only, so that click rates stay unbiased.
    fn drop_rare_queries(&mut self) {
        let mut counts: Vec<(u64, u32)> = Vec::new();
        for (index, query) in self.queries.iter().enumerate() {
            if !query.is_dropped {
                counts.push((query.searches, u32::try_from(index).unwrap_or(u32::MAX)));
            }
        }
        counts.sort_unstable();
        let goal = u64::try_from(self.searches.len()).unwrap_or(u64::MAX) / 2;
        let mut dropped = 0;
        for (searches, index) in counts {
            if dropped >= goal {
                break;
            }
            dropped += searches;
            if let Some(query) = position(index).and_then(|at| self.queries.get_mut(at)) {
                query.is_dropped = true;
            }
        }
        self.compact();
    }

    /// Removes the searches of dropped queries, and the documents that no other search served.
    fn compact(&mut self) {
        let queries = &self.queries;
        let is_dropped = |index: u32| {
            position(index)
                .and_then(|at| queries.get(at))
                .is_none_or(|query| query.is_dropped)
        };
        let before = self.searches.len();
        self.searches.retain(|search| !is_dropped(search.query));
        let removed = before - self.searches.len();
        self.left_out.rare_query += u64::try_from(removed).unwrap_or(u64::MAX);
        let old = std::mem::take(&mut self.documents);
        self.document_indexes.clear();
        let mut renamed: FxHashMap<u32, u32> = FxHashMap::default();
        let mut documents = Vec::new();
        let mut bytes = 0;
        for search in &mut self.searches {
            bytes += SEARCH_BYTES + 4 * search.documents.len();
            for index in &mut search.documents {
                let Some(document) = position(*index).and_then(|at| old.get(at)) else {
                    continue;
                };
                let next = u32::try_from(documents.len()).unwrap_or(u32::MAX);
                let new = *renamed.entry(*index).or_insert(next);
                if new == next {
                    bytes += DOCUMENT_BYTES + document.len();
                    documents.push(Rc::clone(document));
                    self.document_indexes.insert(Rc::clone(document), new);
                }
                *index = new;
            }
        }
        self.documents = documents;
        // A dropped query is a new one if it is searched again, so its text is not kept.
        self.query_indexes.retain(|_, index| !is_dropped(*index));
        for query in &mut self.queries {
            if query.is_dropped {
                query.normal = "".into();
                query.text = "".into();
            } else {
                bytes += QUERY_BYTES + query.normal.len() + query.text.len();
            }
        }
        self.memory = bytes + self.marks.len() * MARK_BYTES;
    }

    /// Number of clicks on stored results.
    pub fn clicks(&self) -> u64 {
        self.clicks
    }

    /// Leaves out the sessions of machines, and puts results of later pages at their ranks.
    pub fn clean(self) -> CleanLog {
        let Self {
            mut searches,
            queries,
            documents,
            variants,
            depth,
            searches_read,
            feedback_over_limit,
            mut left_out,
            ..
        } = self;
        let busy = busy_sessions(&searches);
        let before = searches.len();
        searches.retain(|search| search.session.is_none_or(|it| !busy.contains(&it)));
        left_out.busy_session += u64::try_from(before - searches.len()).unwrap_or(u64::MAX);
        // The largest page is a full one.
        let page_size = searches.iter().map(|search| search.documents.len()).max();
        let page_size = page_size.unwrap_or(0).max(1);
        for search in &mut searches {
            let pages = usize::try_from(search.page - 1).unwrap_or(usize::MAX);
            let offset = pages.saturating_mul(page_size).min(depth);
            if offset == 0 {
                continue;
            }
            let before = std::iter::repeat_n(u32::MAX, offset);
            let results = search.documents.iter().copied();
            search.documents = before.chain(results).take(depth).collect();
            let shift = |mask: u64| {
                u32::try_from(offset)
                    .ok()
                    .and_then(|it| mask.checked_shl(it))
            };
            search.shown = shift(search.shown).unwrap_or(0);
            search.clicked = shift(search.clicked).unwrap_or(0);
        }
        searches.sort_by_key(|search| (search.time, search.id));
        CleanLog {
            searches,
            queries,
            documents,
            variants,
            depth,
            searches_read,
            feedback_over_limit,
            left_out,
        }
    }
}

/// Sessions with too many searches in any hour.
fn busy_sessions(searches: &[StoredSearch]) -> FxHashSet<u64> {
    let of_sessions = searches.iter();
    let mut times: Vec<(u64, i64)> = of_sessions
        .filter_map(|search| Some((search.session?, search.time)))
        .collect();
    times.sort_unstable();
    let pairs = times.iter().zip(times.iter().skip(MAX_SESSION_SEARCHES));
    let busy = pairs.filter(|(first, last)| first.0 == last.0 && last.1 - first.1 < HOUR);
    busy.map(|(first, _)| first.0).collect()
}

/// Index in memory. `None` for a repeated document.
pub(super) fn position(index: u32) -> Option<usize> {
    usize::try_from(index).ok().filter(|_| index != u32::MAX)
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
