//! Plain workload: searches with their results and clicks, over a synthetic gold set.
//!
//! Every record is a function of its number, so that a stream is generated for each reader instead
//! of being stored. Records have the fields that the measures read, and the identifiers that real
//! events have beside them. They have no latencies, tokens or costs, because the programs that are
//! compared do not count these.

use std::collections::HashSet;
use std::fmt::Write as _;

use rankgauge_core::event::Kind;

/// Time of the first search: 17 November 2025.
pub(crate) const START: i64 = 1_763_337_600_000;
/// Measures of the workload: ten of ranking, one of users.
pub(crate) const MEASURES: [&str; 11] = [
    "P@1",
    "P@5",
    "P@10",
    "R@5",
    "R@10",
    "nDCG@5",
    "nDCG@10",
    "AP",
    "RR",
    "Success@5",
    "CTR",
];
/// Slices of the workload: two labels of the gold query, one of the search.
pub(crate) const SLICES: [&str; 3] = ["query_type", "difficulty", "channel"];
/// Rolling windows of the workload.
pub(crate) const WINDOWS: [&str; 3] = ["1m", "5m", "1h"];

const QUERY_TYPES: [&str; 4] = ["article", "keyword", "complex", "cross_law"];
const DIFFICULTIES: [&str; 3] = ["easy", "medium", "hard"];
const CHANNELS: [&str; 3] = ["web", "mobile", "api"];
const LAWS: [&str; 6] = [
    "국토계획법",
    "건축법",
    "주택법",
    "도로법",
    "하천법",
    "농지법",
];
/// Number of documents in the corpus.
const DOCUMENTS: u64 = 30_000;
/// Searches of one session, and distance between them in the stream.
const SESSION_SEARCHES: u64 = 3;
const SESSION_DISTANCE: u64 = 100;
/// Maximum time from a search to its click, in milliseconds.
const MAX_CLICK_DELAY: u64 = 120_000;
/// Time from a search to a click that comes after the feedback window, in milliseconds.
const LATE_CLICK_DELAY: u64 = 660_000;

/// Size of the workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    /// Number of gold queries.
    pub(crate) queries: u64,
    /// Number of judgements of each gold query.
    pub(crate) judgements: u64,
    /// Number of results of each search.
    pub(crate) results: u64,
    pub(crate) variants: u64,
    /// Searches per second of event time.
    pub(crate) rate: u64,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            queries: 1_000,
            judgements: 30,
            results: 10,
            variants: 2,
            rate: 200,
        }
    }
}

/// Record of the workload.
pub(crate) struct Record {
    pub(crate) kind: Kind,
    /// Session of the search: a search and its clicks have the same key.
    pub(crate) key: String,
    pub(crate) payload: Vec<u8>,
}

/// Click on a result of a search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Click {
    ts: i64,
    search: u64,
    nth: u64,
}

impl Workload {
    /// Gold set in the native format.
    pub(crate) fn gold_json(&self) -> String {
        let mut out = String::from(r#"{"version":"bench","scale_max":3,"queries":["#);
        for query in 0..self.queries {
            let comma = if query > 0 { "," } else { "" };
            let query_type = pick(&QUERY_TYPES, mix(&[1, query]));
            let difficulty = pick(&DIFFICULTIES, mix(&[2, query]));
            let text = query_text(query);
            put(
                &mut out,
                format_args!(
                    r#"{comma}{{"query_id":"Q{query:06}","query_text":"{text}","query_type":"{query_type}","difficulty":"{difficulty}","ground_truth":{{"#
                ),
            );
            let mut written: Vec<u64> = Vec::new();
            for place in 0..self.judgements {
                let document = self.judged(query, place);
                if written.contains(&document) {
                    continue;
                }
                let comma = if written.is_empty() { "" } else { "," };
                // The first document is relevant: every query has one.
                let grade = if place == 0 {
                    3
                } else {
                    mix(&[3, query, place]) % 4
                };
                put(
                    &mut out,
                    format_args!(r#"{comma}"{}":{grade}"#, Document(document)),
                );
                written.push(document);
            }
            out.push_str("}}");
        }
        out.push_str("]}");
        out
    }

    /// All records of the first `searches` searches, in the order of event time.
    pub(crate) fn records(self, searches: u64) -> impl Iterator<Item = Record> {
        let mut clicks = self.all_clicks(searches).into_iter().peekable();
        let mut next = 0;
        std::iter::from_fn(move || {
            let is_click = clicks
                .peek()
                .is_some_and(|click| next >= searches || click.ts < self.time(next));
            if is_click {
                return clicks.next().map(|click| self.click(click));
            }
            (next < searches).then(|| {
                next += 1;
                self.search(next - 1)
            })
        })
    }

    /// The first `searches` searches.
    pub(crate) fn searches(self, searches: u64) -> impl Iterator<Item = Record> {
        (0..searches).map(move |number| self.search(number))
    }

    /// Clicks on the first `searches` searches, in the order of event time.
    pub(crate) fn clicks(self, searches: u64) -> impl Iterator<Item = Record> {
        let clicks = self.all_clicks(searches).into_iter();
        clicks.map(move |click| self.click(click))
    }

    /// Event time of a search.
    fn time(&self, number: u64) -> i64 {
        START + i64::try_from(number * 1_000 / self.rate.max(1)).unwrap_or(i64::MAX / 2)
    }

    /// Clicks until the time of the last search, so that both topics end together. Their mean number
    /// is one a search; a search has none, one or two. One in a hundred comes after the feedback
    /// window; one in a hundred is sent twice.
    fn all_clicks(&self, searches: u64) -> Vec<Click> {
        let end = self.time(searches.saturating_sub(1));
        // One allocation: what a growing one leaves behind would hide the growth of the engine.
        let room = usize::try_from(searches + searches / 4).unwrap_or(0);
        let mut clicks = Vec::with_capacity(room);
        for search in 0..searches {
            let count = [1, 0, 2, 1][index(mix(&[4, search]), 4)];
            for nth in 0..count {
                let delay = match mix(&[5, search, nth]) % 100 {
                    0 => LATE_CLICK_DELAY,
                    _ => 1_000 + mix(&[6, search, nth]) % MAX_CLICK_DELAY,
                };
                let ts = self.time(search) + i64::try_from(delay).unwrap_or(0);
                let click = Click { ts, search, nth };
                let copies = if mix(&[7, search, nth]).is_multiple_of(100) {
                    2
                } else {
                    1
                };
                clicks.extend(std::iter::repeat_n(click, copies));
            }
        }
        clicks.retain(|click| click.ts <= end);
        clicks.sort_unstable();
        clicks
    }

    fn session(number: u64) -> u64 {
        let block = SESSION_SEARCHES * SESSION_DISTANCE;
        number / block * SESSION_DISTANCE + number % SESSION_DISTANCE
    }

    /// Gold query of a search; `None` for one in twelve, which is not in the gold set.
    fn query(&self, number: u64) -> Option<u64> {
        let judged = !mix(&[8, number]).is_multiple_of(12);
        judged.then(|| mix(&[9, number]) % self.queries.max(1))
    }

    /// Judged document of a query.
    fn judged(&self, query: u64, place: u64) -> u64 {
        mix(&[10, query, place % self.judgements.max(1)]) % DOCUMENTS
    }

    /// Results of a search, without repetitions: two in five are judged documents of its query.
    fn documents(&self, number: u64) -> Vec<u64> {
        let query = self.query(number);
        let wanted = usize::try_from(self.results).unwrap_or(usize::MAX);
        let mut documents = Vec::with_capacity(wanted);
        let mut served = HashSet::with_capacity(wanted);
        let mut draw = 0;
        while documents.len() < wanted {
            let chance = mix(&[11, number, draw]);
            let document = match query {
                // Beyond the judged documents, further draws of them would be repetitions.
                Some(query) if chance % 5 < 2 && draw < 4 * self.judgements => {
                    self.judged(query, chance / 5)
                }
                _ => mix(&[12, number, draw]) % DOCUMENTS,
            };
            if served.insert(document) {
                documents.push(document);
            }
            draw += 1;
        }
        documents
    }

    fn search(&self, number: u64) -> Record {
        let session = Self::session(number);
        let key = format!("s-{session:010}");
        let mut out = String::with_capacity(1_100);
        let ts = self.time(number);
        put(
            &mut out,
            format_args!(r#"{{"query_id":"{}","ts":{ts}"#, QueryId(number)),
        );
        match (self.query(number), mix(&[13, number]) % 10) {
            (None, _) => put(&mut out, format_args!(r#","query":"판례 검색 {number}""#)),
            (Some(query), 0..6) => put(
                &mut out,
                format_args!(
                    r#","query":"{}","query_key":"Q{query:06}""#,
                    query_text(query)
                ),
            ),
            (Some(query), 6..9) => {
                put(
                    &mut out,
                    format_args!(r#","query":"{}""#, query_text(query)),
                );
            }
            // As users write it: found only after normalisation.
            (Some(query), _) => {
                let text = query_text(query).to_lowercase().replace(' ', "  ");
                put(&mut out, format_args!(r#","query":" {text}""#));
            }
        }
        let variant = session % self.variants.max(1);
        let channel = pick(&CHANNELS, mix(&[14, session]));
        let (client, trace) = (session % 5_000, u128::from(mix(&[15, number])) << 60);
        put(
            &mut out,
            format_args!(
                r#","application":"law-search","session_id":"{key}","client_id":"c-{client}","trace_id":"{trace:032x}","experiment":{{"id":"ablation","variant":"V{variant}"}},"total_hits":{},"labels":{{"channel":"{channel}"}},"results":["#,
                self.results * 7
            ),
        );
        for (place, document) in self.documents(number).into_iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let score = 9_999_u64.saturating_sub(u64::try_from(place).unwrap_or(0) * 9);
            put(
                &mut out,
                format_args!(
                    r#"{comma}{{"id":"{}","score":0.{score:04}}}"#,
                    Document(document)
                ),
            );
        }
        out.push_str("]}");
        Record {
            kind: Kind::Search,
            key,
            payload: out.into_bytes(),
        }
    }

    fn click(&self, click: Click) -> Record {
        let Click { ts, search, nth } = click;
        let key = format!("s-{:010}", Self::session(search));
        // Users click near the top: the lower of two draws.
        let place = |draw| mix(&[draw, search, nth]) % self.results.max(1);
        let place = place(16).min(place(17));
        let documents = self.documents(search);
        let object = documents.get(index(place, documents.len().max(1))).copied();
        // One in two hundred names a search that does not exist.
        let query_id = match mix(&[18, search, nth]) % 200 {
            0 => format!("lost-{}", QueryId(search)),
            _ => QueryId(search).to_string(),
        };
        let mut out = String::with_capacity(260);
        put(
            &mut out,
            format_args!(
                r#"{{"event_id":"e-{search:012}-{nth}","ts":{ts},"type":"click","query_id":"{query_id}","session_id":"{key}","object_id":"{}","position":{}}}"#,
                Document(object.unwrap_or(0)),
                place + 1
            ),
        );
        Record {
            kind: Kind::Feedback,
            key,
            payload: out.into_bytes(),
        }
    }
}

/// Id of a search.
struct QueryId(u64);

impl std::fmt::Display for QueryId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "01JCW2Z6Q4-{:012}", self.0)
    }
}

/// Id of a document, which is a chunk of a paragraph of a law.
struct Document(u64);

impl std::fmt::Display for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let law = pick(&LAWS, self.0);
        let (article, chunk) = (self.0 / 6 / 10 + 1, self.0 / 6 % 10);
        write!(
            f,
            "{law}_제{article}조_제{}항::chunk{chunk}",
            article % 7 + 1
        )
    }
}

fn query_text(query: u64) -> String {
    format!("BIM {} 건축 허가 기준 {query}", pick(&LAWS, query))
}

/// Appends to a text, which cannot fail.
fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments)
        .expect("invariant: writing to a String does not fail");
}

fn pick<'a>(all: &[&'a str], chance: u64) -> &'a str {
    all[index(chance, all.len())]
}

/// Maps a number to an index below `length`.
fn index(number: u64, length: usize) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX) % length
}

/// Returns a well-mixed number from `parts`, always the same (the finaliser of SplitMix64).
fn mix(parts: &[u64]) -> u64 {
    parts
        .iter()
        .fold(0x9e37_79b9_7f4a_7c15, |state: u64, part| {
            let mut mixed = state ^ part.wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        })
}
