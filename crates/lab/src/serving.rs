//! Simulated search service: the results of a system version with the stages that found them, the
//! domains considered, the latency and the model calls.
//!
//! Rates follow the evaluation plan (A2A triggers 5.4.1, latency 7.2.2) and the methodology
//! (routing 4.1). The module is independent of users, sessions and the order of events.

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;

use super::corpus::{Category, Corpus, GoldQuery};
use super::graph::{MAX_HOPS, draw_hops};
use super::origin::Origins;
use super::quality::{Placement, Quality, RESULTS, Variant, draw_length};
use super::vocabulary::DOMAINS;
use super::wire::{Cost, Fired, Hit, HitAttributes, Path, Stage, Usage};

/// Mean latency of V1 to V5 in milliseconds (7.2.2).
const LATENCY_MS: [f64; 5] = [45.0, 120.0, 180.0, 420.0, 680.0];
/// Standard deviation of the latency's logarithm.
const LATENCY_SPREAD: f64 = 0.35;
/// Latency factor of a regressed version.
const REGRESSED_LATENCY: f64 = 1.4;
/// Probability that expansion runs, if it is needed and if it is not.
const RNE_FIRES_NEEDED: f64 = 0.98;
const RNE_FIRES_NEEDLESSLY: f64 = 0.55;
/// Probability that agents run, by category: if they are needed (recall of 5.4.1), and if they are
/// not (trigger rate and precision of 5.4.1).
const A2A_FIRES_NEEDED: [f64; 4] = [0.78, 0.82, 0.86, 0.89];
const A2A_FIRES_NEEDLESSLY: [f64; 4] = [0.043, 0.088, 0.219, 0.644];
/// Probability that the correct domain is ranked first, second, third. V3 and V4 route by vector
/// similarity; in V5, a model examines the candidates.
const ROUTED_BY_LIKENESS: [f64; 3] = [0.64, 0.15, 0.07];
const ROUTED_BY_MODEL: [f64; 3] = [0.76, 0.12, 0.05];
/// Share of model calls whose event states their cost.
const STATED_COST: f64 = 0.05;
/// Number of results passed to the answering model.
const CONTEXT: usize = 5;
const ERRORS: [&str; 3] = ["timeout", "upstream_unavailable", "rate_limited"];

/// Stages of each version and their share of the latency.
const STAGES: [&[(&str, f64)]; 5] = [
    &[("bm25", 0.95)],
    &[("embedding", 0.45), ("vector", 0.5)],
    &[
        ("embedding", 0.3),
        ("exact", 0.1),
        ("vector", 0.35),
        ("relationship", 0.2),
    ],
    &[
        ("embedding", 0.13),
        ("exact", 0.05),
        ("vector", 0.18),
        ("relationship", 0.12),
        ("rne", 0.48),
    ],
    &[
        ("routing", 0.24),
        ("embedding", 0.07),
        ("exact", 0.03),
        ("vector", 0.1),
        ("relationship", 0.07),
        ("rne", 0.26),
        ("a2a", 0.2),
    ],
];

/// Query of a search: one with judgements, or one without.
#[derive(Clone, Copy)]
pub(super) enum QueryKind<'a> {
    Gold(&'a GoldQuery),
    Unjudged,
}

/// Served search, with the data of its event except the user and the time.
pub(super) struct Served<'a> {
    pub(super) hits: Vec<Hit<'a>>,
    /// Document and grade of each hit; the grade is 0 if the document is not judged.
    pub(super) grades: Vec<(usize, u8)>,
    pub(super) latency_ms: f64,
    pub(super) stages: Vec<Stage>,
    pub(super) usage: Vec<Usage>,
    pub(super) routing: Vec<&'static str>,
    pub(super) fired: Option<Fired>,
    pub(super) merged_from: Vec<&'a str>,
    pub(super) context: Vec<&'a str>,
    pub(super) error_type: Option<&'static str>,
}

impl<'a> Served<'a> {
    /// The search fails: it has an error and no results.
    pub(super) fn fail(&mut self) {
        self.hits.clear();
        self.grades.clear();
        self.context.clear();
        self.merged_from.clear();
        self.error_type = Some(ERRORS[1]);
    }

    /// Replaces every third result by documents without a judgement for the query. Users like them as
    /// much as those that they replace.
    pub(super) fn replace_by_unjudged(
        &mut self,
        corpus: &'a Corpus,
        query_kind: QueryKind<'_>,
        number: u64,
    ) {
        let QueryKind::Gold(query) = query_kind else {
            return;
        };
        let judged = || query.relevant.iter().chain(&query.irrelevant);
        let is_new = |document: &usize| judged().all(|it| it.document != *document);
        let first =
            usize::try_from(number).unwrap_or(0).wrapping_mul(31) % corpus.documents.len().max(1);
        let all = (0..corpus.documents.len()).cycle().skip(first);
        let mut others = all.take(corpus.documents.len()).filter(is_new);
        for (place, (hit, graded)) in self.hits.iter_mut().zip(&mut self.grades).enumerate() {
            if place % 3 != 2 {
                continue;
            }
            let Some(document) = others.next() else { break };
            graded.0 = document;
            hit.id = &corpus.documents[document].id;
            hit.group_id = &corpus.documents[document].group;
        }
    }
}

/// Serves one search. A `regressed` version ranks like V2: results from expansion and agents are
/// wrong.
pub(super) fn serve<'a>(
    corpus: &'a Corpus,
    quality: &Quality,
    (variant, regressed): (Variant, bool),
    query_kind: QueryKind<'a>,
    rng: &mut ChaCha8Rng,
) -> Served<'a> {
    let length = draw_length(rng);
    let error_type = match length {
        None => ERRORS.choose(rng).copied(),
        Some(_) => None,
    };
    let category = match query_kind {
        QueryKind::Gold(query) => query.category,
        QueryKind::Unjudged => Category::Complex,
    };
    let rne = matches!(variant, Variant::V4 | Variant::V5) && chance(rng, rne_fires(query_kind));
    let a2a = variant == Variant::V5 && chance(rng, a2a_fires(query_kind, category));
    let routing = route(variant, query_kind, rng);
    let documents = rank(
        corpus,
        quality,
        (variant, regressed),
        query_kind,
        length.unwrap_or(0),
        rng,
    );

    let origins = Origins {
        variant,
        regressed,
        category,
        rne,
        a2a,
        domain: routing.first().copied(),
    };
    let mut score: f64 = if variant == Variant::V1 { 24.0 } else { 0.99 };
    let mut hits = Vec::with_capacity(documents.len());
    for (&(number, grade), rank) in documents.iter().zip(1..) {
        let document = &corpus.documents[number];
        let domain = DOMAINS[document.domain];
        let path = path(corpus, query_kind, number, rng);
        let origin = origins.draw(grade, domain, path.hops, rng);
        score *= 1.0 - 0.06 * rng.random::<f64>();
        hits.push(Hit {
            id: &document.id,
            rank,
            score: rounded(score, 1e4),
            group_id: &document.group,
            team: None,
            stages: origin.stages,
            hops: origin.expanded.then_some(path.hops),
            depth: origins
                .rne
                .then_some(if origin.expanded { path.hops } else { 0 }),
            path: origin.expanded.then_some(path),
            attrs: HitAttributes {
                law_type: document.law_type.name(),
                doc_type: document.doc_type.name(),
                domain,
                source: if origin.a2a { "a2a" } else { "my_domain" },
            },
        });
    }
    let latency_ms = latency(variant, regressed, rng);
    let synthesised = variant == Variant::V5;
    Served {
        stages: stages(&origins, &hits, latency_ms, error_type, rng),
        usage: usage(variant, a2a, rng),
        fired: matches!(variant, Variant::V4 | Variant::V5).then_some(Fired {
            rne,
            a2a: synthesised.then_some(a2a),
        }),
        merged_from: if matches!(variant, Variant::V1 | Variant::V2) {
            Vec::new()
        } else {
            merged_from(&hits, rng)
        },
        context: if origins.expands() {
            hits.iter().take(CONTEXT).map(|hit| hit.id).collect()
        } else {
            Vec::new()
        },
        hits,
        grades: documents,
        latency_ms,
        routing,
        error_type,
    }
}

fn a2a_fires(query_kind: QueryKind<'_>, category: Category) -> f64 {
    match query_kind {
        QueryKind::Gold(query) if query.needs_a2a => A2A_FIRES_NEEDED[category.index()],
        QueryKind::Gold(_) | QueryKind::Unjudged => A2A_FIRES_NEEDLESSLY[category.index()],
    }
}

fn rne_fires(query_kind: QueryKind<'_>) -> f64 {
    match query_kind {
        QueryKind::Gold(query) if query.needs_rne => RNE_FIRES_NEEDED,
        QueryKind::Gold(_) | QueryKind::Unjudged => RNE_FIRES_NEEDLESSLY,
    }
}

/// Path by which expansion reaches a document. The path of its starting document has no hops.
fn path<'a>(
    corpus: &'a Corpus,
    query_kind: QueryKind<'_>,
    number: usize,
    rng: &mut ChaCha8Rng,
) -> Path<'a> {
    let mut path = Path {
        stops: [""; MAX_HOPS + 1],
        hops: 0,
    };
    let mut lead = |through: &mut dyn Iterator<Item = usize>| {
        for (stop, document) in path.stops.iter_mut().zip(through) {
            *stop = &corpus.documents[document].id;
        }
    };
    match query_kind {
        QueryKind::Gold(query) => {
            let route = query.graph.route(number);
            lead(&mut route.iter().copied());
            path.hops = route.len().saturating_sub(1);
        }
        QueryKind::Unjudged => {
            // An unjudged query has no known path: the path leads through neighbours in the
            // library.
            let hops = draw_hops(rng);
            let before = number + corpus.documents.len() - hops;
            lead(&mut (0..=hops).map(|step| (before + step) % corpus.documents.len()));
            path.hops = hops;
        }
    }
    path
}

/// Documents of a ranking and their grades.
fn rank(
    corpus: &Corpus,
    quality: &Quality,
    (variant, regressed): (Variant, bool),
    query_kind: QueryKind<'_>,
    length: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<(usize, u8)> {
    let QueryKind::Gold(query) = query_kind else {
        // Consecutive documents of the library from a random position: their relevance is unknown.
        let first = rng.random_range(0..corpus.documents.len().max(1));
        let library = (0..corpus.documents.len()).cycle().skip(first);
        return library.take(length).map(|document| (document, 0)).collect();
    };
    let ranks_like = if regressed { Variant::V2 } else { variant };
    let placement: Placement = quality
        .odds(ranks_like, query.category)
        .place(query, length, rng);
    let first = rng.random_range(0..query.distractors.len().max(1));
    let mut wrong = query.distractors.iter().cycle().skip(first);
    let relevant = |place: usize| query.relevant.get(place);
    placement
        .ranks()
        .iter()
        .filter_map(|rank| match rank.and_then(relevant) {
            Some(judgement) => Some((judgement.document, judgement.grade)),
            None => wrong.next().map(|&document| (document, 0)),
        })
        .collect()
}

/// Domains considered, best first. V1 and V2 do not use domains.
fn route(variant: Variant, query_kind: QueryKind<'_>, rng: &mut ChaCha8Rng) -> Vec<&'static str> {
    if matches!(variant, Variant::V1 | Variant::V2) {
        return Vec::new();
    }
    let mut domains = DOMAINS;
    domains.shuffle(rng);
    if let QueryKind::Gold(query) = query_kind {
        let expected = DOMAINS[query.domain];
        let mut draw = rng.random::<f64>();
        let routed = match variant {
            Variant::V5 => ROUTED_BY_MODEL,
            _ => ROUTED_BY_LIKENESS,
        };
        let place = routed.iter().position(|share| {
            draw -= share;
            draw < 0.0
        });
        let now = domains
            .iter()
            .position(|&domain| domain == expected)
            .unwrap_or(0);
        domains.swap(now, place.unwrap_or(DOMAINS.len() - 1));
    }
    domains.iter().copied().take(3).collect()
}

fn latency(variant: Variant, regressed: bool, rng: &mut ChaCha8Rng) -> f64 {
    // Box-Muller transform; 1 - u keeps the logarithm finite.
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    let normal = radius * (std::f64::consts::TAU * rng.random::<f64>()).cos();
    let factor = if regressed { REGRESSED_LATENCY } else { 1.0 };
    let mean = LATENCY_MS[variant.index()] * factor;
    // exp(s z - s²/2) has a mean of 1.
    let spread = (LATENCY_SPREAD * normal - LATENCY_SPREAD * LATENCY_SPREAD / 2.0).exp();
    rounded(mean * spread, 1e1)
}

fn stages(
    origins: &Origins,
    hits: &[Hit<'_>],
    latency_ms: f64,
    error: Option<&'static str>,
    rng: &mut ChaCha8Rng,
) -> Vec<Stage> {
    let ran = |name: &str| (name != "rne" || origins.rne) && (name != "a2a" || origins.a2a);
    let mut stages: Vec<Stage> = STAGES[origins.variant.index()]
        .iter()
        .filter(|(name, _)| ran(name))
        .map(|&(name, share)| Stage {
            name,
            latency_ms: rounded(latency_ms * share * rng.random_range(0.9..1.05), 1e1),
            hits: hits
                .iter()
                .filter(|hit| hit.stages.iter().any(|s| s.starts_with(name)))
                .count(),
            error: None,
        })
        .collect();
    if let Some(last) = stages.last_mut() {
        last.error = error;
    }
    stages
}

/// Model calls: V2 to V5 embed the query; V5 has a model confirm the domain and refine the query
/// for each agent.
fn usage(variant: Variant, a2a: bool, rng: &mut ChaCha8Rng) -> Vec<Usage> {
    let mut calls = Vec::new();
    if variant != Variant::V1 {
        let input = rng.random_range(6..40);
        calls.push(Usage {
            operation: "embeddings",
            provider: "openai",
            model: "text-embedding-3-large",
            input_tokens: input,
            output_tokens: None,
            cache_read_input_tokens: None,
            cost: stated_cost(rng, f64::from(input) * 0.13),
        });
    }
    if variant == Variant::V5 {
        let cached = chance(rng, 0.3).then_some(256);
        calls.push(chat(
            "domain_routing",
            rng.random_range(380..700),
            20..60,
            cached,
            rng,
        ));
        let agents = if a2a { rng.random_range(1..=3) } else { 0 };
        for _ in 0..agents {
            calls.push(chat(
                "a2a_refine",
                rng.random_range(500..900),
                80..200,
                None,
                rng,
            ));
        }
    }
    calls
}

fn chat(
    operation: &'static str,
    input_tokens: u32,
    output: std::ops::Range<u32>,
    cache_read_input_tokens: Option<u32>,
    rng: &mut ChaCha8Rng,
) -> Usage {
    let output_tokens = rng.random_range(output);
    let micro_dollars = f64::from(input_tokens) * 2.5 + f64::from(output_tokens) * 10.0;
    Usage {
        operation,
        provider: "openai",
        model: "gpt-4o",
        input_tokens,
        output_tokens: Some(output_tokens),
        cache_read_input_tokens,
        cost: stated_cost(rng, micro_dollars),
    }
}

fn stated_cost(rng: &mut ChaCha8Rng, micro_dollars: f64) -> Option<Cost> {
    chance(rng, STATED_COST).then(|| Cost {
        amount: rounded(micro_dollars / 1e6, 1e8),
        currency: "USD",
    })
}

/// Ids before deduplication: every served id, once more for each further stage that found it, and
/// once more for some that several agents found.
fn merged_from<'a>(hits: &[Hit<'a>], rng: &mut ChaCha8Rng) -> Vec<&'a str> {
    let mut merged: Vec<&str> = hits.iter().map(|hit| hit.id).collect();
    for hit in hits {
        let agents = hit.attrs.source == "a2a" && chance(rng, 0.3);
        let again = hit.stages.len() - 1 + usize::from(agents);
        merged.extend(std::iter::repeat_n(hit.id, again));
    }
    merged
}

/// Total number of hits that a version reports, given the number it serves.
pub(super) fn total_hits(served: usize, rng: &mut impl Rng) -> usize {
    if served < RESULTS {
        served
    } else {
        served + rng.random_range(0..400)
    }
}

fn chance(rng: &mut ChaCha8Rng, probability: f64) -> bool {
    rng.random::<f64>() < probability
}

/// Rounds `value` to the nearest 1/`scale`.
fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}
