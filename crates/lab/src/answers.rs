//! Answers of simulated models: the documents that they cite, right or wrong.
//!
//! The module is independent of events, time and users. It draws from a random generator of its own, so
//! that a search is the same without its answer.

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use super::corpus::{Corpus, GoldQuery};
use super::serving::Served;
use super::wire::Answer;

/// Probability that an answer cites a document that it should cite, if it was served.
const CITES: f64 = 0.95;
/// Probability that an answer also cites another served document.
const CITES_MORE: f64 = 0.15;
/// Probability that a wrong citation is a document that was not served.
const INVENTS: f64 = 0.5;
/// Number of wrong citations.
const WRONG: usize = 2;

/// Documents that an answer cites: those of `best` that were served, in their order. A wrong answer cites
/// others.
pub(super) fn citations(
    served: &[(usize, u8)],
    best: &[usize],
    documents: usize,
    is_wrong: bool,
    rng: &mut ChaCha8Rng,
) -> Vec<usize> {
    let is_best = |document: usize| best.contains(&document);
    let mut cited = Vec::new();
    if is_wrong {
        let irrelevant: Vec<usize> = served
            .iter()
            .filter(|(document, grade)| *grade == 0 && !is_best(*document))
            .map(|&(document, _)| document)
            .collect();
        for _ in 0..WRONG {
            let invented = rng.random_range(0..documents.max(1));
            let served = irrelevant.choose(rng).copied();
            let is_served = rng.random::<f64>() >= INVENTS;
            cited.push(served.filter(|_| is_served).unwrap_or(invented));
        }
    } else {
        let right = served.iter().map(|&(document, _)| document);
        cited.extend(right.filter(|it| is_best(*it) && rng.random::<f64>() < CITES));
        if (cited.is_empty() || rng.random::<f64>() < CITES_MORE)
            && let Some(&(document, _)) = served.choose(rng)
        {
            cited.push(document);
        }
    }
    cited.sort_unstable();
    cited.dedup();
    cited
}

/// Answer of the law library.
pub(super) fn of_law<'a>(
    corpus: &'a Corpus,
    query: &GoldQuery,
    served: &Served<'_>,
    is_wrong: bool,
    rng: &mut ChaCha8Rng,
) -> Answer<'a> {
    let highest = query.relevant.first().map(|it| it.grade);
    let top = query.relevant.iter().filter(|it| Some(it.grade) == highest);
    let best: Vec<usize> = if query.required.is_empty() {
        top.map(|it| it.document).collect()
    } else {
        query.required.clone()
    };
    let cited = citations(&served.grades, &best, corpus.documents.len(), is_wrong, rng);
    let citations: Vec<&str> = cited
        .into_iter()
        .map(|document| corpus.documents[document].id.as_str())
        .collect();
    let named: Vec<String> = citations.iter().map(|id| id.replace('_', " ")).collect();
    Answer {
        text: format!("{}에 따릅니다.", named.join(", ")),
        citations,
        refused: false,
        model: "gpt-4o",
    }
}
