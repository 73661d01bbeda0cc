//! Synthetic web shop: outdoor products, a gold set, three search systems and answers of a shopping
//! assistant.
//!
//! Everything follows from a seed. A system ranks the candidates of a query by their grade plus noise:
//! the less noise, the better the system. Part of the noise belongs to the query, so that a system answers
//! it alike each time. The module is independent of users, sessions and the order of events.

mod catalogue;
mod gold;
mod noise;
mod wording;

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::answers;
use super::fault::Fault;
use super::wire::{Answer, Experiment, Stage, Stamp, Usage, written};
use catalogue::{Product, Question, ShopQuery};
pub use noise::SYSTEMS;
use noise::{FAULT_NOISE, QUERY_NOISE, SEARCH_NOISE, normal};
use rankgauge_core::time::EventTime;

/// Index of the system with words alone, and of the last one, which faults affect.
const KEYWORD: usize = 0;
const RERANK: usize = 2;
/// Mean latency in milliseconds, the factor of the fault, and the spread of its logarithm.
const LATENCY_MS: [f64; 3] = [24.0, 61.0, 140.0];
const FAULT_LATENCY: f64 = 1.4;
const LATENCY_SPREAD: f64 = 0.3;
/// Latency of an answer in milliseconds.
const ANSWER_MS: f64 = 900.0;
const RESULTS: usize = 10;
/// Number of results that the assistant receives.
const CONTEXT: usize = 5;
/// Share of searches that fail, and of answers that are refused although the results suffice, and where
/// they do not.
const FAILS: f64 = 0.003;
const REFUSES: f64 = 0.03;
const REFUSES_UNANSWERABLE: f64 = 0.85;
/// Share of searches that state the key of their query beside its text, and of those that spell it
/// otherwise.
const STATES_KEY: f64 = 0.5;
const SPELLS_OTHERWISE: f64 = 0.15;
const DEVICES: [&str; 3] = ["web", "app", "mobile"];

/// Small web shop with its gold queries.
#[derive(Debug)]
pub struct Shop {
    seed: u64,
    products: Vec<Product>,
    queries: Vec<ShopQuery>,
    /// Query texts without judgements.
    unjudged: Vec<String>,
}

/// Values of one search that do not depend on the shop.
pub(super) struct Context<'a> {
    pub(super) query_id: &'a str,
    pub(super) session_id: &'a str,
    pub(super) client_id: &'a str,
    pub(super) ts: EventTime,
    /// Index of the system.
    pub(super) system: usize,
    pub(super) fault: Option<Fault>,
    pub(super) is_bot: bool,
    pub(super) unjudged_share: f64,
}

/// One executed search.
#[derive(Serialize)]
struct Search<'a> {
    query_id: &'a str,
    ts: Stamp,
    query: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    query_key: Option<&'a str>,
    application: &'static str,
    session_id: &'a str,
    client_id: &'a str,
    experiment: Experiment,
    results: Vec<Hit<'a>>,
    total_hits: usize,
    latency_ms: f64,
    stages: Vec<Stage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    usage: Vec<Usage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    context: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Answer<'a>>,
    labels: Labels,
}

/// One result.
#[derive(Serialize)]
struct Hit<'a> {
    id: &'a str,
    rank: usize,
    score: f64,
    stages: &'static [&'static str],
    attrs: Facets,
}

/// Facets of a product.
#[derive(Serialize)]
struct Facets {
    department: &'static str,
    brand: &'static str,
    price: &'static str,
}

/// Labels of a search.
#[derive(Serialize)]
struct Labels {
    device: &'static str,
}

impl Shop {
    /// Generates the shop of `seed`: 576 products and 192 gold queries.
    pub fn generate(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let products = catalogue::products(&mut rng);
        let queries = catalogue::queries(&products, &mut rng);
        Self {
            seed,
            products,
            queries,
            unjudged: catalogue::unjudged_queries(),
        }
    }

    /// Returns the gold set as a file in the native format.
    pub fn gold_json(&self) -> String {
        gold::json(self.seed, &self.products, &self.queries)
    }

    pub(super) fn document_id(&self, product: usize) -> Option<&str> {
        self.products.get(product).map(|it| it.id.as_str())
    }

    /// One search: its event, and the product and grade of each result.
    pub(super) fn search(
        &self,
        of: &Context<'_>,
        rng: &mut ChaCha8Rng,
    ) -> (Vec<u8>, Vec<(usize, u8)>) {
        let is_judged = rng.random::<f64>() >= of.unjudged_share;
        let query = if of.is_bot {
            self.hardest()
        } else {
            self.queries.choose(rng).filter(|_| is_judged)
        };
        let fails = of.fault == Some(Fault::Outage) || rng.random::<f64>() < FAILS;
        let mut ranked = match query {
            _ if fails => Vec::new(),
            Some(query) => rank(query, of, rng),
            None => self.unjudged_results(rng),
        };
        if of.fault == Some(Fault::Unjudged)
            && let Some(query) = query
        {
            self.replace_by_unjudged(query, &mut ranked, rng);
        }
        let is_wrong = of.fault == Some(Fault::Ranking);
        let results = self.hits(&ranked, (of.system, is_wrong), rng);
        let question = query.and_then(|it| Some((it, it.question.as_ref()?)));
        let question = question.filter(|_| of.system != KEYWORD && !fails);
        let context: Vec<&str> = match question {
            Some(_) => results.iter().take(CONTEXT).map(|hit| hit.id).collect(),
            None => Vec::new(),
        };
        let answer = question.map(|(query, question)| {
            let is_wrong = of.fault == Some(Fault::Citations);
            self.answer(query, question, &ranked, is_wrong, rng)
        });
        let stages = stages(
            (of.system, is_wrong),
            (&results, fails),
            answer.is_some(),
            rng,
        );
        let latency: f64 = stages.iter().map(|stage| stage.latency_ms).sum();
        let text = match query {
            Some(query) if rng.random::<f64>() < SPELLS_OTHERWISE => &query.odd_spelling,
            Some(query) => &query.text,
            None => self.unjudged.choose(rng).map_or("", String::as_str),
        };
        let key = query.filter(|_| rng.random::<f64>() < STATES_KEY);
        let event = Search {
            query_id: of.query_id,
            ts: Stamp::Millis(of.ts),
            query: text,
            query_key: key.map(|query| query.key.as_str()),
            application: "shop",
            session_id: of.session_id,
            client_id: of.client_id,
            experiment: Experiment {
                id: "search-ranking",
                variant: SYSTEMS[of.system],
            },
            total_hits: results.len() + rng.random_range(0..60),
            results,
            latency_ms: rounded(latency, 10.0),
            stages,
            usage: usage(of.system, answer.is_some(), rng),
            context,
            error_type: fails.then_some("index_unavailable"),
            answer,
            labels: Labels {
                device: DEVICES[rng.random_range(0..DEVICES.len())],
            },
        };
        (written(&event, 4_096), ranked)
    }

    /// Query that systems answer worst.
    fn hardest(&self) -> Option<&ShopQuery> {
        let queries = self.queries.iter();
        queries.max_by(|a, b| a.difficulty.total_cmp(&b.difficulty))
    }

    /// Consecutive products from a random one: their relevance is unknown.
    fn unjudged_results(&self, rng: &mut ChaCha8Rng) -> Vec<(usize, u8)> {
        let first = rng.random_range(0..self.products.len().max(1));
        let all = (0..self.products.len()).cycle().skip(first);
        all.take(RESULTS).map(|product| (product, 0)).collect()
    }

    /// Replaces every third result by products without a judgement, which users like as much.
    fn replace_by_unjudged(
        &self,
        query: &ShopQuery,
        ranked: &mut [(usize, u8)],
        rng: &mut ChaCha8Rng,
    ) {
        let first = rng.random_range(0..self.products.len().max(1));
        let is_new = |product: &usize| query.candidates.iter().all(|it| it.product != *product);
        let all = (0..self.products.len()).cycle().skip(first);
        let others = all.take(self.products.len()).filter(is_new);
        let replaced = ranked
            .iter_mut()
            .enumerate()
            .filter(|(place, _)| place % 3 == 2);
        for ((_, result), other) in replaced.zip(others) {
            result.0 = other;
        }
    }

    fn hits(
        &self,
        ranked: &[(usize, u8)],
        (system, is_wrong): (usize, bool),
        rng: &mut ChaCha8Rng,
    ) -> Vec<Hit<'_>> {
        let mut score = 0.97;
        let hits = ranked.iter().zip(1..).map(|(&(product, grade), rank)| {
            let product = &self.products[product];
            score *= 1.0 - 0.05 * rng.random::<f64>();
            Hit {
                id: &product.id,
                rank,
                score: rounded(score, 1e4),
                stages: found_by(system, (grade, is_wrong), rng),
                attrs: Facets {
                    department: product.department,
                    brand: product.brand,
                    price: product.price,
                },
            }
        });
        hits.collect()
    }

    /// Answer of the shopping assistant to a question.
    fn answer<'a>(
        &'a self,
        query: &ShopQuery,
        question: &Question,
        ranked: &[(usize, u8)],
        is_wrong: bool,
        rng: &mut ChaCha8Rng,
    ) -> Answer<'a> {
        let chance = if question.is_answerable {
            REFUSES
        } else {
            REFUSES_UNANSWERABLE
        };
        let refused = rng.random::<f64>() < chance;
        let served: Vec<(usize, u8)> = ranked.iter().take(CONTEXT).copied().collect();
        let best = query.best();
        let cited = answers::citations(&served, &best, self.products.len(), is_wrong, rng);
        let cited: Vec<&Product> = if refused {
            Vec::new()
        } else {
            cited.into_iter().map(|it| &self.products[it]).collect()
        };
        Answer {
            text: question.answer(&cited),
            citations: cited.iter().map(|it| it.id.as_str()).collect(),
            refused,
            model: "gpt-4o-mini",
        }
    }
}

/// Products and grades of a ranking.
fn rank(query: &ShopQuery, of: &Context<'_>, rng: &mut ChaCha8Rng) -> Vec<(usize, u8)> {
    let is_wrong = of.fault == Some(Fault::Ranking);
    let noise = if is_wrong {
        FAULT_NOISE
    } else {
        SEARCH_NOISE[of.system] * query.difficulty
    };
    let mut ranked: Vec<(f64, usize, u8)> = query
        .candidates
        .iter()
        .map(|it| {
            let of_query = it.noise[of.system] * QUERY_NOISE[of.system] * query.difficulty;
            let score = f64::from(it.grade) + of_query + noise * normal(rng);
            (score, it.product, it.grade)
        })
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.truncate(RESULTS);
    ranked
        .into_iter()
        .map(|(_, product, grade)| (product, grade))
        .collect()
}

/// Stages that found a product. A wrong ranking has irrelevant results of the vector search.
fn found_by(
    system: usize,
    (grade, is_wrong): (u8, bool),
    rng: &mut ChaCha8Rng,
) -> &'static [&'static str] {
    let draw = rng.random::<f64>();
    match system {
        KEYWORD => &["bm25"],
        RERANK if is_wrong && grade == 0 => &["vector"],
        _ if is_wrong || draw < 0.3 => &["bm25"],
        _ if draw < 0.65 => &["bm25", "vector"],
        _ => &["vector"],
    }
}

/// Stages of a search with their latencies.
fn stages(
    (system, is_wrong): (usize, bool),
    (results, fails): (&[Hit<'_>], bool),
    has_answer: bool,
    rng: &mut ChaCha8Rng,
) -> Vec<Stage> {
    let shares: &[(&str, f64)] = match system {
        KEYWORD => &[("bm25", 1.0)],
        RERANK => &[("bm25", 0.15), ("vector", 0.25), ("rerank", 0.6)],
        _ => &[("bm25", 0.4), ("vector", 0.6)],
    };
    let factor = if is_wrong { FAULT_LATENCY } else { 1.0 };
    let mut stages: Vec<Stage> = shares
        .iter()
        .map(|&(name, share)| Stage {
            name,
            latency_ms: rounded(varied(LATENCY_MS[system] * share * factor, rng), 10.0),
            hits: results
                .iter()
                .filter(|hit| name == "rerank" || hit.stages.contains(&name))
                .count(),
            error: None,
        })
        .collect();
    if has_answer {
        stages.push(Stage {
            name: "answer",
            latency_ms: rounded(varied(ANSWER_MS, rng), 10.0),
            hits: 0,
            error: None,
        });
    }
    if fails && let Some(first) = stages.first_mut() {
        first.error = Some("index_unavailable");
    }
    stages
}

/// Model calls of a search.
fn usage(system: usize, has_answer: bool, rng: &mut ChaCha8Rng) -> Vec<Usage> {
    let mut calls = Vec::new();
    let mut call = |operation, model, input_tokens, output_tokens| {
        calls.push(Usage {
            operation,
            provider: "openai",
            model,
            input_tokens,
            output_tokens,
            cache_read_input_tokens: None,
            cost: None,
        });
    };
    if system != KEYWORD {
        call(
            "embeddings",
            "text-embedding-3-small",
            rng.random_range(4..12),
            None,
        );
    }
    if has_answer {
        let output = rng.random_range(40..90);
        call(
            "chat",
            "gpt-4o-mini",
            rng.random_range(900..1_400),
            Some(output),
        );
    }
    calls
}

/// Value that varies around `mean`; its logarithm is normal.
fn varied(mean: f64, rng: &mut ChaCha8Rng) -> f64 {
    let spread = LATENCY_SPREAD * normal(rng) - LATENCY_SPREAD * LATENCY_SPREAD / 2.0;
    mean * spread.exp()
}

/// Rounds `value` to the nearest 1/`scale`.
fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}
