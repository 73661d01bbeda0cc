//! Gold queries: those with the lowest scores, or those that lost most, first.
//!
//! A few searches say little about a query. Means and changes are therefore estimated together with
//! those of all queries of their system ([`rankgauge_core::statistics::Shrunken::changes`]), and a change counts
//! only with evidence.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use hyper::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::pagination::{CursorKey, cursor, page};
use super::parameters::{CURSOR, Parameter, Parameters, VARIANT, Values};
use super::problem::ApiError;
use super::timestamp::Timestamp;
use super::{GoldSetInfo, measures};
use crate::http::Exposition;
use crate::live::query_stats::{ColumnScore, MergedQueryStats};
use rankgauge_core::engine::score_column::column_of;
use rankgauge_core::engine::series::{Dimension, Label};
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::gold::{GoldQuery, QueryIndex, normalise};
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::statistics::{Sample, Shrunken};
use rankgauge_core::time::EventTime;

pub(crate) const PARAMETERS: [Parameter; 11] = [
    MEASURE,
    CUTOFF,
    VARIANT,
    SEARCH,
    SLICE,
    VALUE,
    MIN_COUNT,
    ORDER,
    EVIDENCE,
    Parameter::limit(MAX_LISTED, DEFAULT_LISTED),
    CURSOR,
];

/// Parameters of the table of all queries.
pub(crate) const TABLE_PARAMETERS: [Parameter; 9] = [
    MEASURE, CUTOFF, VARIANT, SEARCH, SLICE, VALUE, MIN_COUNT, ORDER, EVIDENCE,
];

const MEASURE: Parameter = Parameter::text(
    "measure",
    "Measure by which queries are ordered, as written in the configuration. Without it, the \
     first measure of rankings for which higher values are better. For a measure with lower \
     values better, the highest come first. Feedback measures are not available by query.",
);

const CUTOFF: Parameter = Parameter {
    name: "cutoff",
    values: Values::Whole {
        least: 1,
        most: 65_535,
        default: None,
    },
    help: "The `@k` of `measure` as a separate parameter: `measure=nDCG&cutoff=10`.",
};

const SEARCH: Parameter = Parameter::text(
    "search",
    "Part of the id, the text or an alias of the query.",
);

const SLICE: Parameter = Parameter::text(
    "slice",
    "Slice by which `value` filters: a label of the queries in the gold set.",
);

const VALUE: Parameter = Parameter::text("value", "Value of `slice`.");

const MIN_COUNT: Parameter = Parameter {
    name: "min_count",
    values: Values::Whole {
        least: 1,
        most: 1_000_000_000,
        default: Some(1),
    },
    help: "Minimum number of searches of the pair.",
};

pub(crate) const ORDER: Parameter = Parameter {
    name: "order",
    values: Values::Word {
        words: &[
            WORST,
            BEST,
            SURELY_WORST,
            REGRESSED,
            IMPROVED,
            SEARCHED,
            NEWEST,
            QUERY,
            SYSTEM,
        ],
        default: Some(WORST),
    },
    help: "`worst`, `highest`: by the mean. `surely_worst`: lowest upper bound of the mean first, so that \
           few searches do not put a query first. `regressed`, `improved`: largest lower bound of the \
           loss or gain first. `searched`: most searches first. `newest`, `query`, `system`: by the last \
           search, the id and the variant.",
};

const EVIDENCE: Parameter = Parameter {
    name: "evidence",
    values: Values::Word {
        words: &[REQUIRED, ANY],
        default: Some(REQUIRED),
    },
    help: "For `regressed` and `improved`: only pairs whose lower bound is above 0, or `any`, which adds \
           those within noise.",
};

/// Lowest mean first.
pub(crate) const WORST: &str = "worst";
/// Highest mean first.
pub(crate) const BEST: &str = "highest";
/// Lowest upper bound of the mean first.
pub(crate) const SURELY_WORST: &str = "surely_worst";
/// Largest lower bound of the loss first.
pub(crate) const REGRESSED: &str = "regressed";
/// Largest lower bound of the gain first.
pub(crate) const IMPROVED: &str = "improved";
/// Most searches first.
pub(crate) const SEARCHED: &str = "searched";
/// Last search first.
pub(crate) const NEWEST: &str = "newest";
/// By the id of the query.
pub(crate) const QUERY: &str = "query";
/// By the variant.
pub(crate) const SYSTEM: &str = "system";

/// Evidence is required.
const REQUIRED: &str = "required";
/// Changes within noise are listed as well.
pub(crate) const ANY: &str = "any";

/// Verdict on a change that its interval does not show.
pub(crate) const WITHIN_NOISE: &str = "within_noise";

/// Number of searches in the baseline, and since then, from which a change is estimated.
pub(crate) const MIN_COMPARED: u64 = 5;

/// Default number of entries of a page.
pub(super) const DEFAULT_LISTED: usize = 20;
/// Maximum number of entries of a page.
pub(super) const MAX_LISTED: usize = 1_000;

/// Gold queries in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(
    clippy::struct_field_names,
    reason = "the member of the response is named `queries`"
)]
pub(crate) struct Queries {
    pub(crate) measure: String,
    /// Direction in which scores improve: `up` or `down`.
    #[schemars(with = "String", extend("enum" = ["up", "down"]))]
    pub(crate) direction: Direction,
    pub(crate) order: &'static str,
    pub(crate) gold: GoldSetInfo,
    /// Pairs of query and variant on all pages.
    pub(crate) found: usize,
    /// Of these, pairs whose interval shows a change; for `regressed` a loss, for `improved` a gain.
    pub(crate) with_evidence: usize,
    /// Searches that are no longer recorded: their pairs, searched longest ago, made room for others.
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
    /// Lower end of the 99.9 % interval of the true mean, estimated together with the other queries of the
    /// variant. Null while no query has been searched twice.
    pub(crate) lower: Option<f64>,
    /// Upper end.
    pub(crate) upper: Option<f64>,
    /// Mean of the first searches after the start or the last reset of the baselines, or of the last
    /// searches before the last deployment of the variant.
    pub(crate) baseline: Option<f64>,
    pub(crate) baseline_count: u64,
    pub(crate) baseline_variance: Option<f64>,
    /// Mean of the last searches since the baseline.
    pub(crate) recent: Option<f64>,
    pub(crate) recent_count: u64,
    pub(crate) recent_variance: Option<f64>,
    /// `recent` minus `baseline`; null until the baseline is complete and followed by searches.
    pub(crate) change: Option<f64>,
    /// The change as estimated together with those of the other queries of the variant; null with fewer
    /// than five searches before or now.
    pub(crate) effect: Option<f64>,
    /// Lower end of the 99.9 % interval of the effect.
    pub(crate) effect_lower: Option<f64>,
    /// Upper end.
    pub(crate) effect_upper: Option<f64>,
    /// `regressed` or `improved` if the interval of the effect excludes 0, else `within_noise`.
    pub(crate) verdict: Option<&'static str>,
    /// Time of the last search.
    pub(crate) last: Option<Timestamp>,
}

/// Position of an entry in the list: the lowest comes first.
#[derive(Clone, Debug, PartialEq)]
struct SortKey {
    value: f64,
    name: String,
    count: u64,
    query: String,
    variant: String,
}

impl SortKey {
    fn compare(&self, other: &Self) -> Ordering {
        let by_value = self.value.total_cmp(&other.value);
        // Of two equal scores, the one of more searches is more reliable.
        by_value
            .then_with(|| self.name.cmp(&other.name))
            .then(other.count.cmp(&self.count))
            .then_with(|| (&self.query, &self.variant).cmp(&(&other.query, &other.variant)))
    }
}

impl CursorKey for SortKey {
    fn write(&self) -> String {
        let Self {
            value,
            name,
            count,
            query,
            variant,
        } = self;
        let parts = (value.to_bits(), name, count, query, variant);
        // Numbers and strings always serialise.
        serde_json::to_string(&parts).unwrap_or_default()
    }

    fn read(text: &str) -> Option<Self> {
        let (bits, name, count, query, variant) = serde_json::from_str(text).ok()?;
        let value = f64::from_bits(bits);
        Some(Self {
            value,
            name,
            count,
            query,
            variant,
        })
    }
}

/// Query statistics of the current gold set.
pub(super) fn query_stats(exposition: &Exposition) -> Result<MergedQueryStats, ApiError> {
    let stats = exposition.published.query_stats(exposition.control.gold());
    let error = "query statistics are not kept; set admin.listen and restart";
    stats.ok_or_else(|| ApiError::new(StatusCode::CONFLICT, error))
}

/// Score of a pair with the estimates of its mean and its change.
#[derive(Clone, Copy, Debug)]
struct Estimated {
    score: ColumnScore,
    mean: Option<Shrunken>,
    change: Option<Shrunken>,
}

impl Estimated {
    /// Best value that the true mean may have, in the direction of `sign`.
    fn best_mean(&self, sign: f64) -> Option<f64> {
        let bounds = self.mean?.interval.map(|bound| sign * bound);
        bounds.into_iter().max_by(f64::total_cmp)
    }

    /// Least gain that the change may be, in the direction of `sign`; the least loss with `-sign`.
    fn least_gain(&self, sign: f64) -> Option<f64> {
        let bounds = self.change?.interval.map(|bound| sign * bound);
        bounds.into_iter().min_by(f64::total_cmp)
    }

    fn verdict(&self, sign: f64) -> Option<&'static str> {
        let (loss, gain) = (self.least_gain(-sign)?, self.least_gain(sign)?);
        Some(match (loss > 0.0, gain > 0.0) {
            (true, _) => REGRESSED,
            (_, true) => IMPROVED,
            (false, false) => WITHIN_NOISE,
        })
    }
}

/// Change of a mean from 0 to 1: not more than there was, and not above 1.
fn possible(change: Shrunken, before: Option<f64>) -> Shrunken {
    let Some(before) = before else {
        return change;
    };
    let bounded = |it: f64| it.max(-before).min(1.0 - before);
    Shrunken {
        estimate: bounded(change.estimate),
        interval: change.interval.map(bounded),
    }
}

/// Estimates the means and the changes of all pairs, for each variant together. With `is_share`, all
/// scores are from 0 to 1.
fn estimated(
    scores: BTreeMap<(QueryIndex, Label), ColumnScore>,
    is_share: bool,
) -> Vec<((QueryIndex, Label), Estimated)> {
    let mut by_variant: BTreeMap<Label, Vec<(QueryIndex, ColumnScore)>> = BTreeMap::new();
    for ((query, variant), score) in scores {
        by_variant.entry(variant).or_default().push((query, score));
    }
    let mut all = Vec::new();
    for (variant, of_variant) in by_variant {
        let changes = of_variant.iter().map(|(_, score)| compared(score));
        let changes = Shrunken::changes(&changes.collect::<Vec<_>>());
        let means = of_variant.iter().map(|(_, score)| {
            let mut within = score.baseline;
            within.merge(&score.now);
            let unit = Sample {
                count: score.cell.count,
                mean: score.cell.mean().unwrap_or_default(),
                squares: 0.0,
            };
            (unit, within.sample())
        });
        let means = Shrunken::means(&means.collect::<Vec<_>>());
        for (((query, score), mean), change) in of_variant.into_iter().zip(means).zip(changes) {
            let before = score.baseline.mean();
            let change = change.map(|it| possible(it, before.filter(|_| is_share)));
            let of = Estimated {
                score,
                mean,
                change,
            };
            all.push(((query, variant), of));
        }
    }
    all
}

/// Samples before and now; empty ones unless both have enough searches.
fn compared(score: &ColumnScore) -> (Sample, Sample) {
    let (before, now) = (score.baseline.sample(), score.now.sample());
    if before.count.min(now.count) < MIN_COMPARED {
        return <(Sample, Sample)>::default();
    }
    (before, now)
}

/// All pairs with their estimates in one measure.
struct Pairs {
    stats: MergedQueryStats,
    measure: String,
    direction: Direction,
    all: Vec<((QueryIndex, Label), Estimated)>,
}

impl Pairs {
    /// Reads the pairs for the measure of a request.
    fn read(exposition: &Exposition, params: &Parameters) -> Result<Self, ApiError> {
        let stats = query_stats(exposition)?;
        let settings = &exposition.names.settings;
        let index = measure(params, settings)?;
        let measure = &settings.measures[index];
        Ok(Self {
            all: estimated(stats.scores(column_of(index)), measure.is_share()),
            measure: measure.to_string(),
            direction: measure.descriptor().direction,
            stats,
        })
    }
}

/// Queries of a request in their order.
struct Found<'a> {
    /// 1 if higher values are better, else -1.
    sign: f64,
    entries: Vec<(SortKey, &'a GoldQuery, Estimated)>,
}

fn find<'a>(
    exposition: &Exposition,
    pairs: &'a Pairs,
    params: &Parameters,
) -> Result<Found<'a>, ApiError> {
    let order = params.word("order");
    let sign = match pairs.direction {
        Direction::Down => -1.0,
        Direction::Up | Direction::Neither => 1.0,
    };
    let is_selected = filter(params)?;
    let is_change = [REGRESSED, IMPROVED].contains(&order);
    let is_evidence_required = is_change && params.word("evidence") == REQUIRED;
    let variants = exposition.names.registry.values(Dimension::Variant);
    let mut entries = Vec::new();
    for ((index, label), of) in pairs.all.iter().copied() {
        let variant = variant_name(&variants, label);
        let query = pairs.stats.gold().query(index);
        let count = of.score.cell.count;
        let Some(mean) = of.score.cell.mean() else {
            continue;
        };
        if !is_selected(query, variant, count)
            || (is_evidence_required && of.verdict(sign) != Some(order))
        {
            continue;
        }
        let value = match order {
            BEST => Some(-sign * mean),
            SURELY_WORST => Some(of.best_mean(sign).unwrap_or(sign * mean)),
            REGRESSED => of.least_gain(-sign).map(|loss| -loss),
            IMPROVED => of.least_gain(sign).map(|gain| -gain),
            NEWEST => of.score.last.map(|last| -milliseconds(last)),
            SEARCHED | QUERY | SYSTEM => Some(0.0),
            _ => Some(sign * mean),
        };
        let name = match order {
            QUERY => query.key.as_str(),
            SYSTEM => variant,
            _ => "",
        };
        if let Some(value) = value {
            let key = SortKey {
                value,
                name: name.to_owned(),
                count,
                query: query.key.clone(),
                variant: variant.to_owned(),
            };
            entries.push((key, query, of));
        }
    }
    entries.sort_by(|a, b| a.0.compare(&b.0));
    Ok(Found { sign, entries })
}

/// Filter of pairs by their query, variant and number of searches.
fn filter(params: &Parameters) -> Result<impl Fn(&GoldQuery, &str, u64) -> bool, ApiError> {
    let search = params.single("search").map(fold).unwrap_or_default();
    let of_slice = match (params.single("slice"), params.single("value")) {
        (Some(slice), Some(value)) => Some((slice, value)),
        (None, None) => None,
        (None, Some(_)) => {
            let error = "value needs a slice: give slice, or leave value out";
            return Err(ApiError::bad_request(error));
        }
        (Some(_), None) => {
            let error = "slice needs a value of it: give value, or leave slice out";
            return Err(ApiError::bad_request(error));
        }
    };
    let least = params.whole("min_count").unwrap_or(1);
    Ok(move |query: &GoldQuery, variant: &str, count: u64| {
        let is_in_slice = of_slice.is_none_or(|(slice, value)| {
            query.labels.get(slice).is_some_and(|label| label == value)
        });
        let is_frequent = usize::try_from(count).is_ok_and(|count| count >= least);
        is_in_slice
            && is_frequent
            && params.matches("variant", variant)
            && matches_text(query, &search)
    })
}

#[allow(
    clippy::cast_precision_loss,
    reason = "milliseconds since the epoch are far below 2^53"
)]
fn milliseconds(at: EventTime) -> f64 {
    at.0 as f64
}

/// Returns a page of the queries of a request.
pub(crate) fn list(exposition: &Exposition, params: &Parameters) -> Result<Queries, ApiError> {
    list_of(exposition, &Pairs::read(exposition, params)?, params)
}

/// Returns a page of the queries of the first of two requests for the same measure; of the second one if
/// it has no query.
pub(crate) fn list_first(
    exposition: &Exposition,
    [first, second]: [&Parameters; 2],
) -> Result<Queries, ApiError> {
    let pairs = Pairs::read(exposition, first)?;
    let found = list_of(exposition, &pairs, first)?;
    if found.queries.is_empty() {
        return list_of(exposition, &pairs, second);
    }
    Ok(found)
}

/// Query beside another one in a list.
#[derive(Debug, PartialEq)]
pub(crate) struct Neighbour {
    pub(crate) key: String,
    pub(crate) text: Option<String>,
}

/// Returns the queries before and after the query `key` in the list of a request.
pub(crate) fn neighbours(
    exposition: &Exposition,
    params: &Parameters,
    key: &str,
) -> Result<[Option<Neighbour>; 2], ApiError> {
    let pairs = Pairs::read(exposition, params)?;
    let Found { entries, .. } = find(exposition, &pairs, params)?;
    let place = entries.iter().position(|(_, query, _)| query.key == key);
    let Some(place) = place else {
        return Ok([None, None]);
    };
    let (before, after) = entries.split_at(place);
    // A query has an entry for each variant.
    let other = |(_, query, _): &(SortKey, &GoldQuery, Estimated)| {
        (query.key != key).then(|| Neighbour {
            key: query.key.clone(),
            text: query.text.clone(),
        })
    };
    Ok([
        before.iter().rev().find_map(other),
        after.iter().find_map(other),
    ])
}

fn list_of(
    exposition: &Exposition,
    pairs: &Pairs,
    params: &Parameters,
) -> Result<Queries, ApiError> {
    let after = cursor::<SortKey>(params)?;
    let Found { sign, mut entries } = find(exposition, pairs, params)?;
    let found = entries.len();
    let order = params.word("order");
    let is_evident = |of: &Estimated| match of.verdict(sign) {
        Some(verdict) if [REGRESSED, IMPROVED].contains(&order) => verdict == order,
        verdict => verdict.is_some_and(|it| it != WITHIN_NOISE),
    };
    let with_evidence = entries.iter().filter(|(_, _, of)| is_evident(of)).count();
    if let Some(after) = &after {
        entries.retain(|(key, ..)| key.compare(after) == Ordering::Greater);
    }
    let next_cursor = page(&mut entries, params.limit(), |(key, ..)| key.clone());
    let queries = entries
        .into_iter()
        .map(|(key, query, of)| entry(key, query, &of, sign));
    Ok(Queries {
        direction: pairs.direction,
        measure: pairs.measure.clone(),
        order,
        gold: GoldSetInfo::from(pairs.stats.gold()),
        found,
        with_evidence,
        not_recorded: pairs.stats.dropped_searches(),
        queries: queries.collect(),
        next_cursor,
    })
}

fn entry(key: SortKey, query: &GoldQuery, of: &Estimated, sign: f64) -> QueryScore {
    let score = &of.score;
    let (before, now) = (score.baseline.sample(), score.now.sample());
    let [baseline, recent] = [score.baseline.mean(), score.now.mean()];
    QueryScore {
        key: query.key.clone(),
        text: query.text.clone(),
        variant: key.variant,
        labels: query.labels.clone(),
        count: score.cell.count,
        mean: score.cell.mean().unwrap_or_default(),
        lower: of.mean.map(|it| it.interval[0]),
        upper: of.mean.map(|it| it.interval[1]),
        baseline,
        baseline_count: before.count,
        baseline_variance: before.variance(),
        recent,
        recent_count: now.count,
        recent_variance: now.variance(),
        change: baseline.zip(recent).map(|(before, now)| now - before),
        effect: of.change.map(|it| it.estimate),
        effect_lower: of.change.map(|it| it.interval[0]),
        effect_upper: of.change.map(|it| it.interval[1]),
        verdict: of.verdict(sign),
        last: score.last.map(Timestamp),
    }
}

/// Columns of the table.
const TABLE_COLUMNS: &str = "key text variant labels count mean lower upper baseline baseline_count \
    baseline_variance recent recent_count recent_variance change effect effect_lower effect_upper verdict last";

/// Returns all queries of a request as CSV.
pub(crate) fn table(exposition: &Exposition, params: &Parameters) -> Result<Vec<u8>, ApiError> {
    let pairs = Pairs::read(exposition, params)?;
    let found = find(exposition, &pairs, params)?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut written = writer.write_record(TABLE_COLUMNS.split(' '));
    for (key, query, of) in found.entries {
        let row = table_row(entry(key, query, &of, found.sign));
        written = written.and_then(|()| writer.write_record(row));
    }
    let table = written.ok().and_then(|()| writer.into_inner().ok());
    let error = "the table cannot be written";
    table.ok_or_else(|| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error))
}

fn table_row(of: QueryScore) -> [String; 20] {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let labels = of.labels.iter();
    let labels: Vec<String> = labels
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    [
        table_text(of.key),
        table_text(of.text.unwrap_or_default()),
        table_text(of.variant),
        table_text(labels.join("; ")),
        of.count.to_string(),
        of.mean.to_string(),
        number(of.lower),
        number(of.upper),
        number(of.baseline),
        of.baseline_count.to_string(),
        number(of.baseline_variance),
        number(of.recent),
        of.recent_count.to_string(),
        number(of.recent_variance),
        number(of.change),
        number(of.effect),
        number(of.effect_lower),
        number(of.effect_upper),
        of.verdict.unwrap_or_default().to_owned(),
        of.last.map(|it| it.to_string()).unwrap_or_default(),
    ]
}

/// Text of data that a spreadsheet does not read as a formula.
fn table_text(text: String) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text
    }
}

/// Returns true if the key, the text or an alias of a query contains `search`, which is folded.
fn matches_text(query: &GoldQuery, search: &str) -> bool {
    let texts = query.text.iter().chain(&query.aliases).chain([&query.key]);
    search.is_empty() || texts.into_iter().any(|text| fold(text).contains(search))
}

fn fold(text: &str) -> String {
    normalise(text).to_lowercase()
}

/// Position of the measure that queries are ordered by: the requested one, else the first for which higher
/// values are better.
fn measure(params: &Parameters, settings: &Settings) -> Result<usize, ApiError> {
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
            let first = settings.measures.iter().position(|measure| {
                !measure.is_user_measure() && measure.descriptor().direction == Direction::Up
            });
            let error = "no measure of rankings is configured; add one to measures and restart";
            first.ok_or_else(|| ApiError::bad_request(error))?
        }
    };
    let measure = &settings.measures[chosen];
    if measure.is_user_measure() {
        return Err(ApiError::bad_request(format!(
            "{measure} is computed when the feedback window has passed, and is not kept by query; give a \
             measure of rankings, or read it from /api/v1/measures"
        )));
    }
    if measure.descriptor().direction == Direction::Neither {
        return Err(ApiError::bad_request(format!(
            "{measure} describes searches: none of its values is worse than another; give a measure with a \
             direction of up or down in /api/v1/systems"
        )));
    }
    Ok(chosen)
}

/// Name of a variant.
pub(super) fn variant_name(variants: &[Box<str>], label: Label) -> &str {
    variants
        .get(label.index())
        .map_or(Label::OTHER_NAME, |name| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_not_larger_than_the_mean_before() {
        let change = Shrunken {
            estimate: -0.932,
            interval: [-1.122, -0.741],
        };
        let bounded = possible(change, Some(1.0));
        assert_eq!(
            (bounded.estimate, bounded.interval),
            (-0.932, [-1.0, -0.741])
        );
        let bounded = possible(change, Some(0.5));
        assert_eq!((bounded.estimate, bounded.interval), (-0.5, [-0.5, -0.5]));
        assert_eq!(possible(change, None), change);
    }
}
