//! Operations of a run of search events: latency, cost, tokens, calls, errors and empty answers.
//!
//! Numbers are those that the events state. A cost is the stated one of the search, else the sum over
//! its model calls, each stated or by the price table. The cost of a search with a call without a
//! price is unknown, never 0. Quantiles are exact: the nearest rank of the sorted values.

mod cost;
mod query;

use std::collections::BTreeMap;

use serde::Serialize;

use cost::costs_of;
pub use query::QueryOperations;

use crate::evaluate::label_of;
use rankgauge_core::engine::money::PriceTable;
use rankgauge_core::event::Search;
use rankgauge_core::gold::GoldQuery;
use rankgauge_core::number::{real, real_length};

/// Operations of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operations {
    /// Name of the run.
    pub run: String,
    /// All searches of gold queries.
    #[serde(flatten)]
    pub all: Measured,
    /// Latency by stage, in milliseconds, by the name of the stage.
    pub stages: BTreeMap<String, Distribution>,
    /// Usage by model and operation.
    pub models: Vec<ModelUsage>,
    /// The same numbers by slice.
    pub by: Vec<MeasuredSlice>,
    /// Operations of each search by the key of its gold query, if requested.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub queries: BTreeMap<String, QueryOperations>,
}

/// Operations of a set of searches.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measured {
    /// Number of searches.
    pub searches: usize,
    /// Searches that failed.
    pub errors: usize,
    /// Searches without results.
    pub zero_results: usize,
    /// Latency of the whole search in milliseconds; `None` if no search states it.
    pub latency_ms: Option<Distribution>,
    /// Searches per second of one client that waits for each answer: the number of latencies
    /// divided by their sum. `None` without latencies.
    #[serde(rename = "capacity_per_second")]
    pub capacity: Option<f64>,
    /// Cost of a search by currency.
    pub cost: BTreeMap<String, Distribution>,
    /// Searches whose cost is unknown, because a call has no price.
    pub without_cost: usize,
    /// Number of model calls.
    pub calls: u64,
    /// Number of input tokens, including those read from a cache.
    pub input_tokens: u64,
    /// Number of output tokens, including reasoning.
    pub output_tokens: u64,
}

impl Measured {
    /// Number with this name, as in CSV: `latency_ms_p95`, `cost_USD_mean`, `errors`.
    pub fn number(&self, name: &str) -> Option<f64> {
        match name {
            "error_rate" => return self.share(self.errors),
            "zero_result_rate" => return self.share(self.zero_results),
            "errors" => return Some(real_length(self.errors)),
            "zero_results" => return Some(real_length(self.zero_results)),
            "calls" => return Some(real(self.calls)),
            "input_tokens" => return Some(real(self.input_tokens)),
            "output_tokens" => return Some(real(self.output_tokens)),
            "capacity_per_second" => return self.capacity,
            _ => {}
        }
        let (of, part) = name.rsplit_once('_')?;
        let distribution = match of.strip_prefix("cost_") {
            Some(currency) => self.cost.get(currency)?,
            None if of == "latency_ms" => self.latency_ms.as_ref()?,
            None => return None,
        };
        distribution.part(part)
    }

    /// Share of the searches; `None` without searches.
    fn share(&self, count: usize) -> Option<f64> {
        (self.searches > 0).then(|| real_length(count) / real_length(self.searches))
    }
}

impl Operations {
    /// Number with this name: of all searches, or of a stage as `stage_rerank_ms_p95`.
    pub fn number(&self, name: &str) -> Option<f64> {
        let stage = name.strip_prefix("stage_");
        match stage.and_then(|stage| stage.rsplit_once("_ms_")) {
            Some((stage, part)) => self.stages.get(stage)?.part(part),
            None => self.all.number(name),
        }
    }
}

/// Operations of the searches that share a label's value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredSlice {
    /// Name of the label.
    pub label: String,
    /// Value of the label.
    pub value: String,
    /// Numbers of the slice.
    #[serde(flatten)]
    pub measured: Measured,
}

/// Calls and tokens of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelUsage {
    /// Name of the model; empty if not stated.
    pub model: String,
    /// Operation: `chat`, `embeddings`.
    pub operation: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of input tokens.
    pub input_tokens: u64,
    /// Number of output tokens.
    pub output_tokens: u64,
}

/// Distribution of a number over searches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of searches with the number.
    pub n: usize,
    /// Sum.
    pub sum: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95 % quantile.
    pub p95: f64,
    /// 99 % quantile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl Distribution {
    /// Part with this name: `mean`, `p50`, `p95`, `p99` or `max`.
    fn part(&self, name: &str) -> Option<f64> {
        match name {
            "mean" => Some(self.mean),
            "p50" => Some(self.p50),
            "p95" => Some(self.p95),
            "p99" => Some(self.p99),
            "max" => Some(self.max),
            _ => None,
        }
    }

    /// Distribution of these values; `None` without values.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let max = *values.last()?;
        let sum: f64 = values.iter().sum();
        // Nearest rank: the smallest value that at least p percent do not exceed.
        let quantile = |percent: usize| {
            let rank = (n * percent).div_ceil(100).max(1);
            values.get(rank - 1).copied().unwrap_or(max)
        };
        Some(Self {
            n,
            sum,
            mean: sum / real_length(n),
            p50: quantile(50),
            p95: quantile(95),
            p99: quantile(99),
            max,
        })
    }
}

/// Values of a set of searches.
#[derive(Default)]
struct Values {
    measured: Measured,
    latencies: Vec<f64>,
    costs: BTreeMap<String, Vec<f64>>,
}

impl Values {
    fn add(&mut self, search: &Search<'_>, prices: &PriceTable) {
        let measured = &mut self.measured;
        measured.searches += 1;
        measured.errors += usize::from(search.error_type.is_some());
        measured.zero_results += usize::from(search.results.is_empty());
        self.latencies.extend(search.latency_ms);
        for usage in search.usage.iter().flatten() {
            measured.calls += 1;
            measured.input_tokens += usage.input_tokens.unwrap_or(0);
            measured.output_tokens += usage.output_tokens.unwrap_or(0);
        }
        match costs_of(search, prices) {
            Some(costs) => {
                for (currency, cost) in costs {
                    self.costs.entry(currency).or_default().push(cost);
                }
            }
            None => measured.without_cost += 1,
        }
    }

    fn merge(&mut self, other: Self) {
        let measured = &mut self.measured;
        measured.searches += other.measured.searches;
        measured.errors += other.measured.errors;
        measured.zero_results += other.measured.zero_results;
        measured.without_cost += other.measured.without_cost;
        measured.calls += other.measured.calls;
        measured.input_tokens += other.measured.input_tokens;
        measured.output_tokens += other.measured.output_tokens;
        self.latencies.extend(other.latencies);
        for (currency, costs) in other.costs {
            self.costs.entry(currency).or_default().extend(costs);
        }
    }

    fn finish(self) -> Measured {
        let costs = self.costs.into_iter();
        let latency_ms = Distribution::of(self.latencies);
        Measured {
            capacity: latency_ms
                .filter(|latency| latency.mean > 0.0)
                .map(|latency| 1e3 / latency.mean),
            latency_ms,
            cost: costs
                .filter_map(|(currency, costs)| Some((currency, Distribution::of(costs)?)))
                .collect(),
            ..self.measured
        }
    }
}

/// Collector of the operations of a run.
pub(crate) struct Collector<'a> {
    /// Labels to break the numbers down by.
    by: &'a [String],
    prices: &'a PriceTable,
    per_query: bool,
    queries: BTreeMap<String, QueryOperations>,
    all: Values,
    stages: BTreeMap<String, Vec<f64>>,
    models: BTreeMap<(String, String), ModelUsage>,
    slices: BTreeMap<(usize, String), Values>,
}

impl<'a> Collector<'a> {
    /// Empty collector, which keeps the numbers of each search with `per_query`.
    pub(crate) fn new(by: &'a [String], prices: &'a PriceTable, per_query: bool) -> Self {
        Self {
            by,
            prices,
            per_query,
            queries: BTreeMap::new(),
            all: Values::default(),
            stages: BTreeMap::new(),
            models: BTreeMap::new(),
            slices: BTreeMap::new(),
        }
    }

    /// Adds the search of a gold query.
    pub(crate) fn add(&mut self, query: &GoldQuery, search: &Search<'_>) {
        self.all.add(search, self.prices);
        if self.per_query {
            let operations = QueryOperations::of(search, self.prices);
            self.queries.insert(query.key.clone(), operations);
        }
        for stage in search.stages.iter().flatten() {
            let latencies = self.stages.entry(stage.name.0.to_string()).or_default();
            latencies.extend(stage.latency_ms);
        }
        for usage in search.usage.iter().flatten() {
            self.add_usage(&ModelUsage {
                model: usage.model.as_deref().unwrap_or("").to_owned(),
                operation: usage.operation.as_deref().unwrap_or("").to_owned(),
                calls: 1,
                input_tokens: usage.input_tokens.unwrap_or(0),
                output_tokens: usage.output_tokens.unwrap_or(0),
            });
        }
        for (position, label) in self.by.iter().enumerate() {
            if let Some(value) = label_of(label, query, Some(search)) {
                let values = self.slices.entry((position, value)).or_default();
                values.add(search, self.prices);
            }
        }
    }

    fn add_usage(&mut self, usage: &ModelUsage) {
        let key = (usage.model.clone(), usage.operation.clone());
        let of_model = self.models.entry(key).or_insert_with(|| ModelUsage {
            model: usage.model.clone(),
            operation: usage.operation.clone(),
            ..ModelUsage::default()
        });
        of_model.calls += usage.calls;
        of_model.input_tokens += usage.input_tokens;
        of_model.output_tokens += usage.output_tokens;
    }

    /// Operations of both.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.all.merge(other.all);
        self.queries.extend(other.queries);
        for (stage, latencies) in other.stages {
            self.stages.entry(stage).or_default().extend(latencies);
        }
        for usage in other.models.values() {
            self.add_usage(usage);
        }
        for (slice, values) in other.slices {
            self.slices.entry(slice).or_default().merge(values);
        }
        self
    }

    /// Operations of the run `name`; `None` if no search states a latency, a cost, a call or an
    /// error.
    pub(crate) fn finish(self, name: &str) -> Option<Operations> {
        let all = self.all.finish();
        let has_data = all.latency_ms.is_some()
            || !all.cost.is_empty()
            || all.calls > 0
            || all.errors > 0
            || !self.stages.is_empty();
        has_data.then(|| Operations {
            run: name.to_owned(),
            queries: self.queries,
            all,
            stages: self
                .stages
                .into_iter()
                .filter_map(|(name, latencies)| Some((name, Distribution::of(latencies)?)))
                .collect(),
            models: self.models.into_values().collect(),
            by: self
                .slices
                .into_iter()
                .filter_map(|((position, value), values)| {
                    Some(MeasuredSlice {
                        label: self.by.get(position)?.clone(),
                        value,
                        measured: values.finish(),
                    })
                })
                .collect(),
        })
    }
}

/// Quality and expense of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tradeoff {
    /// Name of the run.
    pub run: String,
    /// Mean of the headline measure.
    pub quality: f64,
    /// Kind of expense: `latency_ms`, or a currency.
    pub expense: String,
    /// Mean expense of a search.
    pub mean: f64,
    /// Quality divided by the mean expense; `None` if the expense is 0.
    pub quality_per_unit: Option<f64>,
    /// True if no other run is at least as good and at most as expensive, and better in one of both.
    pub is_efficient: bool,
}

/// Compares quality with every kind of expense. `quality` are the means of the runs in the headline
/// measure, higher being better.
pub fn tradeoffs(operations: &[Operations], quality: &[(String, f64)]) -> Vec<Tradeoff> {
    let mut kinds: BTreeMap<String, Vec<(String, f64, f64)>> = BTreeMap::new();
    for of in operations {
        let Some((_, quality)) = quality.iter().find(|(run, _)| *run == of.run) else {
            continue;
        };
        let latency = of.all.latency_ms.iter().map(|it| ("latency_ms", it.mean));
        let costs = of
            .all
            .cost
            .iter()
            .map(|(name, it)| (name.as_str(), it.mean));
        for (kind, mean) in latency.chain(costs) {
            let runs = kinds.entry(kind.to_owned()).or_default();
            runs.push((of.run.clone(), *quality, mean));
        }
    }
    let mut tradeoffs = Vec::new();
    for (expense, runs) in kinds {
        for (run, quality, mean) in &runs {
            let dominates = |(_, other, other_mean): &(String, f64, f64)| {
                (other >= quality && other_mean < mean) || (other > quality && other_mean <= mean)
            };
            tradeoffs.push(Tradeoff {
                run: run.clone(),
                quality: *quality,
                expense: expense.clone(),
                mean: *mean,
                quality_per_unit: (*mean > 0.0).then(|| quality / mean),
                is_efficient: !runs.iter().any(dominates),
            });
        }
    }
    tradeoffs
}
