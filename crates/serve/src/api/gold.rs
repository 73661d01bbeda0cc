//! Gold set in use: its coverage by slice, queries without traffic, and unjudged documents that
//! users click.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::pagination::{cursor, page};
use super::parameters::{CURSOR, Parameter, Parameters};
use super::problem::ApiError;
use super::queries::{DEFAULT_LISTED, MAX_LISTED, query_stats};
use super::{GoldSetInfo, status};
use crate::http::Exposition;
use rankgauge_core::engine::settings::Experiment;
use rankgauge_core::gold::{Grade, QueryIndex};

pub(crate) const PARAMETERS: [Parameter; 2] =
    [Parameter::limit(MAX_LISTED, DEFAULT_LISTED), CURSOR];

/// Maximum number of unjudged documents.
const MAX_UNJUDGED: usize = 50;

/// Gold set and its coverage.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GoldCoverage {
    pub(crate) gold: GoldSetInfo,
    /// Lowest grade that counts as relevant.
    #[schemars(with = "f64")]
    pub(crate) relevance_level: Grade,
    /// Queries with at least one search since the process started to use the gold set.
    pub(crate) with_traffic: usize,
    /// Judged and unjudged searches since the start.
    pub(crate) searches: BTreeMap<&'static str, u64>,
    /// Queries by slice value.
    pub(crate) slices: Vec<SliceCoverage>,
    /// Unjudged documents with the most clicks; clicks are counted since the process started to use
    /// the gold set, on the last rankings of each query and variant.
    pub(crate) clicked_unjudged: Vec<ClickedDocument>,
    /// Queries without traffic, in the order of the gold set.
    pub(crate) without_traffic: Vec<QueryName>,
    /// Cursor of the next page of `without_traffic`; null on the last one.
    pub(crate) next_cursor: Option<String>,
}

/// Queries of one slice value.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SliceCoverage {
    pub(crate) slice: String,
    pub(crate) value: String,
    pub(crate) queries: usize,
    pub(crate) judgements: usize,
    pub(crate) with_traffic: usize,
}

/// Unjudged document that users clicked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ClickedDocument {
    pub(crate) document: String,
    pub(crate) key: String,
    pub(crate) text: Option<String>,
    pub(crate) clicks: u64,
}

/// Gold query by name.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QueryName {
    pub(crate) key: String,
    pub(crate) text: Option<String>,
    #[serde(skip)]
    position: u64,
}

/// Returns the gold set and its coverage.
pub(crate) fn of(exposition: &Exposition, params: &Parameters) -> Result<GoldCoverage, ApiError> {
    let after = cursor::<u64>(params)?;
    let stats = query_stats(exposition)?;
    let gold = stats.gold();
    let seen = stats.queries_with_traffic();
    let seen: std::collections::BTreeSet<usize> =
        seen.into_iter().map(QueryIndex::position).collect();
    let mut slices: BTreeMap<(usize, &str), SliceCoverage> = BTreeMap::new();
    let names = &exposition.names.settings.slices;
    let mut without_traffic = Vec::new();
    for (position, query) in gold.queries().iter().enumerate() {
        let has_traffic = seen.contains(&position);
        for (place, slice) in names
            .iter()
            .enumerate()
            .filter(|(_, it)| *it != Experiment::SLICE)
        {
            let Some(value) = query.labels.get(slice) else {
                continue;
            };
            let coverage = slices
                .entry((place, value))
                .or_insert_with(|| SliceCoverage {
                    slice: slice.clone(),
                    value: value.clone(),
                    queries: 0,
                    judgements: 0,
                    with_traffic: 0,
                });
            coverage.queries += 1;
            coverage.judgements += query.judgements.len();
            coverage.with_traffic += usize::from(has_traffic);
        }
        let number = u64::try_from(position).unwrap_or(u64::MAX);
        if !has_traffic && after.is_none_or(|after| number > after) {
            without_traffic.push(QueryName {
                key: query.key.clone(),
                text: query.text.clone(),
                position: number,
            });
        }
    }
    let next_cursor = page(&mut without_traffic, params.limit(), |query| query.position);
    let clicked = stats.clicked_unjudged().into_iter().take(MAX_UNJUDGED);
    let clicked = clicked.map(|(index, document, clicks)| {
        let query = gold.query(index);
        ClickedDocument {
            document: document.into(),
            key: query.key.clone(),
            text: query.text.clone(),
            clicks,
        }
    });
    let snapshot = exposition.published.merged();
    let searches = status::events(
        &exposition.names.read(&snapshot),
        rankgauge_core::event::Kind::Search,
    );
    let searches = searches.into_iter();
    Ok(GoldCoverage {
        relevance_level: gold.relevance_level(),
        with_traffic: seen.len(),
        searches: searches
            .filter(|(outcome, _)| ["judged", "unjudged"].contains(outcome))
            .collect(),
        slices: slices.into_values().collect(),
        clicked_unjudged: clicked.collect(),
        without_traffic,
        next_cursor,
        gold: GoldSetInfo::from(gold),
    })
}
