//! Gold queries: a list with the worst scores first, and single queries with the last rankings
//! served beside the judgements.

use std::collections::BTreeMap;

use hyper::StatusCode;
use serde::Serialize;

use super::parameters::Parameters;
use super::{ApiError, GoldSetInfo, measures, status};
use crate::expose::http::Exposition;
use crate::ingest::query_stats::{MAX_DOCUMENTS, MergedQueryStats, Row, Served};
use rankgauge_core::engine::fixed::{NANO_DECIMALS, units_to_f64};
use rankgauge_core::engine::registry::{Dimension, Label, OTHER};
use rankgauge_core::engine::scores::column_of;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::gold::{GoldQuery, Grade, QueryIndex};
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::time::EventTime;

pub(super) const LIST_PARAMETERS: [&str; 4] = ["measure", "cutoff", "variant", "limit"];

pub(super) const PARAMETERS: [&str; 2] = ["variant", "cutoff"];

/// Default number of listed queries.
const DEFAULT_LISTED: usize = 20;
/// Maximum number of listed queries.
const MAX_LISTED: usize = 1_000;

/// Maximum number of judged documents listed for a query.
const MAX_LISTED_JUDGEMENTS: usize = 100;

/// Gold queries ordered by score, worst first.
#[derive(Debug, Serialize)]
pub(super) struct WorstQueries {
    measure: String,
    gold: GoldSetInfo,
    /// Pairs of query and variant without the limit.
    found: usize,
    /// Searches that were not recorded because the query statistics were full.
    not_recorded: u64,
    queries: Vec<QueryScore>,
}

/// Score of one query with one variant, since the gold set is in use.
#[derive(Debug, Serialize)]
struct QueryScore {
    key: String,
    text: Option<String>,
    variant: String,
    labels: BTreeMap<String, String>,
    /// Searches with a score.
    count: u64,
    mean: f64,
    /// Time of the last recorded ranking.
    last: Option<String>,
}

/// One gold query.
#[derive(Debug, Serialize)]
pub(super) struct Query {
    key: String,
    text: Option<String>,
    aliases: Vec<String>,
    labels: BTreeMap<String, String>,
    gold: GoldSetInfo,
    /// Lowest grade that counts as relevant.
    relevance_level: Grade,
    judged: usize,
    relevant: usize,
    /// The best judged documents, best first: ids, or texts if the gold set has no ids.
    documents: Vec<JudgedDocument>,
    variants: Vec<VariantStats>,
}

/// A judged document.
#[derive(Debug, Serialize)]
struct JudgedDocument {
    id: String,
    grade: Grade,
}

/// Searches of the query with one variant.
#[derive(Debug, Serialize)]
struct VariantStats {
    variant: String,
    searches: u64,
    scores: Vec<Score>,
    /// Last rankings served, newest first.
    rankings: Vec<Ranking>,
}

/// The mean score of a measure.
#[derive(Debug, Serialize)]
struct Score {
    measure: String,
    count: u64,
    mean: f64,
}

/// A ranking that was served.
#[derive(Debug, Serialize)]
struct Ranking {
    query_id: String,
    time: String,
    /// Number of documents in the ranking; only the first of them are listed.
    length: usize,
    documents: Vec<RankedDocument>,
    /// The best relevant documents that are not listed. Empty if the gold set has texts and no ids.
    missing: Vec<JudgedDocument>,
    scores: BTreeMap<String, f64>,
}

/// A document that was served.
#[derive(Debug, Serialize)]
struct RankedDocument {
    rank: usize,
    id: String,
    /// Null if the document is not judged, or is already at a higher rank of the same ranking.
    grade: Option<Grade>,
    /// True if the document is already at a higher rank of the same ranking.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
}

fn query_stats(exposition: &Exposition) -> Result<MergedQueryStats, ApiError> {
    let stats = exposition.published.query_stats(exposition.control.gold());
    let error = "query statistics are not kept";
    stats.ok_or_else(|| ApiError::new(StatusCode::CONFLICT, error))
}

/// Returns the queries with the worst scores.
pub(super) fn worst_first(
    exposition: &Exposition,
    params: &Parameters,
) -> Result<WorstQueries, ApiError> {
    let settings = &exposition.names.settings;
    let measure = measure(params, settings)?;
    let direction = Direction::of(&measure);
    let limit = params
        .integer("limit", 1..=MAX_LISTED)?
        .unwrap_or(DEFAULT_LISTED);
    let names = settings.measures.iter().map(ToString::to_string);
    let position = names.into_iter().position(|name| name == measure);
    let column = column_of(position.unwrap_or(0));
    let stats = query_stats(exposition)?;
    let gold = stats.gold();
    let scores = stats.scores(column);
    let variants = exposition.names.registry.values(Dimension::Variant);
    let mut found: Vec<(f64, QueryIndex, &str, u64, Option<EventTime>)> = Vec::new();
    for ((query, label), score) in scores {
        let variant = variant_name(&variants, label);
        if let Some(mean) = score.cell.mean()
            && params.matches("variant", variant)
        {
            found.push((mean, query, variant, score.cell.count, score.last));
        }
    }
    found.sort_by(|a, b| {
        let worse = match direction {
            Direction::Down => b.0.total_cmp(&a.0),
            Direction::Up | Direction::Neither => a.0.total_cmp(&b.0),
        };
        worse.then(b.3.cmp(&a.3)).then((a.1, a.2).cmp(&(b.1, b.2)))
    });
    let all = found.len();
    let queries = found.into_iter().take(limit);
    let queries = queries.map(|(mean, query, variant, count, last)| {
        let query = gold.query(query);
        QueryScore {
            key: query.key.clone(),
            text: query.text.clone(),
            variant: variant.to_owned(),
            labels: query.labels.clone(),
            count,
            mean,
            last: last.map(status::time),
        }
    });
    Ok(WorstQueries {
        measure,
        gold: GoldSetInfo::from(gold),
        found: all,
        not_recorded: stats.dropped_searches(),
        queries: queries.collect(),
    })
}

/// Returns one query. `key` is percent-encoded, as in the path.
pub(super) fn query_detail(
    exposition: &Exposition,
    key: &str,
    params: &Parameters,
) -> Result<Query, ApiError> {
    let key = percent_encoding::percent_decode_str(key)
        .decode_utf8()
        .map_err(|_| ApiError::bad_request("the key is not UTF-8"))?;
    let cutoff = params
        .integer("cutoff", 1..=MAX_DOCUMENTS)?
        .unwrap_or(MAX_DOCUMENTS);
    let stats = query_stats(exposition)?;
    let gold = stats.gold();
    let index = gold.find(Some(&key), None).ok_or_else(|| {
        let error = format!("the gold set has no query \"{key}\"");
        ApiError::new(StatusCode::NOT_FOUND, error)
    })?;
    let query = gold.query(index);
    let documents = best_first(query);
    let names: Vec<String> = exposition
        .names
        .settings
        .measures
        .iter()
        .map(ToString::to_string)
        .collect();
    let rows = stats.of(index);
    let labels = exposition.names.registry.values(Dimension::Variant);
    let mut variants: Vec<VariantStats> = Vec::new();
    for (label, row) in rows {
        let variant = variant_name(&labels, label);
        if params.matches("variant", variant) {
            variants.push(VariantStats {
                variant: variant.to_owned(),
                searches: row.searches(),
                scores: scores(&row, &names),
                rankings: row
                    .lists()
                    .map(|list| ranking(list, cutoff, query, &documents, &names))
                    .collect(),
            });
        }
    }
    variants.sort_by(|a, b| a.variant.cmp(&b.variant));
    let judgements = &query.judgements;
    Ok(Query {
        key: query.key.clone(),
        text: query.text.clone(),
        aliases: query.aliases.clone(),
        labels: query.labels.clone(),
        gold: GoldSetInfo::from(gold),
        relevance_level: judgements.level(),
        judged: judgements.len(),
        relevant: judgements.relevant(None),
        documents: documents
            .iter()
            .take(MAX_LISTED_JUDGEMENTS)
            .map(judged)
            .collect(),
        variants,
    })
}

/// Measure that queries are ordered by: the requested one, else the first for which higher values
/// are better.
fn measure(params: &Parameters, settings: &Settings) -> Result<String, ApiError> {
    let cutoff = params.integer("cutoff", 1..=usize::from(u16::MAX))?;
    let chosen = match (params.single("measure")?, cutoff) {
        (Some(name), Some(cutoff)) => measures::configured(&format!("{name}@{cutoff}"), settings)?,
        (Some(name), None) => measures::configured(name, settings)?,
        (None, Some(_)) => {
            return Err(ApiError::bad_request(
                "cutoff needs a measure: give measure",
            ));
        }
        (None, None) => {
            let ranked = settings.measures.iter();
            let ranked = ranked.filter(|measure| !measure.is_user_measure());
            let mut upwards =
                ranked.filter(|measure| measure.descriptor().direction == Direction::Up);
            let first = upwards.next().map(ToString::to_string);
            first.ok_or_else(|| ApiError::bad_request("no measure of rankings is configured"))?
        }
    };
    let is_user_measure = settings
        .measures
        .iter()
        .any(|measure| measure.is_user_measure() && measure.to_string() == chosen);
    if is_user_measure {
        return Err(ApiError::bad_request(format!(
            "{chosen} is computed when the feedback window has passed, and is not kept by query"
        )));
    }
    if Direction::of(&chosen) == Direction::Neither {
        return Err(ApiError::bad_request(format!(
            "{chosen} describes searches: none of its values is worse than another"
        )));
    }
    Ok(chosen)
}

/// Judged documents, or texts, best first.
fn best_first(query: &GoldQuery) -> Vec<(&str, Grade)> {
    let mut documents = if query.by_text {
        let numbered = query.texts.iter().enumerate();
        let graded = numbered
            .filter_map(|(number, text)| Some((text.as_str(), query.judgements.grade(number)?)));
        graded.collect()
    } else {
        query.documents()
    };
    documents.sort_by(|(_, a), (_, b)| b.cmp(a));
    documents
}

fn judged(document: &(&str, Grade)) -> JudgedDocument {
    let (id, grade) = document;
    JudgedDocument {
        id: (*id).to_owned(),
        grade: *grade,
    }
}

fn scores(row: &Row, names: &[String]) -> Vec<Score> {
    let mean = |(index, name): (usize, &String)| {
        let cell = row.scores().get(column_of(index))?;
        Some(Score {
            measure: name.clone(),
            count: cell.count,
            mean: cell.mean()?,
        })
    };
    names.iter().enumerate().filter_map(mean).collect()
}

fn ranking(
    list: &Served,
    cutoff: usize,
    query: &GoldQuery,
    best: &[(&str, Grade)],
    names: &[String],
) -> Ranking {
    let shown: Vec<(&str, Option<Grade>)> = list.documents().take(cutoff).collect();
    let is_missing = |(id, grade): &&(&str, Grade)| {
        let is_shown = || shown.iter().any(|(shown, _)| shown == id);
        !query.by_text && grade.is_relevant_at(query.judgements.level()) && !is_shown()
    };
    let scores = list.scores().iter().filter_map(|(column, score)| {
        let index = (0..names.len()).find(|index| column_of(*index) == *column)?;
        let score = units_to_f64(score.get().into(), NANO_DECIMALS);
        Some((names[index].clone(), score))
    });
    Ranking {
        query_id: list.query_id.clone(),
        time: status::time(list.at()),
        length: list.length,
        missing: best
            .iter()
            .filter(is_missing)
            .take(MAX_DOCUMENTS)
            .map(judged)
            .collect(),
        scores: scores.collect(),
        documents: (1..)
            .zip(&shown)
            .map(|(rank, (id, grade))| {
                let repeated = shown[..rank - 1].iter().any(|(before, _)| before == id);
                RankedDocument {
                    rank,
                    id: (*id).to_owned(),
                    grade: grade.filter(|_| !repeated),
                    repeated,
                }
            })
            .collect(),
    }
}

/// Name of a variant.
fn variant_name(variants: &[Box<str>], label: Label) -> &str {
    variants.get(label.index()).map_or(OTHER, |name| name)
}
