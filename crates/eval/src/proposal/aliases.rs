//! Suggestions of aliases: frequent queries that are not in a gold set, and seem to be rewordings of one
//! that is. People decide; nothing is joined.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::facts::SearchFacts;
use super::tally::{QueryTally, Tally};
use rankgauge_core::gold::normalise;
use rankgauge_core::number::{real, real_length};

/// Results of a query that are compared.
const TOP: usize = 10;
/// Maximum number of gold queries that share a word or a result and are compared because of it. A word of
/// more queries says nothing about one of them.
const MAX_SHARED: usize = 1_000;
/// Maximum number of frequent queries that are compared.
const MAX_QUERIES: usize = 10_000;
/// Minimum shares of words, results and clicks.
const MIN_WORDS: f64 = 0.5;
const MIN_SHARED: f64 = 0.5;
/// Minimum shares of results and of clicks without common words.
const MIN_ALONE: f64 = 0.7;

/// Query that may be an alias of a gold query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AliasSuggestion {
    /// Id of the gold query.
    pub query_id: String,
    /// Its text.
    pub query_text: String,
    /// Text of the searches, the suggested alias.
    pub alias: String,
    /// Searches with this text.
    pub searches: u32,
    /// True if the texts have the same letters and digits.
    pub same_letters: bool,
    /// Similarity of the words: of the sets of words, or of the pairs of letters, whichever is higher.
    pub words: f64,
    /// Share of the most served results that both queries have.
    pub results: f64,
    /// Share of the clicks of the alias on documents that are relevant to the gold query or were clicked
    /// for it. `None` without clicks.
    pub clicks: Option<f64>,
}

/// Features of a text.
struct Text {
    letters: String,
    words: BTreeSet<String>,
    pairs: BTreeSet<[char; 2]>,
    /// Numbers in their order. Texts with other numbers mean something else: article 17 and 18.
    numbers: Vec<String>,
}

impl Text {
    fn of(text: &str) -> Self {
        let normal = normalise(text);
        let letters: String = normal.chars().filter(|it| it.is_alphanumeric()).collect();
        let of_words = normal.split(|letter: char| !letter.is_alphanumeric());
        let numbers = normal.split(|letter: char| !letter.is_numeric());
        let is_some = |part: &&str| !part.is_empty();
        let chars: Vec<char> = letters.chars().collect();
        Self {
            words: of_words.filter(is_some).map(str::to_owned).collect(),
            numbers: numbers.filter(is_some).map(str::to_owned).collect(),
            pairs: chars.array_windows().copied().collect(),
            letters,
        }
    }

    /// Similarity of the words: Jaccard of the words, or Dice of the pairs of letters.
    fn similarity(&self, other: &Self) -> f64 {
        let share = |both: usize, all: usize| real_length(both) / real_length(all.max(1));
        let both = self.words.intersection(&other.words).count();
        let jaccard = share(both, self.words.len() + other.words.len() - both);
        let pairs = self.pairs.intersection(&other.pairs).count();
        let dice = share(2 * pairs, self.pairs.len() + other.pairs.len());
        jaccard.max(dice)
    }
}

/// Query with its most served results and its clicks.
struct Traffic<'t> {
    top: FxHashSet<&'t str>,
    clicks: BTreeMap<&'t str, u32>,
}

impl<'t> Traffic<'t> {
    fn of(query: &'t QueryTally) -> Self {
        let documents = query.documents.iter();
        let mut served: Vec<(&str, u32, f64)> = documents
            .map(|(id, it)| (id.as_ref(), it.searches, it.positions))
            .collect();
        served.sort_by(
            |(a, a_searches, a_positions), (b, b_searches, b_positions)| {
                let mean = |positions: f64, searches: u32| positions / f64::from(searches.max(1));
                (Reverse(a_searches).cmp(&Reverse(b_searches)))
                    .then(
                        mean(*a_positions, *a_searches).total_cmp(&mean(*b_positions, *b_searches)),
                    )
                    .then_with(|| a.cmp(b))
            },
        );
        let clicks = query.documents.iter().filter(|(_, it)| it.clicks > 0);
        Self {
            top: served.iter().take(TOP).map(|(id, ..)| *id).collect(),
            clicks: clicks.map(|(id, it)| (id.as_ref(), it.clicks)).collect(),
        }
    }
}

/// Gold query to compare with.
struct Candidate<'t> {
    key: &'t str,
    text: &'t str,
    /// Texts and aliases.
    texts: Vec<Text>,
    relevant: FxHashSet<&'t str>,
    traffic: Option<Traffic<'t>>,
}

/// Gold queries by what a rewording shares with them.
#[derive(Default)]
struct Index {
    by_feature: FxHashMap<String, Vec<usize>>,
}

impl Index {
    fn add(&mut self, feature: String, at: usize) {
        let of = self.by_feature.entry(feature).or_default();
        if of.len() <= MAX_SHARED && of.last() != Some(&at) {
            of.push(at);
        }
    }

    fn find(&self, feature: &str) -> &[usize] {
        let found = self.by_feature.get(feature);
        found.map_or(&[], |of| if of.len() > MAX_SHARED { &[] } else { of })
    }
}

fn word(word: &str) -> String {
    format!("w{word}")
}

fn letters(letters: &str) -> String {
    format!("l{letters}")
}

fn document(id: &str) -> String {
    format!("d{id}")
}

/// Suggested aliases.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AliasSuggestions {
    /// Searches by outcome.
    pub searches: SearchFacts,
    /// Suggestions, most searched first.
    pub aliases: Vec<AliasSuggestion>,
    /// Number of further suggestions, beyond the limit.
    pub aliases_more: usize,
}

impl Tally<'_> {
    /// Suggests up to `limit` aliases among the queries with at least `min_searches` that are not in the
    /// gold set. The tally has to be [`with_judged`](Self::with_judged).
    pub fn aliases(&self, min_searches: u32, limit: usize) -> AliasSuggestions {
        let (candidates, index) = self.candidates();
        let mut frequent: Vec<&QueryTally> = self
            .queries
            .iter()
            .filter(|query| query.gold.is_none() && query.searches >= min_searches)
            .filter(|query| query.text.is_some())
            .collect();
        frequent.sort_by(|a, b| {
            b.searches
                .cmp(&a.searches)
                .then_with(|| a.text.cmp(&b.text))
        });
        let frequent = frequent.into_iter().take(MAX_QUERIES);
        let suggestions = frequent.filter_map(|query| suggestion(query, &candidates, &index));
        let mut aliases: Vec<AliasSuggestion> = suggestions.collect();
        let aliases_more = aliases.len().saturating_sub(limit);
        aliases.truncate(limit);
        let (searches, _) = self.facts();
        AliasSuggestions {
            searches,
            aliases,
            aliases_more,
        }
    }

    fn candidates(&self) -> (Vec<Candidate<'_>>, Index) {
        let traffic: FxHashMap<usize, &QueryTally> = self
            .queries
            .iter()
            .filter_map(|query| Some((query.gold?.position(), query)))
            .collect();
        let mut index = Index::default();
        let mut candidates = Vec::new();
        for (position, query) in self.gold.queries().iter().enumerate() {
            let Some(text) = &query.text else { continue };
            let at = candidates.len();
            let texts = [text].into_iter().chain(&query.aliases);
            let texts: Vec<Text> = texts.map(|text| Text::of(text)).collect();
            let judged = query.judgements.documents().into_iter();
            let level = query.judgements.level();
            let relevant =
                judged.filter(|(_, grade)| !query.by_text && grade.is_relevant_at(level));
            let relevant: FxHashSet<&str> = relevant.map(|(id, _)| id).collect();
            let traffic = traffic.get(&position).map(|query| Traffic::of(query));
            for text in &texts {
                text.words.iter().for_each(|it| index.add(word(it), at));
                index.add(letters(&text.letters), at);
            }
            let top = traffic.iter().flat_map(|it| it.top.iter());
            let documents: BTreeSet<&str> = relevant.iter().chain(top).copied().collect();
            for id in documents {
                index.add(document(id), at);
            }
            candidates.push(Candidate {
                key: &query.key,
                text,
                texts,
                relevant,
                traffic,
            });
        }
        (candidates, index)
    }
}

/// Best suggestion for a query; `None` if it is a rewording of no gold query.
fn suggestion(
    query: &QueryTally,
    candidates: &[Candidate<'_>],
    index: &Index,
) -> Option<AliasSuggestion> {
    let alias = query.text.as_deref()?;
    let text = Text::of(alias);
    let traffic = Traffic::of(query);
    let mut places: BTreeSet<usize> = BTreeSet::new();
    for it in &text.words {
        places.extend(index.find(&word(it)));
    }
    places.extend(index.find(&letters(&text.letters)));
    for id in traffic.top.iter().chain(traffic.clicks.keys()) {
        places.extend(index.find(&document(id)));
    }
    let compared = places.into_iter().filter_map(|at| {
        let suggestion = compare(query, (alias, &text, &traffic), candidates.get(at)?)?;
        let AliasSuggestion {
            words,
            results,
            clicks,
            ..
        } = suggestion;
        Some((words + results + clicks.unwrap_or(0.0), suggestion))
    });
    // Of equal ones, the first of the gold set.
    let best = compared.reduce(|best, it| if it.0 > best.0 { it } else { best });
    best.map(|(_, suggestion)| suggestion)
}

fn compare(
    query: &QueryTally,
    (alias, text, traffic): (&str, &Text, &Traffic<'_>),
    candidate: &Candidate<'_>,
) -> Option<AliasSuggestion> {
    let comparable = || (candidate.texts.iter()).filter(|it| it.numbers == text.numbers);
    let words = comparable()
        .map(|it| it.similarity(text))
        .reduce(f64::max)?;
    let same_letters = comparable().any(|it| it.letters == text.letters);
    let results = candidate.traffic.as_ref().map_or(0.0, |of| {
        let both = of.top.intersection(&traffic.top).count();
        real_length(both) / real_length(of.top.len().max(traffic.top.len()).max(1))
    });
    let is_of_query = |id: &str| {
        let clicks = candidate.traffic.as_ref().map(|of| &of.clicks);
        candidate.relevant.contains(id) || clicks.is_some_and(|clicks| clicks.contains_key(id))
    };
    let all: u64 = traffic
        .clicks
        .values()
        .map(|clicks| u64::from(*clicks))
        .sum();
    let shared = traffic.clicks.iter().filter(|(id, _)| is_of_query(id));
    let shared: u64 = shared.map(|(_, clicks)| u64::from(*clicks)).sum();
    let clicks = (all > 0).then(|| real(shared) / real(all));
    let is_reworded = words >= MIN_WORDS && results.max(clicks.unwrap_or(0.0)) >= MIN_SHARED;
    let is_same_need = results >= MIN_ALONE && clicks.unwrap_or(0.0) >= MIN_ALONE;
    (same_letters || is_reworded || is_same_need).then(|| AliasSuggestion {
        query_id: candidate.key.to_owned(),
        query_text: candidate.text.to_owned(),
        alias: alias.to_owned(),
        searches: query.searches,
        same_letters,
        words,
        results,
        clicks,
    })
}
