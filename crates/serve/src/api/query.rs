//! One gold query with the last rankings served, beside its judgements.

use std::collections::BTreeMap;

use hyper::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::GoldSetInfo;
use super::deployments::{self, Entry};
use super::parameters::{Parameter, Parameters, VARIANT, Values};
use super::problem::ApiError;
use super::queries::{self, variant_name};
use super::timestamp::Timestamp;
use crate::http::Exposition;
use crate::live::query_stats::{MAX_DOCUMENTS, Moments, Row, Served, ServedAnswer, ServedDocument};
use rankgauge_core::engine::score_column::column_of;
use rankgauge_core::engine::series::Dimension;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::gold::{GoldQuery, Grade};

pub(crate) const PARAMETERS: [Parameter; 2] = [VARIANT, CUTOFF];

pub(crate) const CUTOFF: Parameter = Parameter {
    name: "cutoff",
    values: Values::Whole {
        least: 1,
        most: MAX_DOCUMENTS,
        default: Some(MAX_DOCUMENTS),
    },
    help: "Maximum number of documents of each ranking.",
};

/// Maximum number of judged documents listed for a query.
const MAX_LISTED_JUDGEMENTS: usize = 100;

/// One gold query.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Query {
    pub(crate) key: String,
    pub(crate) text: Option<String>,
    pub(crate) aliases: Vec<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) gold: GoldSetInfo,
    /// Lowest grade that counts as relevant.
    #[schemars(with = "f64")]
    pub(crate) relevance_level: Grade,
    pub(crate) judged: usize,
    pub(crate) relevant: usize,
    /// The best judged documents, best first: ids, or texts if the gold set has no ids.
    pub(crate) documents: Vec<JudgedDocument>,
    pub(crate) variants: Vec<VariantStats>,
}

/// A judged document.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JudgedDocument {
    pub(crate) id: String,
    #[schemars(with = "f64")]
    pub(crate) grade: Grade,
}

/// Searches of the query with one variant.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "QueryVariant")]
pub(crate) struct VariantStats {
    pub(crate) variant: String,
    pub(crate) searches: u64,
    pub(crate) scores: Vec<Score>,
    /// Last scores in one measure, oldest first.
    pub(crate) trend: Option<Trend>,
    /// Last reported deployment of the variant.
    pub(crate) deployment: Option<Entry>,
    /// Ranking before: of those in the baseline the one with the median score; after a deployment, of
    /// the last ones before it. It may be among `rankings`.
    pub(crate) reference: Option<Ranking>,
    /// Last rankings served, newest first.
    pub(crate) rankings: Vec<Ranking>,
}

/// Last scores of single searches.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Trend {
    pub(crate) measure: String,
    pub(crate) scores: Vec<TrendScore>,
}

/// Score of one search.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrendScore {
    pub(crate) time: Timestamp,
    pub(crate) score: f64,
}

/// The mean score of a measure.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "QueryMean")]
pub(crate) struct Score {
    pub(crate) measure: String,
    pub(crate) count: u64,
    pub(crate) mean: f64,
    /// Mean of the first searches after the start or the last reset of the baselines, or of the last
    /// searches before the last deployment of the variant.
    pub(crate) baseline: Option<f64>,
}

/// A ranking that was served.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Ranking {
    pub(crate) query_id: String,
    pub(crate) time: Timestamp,
    /// Number of documents in the ranking; only the first of them are listed.
    pub(crate) length: usize,
    pub(crate) documents: Vec<RankedDocument>,
    /// The best relevant documents that are not listed. Empty if the gold set has texts and no ids.
    pub(crate) missing: Vec<JudgedDocument>,
    pub(crate) scores: BTreeMap<String, f64>,
    /// Answer that a model gave from the ranking, without its text; null without one.
    pub(crate) answer: Option<RankingAnswer>,
}

/// Answer of a search. Its text is judged and not kept.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RankingAnswer {
    /// True if the model declined to answer.
    pub(crate) refused: bool,
    /// Number of cited documents; only the first 20 are listed.
    pub(crate) cited: usize,
    pub(crate) citations: Vec<CitedDocument>,
}

/// Document that an answer cites.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CitedDocument {
    pub(crate) id: String,
    /// Null if the document is not judged.
    #[schemars(with = "Option<f64>")]
    pub(crate) grade: Option<Grade>,
    /// False if it was neither among the results nor in the context of the model.
    pub(crate) served: bool,
}

/// User actions on one result of one search, as received; duplicates are not removed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UserActions {
    pub(crate) clicks: u16,
    pub(crate) dwell_seconds: f64,
    pub(crate) conversions: u16,
}

/// A document that was served.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RankedDocument {
    pub(crate) rank: usize,
    pub(crate) id: String,
    /// Null if the document is not judged, or is already at a higher rank of the same ranking.
    #[schemars(with = "Option<f64>")]
    pub(crate) grade: Option<Grade>,
    /// Score given by the search system.
    pub(crate) score: Option<f64>,
    /// Stages that found the document.
    pub(crate) stages: Vec<String>,
    /// Components that the result belongs to.
    pub(crate) components: Vec<String>,
    /// User actions on the result in this search.
    pub(crate) users: UserActions,
    /// True if the document is already at a higher rank of the same ranking.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) repeated: bool,
}

/// Returns the query with the key `key`.
pub(crate) fn query_detail(
    exposition: &Exposition,
    key: &str,
    params: &Parameters,
) -> Result<Query, ApiError> {
    let cutoff = params.whole("cutoff").unwrap_or(MAX_DOCUMENTS);
    let stats = queries::query_stats(exposition)?;
    let gold = stats.gold();
    let index = gold.find(Some(key), None).ok_or_else(|| {
        let error = format!(
            "the gold set has no query \"{key}\"; /api/v1/queries?search=PART finds the keys of those with searches"
        );
        ApiError::new(StatusCode::NOT_FOUND, error)
    })?;
    let query = gold.query(index);
    let documents = best_first(query);
    let settings = &exposition.names.settings;
    let names: Vec<String> = settings.measures.iter().map(ToString::to_string).collect();
    let of_list = |list: &Served| ranking(list, cutoff, query, &documents, &names, settings);
    let rows = stats.of(index);
    let labels = exposition.names.registry.values(Dimension::Variant);
    let deployments = exposition.control.deployments.latest();
    let mut variants: Vec<VariantStats> = Vec::new();
    for (label, row) in rows {
        let variant = variant_name(&labels, label);
        if params.matches("variant", variant) {
            variants.push(VariantStats {
                variant: variant.to_owned(),
                searches: row.searches(),
                scores: scores(&row, &names),
                trend: trend(&row, settings),
                deployment: deployments
                    .iter()
                    .find(|deployment| deployment.variant == variant)
                    .map(|deployment| deployments::entry(deployment.clone())),
                reference: row.reference().map(of_list),
                rankings: row.lists().map(of_list).collect(),
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
            baseline: row.baseline().get(column_of(index)).and_then(Moments::mean),
        })
    };
    names.iter().enumerate().filter_map(mean).collect()
}

/// Last scores in the primary measure.
fn trend(row: &Row, settings: &Settings) -> Option<Trend> {
    let measure = settings.measures.get(settings.primary_measure()?)?;
    let scores = row.trend().into_iter().map(|(at, score)| TrendScore {
        time: Timestamp(at),
        score: score.to_f64(),
    });
    Some(Trend {
        measure: measure.to_string(),
        scores: scores.collect(),
    })
}

fn ranking(
    list: &Served,
    cutoff: usize,
    query: &GoldQuery,
    best: &[(&str, Grade)],
    names: &[String],
    settings: &Settings,
) -> Ranking {
    let shown: Vec<ServedDocument<'_>> = list.documents().take(cutoff).collect();
    let is_missing = |(id, grade): &&(&str, Grade)| {
        let is_shown = || shown.iter().any(|shown| shown.id == *id);
        !query.by_text && grade.is_relevant_at(query.judgements.level()) && !is_shown()
    };
    let scores = list.scores().iter().filter_map(|(column, score)| {
        let index = (0..names.len()).find(|index| column_of(*index) == *column)?;
        let score = score.to_f64();
        Some((names[index].clone(), score))
    });
    Ranking {
        query_id: list.query_id.clone(),
        time: Timestamp(list.at()),
        length: list.length,
        missing: best
            .iter()
            .filter(is_missing)
            .take(MAX_DOCUMENTS)
            .map(judged)
            .collect(),
        scores: scores.collect(),
        answer: list.answer().map(answer),
        documents: (1..)
            .zip(&shown)
            .map(|(rank, document)| {
                let before = &shown[..rank - 1];
                let repeated = before.iter().any(|before| before.id == document.id);
                ranked(rank, document, repeated, settings)
            })
            .collect(),
    }
}

fn answer(of: &ServedAnswer) -> RankingAnswer {
    let citations = of.citations.iter().map(|it| CitedDocument {
        id: it.id.to_string(),
        grade: it.grade,
        served: it.is_served,
    });
    RankingAnswer {
        refused: of.is_refusal,
        cited: of.cited,
        citations: citations.collect(),
    }
}

fn ranked(
    rank: usize,
    document: &ServedDocument<'_>,
    repeated: bool,
    settings: &Settings,
) -> RankedDocument {
    let components = settings.judging.components.iter().enumerate();
    let components = components.filter(|(position, _)| document.is_of_component(*position));
    let actions = document.actions;
    RankedDocument {
        rank,
        id: document.id.to_owned(),
        grade: document.grade.filter(|_| !repeated),
        score: document.score,
        stages: document
            .stages
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
        components: components.map(|(_, it)| it.name.clone()).collect(),
        users: UserActions {
            clicks: actions.clicks,
            dwell_seconds: f64::from(actions.dwell_ms) / 1e3,
            conversions: actions.conversions,
        },
        repeated,
    }
}
