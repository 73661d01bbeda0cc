//! Gold queries: those with the worst scores first, or those that regressed most.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use hyper::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::pagination::{CursorKey, cursor, page};
use super::parameters::{CURSOR, Parameter, Parameters, VARIANT, Values};
use super::problem::ApiError;
use super::{GoldSetInfo, measures, status};
use crate::http::Exposition;
use crate::live::query_stats::{BASELINE_SEARCHES, ColumnScore, MergedQueryStats};
use rankgauge_core::engine::registry::{Dimension, Label, OTHER};
use rankgauge_core::engine::scores::column_of;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::gold::{GoldQuery, normalise};
use rankgauge_core::measure::direction::Direction;

pub(crate) const PARAMETERS: [Parameter; 7] = [
    Parameter::text(
        "measure",
        "Measure by which queries are ordered, as written in the configuration. Without it, the \
         first measure of rankings for which higher values are better. For a measure with lower \
         values better, the highest come first. Feedback measures are not available by query.",
    ),
    Parameter {
        name: "cutoff",
        values: Values::Whole {
            least: 1,
            most: 65_535,
            default: None,
        },
        help: "The `@k` of `measure` as a separate parameter: `measure=nDCG&cutoff=10`.",
    },
    VARIANT,
    Parameter::text(
        "search",
        "Part of the id, the text or an alias of the query.",
    ),
    Parameter {
        name: "order",
        values: Values::Word {
            words: &[WORST, REGRESSED],
            default: Some(WORST),
        },
        help: "`worst`: lowest mean first. `regressed`: only queries whose last rankings score worse \
               than their baseline, largest change first.",
    },
    Parameter::limit(MAX_LISTED, DEFAULT_LISTED),
    CURSOR,
];

/// Order by the mean.
const WORST: &str = "worst";
/// Order by the change against the baseline.
const REGRESSED: &str = "regressed";

/// Default number of entries of a page.
pub(super) const DEFAULT_LISTED: usize = 20;
/// Maximum number of entries of a page.
pub(super) const MAX_LISTED: usize = 1_000;

/// Gold queries, worst first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Queries")]
pub(crate) struct WorstQueries {
    pub(crate) measure: String,
    /// Direction in which scores improve: `up` or `down`.
    #[schemars(extend("enum" = ["up", "down"]))]
    pub(crate) direction: &'static str,
    #[schemars(extend("enum" = [WORST, REGRESSED]))]
    pub(crate) order: &'static str,
    pub(crate) gold: GoldSetInfo,
    /// Pairs of query and variant on all pages.
    pub(crate) found: usize,
    /// Searches that were not recorded because the query statistics were full.
    pub(crate) not_recorded: u64,
    pub(crate) queries: Vec<QueryScore>,
    /// Cursor of the next page; null on the last one.
    pub(crate) next_cursor: Option<String>,
}

/// Score of one query with one variant, since the gold set is in use.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QueryScore {
    pub(crate) key: String,
    pub(crate) text: Option<String>,
    pub(crate) variant: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// Searches with a score.
    pub(crate) count: u64,
    pub(crate) mean: f64,
    /// Mean of the first searches after the start or the last reset of the baselines, or of the last
    /// rankings before the last deployment of the variant.
    pub(crate) baseline: Option<f64>,
    pub(crate) baseline_count: u64,
    /// Mean of the last rankings since the last deployment of the variant.
    pub(crate) recent: Option<f64>,
    pub(crate) recent_count: u64,
    /// `recent` minus `baseline`; null until the baseline is complete and followed by searches.
    pub(crate) change: Option<f64>,
    /// Time of the last recorded ranking.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) last: Option<String>,
}

/// Position of an entry in the list: the lowest comes first.
#[derive(Clone, Debug, PartialEq)]
struct SortKey {
    /// Score or change; lower is worse.
    value: f64,
    count: u64,
    query: String,
    variant: String,
}

impl SortKey {
    fn compare(&self, other: &Self) -> Ordering {
        let by_value = self.value.total_cmp(&other.value);
        // Of two equal scores, the one of more searches is more reliable.
        by_value
            .then(other.count.cmp(&self.count))
            .then_with(|| (&self.query, &self.variant).cmp(&(&other.query, &other.variant)))
    }
}

impl CursorKey for SortKey {
    fn write(&self) -> String {
        let Self {
            value,
            count,
            query,
            variant,
        } = self;
        let parts = (value.to_bits(), count, query, variant);
        // Numbers and strings always serialise.
        serde_json::to_string(&parts).unwrap_or_default()
    }

    fn read(text: &str) -> Option<Self> {
        let (bits, count, query, variant) = serde_json::from_str(text).ok()?;
        let value = f64::from_bits(bits);
        Some(Self {
            value,
            count,
            query,
            variant,
        })
    }
}

/// Query statistics of the current gold set.
pub(super) fn query_stats(exposition: &Exposition) -> Result<MergedQueryStats, ApiError> {
    let stats = exposition.published.query_stats(exposition.control.gold());
    let error = "query statistics are not kept";
    stats.ok_or_else(|| ApiError::new(StatusCode::CONFLICT, error))
}

/// Returns the queries with the worst scores.
pub(crate) fn worst_first(
    exposition: &Exposition,
    params: &Parameters,
) -> Result<WorstQueries, ApiError> {
    let settings = &exposition.names.settings;
    let measure = measure(params, settings)?;
    let order = params.word("order");
    let sign = match Direction::of(&measure) {
        Direction::Down => -1.0,
        Direction::Up | Direction::Neither => 1.0,
    };
    let after = cursor::<SortKey>(params)?;
    let search = params.single("search").map(fold).unwrap_or_default();
    let names = settings.measures.iter().map(ToString::to_string);
    let position = names.into_iter().position(|name| name == measure);
    let column = column_of(position.unwrap_or(0));
    let stats = query_stats(exposition)?;
    let gold = stats.gold();
    let variants = exposition.names.registry.values(Dimension::Variant);
    let mut found = Vec::new();
    for ((index, label), score) in stats.scores(column) {
        let variant = variant_name(&variants, label);
        let query = gold.query(index);
        let value = if order == REGRESSED {
            change(&score).filter(|change| sign * change < 0.0)
        } else {
            score.cell.mean()
        };
        if let Some(value) = value
            && params.matches("variant", variant)
            && matches_text(query, &search)
        {
            let key = SortKey {
                value: sign * value,
                count: score.cell.count,
                query: query.key.clone(),
                variant: variant.to_owned(),
            };
            found.push((key, query, score));
        }
    }
    found.sort_by(|a, b| a.0.compare(&b.0));
    let all = found.len();
    if let Some(after) = &after {
        found.retain(|(key, ..)| key.compare(after) == Ordering::Greater);
    }
    let next_cursor = page(&mut found, params.limit(), |(key, ..)| key.clone());
    let queries = found.into_iter().map(|(key, query, score)| QueryScore {
        key: query.key.clone(),
        text: query.text.clone(),
        variant: key.variant,
        labels: query.labels.clone(),
        count: score.cell.count,
        mean: score.cell.mean().unwrap_or_default(),
        baseline: score.baseline.mean(),
        baseline_count: score.baseline.count,
        recent: score.recent.mean(),
        recent_count: score.recent.count,
        change: change(&score),
        last: score.last.map(status::time),
    });
    Ok(WorstQueries {
        direction: if sign < 0.0 { "down" } else { "up" },
        measure,
        order,
        gold: GoldSetInfo::from(gold),
        found: all,
        not_recorded: stats.dropped_searches(),
        queries: queries.collect(),
        next_cursor,
    })
}

/// Mean of the last rankings minus the baseline; `None` until the baseline is complete and followed
/// by as many searches as there are last rankings. A baseline from before a deployment is complete.
fn change(score: &ColumnScore) -> Option<f64> {
    let is_complete = score.is_baseline_of_deployment
        || score.baseline.count >= BASELINE_SEARCHES.min(score.cell.count);
    let is_comparable =
        is_complete && score.cell.count >= score.baseline.count + score.recent.count;
    is_comparable.then(|| Some(score.recent.mean()? - score.baseline.mean()?))?
}

/// Returns true if the key, the text or an alias of a query contains `search`, which is folded.
fn matches_text(query: &GoldQuery, search: &str) -> bool {
    let texts = query.text.iter().chain(&query.aliases).chain([&query.key]);
    search.is_empty() || texts.into_iter().any(|text| fold(text).contains(search))
}

fn fold(text: &str) -> String {
    normalise(text).to_lowercase()
}

/// Measure that queries are ordered by: the requested one, else the first for which higher values
/// are better.
fn measure(params: &Parameters, settings: &Settings) -> Result<String, ApiError> {
    let cutoff = params.whole("cutoff");
    let chosen = match (params.single("measure"), cutoff) {
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

/// Name of a variant.
pub(super) fn variant_name(variants: &[Box<str>], label: Label) -> &str {
    variants.get(label.index()).map_or(OTHER, |name| name)
}
