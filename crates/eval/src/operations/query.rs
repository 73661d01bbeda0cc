//! Operations of the search of one query, as its event states them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cost::costs_of;
use rankgauge_core::engine::money::PriceTable;
use rankgauge_core::event::Search;

/// Operations of one search. Members that the event does not state are omitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueryOperations {
    /// Latency in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// Cost by currency; empty if unknown.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cost: BTreeMap<String, f64>,
    /// Number of model calls; `None` without usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<usize>,
    /// Latency by stage, in milliseconds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stages: BTreeMap<String, f64>,
    /// Type of the error of a failed search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl QueryOperations {
    /// Operations of a search.
    pub(super) fn of(search: &Search<'_>, prices: &PriceTable) -> Self {
        let mut stages = BTreeMap::new();
        for stage in search.stages.iter().flatten() {
            if let Some(latency) = stage.latency_ms {
                *stages.entry(stage.name.0.to_string()).or_insert(0.0) += latency;
            }
        }
        Self {
            latency_ms: search.latency_ms,
            cost: costs_of(search, prices).unwrap_or_default(),
            calls: search.usage.as_ref().map(Vec::len),
            stages,
            error: search.error_type.as_ref().map(|it| it.0.to_string()),
        }
    }

    /// Numbers by their names in CSV: `latency_ms`, `cost_USD`, `calls`, `stage_rerank_ms`.
    pub fn numbers(&self) -> Vec<(String, f64)> {
        let latency = self.latency_ms.map(|it| ("latency_ms".to_owned(), it));
        let costs = self.cost.iter();
        let costs = costs.map(|(currency, cost)| (format!("cost_{currency}"), *cost));
        let calls = self.calls.and_then(|calls| u32::try_from(calls).ok());
        let calls = calls.map(|calls| ("calls".to_owned(), f64::from(calls)));
        let stages = self.stages.iter();
        let stages = stages.map(|(stage, latency)| (format!("stage_{stage}_ms"), *latency));
        let numbers = latency.into_iter().chain(costs).chain(calls);
        numbers.chain(stages).collect()
    }
}
