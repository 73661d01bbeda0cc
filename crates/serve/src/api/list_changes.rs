//! Change of the result lists of frequent queries between two versions, without judgements.

use hyper::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::parameters::{Parameter, Parameters};
use super::problem::ApiError;
use crate::http::Exposition;
use crate::live::list_changes::{Comparison as Compared, ListChanges, Summary, Version};
use rankgauge_core::statistics::{ListChange, QueryMean};

pub(crate) const PARAMETERS: [Parameter; 2] = [
    Parameter::name(
        "variant",
        "Variant whose current version is compared; all variants if it is left out.",
    ),
    Parameter::name(
        "with",
        "Variant with whose current version it is compared. Without it, or with the same variant: the version \
         of the variant before.",
    ),
];

/// Comparisons of the lists of versions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ListChanges")]
pub(crate) struct Changes {
    pub(crate) changes: Vec<Comparison>,
}

/// Lists of two versions, compared over frequent queries with two lists by each. It has no direction: a
/// changed list can be better or worse.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ListComparison")]
pub(crate) struct Comparison {
    pub(crate) variant: String,
    /// Version of the variant; empty if it is not known.
    pub(crate) version: String,
    /// Variant with which it is compared.
    pub(crate) with: String,
    /// Version with which it is compared; empty if it is not known.
    pub(crate) with_version: String,
    /// Number of compared queries.
    pub(crate) queries: usize,
    /// True if the change is beyond the noise of the index.
    pub(crate) is_change: bool,
    /// Share of the queries whose list changed, beyond the noise of the index.
    pub(crate) changed: Option<Estimate>,
    /// Share of common results.
    pub(crate) overlap: Option<Estimate>,
    /// Rank-biased overlap with persistence 0.9.
    pub(crate) rbo: Option<Estimate>,
    /// Agreement of each version with itself beyond that of the versions with each other.
    pub(crate) churn: Option<Estimate>,
    /// The same in words; null without queries.
    pub(crate) text: Option<String>,
    /// Queries whose lists changed most.
    pub(crate) most_changed: Vec<MovedQuery>,
}

/// Mean over queries with its 95 % interval.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "QueryMean")]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// Query whose list changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChangedQuery")]
pub(crate) struct MovedQuery {
    /// Text of the query, or its key.
    pub(crate) query: String,
    /// Number of its searches since it was frequent.
    pub(crate) searches: u64,
    /// Share of common results.
    pub(crate) overlap: f64,
    /// Rank-biased overlap.
    pub(crate) rbo: f64,
}

impl Estimate {
    fn of(of: QueryMean, lowest: f64) -> Self {
        let [lower, upper] = of.interval(lowest);
        Self {
            mean: of.mean,
            lower,
            upper,
        }
    }
}

impl From<&Compared> for Comparison {
    fn from(of: &Compared) -> Self {
        let change = of.change.as_ref();
        let queries = of.queries.iter().map(|it| MovedQuery {
            query: it.query.to_string(),
            searches: it.searches,
            overlap: it.overlap,
            rbo: it.rbo,
        });
        Self {
            variant: of.version.variant.to_string(),
            version: of.version.version.to_string(),
            with: of.with.variant.to_string(),
            with_version: of.with.version.to_string(),
            queries: change.map_or(0, |it| it.queries),
            is_change: change.is_some_and(ListChange::is_reported),
            changed: change.map(|it| Estimate::of(it.changed, 0.0)),
            overlap: change.map(|it| Estimate::of(it.overlap, 0.0)),
            rbo: change.map(|it| Estimate::of(it.rbo, 0.0)),
            churn: change.map(|it| Estimate::of(it.churn, -1.0)),
            text: change.map(|it| Summary::of(&of.with, it).text),
            most_changed: queries.collect(),
        }
    }
}

/// Compares the versions of a request.
pub(crate) fn of(exposition: &Exposition, params: &Parameters) -> Result<Changes, ApiError> {
    let Some(lists) = &exposition.published.list_changes else {
        return Ok(Changes {
            changes: Vec::new(),
        });
    };
    let (variant, with) = (params.single("variant"), params.single("with"));
    let compared = match (variant, with) {
        (None, None) => lists.all(),
        (None, Some(_)) => {
            let error = "with needs variant: give the variant whose version is compared";
            return Err(ApiError::bad_request(error));
        }
        (Some(variant), with) => one(lists, variant, with.filter(|it| *it != variant))?
            .into_iter()
            .collect(),
    };
    Ok(Changes {
        changes: compared.iter().map(Comparison::from).collect(),
    })
}

/// Compares one variant with another one, or with its version before. `None` if there was none.
fn one(
    lists: &ListChanges,
    variant: &str,
    with: Option<&str>,
) -> Result<Option<Compared>, ApiError> {
    let versions = lists.versions();
    let of = |variant: &str| -> Result<&Vec<Version>, ApiError> {
        versions.get(variant).ok_or_else(|| {
            let error = format!(
                "no search of a variant \"{variant}\" has arrived; /api/v1/systems lists the variants"
            );
            ApiError::new(StatusCode::NOT_FOUND, error)
        })
    };
    let own = of(variant)?;
    let with = match with {
        Some(with) => of(with)?.first(),
        None => own.get(1),
    };
    let pair = own.first().zip(with);
    Ok(pair.map(|(version, with)| lists.between(with, version)))
}
